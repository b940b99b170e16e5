// Maximum pooling with indices, its gradient, adaptive maximum pooling and unpooling.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
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
  // A longer step would reach nothing either, and could not be added to a place.
  return {begin, reach < g.in[d] ? reach : g.in[d], std::min(g.dilation[d], g.in[d])};
}

Window adaptive_window_of(const PoolGeometry& g, int d, int64_t place) {
  return {adaptive_start(place, g.out[d], g.in[d]), adaptive_end(place, g.out[d], g.in[d]), 1};
}

template <class T>
bool is_nan(T x) {
  return !(x == x);
}

// Of equal values the first counts; a NaN wins over everything, the last one over others. `indices` may be null, here
// and below.
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
        if (indices != nullptr) *indices++ = best;
      }
    }
  }
}

// The same by lines of outputs.
template <class T, class Find>
void max_plane_rows(const PoolGeometry& g, const cpu::PoolColumns& columns, const T* in, T* out, int64_t* indices,
                    const Find& find) {
  std::vector<int64_t> rows;
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const Window wz = find(g, 0, z);
    for (int64_t y = 0; y < g.out[1]; ++y, out += g.out[2]) {
      const Window wy = find(g, 1, y);
      rows.clear();
      for (int64_t i = wz.begin; i < wz.end; i += wz.step)
        for (int64_t j = wy.begin; j < wy.end; j += wy.step) rows.push_back((i * g.in[1] + j) * g.in[2]);
      const int64_t count = static_cast<int64_t>(rows.size());
      if (count == 0)
        rows.push_back((std::min(wz.begin, g.in[0] - 1) * g.in[1] + std::min(wy.begin, g.in[1] - 1)) * g.in[2]);
      cpu::max_pool_row<T>(in, rows.data(), count, columns, out, indices);
      if (indices != nullptr) indices += g.out[2];
    }
  }
}

// Windows that all have the same shape: where each begins in the plane, and its places from there.
struct EqualWindows {
  std::vector<int64_t> corners, offsets;
};

// Of planes with lines too short for vectors of their own; nullopt where windows differ.
template <class Find>
std::optional<EqualWindows> equal_windows(const PoolGeometry& g, const Find& find) {
  constexpr int64_t kShortLine = 16;
  if (g.out[2] >= kShortLine || g.outputs() == 0) return std::nullopt;
  const auto count = [](const Window& w) { return w.end <= w.begin ? 0 : (w.end - 1 - w.begin) / w.step + 1; };
  EqualWindows windows{{0}, {0}};
  for (int d = 0; d < 3; ++d) {
    const Window first = find(g, d, 0);
    const int64_t places = count(first);
    std::vector<int64_t> corners, offsets;
    for (const int64_t before : windows.corners)
      for (int64_t p = 0; p < g.out[d]; ++p) {
        const Window w = find(g, d, p);
        if (count(w) != places || w.step != first.step) return std::nullopt;
        corners.push_back(before * g.in[d] + w.begin);
      }
    for (const int64_t before : windows.offsets)
      for (int64_t k = 0; k < places; ++k) offsets.push_back(before * g.in[d] + k * first.step);
    windows = {std::move(corners), std::move(offsets)};
  }
  if (windows.offsets.empty()) return std::nullopt;
  return windows;
}

// Calls f(image, output row) for all of them, in parallel.
template <class F>
void for_image_rows(const PoolGeometry& g, int64_t images, int64_t channels, const F& f) {
  const int64_t elements = channels * g.inputs() / std::max<int64_t>(g.out[1], 1) + 1;
  at::parallel_for(0, images * g.out[1], planes_a_task(elements), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / g.out[1], i % g.out[1]);
  });
}

// Channels last: all channels of a pixel at once.
template <class T, class Find>
void max_pixels(const PoolGeometry& g, const Tensor& self, Tensor& out, Tensor* indices, const Find& find) {
  const Tensor x = dense(self, MemoryFormat::ChannelsLast);
  DenseOut values(out, MemoryFormat::ChannelsLast);
  std::optional<DenseOut> places;
  if (indices != nullptr) places.emplace(*indices, MemoryFormat::ChannelsLast);
  const int64_t channels = self.size(1);
  const T* in = x.data_ptr<T>();
  T* result = values.data<T>();
  int64_t* index = places ? places->data<int64_t>() : nullptr;
  for_image_rows(g, self.size(0), channels, [&](int64_t n, int64_t y) {
    const Window wy = find(g, 1, y);
    std::vector<int64_t> window;
    for (int64_t column = 0; column < g.out[2]; ++column) {
      const Window wx = find(g, 2, column);
      window.clear();
      for (int64_t j = wy.begin; j < wy.end; j += wy.step)
        for (int64_t k = wx.begin; k < wx.end; k += wx.step) window.push_back(j * g.in[2] + k);
      const int64_t count = static_cast<int64_t>(window.size());
      if (count == 0) window.push_back(std::min(wy.begin, g.in[1] - 1) * g.in[2] + std::min(wx.begin, g.in[2] - 1));
      const int64_t to = ((n * g.out[1] + y) * g.out[2] + column) * channels;
      cpu::max_pool_pixel<T>(in + n * g.inputs() * channels, window.data(), count, channels, result + to,
                             index == nullptr ? nullptr : index + to);
    }
  });
  values.commit();
  if (places) places->commit();
}

// The same of bytes without places: the maxima of rows of channels.
template <class Find>
void max_bytes(const PoolGeometry& g, const Tensor& self, Tensor& out, const Find& find) {
  const Tensor x = dense(self, MemoryFormat::ChannelsLast);
  DenseOut values(out, MemoryFormat::ChannelsLast);
  const int64_t channels = self.size(1);
  const uint8_t* const in = x.const_data_ptr<uint8_t>();
  uint8_t* const result = values.data<uint8_t>();
  for_image_rows(g, self.size(0), channels, [&](int64_t n, int64_t y) {
    const Window wy = find(g, 1, y);
    for (int64_t column = 0; column < g.out[2]; ++column) {
      const Window wx = find(g, 2, column);
      uint8_t* const to = result + ((n * g.out[1] + y) * g.out[2] + column) * channels;
      std::fill_n(to, channels, uint8_t{0});
      for (int64_t j = wy.begin; j < wy.end; j += wy.step) {
        for (int64_t k = wx.begin; k < wx.end; k += wx.step) {
          const uint8_t* const from = in + ((n * g.in[1] + j) * g.in[2] + k) * channels;
          for (int64_t c = 0; c < channels; ++c) to[c] = std::max(to[c], from[c]);
        }
      }
    }
  });
  values.commit();
}

template <class Find>
void max_forward(const char* op, const PoolGeometry& g, const std::optional<cpu::PoolColumns>& columns,
                 const Tensor& self, Tensor& out, Tensor* indices, const Find& find) {
  if (out.numel() == 0) return;
  if (pools_pixels(g, self) && g.inputs() < (int64_t{1} << 31)) {
    if (self.scalar_type() == kFloat) return max_pixels<float>(g, self, out, indices, find);
    if (self.scalar_type() == kDouble) return max_pixels<double>(g, self, out, indices, find);
    if (self.scalar_type() == kByte && indices == nullptr) return max_bytes(g, self, out, find);
  }
  const Tensor x = dense(self);
  DenseOut to(out);
  std::optional<DenseOut> at_index;
  if (indices != nullptr) at_index.emplace(*indices);
  const bool vectors = self.scalar_type() == kFloat || self.scalar_type() == kDouble;
  const auto equal = columns && vectors && indices != nullptr ? equal_windows(g, find) : std::nullopt;
  cpu::visit_real(self.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    T* result = to.data<T>();
    int64_t* index = at_index ? at_index->data<int64_t>() : nullptr;
    at::parallel_for(0, g.planes, planes_a_task(g.inputs()), [&](int64_t begin, int64_t end) {
      constexpr bool kNarrow = std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;
      [[maybe_unused]] std::vector<float> wide(kNarrow && columns ? static_cast<size_t>(g.inputs() + g.outputs()) : 0);
      for (int64_t p = begin; p < end; ++p) {
        const T* plane = in + p * g.inputs();
        T* maxima = result + p * g.outputs();
        int64_t* places = index == nullptr ? nullptr : index + p * g.outputs();
        if constexpr (kNarrow) {
          if (columns) {
            cpu::convert_row(plane, wide.data(), g.inputs());
            max_plane_rows(g, *columns, wide.data(), wide.data() + g.inputs(), places, find);
            cpu::convert_row(wide.data() + g.inputs(), maxima, g.outputs());
            continue;
          }
        } else if constexpr (std::is_floating_point_v<T>) {
          if (equal) {
            cpu::max_pool_windows(plane, equal->corners.data(), g.outputs(), equal->offsets.data(),
                                  static_cast<int64_t>(equal->offsets.size()), maxima, places);
            continue;
          }
          if (columns) {
            max_plane_rows(g, *columns, plane, maxima, places, find);
            continue;
          }
        }
        max_plane(g, plane, maxima, places, find);
      }
    });
  });
  to.commit();
  if (at_index) at_index->commit();
}

std::array<TensorSpec, 2> max_specs(const char* op, const PoolGeometry& g, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex() && self.scalar_type() != kBool, "\"", op, "\" not implemented for '",
                              toString(self.scalar_type()), "'");
  const DimVector strides = pooled_strides(g, self, g.result);
  return {TensorSpec{g.result, strides, self.scalar_type(), self.device()},
          TensorSpec{g.result, strides, kLong, self.device()}};
}

// All of them, before anything is written.
void check_places(const char* op, const Tensor& indices, int64_t elements) {
  const int64_t* index = indices.data_ptr<int64_t>();
  at::parallel_for(0, indices.numel(), at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    bool bad = false;
    for (int64_t i = begin; i < end; ++i) bad |= static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(elements);
    if (!bad) return;
    for (int64_t i = begin; i < end; ++i)
      TORCH_CHECK(index[i] >= 0 && index[i] < elements, op, ": index ", index[i], " is out of range for a plane of ",
                  elements, " elements");
  });
}

// The gradient of pooling channels last. Places are looked for in their windows, where pooling finds them; those of a
// caller's own may lie anywhere in the plane.
template <class T, class Find>
void scatter_pixels(const char* op, const PoolGeometry& g, const Tensor& from, const Tensor& indices, Tensor& out,
                    const Find& find) {
  const Tensor x = dense(from, MemoryFormat::ChannelsLast), places = dense(indices, kLong, MemoryFormat::ChannelsLast);
  check_places(op, places, g.inputs());
  DenseOut to(out, MemoryFormat::ChannelsLast);
  const int64_t channels = out.size(1), images = out.size(0);
  const T* in = x.data_ptr<T>();
  const int64_t* index = places.data_ptr<int64_t>();
  T* result = to.data<T>();
  // A task has all pixels of an image, or of some of its channels where there are few images.
  constexpr int64_t kWidth = 16;
  const int64_t width_of_task = images >= at::get_num_threads() ? channels : kWidth,
                parts = at::divup(channels, width_of_task);
  const auto scatter_part = [&](int64_t n, int64_t first, int64_t width) {
    T* image = result + n * g.inputs() * channels + first;
    int64_t zeroed = 0;
    const auto zero_until = [&](int64_t row) {
      for (; zeroed < row; ++zeroed)
        for (int64_t k = 0; k < g.in[2]; ++k) std::fill_n(image + (zeroed * g.in[2] + k) * channels, width, T(0));
    };
    std::vector<int64_t> window;
    for (int64_t y = 0; y < g.out[1]; ++y) {
      const Window wy = find(g, 1, y);
      zero_until(wy.end);
      for (int64_t column = 0; column < g.out[2]; ++column) {
        const Window wx = find(g, 2, column);
        window.clear();
        for (int64_t j = wy.begin; j < wy.end; j += wy.step)
          for (int64_t k = wx.begin; k < wx.end; k += wx.step) window.push_back(j * g.in[2] + k);
        const int64_t at = ((n * g.out[1] + y) * g.out[2] + column) * channels + first;
        if (cpu::pool_spread_maxima<T>(in + at, index + at, window.data(), static_cast<int64_t>(window.size()), width,
                                       channels, image))
          continue;
        zero_until(g.in[1]);
        for (int64_t j = 0; j < width; ++j)
          if (std::find(window.begin(), window.end(), index[at + j]) == window.end())
            image[index[at + j] * channels + j] += in[at + j];
      }
    }
    zero_until(g.in[1]);
  };
  at::parallel_for(0, images * parts, planes_a_task(g.inputs() * width_of_task), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % parts * width_of_task;
      scatter_part(task / parts, first, std::min(width_of_task, channels - first));
    }
  });
  to.commit();
}

// to[plane][index] += from, for pooling's gradient (sums) and unpooling (assigns).
void scatter(const char* op, const Tensor& from, const Tensor& indices, int64_t planes, int64_t sources, int64_t targets, bool assign, Tensor& out) {
  const Tensor x = dense(from), index = dense(indices);
  check_places(op, index, targets);
  DenseOut to(out);
  cpu::visit_real(from.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = x.data_ptr<T>();
    const int64_t* at_index = index.data_ptr<int64_t>();
    T* result = to.data<T>();
    at::parallel_for(0, planes, planes_a_task(targets), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* plane = result + p * targets;
        const T* values = in + p * sources;
        const int64_t* places = at_index + p * sources;
        std::fill_n(plane, targets, T(0));
        if (assign)
          for (int64_t i = 0; i < sources; ++i) plane[places[i]] = values[i];
        else
          for (int64_t i = 0; i < sources; ++i) plane[places[i]] = static_cast<T>(plane[places[i]] + values[i]);
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
  return {DimVector(self.sizes().begin(), self.sizes().end()), pooled_strides(g, self, self.sizes()),
          self.scalar_type(), self.device()};
}

template <class Find>
void max_backward(const char* op, const PoolGeometry& g, const Tensor& grad_output, const Tensor& self,
                  const Tensor& indices, Tensor& out, const Find& find) {
  if (pools_pixels(g, self) && self.numel() != 0 && g.inputs() < (int64_t{1} << 31)) {
    if (self.scalar_type() == kFloat) return scatter_pixels<float>(op, g, grad_output, indices, out, find);
    if (self.scalar_type() == kDouble) return scatter_pixels<double>(op, g, grad_output, indices, out, find);
  }
  scatter(op, grad_output, indices, g.planes, g.outputs(), g.inputs(), false, out);
}

// Only the maxima.
Tensor max_values(const char* op, int dims, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                  IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const PoolGeometry g = pool_geometry(op, dims, self, kernel_size, stride, padding, dilation, ceil_mode);
  Tensor out = empty_spec(max_specs(op, g, self)[0]);
  max_forward(op, g, pool_columns(g), self, out, nullptr, window_of);
  return fresh(out);
}

DimVector pooled_sizes(const Tensor& t, int dims) { return DimVector(t.sizes().end() - dims, t.sizes().end()); }

// Pictures without channels have no maxima.
void check_channels(const char* op, int dims, const Tensor& self) {
  const int64_t d = self.dim() - dims - 1;
  TORCH_CHECK(d < 0 || self.size(d) > 0, op, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
              self.sizes(), " with dimension ", d, " being empty");
}

}  // namespace

Tensor max_pool2d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                      IntArrayRef dilation, bool ceil_mode) {
  return max_values("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode);
}
std::array<TensorSpec, 2> max_pool2d_with_indices_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_specs("max_pool2d", pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode), self);
}
// Without indices where that is no tensor: programs compiled ahead of time have memory for the maxima alone.
void max_pool2d_with_indices_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                 IntArrayRef dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  const PoolGeometry g = pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode);
  max_forward("max_pool2d", g, pool_columns(g), self, out, indices.defined() ? &indices : nullptr, window_of);
}

Tensor max_pool3d_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                      IntArrayRef dilation, bool ceil_mode) {
  return max_values("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode);
}
std::array<TensorSpec, 2> max_pool3d_with_indices_meta(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                       IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  return max_specs("max_pool3d", pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode), self);
}
void max_pool3d_with_indices_cpu(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                                 IntArrayRef dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  const PoolGeometry g = pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode);
  max_forward("max_pool3d", g, pool_columns(g), self, out, indices.defined() ? &indices : nullptr, window_of);
}

TensorSpec max_pool2d_with_indices_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                 IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  return max_backward_spec("max_pool2d_backward", pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode),
                           grad_output, self, indices);
}
void max_pool2d_with_indices_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = pool_geometry("max_pool2d", 2, self, kernel_size, stride, padding, dilation, ceil_mode);
  max_backward("max_pool2d_backward", g, grad_output, self, indices, out, window_of);
}

TensorSpec max_pool3d_with_indices_backward_meta(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                                 IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices) {
  return max_backward_spec("max_pool3d_backward", pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode),
                           grad_output, self, indices);
}
void max_pool3d_with_indices_backward_cpu(const Tensor& grad_output, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = pool_geometry("max_pool3d", 3, self, kernel_size, stride, padding, dilation, ceil_mode);
  max_backward("max_pool3d_backward", g, grad_output, self, indices, out, window_of);
}

std::array<TensorSpec, 2> adaptive_max_pool2d_meta(const Tensor& self, IntArrayRef output_size) {
  check_channels("adaptive_max_pool2d", 2, self);
  return max_specs("adaptive_max_pool2d", adaptive_geometry("adaptive_max_pool2d", 2, self, output_size), self);
}
void adaptive_max_pool2d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out, Tensor& indices) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool2d", 2, self, output_size);
  max_forward("adaptive_max_pool2d", g, adaptive_columns(g), self, out, &indices, adaptive_window_of);
}
std::array<TensorSpec, 2> adaptive_max_pool3d_meta(const Tensor& self, IntArrayRef output_size) {
  check_channels("adaptive_max_pool3d", 3, self);
  return max_specs("adaptive_max_pool3d", adaptive_geometry("adaptive_max_pool3d", 3, self, output_size), self);
}
void adaptive_max_pool3d_cpu(const Tensor& self, IntArrayRef output_size, Tensor& out, Tensor& indices) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool3d", 3, self, output_size);
  max_forward("adaptive_max_pool3d", g, adaptive_columns(g), self, out, &indices, adaptive_window_of);
}

TensorSpec adaptive_max_pool2d_backward_meta(const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(grad_output.dim() == self.dim(), "adaptive_max_pool2d_backward: grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return max_backward_spec("adaptive_max_pool2d_backward", adaptive_geometry("adaptive_max_pool2d", 2, self, pooled_sizes(grad_output, 2)),
                           grad_output, self, indices);
}
void adaptive_max_pool2d_backward_cpu(const Tensor& grad_output, const Tensor& self, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool2d", 2, self, pooled_sizes(grad_output, 2));
  max_backward("adaptive_max_pool2d_backward", g, grad_output, self, indices, out, adaptive_window_of);
}
TensorSpec adaptive_max_pool3d_backward_meta(const Tensor& grad_output, const Tensor& self, const Tensor& indices) {
  TORCH_CHECK(grad_output.dim() == self.dim(), "adaptive_max_pool3d_backward: grad_output must have ", self.dim(), " dimensions, but has ", grad_output.dim());
  return max_backward_spec("adaptive_max_pool3d_backward", adaptive_geometry("adaptive_max_pool3d", 3, self, pooled_sizes(grad_output, 3)),
                           grad_output, self, indices);
}
void adaptive_max_pool3d_backward_cpu(const Tensor& grad_output, const Tensor& self, const Tensor& indices, Tensor& out) {
  const PoolGeometry g = adaptive_geometry("adaptive_max_pool3d", 3, self, pooled_sizes(grad_output, 3));
  max_backward("adaptive_max_pool3d_backward", g, grad_output, self, indices, out, adaptive_window_of);
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
