#!/usr/bin/env bash
# Compares what kernels take of a device with budgets: resources_test.sh BUDGETS RESOURCES...  (build_defs/compile_cuda.sh says
# what is in RESOURCES, one a source). Every budget has its source.
set -euo pipefail
budgets="$1"
shift
awk '
  function base(path) { sub(/.*\//, "", path); sub(/\.resources$/, "", path); return path }
  function fail(text) { print "FAIL: " text; failed = 1 }
  # Warps of a multiprocessor in blocks of 256 threads: 65,536 registers in units of 256 a warp, 64 warps.
  function warps(registers) {
    each = int((registers * 32 + 255) / 256) * 256
    blocks = int(65536 / (each * 8))
    return blocks > 8 ? 64 : blocks * 8
  }
  FNR == 1 { ++file; source = base(FILENAME); if (file > 1) seen[source] = 1 }
  file == 1 {
    if ($0 !~ /^(#|$)/) { registers[$1] = $2; stack[$1] = $3; listed[$1] = 1 }
    next
  }
  {
    limit = source in listed ? registers[source] : 128
    room = source in listed ? stack[source] : 0
    if ($4 > 0) fail(source ": " $4 " bytes of registers are spilled by " $1)
    if ($3 > room) fail(source ": a stack of " $3 " bytes, not " room ", of " $1)
    if ($2 == "-") next
    ++kernels
    if ($2 > limit) fail(source ": " $2 " registers, not " limit ", of " $1)
    if ($2 + 0 > most[source]) most[source] = $2 + 0
    of[warps($2)]++
  }
  END {
    for (name in listed) if (!(name in seen)) fail(name " has a budget and was not measured")
    for (name in most) if (most[name] > 128) printf "%-32s %3d registers, %2d warps a multiprocessor\n", name, most[name], warps(most[name])
    printf "%d kernels; by warps a multiprocessor in blocks of 256 threads:", kernels
    for (w = 0; w <= 64; w += 8) if (w in of) printf " %d: %d", w, of[w]
    print ""
    if (kernels == 0) fail("no kernels")
    exit failed
  }
' "$budgets" "$@"
