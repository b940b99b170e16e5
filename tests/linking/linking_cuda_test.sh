#!/usr/bin/env bash
# Reads from its symbols which kernels a program for CUDA devices holds that calls one operator: add.
set -euo pipefail
"$1"
# The functions that register kernels: build_defs/compile_cuda.sh.
modules="$(nm "$1" | sed -n 's/.* kd_cuda_aten_cuda_//p' | sort | tr '\n' ' ')"
echo "kernels of: $modules"
others="$(tr ' ' '\n' <<< "$modules" | grep -vE '^((loops_arithmetic|foreach_lists)_cuda_add(_scaled)?)?$' || true)"
if [ -n "$others" ]; then
  echo "FAIL: the program calls add and holds kernels of: $others"
  exit 1
fi
