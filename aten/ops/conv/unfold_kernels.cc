// im2col, which lays the windows of a picture side by side, and col2im, which adds them up again.
#include <cstring>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/conv/kernels.h"
#include "aten/ops/conv/windows.h"
#include "aten/ops/dense/dense.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// f(index into the plane, index into its windows) for every place of a window that lies inside.
template <class F>
void for_each_place(const Windows& w, const F& f) {
  int64_t at = 0;
  for (int64_t ky = 0; ky < w.kernel[0]; ++ky)
    for (int64_t kx = 0; kx < w.kernel[1]; ++kx)
      for (int64_t y = 0; y < w.count[0]; ++y)
        for (int64_t x = 0; x < w.count[1]; ++x, ++at) {
          const int64_t row = y * w.stride[0] - w.padding[0] + ky * w.dilation[0],
                        col = x * w.stride[1] - w.padding[1] + kx * w.dilation[1];
          if (row >= 0 && row < w.size[0] && col >= 0 && col < w.size[1]) f(row * w.size[1] + col, at);
        }
}

}  // namespace

TensorSpec im2col_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                       IntArrayRef stride) {
  const Windows w = im2col_windows(self, kernel_size, dilation, padding, stride);
  DimVector sizes;
  if (self.dim() == 4) sizes.push_back(w.batch);
  int64_t rows;
  TORCH_CHECK(!__builtin_mul_overflow(w.places(), w.channels, &rows), "im2col: the size of the result overflows");
  sizes.push_back(rows);
  sizes.push_back(w.columns());
  return {sizes, {}, self.scalar_type(), self.device()};
}

void im2col_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
                IntArrayRef stride, Tensor& out) {
  const Windows w = im2col_windows(self, kernel_size, dilation, padding, stride);
  const Tensor x = dense(self);
  DenseOut to(out);
  cpu::visit_item_size(static_cast<int64_t>(self.itemsize()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = static_cast<const T*>(x.data_ptr());
    T* result = to.template data<T>();
    const int64_t plane = w.size[0] * w.size[1], unfolded = w.places() * w.columns();
    at::parallel_for(0, w.batch * w.channels, 1 + 32768 / (unfolded + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        std::memset(static_cast<void*>(result + p * unfolded), 0, static_cast<size_t>(unfolded) * sizeof(T));
        for_each_place(w, [&](int64_t from, int64_t at) { result[p * unfolded + at] = in[p * plane + from]; });
      }
    });
  });
  to.commit();
}

TensorSpec col2im_meta(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                       IntArrayRef padding, IntArrayRef stride) {
  const Windows w = col2im_windows(self, output_size, kernel_size, dilation, padding, stride);
  DimVector sizes;
  if (self.dim() == 3) sizes.push_back(w.batch);
  for (int64_t s : {w.channels, w.size[0], w.size[1]}) sizes.push_back(s);
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != kBool, "\"col2im\" not implemented for 'Bool'");
  return {sizes, {}, self.scalar_type(), self.device()};
}

void col2im_cpu(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
                IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  const Windows w = col2im_windows(self, output_size, kernel_size, dilation, padding, stride);
  // float16 and bfloat16 add up in float32.
  const ScalarType type = self.itemsize() == 2 && isFloatingType(self.scalar_type()) ? kFloat : self.scalar_type();
  const Tensor x = dense(self, type);
  DenseOut to(out, type);
  cpu::visit_all(type, "col2im", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.template data<T>();
    const int64_t plane = w.size[0] * w.size[1], unfolded = w.places() * w.columns();
    at::parallel_for(0, w.batch * w.channels, 1 + 32768 / (unfolded + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t i = 0; i < plane; ++i) result[p * plane + i] = T(0);
        for_each_place(w, [&](int64_t place, int64_t at) {
          T& sum = result[p * plane + place];
          sum = static_cast<T>(sum + in[p * unfolded + at]);
        });
      }
    });
  });
  to.commit();
}

}  // namespace at::native
