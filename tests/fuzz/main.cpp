// GoogleTest's main, and --replay.

#include <string_view>

#include <gtest/gtest.h>

#include "tests/fuzz/report.hpp"

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--replay") {
    return gradjit::test::replay(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
