// Rows of memory become columns, a square at a time:
//   for each plane, for each block of columns, for each block of rows:
//     vectors = 16 bytes of each row, those of several rows in each vector
//     log2 of that many times: interleave the vectors, which become columns
//     store the columns
// Rows that don't fill a vector make smaller squares. What is left at the end of either side is copied
// together with some that has been copied already.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jit/operations/operations.hpp"
#include "jit/vector/units.hpp"

namespace gradjit::jit {

namespace {

Xbyak::Reg64 r64(const General& reg) { return Assembler::r64(reg); }

/// Where the copy is along one side. On that side, what is adjacent in one tensor is `pitch` apart in the
/// other; or `pitched` is in the table of the places that it has there, whose entries are `pitch` apart.
struct Side {
  General left;  ///< Elements that are left.
  General adjacent;
  General pitched;
  General pitch;
  General pitch_3;
};

/// What changes rarely lives on the stack.
constexpr int planes_left = 0;
constexpr int plane_from = 8;
constexpr int plane_to = 16;
constexpr int frame_bytes = 24;

class Transpose {
 public:
  Transpose(const KernelSpec& spec, VectorUnit& v);
  void emit();

 private:
  /// In quads of elements.
  struct Square {
    int rows;
    int columns;
  };

  [[nodiscard]] Xbyak::Address argument(std::size_t offset) const {
    return a_.qword[Assembler::args() + static_cast<int>(offset)];
  }
  [[nodiscard]] Side side(const char* pitch, std::size_t pitch_argument);
  void plane();
  void along(Side& side, std::span<const int> widths, const std::function<void(int)>& body);
  void rows(int columns);
  void square(Square square);
  void load(std::span<const Vec> vectors, Square square);
  void load_across(std::span<const Vec> vectors, Square square);
  void interleave(std::span<Vec> vectors);
  void store(std::span<const Vec> vectors, Square square);
  void store_across(std::span<const Vec> vectors, Square square);
  /// Call `body(index, at)` with the address of each of `count` rows, or columns.
  using LineBody = std::function<void(int, const Xbyak::RegExp&)>;
  void for_each_row(int count, const LineBody& body);
  void for_each_column(int count, const LineBody& body);
  void for_each_pitch(const General& from, const Side& side, int count, const LineBody& body);
  void for_each_place(const General& from, const Side& side, int count, const LineBody& body);

  VectorUnit& v_;
  Assembler& a_;
  bool has_places_;
  std::unique_ptr<Units> units_;
  int per_quad_;
  Side columns_;
  Side rows_;
  General line_;
};

Transpose::Transpose(const KernelSpec& spec, VectorUnit& v)
    : v_(v),
      a_(v.assembler()),
      has_places_(spec.loop == Loop::transpose_by_places),
      units_(v.units(static_cast<int>(size_of(spec.dtype)))),
      per_quad_(units_->per_quad()),
      columns_(side("bytes between columns", offsetof(KernelArgs, axis_stride.diff_src))),
      rows_(side("bytes between rows", offsetof(KernelArgs, axis_stride.activation))),
      line_(a_.general("line of a square")) {}

Side Transpose::side(const char* pitch, std::size_t pitch_argument) {
  Side side{a_.general("elements left"), a_.general("place where adjacent"),
            a_.general("place where pitched"), a_.general(pitch), a_.general("3 times the pitch")};
  if (has_places_) {
    a_.mov(r64(side.pitch), sizeof(std::int64_t));
  } else {
    a_.mov(r64(side.pitch), argument(pitch_argument));
    a_.lea(r64(side.pitch_3), a_.ptr[r64(side.pitch) + r64(side.pitch) * 2]);
  }
  return side;
}

void Transpose::emit() {
  a_.sub(a_.rsp, frame_bytes);
  for (const auto& [slot, offset] : {std::pair{planes_left, offsetof(KernelArgs, outer)},
                                     std::pair{plane_from, offsetof(KernelArgs, activation)},
                                     std::pair{plane_to, offsetof(KernelArgs, diff_src)}}) {
    a_.mov(r64(line_), argument(offset));
    a_.mov(a_.qword[a_.rsp + slot], r64(line_));
  }
  Xbyak::Label next;
  a_.L(next);
  plane();
  a_.mov(r64(line_), argument(offsetof(KernelArgs, outer_stride.activation)));
  a_.add(a_.qword[a_.rsp + plane_from], r64(line_));
  a_.mov(r64(line_), argument(offsetof(KernelArgs, outer_stride.diff_src)));
  a_.add(a_.qword[a_.rsp + plane_to], r64(line_));
  a_.dec(a_.qword[a_.rsp + planes_left]);
  a_.jg(next);
  a_.add(a_.rsp, frame_bytes);
  a_.leave();
}

void Transpose::plane() {
  a_.mov(r64(columns_.left), argument(offsetof(KernelArgs, inner)));
  a_.mov(r64(columns_.adjacent), a_.qword[a_.rsp + plane_from]);
  a_.mov(r64(columns_.pitched),
         has_places_ ? argument(offsetof(KernelArgs, column_places)) : a_.qword[a_.rsp + plane_to]);
  // As much of a cache line at once as there are registers for.
  const int fitting = std::min((v_.free_registers() - 1) / per_quad_, units_->quads());
  const int wide = static_cast<int>(std::bit_floor(static_cast<unsigned>(fitting)));
  const std::array widths{wide, 1};
  along(columns_, std::span(widths).last(wide == 1 ? 1 : 2), [&](int columns) {
    a_.mov(r64(rows_.left), argument(offsetof(KernelArgs, axis)));
    if (has_places_) {
      a_.mov(r64(rows_.pitched), argument(offsetof(KernelArgs, row_places)));
      a_.mov(r64(rows_.adjacent), a_.qword[a_.rsp + plane_to]);
    } else {
      a_.mov(r64(rows_.pitched), r64(columns_.adjacent));
      a_.mov(r64(rows_.adjacent), r64(columns_.pitched));
    }
    rows(columns);
  });
}

void Transpose::rows(int columns) {
  along(rows_, std::array{units_->quads(), 1}, [&](int rows) { square({rows, columns}); });
}

/// Emits `body(width)` for widths of so many quads, the greatest first, of which the last is one. What is
/// left in the end moves back to where one quad ends with the last element.
void Transpose::along(Side& side, std::span<const int> widths, const std::function<void(int)>& body) {
  Xbyak::Label done;
  std::vector<Xbyak::Label> loops(widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const int elements = widths[i] * per_quad_;
    Xbyak::Label smaller;
    a_.L(loops[i]);
    a_.cmp(r64(side.left), elements);
    a_.jl(smaller);
    body(widths[i]);
    a_.add(r64(side.adjacent), 16 * widths[i]);
    a_.imul(r64(line_), r64(side.pitch), elements);
    a_.add(r64(side.pitched), r64(line_));
    a_.sub(r64(side.left), elements);
    a_.jmp(loops[i]);
    a_.L(smaller);
  }
  a_.test(r64(side.left), r64(side.left));
  a_.jz(done);
  a_.sub(r64(side.left), per_quad_);
  a_.imul(r64(line_), r64(side.left), units_->size());
  a_.add(r64(side.adjacent), r64(line_));
  a_.imul(r64(side.left), r64(side.pitch));
  a_.add(r64(side.pitched), r64(side.left));
  a_.mov(r64(side.left), per_quad_);
  a_.jmp(loops.back());
  a_.L(done);
}

void Transpose::square(Square square) {
  a_.mark("square of " + std::to_string(square.rows * per_quad_) + " rows, " +
          std::to_string(square.columns * per_quad_) + " columns");
  const bool across = square.rows == 1;
  std::vector<Vec> vectors;
  for (int i = 0; i < (across ? 1 : square.columns) * per_quad_; ++i) {
    vectors.push_back(v_.vec("rows"));
  }
  across ? load_across(vectors, square) : load(vectors, square);
  for (std::size_t i = 0; i < vectors.size(); i += static_cast<std::size_t>(per_quad_)) {
    interleave(std::span(vectors).subspan(i, static_cast<std::size_t>(per_quad_)));
  }
  across ? store_across(vectors, square) : store(vectors, square);
}

/// Few rows: a vector has all columns of one, and then every `per_quad_`-th column.
void Transpose::load_across(std::span<const Vec> vectors, Square square) {
  for_each_row(per_quad_, [&](int row, const Xbyak::RegExp& at) {
    units_->load_quads(vectors[static_cast<std::size_t>(row)], at, square.columns);
  });
}

void Transpose::store_across(std::span<const Vec> vectors, Square square) {
  const int columns = square.columns * per_quad_;
  for_each_column(columns, [&](int column, const Xbyak::RegExp& at) {
    units_->store_quad(at, vectors[static_cast<std::size_t>(column % per_quad_)], column / per_quad_);
  });
}

/// All that is wanted of a row's cache line is loaded at once: the lines of rows may push one another out.
void Transpose::load(std::span<const Vec> vectors, Square square) {
  for_each_row(square.rows * per_quad_, [&](int row, const Xbyak::RegExp& at) {
    for (int i = 0; i < square.columns; ++i) {
      const auto vector = static_cast<std::size_t>(i * per_quad_ + row % per_quad_);
      units_->load_quad(vectors[vector], row / per_quad_, at + 16 * i);
    }
  });
}

/// Transposes the square in each quad of `vectors`. Interleaving the first half of the vectors with the
/// second halves the distance, in the result, between the elements of neighbouring rows; where it is one,
/// they are a column.
void Transpose::interleave(std::span<Vec> vectors) {
  const std::size_t half = vectors.size() / 2;
  Vec spare = v_.vec("rows");
  for (std::size_t round = vectors.size(); round > 1; round /= 2) {
    std::vector<Vec> mixed;
    for (std::size_t i = 0; i < half; ++i) {
      units_->interleave(spare, vectors[i], vectors[half + i], false);
      units_->interleave(vectors[i], vectors[i], vectors[half + i], true);
      mixed.push_back(std::move(spare));
      mixed.push_back(std::move(vectors[i]));
      spare = std::move(vectors[half + i]);
    }
    std::ranges::move(mixed, vectors.begin());
  }
}

void Transpose::store(std::span<const Vec> vectors, Square square) {
  const int columns = square.columns * per_quad_;
  for_each_column(columns, [&](int column, const Xbyak::RegExp& at) {
    units_->store_quads(at, vectors[static_cast<std::size_t>(column)], square.rows);
  });
}

void Transpose::for_each_row(int count, const LineBody& body) {
  has_places_ ? for_each_place(columns_.adjacent, rows_, count, body)
              : for_each_pitch(rows_.pitched, rows_, count, body);
}

void Transpose::for_each_column(int count, const LineBody& body) {
  has_places_ ? for_each_place(rows_.adjacent, columns_, count, body)
              : for_each_pitch(rows_.adjacent, columns_, count, body);
}

/// From `from` on.
void Transpose::for_each_pitch(const General& from, const Side& side, int count, const LineBody& body) {
  const Xbyak::Reg64 at = r64(line_);
  const std::array<Xbyak::RegExp, 4> lines{at, at + r64(side.pitch), at + r64(side.pitch) * 2,
                                           at + r64(side.pitch_3)};
  a_.mov(at, r64(from));
  for (int i = 0; i < count; ++i) {
    if (i > 0 && i % 4 == 0) {
      a_.lea(at, a_.ptr[at + r64(side.pitch) * 4]);
    }
    body(i, lines[static_cast<std::size_t>(i % 4)]);
  }
}

/// As far from `from` as the table says.
void Transpose::for_each_place(const General& from, const Side& side, int count, const LineBody& body) {
  constexpr auto entry = static_cast<int>(sizeof(std::int64_t));
  for (int i = 0; i < count; ++i) {
    a_.mov(r64(line_), a_.qword[r64(side.pitched) + i * entry]);
    body(i, r64(from) + r64(line_));
  }
}

}  // namespace

void emit_transpose(const KernelSpec& spec, VectorUnit& v) {
  v.assembler().enter(5);
  v.assembler().mark("arguments");
  Transpose(spec, v).emit();
}

}  // namespace gradjit::jit
