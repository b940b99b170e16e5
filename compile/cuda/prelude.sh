#!/bin/sh
# Joins texts for a compiler that has no headers, as a C++ source: prelude().
set -eu

# What stands between two lines, the first of them included.
between() {
  sed -n "/$2/,/$3/p" "$1" | sed '$d'
}

echo '#include "compile/cuda/group_source.h"'
echo 'namespace torch::compiler::cuda {'
echo 'const char* prelude() {'
echo '  static const char* const text ='
for file in "$@"; do
  echo 'R"cuda('
  case "$file" in
    */convert.cuh)
      between "$file" '^namespace at::cuda {' '^#define AT_CUDA_DTYPES'
      echo '}'
      ;;
    */elementwise_call.h)
      echo 'namespace at::cuda {'
      sed -n '/^struct FastDivisor {/,/^};/p' "$file"
      echo '}'
      ;;
    */elementwise.cuh)
      echo 'namespace at::cuda {'
      sed -n '/^KD_DEVICE uint32_t divide(/,/^}/p' "$file"
      echo '}'
      ;;
    *) grep -v -e '^#pragma once' -e '^#include' "$file" ;;
  esac
  echo ')cuda"'
done
echo '      ;'
echo '  return text;'
echo '}'
echo '}  // namespace torch::compiler::cuda'
