// The gradients of softmax and log_softmax, of that of the result and the result.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

template <bool kLog>
struct SoftmaxBackward {
  static constexpr bool kAnyInner = true;

  template <class R>
  static __device__ __forceinline__ void run(const R& row) {
    using T = typename R::Number;
    const auto e = row.template elements<0, 1>();
    T own = 0;
    row.each(e, [&](const auto& x, int n, int) {
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) {
        if (i < n) own += kLog ? x[0][i] : x[0][i] * x[1][i];
      }
    });
    const T all = row.sum(own);
    row.template map<>(e, [&](int64_t, const T* x) {
      if constexpr (kLog)
        return x[0] - ::exp(x[1]) * all;
      else
        return (x[0] - all) * x[1];
    });
  }
};

}  // namespace

constinit const RowsLaunchers kSoftmaxBackwardRows = rows_launchers<SoftmaxBackward<false>>();
constinit const RowsLaunchers kLogSoftmaxBackwardRows = rows_launchers<SoftmaxBackward<true>>();

}  // namespace at::cuda
