#include "c10/parallel/parallel.h"

#include <sched.h>

#include <cstdlib>
#include <exception>

#include "c10/parallel/pool.h"
#include "c10/util/exception.h"

namespace at {

namespace internal {

__thread RegionState t_region __attribute__((tls_model("initial-exec"))) = {};
constinit int32_t g_num_threads = 0;
#ifdef C10_POOL_ON_DEMAND
constinit RunTeam g_run_team = nullptr;
#else
constinit RunTeam g_run_team = &run_team;
#endif

/// Helper threads that are lent out at this moment, in the whole process.
static constinit int32_t g_helpers_out = 0;

int borrow_helpers(int wanted) {
  const int width = get_num_threads();
  int out = __atomic_load_n(&g_helpers_out, __ATOMIC_RELAXED);
  while (true) {
    const int free = width - 1 - out;
    const int granted = wanted < free ? wanted : free;
    if (granted <= 0) return 0;
    if (__atomic_compare_exchange_n(&g_helpers_out, &out, out + granted, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return granted;
  }
}

void return_helpers(int count) { __atomic_sub_fetch(&g_helpers_out, count, __ATOMIC_ACQ_REL); }

void forget_helpers() { __atomic_store_n(&g_helpers_out, 0, __ATOMIC_RELAXED); }

namespace {

struct Job {
  PieceFunction function;
  void* context;
  int64_t pieces;
  int64_t next;  // first piece that nobody has taken
  bool failed;
  std::exception_ptr error;  // written by the one who set `failed`
};

// What each member of a team does.
void work(void* p, int thread_num) {
  Job& job = *static_cast<Job*>(p);
  const RegionState before = t_region;
  t_region = RegionState{thread_num, true};
  while (!__atomic_load_n(&job.failed, __ATOMIC_RELAXED)) {
    const int64_t piece = __atomic_fetch_add(&job.next, 1, __ATOMIC_RELAXED);
    if (piece >= job.pieces) break;
    try {
      job.function(job.context, piece);
    } catch (...) {
      if (!__atomic_exchange_n(&job.failed, true, __ATOMIC_ACQ_REL)) job.error = std::current_exception();
    }
  }
  t_region = before;
}

}  // namespace

int determine_num_threads() {
#ifdef C10_POOL_ON_DEMAND
  int n = 1;
#else
  int n = 0;
  if (const char* text = std::getenv("OMP_NUM_THREADS")) n = std::atoi(text);
  if (n < 1) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) n = CPU_COUNT(&cpus);
  }
  if (n < 1) n = 1;
  if (n > kMaxThreads) n = kMaxThreads;
#endif
  // Somebody may have called set_num_threads meanwhile; that wins.
  int32_t unset = 0;
  __atomic_compare_exchange_n(&g_num_threads, &unset, n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return __atomic_load_n(&g_num_threads, __ATOMIC_RELAXED);
}

void bad_grain_size(int64_t grain_size) {
  TORCH_CHECK(false, "parallel_for: expected a grain size that is not negative, but got ", grain_size);
}

void run_pieces(int64_t pieces, PieceFunction function, void* context) {
  int helpers = 0;
  const RunTeam run = __atomic_load_n(&g_run_team, __ATOMIC_RELAXED);
  if (run != nullptr && !in_parallel_region() && pieces > 1) {
    const int64_t wanted = pieces - 1 < kMaxThreads ? pieces - 1 : kMaxThreads;
    helpers = borrow_helpers(static_cast<int>(wanted));
  }
  if (helpers == 0) {
    for (int64_t i = 0; i < pieces; ++i) function(context, i);
    return;
  }
  Job job{function, context, pieces, 0, false, nullptr};
  run(helpers + 1, &work, &job);
  return_helpers(helpers);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace internal
}  // namespace at
