// Every access of a kernel to memory that threads share, as the compiler reports it
// (-fsanitize-coverage=trace-loads,trace-stores), and whether two of them race. Accesses are ordered by barriers, by
// __syncwarp among its lanes, and, between blocks or warps, by a fence of the first behind its access and an atomic
// operation of the second behind that. Not by the order in which the executor happens to run threads, and not by
// shuffles or votes.
//
// What is kept is, for every word of four bytes, the last write and the last read: of races with earlier ones some may
// be missed, and nothing is reported that is ordered by these rules.
#pragma once

#include <cstddef>

namespace simt::watch {

// The executor says what happens.
void start_grid();
void start_block(const void* dynamic_shared, size_t bytes);
void barrier();
void order_lanes(unsigned warp, unsigned mask);

// Whether a kernel's code runs, and not the executor's: that, too, may be reported, since inline functions are compiled
// once for a program.
void set_active(bool active);

// The current thread does something; messages name the line of `code`, or of the caller.
void fence();
void atomic(const void* address, size_t bytes, const void* code);
void load(const void* address, size_t bytes);
void store(const void* address, size_t bytes);

}  // namespace simt::watch
