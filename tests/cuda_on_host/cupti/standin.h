// CUPTI on the host, for tests: it tells of what the stand-in of the CUDA runtime does. It is hostile where CUPTI
// leaves room: full buffers come back late and in any order, work is told only once it has run, nothing is flushed that
// nobody asks for, and its clock is another than the program's.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cupti_standin {

struct Options {
  uint64_t seed = 0;
  bool shuffle = true;  // full buffers are handed back in a random order, some of them at the flush only
  // Of its clock, against the steady clock.
  int64_t clock_ahead_ns = 7'000'000'000'000;
  double clock_drift = 1e-4;
  int64_t fail_call = -1;  // the call with this number, counted from 0 as calls() does, fails without effect
  CUptiResult fail_with = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
};

/// The state of a process that has not called CUPTI yet.
void reset(const Options& options = {});
/// Calls since reset() of every function that returns a status, but those for ranges, names and records.
uint64_t calls();
std::string failed_call();
/// What a program must not do though CUPTI may not report it, one a line; "" if nothing.
std::string misuse();
/// Kinds that are enabled, and buffers that were given and have not come back.
size_t enabled_kinds();
size_t lent_buffers();
/// Ranges that the calling thread has open.
size_t open_ranges();

}  // namespace cupti_standin
