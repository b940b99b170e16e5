// Average pooling, adaptive average pooling and their gradients. float16 and bfloat16 add up in float32.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/rows/pool.h"
#include "aten/cpu/rows/rows.h"
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

int64_t planes_a_task(int64_t elements) { return elements >= kGrain ? 1 : kGrain / (elements + 1); }

int64_t length(const Window& w) { return w.end > w.begin ? w.end - w.begin : 0; }

// How the windows of one call are found and what their sums are divided by.
using Find = Window (*)(const PoolGeometry&, int, int64_t);

struct Averaging {
  const PoolGeometry& g;
  std::optional<cpu::PoolColumns> columns;
  bool count_padding;
  int64_t divisor;
  Find find;

  // Windows of the rounded-up size may lie behind the input altogether; they give zero.
  int64_t count(const Window& wz, const Window& wy, const Window& wx) const {
    const int64_t inside = length(wz) * length(wy) * length(wx);
    return inside == 0 ? 1 : divisor != 0 ? divisor : count_padding ? wz.padded * wy.padded * wx.padded : inside;
  }
};

// Work space of a thread: lines of some rows of outputs. What one pass stores at one alignment the next one reads at
// another, which waits for the stores unless other rows lie between.
template <class T>
struct AverageScratch {
  const Averaging& a;
  // Rows of outputs that are worked on together, and where in a line the inputs or shares begin.
  const int64_t block, margin, stride;
  std::vector<int64_t> rows;
  std::vector<Window> columns;
  std::vector<T> lines, line, divisors;
  // What the divisors stand for: inputs in depth and height, and with padding.
  int64_t inside = -1, padded = -1;

  explicit AverageScratch(const Averaging& averaging)
      : a(averaging), block(std::clamp<int64_t>(4096 / std::max(a.g.in[2], a.g.out[2]), 1, 16)),
        margin(a.columns ? a.columns->kernel - 1 : 0), stride(std::max(a.g.in[2], a.g.out[2]) + 2 * margin),
        lines(static_cast<size_t>(block * stride)), line(static_cast<size_t>(a.g.in[2])),
        divisors(static_cast<size_t>(a.g.out[2])) {
    for (int64_t x = 0; x < a.g.out[2]; ++x) columns.push_back(a.find(a.g, 2, x));
  }

  T* line_of(int64_t row) { return lines.data() + row % block * stride + margin; }

  void divide_by_counts(const Window& wz, const Window& wy) {
    if (inside == length(wz) * length(wy) && padded == wz.padded * wy.padded) return;
    inside = length(wz) * length(wy);
    padded = wz.padded * wy.padded;
    for (size_t x = 0; x < columns.size(); ++x) divisors[x] = static_cast<T>(a.count(wz, wy, columns[x]));
  }
};

// One window over each whole plane: the number of its elements to divide by, else 0.
int64_t count_of_whole_planes(const Averaging& a) {
  if (a.g.outputs() != 1) return 0;
  const Window w[] = {a.find(a.g, 0, 0), a.find(a.g, 1, 0), a.find(a.g, 2, 0)};
  for (int d = 0; d < 3; ++d)
    if (length(w[d]) != a.g.in[d]) return 0;
  return a.count(w[0], w[1], w[2]);
}

// first(row, its windows in depth and height) for a block of rows of outputs of a plane, then second(..) for them, and
// so on for all blocks.
template <class T, class F, class G>
void for_each_row(const AverageScratch<T>& s, const F& first, const G& second) {
  const PoolGeometry& g = s.a.g;
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const Window wz = s.a.find(g, 0, z);
    for (int64_t y = 0; y < g.out[1]; y += s.block) {
      const int64_t end = std::min(y + s.block, g.out[1]);
      for (int64_t i = y; i < end; ++i) first(z * g.out[1] + i, wz, s.a.find(g, 1, i));
      for (int64_t i = y; i < end; ++i) second(z * g.out[1] + i, wz, s.a.find(g, 1, i));
    }
  }
}

// The input rows of a line of outputs are added up first, then their columns.
template <class T>
void average_plane(const T* plane, AverageScratch<T>& s, T* out) {
  const PoolGeometry& g = s.a.g;
  const auto sum_rows = [&](int64_t row, const Window& wz, const Window& wy) {
    s.rows.clear();
    for (int64_t i = wz.begin; i < wz.end; ++i)
      for (int64_t j = wy.begin; j < wy.end; ++j) s.rows.push_back((i * g.in[1] + j) * g.in[2]);
    cpu::pool_sum_rows<T>(plane, s.rows.data(), static_cast<int64_t>(s.rows.size()), g.in[2], s.line_of(row));
  };
  const auto sum_columns = [&](int64_t row, const Window& wz, const Window& wy) {
    s.divide_by_counts(wz, wy);
    const T* sums = s.line_of(row);
    T* to = out + row * g.out[2];
    if (s.a.columns) return cpu::pool_sum_columns<T>(sums, *s.a.columns, s.divisors.data(), to);
    for (size_t x = 0; x < s.columns.size(); ++x) {
      T sum = 0;
      for (int64_t k = s.columns[x].begin; k < s.columns[x].end; ++k) sum += sums[k];
      to[x] = sum / s.divisors[x];
    }
  };
  for_each_row(s, sum_rows, sum_columns);
}

// line[k] = the sum of the shares of the windows over k.
template <class T>
void spread_columns(const T* share, AverageScratch<T>& s) {
  if (s.a.columns) return cpu::pool_spread_columns<T>(share, *s.a.columns, s.line.data());
  std::fill(s.line.begin(), s.line.end(), T(0));
  for (size_t x = 0; x < s.columns.size(); ++x)
    for (int64_t k = s.columns[x].begin; k < s.columns[x].end; ++k) s.line[static_cast<size_t>(k)] += share[x];
}

template <class T>
void spread_plane(const T* grad, AverageScratch<T>& s, T* plane) {
  const PoolGeometry& g = s.a.g;
  // The rows of each depth that hold sums so far. Windows come in the order of their rows: the first one over a row
  // stores, others add.
  std::vector<int64_t> written(static_cast<size_t>(g.in[0]));
  const auto zero_until = [&](int64_t depth, int64_t row) {
    int64_t& done = written[static_cast<size_t>(depth)];
    if (row <= done) return;
    std::fill_n(plane + (depth * g.in[1] + done) * g.in[2], (row - done) * g.in[2], T(0));
    done = row;
  };
  const auto share = [&](int64_t row, const Window& wz, const Window& wy) {
    s.divide_by_counts(wz, wy);
    cpu::pool_divide<T>(grad + row * g.out[2], s.divisors.data(), s.line_of(row), g.out[2]);
  };
  const auto spread = [&](int64_t row, const Window& wz, const Window& wy) {
    if (length(wz) * length(wy) == 0) return;
    spread_columns(static_cast<const T*>(s.line_of(row)), s);
    for (int64_t i = wz.begin; i < wz.end; ++i) {
      zero_until(i, wy.begin);
      int64_t& done = written[static_cast<size_t>(i)];
      for (int64_t j = wy.begin; j < wy.end; ++j) {
        T* to = plane + (i * g.in[1] + j) * g.in[2];
        if (j < done) cpu::pool_add<T>(s.line.data(), to, g.in[2]);
        else std::copy(s.line.begin(), s.line.end(), to);
      }
      done = std::max(done, wy.end);
    }
  };
  for_each_row(s, share, spread);
  for (int64_t i = 0; i < g.in[0]; ++i) zero_until(i, g.in[1]);
}

// Channels last: all channels of a pixel at once.
template <class T>
void average_pixels(const Averaging& a, const Tensor& self, Tensor& out) {
  const PoolGeometry& g = a.g;
  const Tensor x = dense(self, MemoryFormat::ChannelsLast);
  DenseOut to(out, MemoryFormat::ChannelsLast);
  const int64_t channels = self.size(1);
  const T* in = x.data_ptr<T>();
  T* result = to.data<T>();
  if (const int64_t whole = count_of_whole_planes(a); whole != 0) {
    at::parallel_for(0, self.size(0), planes_a_task(channels * g.inputs()), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        std::vector<double> sums(static_cast<size_t>(channels));
        cpu::column_sum<T>(in + n * g.inputs() * channels, channels * static_cast<int64_t>(sizeof(T)), g.inputs(),
                           channels, sums.data());
        for (int64_t c = 0; c < channels; ++c)
          result[n * channels + c] = static_cast<T>(sums[static_cast<size_t>(c)] / static_cast<double>(whole));
      }
    });
    to.commit();
    return;
  }
  at::parallel_for(0, self.size(0) * g.out[1], planes_a_task(channels * g.inputs() / std::max<int64_t>(g.out[1], 1)),
                   [&](int64_t begin, int64_t end) {
                     std::vector<int64_t> places;
                     for (int64_t row = begin; row < end; ++row) {
                       const int64_t n = row / g.out[1];
                       const Window wz{0, 1, 1}, wy = a.find(g, 1, row % g.out[1]);
                       for (int64_t column = 0; column < g.out[2]; ++column) {
                         const Window wx = a.find(g, 2, column);
                         places.clear();
                         for (int64_t j = wy.begin; j < wy.end; ++j)
                           for (int64_t k = wx.begin; k < wx.end; ++k) places.push_back(j * g.in[2] + k);
                         cpu::avg_pool_pixel<T>(in + n * g.inputs() * channels, places.data(),
                                                static_cast<int64_t>(places.size()), channels,
                                                static_cast<T>(a.count(wz, wy, wx)),
                                                result + (row * g.out[2] + column) * channels);
                       }
                     }
                   });
  to.commit();
}

template <class T>
void spread_pixels(const Averaging& a, const Tensor& grad_output, Tensor& out) {
  const PoolGeometry& g = a.g;
  const Tensor x = dense(grad_output, MemoryFormat::ChannelsLast);
  DenseOut to(out, MemoryFormat::ChannelsLast);
  const int64_t channels = out.size(1);
  const T* grad = x.data_ptr<T>();
  T* result = to.data<T>();
  at::parallel_for(0, out.size(0), 1, [&](int64_t begin, int64_t end) {
    std::vector<T> share(static_cast<size_t>(channels));
    for (int64_t n = begin; n < end; ++n) {
      T* image = result + n * g.inputs() * channels;
      int64_t zeroed = 0;
      const auto zero_until = [&](int64_t row) {
        if (row <= zeroed) return;
        std::fill_n(image + zeroed * g.in[2] * channels, (row - zeroed) * g.in[2] * channels, T(0));
        zeroed = row;
      };
      const Window wz{0, 1, 1};
      for (int64_t y = 0; y < g.out[1]; ++y) {
        const Window wy = a.find(g, 1, y);
        zero_until(wy.end);
        for (int64_t column = 0; column < g.out[2]; ++column) {
          const Window wx = a.find(g, 2, column);
          const int64_t first = 0;
          cpu::avg_pool_pixel<T>(grad + ((n * g.out[1] + y) * g.out[2] + column) * channels, &first, 1, channels,
                                 static_cast<T>(a.count(wz, wy, wx)), share.data());
          for (int64_t j = wy.begin; j < wy.end; ++j)
            for (int64_t k = wx.begin; k < wx.end; ++k)
              cpu::pool_add<T>(share.data(), image + (j * g.in[2] + k) * channels, channels);
        }
      }
      zero_until(g.in[1]);
    }
  });
  to.commit();
}

void average(const char* op, const Averaging& a, const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  const PoolGeometry& g = a.g;
  if (pools_pixels(g, self)) {
    if (self.scalar_type() == kFloat) return average_pixels<float>(a, self, out);
    if (self.scalar_type() == kDouble) return average_pixels<double>(a, self, out);
  }
  // Integers are summed and divided in float64; the copy into the result drops the fraction.
  const ScalarType type = self.scalar_type() == kLong ? kDouble : self.scalar_type();
  const Tensor x = dense(self, type);
  DenseOut to(out, type);
  cpu::visit_floating(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.data<T>();
    const int64_t inputs = g.inputs(), outputs = g.outputs(), whole = count_of_whole_planes(a);
    at::parallel_for(0, g.planes, planes_a_task(inputs), [&](int64_t begin, int64_t end) {
      if (whole != 0) {
        for (int64_t p = begin; p < end; ++p)
          result[p] = static_cast<T>(cpu::row_sum<T>(in + p * inputs, inputs) / static_cast<double>(whole));
        return;
      }
      AverageScratch<Sum<T>> scratch(a);
      [[maybe_unused]] std::vector<float> wide(sizeof(T) == 2 ? static_cast<size_t>(inputs + outputs) : 0);
      for (int64_t p = begin; p < end; ++p) {
        if constexpr (sizeof(T) == 2) {
          cpu::convert_row(in + p * inputs, wide.data(), inputs);
          average_plane(wide.data(), scratch, wide.data() + inputs);
          cpu::convert_row(wide.data() + inputs, result + p * outputs, outputs);
        } else {
          average_plane(in + p * inputs, scratch, result + p * outputs);
        }
      }
    });
  });
  to.commit();
}

void average_backward(const char* op, const Averaging& a, const Tensor& grad_output, const Tensor& self, Tensor& out) {
  if (out.numel() == 0) return;
  const PoolGeometry& g = a.g;
  if (pools_pixels(g, self)) {
    if (self.scalar_type() == kFloat) return spread_pixels<float>(a, grad_output, out);
    if (self.scalar_type() == kDouble) return spread_pixels<double>(a, grad_output, out);
  }
  // Half types add up in a float32 result, which is rounded once.
  const ScalarType type = grad_output.itemsize() == 2 ? kFloat : grad_output.scalar_type();
  const Tensor x = dense(grad_output, type);
  DenseOut to(out, type);
  cpu::visit_float_double(type, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* grad = x.data_ptr<T>();
    T* result = to.data<T>();
    at::parallel_for(0, g.planes, planes_a_task(g.inputs()), [&](int64_t begin, int64_t end) {
      AverageScratch<T> scratch(a);
      for (int64_t p = begin; p < end; ++p) spread_plane(grad + p * g.outputs(), scratch, result + p * g.inputs());
    });
  });
  to.commit();
}

void pool_forward(const char* op, const PoolGeometry& g, const Tensor& self, bool count_padding, int64_t divisor,
                  Find find, Tensor& out) {
  average(op, Averaging{g, pool_columns(g), count_padding, divisor, find}, self, out);
}
void pool_backward(const char* op, const PoolGeometry& g, const Tensor& grad_output, const Tensor& self,
                   bool count_padding, int64_t divisor, Find find, Tensor& out) {
  const std::optional<cpu::PoolColumns> columns = find == window_of ? pool_columns(g) : std::nullopt;
  average_backward(op, Averaging{g, columns, count_padding, divisor, find}, grad_output, self, out);
}
void adaptive_forward(const char* op, const PoolGeometry& g, const Tensor& self, Tensor& out) {
  average(op, Averaging{g, adaptive_columns(g), false, 0, adaptive_window_of}, self, out);
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
  return {DimVector(self.sizes().begin(), self.sizes().end()), pooled_strides(g, self, self.sizes()),
          self.scalar_type(), self.device()};
}

TensorSpec forward_spec(const PoolGeometry& g, const Tensor& self) {
  return {g.result, pooled_strides(g, self, g.result), self.scalar_type(), self.device()};
}

DimVector pooled_sizes(const char* op, const Tensor& grad_output, const Tensor& self, int dims) {
  TORCH_CHECK(grad_output.dim() == self.dim() && self.dim() >= dims, op, ": grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return DimVector(grad_output.sizes().end() - dims, grad_output.sizes().end());
}

}  // namespace

TensorSpec avg_pool2d_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return forward_spec(average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), self);
}
void avg_pool2d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  pool_forward("avg_pool2d",
               average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), self,
               count_include_pad, divisor_override.value_or(0), window_of, out);
}
TensorSpec avg_pool3d_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return forward_spec(average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), self);
}
void avg_pool3d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  pool_forward("avg_pool3d",
               average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), self,
               count_include_pad, divisor_override.value_or(0), window_of, out);
}

TensorSpec avg_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return backward_spec("avg_pool2d_backward", average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, self);
}
void avg_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  pool_backward("avg_pool2d_backward",
                average_geometry("avg_pool2d", 2, self, kernel_size, stride, padding, ceil_mode, divisor_override),
                grad_output, self, count_include_pad, divisor_override.value_or(0), window_of, out);
}
TensorSpec avg_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  return backward_spec("avg_pool3d_backward", average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override), grad_output, self);
}
void avg_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  pool_backward("avg_pool3d_backward",
                average_geometry("avg_pool3d", 3, self, kernel_size, stride, padding, ceil_mode, divisor_override),
                grad_output, self, count_include_pad, divisor_override.value_or(0), window_of, out);
}

TensorSpec adaptive_avg_pool2d_meta(const Tensor& self, IntArrayRef output_size) {
  return forward_spec(adaptive_average_geometry("adaptive_avg_pool2d", 2, self, output_size), self);
}
void adaptive_avg_pool2d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out) {
  adaptive_forward("adaptive_avg_pool2d", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, output_size), self,
                   out);
}
TensorSpec adaptive_avg_pool3d_meta(const Tensor& self, IntArrayRef output_size) {
  return forward_spec(adaptive_average_geometry("adaptive_avg_pool3d", 3, self, output_size), self);
}
void adaptive_avg_pool3d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out) {
  adaptive_forward("adaptive_avg_pool3d", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, output_size), self,
                   out);
}

TensorSpec adaptive_avg_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool2d_backward", grad_output, self, 2);
  return backward_spec("adaptive_avg_pool2d_backward", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, sizes), grad_output, self);
}
void adaptive_avg_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool2d_backward", grad_output, self, 2);
  pool_backward("adaptive_avg_pool2d_backward", adaptive_average_geometry("adaptive_avg_pool2d", 2, self, sizes),
                grad_output, self, false, 0, adaptive_window_of, out);
}
TensorSpec adaptive_avg_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool3d_backward", grad_output, self, 3);
  return backward_spec("adaptive_avg_pool3d_backward", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, sizes), grad_output, self);
}
void adaptive_avg_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  const DimVector sizes = pooled_sizes("adaptive_avg_pool3d_backward", grad_output, self, 3);
  pool_backward("adaptive_avg_pool3d_backward", adaptive_average_geometry("adaptive_avg_pool3d", 3, self, sizes),
                grad_output, self, false, 0, adaptive_window_of, out);
}

}  // namespace at::native
