#include "c10/parallel/fork.h"
#include "c10/parallel/pool.h"

// The own pool where there is no other.

namespace at::internal {

void run_team(int width, void (*work)(void* context, int thread_num), void* context) {
  static constinit ForkHandler handler;
  handler.install(&begin_own_pool_anew);
  run_own_team(width, work, context);
}

bool library_may_use_threads() { return true; }
int set_library_threads(int width) { return width; }

}  // namespace at::internal
