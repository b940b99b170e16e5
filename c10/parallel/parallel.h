#pragma once

#include <cstddef>
#include <cstdint>

// Data-parallel loops over the one thread pool of the process.
//
//   at::parallel_for(0, n, at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
//     for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
//   });
//
// - At most get_num_threads() - 1 helper threads run at any moment in the whole process, however many threads call: a
//   caller that finds no helper free does its work itself. The calling thread always takes part.
// - A parallel loop inside a parallel loop runs in its own thread.
// - The first exception that a body throws reaches the caller, after all running bodies have ended; what had not been begun
//   is left out.
// - How a range is split depends on the range, the grain and, for parallel_for, get_num_threads(); which thread runs which
//   piece is not defined. parallel_reduce splits independently of the number of threads and combines in order, so its
//   result has the same bits on any machine.
//
// The default build enters libgomp, which oneDNN uses too, so that there is one pool. `--config=minimal` and
// `--config=tsan` have a small pool of their own behind the same interface. A minimal program runs in the calling thread
// alone until it calls set_num_threads; one that never does is 80 KB smaller where it is linked fully statically.
//
// A child process made by fork() computes with threads of its own, started when it first needs them. Where the parent's pool
// was libgomp's and had been used, libraries with OpenMP regions (oneDNN) compute in the child's calling thread.
//
// libgomp's threads spin for milliseconds before they sleep. On a machine that other programs use too, start the program
// with GOMP_SPINCOUNT=10000 (or less) in its environment: with many more runnable threads than cores it runs several times
// faster so. (`./bazelw run` does that; libgomp reads the variable before any code of the program runs.)

namespace at {

namespace internal {

/// Elements below which a pointwise loop is not worth a second thread.
inline constexpr int64_t GRAIN_SIZE = 32768;

/// Runs pieces [0, pieces) of a task.
using PieceFunction = void (*)(void* context, int64_t piece);

/// Runs `function(context, i)` for every i in [0, pieces), on the calling thread and the helpers that are free.
void run_pieces(int64_t pieces, PieceFunction function, void* context);

[[noreturn]] void bad_grain_size(int64_t grain_size);

/// The state of a thread inside a parallel region.
struct RegionState {
  int32_t thread_num;  // its number in its team
  bool in_region;
};
extern __thread RegionState t_region __attribute__((tls_model("initial-exec")));
extern int32_t g_num_threads;  // 0: not yet determined
int determine_num_threads();

/// Helper threads reserved for a library that has its own parallel regions on the same libgomp (oneDNN). While it lives,
/// the calling thread's OpenMP team is `num_threads()` wide, and those helpers are not given to anybody else.
///
///   at::internal::ThreadLease lease;      // as many as are free
///   dnnl_primitive_execute(...);
class ThreadLease {
 public:
  explicit ThreadLease(int wanted = 0);  // 0: get_num_threads()
  ~ThreadLease();
  ThreadLease(const ThreadLease&) = delete;
  ThreadLease& operator=(const ThreadLease&) = delete;
  /// The width of the team, this thread included: at least 1.
  int num_threads() const { return helpers_ + 1; }

 private:
  int helpers_;
  int previous_;
};

}  // namespace internal

/// Smallest k with k * y >= x, for x >= 0 and y > 0.
constexpr int64_t divup(int64_t x, int64_t y) { return x / y + (x % y != 0); }

/// The width of the pool, callers included: what set_num_threads set, else OMP_NUM_THREADS, else the CPUs this process may
/// run on; in minimal builds 1 until set_num_threads was called.
inline int get_num_threads() {
  const int n = __atomic_load_n(&internal::g_num_threads, __ATOMIC_RELAXED);
  return n > 0 ? n : internal::determine_num_threads();
}

/// Sets the width of the pool for the whole process, at any time; loops that are running keep theirs.
/// Throws c10::Error "Expected positive number of threads" for n < 1.
void set_num_threads(int n);

/// The calling thread's number within its team, in [0, get_num_threads()); 0 outside a parallel region.
inline int get_thread_num() { return internal::t_region.thread_num; }

/// Whether the calling thread is running a piece of a parallel loop.
inline bool in_parallel_region() { return internal::t_region.in_region; }

/// Kept for libtorch's sake: there is nothing to prepare.
inline void init_num_threads() {}

/// Calls `f(b, e)` on disjoint subranges that together are [begin, end), none empty, each (but perhaps one) of at least
/// `grain_size` elements. An empty range calls nothing. Throws what `f` throws; c10::Error for a negative grain size.
template <class F>
inline void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  if (__builtin_expect(grain_size < 0, 0)) internal::bad_grain_size(grain_size);
  if (begin >= end) return;
  const int64_t count = end - begin;
  if (count <= grain_size || count == 1 || in_parallel_region() || get_num_threads() == 1) {
    f(begin, end);
    return;
  }
  const int64_t even = divup(count, get_num_threads());
  struct Context {
    const F* f;
    int64_t begin, end, step;
  };
  Context context{&f, begin, end, even > grain_size ? even : grain_size};
  internal::run_pieces(
      divup(count, context.step),
      [](void* p, int64_t piece) {
        const Context& c = *static_cast<const Context*>(p);
        const int64_t b = c.begin + piece * c.step;
        (*c.f)(b, c.end - b < c.step ? c.end : b + c.step);
      },
      &context);
}

/// Folds [begin, end): `f(b, e, identity)` gives the value of a subrange and `combine(x, y)` joins two, in the order of the
/// range. The split depends on the range and the grain only, so the same input gives the same bits with any number of
/// threads. An empty range gives `identity`. T must be default-constructible and copyable; `identity` neutral for `combine`.
///
///   double s = at::parallel_reduce(0, n, 4096, 0.0,
///       [&](int64_t b, int64_t e, double x) { for (; b < e; ++b) x += v[b]; return x; },
///       [](double x, double y) { return x + y; });
template <class T, class F, class Combine>
inline T parallel_reduce(int64_t begin, int64_t end, int64_t grain_size, const T identity, const F& f, const Combine& combine) {
  if (__builtin_expect(grain_size < 0, 0)) internal::bad_grain_size(grain_size);
  if (begin >= end) return identity;
  constexpr int64_t kMaxPieces = 64;
  const int64_t count = end - begin;
  const int64_t grain = grain_size > 1 ? grain_size : 1;
  const int64_t step = divup(count, kMaxPieces) > grain ? divup(count, kMaxPieces) : grain;
  const int64_t pieces = divup(count, step);
  if (pieces == 1) return f(begin, end, identity);
  // An element of its own for each piece: std::vector<bool>-like packing would let two threads write one byte.
  struct Partial {
    T value;
  };
  struct Context {
    const F* f;
    const T* identity;
    Partial* partial;
    int64_t begin, end, step;
  };
  Partial partial[kMaxPieces] = {};
  Context context{&f, &identity, partial, begin, end, step};
  internal::run_pieces(
      pieces,
      [](void* p, int64_t piece) {
        const Context& c = *static_cast<const Context*>(p);
        const int64_t b = c.begin + piece * c.step;
        c.partial[piece].value = (*c.f)(b, c.end - b < c.step ? c.end : b + c.step, *c.identity);
      },
      &context);
  T result = partial[0].value;
  for (int64_t i = 1; i < pieces; ++i) result = combine(result, partial[i].value);
  return result;
}

}  // namespace at
