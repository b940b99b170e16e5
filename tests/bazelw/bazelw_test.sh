#!/usr/bin/env bash
# bazelw against made-up machines: dpkg-query, apt-get, sudo, id and bazel are scripts that this test writes.
set -uo pipefail
source_root="$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)"
scratch="$(mktemp -d "${TEST_TMPDIR:-/tmp}/bazelw.XXXXXX")"
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/build_defs" "$scratch/bin"
sed "s|/etc/os-release|$scratch/os-release|g; s|/dev/shm|$scratch/shm|g" "$source_root/bazelw" > "$scratch/tree/bazelw"
chmod +x "$scratch/tree/bazelw"
printf '# list\nbazel-bootstrap  # Bazel\nclang-19\nlibhwy-dev # why\n' > "$scratch/tree/build_defs/debian_packages.txt"

fake() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" > "$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
# Free memory for files, as $scratch/df has it.
fake df 'cat "'"$scratch"'/df"'
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

mkdir "$scratch/shm"
printf 'Type Avail\ntmpfs 4194304\n' > "$scratch/df"
for command in build test run coverage; do
  run "$command" //c10 --sandbox_base=/x
  expect "$command with files in memory" 0 "^bazel $command --sandbox_base=$scratch/shm //c10 --sandbox_base=/x in "
done
run query //c10
expect "a command without sandboxes" 0 "^bazel query //c10 in "
echo 'build --sandbox_base=/y' > "$scratch/tree/user.bazelrc"
run test //c10
expect "another place by user.bazelrc" 0 "^bazel test //c10 in "
rm "$scratch/tree/user.bazelrc"
printf 'Type Avail\ntmpfs 4194303\n' > "$scratch/df"
run test //c10
expect "little memory for files" 0 "^bazel test //c10 in "
printf 'Type Avail\next4 9999999\n' > "$scratch/df"
run test //c10
expect "no files in memory" 0 "^bazel test //c10 in "
rm -r "$scratch/shm" "$scratch/df"

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

# call FOLDER COMMAND...: COMMAND in FOLDER, on the made-up machine.
call() {
  local folder="$1"
  shift
  : > "$scratch/log"
  (cd "$folder" && PATH="$scratch/bin:$PATH" "$@") > "$scratch/out" 2>&1
  rc=$?
}

mkdir -p "$scratch/links"
ln -s "$scratch/tree/bazelw" "$scratch/links/bazelw"
ln -s ../links/bazelw "$scratch/bin/bazelw"
call "$scratch" links/bazelw build //c10
expect "called through a symbolic link" 0 "^bazel build //c10 in $scratch/tree$"
call "$scratch/tree/build_defs" bazelw build //c10
expect "called through a link to a link" 0 "^bazel build //c10 in $scratch/tree/build_defs$"
ln -s "$scratch/tree" "$scratch/other_tree"
call "$scratch/other_tree" ./bazelw run //examples/gpt
expect "the tree seen through a symbolic link" 0 "^bazel run //examples/gpt in "

mkdir -p "$scratch/it's here"
call "$scratch/it's here" "$scratch/tree/bazelw" run //examples/gpt
expect "called from a folder with an apostrophe" 0 "BUILD_WORKING_DIRECTORY='$scratch/it'\\\\''s here' //examples/gpt in $scratch/tree"

for name in "with a space" "größe" $'tab\there'; do
  mkdir -p "$scratch/$name"
  cp -r "$scratch/tree" "$scratch/$name/tree"
  call "$scratch/$name/tree" ./bazelw build //c10
  expect "sources in '$name'" 1 "^bazelw: Bazel does not work with .* in the path '$scratch/$name/tree'"
  refuse "sources in '$name'" "."
  [ "$(wc -l < "$scratch/out")" -eq 1 ] || { echo "FAIL: more than a line for '$name'"; cat "$scratch/out"; failed=1; }
done
call "$scratch" env HOME=/home/josé tree/bazelw build //c10
expect "a home folder that Bazel cannot use" 1 "^bazelw: .*'/home/josé'.* --output_user_root="
refuse "a home folder that Bazel cannot use" "."
call "$scratch" env HOME=/home/josé tree/bazelw --output_user_root=/var/tmp/bazel build //c10
expect "another output folder than below the home folder" 0 "^bazel --output_user_root=/var/tmp/bazel build //c10"
exit $failed
