#include "src/execute/cpu_quota.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace gradjit::detail {
namespace {

namespace fs = std::filesystem;

// A mounted hierarchy: `root` is the group that appears at `place`.
struct Mount {
  std::string root;
  std::string place;
  bool version_2 = false;
};

// Whether a list with commas has `item`.
bool contains(const std::string& list, const std::string& item) {
  return ("," + list + ",").find("," + item + ",") != std::string::npos;
}

// proc writes blanks in names as octal escapes.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '\\' && i + 4 <= text.size() &&
        std::from_chars(&text[i + 1], text.data() + i + 4, code, 8).ptr == text.data() + i + 4) {
      result += static_cast<char>(code);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// A line of mountinfo: id, parent, device, root, place, options, optional fields, "-", type, source
// (nothing at all, sometimes), options of the file system.
std::vector<Mount> cgroup_mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(stream), {}};
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 3) {
      continue;
    }
    const std::string& type = dash[1];
    const bool version_2 = type == "cgroup2";
    if (version_2 || (type == "cgroup" && contains(fields.back(), "cpu"))) {
      mounts.push_back({unescaped(fields[3]), unescaped(fields[4]), version_2});
    }
  }
  return mounts;
}

// A line of /proc/self/cgroup: hierarchy, controllers (none for version 2), group. Groups contain colons.
std::optional<std::string> group_of_process(const fs::path& root, bool version_2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : contains(controllers, "cpu")) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

std::optional<double> ratio(double quota, double period) {
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

std::optional<double> quota_in(const fs::path& directory, bool version_2) {
  double quota = -1;
  double period = -1;
  if (version_2) {
    std::ifstream(directory / "cpu.max") >> quota >> period;  // "max 100000" is no quota: it reads as 0.
  } else {
    std::ifstream(directory / "cpu.cfs_quota_us") >> quota;  // -1: no limit.
    std::ifstream(directory / "cpu.cfs_period_us") >> period;
  }
  return ratio(quota, period);
}

void take_least(std::optional<double>& least, std::optional<double> value) {
  if (value && (!least || *value < *least)) {
    least = value;
  }
}

std::optional<double> quota_on_the_way(const fs::path& root, const Mount& mount, const std::string& group) {
  const fs::path top = root / fs::path(mount.place).relative_path();
  // Inside a container the group may be named as the host sees it, with only a part of it mounted here.
  fs::path below = fs::path(group).lexically_relative(mount.root);
  if (below.empty() || *below.begin() == "..") {
    below = ".";
  }
  std::optional<double> least = quota_in(top, mount.version_2);
  fs::path directory = top;
  for (const fs::path& step : below) {
    directory /= step;
    take_least(least, quota_in(directory, mount.version_2));
  }
  return least;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const Mount& mount : cgroup_mounts(root)) {
    if (const auto group = group_of_process(root, mount.version_2)) {
      take_least(least, quota_on_the_way(root, mount, *group));
    }
  }
  return least;
}

}  // namespace gradjit::detail
