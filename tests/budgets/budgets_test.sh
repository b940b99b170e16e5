#!/usr/bin/env bash
# Compares what was built with its limit: budgets_test.sh LIMITS FILE...  A file named *_lines holds a number, others count
# in bytes. Every limit has its file and every file its limit.
set -euo pipefail
limits="$1"
shift
failed=0
declare -A limit
while read -r name number; do
  case "$name" in '' | '#'*) continue ;; esac
  limit[$name]="$number"
done <"$limits"
for file in "$@"; do
  name="$(basename "$file")"
  case "$name" in
    *_lines) actual="$(cat "$file")" ;;
    *) actual="$(stat -L -c %s "$file")" ;;
  esac
  if [ -z "${limit[$name]:-}" ]; then
    echo "FAIL: $name has no limit in $limits"
    failed=1
    continue
  fi
  printf '%-22s %9d of %9d\n' "$name" "$actual" "${limit[$name]}"
  if [ "$actual" -gt "${limit[$name]}" ]; then
    echo "FAIL: $name is over its limit"
    failed=1
  fi
  unset "limit[$name]"
done
for name in "${!limit[@]}"; do
  echo "FAIL: $name has a limit and was not measured"
  failed=1
done
exit $failed
