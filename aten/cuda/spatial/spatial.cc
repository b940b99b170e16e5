#include "aten/cuda/spatial/spatial.h"

#include "c10/util/exception.h"

namespace at::cuda {
namespace {

// Which dimension of a tensor is number d of batch, channels, depth, height, width; negative where there is none.
int64_t dim_of(const TensorBase& t, int dims, int d) {
  if (d < 2) return t.dim() - dims - 2 + d;
  return d - 2 < 3 - dims ? -1 : t.dim() - 5 + d;
}

}  // namespace

Volume volume_of(const TensorBase& t, int dims) {
  Volume v;
  if (!t.defined()) return v;
  v.data = static_cast<char*>(const_cast<void*>(t.const_data_ptr()));
  for (int d = 0; d < 5; ++d) {
    const int64_t at = dim_of(t, dims, d);
    if (at >= 0) v.strides[d] = t.stride(at) * static_cast<int64_t>(t.itemsize());
  }
  return v;
}

SpatialSizes sizes_of(const char* name, const TensorBase& t, const TensorBase& other, int dims) {
  SpatialSizes s;
  int64_t plane = 1;
  for (int d = 0; d < 5; ++d) {
    const int64_t at = dim_of(t, dims, d);
    if (at < 0) continue;
    s.sizes[d] = t.size(at);
    if (d >= 2) plane *= other.size(dim_of(other, dims, d));
  }
  TORCH_CHECK(s.plane() < int64_t{1} << 31 && plane < int64_t{1} << 31, name,
              ": planes of 2^31 elements and more are not supported on CUDA tensors");
  const int64_t channels = dim_of(t, dims, 1), width = t.dim() - 1;
  s.channels_last = s.sizes[1] > 1 && t.stride(channels) < t.stride(width);
  return s;
}

}  // namespace at::cuda
