#include "tests/tool/tool_test.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include <gradjit/gradjit.hpp>

namespace gradjit::test {
namespace {

std::filesystem::path make_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "gradjit-tool-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return name;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// As the shell does it with >, or, with O_APPEND for `how`, with >>.
void redirect(int descriptor, const std::string& file, int how = O_TRUNC) {
  const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | how, 0600);
  if (target < 0 || ::dup2(target, descriptor) < 0) ::_exit(125);
}

int run_process(std::vector<std::string> words, const Environment& environment, const std::string& out,
                const std::string& err, int out_how = O_TRUNC) {
  std::vector<char*> argv = pointers_to(words);
  std::vector<std::string> added = environment;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    redirect(STDOUT_FILENO, out, out_how);
    redirect(STDERR_FILENO, err);
    for (std::string& entry : added) ::putenv(entry.data());
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string header_and_data(const std::string& content, std::string& data) {
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(content.at(8))) |
                    static_cast<std::size_t>(static_cast<unsigned char>(content.at(9))) << 8;
  data = content.substr(10 + size);
  return content.substr(10, size);
}

std::vector<std::int64_t> shape_in(const std::string& dictionary) {
  std::vector<std::int64_t> shape;
  const std::size_t begin = dictionary.find('(') + 1;
  std::string inside = dictionary.substr(begin, dictionary.find(')') - begin);
  std::replace(inside.begin(), inside.end(), ',', ' ');
  for (const char* next = inside.c_str();;) {
    char* end = nullptr;
    const std::int64_t size = std::strtoll(next, &end, 10);
    if (end == next) return shape;
    shape.push_back(size);
    next = end;
  }
}

template <typename T>
constexpr const char* descr_of() {
  return sizeof(T) == 8 ? "<f8" : sizeof(T) == 4 ? "<f4" : "<f2";
}

}  // namespace

ToolTest::ToolTest() : directory_(make_directory()), output_directory_(make_directory()) {}

ToolTest::~ToolTest() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  std::filesystem::remove_all(output_directory_, ignored);
}

ToolResult ToolTest::run(const Arguments& arguments, const Environment& environment) const {
  std::vector<std::string> words = {GRADJIT_TOOL_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string out = (output_directory_ / "stdout").string();
  const std::string err = (output_directory_ / "stderr").string();
  const int status = run_process(std::move(words), environment, out, err);
  return {.status = status, .out = read_file(out), .err = read_file(err)};
}

ToolResult ToolTest::run_to(const std::string& file, int how, const Arguments& arguments) const {
  std::vector<std::string> words = {GRADJIT_TOOL_PATH};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string err = (output_directory_ / "stderr").string();
  const int status = run_process(std::move(words), {}, file, err, how);
  return {.status = status, .out = {}, .err = read_file(err)};
}

ToolResult ToolTest::run_into(const std::string& file, const Arguments& arguments) const {
  return run_to(file, O_TRUNC, arguments);
}

ToolResult ToolTest::run_onto(const std::string& file, const Arguments& arguments) const {
  return run_to(file, O_APPEND, arguments);
}

void ToolTest::expect_refusal(const Arguments& arguments, const std::string& part,
                              const Environment& environment) const {
  const ToolResult result = run(arguments, environment);
  std::string line;
  for (const std::string& argument : arguments) line += argument + " ";
  SCOPED_TRACE(line);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_TRUE(result.err.starts_with("gradjit: ") && result.err.ends_with('\n')) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

std::string ToolTest::write(const std::string& name, const std::string& content) const {
  std::ofstream file(path(name), std::ios::binary);
  file << content;
  return path(name);
}

template <typename T>
std::string ToolTest::write_array(const std::string& name, const Array<T>& array) const {
  std::string shape;
  for (const std::int64_t size : array.shape) shape += std::to_string(size) + ", ";
  const std::string dictionary =
      std::string("{'descr': '") + descr_of<T>() + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  return write(name, npy(dictionary, bytes_of(array.values)));
}

std::size_t ToolTest::file_count() const {
  const std::filesystem::directory_iterator entries(directory_);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string npy(const std::string& dictionary, const std::string& data) {
  std::string content = "\x93NUMPY";
  content += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
              static_cast<char>(dictionary.size() >> 8)};
  return content + dictionary + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
Array<T> read_array(const std::string& path) {
  std::string data;
  const std::string dictionary = header_and_data(read_file(path), data);
  EXPECT_NE(dictionary.find(descr_of<T>()), std::string::npos) << dictionary;
  Array<T> array{.shape = shape_in(dictionary), .values = std::vector<T>(data.size() / sizeof(T))};
  if (!array.values.empty()) std::memcpy(array.values.data(), data.data(), array.values.size() * sizeof(T));
  return array;
}

std::string dictionary_of(const std::string& path) {
  std::string data;
  return header_and_data(read_file(path), data);
}

std::string data_file(const std::string& name) { return std::string(GRADJIT_TEST_DATA_DIR) + "/" + name; }

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  const auto highest = static_cast<int>(KernelFactory().isa());
  for (int isa = 0; isa <= highest; ++isa) names.emplace_back(name_of(static_cast<Isa>(isa)));
  return names;
}

bool has_isa(const std::string& name) {
  const std::vector<std::string> names = available_isas();
  return std::find(names.begin(), names.end(), name) != names.end();
}

template std::string ToolTest::write_array(const std::string&, const Array<std::uint16_t>&) const;
template std::string ToolTest::write_array(const std::string&, const Array<float>&) const;
template std::string ToolTest::write_array(const std::string&, const Array<double>&) const;
template std::string bytes_of(const std::vector<std::uint16_t>&);
template std::string bytes_of(const std::vector<float>&);
template std::string bytes_of(const std::vector<double>&);
template Array<std::uint16_t> read_array(const std::string&);
template Array<float> read_array(const std::string&);
template Array<double> read_array(const std::string&);

}  // namespace gradjit::test
