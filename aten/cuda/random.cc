// Random fills of CUDA tensors.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/strided_loop.h"
#include "aten/cuda/generator.h"
#include "aten/cuda/random/fill.h"
#include "aten/cuda/random/generator_for.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/random/integer_range.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/shared/draws.h"
#include "c10/cuda/device.h"
#include "c10/cuda/stream.h"

namespace at {
namespace cuda::random {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;
constexpr uint32_t kThreads = 256;

// As many blocks as the device runs at once: which thread makes which number depends on it.
Launch shape_of(uint32_t numel) {
  const cudaDeviceProp* device = getCurrentDeviceProperties();
  const auto at_once = static_cast<uint32_t>(device->multiProcessorCount) *
                       (static_cast<uint32_t>(device->maxThreadsPerMultiProcessor) / kThreads);
  return {.grid = std::min(at_once, (numel - 1) / kThreads + 1),
          .block = kThreads,
          .stream = c10::cuda::getCurrentCUDAStream()};
}

// Fills the elements of `target` in the dimensions below `dims`, which may be too many for one launch.
template <class Fill>
void fill_parts(Target& target, const int64_t* sizes, int dims, int64_t numel, uint32_t each,
                CUDAGeneratorImpl& generator, const Fill& fill) {
  if (numel <= kMostElements) {
    target.numel = static_cast<uint32_t>(numel);
    target.dims = dims;
    for (int d = 0; d < dims; ++d) target.sizes[d] = FastDivisor(static_cast<uint32_t>(sizes[d]));
    const Launch launch = shape_of(target.numel);
    const uint64_t draws = (target.numel - 1) / (uint64_t{launch.grid.x} * kThreads * each) + 1;
    target.random = generator.philox_cuda_state(draws * 4);
    return fill(target, launch);
  }
  // Slices of the outermost dimension, as many together as are allowed.
  const int outer = dims - 1;
  const int64_t inner = numel / sizes[outer];
  const int64_t together = inner > kMostElements ? 1 : kMostElements / inner;
  int64_t part_sizes[kMaxElementwiseDims];
  std::copy_n(sizes, dims, part_sizes);
  char* const begin = target.data;
  for (int64_t first = 0; first < sizes[outer]; first += together) {
    part_sizes[outer] = std::min(together, sizes[outer] - first);
    target.data = begin + first * target.strides[outer];
    fill_parts(target, part_sizes, inner > kMostElements ? outer : dims, inner * part_sizes[outer], each, generator,
               fill);
  }
  target.data = begin;
}

// Calls fill(target, launch) for the elements of `self`, complex numbers as pairs of real ones, in the order of memory.
template <class Fill>
void fill_in_memory_order(const char* name, const Tensor& self, uint32_t each, const std::optional<Generator>& given,
                          const Fill& fill) {
  CUDAGeneratorImpl& generator = generator_for(self.device(), given);
  if (self.numel() == 0) return;
  const native::random::FillTarget operand(self);
  const cpu::LoopNest nest(&operand.operand, 1);
  TORCH_CHECK(nest.dim() <= kMaxElementwiseDims, name, ": CUDA tensors of this layout leave ", nest.dim(),
              " dimensions when neighbours are merged; at most ", kMaxElementwiseDims, " are supported");
  Target target{};
  target.data = nest.data(0);
  target.dtype = operand.dtype;
  target.contiguous = nest.dim() <= 1;
  int64_t sizes[kMaxElementwiseDims] = {1};
  target.strides[0] = operand.operand.item_size;
  for (int d = 0; d < nest.dim(); ++d) {
    sizes[d] = nest.size(d);
    target.strides[d] = nest.byte_stride(0, d);
  }
  std::lock_guard<std::mutex> lock(generator.mutex_);
  fill_parts(target, sizes, std::max(nest.dim(), 1), nest.numel(), each, generator, fill);
}

uint32_t numbers_per_draw(const Tensor& self) {
  return toRealValueType(self.scalar_type()) == ScalarType::Double ? kWideNumbersPerDraw : kNumbersPerDraw;
}

// What a dtype holds of a number.
double as_dtype(double value, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double:
      return value;
    case ScalarType::Half:
      return static_cast<float>(Half(static_cast<float>(value)));
    case ScalarType::BFloat16:
      return static_cast<float>(BFloat16(static_cast<float>(value)));
    default:
      return static_cast<float>(value);
  }
}

// `fill` gets two parameters of the distribution, or one.
template <class... Params>
Tensor& fill_with(const char* name, Tensor& self, const std::optional<Generator>& generator,
                  void (*fill)(const Target&, const Launch&, Params...), std::type_identity_t<Params>... params) {
  fill_in_memory_order(name, self, numbers_per_draw(self), generator,
                       [&](const Target& target, const Launch& launch) { fill(target, launch, params...); });
  return self;
}

Tensor& fill_with_integers(Tensor& self, const native::random::IntegerRange& of,
                           const std::optional<Generator>& generator) {
  fill_in_memory_order(
      "random_", self, of.wide ? kWideNumbersPerDraw : kNumbersPerDraw, generator,
      [&](const Target& target, const Launch& launch) { fill_integers(target, launch, of.range, of.base, of.wide); });
  return self;
}

}  // namespace
}  // namespace cuda::random

namespace native {

using namespace cuda::random;

Tensor& uniform_cuda_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  uniform_meta_(self, from, to, std::nullopt);
  const ScalarType dtype = toRealValueType(self.scalar_type());
  return fill_with("uniform_", self, generator, fill_uniform, as_dtype(from, dtype), as_dtype(to, dtype));
}

Tensor& normal_cuda_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  normal_meta_(self, mean, std, std::nullopt);
  return fill_with("normal_", self, generator, fill_normal, mean, self.is_complex() ? std / std::sqrt(2.0) : std);
}

Tensor& log_normal_cuda_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  log_normal_meta_(self, mean, std, std::nullopt);
  return fill_with("log_normal_", self, generator, fill_log_normal, mean, std);
}

Tensor& cauchy_cuda_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  cauchy_meta_(self, median, sigma, std::nullopt);
  return fill_with("cauchy_", self, generator, fill_cauchy, median, sigma);
}

Tensor& exponential_cuda_(Tensor& self, double lambd, std::optional<Generator> generator) {
  exponential_meta_(self, lambd, std::nullopt);
  return fill_with("exponential_", self, generator, fill_exponential, lambd);
}

Tensor& geometric_cuda_(Tensor& self, double p, std::optional<Generator> generator) {
  geometric_meta_(self, p, std::nullopt);
  return fill_with("geometric_", self, generator, fill_geometric, p);
}

Tensor& bernoulli_float_cuda_(Tensor& self, double p, std::optional<Generator> generator) {
  bernoulli_float_meta_(self, p, std::nullopt);
  return fill_with("bernoulli_", self, generator, fill_bernoulli, p);
}

// Probabilities are not checked: that would wait for the device.
Tensor& bernoulli_tensor_cuda_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  bernoulli_tensor_meta_(self, p, std::nullopt);
  const bool wide = p.scalar_type() == ScalarType::Double;
  Tensor u = empty_with_strides(self.sizes(), strides_like(self), wide ? ScalarType::Double : ScalarType::Float,
                                self.device());
  at::uniform_(u, 0, 1, std::move(generator));
  at::copy_(self, at::lt(u, p));
  return self;
}

Tensor& random_cuda_(Tensor& self, std::optional<Generator> generator) {
  random_meta_(self, std::nullopt);
  return fill_with_integers(self, random::integer_range(self), generator);
}

Tensor& random_from_cuda_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> generator) {
  return fill_with_integers(self, random::integer_range(self, from, to), generator);
}

}  // namespace native
}  // namespace at
