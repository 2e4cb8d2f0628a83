#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gradjit/types.hpp>

namespace gradjit::tool {

enum class CaseOperation : std::uint8_t { elu_backward, log_softmax_backward };

/// "elu_backward", "log_softmax_backward".
[[nodiscard]] std::string_view name_of(CaseOperation operation);

/// One case of a cases file: a request, its inputs and the results that it should have, dense and
/// row-major.
struct Case {
  std::string name;
  CaseOperation operation = CaseOperation::elu_backward;
  double alpha = 0;        ///< elu_backward's, as the file writes it; kernels get it rounded to f32.
  bool use_dst = true;     ///< elu_backward's.
  std::int64_t axis = -1;  ///< log_softmax_backward's, in [-rank, rank - 1].
  Dims dims;
  std::vector<float> activation;  ///< src or dst.
  std::vector<float> diff_dst;
  std::vector<double> expected;

  [[nodiscard]] std::size_t elements() const { return diff_dst.size(); }
};

/// Reads a cases file and every tensor that it names. Throws `BadInput` that names the case and the key.
[[nodiscard]] std::vector<Case> read_cases(const std::filesystem::path& path);

}  // namespace gradjit::tool
