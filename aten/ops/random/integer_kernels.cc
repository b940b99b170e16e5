// Random integers, permutations, and the factories of random tensors.
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/overlap.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/integer_range.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;
using random::fill_each_in_memory_order;

namespace {

// Bits of the integers that a floating dtype holds exactly; 0 for integers.
int digits_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Double: return 53;
    case ScalarType::Float: return 24;
    case ScalarType::Half: return 11;
    case ScalarType::BFloat16: return 8;
    default: return 0;
  }
}

struct Range {
  int64_t least, most;  // most is the largest that random_() may give
};
Range range_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool: return {0, 1};
    case ScalarType::Byte: return {0, 255};
    case ScalarType::Char: return {-128, 127};
    case ScalarType::Short: return {-32768, 32767};
    case ScalarType::Int: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case ScalarType::Long: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    case ScalarType::UInt16:
      return {0, 65535};
    case ScalarType::UInt32:
      return {0, std::numeric_limits<uint32_t>::max()};
    case ScalarType::UInt64:
      return {0, std::numeric_limits<int64_t>::max()};
    default: {
      const int digits = digits_of(dtype);
      TORCH_CHECK_NOT_IMPLEMENTED(digits > 0, "\"random_\" not implemented for '", dtype, "'");
      return {-(int64_t{1} << digits), int64_t{1} << digits};
    }
  }
}

double as_dtype(int64_t value, ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float: return static_cast<double>(static_cast<float>(value));
    case ScalarType::Half: return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
    case ScalarType::BFloat16: return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
    default: return static_cast<double>(value);
  }
}

// The space between neighbouring numbers of the dtype at `value`.
int64_t spacing(int64_t value, ScalarType dtype) {
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : 0;
  return int64_t{1} << (exponent - digits_of(dtype) + 1);
}

// A floating dtype rounds large bounds: they move inside, so that no result lies outside the range asked for.
int64_t lower_bound_inside(int64_t low, ScalarType dtype) {
  if (digits_of(dtype) == 0 || low == std::numeric_limits<int64_t>::max()) return low;
  const double next = as_dtype(low + 1, dtype);
  return next < static_cast<double>(low) ? static_cast<int64_t>(next + static_cast<double>(spacing(low + 1, dtype))) : low;
}
int64_t upper_bound_inside(int64_t high, ScalarType dtype) {
  if (digits_of(dtype) == 0) return high;
  const double before = as_dtype(high - 1, dtype);
  return before >= static_cast<double>(high) ? static_cast<int64_t>(before - static_cast<double>(spacing(high - 1, dtype))) : high;
}

bool draws_wide_ranges(ScalarType dtype) {
  return dtype == ScalarType::Long || dtype == ScalarType::Double || dtype == ScalarType::Float || dtype == ScalarType::BFloat16;
}

void fill(const Tensor& self, const random::IntegerRange& of, const std::optional<Generator>& generator) {
  Draws draws(generator);
  const auto base = static_cast<uint64_t>(of.base);
  if (of.range == 0) {
    fill_each_in_memory_order<int64_t>(self, [&] { return static_cast<int64_t>(draws.word64()); });
  } else if (of.wide) {
    fill_each_in_memory_order<int64_t>(self, [&] { return static_cast<int64_t>(draws.word64() % of.range + base); });
  } else {
    fill_each_in_memory_order<int64_t>(self, [&] { return static_cast<int64_t>(draws.word() % of.range + base); });
  }
}

void check_bound(int64_t value, const char* name, ScalarType dtype) {
  const Range range = range_of(dtype);
  const double most = dtype == ScalarType::Half ? 65504.0 : std::numeric_limits<double>::infinity();
  if (digits_of(dtype) > 0) {
    TORCH_CHECK(std::fabs(static_cast<double>(value)) <= most, name, " is out of bounds for ", dtype);
  } else {
    TORCH_CHECK(value >= range.least && value <= range.most, name, " is out of bounds for ", dtype);
  }
}

}  // namespace

Tensor& random_meta_(Tensor& self, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isBarebonesUnsignedType(self.scalar_type()), "\"random_\" not implemented for '",
                              self.scalar_type(), "'");
  range_of(self.scalar_type());
  random::check_target("random_", self);
  return self;
}

Tensor& random_cpu_(Tensor& self, std::optional<Generator> generator) {
  random_meta_(self, std::nullopt);
  fill(self, random::integer_range(self), generator);
  return self;
}

namespace {
// The interval [low, high) that random_ draws from; without `high` there is none above.
struct Bounds {
  int64_t low;
  std::optional<int64_t> high;
};
Bounds checked_bounds(const Tensor& self, int64_t from, std::optional<int64_t> to) {
  const ScalarType dtype = self.scalar_type();
  range_of(dtype);
  random::check_target("random_", self);
  if (to.has_value()) {
    TORCH_CHECK(from < *to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", *to);
    check_bound(from, "from", dtype);
    check_bound(*to - 1, "to - 1", dtype);
    const int64_t low = lower_bound_inside(from, dtype), high = upper_bound_inside(*to, dtype);
    TORCH_CHECK(low < high, "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from=", low,
                " >= to=", high);
    return {low, high};
  }
  check_bound(from, "from", dtype);
  return {lower_bound_inside(from, dtype), std::nullopt};
}
}  // namespace

random::IntegerRange random::integer_range(const Tensor& self) {
  const ScalarType dtype = self.scalar_type();
  return {static_cast<uint64_t>(range_of(dtype).most) + 1, 0, dtype == ScalarType::Long || dtype == ScalarType::Double};
}

random::IntegerRange random::integer_range(const Tensor& self, int64_t from, std::optional<int64_t> to) {
  const auto [low, high] = checked_bounds(self, from, to);
  const ScalarType dtype = self.scalar_type();
  // One behind the largest; that of int64 may be 2^63, and the whole range 2^64.
  const uint64_t end =
      high.has_value() ? static_cast<uint64_t>(*high) : static_cast<uint64_t>(range_of(dtype).most) + 1;
  const uint64_t range = end - static_cast<uint64_t>(low);
  if (range == 0) return {0, 0, true};
  return {range, low, range >= uint64_t{1} << 32 && draws_wide_ranges(dtype)};
}

Tensor& random_from_meta_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> generator) {
  checked_bounds(self, from, to);
  return self;
}

Tensor& random_from_cpu_(Tensor& self, int64_t from, std::optional<int64_t> to, std::optional<Generator> generator) {
  fill(self, random::integer_range(self, from, to), generator);
  return self;
}
Tensor& random_to(Tensor& self, int64_t to, std::optional<Generator> generator) {
  return at::random_(self, 0, to, std::move(generator));
}

// --- factories ---

Tensor rand_generator(IntArrayRef size, std::optional<Generator> generator, TensorOptions options) {
  Tensor result = at::empty(size, options);
  return fresh(at::uniform_(result, 0, 1, std::move(generator)));
}
Tensor rand(IntArrayRef size, TensorOptions options) { return rand_generator(size, std::nullopt, options); }
Tensor& rand_generator_out(IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return at::uniform_(random::sized("rand", size, out), 0, 1, std::move(generator));
}
Tensor& rand_out(IntArrayRef size, Tensor& out) {
  return rand_generator_out(size, std::nullopt, out);
}
Tensor rand_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::uniform_(result));
}
Tensor randn_generator(IntArrayRef size, std::optional<Generator> generator, TensorOptions options) {
  Tensor result = at::empty(size, options);
  return fresh(at::normal_(result, 0, 1, std::move(generator)));
}
Tensor randn(IntArrayRef size, TensorOptions options) { return randn_generator(size, std::nullopt, options); }
Tensor& randn_generator_out(IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return at::normal_(random::sized("randn", size, out), 0, 1, std::move(generator));
}
Tensor& randn_out(IntArrayRef size, Tensor& out) {
  return randn_generator_out(size, std::nullopt, out);
}
Tensor randn_like(const Tensor& self, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::normal_(result));
}

Tensor randint_low_generator(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> generator,
                             TensorOptions options) {
  Tensor result = at::empty(size, options.has_dtype() ? options : options.dtype(ScalarType::Long));
  return fresh(at::random_(result, low, high, std::move(generator)));
}
Tensor randint_low(int64_t low, int64_t high, IntArrayRef size, TensorOptions options) {
  return randint_low_generator(low, high, size, std::nullopt, options);
}
Tensor randint(int64_t high, IntArrayRef size, TensorOptions options) {
  return randint_low_generator(0, high, size, std::nullopt, options);
}
Tensor randint_generator(int64_t high, IntArrayRef size, std::optional<Generator> generator, TensorOptions options) {
  return randint_low_generator(0, high, size, std::move(generator), options);
}
Tensor& randint_low_generator_out(int64_t low, int64_t high, IntArrayRef size, std::optional<Generator> generator,
                                  Tensor& out) {
  return at::random_(random::sized("randint", size, out), low, high, std::move(generator));
}
Tensor& randint_low_out(int64_t low, int64_t high, IntArrayRef size, Tensor& out) {
  return randint_low_generator_out(low, high, size, std::nullopt, out);
}
Tensor& randint_out(int64_t high, IntArrayRef size, Tensor& out) {
  return randint_low_generator_out(0, high, size, std::nullopt, out);
}
Tensor& randint_generator_out(int64_t high, IntArrayRef size, std::optional<Generator> generator, Tensor& out) {
  return randint_low_generator_out(0, high, size, std::move(generator), out);
}
Tensor randint_like_low(const Tensor& self, int64_t low, int64_t high, TensorOptions options,
                        std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::random_(result, low, high));
}
Tensor randint_like(const Tensor& self, int64_t high, TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return randint_like_low(self, 0, high, options, memory_format);
}

Tensor rand_like_generator(const Tensor& self, std::optional<Generator> generator, TensorOptions options,
                           std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::uniform_(result, 0, 1, std::move(generator)));
}
Tensor randn_like_generator(const Tensor& self, std::optional<Generator> generator, TensorOptions options,
                            std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::normal_(result, 0, 1, std::move(generator)));
}
Tensor randint_like_low_generator(const Tensor& self, int64_t low, int64_t high, std::optional<Generator> generator,
                                  TensorOptions options, std::optional<MemoryFormat> memory_format) {
  Tensor result = at::empty_like(self, options, memory_format);
  return fresh(at::random_(result, low, high, std::move(generator)));
}
Tensor randint_like_generator(const Tensor& self, int64_t high, std::optional<Generator> generator,
                              TensorOptions options, std::optional<MemoryFormat> memory_format) {
  return randint_like_low_generator(self, 0, high, std::move(generator), options, memory_format);
}
Tensor randint_like_tensor_generator(const Tensor& self, const Tensor& high, std::optional<Generator> generator,
                                     TensorOptions options, std::optional<MemoryFormat> memory_format) {
  TORCH_CHECK(high.numel() == 1 && high.dim() == 0 && high.is_cpu(),
              "high must be a scalar tensor and on CPU, but got sizes ", high.sizes(), " on ", high.device());
  return randint_like_low_generator(self, 0, at::item(high).toLong(), std::move(generator), options, memory_format);
}
Tensor randint_like_tensor(const Tensor& self, const Tensor& high, TensorOptions options,
                           std::optional<MemoryFormat> memory_format) {
  return randint_like_tensor_generator(self, high, std::nullopt, options, memory_format);
}

TensorSpec randperm_meta(int64_t n, std::optional<Generator> generator, TensorOptions options) {
  TORCH_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": [", n, "]");
  const ScalarType dtype = options.has_dtype() ? options.scalar_type() : ScalarType::Long;
  const int digits = digits_of(dtype);
  const Range range = range_of(dtype);
  TORCH_CHECK(n <= (digits > 0 ? (int64_t{1} << digits) + 1 : range.most), "n is too large for result tensor type: '", dtype, "'");
  return {DimVector{n}, {}, dtype, options.device()};
}

void randperm_cpu(int64_t n, std::optional<Generator> generator, TensorOptions options, Tensor& out) {
  const Tensor order = empty_contiguous({n}, ScalarType::Long);
  int64_t* a = order.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) a[i] = i;
  {
    Draws draws(generator);
    for (int64_t i = 0; i + 1 < n; ++i) std::swap(a[i], a[i + static_cast<int64_t>(draws.word() % static_cast<uint64_t>(n - i))]);
  }
  at::copy_(out, order);
}
Tensor randperm(int64_t n, TensorOptions options) { return at::randperm(n, std::nullopt, options); }

}  // namespace at::native
