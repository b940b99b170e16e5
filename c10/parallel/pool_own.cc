#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>

#include "c10/parallel/pool.h"

// A pool on pthreads and futexes: it weighs a few kilobytes in a static binary, where libgomp or <thread> with a condition
// variable would weigh a hundred and more, ThreadSanitizer sees through it, and it can begin anew in a forked child.

namespace at::internal {

namespace {

struct Job {
  void (*work)(void*, int);
  void* context;
  uint32_t running;  // helpers that have not finished
};

/// One helper thread. It sleeps on `posted`, which counts the jobs that were given to it.
struct Helper {
  uint32_t posted;
  uint32_t sleeping;
  Job* job;
  int thread_num;
  Helper* next_idle;
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
Helper* g_idle = nullptr;
Helper g_helpers[kMaxThreads];
int g_started = 0;

// A hand-over takes about as long as this many pauses (tens of microseconds); a sleep and a wake cost as much again.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void futex_wait(uint32_t* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake(uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

// Waits until *word differs from `value`; spins, then sleeps. `sleeping` tells the other side whether to wake.
void wait_for_change(uint32_t* word, uint32_t value, uint32_t* sleeping) {
  for (int i = 0; i < kSpins; ++i) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return;
    pause();
  }
  while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value) {
    __atomic_store_n(sleeping, 1u, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value) futex_wait(word, value);
    __atomic_store_n(sleeping, 0u, __ATOMIC_RELAXED);
  }
}

void* helper_main(void* p) {
  Helper& self = *static_cast<Helper*>(p);
  uint32_t done = 0;
  while (true) {
    wait_for_change(&self.posted, done, &self.sleeping);
    ++done;
    Job* const job = self.job;
    job->work(job->context, self.thread_num);
    // Idle before the job is told: its caller may come back at once and should find a helper.
    pthread_mutex_lock(&g_mutex);
    self.next_idle = g_idle;
    g_idle = &self;
    pthread_mutex_unlock(&g_mutex);
    // The job lives on its caller's stack and may be gone after the decrement; waking an address that nobody waits on is
    // harmless.
    if (__atomic_sub_fetch(&job->running, 1, __ATOMIC_ACQ_REL) == 0) futex_wake(&job->running);
  }
  return nullptr;
}

// An idle helper, or a new one, or null where the system gives no more threads.
Helper* take_helper() {
  pthread_mutex_lock(&g_mutex);
  Helper* helper = g_idle;
  if (helper != nullptr) {
    g_idle = helper->next_idle;
  } else if (g_started < kMaxThreads) {
    helper = &g_helpers[g_started];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, &helper_main, helper) == 0) {
      ++g_started;
    } else {
      helper = nullptr;
    }
    pthread_attr_destroy(&attributes);
  }
  pthread_mutex_unlock(&g_mutex);
  return helper;
}

}  // namespace

void run_own_team(int width, void (*work)(void* context, int thread_num), void* context) {
  Job job{work, context, 0};
  for (int i = 1; i < width; ++i) {
    Helper* const helper = take_helper();
    if (helper == nullptr) break;
    __atomic_add_fetch(&job.running, 1, __ATOMIC_RELAXED);
    helper->job = &job;
    helper->thread_num = i;
    __atomic_add_fetch(&helper->posted, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&helper->sleeping, __ATOMIC_SEQ_CST) != 0) futex_wake(&helper->posted);
  }
  work(context, 0);
  for (int i = 0; i < kSpins && __atomic_load_n(&job.running, __ATOMIC_ACQUIRE) != 0; ++i) pause();
  while (const uint32_t running = __atomic_load_n(&job.running, __ATOMIC_ACQUIRE)) futex_wait(&job.running, running);
}

void begin_own_pool_anew() {
  g_mutex = PTHREAD_MUTEX_INITIALIZER;
  g_idle = nullptr;
  g_started = 0;
  for (Helper& helper : g_helpers) helper = Helper{};
}

}  // namespace at::internal
