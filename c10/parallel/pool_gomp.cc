#include "c10/parallel/fork.h"
#include "c10/parallel/pool.h"

// libgomp's own entry points: what a compiler emits for `#pragma omp parallel`, callable without -fopenmp, so that clang
// does not bring a second OpenMP run-time.
extern "C" {
void GOMP_parallel(void (*fn)(void*), void* data, unsigned num_threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int);
}

namespace at::internal {

namespace {
struct Team {
  void (*work)(void*, int);
  void* context;
};

// libgomp waits for ever for threads that a forked child does not have: such a child has a pool of our own, and libraries
// compute in the calling thread.
constinit bool g_forked = false;
constinit ForkHandler g_fork_handler;

void before_libgomp() {
  g_fork_handler.install([] {
    __atomic_store_n(&g_forked, true, __ATOMIC_RELAXED);
    begin_own_pool_anew();
  });
}
}  // namespace

void run_team(int width, void (*work)(void* context, int thread_num), void* context) {
  if (__atomic_load_n(&g_forked, __ATOMIC_RELAXED)) return run_own_team(width, work, context);
  before_libgomp();
  Team team{work, context};
  GOMP_parallel(
      [](void* p) {
        const Team& t = *static_cast<const Team*>(p);
        t.work(t.context, omp_get_thread_num());
      },
      &team, static_cast<unsigned>(width), 0);
}

bool library_may_use_threads() {
  before_libgomp();
  return !__atomic_load_n(&g_forked, __ATOMIC_RELAXED);
}

int set_library_threads(int width) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(width);
  return before;
}

}  // namespace at::internal
