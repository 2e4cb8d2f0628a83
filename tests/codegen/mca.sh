#!/usr/bin/env bash
# What llvm-mca says of the main loops of kernels: cycles per vector (16 elements; 8 with AVX2) if all data is in the
# first-level cache, for processors of several kinds.
#   mca.sh GRADJIT LLVM-MCA print             prints the figures
#   mca.sh GRADJIT LLVM-MCA update FIGURES    writes them to the file
#   mca.sh GRADJIT LLVM-MCA check FIGURES     fails if one is greater than in the file by more than a tenth, or
#                                             one of the two has a loop that the other lacks
set -euo pipefail

gradjit=$1 mca=$2 action=$3 figures=${4:-}

kernels=(
  "elu_backward --alpha 1 --use-dst false --dtype f32"
  "elu_backward --alpha 1.6732632 --use-dst false --dtype f32"
  "elu_backward --alpha 1 --use-dst false --dtype bf16"
  "elu_backward --alpha 1 --use-dst false --dtype f16"
  "elu_backward --alpha 1 --dtype f32"
  "elu_backward --alpha 1 --dtype bf16"
  "log_softmax_backward --shape 64,1024 --dtype f32"
  "log_softmax_backward --shape 64,1024 --dtype bf16"
  "log_softmax_backward --shape 64,1024 --dtype f16"
  "log_softmax_backward --shape 65536,10 --dtype f32"
  "log_softmax_backward --shape 16384,3 --dtype f32"
  "log_softmax_backward --shape 1024,50,3 --axis 1 --dtype f32"
  "log_softmax_backward --shape 1024,50,10 --axis 1 --dtype f32"
  "log_softmax_backward --shape 256,50,49 --axis 1 --dtype f32"
  "log_softmax_backward --shape 4,128,784 --axis 1 --dtype f32"
  "log_softmax_backward --shape 4,128,784 --axis 1 --dtype bf16"
)
processors=("haswell avx2" "icelake-server avx512" "sapphirerapids avx512_bf16" "znver4 avx512_bf16")

# One kernel on one processor: a line for each main loop.
measure() {
  local processor=$1 isa=$2 kernel=$3 assembly
  # shellcheck disable=SC2086 # the arguments are words
  assembly=$("$gradjit" dump $kernel --isa "$isa" --format gas)
  # The vectors of an iteration are told in the comment that begins the loop: "4 vectors: update".
  "$mca" -mcpu="$processor" -iterations=200 <<<"$assembly" 2>/dev/null | awk -v name="$processor: ${kernel//--/}" '
    /Code Region/ { region = $0; sub(/.*Region - /, "", region); vectors = region + 0; sub(/^[0-9]+ vectors: /, "", region) }
    /^Iterations:/ { iterations = $2 }
    /^Total Cycles:/ { printf "%8.2f  %s: %s\n", $3 / iterations / vectors, name, region }'
}

print_figures() {
  local processor isa kernel
  echo "# Cycles per vector of each main loop by llvm-mca; tools/mca update writes this file."
  for processor in "${processors[@]}"; do
    read -r processor isa <<<"$processor"
    for kernel in "${kernels[@]}"; do
      measure "$processor" "$isa" "$kernel"
    done
  done
}

case $action in
  print) print_figures ;;
  update)
    print_figures >"$figures.new"
    mv -- "$figures.new" "$figures"
    ;;
  check)
    print_figures | awk -v figures="$figures" '
      { cycles = $1; sub(/^ *[^ ]+ +/, "") }
      FILENAME == figures && !/Cycles per vector/ { known[$0] = cycles; next }
      FILENAME != figures && !/Cycles per vector/ {
        checked++
        if (!($0 in known)) { print "not in " figures ": " $0; bad = 1; next }
        if (cycles > 1.1 * known[$0]) { print $0 ": " cycles " cycles per vector, were " known[$0]; bad = 1 }
        delete known[$0]
      }
      END {
        for (name in known) { print "no longer there: " name; bad = 1 }
        if (checked == 0) { print "no main loop was measured"; bad = 1 }
        print checked + 0 " main loops checked"
        exit bad
      }' "$figures" -
    ;;
  *)
    echo "mca.sh: \"$action\" is no action; expected print, update or check" >&2
    exit 2
    ;;
esac
