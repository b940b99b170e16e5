// softmax, log_softmax.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

// exp(top) * sum. Below an infinite top all is NaN.
template <class T>
struct Exponentials {
  T top = -INFINITY, sum = 0;

  template <int kCount>
  __device__ __forceinline__ void take(const T (&x)[kCount]) {
    T largest = x[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) largest = x[i] > largest ? x[i] : largest;
    if (largest > top) {
      sum *= ::exp(top - largest);
      top = largest;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += x[i] == -INFINITY ? T(0) : ::exp(x[i] - top);
  }
  __device__ __forceinline__ void join(const Exponentials& other) {
    if (other.top == top) {
      sum += other.sum;
    } else if (other.top < top) {
      sum += other.sum * ::exp(other.top - top);
    } else {
      sum = sum * ::exp(top - other.top) + other.sum;
      top = other.top;
    }
  }
};

template <bool kLog>
struct Softmax {
  static constexpr bool kAnyInner = true;

  template <class T, int kLanes>
  static __device__ __forceinline__ void run(const Row<T, kLanes>& row) {
    Exponentials<T> own;
    row.template each<0>([&](int64_t, const auto& x) { own.take(x[0]); });
    const Exponentials<T> all =
        row.together(own, [](Exponentials<T>& into, const Exponentials<T>& from) { into.join(from); });
    if constexpr (kLog) {
      const T below = ::log(all.sum);
      row.template map<0>([&](int64_t, const T* x) { return x[0] - all.top - below; });
    } else {
      const T scale = 1 / all.sum;
      row.template map<0>([&](int64_t, const T* x) { return ::exp(x[0] - all.top) * scale; });
    }
  }
};

}  // namespace

constinit const RowsLaunchers kSoftmaxRows = rows_launchers<Softmax<false>>();
constinit const RowsLaunchers kLogSoftmaxRows = rows_launchers<Softmax<true>>();

}  // namespace at::cuda
