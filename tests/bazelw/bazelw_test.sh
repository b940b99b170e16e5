#!/usr/bin/env bash
# bazelw against made-up machines: dpkg-query, apt-get, sudo, id and bazel are scripts that this test writes.
set -uo pipefail
source_root="$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)"
scratch="$(mktemp -d "${TEST_TMPDIR:-/tmp}/bazelw.XXXXXX")"
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/build_defs" "$scratch/bin"
sed "s|/etc/os-release|$scratch/os-release|g" "$source_root/bazelw" > "$scratch/tree/bazelw"
chmod +x "$scratch/tree/bazelw"
printf '# list\nbazel-bootstrap  # Bazel\nclang-19\nlibhwy-dev # why\n' > "$scratch/tree/build_defs/debian_packages.txt"

fake() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" > "$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
# Knows the packages in $scratch/installed; fails, as the real one does, where it is asked for another.
fake dpkg-query 'shift 3; rc=0; for p in "$@"; do if grep -qx "$p" "'"$scratch"'/installed"; then echo "$p installed"; else rc=1; fi; done; exit $rc'
fake apt-get 'echo "apt-get $*" >> "'"$scratch"'/log"; [ ! -t 0 ] && read -r line && echo "read input" >> "'"$scratch"'/log"
if [ "$1" = install ] && [ ! -e "'"$scratch"'/apt-broken" ]; then for p in "$@"; do case "$p" in -*|install) ;; *) echo "$p" >> "'"$scratch"'/installed" ;; esac; done; fi; exit 0'
fake id 'echo "$(cat "'"$scratch"'/uid")"'
fake sudo '[ -e "'"$scratch"'/sudo-works" ] || exit 1; [ "$1" = -n ] && shift; exec "$@"'
fake bazel 'echo "bazel $* in $PWD" >> "'"$scratch"'/log"'

failed=0
# run ARGUMENTS: bazelw with them; sets rc.
run() {
  : > "$scratch/log"
  (cd "$scratch/tree" && PATH="$scratch/bin:$PATH" ./bazelw "$@" < <(echo y)) > "$scratch/out" 2>&1
  rc=$?
}
# expect NAME RC PATTERN...: the exit status, and what the log or the output must hold.
expect() {
  local name="$1" want="$2" pattern
  shift 2
  [ "$rc" -eq "$want" ] || { echo "FAIL: $name: exit $rc, not $want"; failed=1; }
  for pattern in "$@"; do
    if ! grep -qE -- "$pattern" "$scratch/log" "$scratch/out"; then
      echo "FAIL: $name: no '$pattern' in"; cat "$scratch/log" "$scratch/out"; failed=1
    fi
  done
  echo "checked: $name"
}
# refuse NAME PATTERN: what the log must not hold.
refuse() {
  if grep -qE -- "$2" "$scratch/log"; then echo "FAIL: $1: '$2' in"; cat "$scratch/log"; failed=1; fi
}

printf 'ID=debian\nVERSION_ID="12"\n' > "$scratch/os-release"
echo 0 > "$scratch/uid"

printf 'bazel-bootstrap\nclang-19\nlibhwy-dev\n' > "$scratch/installed"
run test //... --flag=x
expect "everything is there" 0 "^bazel test //... --flag=x in $scratch/tree$"
refuse "everything is there" "apt-get"

printf 'clang-19\n' > "$scratch/installed"
run build //c10
expect "root on Debian 12 installs what is missing" 0 "installing bazel-bootstrap libhwy-dev" "^apt-get update" \
  "^apt-get install -y .*bazel-bootstrap libhwy-dev$" "^bazel build //c10"
refuse "the user is not asked" "read input"

: > "$scratch/installed"
touch "$scratch/apt-broken"
run build //c10
expect "an installation that did nothing" 1 "still missing" "^  clang-19$"
refuse "an installation that did nothing" "^bazel "
rm "$scratch/apt-broken"

: > "$scratch/installed"
printf 'ID=ubuntu\nVERSION_ID="24.04"\n' > "$scratch/os-release"
run build //c10
expect "another distribution" 1 "only on Debian 12" "^  bazel-bootstrap$" "^  clang-19$" "^  libhwy-dev$"
refuse "another distribution" "apt-get|^bazel "

printf 'ID=debian\nVERSION_ID="12"\n' > "$scratch/os-release"
echo 1000 > "$scratch/uid"
run build //c10
expect "no rights" 1 "needs root or sudo" "^  libhwy-dev$"
refuse "no rights" "apt-get|^bazel "

touch "$scratch/sudo-works"
run build //c10
expect "sudo without a password" 0 "^apt-get install" "^bazel build //c10"

(cd "$scratch" && PATH="$scratch/bin:$PATH" tree/bazelw run //examples/gpt -- --out=x) > "$scratch/out" 2>&1
rc=$?
expect "called from another folder" 0 "--run_under=env BUILD_WORKING_DIRECTORY='$scratch' //examples/gpt -- --out=x in $scratch/tree"
exit $failed
