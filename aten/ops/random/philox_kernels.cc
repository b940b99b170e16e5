// Keys, and the numbers that they decide.
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/keyed.h"
#include "aten/ops/random/keyed_range.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Key;
using random::folded;

namespace {

void check_key(const char* op, const Tensor& key) {
  TORCH_CHECK(key.scalar_type() == ScalarType::UInt64, op, ": expected a key of dtype uint64, but got ",
              key.scalar_type());
  TORCH_CHECK(key.dim() >= 1 && key.size(-1) == 2, op,
              ": expected a key whose last dimension has size 2, but got sizes ", key.sizes());
}

TensorSpec keys_spec(IntArrayRef sizes, const Tensor& key) {
  return {DimVector(sizes.begin(), sizes.end()), {}, ScalarType::UInt64, key.device()};
}

const uint64_t* numbers(const Tensor& keys) {
  return static_cast<const uint64_t*>(keys.const_data_ptr());
}

// result[i] = the key i of those from keys[i % keys of the input], with f(i) for its number.
template <class F>
void fold_all(const Tensor& key, Tensor& out, const F& number) {
  const Tensor keys = dense(key);
  const uint64_t* from = numbers(keys);
  DenseOut to(out);
  auto* result = to.data<uint64_t>();
  const int64_t count = keys.numel() / 2;
  for (int64_t i = 0; i < out.numel() / 2; ++i) {
    const int64_t k = i % count;
    const Key next = folded({from[2 * k], from[2 * k + 1]}, number(i));
    result[2 * i] = next.seed, result[2 * i + 1] = next.offset;
  }
  to.commit();
}

// Fills `self` in row-major order.
template <class Make>
void fill(const Tensor& self, const Tensor& key, const Make& make) {
  using T = typename Make::Result;
  constexpr int kEach = Make::kEach;
  const Tensor keys = dense(random::keys_of_parts(self, key));
  Tensor target = self;
  DenseOut to(target);
  T* out = to.data<T>();
  const int64_t count = keys.numel() / 2, each = self.numel() / count;
  for (int64_t k = 0; k < count; ++k) {
    const Key from{numbers(keys)[2 * k], numbers(keys)[2 * k + 1]};
    for (int64_t first = 0; first < each; first += kEach) {
      const random::KeyedWords words = random::keyed_words(from, static_cast<uint64_t>(first / kEach));
      for (int i = 0; i < kEach && first + i < each; ++i) *out++ = make(words, i);
    }
  }
  to.commit();
}

void check_target(const char* op, const Tensor& self, const Tensor& key, bool floating) {
  check_key(op, key);
  TORCH_CHECK(key.device() == self.device(), op, ": expected a key on device ", self.device(), ", but got one on ",
              key.device());
  const ScalarType type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(floating ? type == ScalarType::Float || type == ScalarType::Double ||
                                             type == ScalarType::Half || type == ScalarType::BFloat16
                                       : isIntegralType(self.scalar_type(), /*includeBool=*/false),
                              "\"", op, "\" not implemented for '", self.scalar_type(), "'");
  random::check_target(op, self);
  const int64_t batch = key.dim() - 1;
  bool fits = batch <= self.dim();
  for (int64_t d = 0; fits && d < batch; ++d) fits = key.size(d) == self.size(d) || key.size(d) == 1;
  TORCH_CHECK(fits, op, ": expected a key of size 2, or one for each of the first dimensions of self, but got sizes ",
              key.sizes(), " for a tensor of sizes ", self.sizes());
}

// The least and the greatest integer of a dtype.
struct Limits {
  int64_t least, most;
};
Limits limits_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
      return {0, 255};
    case ScalarType::Char:
      return {-128, 127};
    case ScalarType::Short:
      return {-32768, 32767};
    case ScalarType::Int:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case ScalarType::Long:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"_philox_randint_\" not implemented for '", dtype, "'");
  }
  return {};
}

// [low, last]; without bounds all numbers of the dtype.
Limits interval(const Tensor& self, std::optional<int64_t> low, std::optional<int64_t> high) {
  const Limits all = limits_of(self.scalar_type());
  const int64_t first = low.value_or(high.has_value() ? 0 : all.least);
  TORCH_CHECK(!high.has_value() || first < *high,
              "_philox_randint_ expects 'low' to be less than 'high', but got low=", first,
              " >= high=", high.value_or(0));
  const int64_t last = high.has_value() ? *high - 1 : all.most;
  TORCH_CHECK(first >= all.least && last <= all.most, "_philox_randint_: [", first, ", ", last,
              "] is out of bounds for ", self.scalar_type());
  return {first, last};
}

}  // namespace

Tensor random::keys_of_parts(const Tensor& self, const Tensor& key) {
  DimVector sizes(self.sizes().begin(), self.sizes().begin() + key.dim() - 1);
  sizes.push_back(2);
  return at::expand(key, sizes);
}

random::KeyedRange random::keyed_range(const Tensor& self, std::optional<int64_t> low, std::optional<int64_t> high) {
  const auto [first, last] = interval(self, low, high);
  const auto from = static_cast<uint64_t>(first);
  return {from, static_cast<uint64_t>(last) - from + 1};
}

TensorSpec philox_key_split_meta(const Tensor& key, int64_t num_splits) {
  check_key("_philox_key_split", key);
  TORCH_CHECK(num_splits > 0, "_philox_key_split: expected num_splits > 0, but got ", num_splits);
  DimVector sizes(key.sizes().begin(), key.sizes().end());
  sizes.insert(sizes.begin(), num_splits);
  return keys_spec(sizes, key);
}
void philox_key_split_cpu(const Tensor& key, int64_t, Tensor& out) {
  const int64_t count = key.numel() / 2;
  if (count > 0) fold_all(key, out, [&](int64_t i) { return static_cast<uint64_t>(i / count); });
}

TensorSpec philox_key_fold_in_meta(const Tensor& key, int64_t) {
  check_key("_philox_key_fold_in", key);
  return keys_spec(key.sizes(), key);
}
void philox_key_fold_in_cpu(const Tensor& key, int64_t data, Tensor& out) {
  if (key.numel() > 0) fold_all(key, out, [&](int64_t) { return static_cast<uint64_t>(data); });
}

TensorSpec philox_key_fold_in_tensor_meta(const Tensor& key, const Tensor& data) {
  check_key("_philox_key_fold_in", key);
  TORCH_CHECK(isIntegralType(data.scalar_type(), /*includeBool=*/false) || data.scalar_type() == ScalarType::UInt64,
              "_philox_key_fold_in: expected data of an integer dtype, but got ", data.scalar_type());
  TORCH_CHECK(data.dim() == 0 || data.sizes() == key.sizes().slice(0, static_cast<size_t>(key.dim() - 1)),
              "_philox_key_fold_in: expected data without dimensions or of one number for each key, but got sizes ",
              data.sizes(), " for a key of sizes ", key.sizes());
  return keys_spec(key.sizes(), key);
}
void philox_key_fold_in_tensor_cpu(const Tensor& key, const Tensor& data, Tensor& out) {
  if (key.numel() == 0) return;
  const Tensor all = dense(data, ScalarType::UInt64);
  const uint64_t* from = numbers(all);
  fold_all(key, out, [&](int64_t i) { return from[data.dim() == 0 ? 0 : i]; });
}

Tensor& philox_uniform_meta_(Tensor& self, const Tensor& key, double low, double high) {
  check_target("_philox_uniform_", self, key, true);
  TORCH_CHECK(low <= high, "_philox_uniform_ expects low <= high, but got low=", low, " and high=", high);
  return self;
}
Tensor& philox_uniform_cpu_(Tensor& self, const Tensor& key, double low, double high) {
  philox_uniform_meta_(self, key, low, high);
  if (self.numel() == 0) return self;
  random::with_keyed_uniform(self.scalar_type(), low, high, [&](const auto& make) { fill(self, key, make); });
  return self;
}
Tensor philox_uniform(const Tensor& self, const Tensor& key, double low, double high) {
  Tensor result = at::empty_like(self);
  return at::_philox_uniform_(result, key, low, high);
}

Tensor& philox_normal_meta_(Tensor& self, const Tensor& key, double, double std) {
  check_target("_philox_normal_", self, key, true);
  TORCH_CHECK(std >= 0, "_philox_normal_ expects std >= 0.0, but found std ", std);
  return self;
}
Tensor& philox_normal_cpu_(Tensor& self, const Tensor& key, double mean, double std) {
  philox_normal_meta_(self, key, mean, std);
  if (self.numel() == 0) return self;
  random::with_keyed_normal(self.scalar_type(), mean, std, [&](const auto& make) { fill(self, key, make); });
  return self;
}
Tensor philox_normal(const Tensor& self, const Tensor& key, double mean, double std) {
  Tensor result = at::empty_like(self);
  return at::_philox_normal_(result, key, mean, std);
}

Tensor& philox_randint_meta_(Tensor& self, const Tensor& key, std::optional<int64_t> low, std::optional<int64_t> high) {
  check_target("_philox_randint_", self, key, false);
  interval(self, low, high);
  return self;
}
Tensor& philox_randint_cpu_(Tensor& self, const Tensor& key, std::optional<int64_t> low, std::optional<int64_t> high) {
  philox_randint_meta_(self, key, low, high);
  if (self.numel() == 0) return self;
  const auto [from, range] = random::keyed_range(self, low, high);
  random::with_keyed_integers(self.scalar_type(), from, range, [&](const auto& make) { fill(self, key, make); });
  return self;
}
Tensor philox_randint(const Tensor& self, const Tensor& key, std::optional<int64_t> low, std::optional<int64_t> high) {
  Tensor result = at::empty_like(self);
  return at::_philox_randint_(result, key, low, high);
}

}  // namespace at::native
