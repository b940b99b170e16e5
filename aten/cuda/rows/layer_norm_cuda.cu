// Layer normalisation of rows, and the gradient of its input.
#include "aten/cuda/rows/rows.cuh"

namespace at::cuda {
namespace {

struct LayerNormBackward {
  static constexpr bool kAnyInner = false;

  template <class T, int kLanes>
  static __device__ __forceinline__ void run(const Row<T, kLanes>& row) {
    const T mean = row.template number<0>(), scale = row.template number<1>(),
            share = T(1) / static_cast<T>(row.call.size);
    const bool weighted = row.call.in[2] != nullptr;
    T sum_g = 0, sum_gx = 0;
    const auto take = [&](T g, T x) {
      sum_g += g;
      sum_gx += g * ((x - mean) * scale);
    };
    if (weighted) {
      row.template each<0, 1, 2>([&](int64_t, const auto& v) {
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(v[0]) / sizeof(T)); ++i) take(v[0][i] * v[2][i], v[1][i]);
      });
    } else {
      row.template each<0, 1>([&](int64_t, const auto& v) {
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(v[0]) / sizeof(T)); ++i) take(v[0][i], v[1][i]);
      });
    }
    const T mean_g = row.sum(sum_g) * share, mean_gx = row.sum(sum_gx) * share;
    const auto result = [=](T g, T x) { return scale * (g - mean_g - (x - mean) * scale * mean_gx); };
    if (weighted)
      row.template map<0, 1, 2>([&](int64_t, const T* v) { return result(v[0] * v[2], v[1]); });
    else
      row.template map<0, 1>([&](int64_t, const T* v) { return result(v[0], v[1]); });
  }
};

}  // namespace

constinit const RowsLaunchers kLayerNormRows = rows_launchers<LayerNorm>();
constinit const RowsLaunchers kLayerNormBackwardRows = rows_launchers<LayerNormBackward>();

}  // namespace at::cuda
