#!/usr/bin/env bash
# Runs a program in a control group with a quota of CPU time, and looks at how many threads it uses. Exits with
# 77, which CTest takes as skipped, where there is only one CPU or no such group can be made. That takes a mounted
# hierarchy with the cpu controller and the right to write to it, which root has outside of most containers.
#   cgroup.sh PROGRAM      PROGRAM prints how many threads it used
set -euo pipefail
program=$1
unset OMP_NUM_THREADS

skip() {
  echo "skipped: $1"
  exit 77
}

# The version and the place of each mounted hierarchy that may have the controller.
hierarchies() {
  awk '{
    for (i = 7; i < NF; ++i) if ($i == "-") {
      if ($(i + 1) == "cgroup2") print 2, $5
      if ($(i + 1) == "cgroup" && "," $NF "," ~ /,cpu,/) print 1, $5
    }
  }' /proc/self/mountinfo
}

# set_quota PERCENT: of one CPU.
set_quota() {
  if [[ $version == 2 ]]; then
    echo "$(($1 * 1000)) 100000" >"$group/cpu.max"
  else
    echo 100000 >"$group/cpu.cfs_period_us" && echo "$(($1 * 1000))" >"$group/cpu.cfs_quota_us"
  fi
}

# run_in GROUP COMMAND...
run_in() {
  # shellcheck disable=SC2016  # That is for the shell which it starts.
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$@"
}

# Whether all of what is needed works: a group around may have a smaller quota, which binds those inside.
make_group() {
  mkdir -- "$group" && mkdir -- "$group/inner" || return
  [[ -e $group/cpu.max || -e $group/cpu.cfs_quota_us ]] || {
    echo "$place: groups below it have no quota of CPU time"
    return 1
  }
  set_quota 150 && run_in "$group/inner" true
}

remove_group() {
  local directory
  for directory in "$group/inner" "$group"; do
    [[ ! -d $directory ]] || rmdir -- "$directory"
  done
}

without_quota=$("$program")
((without_quota >= 2)) || skip "one CPU only"
reasons=
while read -r version place; do
  # proc writes blanks in names as octal escapes.
  place=$(printf '%b' "$place")
  group=$place/gradjit_test_$$_$RANDOM
  trap remove_group EXIT
  if reason=$(make_group 2>&1); then
    break
  fi
  reasons+="; ${reason//$'\n'/; }"
  remove_group
  trap - EXIT
  group=
done < <(hierarchies)
[[ ${group:-} ]] || skip "no control group can be given a quota here${reasons:-: no hierarchy has one}"

status=0
# expect THREADS PERCENT GROUP [VARIABLE=VALUE...]
expect() {
  local -r threads=$1 percent=$2 member=$3
  shift 3
  local used
  set_quota "$percent"
  used=$(run_in "$member" env "$@" "$program")
  echo "version $version, ${member#"$place"/}, $percent % $*: $used threads, expected $threads"
  [[ $used == "$threads" ]] || status=1
}

expect 1 50 "$group"
expect 1 100 "$group"
expect 2 150 "$group"
expect 1 100 "$group/inner"
expect 1 150 "$group" OMP_NUM_THREADS=1
expect 1 100 "$group" OMP_NUM_THREADS=2
exit "$status"
