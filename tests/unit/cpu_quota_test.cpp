#include "src/execute/cpu_quota.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace gradjit::detail {
namespace {

using test::TemporaryDirectory;

const std::string version_2_mount =
    "22 28 0:20 / /proc rw,nosuid - proc proc rw\n"
    "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string version_1_mount =
    "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

TEST(CpuQuota, IsNothingWithoutControlGroups) {
  const TemporaryDirectory root;
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.write("proc/self/mountinfo", "nonsense\n\n1 2 3 - \n");
  root.write("proc/self/cgroup", "nonsense\n:\n");
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
}

TEST(CpuQuota, ReadsVersion2) {
  const TemporaryDirectory root;
  root.write("proc/self/mountinfo", version_2_mount);
  root.write("proc/self/cgroup", "0::/user.slice/job:1\n");
  root.write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/user.slice/job:1/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/user.slice/job:1/cpu.max", "250000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 2.5);
}

TEST(CpuQuota, IsTheLeastOnTheWayUp) {
  const TemporaryDirectory root;
  root.write("proc/self/mountinfo", version_2_mount);
  root.write("proc/self/cgroup", "0::/a/b/c\n");
  root.write("sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 3.0);
  root.write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 0.5);
  root.write("sys/fs/cgroup/a/sibling/cpu.max", "1000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 0.5) << "not ours";
}

TEST(CpuQuota, ReadsVersion1) {
  const TemporaryDirectory root;
  root.write("proc/self/mountinfo", version_1_mount);
  root.write("proc/self/cgroup", "4:cpuset:/other\n3:cpu,cpuacct:/job\n0::/unified\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(cpu_quota(root.path()), 3.0);
}

TEST(CpuQuota, FindsTheGroupInsideAContainer) {
  // The mount shows the container's group as its root; proc names it as the host does, or as "/".
  const TemporaryDirectory root;
  root.write("proc/self/mountinfo",
             "32 31 0:29 /docker/0123 /sys/fs/cgroup/my\\040cpu ro - cgroup cgroup rw,cpu\n");
  root.write("sys/fs/cgroup/my cpu/cpu.cfs_quota_us", "200000\n");
  root.write("sys/fs/cgroup/my cpu/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/my cpu/sub/cpu.cfs_quota_us", "100000\n");
  root.write("sys/fs/cgroup/my cpu/sub/cpu.cfs_period_us", "100000\n");
  root.write("proc/self/cgroup", "3:cpu:/docker/0123\n");
  EXPECT_EQ(cpu_quota(root.path()), 2.0);
  root.write("proc/self/cgroup", "3:cpu:/docker/0123/sub\n");
  EXPECT_EQ(cpu_quota(root.path()), 1.0);
  root.write("proc/self/cgroup", "3:cpu:/\n");
  EXPECT_EQ(cpu_quota(root.path()), 2.0);
}

TEST(CpuQuota, NeedsNoNameOfTheMountedDevice) {
  // mount("", ...) leaves nothing between two blanks.
  const TemporaryDirectory root;
  root.write("proc/self/cgroup", "1:cpu:/\n0::/\n");
  root.write("proc/self/mountinfo",
             "32 31 0:29 / /one rw - cgroup  rw,cpu\n"
             "33 31 0:30 / /two rw - cgroup2  rw\n");
  root.write("one/cpu.cfs_quota_us", "200000\n");
  root.write("one/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 2.0);
  root.write("two/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 1.5);
}

TEST(CpuQuota, ReadsThisMachine) {
  const auto quota = cpu_quota();
  EXPECT_TRUE(!quota || *quota > 0);
}

}  // namespace
}  // namespace gradjit::detail
