#pragma once

// What parallel.cc needs from a pool of threads. pool_gomp.cc enters libgomp, pool_own.cc has threads of its own: those of
// minimal and TSan builds (pool_alone.cc), and of a child that was forked when libgomp had threads. A minimal program links it only if it calls set_num_threads: whatever starts a thread brings the C
// library's name resolver into a fully static program, 80 KB.

namespace at::internal {

/// The widest team.
inline constexpr int kMaxThreads = 1024;

/// The pool in use: run_team, or null in a minimal program that never set a number of threads.
using RunTeam = void (*)(int width, void (*work)(void* context, int thread_num), void* context);
extern RunTeam g_run_team;

/// Runs `work(context, i)` on up to `width` threads at once, i < width telling them apart; the caller is number 0. Returns
/// when all have returned. `work` does not throw, and may be called fewer times than `width`.
void run_team(int width, void (*work)(void* context, int thread_num), void* context);

/// Takes up to `wanted` of the helper threads that nobody has, and gives them back.
int borrow_helpers(int wanted);
void return_helpers(int count);
/// For a forked child: nobody has any.
void forget_helpers();

/// run_team on the own pool; and, for a forked child, the pool without the threads that stayed with the parent.
void run_own_team(int width, void (*work)(void* context, int thread_num), void* context);
void begin_own_pool_anew();

/// Whether libraries that use OpenMP may use more than the calling thread.
bool library_may_use_threads();

/// Sets how wide the calling thread's teams are in libraries that use OpenMP; returns what it was.
int set_library_threads(int width);

}  // namespace at::internal
