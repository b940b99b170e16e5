#!/bin/bash
# Compiles a program's file for devices as it is: what compile_cuda.sh is for the library's own files of kernels. What its kernels
# take of a device is not looked at.
set -euo pipefail
nvcc=$1 ar=$3 source=$5 archive=$6 resources=$7
shift 7

"$nvcc" -c "$source" -o "$archive.o" "$@"
"$ar" rcsD "$archive" "$archive.o"
rm "$archive.o"
: > "$resources"
