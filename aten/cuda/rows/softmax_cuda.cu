// softmax, log_softmax.
#include "aten/cuda/rows/exponentials.cuh"

namespace at::cuda {
namespace {

template <bool kLog>
struct Softmax {
  static constexpr bool kAnyInner = true;
  static constexpr int kHeld = 4;

  template <class Row, class T>
  static __device__ __forceinline__ void run(const Row& row, T) {
    const auto e = row.template elements<0>();
    const Exponentials<T> all = exponentials<T>(row, e);
    if constexpr (kLog) {
      const T below = ::log(all.sum);
      row.template map<>(e, [&](int64_t, const T* x) { return x[0] - all.top - below; });
    } else {
      const T scale = 1 / all.sum;
      row.template map<>(e, [&](int64_t, const T* x) { return ::exp(x[0] - all.top) * scale; });
    }
  }
};

}  // namespace

constinit const RowsLaunchers kSoftmaxRows = rows_launchers<Softmax<false>>();
constinit const RowsLaunchers kLogSoftmaxRows = rows_launchers<Softmax<true>>();

}  // namespace at::cuda
