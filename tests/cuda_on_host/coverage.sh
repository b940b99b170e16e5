#!/usr/bin/env bash
# How many lines of CUDA kernels their tests on the host run: builds kernels with counters (--config=kernel_coverage),
# runs the tests, prints every file's share of covered lines and every folder's, and fails below 95% in all.
#
#   tests/cuda_on_host/coverage.sh                # the tests of kernels: half an hour on two cores, from nothing
#   tests/cuda_on_host/coverage.sh --lines        # and the lines that none of them runs
#   tests/cuda_on_host/coverage.sh TESTS...       # these tests alone
#
# Counted are the .cu and .cuh files of aten/cuda and c10/cuda and the formulas (.inc) that kernels include, as they are
# compiled for the host: what is for nvcc alone (aten/cuda/cub, c10/cuda/ptx.h) has no lines here.
# KERNEL_COVERAGE_OPTIONS are further options of Bazel, KERNEL_COVERAGE_STARTUP those before its command.
set -euo pipefail
limit=95
show_lines=0
if [ "${1-}" = --lines ]; then
  show_lines=1
  shift
fi
cd "$(dirname "$0")/../.."
read -ra startup <<< "${KERNEL_COVERAGE_STARTUP-}" || true
read -ra options <<< "${KERNEL_COVERAGE_OPTIONS-}" || true
bazel() { ./bazelw "${startup[@]}" "$@"; }
# The compiler's own tools: they read what it writes.
compiler=$(readlink -f "$(command -v "$(sed -n 's/^build --repo_env=CC=//p' .bazelrc)")")
tools=$(dirname "$compiler")

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  folders='//aten/cuda/... + //c10/cuda/...'
  kernels="filter('_on_host$', kind(cc_library, $folders))"
  mapfile -t targets < <(
    bazel query "kind(cc_test, rdeps($folders + //tests/cuda_on_host/..., $kernels))" 2> /dev/null)
fi
# %2m: the processes of a program share two files.
bazel test --config=kernel_coverage "${options[@]}" --nocache_test_results --test_timeout=900 \
  --sandbox_writable_path="$folder" --test_env=LLVM_PROFILE_FILE="$folder/%2m.profraw" "${targets[@]}"
"$tools/llvm-profdata" merge -o "$folder/profile" "$folder"/*.profraw

# A kernel's lines stand in its object file, whether a test links it or not. One file at a time: of a function that
# several have, llvm-cov takes the first one's counts, and that file may not use it.
find bazel-bin/aten/cuda/_objs bazel-bin/c10/cuda/_objs -path '*_on_host/*.cu.pic.o' | while read -r object; do
  "$tools/llvm-cov" export -format=lcov -instr-profile="$folder/profile" "$object" 2> /dev/null
done > "$folder/lines"

awk -v limit=$limit -v show_lines=$show_lines '
  # A .cu file is compiled as a copy with one more line before it (//build_defs:cuda.bzl).
  /^SF:/ {
    file = substr($0, 4)
    shift = sub(/\.cu\.cc$/, ".cu", file)
    sub(/^.*bazel-out\/[^\/]*\/bin\//, "", file)
    sub(/\/[^\/]*\.on_host\//, "/", file)
    sub(/^.*\/(execroot\/[^\/]*|proc\/self\/cwd)\//, "", file)
    counts = file ~ /^(aten|c10)\/.*\.(cu|cuh|inc)$/ && file !~ /_test_kernels?\.cu$/
  }
  counts && /^DA:/ {
    split(substr($0, 4), part, ",")
    place = file ":" (part[1] - shift)
    if (!(place in runs)) { order[++places] = place; file_of[place] = file }
    runs[place] += part[2]
  }
  END {
    for (i = 1; i <= places; ++i) {
      place = order[i]; file = file_of[place]; name = file; sub(/\/[^\/]*$/, "/", name)
      ++lines[file]; ++lines[name]; ++all
      if (runs[place] > 0) { ++run[file]; ++run[name]; ++all_run } else if (show_lines) print place
    }
    by_name = "sort -k5"
    for (name in lines)
      printf "%6.2f%% %5d of %5d  %s\n", 100 * run[name] / lines[name], run[name], lines[name], name | by_name
    close(by_name)
    printf "%6.2f%% %5d of %5d  in all\n", 100 * all_run / all, all_run, all
    exit 100 * all_run < limit * all
  }' "$folder/lines"
