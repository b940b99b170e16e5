// Layer normalisation of rows.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

struct LayerNorm {
  static constexpr bool kAnyInner = false;
  static constexpr int kHeld = 4;

  template <class Row, class T>
  static __device__ __forceinline__ void run(const Row& row, T) {
    const RowsCall& call = row.call;
    const auto e = row.template elements<0>();
    const T count = static_cast<T>(call.size);
    // About the first element: of equal ones the mean is exactly theirs.
    const T first = call.size > 0 ? row.element(0, 0) : T(0);
    T off = 0;
    row.each(e, [&](const auto& x, int n, int) {
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) {
        if (i < n) off += x[0][i] - first;
      }
    });
    const T mean = first + row.sum(off) / count;
    T square = 0;
    row.each(e, [&](const auto& x, int n, int) {
#pragma unroll
      for (int i = 0; i < kRowVector; ++i) {
        if (i < n) square += (x[0][i] - mean) * (x[0][i] - mean);
      }
    });
    const T variance = row.sum(square) / count, scale = 1 / ::sqrt(variance + static_cast<T>(call.eps));
    row.template set_number<0>(mean);
    row.template set_number<1>(scale);
    const auto normal = [=](T x) { return (x - mean) * scale; };
    if (call.in[1] != nullptr && call.in[2] != nullptr) {
      row.template map<1, 2>(e, [&](int64_t, const T* x) { return normal(x[0]) * x[1] + x[2]; });
    } else if (call.in[1] != nullptr) {
      row.template map<1>(e, [&](int64_t, const T* x) { return normal(x[0]) * x[1]; });
    } else if (call.in[2] != nullptr) {
      row.template map<2>(e, [&](int64_t, const T* x) { return normal(x[0]) + x[1]; });
    } else {
      row.template map<>(e, [&](int64_t, const T* x) { return normal(x[0]); });
    }
  }
};

}  // namespace

constinit const RowsLaunchers kLayerNormRows = rows_launchers<LayerNorm>();

}  // namespace at::cuda
