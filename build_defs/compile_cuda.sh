#!/bin/bash
# Compiles a file of kernels for devices into an archive: compile_cuda.sh NVCC OBJCOPY AR NM SOURCE ARCHIVE FLAG...
# A file that holds several operators becomes an object for each (KD_CUDA_HAS in c10/cuda/launch.h), and the function by which an
# object registers its kernels, which nvcc makes a static constructor, gets a name, by which the first launch calls it.
set -euo pipefail
nvcc=$1 objcopy=$2 ar=$3 nm=$4 source=$5 archive=$6
shift 6

constructor=_ZL24__sti____cudaRegisterAllv
folder=$archive.objects
rm -rf "$folder"
mkdir -p "$folder"
parts=$(sed -nE 's/^(#if KD_CUDA_HAS|AT_CUDA_[A-Z]+_OP)\(([a-z][a-z0-9_]*)[,)].*/\2/p' "$source")
# What one operator alone does not use of its file is no mistake.
unused=${parts:+-diag-suppress=177}
for part in ${parts:-all}; do
  object=$folder/$part.o
  module=kd_cuda_$(printf %s "${source%.cu}.$part" | tr -c "[:alnum:]" _)
  "$nvcc" -c "$source" -o "$object" "$@" $unused "-DKD_CUDA_MODULE=$module" "-DKD_CUDA_ONLY_$part=KD_CUDA_CHOSEN"
  "$objcopy" --redefine-sym "$constructor=$module" --globalize-symbol="$module" \
    --remove-section=.init_array --remove-section=.rela.init_array "$object"
  # That of <iostream>, which CUB includes, is one of many.
  symbols=$("$nm" "$object")
  if grep -qE '_GLOBAL__sub_I|__cxx_global_var_init' <<< "$symbols" && ! grep -q _ZStL8__ioinit <<< "$symbols"; then
    echo "$source: a static constructor in a file of kernels" >&2
    exit 1
  fi
done
"$ar" rcsD "$archive" "$folder"/*.o
