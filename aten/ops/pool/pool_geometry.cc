#include "aten/ops/pool/pool_geometry.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "aten/core/empty.h"
#include "aten/ops/dense/dense.h"

namespace at::native {
namespace {

const char* number_word(int n) { return n == 1 ? "one" : n == 2 ? "two" : "three"; }

void read_list(const char* op, const char* name, int dims, IntArrayRef values, int64_t* to) {
  TORCH_CHECK(values.size() == 1 || values.size() == static_cast<size_t>(dims), op, ": ", name, " must either be a single int, or a tuple of ",
              number_word(dims), " ints");
  for (int i = 0; i < dims; ++i) to[3 - dims + i] = values[values.size() == 1 ? 0 : i];
}

// Says what PyTorch says for each operator and number of dimensions.
void check_input(const char* op, int dims, const Tensor& self) {
  const int64_t rank = self.dim();
  const bool planes = dims == 2;
  if (planes && std::string_view(op) == "avg_pool2d") {
    maybe_wrap_dim(-3, rank);
  } else {
    TORCH_CHECK(rank == dims + 1 || rank == dims + 2, "non-empty ", dims + 1, "D or ", dims + 2,
                "D (batch mode) tensor expected for input");
  }
  bool empty = rank > dims + 2;
  for (int64_t d = rank == dims + 2 ? 1 : 0; d < rank; ++d) {
    TORCH_CHECK(planes || self.size(d) > 0, op,
                "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(),
                " with dimension ", d, " being empty");
    empty |= self.size(d) == 0;
  }
  TORCH_CHECK(!empty, "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:",
              self.sizes());
}

// Sizes before the pooled dimensions into the geometry and its result.
void read_input(const Tensor& self, PoolGeometry* g) {
  const int64_t outer = self.dim() - g->dims;
  for (int64_t d = 0; d < outer; ++d) {
    g->planes *= self.size(d);
    g->result.push_back(self.size(d));
  }
  for (int i = 0; i < g->dims; ++i) g->in[3 - g->dims + i] = self.size(outer + i);
}

std::string by(const PoolGeometry& g, int64_t channels, const int64_t* sizes) {
  std::string s = std::to_string(channels);
  for (int d = 3 - g.dims; d < 3; ++d) s += "x" + std::to_string(sizes[d]);
  return s;
}

}  // namespace

PoolGeometry pool_geometry(const char* op, int dims, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  PoolGeometry g;
  g.dims = dims;
  read_list(op, "kernel_size", dims, kernel_size, g.kernel);
  if (stride.empty()) {
    for (int d = 0; d < 3; ++d) g.stride[d] = g.kernel[d];
  } else {
    read_list(op, "stride", dims, stride, g.stride);
  }
  read_list(op, "padding", dims, padding, g.padding);
  read_list(op, "dilation", dims, dilation, g.dilation);
  check_input(op, dims, self);
  read_input(self, &g);
  for (int d = 3 - dims; d < 3; ++d) {
    TORCH_CHECK(g.stride[d] != 0, "stride should not be zero");
    TORCH_CHECK(g.kernel[d] > 0, op, ": kernel size should be greater than zero, but got ", kernel_size);
    TORCH_CHECK(g.stride[d] > 0, op, ": stride should be greater than zero, but got ", stride);
    TORCH_CHECK(g.dilation[d] > 0, op, ": dilation should be greater than zero, but got ", dilation);
    TORCH_CHECK(g.padding[d] >= 0, "pad must be non-negative, but got pad: ", g.padding[d]);
    TORCH_CHECK(g.padding[d] <= g.kernel[d] / 2, "pad should be at most half of effective kernel size, but got pad=", g.padding[d],
                ", kernel_size=", g.kernel[d], " and dilation=", g.dilation[d]);
    const __int128 reach = __int128{g.dilation[d]} * (g.kernel[d] - 1) + 1;
    const __int128 room = __int128{g.in[d]} + __int128{2} * g.padding[d] - reach + (ceil_mode ? g.stride[d] - 1 : 0);
    __int128 out = room >= 0 ? room / g.stride[d] + 1 : 0;
    // The last window must begin inside the input or its left padding.
    if (ceil_mode && out > 0 && (out - 1) * g.stride[d] >= __int128{g.in[d]} + g.padding[d]) --out;
    TORCH_CHECK(out < (__int128{1} << 62), op, ": the size of the result overflows");
    g.out[d] = static_cast<int64_t>(out);
    // Steps that leave the input at once, and windows that cover it with its padding, are as good as longer ones, and
    // positions then cannot overflow.
    g.dilation[d] = std::min(g.dilation[d], std::max<int64_t>(1, g.in[d] + g.padding[d]));
    const __int128 covered = __int128{g.in[d]} + __int128{2} * g.padding[d];
    if (g.kernel[d] > covered) g.kernel[d] = std::max<int64_t>(1, static_cast<int64_t>(covered));
  }
  bool fits = true;
  for (int d = 3 - dims; d < 3; ++d) fits = fits && g.out[d] > 0;
  const int64_t channels = self.size(self.dim() - dims - 1);
  TORCH_CHECK(fits, "Given input size: (", by(g, channels, g.in), "). Calculated output size: (", by(g, channels, g.out),
              "). Output size is too small");
  for (int d = 3 - dims; d < 3; ++d) g.result.push_back(g.out[d]);
  return g;
}

PoolGeometry adaptive_geometry(const char* op, int dims, const Tensor& self, IntArrayRef output_size) {
  TORCH_CHECK(output_size.size() == static_cast<size_t>(dims), op, ": output_size must be ", dims);
  TORCH_CHECK(self.dim() == dims + 1 || self.dim() == dims + 2, op, "(): Expected ", dims + 1, "D or ", dims + 2,
              "D tensor, but got", std::string_view(op).find("max") == std::string_view::npos ? " " : ": ", self.sizes());
  for (int64_t d = self.dim() - dims; d < self.dim(); ++d)
    TORCH_CHECK(self.size(d) > 0, op, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
                self.sizes(), " with dimension ", d, " being empty");
  PoolGeometry g;
  g.dims = dims;
  read_list(op, "output_size", dims, output_size, g.out);
  read_input(self, &g);
  for (int d = 3 - dims; d < 3; ++d) {
    TORCH_CHECK(g.out[d] >= 0, op, ": elements of output_size must be greater than or equal to 0 but received ", output_size);
    int64_t product;
    TORCH_CHECK(!__builtin_mul_overflow(g.out[d], g.in[d], &product), op, ": output_size ", output_size, " is too large");
    g.result.push_back(g.out[d]);
  }
  return g;
}

PoolGeometry fractional_geometry(const char* op, int dims, const Tensor& self, IntArrayRef kernel, IntArrayRef size,
                                 const Tensor& samples) {
  TORCH_CHECK(self.dim() == dims + 1 || self.dim() == dims + 2, op, ": Expected ", dims + 1, "D or ", dims + 2,
              "D tensor, but got: ", self.sizes());
  const auto expected = static_cast<size_t>(dims);
  TORCH_CHECK(kernel.size() == 1 || kernel.size() == expected, op,
              ": kernel_size must either be a single int or tuple of ", dims, " Ints");
  TORCH_CHECK(size.size() == 1 || size.size() == expected, op, ": output_size must either be a single int or tuple of ",
              dims, " Ints");
  TORCH_CHECK(self.scalar_type() == samples.scalar_type(),
              "Expect _random_samples to have the same dtype as input, got ", toString(samples.scalar_type()), " and ",
              toString(self.scalar_type()));
  TORCH_CHECK(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got ", samples.dim());
  const int64_t batch = self.dim() == dims + 2 ? self.size(0) : 1, channels = self.size(self.dim() - dims - 1);
  PoolGeometry g;
  g.dims = dims;
  g.planes = batch * channels;
  g.result.assign(self.sizes().begin(), self.sizes().end());
  TORCH_CHECK(samples.size(0) >= batch, "Expect _random_samples.size(0) no less then input batch size, got ",
              samples.size(0), " for a batch of ", batch);
  TORCH_CHECK(samples.size(1) == channels, "Expect _random_samples.size(1) equals to input channel size, got ",
              samples.size(1), " for ", channels, " channels");
  TORCH_CHECK(samples.size(2) == dims, "Expect _random_samples.size(2) equals to ", dims, "; got ", samples.size(2),
              ".");
  for (int64_t d = self.dim() - dims - 1; d < self.dim(); ++d) {
    TORCH_CHECK(self.size(d) > 0, op, ": Expected input to have non-zero size for non-batch dimensions, but got ",
                self.sizes(), " with dimension ", d, " being empty.");
  }
  for (int d = 0; d < dims; ++d) {
    const auto at = static_cast<size_t>(d);
    const int to = 3 - dims + d;
    g.in[to] = self.size(self.dim() - dims + d);
    g.kernel[to] = kernel[kernel.size() == 1 ? 0 : at];
    g.out[to] = size[size.size() == 1 ? 0 : at];
    TORCH_CHECK(g.kernel[to] > 0 && g.out[to] > 0, op, ": kernel_size and output_size must be positive, but got ",
                kernel, " and ", size);
    // Without overflow: both are compared with what the other leaves of the input.
    TORCH_CHECK(g.kernel[to] <= g.in[to] && g.out[to] - 1 <= g.in[to] - g.kernel[to], op, ": pool size ", g.kernel[to],
                " too large relative to input size ", g.in[to], " and output size ", g.out[to]);
    g.result[static_cast<size_t>(self.dim() - dims + d)] = g.out[to];
  }
  return g;
}

bool pools_pixels(const PoolGeometry& g, const TensorBase& self) {
  return g.dims == 2 && self.dim() == 4 && self.suggest_memory_format() == MemoryFormat::ChannelsLast;
}

DimVector pooled_strides(const PoolGeometry& g, const TensorBase& self, IntArrayRef sizes) {
  return pools_pixels(g, self) ? strides_of_format(sizes, MemoryFormat::ChannelsLast) : DimVector();
}

std::optional<cpu::PoolColumns> pool_columns(const PoolGeometry& g) {
  if (g.inputs() >= (int64_t{1} << 31)) return std::nullopt;
  return cpu::PoolColumns{g.in[2], g.out[2], g.kernel[2], g.stride[2], g.padding[2], g.dilation[2]};
}

std::optional<cpu::PoolColumns> adaptive_columns(const PoolGeometry& g) {
  if (g.out[2] == 0 || g.in[2] % g.out[2] != 0 || g.inputs() >= (int64_t{1} << 31)) return std::nullopt;
  const int64_t step = g.in[2] / g.out[2];
  return cpu::PoolColumns{g.in[2], g.out[2], step, step, 0, 1};
}

}  // namespace at::native
