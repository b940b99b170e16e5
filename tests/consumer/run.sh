#!/usr/bin/env bash
# Builds and runs the programs of this workspace. Arguments go to Bazel.
#
# umbrella depends on the whole library, whose objects take as long to compile here as they took where its own tests are. So
# without CONSUMER_ALL=1 what is tested of it is everything but that: all its targets are loaded, all sources that are generated
# are made, and the program is compiled; it is linked and run with CONSUMER_ALL=1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
programs=(one_operator layers)
if [ "${CONSUMER_ALL:-}" = 1 ]; then programs+=(umbrella); fi
../../bazelw build "$@" "${programs[@]/#/:}"
for program in "${programs[@]}"; do
  "bazel-bin/$program"
done
if [ "${CONSUMER_ALL:-}" != 1 ]; then
  ../../bazelw build "$@" --aspects=//:sources.bzl%all_sources --output_groups=sources :umbrella
  ../../bazelw build "$@" --compile_one_dependency umbrella.cc
fi
../../bazelw shutdown
