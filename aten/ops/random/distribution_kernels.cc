// In-place fills from continuous distributions, and bernoulli.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/random_transform.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::fill_each_in_memory_order;
using random::fill_in_memory_order;

namespace {

constexpr double kPi = 3.14159265358979323846;

void check_floating(const char* op, const Tensor& self) {
  // These two are refused for what they are, the others for want of a kernel.
  const bool continuous = std::string_view(op) == "exponential_" || std::string_view(op) == "cauchy_";
  TORCH_CHECK(!continuous || self.is_floating_point(), op,
              " is a continuous distribution: expected a floating-point tensor, got ", self.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), op, " expected a floating-point tensor, got ", self.scalar_type());
  random::check_target(op, self);
}

float rounded(double value, ScalarType dtype) {
  if (dtype == ScalarType::Half) return static_cast<float>(Half(static_cast<float>(value)));
  if (dtype == ScalarType::BFloat16) return static_cast<float>(BFloat16(static_cast<float>(value)));
  return static_cast<float>(value);
}

// From where on numbers are `to` or more once they are converted to the dtype.
float reaching(float to, ScalarType dtype) {
  const auto threshold = [to]<class T>(T number) {
    const uint16_t bits = number.x;
    number.x = static_cast<uint16_t>(to > 0 ? bits - 1 : to < 0 ? bits + 1 : 0x8001);
    // Half way between two numbers, which float has, is rounded to one of them.
    const float middle = (static_cast<float>(number) + to) / 2;
    return static_cast<float>(T(middle)) == to ? middle : std::nextafter(middle, to);
  };
  return dtype == ScalarType::Half ? threshold(Half(to)) : dtype == ScalarType::BFloat16 ? threshold(BFloat16(to)) : to;
}

void uniform_floats(Draws& draws, float* out, int64_t n, float low, float width) {
  uint32_t words[512];
  draws.words(words, n);
  cpu::uniform_from_words(words, out, n, low, width);
}

void uniform_fill(Draws& draws, const Tensor& self, double from, double to) {
  const ScalarType dtype = toRealValueType(self.scalar_type());
  // Rounding may make `to` of a number below it: that counts as `from`.
  if (dtype == ScalarType::Double) {
    fill_each_in_memory_order<double>(self, [&] {
      const double x = std::fma(draws.uniform(), to - from, from);
      return x < to ? x : from;
    });
    return;
  }
  const float low = rounded(from, dtype), high = rounded(to, dtype), width = rounded(high - low, dtype);
  const float limit = reaching(high, dtype);
  const bool may_reach = std::fma(1 - 0x1p-24f, width, low) >= limit;
  fill_in_memory_order<float>(self, [&](float* out, int64_t n) {
    uniform_floats(draws, out, n, low, width);
    for (int64_t i = 0; may_reach && i < n; ++i) out[i] = out[i] < limit ? out[i] : low;
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
void normal_blocks_double(Draws& draws, const Tensor& self, double mean, double std) {
  const int64_t n = self.numel();
  double* data = self.data_ptr<double>();
  uniform_fill(draws, self, 0, 1);
  for (int64_t i = 0; i + 16 <= n; i += 16) normal_block(data + i, mean, std);
  if (n % 16 == 0) return;
  for (int64_t i = n - 16; i < n; ++i) data[i] = draws.uniform();
  normal_block(data + n - 16, mean, std);
}

// In float; each number is rounded once. The last block may begin inside the one before.
template <class T>
void normal_blocks_narrow(Draws& draws, T* data, int64_t n, float mean, float std) {
  for (int64_t i = 0; i < n; i += 16) {
    float block[16];
    uniform_floats(draws, block, 16, 0.0f, 1.0f);
    cpu::normal_blocks(block, 1, mean, std);
    std::copy_n(block, 16, data + std::min(i, n - 16));
  }
}

void normal_blocks_float(Draws& draws, float* data, int64_t n, float mean, float std) {
  constexpr int64_t kPiece = 512;
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    uniform_floats(draws, data + i, m, 0.0f, 1.0f);
    cpu::normal_blocks(data + i, m / 16, mean, std);
  }
  if (n % 16 == 0) return;
  uniform_floats(draws, data + n - 16, 16, 0.0f, 1.0f);
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
        normal_blocks_double(draws, real, mean, std);
        return;
      }
      case ScalarType::Half:
        normal_blocks_narrow(draws, self.data_ptr<Half>(), n, static_cast<float>(mean), static_cast<float>(std));
        return;
      default:
        normal_blocks_narrow(draws, self.data_ptr<BFloat16>(), n, static_cast<float>(mean), static_cast<float>(std));
        return;
    }
  }
  fill_each_in_memory_order<double>(self, [&] { return std::fma(draws.normal(), std, mean); });
}

}  // namespace

// The shape rules of in-place fills check everything; the kernels begin with them.

Tensor& uniform_meta_(Tensor& self, double from, double to, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point() || self.is_complex(),
                              "\"check_uniform_bounds\" not implemented for '", self.scalar_type(), "'");
  random::check_target("uniform_", self);
  const ScalarType dtype = toRealValueType(self.scalar_type());
  const double most = dtype == ScalarType::Half       ? 65504.0
                      : dtype == ScalarType::Double   ? std::numeric_limits<double>::max()
                      : dtype == ScalarType::BFloat16 ? 3.3895313892515355e38
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
// Of each number that is drawn one is made.
template <class F>
Tensor& fill_from_uniforms(Tensor& self, const std::optional<Generator>& generator, const F& f) {
  Draws draws(generator);
  fill_in_memory_order<double>(self, [&](double* out, int64_t n) {
    draws.uniforms(out, n);
    for (int64_t i = 0; i < n; ++i) out[i] = f(out[i]);
  });
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
  Draws draws(generator);
  fill_each_in_memory_order<double>(self, [&] { return std::exp(std::fma(draws.normal(), std, mean)); });
  return self;
}
Tensor& exponential_meta_(Tensor& self, double lambd, std::optional<Generator> generator) {
  TORCH_CHECK(lambd > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_floating("exponential_", self);
  return self;
}
Tensor& exponential_cpu_(Tensor& self, double lambd, std::optional<Generator> generator) {
  exponential_meta_(self, lambd, std::nullopt);
  return fill_from_uniforms(self, generator, [=](double u) { return (-1.0 / lambd) * std::log(1.0 - u); });
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
  const double scale = std::log(1.0 - p);
  return fill_from_uniforms(self, generator, [scale](double u) { return std::ceil(std::log(u) / scale); });
}
Tensor& cauchy_meta_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_floating("cauchy_", self);
  return self;
}
Tensor& cauchy_cpu_(Tensor& self, double median, double sigma, std::optional<Generator> generator) {
  cauchy_meta_(self, median, sigma, std::nullopt);
  return fill_from_uniforms(
      self, generator, [=](double u) { return std::fma(sigma, std::tan(kPi * (u - 0.5)), median); });
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
  fill_in_memory_order<int32_t>(self, [&](int32_t* out, int64_t n) { produce(draws, out, n); });
  return self;
}

Tensor& bernoulli_tensor_meta_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(p.is_floating_point(), "\"bernoulli_tensor_cpu_p_\" not implemented for '",
                              p.scalar_type(), "'");
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "\"bernoulli_tensor_cpu_self_\" not implemented for '", self.scalar_type(), "'");
  TORCH_CHECK(p.device() == self.device(), "bernoulli_: expected p on device ", self.device(), ", got ", p.device());
  random::check_target("bernoulli_", self);
  return self;
}

Tensor& bernoulli_tensor_cpu_(Tensor& self, const Tensor& p, std::optional<Generator> generator) {
  bernoulli_tensor_meta_(self, p, std::nullopt);
  if (self.numel() == 0) return self;
  Tensor limits =
      empty_with_strides(self.sizes(), strides_like(self), ScalarType::Double);  // in the order of self's memory
  at::copy_(limits, at::expand(p, self.sizes()));
  const double* limit = limits.data_ptr<double>();
  for (int64_t i = 0; i < limits.numel(); ++i) {
    TORCH_CHECK(limit[i] >= 0 && limit[i] <= 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  }
  Draws draws(generator);
  const bool wide = p.scalar_type() == ScalarType::Double;
  fill_each_in_memory_order<int32_t>(self, [&]() -> int32_t {
    const double u = wide ? draws.uniform() : static_cast<double>(draws.word() & 0xffffffu) * 0x1p-24;
    return u < *limit++;
  });
  return self;
}

Tensor bernoulli(const Tensor& self, std::optional<Generator> generator) {
  Tensor result = empty_contiguous(self.sizes(), self.scalar_type(), self.device());
  return fresh(at::bernoulli_(result, self, std::move(generator)));
}
Tensor bernoulli_p(const Tensor& self, double p, std::optional<Generator> generator) {
  Tensor result = empty_contiguous(self.sizes(), self.scalar_type(), self.device());
  return fresh(at::bernoulli_(result, p, std::move(generator)));
}

// --- normal with tensors ---

namespace {
void check_std(const Tensor& std) {
  TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  if (std.is_meta() || std.numel() == 0) return;
  TORCH_CHECK(at::item(at::min(std)).toDouble() >= 0, "normal expects all elements of std >= 0.0");
}
}  // namespace

namespace {

void check(const Tensor&, double std) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
}
void check(double, const Tensor& std) {
  check_std(std);
}
void check(const Tensor&, const Tensor& std) {
  check_std(std);
}

TensorSpec spec_of(const Tensor& mean, double) {
  return {DimVector(mean.sizes()), {}, mean.scalar_type(), mean.device()};
}
TensorSpec spec_of(double, const Tensor& std) {
  return {DimVector(std.sizes()), {}, std.scalar_type(), std.device()};
}
TensorSpec spec_of(const Tensor& mean, const Tensor& std) {
  TensorSpec spec = pointwise::result_spec({mean, std}, mean.scalar_type());
  spec.strides.clear();
  return spec;
}

void draw_normal(Tensor& to, const Tensor& mean, double std, std::optional<Generator> generator) {
  at::normal_(to, 0, std, std::move(generator));
  at::add_(to, mean);
}
void draw_normal(Tensor& to, double mean, const Tensor& std, std::optional<Generator> generator) {
  at::normal_(to, 0, 1, std::move(generator));
  at::mul_(to, std);
  at::add_(to, Scalar(mean));
}
void draw_normal(Tensor& to, const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
  at::normal_(to, 0, 1, std::move(generator));
  at::mul_(to, std);
  at::add_(to, mean);
}

template <class Mean, class Std>
Tensor normal_of(const Mean& mean, const Std& std, std::optional<Generator> generator) {
  check(mean, std);
  Tensor result = empty_spec(spec_of(mean, std));
  draw_normal(result, mean, std, std::move(generator));
  return result;
}

structured::Overlap overlap_with(const Tensor& out, const Tensor& in) {
  return structured::overlap(out, in);
}
structured::Overlap overlap_with(const Tensor&, double) {
  return structured::Overlap::kNone;
}

// What is drawn depends on the memory that it is drawn into.
template <class Mean, class Std>
Tensor& normal_into(const Mean& mean, const Std& std, std::optional<Generator> generator, Tensor& out) {
  check(mean, std);
  structured::Target target("normal", out, spec_of(mean, std),
                            std::max(overlap_with(out, mean), overlap_with(out, std)), false, false);
  draw_normal(target.tensor(), mean, std, std::move(generator));
  target.commit();
  return out;
}

}  // namespace

Tensor normal_tensor_float(const Tensor& mean, double std, std::optional<Generator> generator) {
  return normal_of(mean, std, std::move(generator));
}
Tensor normal_float_tensor(double mean, const Tensor& std, std::optional<Generator> generator) {
  return normal_of(mean, std, std::move(generator));
}
Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, std::optional<Generator> generator) {
  return normal_of(mean, std, std::move(generator));
}
Tensor& normal_tensor_float_out(const Tensor& mean, double std, std::optional<Generator> generator, Tensor& out) {
  return normal_into(mean, std, std::move(generator), out);
}
Tensor& normal_float_tensor_out(double mean, const Tensor& std, std::optional<Generator> generator, Tensor& out) {
  return normal_into(mean, std, std::move(generator), out);
}
Tensor& normal_tensor_tensor_out(const Tensor& mean, const Tensor& std, std::optional<Generator> generator,
                                 Tensor& out) {
  return normal_into(mean, std, std::move(generator), out);
}
Tensor normal_float_float(double mean, double std, IntArrayRef size, std::optional<Generator> generator,
                          TensorOptions options) {
  Tensor result = at::empty(size, options);
  return fresh(at::normal_(result, mean, std, std::move(generator)));
}
Tensor& normal_float_float_out(double mean, double std, IntArrayRef size, std::optional<Generator> generator,
                               Tensor& out) {
  return at::normal_(random::sized("normal", size, out), mean, std, std::move(generator));
}
Tensor normal_functional(const Tensor& self, double mean, double std, std::optional<Generator> generator) {
  Tensor result = at::empty_like(self);
  return fresh(at::normal_(result, mean, std, std::move(generator)));
}

Tensor& normal_like_out(const Tensor& self, double mean, double std, std::optional<Generator> generator, Tensor& out) {
  return structured::assign_out("normal", out, native::normal_functional(self, mean, std, std::move(generator)));
}

Tensor& bernoulli_like_out(const Tensor& self, double p, std::optional<Generator> generator, Tensor& out) {
  return structured::assign_out("bernoulli", out, at::bernoulli(self, p, std::move(generator)));
}

}  // namespace at::native
