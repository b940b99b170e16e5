// Maximum pooling with indices, its gradient, adaptive maximum pooling and unpooling.
#include <algorithm>
#include <array>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/pool_geometry.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 32768;  // input elements worth a thread

int64_t planes_a_task(int64_t elements) { return elements >= kGrain ? 1 : kGrain / (elements > 0 ? elements : 1); }

// The places of one dimension's window: [begin, end) in steps.
struct Window {
  int64_t begin, end, step;
};

Window window_of(const PoolGeometry& g, int d, int64_t place) {
  int64_t begin = place * g.stride[d] - g.padding[d];
  const int64_t reach = begin + (g.kernel[d] - 1) * g.dilation[d] + 1;
  if (begin < 0) begin += (-begin + g.dilation[d] - 1) / g.dilation[d] * g.dilation[d];
  return {begin, reach < g.in[d] ? reach : g.in[d], g.dilation[d]};
}

Window adaptive_window_of(const PoolGeometry& g, int d, int64_t place) {
  return {adaptive_start(place, g.out[d], g.in[d]), adaptive_end(place, g.out[d], g.in[d]), 1};
}

template <class T>
bool is_nan(T x) {
  return !(x == x);
}

// Of equal values the first counts; a NaN wins over everything, the last one over others.
template <class T, class Find>
void max_plane(const PoolGeometry& g, const T* in, T* out, int64_t* indices, const Find& find) {
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const Window wz = find(g, 0, z);
    for (int64_t y = 0; y < g.out[1]; ++y) {
      const Window wy = find(g, 1, y);
      for (int64_t x = 0; x < g.out[2]; ++x) {
        const Window wx = find(g, 2, x);
        // A window that lies in the padding alone has no maximum: the nearest place stands for it.
        int64_t best = (std::min(wz.begin, g.in[0] - 1) * g.in[1] + std::min(wy.begin, g.in[1] - 1)) * g.in[2] + std::min(wx.begin, g.in[2] - 1);
        T max = std::numeric_limits<T>::has_infinity ? static_cast<T>(-std::numeric_limits<T>::infinity()) : static_cast<T>(std::numeric_limits<T>::lowest());
        for (int64_t i = wz.begin; i < wz.end; i += wz.step) {
          for (int64_t j = wy.begin; j < wy.end; j += wy.step) {
            const int64_t row = (i * g.in[1] + j) * g.in[2];
            for (int64_t k = wx.begin; k < wx.end; k += wx.step) {
              const T value = in[row + k];
              if (value > max || is_nan(value)) max = value, best = row + k;
            }
          }
        }
        *out++ = max;
        *indices++ = best;
      }
    }
  }
}

template <class Find>
void max_forward(const char* op, const PoolGeometry& g, const Tensor& self, Tensor& out, Tensor& indices, const Find& find) {
  if (out.numel() == 0) return;
  const Tensor x = dense(self);
  DenseOut to(out), at_index(indices);
  cpu::visit_real(self.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.data<T>();
    int64_t* index = at_index.data<int64_t>();
    at::parallel_for(0, g.planes, planes_a_task(g.inputs()), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        max_plane(g, in + p * g.inputs(), result + p * g.outputs(), index + p * g.outputs(), find);
    });
  });
  to.commit();
  at_index.commit();
}

std::array<TensorSpec, 2> max_specs(const char* op, const PoolGeometry& g, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex() && self.scalar_type() != kBool, "\"", op, "\" not implemented for '",
                              toString(self.scalar_type()), "'");
  return {TensorSpec{g.result, {}, self.scalar_type(), self.device()}, TensorSpec{g.result, {}, kLong, self.device()}};
}

// to[plane][index] += from, for pooling's gradient (sums) and unpooling (assigns).
void scatter(const char* op, const Tensor& from, const Tensor& indices, int64_t planes, int64_t sources, int64_t targets, bool assign, Tensor& out) {
  const Tensor x = dense(from), index = dense(indices);
  DenseOut to(out);
  cpu::visit_real(from.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    const int64_t* at_index = index.data_ptr<int64_t>();
    T* result = to.data<T>();
    at::parallel_for(0, planes, planes_a_task(targets), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* plane = result + p * targets;
        for (int64_t i = 0; i < targets; ++i) plane[i] = T(0);
        for (int64_t i = 0; i < sources; ++i) {
          const int64_t place = at_index[p * sources + i];
          TORCH_CHECK(place >= 0 && place < targets, op, ": index ", place, " is out of range for a plane of ", targets, " elements");
          plane[place] = assign ? in[p * sources + i] : static_cast<T>(plane[place] + in[p * sources + i]);
        }
      }
    });
  });
  to.commit();
}

TensorSpec max_backward_spec(const char* op, const PoolGeometry& g, const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(g.result), op, ": expected grad_output of size ", IntArrayRef(g.result), ", but got ", grad_output.sizes());
  TORCH_CHECK(indices.sizes() == IntArrayRef(g.result), op, ": expected indices of size ", IntArrayRef(g.result), ", but got ", indices.sizes());
  TORCH_CHECK(indices.scalar_type() == kLong, op, ": expected indices of type Long, but got ", toString(indices.scalar_type()));
  TORCH_CHECK(grad_output.scalar_type() == self.scalar_type(), op, ": expected grad_output of type ", toString(self.scalar_type()),
              ", but got ", toString(grad_output.scalar_type()));
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

DimVector pooled_sizes(const Tensor& t, int dims) { return DimVector(t.sizes().end() - dims, t.sizes().end()); }

}  // namespace

std::array<TensorSpec, 2> max_pool2d_with_indices_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_specs("max_pool2d", pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode), self);
}
void max_pool2d_with_indices_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                 IntArrayRef dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  max_forward("max_pool2d", pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode), self, out, indices, window_of);
}

std::array<TensorSpec, 2> max_pool3d_with_indices_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_specs("max_pool3d", pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode), self);
}
void max_pool3d_with_indices_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                 IntArrayRef dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  max_forward("max_pool3d", pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode), self, out, indices, window_of);
}

TensorSpec max_pool2d_with_indices_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                 IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  return max_backward_spec("max_pool2d_backward", pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode),
                           grad_output, self, indices);
}
void max_pool2d_with_indices_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode);
  scatter("max_pool2d_backward", grad_output, indices, g.planes, g.outputs(), g.inputs(), false, out);
}

TensorSpec max_pool3d_with_indices_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                 IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  return max_backward_spec("max_pool3d_backward", pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode),
                           grad_output, self, indices);
}
void max_pool3d_with_indices_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode);
  scatter("max_pool3d_backward", grad_output, indices, g.planes, g.outputs(), g.inputs(), false, out);
}

std::array<TensorSpec, 2> adaptive_max_pool2d_meta(const Tensor& self, IntArrayRef output_size) {
  return max_specs("adaptive_max_pool2d", adaptive_geometry("adaptive_max_pool2d", 2, self, output_size), self);
}
void adaptive_max_pool2d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out, Tensor& indices) {
  max_forward("adaptive_max_pool2d", adaptive_geometry("adaptive_max_pool2d", 2, self, output_size), self, out, indices, adaptive_window_of);
}
std::array<TensorSpec, 2> adaptive_max_pool3d_meta(const Tensor& self, IntArrayRef output_size) {
  return max_specs("adaptive_max_pool3d", adaptive_geometry("adaptive_max_pool3d", 3, self, output_size), self);
}
void adaptive_max_pool3d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out, Tensor& indices) {
  max_forward("adaptive_max_pool3d", adaptive_geometry("adaptive_max_pool3d", 3, self, output_size), self, out, indices, adaptive_window_of);
}

TensorSpec adaptive_max_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(grad_output.dim() == self.dim(), "adaptive_max_pool2d_backward: grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return max_backward_spec("adaptive_max_pool2d_backward", adaptive_geometry("adaptive_max_pool2d", 2, self, pooled_sizes(grad_output, 2)),
                           grad_output, self, indices);
}
void adaptive_max_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool2d", 2, self, pooled_sizes(grad_output, 2));
  scatter("adaptive_max_pool2d_backward", grad_output, indices, g.planes, g.outputs(), g.inputs(), false, out);
}
TensorSpec adaptive_max_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(grad_output.dim() == self.dim(), "adaptive_max_pool3d_backward: grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return max_backward_spec("adaptive_max_pool3d_backward", adaptive_geometry("adaptive_max_pool3d", 3, self, pooled_sizes(grad_output, 3)),
                           grad_output, self, indices);
}
void adaptive_max_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool3d", 3, self, pooled_sizes(grad_output, 3));
  scatter("adaptive_max_pool3d_backward", grad_output, indices, g.planes, g.outputs(), g.inputs(), false, out);
}

namespace {

TensorSpec unpool_spec(const char* op, int dims, const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  TORCH_CHECK(output_size.size() == static_cast<size_t>(dims), "There should be exactly ", dims, " elements in output_size, but got ",
              output_size.size(), " elements.");
  TORCH_CHECK(self.dim() == dims + 1 || self.dim() == dims + 2, "Input to ", op, " should be a ", dims + 1, "d or ", dims + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  TORCH_CHECK(self.sizes() == indices.sizes(), "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  TORCH_CHECK(indices.scalar_type() == kLong, "elements in indices should be type int64 but got: ", toString(indices.scalar_type()));
  for (int64_t d = self.dim() - dims - 1; d < self.dim(); ++d)
    TORCH_CHECK(self.size(d) > 0, op, "(): Expected input to have non-zero size for non-batch dimensions, but got ", self.sizes(), " with dimension ", d, " being empty.");
  TensorSpec spec{DimVector(self.sizes().begin(), self.sizes().end() - dims), {}, self.scalar_type(), self.device()};
  for (int64_t s : output_size) {
    TORCH_CHECK(s >= 0, op, ": output_size must be non-negative, but got ", output_size);
    spec.sizes.push_back(s);
  }
  return spec;
}

void unpool(const char* op, int dims, const Tensor& self, const Tensor& indices, Tensor& out) {
  int64_t planes = 1, sources = 1, targets = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < self.dim() - dims) planes *= self.size(d);
    else sources *= self.size(d), targets *= out.size(d);
  }
  scatter(op, self, indices, planes, sources, targets, true, out);
}

}  // namespace

TensorSpec max_unpool2d_meta(const Tensor& self, const Tensor& indices, IntArrayRef output_size) {
  return unpool_spec("max_unpool2d", 2, self, indices, output_size);
}
void max_unpool2d_cpu(const Tensor& self, const Tensor& indices, IntArrayRef, Tensor& out) { unpool("max_unpool2d", 2, self, indices, out); }
TensorSpec max_unpool3d_meta(const Tensor& self, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride, IntArrayRef padding) {
  TORCH_CHECK(stride.size() == 3, "There should be exactly three elements (depth, height, width) in stride, but got: ", stride.size(), " elements.");
  TORCH_CHECK(padding.size() == 3, "There should be exactly three elements (depth, height, width) in padding, but got: ", padding.size(), " elements.");
  for (int64_t s : stride) TORCH_CHECK(s > 0, "strides should be greater than zero, but got stride: ", stride);
  return unpool_spec("max_unpool3d", 3, self, indices, output_size);
}
void max_unpool3d_cpu(const Tensor& self, const Tensor& indices, IntArrayRef, IntArrayRef, IntArrayRef, Tensor& out) {
  unpool("max_unpool3d", 3, self, indices, out);
}

}  // namespace at::native
