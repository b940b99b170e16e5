#!/usr/bin/env bash
# Packs the tests and benchmarks of CUDA devices, so that they run on a machine with a driver and without this repository:
#
#   tests/gpu/pack.sh gpu_tests.tar.xz [CASES]        # builds with --config=cuda; CASES: a folder of recorded calls for the replay
#   tar xf gpu_tests.tar.xz && gpu_tests/run.sh       # there: all, in the order of docs/cuda.md; prints "N passed, N failed, N skipped"
#
# In it are the programs, stripped, and the libraries that they load, but for the C library, the driver and the toolkit's large ones
# (cuBLAS, cuDNN, cuFFT, cuSOLVER, cuSPARSE, nvJitLink, NVRTC: the archive may weigh 60 MB), which must be on the other machine: run.sh looks for
# them where LD_LIBRARY_PATH and CUDA_PATH say. It also writes gpu_tests/missing.txt: programs that cannot start for want of a library.
set -euo pipefail
limit=$((60 * 1000 * 1000))
out=${1:?usage: pack.sh OUT.tar.xz [CASES]}
out=$(realpath -m "$out")
cases=${2:+$(realpath "$2")}
cd "$(dirname "$0")/../.."

# In the order in which they should run: what comes later is built on what comes before.
patterns=(//tests/cuda_on_host/contract/... //c10/cuda/... //aten/cuda/... //tests/cuda_on_host/... //tests/gpu/...)
targets=()
for pattern in "${patterns[@]}"; do
  while read -r target; do
    [[ " ${targets[*]-} " == *" $target "* ]] || targets+=("$target")
  done < <(./bazelw query "attr(tags, '[\[ ]gpu[,\]]', kind('cc_(test|binary)', $pattern))" 2> /dev/null | sort)
done
targets+=(//tests/conformance:replay_cuda)
./bazelw build --config=cuda "${targets[@]}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/gpu_tests/bin" "$folder/gpu_tests/lib"
for target in "${targets[@]}"; do
  path=${target#//}
  name=${path//[\/:]/.}
  strip -o "$folder/gpu_tests/bin/$name" "bazel-bin/${path/:/\/}"
  [[ $target == *:replay_cuda ]] || echo "$name" >> "$folder/gpu_tests/tests.txt"
  # Libraries of this system, which another may not have.
  ldd "$folder/gpu_tests/bin/$name" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libcuda|libcublas|libcublasLt|libcudnn|libcufft|libcusolver|libcusparse|libnvJitLink|libnvrtc)\.so' |
    while read -r library; do cp -Lnf "$library" "$folder/gpu_tests/lib/"; done
done
[ -z "$cases" ] || cp -r "$cases" "$folder/gpu_tests/cases"

cat > "$folder/gpu_tests/run.sh" << 'RUN'
#!/usr/bin/env bash
# Runs the packed tests: all, or those whose names contain one of the arguments. Logs are in logs/.
cd "$(dirname "$0")"
export LD_LIBRARY_PATH="$PWD/lib:${CUDA_PATH:-/usr/local/cuda}/lib64:${LD_LIBRARY_PATH-}"
mkdir -p logs
: > missing.txt
passed=0 failed=0 skipped=0
note() {  # NAME STATUS: counts the log's cases
  local ok bad left
  ok=$(grep -c '^\[       OK \]' "logs/$1.log"); bad=$(grep -c '^\[  FAILED  \].*ms)' "logs/$1.log")
  left=$(grep -c '^\[  SKIPPED \].*ms)' "logs/$1.log")
  if [ "$2" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
  printf '%-60s %5d passed %5d failed %5d skipped\n' "$1" "$ok" "$bad" "$left"
}
chosen() {
  [ $# -eq 1 ] && return 0
  local name=$1 part
  shift
  for part in "$@"; do [[ $name == *"$part"* ]] && return 0; done
  return 1
}
while read -r name; do
  chosen "$name" "$@" || continue
  if ldd "bin/$name" | grep -q 'not found'; then
    echo "$name: $(ldd "bin/$name" | awk '/not found/ { printf "%s ", $1 }')" >> missing.txt
    echo "$name: left out, see missing.txt"
    failed=$((failed + 1))
    continue
  fi
  "bin/$name" > "logs/$name.log" 2>&1
  note "$name" $?
done < tests.txt
if [ -d cases ] && chosen replay "$@"; then
  for layouts in "" --layouts; do
    bin/tests.conformance.replay_cuda --device=cuda --cases=cases $layouts > "logs/replay$layouts.log" 2>&1
    tail -n 1 "logs/replay$layouts.log"
    grep -q ' 0 failed' <(tail -n 1 "logs/replay$layouts.log") || failed=$((failed + 1))
  done
fi
[ ! -s missing.txt ] || cat missing.txt
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
RUN
chmod +x "$folder/gpu_tests/run.sh"

# Programs that hold the same kernels follow each other, within reach of the dictionary.
tar -C "$folder" --sort=name -cf - gpu_tests | xz --lzma2=preset=6,dict=192MiB > "$out"
bytes=$(stat -c %s "$out")
echo "$out: $bytes bytes, ${#targets[@]} programs"
if [ "$bytes" -gt "$limit" ]; then
  echo "more than the $limit that it may have" >&2
  exit 1
fi
