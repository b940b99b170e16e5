#!/usr/bin/env bash
# Builds and runs the programs of this workspace. Arguments go to Bazel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
../../bazelw build "$@" //...
for program in one_operator layers umbrella; do
  "bazel-bin/$program"
done
../../bazelw shutdown
