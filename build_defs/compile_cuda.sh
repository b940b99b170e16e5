#!/bin/bash
# Compiles a file of kernels for devices into an archive, and says what each of them takes of a device:
#   compile_cuda.sh NVCC OBJCOPY AR NM SOURCE ARCHIVE RESOURCES FLAG...
# RESOURCES gets a line for each kernel: its name, its registers a thread, and bytes of its stack and of registers spilled there;
# for functions that kernels call, "-" are the registers.
# A file that holds several operators becomes an object for each (KD_CUDA_HAS in c10/cuda/launch.h), and the function by which an
# object registers its kernels, which nvcc makes a static constructor, gets a name, by which the first launch calls it.
set -euo pipefail
nvcc=$1 objcopy=$2 ar=$3 nm=$4 source=$5 archive=$6 resources=$7
shift 7

constructor=_ZL24__sti____cudaRegisterAllv
folder=$archive.objects
rm -rf "$folder"
mkdir -p "$folder"
: > "$resources"
# What ptxas says with -v, one line a function. A kernel's properties come before its registers.
read_resources() {
  awk '
    /Compiling entry function/ { split($0, part, "\047"); entry = part[2] }
    /Function properties for/ { name = $NF }
    /bytes stack frame/ {
      spilled = $5 + $9
      if (name == entry) { stack = $1; spills = spilled } else { print name, "-", $1, spilled }
    }
    /: Used [0-9]+ registers/ { for (i = 1; i < NF; ++i) if ($i == "Used") print entry, $(i + 1), stack, spills }
  ' "$1"
}
parts=$(sed -nE 's/^(#if KD_CUDA_HAS|AT_CUDA_[A-Z]+_OP)\(([a-z][a-z0-9_]*)[,)].*/\2/p' "$source")
# What one operator alone does not use of its file is no mistake.
unused=${parts:+-diag-suppress=177}
for part in ${parts:-all}; do
  object=$folder/$part.o
  module=kd_cuda_$(printf %s "${source%.cu}.$part" | tr -c "[:alnum:]" _)
  if ! "$nvcc" -c "$source" -o "$object" -Xptxas -v "$@" $unused "-DKD_CUDA_MODULE=$module" \
    "-DKD_CUDA_ONLY_$part=KD_CUDA_CHOSEN" 2> "$object.log"; then
    cat "$object.log" >&2
    exit 1
  fi
  grep -vE '^ptxas info|bytes stack frame|^$' "$object.log" >&2 || true
  read_resources "$object.log" >> "$resources"
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
