#!/usr/bin/env bash
# Builds and runs the programs of this workspace. With `--quick` first, one_operator alone: the others are compiled, and what
# they would link is analysed but not built again, which takes as long as the library itself. Other arguments go to Bazel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
programs=(one_operator layers umbrella)
if [ "${1:-}" = --quick ]; then
  shift
  ../../bazelw build --nobuild "$@" //...
  ../../bazelw build "$@" --output_groups=compilation_outputs //:layers //:umbrella
  programs=(one_operator)
fi
../../bazelw build "$@" "${programs[@]/#///:}"
for program in "${programs[@]}"; do
  "bazel-bin/$program"
done
../../bazelw shutdown
