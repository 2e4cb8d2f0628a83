#include "tools/gradjit/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

/// As much of Python's literals as headers are made of.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (!text_.empty()) fail("has something after its dictionary");
    require(has_descr_, "descr");
    require(has_fortran_order_, "fortran_order");
    require(has_shape_, "shape");
    return header_;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) { throw NpyHeaderError("the header " + what); }

  static void require(bool present, std::string_view key) {
    if (!present) fail(fmt::format("lacks '{}'", key));
  }

  static void claim(bool& present, std::string_view key) {
    if (present) fail(fmt::format("has '{}' twice", key));
    present = true;
  }

  void parse_entry() {
    const std::string key = parse_string("a key");
    expect(':');
    if (key == "descr") {
      claim(has_descr_, key);
      header_.descr = parse_string("a plain element type in 'descr'");
    } else if (key == "fortran_order") {
      claim(has_fortran_order_, key);
      header_.fortran_order = parse_bool_literal();
    } else if (key == "shape") {
      claim(has_shape_, key);
      parse_shape_tuple();
    } else {
      fail(fmt::format("has the unknown key '{}'", key));
    }
  }

  std::string parse_string(std::string_view expected) {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') fail(fmt::format("lacks {}", expected));
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail("has a string without an end");
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  bool parse_bool_literal() {
    skip_spaces();
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("has a 'fortran_order' that is neither True nor False");
  }

  void parse_shape_tuple() {
    if (!accept('(')) fail("has a 'shape' that is no tuple");
    while (!accept(')')) {
      header_.shape.push_back(parse_size());
      if (accept(',')) continue;
      // (3) is a number in Python, not a tuple.
      if (header_.shape.size() == 1 || !accept(')')) fail("has a damaged 'shape'");
      break;
    }
  }

  std::int64_t parse_size() {
    skip_spaces();
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
    if (error == std::errc::result_out_of_range) fail("has a size in 'shape' beyond 64 bits");
    if (error != std::errc()) fail("has a 'shape' of something else than whole numbers");
    if (size < 0) fail(fmt::format("has the negative size {} in 'shape'", size));
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    accept_word("L");  // as Python 2 wrote them
    return size;
  }

  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }

  bool accept_word(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool accept(char c) {
    skip_spaces();
    return accept_word({&c, 1});
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("is no dictionary: it lacks a '{}'", c));
  }

  std::string_view text_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_fortran_order_ = false;
  bool has_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return HeaderParser(text).parse(); }

std::string format_npy_header(const NpyHeader& header) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", header.descr,
                     header.fortran_order ? "True" : "False", format_shape(header.shape));
}

}  // namespace gradjit::tool
