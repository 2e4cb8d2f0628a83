#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gradjit/types.hpp>

namespace gradjit::jit {

enum class Operation : std::uint8_t {
  elu_backward,
  log_softmax_backward,
  copy,  ///< Elements as they are, to or from a staged tensor.
};

/// The shape of a kernel's loops. What each does is told at `KernelArgs`.
enum class Loop : std::uint8_t {
  elements,             ///< Element by element (EluBackward).
  packed_rows,          ///< Dense rows along a short axis, several rows to a register.
  rows,                 ///< One row along a longer axis after the other.
  columns,              ///< The axis is not innermost: many columns side by side.
  few_columns,          ///< The same with a few columns, several of their steps to a register.
  pack,                 ///< Lines of elements that lie `step` apart (copy).
  unpack,               ///< Lines of elements to places `step` apart (copy).
  transpose,            ///< Rows become columns (copy).
  transpose_by_places,  ///< The same where rows, and columns, lie anywhere (copy).
  runs,                 ///< Short runs of adjacent elements to places with other gaps between them (copy).
};

/// Which part of LogSoftmaxBackward a kernel does. Long rows are cut: segments are summed by one call
/// each, then updated by one call each. Where sums and updates want different layouts, they are apart, too.
enum class Stage : std::uint8_t { whole, sum, update };

/// Runs of `length` adjacent elements, which begin `from_pitch` elements apart where they are read, and
/// `to_pitch` where they are written; where both are 0, KernelArgs says how far.
struct RunShape {
  std::uint8_t length = 0;
  std::uint8_t from_pitch = 0;
  std::uint8_t to_pitch = 0;

  bool operator==(const RunShape&) const = default;
};

/// Exactly what the bytes of a kernel depend on: equal specs give equal bytes.
struct KernelSpec {
  Operation operation = Operation::elu_backward;
  Loop loop = Loop::elements;
  Stage stage = Stage::whole;
  DataType dtype = DataType::f32;  ///< copy: f32 for elements of 4 bytes, bf16 for those of 2.
  Isa isa = Isa::avx2;
  bool use_dst = false;   ///< EluBackward's.
  bool in_place = false;  ///< Results go to diff_dst; KernelArgs::diff_src is not read.
  /// The tensors are larger than the caches: what comes next is prefetched, and results that don't go in
  /// place are stored past the caches. diff_src is then aligned to its elements, or to `piece_bytes` for a
  /// kernel that `streams_in_pieces`.
  bool streaming = false;
  std::uint32_t alpha_bits = 0;  ///< EluBackward's alpha, as the bits of an f32.
  /// What the code knows of the axis length. packed_rows: the length, 1 to `packed_rows_limit`; rows:
  /// the length modulo `rows_chunk`; columns: the length modulo `columns_group`;
  /// few_columns: the length modulo `few_columns_modulus`.
  std::uint32_t axis_rest = 0;
  /// columns, rows, Stage::whole: the steps of a slab, or the rows, are adjacent in all three tensors, and
  /// have more elements than a vector.
  bool is_dense = false;
  /// How far elements that are called adjacent at `KernelArgs` lie apart, in elements: 1 or what `takes_step`
  /// has. pack, unpack: what `copies_step` has.
  std::uint8_t step = 1;
  std::uint8_t columns = 0;  ///< few_columns: their number, 2 to `few_columns_limit`.
  RunShape run = {};         ///< runs: one for which `runs_at_once` has some.

  bool operator==(const KernelSpec&) const = default;
};

/// Whether a kernel that streams does so from wherever diff_src begins, and not from the first place on that
/// is aligned to vectors.
[[nodiscard]] bool streams_in_pieces(const KernelSpec& spec);
/// How much such a kernel stores at once. (Whole vectors bring nothing more where they are aligned.)
inline constexpr int piece_bytes = 16;

/// The longest axis that `Loop::packed_rows` takes.
inline constexpr std::int64_t packed_rows_limit = 32;
/// `Loop::rows` works in chunks of so many elements: 8 groups of 16 lanes.
inline constexpr std::int64_t rows_chunk = 128;
/// `Loop::columns` sums so many axis steps in f32 before it goes on in f64.
inline constexpr std::int64_t columns_group = 8;
/// The most columns that `Loop::few_columns` takes: fewer than a vector has lanes.
[[nodiscard]] constexpr std::int64_t few_columns_limit(Isa isa) { return isa >= Isa::avx512 ? 15 : 7; }
/// Of as many steps, the elements are whole vectors.
inline constexpr std::int64_t few_columns_modulus = 16;
/// Sums are cut into segments of so many axis steps, whose totals are added in order.
inline constexpr std::int64_t segment_length = 65536;

/// Whether `Loop::pack` and `Loop::unpack` are there for elements that lie `step` apart.
[[nodiscard]] bool copies_step(Isa isa, std::int64_t step);
inline constexpr std::uint8_t greatest_copied_step = 7;
/// The elements of the shortest line that these take.
[[nodiscard]] constexpr std::int64_t shortest_copied_line(Isa isa) { return isa == Isa::avx2 ? 8 : 16; }
/// How many runs of elements of `size` bytes `Loop::runs` moves at once, which a line must have at least; 0
/// where it is not there. A single run that no code knows the pitches of has more than 32 and up to 128
/// bytes: of less, plain code moves as much at a time.
[[nodiscard]] int runs_at_once(Isa isa, std::int64_t size, const RunShape& shape);
/// Whether the kernel of a spec is there for elements, in each of the three tensors, that lie `step` apart.
[[nodiscard]] bool takes_step(const KernelSpec& spec, std::int64_t step);
/// The fewest rows, and columns, that `Loop::transpose` and `transpose_by_places` take.
[[nodiscard]] constexpr std::int64_t least_transposed(std::int64_t size) { return 16 / size; }

/// A name for logs, profilers and dumps: "elu_backward_f32_avx512_alpha_0x1p+0_src_in_place".
[[nodiscard]] std::string name_of(const KernelSpec& spec);
[[nodiscard]] std::string_view name_of(Operation operation);
[[nodiscard]] std::string_view name_of(Loop loop);
[[nodiscard]] std::string_view name_of(Stage stage);

struct KernelSpecHash {
  [[nodiscard]] std::size_t operator()(const KernelSpec& spec) const noexcept;
};

/// What a kernel is called with; the layout is known to the generated code. Strides are in bytes.
///
/// elements:     `outer` runs of `inner` adjacent elements each.
/// packed_rows:  `outer` rows, all of whose elements are adjacent.
/// rows:         `outer` rows of `axis` adjacent elements each.
/// columns:      `outer` slabs of `axis` steps of `inner` adjacent columns each.
/// few_columns:  `outer` slabs of `axis` adjacent steps of as many adjacent columns as the code knows; only
///               whole kernels.
/// pack, unpack: `outer` lines of `inner` elements each, from `activation` to `diff_src`, with the strides of
///               these.
/// transpose:    `outer` planes, at least one, of `axis` rows of `inner` adjacent elements each, from
///               `activation`; element j of row i goes to element i of row j of `diff_src`. `axis_stride`
///               lies between the rows.
/// transpose_by_places: the same, but row i begins `row_places[i]` bytes from the plane's start, column j
///               `column_places[j]` bytes from that of `diff_src`.
/// runs:         `outer` lines of `inner` runs each, from `activation` to `diff_src`. `axis_stride` lies
///               between runs, if the code doesn't know how far apart they begin.
/// `outer_stride` lies between runs, rows, slabs, lines or planes, `axis_stride` between the steps of a
/// column. `activation` is src or dst: what the exp or the comparison is taken of.
struct KernelArgs {
  const void* activation = nullptr;
  const void* diff_dst = nullptr;
  void* diff_src = nullptr;
  std::int64_t outer = 0;
  std::int64_t axis = 0;
  std::int64_t inner = 0;
  struct Strides {
    std::int64_t activation = 0;
    std::int64_t diff_dst = 0;
    std::int64_t diff_src = 0;
  };
  Strides outer_stride;
  Strides axis_stride;
  /// transpose_by_places: `axis` and `inner` of them, in bytes.
  const std::int64_t* row_places = nullptr;
  const std::int64_t* column_places = nullptr;
  /// Stage::sum writes the segments' totals here: one double for each row. For columns, `inner` of them, it
  /// adds to what is there, so that a segment may come in parts of whole groups of steps; there is room for
  /// `padded_columns(inner)`. Not for packed rows.
  double* totals = nullptr;
  /// Stage::update reads the sums here: one float for each row, or for columns `inner` of them. For columns
  /// and packed rows there is room for `padded_columns` of as many; what it holds beyond affects no
  /// result, but subnormals there cost time.
  const float* sums = nullptr;
  /// columns, Stage::whole: scratch of `columns_scratch_bytes(inner)`, 64-byte aligned.
  void* scratch = nullptr;
};

/// Whole vectors of columns on every instruction set.
[[nodiscard]] constexpr std::int64_t padded_columns(std::int64_t inner) { return (inner + 15) / 16 * 16; }

/// The list of sums goes on with those of the first columns: all that a group of vectors takes.
inline constexpr std::int64_t repeated_columns = 64;

/// The scratch that one `columns` call needs: an f64 and an f32 per column.
[[nodiscard]] constexpr std::size_t columns_scratch_bytes(std::int64_t inner) {
  return static_cast<std::size_t>(padded_columns(inner)) * (sizeof(double) + sizeof(float)) +
         repeated_columns * sizeof(float);
}

using KernelEntry = void (*)(const KernelArgs*);

}  // namespace gradjit::jit
