// In-place fills from continuous distributions, and bernoulli.
#include <cmath>
#include <limits>

#include "aten/core/overlap.h"
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/random_transform.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::fill_each_in_memory_order;
using random::fill_in_memory_order;

namespace {

constexpr double kPi = 3.14159265358979323846;

void check_floating(const char* op, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), op, " expected a floating-point tensor, got ", self.scalar_type());
  random::check_target(op, self);
}

// Words of `bits` random bits as multiples of 2^-bits, low + u * width fused in float.
void narrow_uniform(Draws& draws, const Tensor& self, int bits, float low, float width) {
  const uint32_t mask = (1u << bits) - 1;
  const float unit = std::ldexp(1.0f, -bits);
  fill_each_in_memory_order<float>(
      self, [&] { return std::fma(static_cast<float>(draws.word() & mask) * unit, width, low); });
}

float rounded(double value, ScalarType dtype) {
  if (dtype == ScalarType::Half) return static_cast<float>(Half(static_cast<float>(value)));
  if (dtype == ScalarType::BFloat16) return static_cast<float>(BFloat16(static_cast<float>(value)));
  return static_cast<float>(value);
}

void uniform_fill(Draws& draws, const Tensor& self, double from, double to) {
  const ScalarType dtype = toRealValueType(self.scalar_type());
  if (dtype == ScalarType::Double) {
    fill_each_in_memory_order<double>(self, [&] { return std::fma(draws.uniform(), to - from, from); });
    return;
  }
  const float low = rounded(from, dtype), width = rounded(rounded(to, dtype) - low, dtype);
  if (dtype == ScalarType::Half) return narrow_uniform(draws, self, 11, low, width);
  if (dtype == ScalarType::BFloat16) return narrow_uniform(draws, self, 8, low, width);
  fill_in_memory_order<float>(self, [&](float* out, int64_t n) {
    uint32_t words[512];
    draws.words(words, n);
    cpu::uniform_from_words(words, out, n, low, width);
  });
}

// --- normal: blocks of sixteen ---

void normal_block(double* d, double mean, double std) {
  for (int j = 0; j < 8; ++j) {
    const double radius = std::sqrt(-2 * std::log(1 - d[j])), angle = 2 * kPi * d[j + 8];
    d[j] = std::fma(radius * std::cos(angle), std, mean);
    d[j + 8] = std::fma(radius * std::sin(angle), std, mean);
  }
}
void normal_block(Half* d, double mean_in, double std_in) {
  const float mean = static_cast<float>(Half(static_cast<float>(mean_in)));
  const float std = static_cast<float>(Half(static_cast<float>(std_in)));
  for (int j = 0; j < 8; ++j) {
    const Half u1(1.0f - static_cast<float>(d[j]));
    const float radius = static_cast<float>(Half(std::sqrt(-2.0f * std::log(static_cast<float>(u1)))));
    const float angle = static_cast<float>(Half(static_cast<float>(2.0 * kPi * static_cast<float>(d[j + 8]))));
    d[j] = Half(std::fma(radius * std::cos(angle), std, mean));
    d[j + 8] = Half(std::fma(radius * std::sin(angle), std, mean));
  }
}
// Every operation rounds to bfloat16.
void normal_block(BFloat16* d, double mean_in, double std_in) {
  const auto round = [](float x) { return static_cast<float>(BFloat16(x)); };
  const float mean = round(static_cast<float>(mean_in)), std = round(static_cast<float>(std_in));
  for (int j = 0; j < 8; ++j) {
    const float u1 = round(1.0f - static_cast<float>(d[j]));
    const float radius = round(std::sqrt(round(-2.0f * round(std::log(u1)))));
    const float angle = round(static_cast<float>(2.0 * kPi * static_cast<float>(d[j + 8])));
    d[j] = BFloat16(round(round(radius * round(std::cos(angle))) * std) + mean);
    d[j + 8] = BFloat16(round(round(radius * round(std::sin(angle))) * std) + mean);
  }
}

template <class T>
void normal_blocks(Draws& draws, const Tensor& self, double mean, double std) {
  const int64_t n = self.numel();
  T* data = self.data_ptr<T>();
  uniform_fill(draws, self, 0, 1);
  for (int64_t i = 0; i + 16 <= n; i += 16) normal_block(data + i, mean, std);
  if (n % 16 == 0) return;
  T* last = data + n - 16;
  const Tensor tail = empty_contiguous({16}, self.scalar_type());
  uniform_fill(draws, tail, 0, 1);
  for (int j = 0; j < 16; ++j) last[j] = tail.data_ptr<T>()[j];
  normal_block(last, mean, std);
}

void normal_blocks_float(Draws& draws, float* data, int64_t n, float mean, float std) {
  constexpr int64_t kPiece = 512;
  uint32_t words[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    draws.words(words, m);
    cpu::uniform_from_words(words, data + i, m, 0.0f, 1.0f);
    cpu::normal_blocks(data + i, m / 16, mean, std);
  }
  if (n % 16 == 0) return;
  draws.words(words, 16);
  cpu::uniform_from_words(words, data + n - 16, 16, 0.0f, 1.0f);
  cpu::normal_blocks(data + n - 16, 1, mean, std);
}

void normal_fill(Draws& draws, const Tensor& self, double mean, double std) {
  const ScalarType dtype = toRealValueType(self.scalar_type());
  const int64_t n = self.is_complex() ? 2 * self.numel() : self.numel();
  if (n >= 16 && self.is_contiguous()) {
    if (C10_UNLIKELY(!is_aligned(self))) {
      Tensor to = self;
      const Tensor drawn = empty_contiguous(self.sizes(), self.scalar_type());
      normal_fill(draws, drawn, mean, std);
      at::copy_(to, drawn);
      return;
    }
    switch (dtype) {
      case ScalarType::Float:
        normal_blocks_float(draws, static_cast<float*>(self.data_ptr()), n, static_cast<float>(mean), static_cast<float>(std));
        return;
      case ScalarType::Double: {
        const Tensor real = self.is_complex() ? at::view(at::view_as_real(self), {-1}) : self;
        normal_blocks<double>(draws, real, mean, std);
        return;
      }
      case ScalarType::Half: return normal_blocks<Half>(draws, self, mean, std);
      default: return normal_blocks<BFloat16>(draws, self, mean, std);
    }
  }
  fill_each_in_memory_order<double>(self, [&] { return std::fma(draws.normal(), std, mean); });
}

}  // namespace

// The shape rules of in-place fills check everything; the kernels begin with them.

Tensor& uniform_meta_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"check_uniform_bounds\" not implemented for '", self.scalar_type(), "'");
  random::check_target("uniform_", self);
  const double most = self.scalar_type() == ScalarType::Half ? 65504.0
      : self.scalar_type() == ScalarType::Double             ? std::numeric_limits<double>::max()
      : self.scalar_type() == ScalarType::BFloat16           ? 3.3895313892515355e38
                                                             : std::numeric_limits<float>::max();
  TORCH_CHECK(from >= -most && from <= most, "from is out of bounds for ", self.scalar_type());
  TORCH_CHECK(to >= -most && to <= most, "to is out of bounds for ", self.scalar_type());
  TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  TORCH_CHECK(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", self.scalar_type(), ">::max(), but found to=",
              to, " and from=", from, " which result in to-from to exceed the limit");
  return self;
}

Tensor& uniform_cpu_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  uniform_meta_(self, from, to, std::nullopt);
  Draws draws(generator);
  uniform_fill(draws, self, from, to);
  return self;
}

Tensor& normal_meta_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point() || self.is_complex(), "\"normal_kernel_cpu\" not implemented for '",
                              self.scalar_type(), "'");
  random::check_target("normal_", self);
  return self;
}

Tensor& normal_cpu_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  normal_meta_(self, mean, std, std::nullopt);
  if (self.numel() == 0) return self;
  Draws draws(generator);
  normal_fill(draws, self, mean, self.is_complex() ? std / std::sqrt(2.0) : std);
  return self;
}

namespace {
template <class Draw>
Tensor& fill_doubles(Tensor& self, const std::optional<Generator>& generator, const Draw& draw) {
  Draws draws(generator);
  fill_each_in_memory_order<double>(self, [&] { return draw(draws); });
  return self;
}
}  // namespace

Tensor& log_normal_meta_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  check_floating("log_normal_", self);
  return self;
}
Tensor& log_normal_cpu_(Tensor& self, double mean, double std, std::optional<Generator> generator) {
  log_normal_meta_(self, mean, std, std::nullopt);
  return fill_doubles(self, generator,
                      [=](Draws& draws) { return std::exp(std::fma(draws.normal(), std, mean)); });
}
Tensor& exponential_meta_(Tensor& self, double lambd, std::optional<Generator> generator) {
  TORCH_CHECK(lambd > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_floating("exponential_", self);
  return self;
}
Tensor& exponential_cpu_(Tensor& self, double lambd, std::optional<Generator> generator) {
  exponential_meta_(self, lambd, std::nullopt);
  return fill_doubles(self, generator,
                      [=](Draws& draws) { return (-1.0 / lambd) * std::log(1.0 - draws.uniform()); });
}
Tensor& geometric_meta_(Tensor& self, double p, std::optional<Generator> generator) {
  TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Bool && !self.is_complex(),
                              "\"geometric\" not implemented for '", self.scalar_type(), "'");
  random::check_target("geometric_", self);
  return self;
}
Tensor& geometric_cpu_(Tensor& self, double p, std::optional<Generator> generator) {
  geometric_meta_(self, p, std::nullopt);
  return fill_doubles(self, generator,
                      [=](Draws& draws) { return std::ceil(std::log(draws.uniform()) / std::log(1.0 - p)); });
}
Tensor& cauchy_meta_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_floating("cauchy_", self);
  return self;
}
Tensor& cauchy_cpu_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  cauchy_meta_(self, median, sigma, std::nullopt);
  return fill_doubles(self, generator, [=](Draws& draws) {
    return std::fma(sigma, std::tan(kPi * (draws.uniform() - 0.5)), median);
  });
}

// --- bernoulli ---

Tensor& bernoulli_float_meta_(Tensor& self, double p, std::optional<Generator> generator) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"bernoulli_scalar_cpu_\" not implemented for '", self.scalar_type(), "'");
  random::check_target("bernoulli_", self);
  return self;
}

Tensor& bernoulli_float_cpu_(Tensor& self, double p, std::optional<Generator> generator) {
  bernoulli_float_meta_(self, p, std::nullopt);
  if (self.numel() == 0) return self;
  // k 2^-53 < p, in integers.
  const uint64_t limit = static_cast<uint64_t>(std::ceil(std::ldexp(p, 53)));
  const auto produce = [&](Draws& draws, int32_t* out, int64_t n) {
    uint32_t words[1024];
    draws.words(words, 2 * n);
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t k = (static_cast<uint64_t>(words[2 * i] & 0x1fffffu) << 32) | words[2 * i + 1];
      out[i] = k < limit;
    }
  };
  Draws draws(generator);
  if (self.is_contiguous()) {
    fill_in_memory_order<int32_t>(self, [&](int32_t* out, int64_t n) { produce(draws, out, n); });
    return self;
  }
  // In the order of the indices, not of the memory.
  const Tensor ordered = empty_contiguous(self.sizes(), self.scalar_type());
  fill_in_memory_order<int32_t>(ordered, [&](int32_t* out, int64_t n) { produce(draws, out, n); });
  return at::copy_(self, ordered);
}

Tensor& bernoulli_tensor_meta_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(p.is_floating_point() && p.scalar_type() != ScalarType::Half,
                              "\"bernoulli_tensor_cpu_p_\" not implemented for '", p.scalar_type(), "'");
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"bernoulli_tensor_cpu_self_\" not implemented for '", self.scalar_type(), "'");
  TORCH_CHECK(p.device() == self.device(), "bernoulli_: expected p on device ", self.device(), ", got ", p.device());
  random::check_target("bernoulli_", self);
  return self;
}

Tensor& bernoulli_tensor_cpu_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  bernoulli_tensor_meta_(self, p, std::nullopt);
  if (self.numel() == 0) return self;
  const Tensor limits = dense(at::to(at::expand(p, self.sizes()), ScalarType::Double));
  const double* limit = limits.data_ptr<double>();
  for (int64_t i = 0; i < limits.numel(); ++i) {
    TORCH_CHECK(limit[i] >= 0 && limit[i] <= 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  }
  const Tensor ordered = empty_contiguous(self.sizes(), self.scalar_type());
  Draws draws(generator);
  const bool wide = p.scalar_type() == ScalarType::Double;
  fill_each_in_memory_order<int32_t>(ordered, [&]() -> int32_t {
    const double u = wide ? draws.uniform() : static_cast<double>(draws.word() & 0xffffffu) * 0x1p-24;
    return u < *limit++;
  });
  return at::copy_(self, ordered);
}

Tensor bernoulli(const Tensor& self, std::optional<Generator> generator) {
  Tensor result = empty_contiguous(self.sizes(), self.scalar_type(), self.device());
  return at::bernoulli_(result, self, std::move(generator));
}
Tensor bernoulli_p(const Tensor& self, double p, std::optional<Generator> generator) {
  Tensor result = empty_contiguous(self.sizes(), self.scalar_type(), self.device());
  return at::bernoulli_(result, p, std::move(generator));
}

// --- normal with tensors ---

namespace {
void check_std(const Tensor& std) {
  TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  if (std.is_meta() || std.numel() == 0) return;
  TORCH_CHECK(at::item(at::min(std)).toDouble() >= 0, "normal expects all elements of std >= 0.0");
}
}  // namespace

Tensor normal_tensor_float(const Tensor& mean, double std, std::optional<Generator> generator) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  Tensor result = empty_contiguous(mean.sizes(), mean.scalar_type(), mean.device());
  at::normal_(result, 0, std, std::move(generator));
  return at::add_(result, mean);
}
Tensor normal_float_tensor(double mean, const Tensor& std, std::optional<Generator> generator) {
  check_std(std);
  Tensor result = empty_contiguous(std.sizes(), std.scalar_type(), std.device());
  at::normal_(result, 0, 1, std::move(generator));
  at::mul_(result, std);
  return at::add_(result, Scalar(mean));
}
Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
  check_std(std);
  TensorSpec spec = pointwise::result_spec({mean, std}, mean.scalar_type());
  Tensor result = empty_contiguous(spec.sizes, spec.dtype, spec.device);
  at::normal_(result, 0, 1, std::move(generator));
  at::mul_(result, std);
  return at::add_(result, mean);
}
Tensor normal_float_float(double mean, double std, IntArrayRef size, std::optional<Generator> generator,
                          TensorOptions options) {
  Tensor result = at::empty(size, options);
  return at::normal_(result, mean, std, std::move(generator));
}
Tensor normal_functional(const Tensor& self, double mean, double std, std::optional<Generator> generator) {
  Tensor result = at::empty_like(self);
  return at::normal_(result, mean, std, std::move(generator));
}

}  // namespace at::native
