#pragma once

// What parallel.cc needs from a pool of threads. pool_gomp.cc enters libgomp, pool_own.cc has threads of its own; the build
// links one of them.

namespace at::internal {

/// The widest team.
inline constexpr int kMaxThreads = 1024;

/// Runs `work(context, i)` on up to `width` threads at once, i < width telling them apart; the caller is number 0. Returns
/// when all have returned. `work` does not throw, and may be called fewer times than `width`.
void run_team(int width, void (*work)(void* context, int thread_num), void* context);

/// Sets how wide the calling thread's teams are in libraries that use OpenMP; returns what it was.
int set_library_threads(int width);

}  // namespace at::internal
