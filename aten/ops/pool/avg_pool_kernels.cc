// Average pooling, adaptive average pooling and their gradients. float16 and bfloat16 add up in float32.
#include <type_traits>

#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pool/kernels.h"
#include "aten/ops/pool/pool_geometry.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 32768;

template <class T>
using Sum = std::conditional_t<sizeof(T) == 2, float, T>;

// One dimension's window inside the input, and its length with the padding it covers.
struct Window {
  int64_t begin, end, padded;
};

Window window_of(const PoolGeometry& g, int d, int64_t place) {
  const int64_t begin = place * g.stride[d] - g.padding[d];
  const int64_t limit = g.in[d] + g.padding[d];
  const int64_t end = begin + g.kernel[d] < limit ? begin + g.kernel[d] : limit;
  return {begin < 0 ? 0 : begin, end < g.in[d] ? end : g.in[d], end - begin};
}

Window adaptive_window_of(const PoolGeometry& g, int d, int64_t place) {
  const int64_t begin = adaptive_start(place, g.out[d], g.in[d]), end = adaptive_end(place, g.out[d], g.in[d]);
  return {begin, end, end - begin};
}

// Calls f(output place, windows, divisor) for each output place of a plane.
template <class Find, class F>
void for_each_place(const PoolGeometry& g, bool count_padding, int64_t divisor, const Find& find, const F& f) {
  int64_t place = 0;
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const Window wz = find(g, 0, z);
    for (int64_t y = 0; y < g.out[1]; ++y) {
      const Window wy = find(g, 1, y);
      for (int64_t x = 0; x < g.out[2]; ++x, ++place) {
        const Window wx = find(g, 2, x);
        // Windows of the rounded-up size may lie behind the input altogether; they give zero.
        const bool empty = wz.begin >= wz.end || wy.begin >= wy.end || wx.begin >= wx.end;
        const int64_t count = empty            ? 1
                              : divisor != 0   ? divisor
                              : count_padding ? wz.padded * wy.padded * wx.padded
                                              : (wz.end - wz.begin) * (wy.end - wy.begin) * (wx.end - wx.begin);
        f(place, wz, wy, wx, count);
      }
    }
  }
}

template <class Find>
void average(const char* op, const PoolGeometry& g, const Tensor& self, bool count_padding, int64_t divisor, const Find& find, Tensor& out) {
  if (out.numel() == 0) return;
  // Integers are summed and divided in float64; the copy into the result drops the fraction.
  const ScalarType type = self.scalar_type() == kLong ? kDouble : self.scalar_type();
  const Tensor x = dense(self, type);
  DenseOut to(out, type);
  cpu::visit_floating(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.data<T>();
    const int64_t inputs = g.inputs(), outputs = g.outputs();
    at::parallel_for(0, g.planes, inputs >= kGrain ? 1 : kGrain / (inputs + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* plane = in + p * inputs;
        for_each_place(g, count_padding, divisor, find, [&](int64_t place, const Window& wz, const Window& wy, const Window& wx, int64_t count) {
          Sum<T> sum = 0;
          for (int64_t i = wz.begin; i < wz.end; ++i)
            for (int64_t j = wy.begin; j < wy.end; ++j)
              for (int64_t k = wx.begin; k < wx.end; ++k) sum += static_cast<Sum<T>>(plane[(i * g.in[1] + j) * g.in[2] + k]);
          result[p * outputs + place] = static_cast<T>(sum / static_cast<Sum<T>>(count));
        });
      }
    });
  });
  to.commit();
}

template <class Find>
void average_backward(const char* op, const PoolGeometry& g, const Tensor& grad_output, bool count_padding, int64_t divisor, const Find& find, Tensor& out) {
  // Half types add up in a float32 result, which is rounded once.
  const bool narrow = grad_output.itemsize() == 2;
  const ScalarType type = narrow ? kFloat : grad_output.scalar_type();
  const Tensor x = dense(grad_output, type);
  DenseOut to(out, type);
  cpu::visit_float_double(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* grad = x.data_ptr<T>();
    T* result = to.data<T>();
    const int64_t inputs = g.inputs(), outputs = g.outputs();
    at::parallel_for(0, g.planes, inputs >= kGrain ? 1 : kGrain / (inputs + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* plane = result + p * inputs;
        for (int64_t i = 0; i < inputs; ++i) plane[i] = 0;
        for_each_place(g, count_padding, divisor, find, [&](int64_t place, const Window& wz, const Window& wy, const Window& wx, int64_t count) {
          const T share = grad[p * outputs + place] / static_cast<T>(count);
          for (int64_t i = wz.begin; i < wz.end; ++i)
            for (int64_t j = wy.begin; j < wy.end; ++j)
              for (int64_t k = wx.begin; k < wx.end; ++k) plane[(i * g.in[1] + j) * g.in[2] + k] += share;
        });
      }
    });
  });
  to.commit();
}

PoolGeometry average_geometry(const char* op, int dims, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                              IntArrayRef padding, bool ceil_mode, std::optional<int64_t> divisor_override) {
  const PoolGeometry g = pool_geometry(op, dims, self, kernel_size, stride, padding, IntArrayRef{1}, ceil_mode);
  TORCH_CHECK(!divisor_override.has_value() || *divisor_override != 0, "divisor must be not zero");
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()) || self.scalar_type() == kLong, "\"", op, "\" not implemented for '", toString(self.scalar_type()), "'");
  return g;
}

PoolGeometry adaptive_average_geometry(const char* op, int dims, const Tensor& self, IntArrayRef output_size) {
  const PoolGeometry g = adaptive_geometry(op, dims, self, output_size);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()), "\"", op, "\" not implemented for '", toString(self.scalar_type()), "'");
  return g;
}

TensorSpec backward_spec(const char* op, const PoolGeometry& g, const Tensor& grad_output, const Tensor& self) {
  TORCH_CHECK(grad_output.sizes() == IntArrayRef(g.result), op, ": expected grad_output of size ", IntArrayRef(g.result), ", but got ", grad_output.sizes());
  TORCH_CHECK(grad_output.scalar_type() == self.scalar_type(), op, ": expected grad_output of type ", toString(self.scalar_type()),
              ", but got ", toString(grad_output.scalar_type()));
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

TensorSpec forward_spec(const PoolGeometry& g, const Tensor& self) { return {g.result, {}, self.scalar_type(), self.device()}; }

DimVector pooled_sizes(const char* op, const Tensor& grad_output, const Tensor& self, int dims) {
  TORCH_CHECK(grad_output.dim() == self.dim() && self.dim() >= dims, op, ": grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return DimVector(grad_output.sizes().end() - dims, grad_output.sizes().end());
}

}  // namespace

TensorSpec avg_pool2d_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return forward_spec(average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), self);
}
void avg_pool2d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  average("avg_pool2d", average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), self, count_include_pad, divisor_override.value_or(0), window_of, out);
}
TensorSpec avg_pool3d_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return forward_spec(average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), self);
}
void avg_pool3d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  average("avg_pool3d", average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), self, count_include_pad, divisor_override.value_or(0), window_of, out);
}

TensorSpec avg_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return backward_spec("avg_pool2d_backward", average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, self);
}
void avg_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  average_backward("avg_pool2d_backward", average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, count_include_pad, divisor_override.value_or(0), window_of, out);
}
TensorSpec avg_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return backward_spec("avg_pool3d_backward", average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, self);
}
void avg_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  average_backward("avg_pool3d_backward", average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, count_include_pad, divisor_override.value_or(0), window_of, out);
}

TensorSpec adaptive_avg_pool2d_meta(const Tensor& self, IntArrayRef output_size) {
  return forward_spec(adaptive_average_geometry("adaptive_avg_pool2d", 2, self, output_size), self);
}
void adaptive_avg_pool2d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out) {
  average("adaptive_avg_pool2d", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, output_size), self, false, 0, adaptive_window_of, out);
}
TensorSpec adaptive_avg_pool3d_meta(const Tensor& self, IntArrayRef output_size) {
  return forward_spec(adaptive_average_geometry("adaptive_avg_pool3d", 3, self, output_size), self);
}
void adaptive_avg_pool3d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out) {
  average("adaptive_avg_pool3d", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, output_size), self, false, 0, adaptive_window_of, out);
}

TensorSpec adaptive_avg_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool2d_backward", grad_output, self, 2);
  return backward_spec("adaptive_avg_pool2d_backward", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, sizes), grad_output, self);
}
void adaptive_avg_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool2d_backward", grad_output, self, 2);
  average_backward("adaptive_avg_pool2d_backward", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, sizes), grad_output, false, 0, adaptive_window_of, out);
}
TensorSpec adaptive_avg_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool3d_backward", grad_output, self, 3);
  return backward_spec("adaptive_avg_pool3d_backward", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, sizes), grad_output, self);
}
void adaptive_avg_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool3d_backward", grad_output, self, 3);
  average_backward("adaptive_avg_pool3d_backward", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, sizes), grad_output, false, 0, adaptive_window_of, out);
}

}  // namespace at::native
