// Nearest-neighbour interpolation: copies of elements, whatever their dtype.
#include <algorithm>
#include <array>
#include <cstring>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/upsample/axis_plan.h"
#include "aten/ops/upsample/kernels.h"
#include "aten/ops/upsample/upsample_geometry.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using Scale = std::optional<double>;
using Scales = std::array<Scale, 3>;

constexpr int64_t kGrain = 65536;  // bytes worth a thread

TensorSpec nearest_spec(const char* op, int dims, const Tensor& self, IntArrayRef output_size) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(type) || type == kByte, "\"", op, "\" not implemented for '", type, "'");
  return upsample_spec(op, dims, self, output_size);
}

// y[i] = x[index[i]] for pixels of one element
template <class T>
void pick(const unsigned char* x, const std::vector<int64_t>& index, unsigned char* y) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(y);
  const size_t n = index.size();
  const int64_t* at = index.data();
  for (size_t i = 0; i < n; ++i) to[i] = from[at[i]];
}
template <class T>
void pick_twice(const unsigned char* x, int64_t n, unsigned char* y) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(y);
  for (int64_t i = 0; i < n; ++i) to[2 * i] = to[2 * i + 1] = from[i];
}

// What makes a row of pixels of `bytes` each out of one of `n`.
struct RowPicks {
  std::vector<int64_t> index;
  int64_t n, bytes;
  bool identity = true, twice = true;

  RowPicks(std::vector<int64_t> indices, int64_t in, int64_t item) : index(std::move(indices)), n(in), bytes(item) {
    const int64_t out = static_cast<int64_t>(index.size());
    identity = out == n, twice = out == 2 * n;
    for (int64_t i = 0; i < out; ++i) {
      identity = identity && index[static_cast<size_t>(i)] == i;
      twice = twice && index[static_cast<size_t>(i)] == i / 2;
    }
  }
  void run(const unsigned char* x, unsigned char* y) const {
    if (identity) {
      std::memcpy(y, x, static_cast<size_t>(n * bytes));
    } else if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
      cpu::visit_item_size(bytes, [&](auto tag) {
        using T = typename decltype(tag)::type;
        twice ? pick_twice<T>(x, n, y) : pick<T>(x, index, y);
      });
    } else {
      const size_t size = static_cast<size_t>(bytes);
      for (int64_t i : index) {
        std::memcpy(y, x + i * bytes, size);
        y += size;
      }
    }
  }
};

void nearest(Filter filter, int dims, const Tensor& self, const Scales& scales, Tensor& out) {
  if (out.numel() == 0) return;
  const UpsampleGeometry g = upsample_geometry(self, dims, self.sizes(), out.sizes());
  const Tensor x = dense_in(self, g.format);
  FormattedOut result(out, g.format);
  const unsigned char* from = static_cast<const unsigned char*>(x.const_data_ptr());
  unsigned char* to = static_cast<unsigned char*>(result.tensor().mutable_data_ptr());
  std::array<std::vector<int64_t>, 3> index;
  for (size_t d = 0; d < 3; ++d) {
    index[d] = nearest_indices(filter, g.in[d], g.out[d], scales[d], nearest_rule(dims, g, x.scalar_type()));
  }
  const int64_t pixel = g.channels * static_cast<int64_t>(x.itemsize());
  const int64_t in_row = g.in[2] * pixel, out_row = g.out[2] * pixel, rows = g.out[0] * g.out[1];
  const RowPicks picks(std::move(index[2]), g.in[2], pixel);
  at::parallel_for(0, g.planes * rows, std::max<int64_t>(1, kGrain / out_row), [&](int64_t begin, int64_t end) {
    int64_t last = -1;
    for (int64_t r = begin; r < end; ++r) {
      const int64_t z = index[0][static_cast<size_t>(r % rows / g.out[1])],
                    y = index[1][static_cast<size_t>(r % g.out[1])];
      const int64_t row = (r / rows * g.in[0] + z) * g.in[1] + y;
      unsigned char* at = to + r * out_row;
      if (row == last) {
        std::memcpy(at, at - out_row, static_cast<size_t>(out_row));
      } else {
        picks.run(from + row * in_row, at);
      }
      last = row;
    }
  });
  result.commit();
}

}  // namespace

#define AT_NEAREST(name, filter)                                                               \
  TensorSpec name##1d_meta(const Tensor& self, IntArrayRef output_size, Scale) {               \
    return nearest_spec(#name "1d", 1, self, output_size);                                     \
  }                                                                                            \
  void name##1d_cpu(const Tensor& self, IntArrayRef, Scale scale, Tensor& out) {               \
    nearest(filter, 1, self, {Scale(), Scale(), scale}, out);                                  \
  }                                                                                            \
  TensorSpec name##2d_meta(const Tensor& self, IntArrayRef output_size, Scale, Scale) {        \
    return nearest_spec(#name "2d", 2, self, output_size);                                     \
  }                                                                                            \
  void name##2d_cpu(const Tensor& self, IntArrayRef, Scale h, Scale w, Tensor& out) {          \
    nearest(filter, 2, self, {Scale(), h, w}, out);                                            \
  }                                                                                            \
  TensorSpec name##3d_meta(const Tensor& self, IntArrayRef output_size, Scale, Scale, Scale) { \
    return nearest_spec(#name "3d", 3, self, output_size);                                     \
  }                                                                                            \
  void name##3d_cpu(const Tensor& self, IntArrayRef, Scale d, Scale h, Scale w, Tensor& out) { \
    nearest(filter, 3, self, {d, h, w}, out);                                                  \
  }
AT_NEAREST(upsample_nearest, Filter::kNearest)
AT_NEAREST(_upsample_nearest_exact, Filter::kNearestExact)
#undef AT_NEAREST

}  // namespace at::native
