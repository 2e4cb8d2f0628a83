#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <gradjit/types.hpp>

namespace gradjit::tool {

/// The three entries of a .npy header.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Dims shape;
};

/// What is wrong with a header, without the file's name.
class NpyHeaderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the Python dictionary that a header is: the three keys once each, in any order.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text);

/// The inverse.
[[nodiscard]] std::string format_npy_header(const NpyHeader& header);

}  // namespace gradjit::tool
