#include "tests/fuzz/report.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tests/fuzz/isolated.hpp"
#include "tests/fuzz/shrink.hpp"
#include "tests/support/element_bits.hpp"

namespace gradjit::test {
namespace {

/// The system takes no longer arguments.
constexpr std::size_t longest_argument = 100'000;

constexpr std::chrono::seconds longest_shrinking(120);

/// A wrong result, an exception or a crash: shrinking must not lead from one to another.
std::string kind_of(const std::string& failure) {
  for (const std::string kind : {"threw: ", "ended: "}) {
    if (failure.starts_with(kind)) {
      return kind;
    }
  }
  return failure.empty() ? "" : "wrong";
}

/// The inputs as numbers, those that repeat in one line.
std::string values_for_people(const StridedCase& c) {
  constexpr int most_lines = 40;
  const auto inputs = values_of(c);
  const std::size_t size = inputs[0].size();
  std::ostringstream text;
  std::size_t end = 0;
  for (int line = 0; end < size && line < most_lines; ++line) {
    const std::size_t first = end;
    while (end < size && inputs[0][end] == inputs[0][first] && inputs[1][end] == inputs[1][first]) {
      ++end;
    }
    text << "\n  element " << first;
    if (end - first > 1) {
      text << " to " << end - 1;
    }
    text << ": src or dst " << decode(c.dtype, inputs[0][first]) << ", diff_dst "
         << decode(c.dtype, inputs[1][first]);
  }
  text << (end < size ? "\n  …" : "");
  return text.str();
}

}  // namespace

std::string failure_in_child(const StridedCase& c) {
  const auto found = first_failure(1, [&c](std::size_t) { return failure_of(c); });
  return found ? found->failure : "";
}

std::string report(const StridedCase& c, const std::string& failure) {
  const std::string kind = kind_of(failure);
  const StridedCase smallest =
      shrunk(c, [&kind](const StridedCase& smaller) { return kind_of(failure_in_child(smaller)) == kind; });
  const std::string small_text = text_of(smallest);
  const bool is_short = small_text.size() < longest_argument;
  std::ostringstream text;
  text << failure << "\nthe case: " << text_of(c) << "\n";
  if (is_short) {
    text << "the smallest that still fails: " << small_text << values_for_people(smallest) << "\n  "
         << failure_in_child(smallest) << "\n";
  }
  text << "replay: " << std::filesystem::read_symlink("/proc/self/exe").string() << " --replay '"
       << (is_short ? small_text : text_of(c)) << "'\n";
  return text.str();
}

int replay(const std::string& text) {
  std::string failure;
  try {
    const StridedCase c = case_from(text);
    const std::vector<Isa> isas = all_isas();
    if (std::find(isas.begin(), isas.end(), c.isa) == isas.end()) {
      throw std::runtime_error("this CPU lacks " + std::string(name_of(c.isa)));
    }
    failure = checked([&c] { return failure_of(c); });
  } catch (const std::exception& error) {
    std::cerr << "gradjit_fuzz_tests: --replay: " << error.what() << "\n";
    return 2;
  }
  std::cout << (failure.empty() ? "good" : failure) << "\n";
  return failure.empty() ? 0 : 1;
}

}  // namespace gradjit::test
