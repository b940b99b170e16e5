// Elements repeated, each a number of times: the selection of an index as often.
#include <type_traits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

namespace {

void check_repeats(const Tensor& repeats) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK_NOT_IMPLEMENTED(repeats.scalar_type() == ScalarType::Long || repeats.scalar_type() == ScalarType::Int,
                              "repeats has to be Long or Int tensor");
}

}  // namespace

Tensor repeat_interleave_tensor_meta(const Tensor& repeats, std::optional<int64_t> output_size) {
  check_repeats(repeats);
  TORCH_CHECK_NOT_IMPLEMENTED(output_size.has_value(), "cannot repeat_interleave a meta tensor without output_size");
  TORCH_CHECK(*output_size >= 0, "repeat_interleave: output_size ", *output_size, " is negative");
  return empty_contiguous({*output_size}, repeats.scalar_type(), repeats.device());
}

// 0 repeated repeats[0] times, 1 repeated repeats[1] times, ...
Tensor repeat_interleave_tensor(const Tensor& repeats, std::optional<int64_t> output_size) {
  check_repeats(repeats);
  const Tensor counts = dense(at::to(repeats, ScalarType::Long));
  const int64_t* count = counts.data_ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    TORCH_CHECK(count[i] >= 0, "repeats can not be negative");
    TORCH_CHECK(!__builtin_add_overflow(total, count[i], &total), "repeat_interleave: the sum of repeats overflows");
  }
  TORCH_CHECK(!output_size.has_value() || *output_size == total, "repeat_interleave: output_size ",
              output_size.value_or(0), " does not match the sum of repeats ", total);
  Tensor result = empty_contiguous({total}, repeats.scalar_type(), repeats.device());
  const auto write = [&](auto* out) {
    for (int64_t i = 0; i < counts.numel(); ++i) {
      for (int64_t j = 0; j < count[i]; ++j) *out++ = static_cast<std::remove_pointer_t<decltype(out)>>(i);
    }
  };
  if (repeats.scalar_type() == ScalarType::Long) {
    write(result.data_ptr<int64_t>());
  } else {
    write(result.data_ptr<int32_t>());
  }
  return result;
}

Tensor repeat_interleave_self_tensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                     std::optional<int64_t> output_size) {
  const Tensor input = dim.has_value() ? self : at::reshape(self, {-1});
  const int64_t d = maybe_wrap_dim(dim.value_or(0), input.dim());
  const int64_t size = input.dim() == 0 ? 1 : input.size(d);
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1)) {
    counts = at::expand(at::reshape(repeats, {1}), {size});
  } else {
    TORCH_CHECK(repeats.dim() == 1, "repeats must be 0-dim or 1-dim tensor");
    TORCH_CHECK(repeats.size(0) == size, "repeats must have the same size as input along dim, but got repeats.size(0) = ",
                repeats.size(0), " and input.size(", d, ") = ", size);
  }
  return at::index_select(input, d, at::repeat_interleave(counts, output_size));
}

Tensor repeat_interleave_self_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                  std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats >= 0, "Repeats must be non-negative");
  Tensor input = dim.has_value() ? self : at::reshape(self, {-1});
  const int64_t d = maybe_wrap_dim(dim.value_or(0), input.dim());
  if (input.dim() == 0) input = at::reshape(input, {1});
  // Each element becomes a run: a new dimension of size `repeats` after d, merged into it.
  DimVector wide, merged(input.sizes().begin(), input.sizes().end());
  for (int64_t i = 0; i < input.dim(); ++i) {
    wide.push_back(input.sizes()[i]);
    if (i == d) wide.push_back(repeats);
  }
  TORCH_CHECK_VALUE(!__builtin_mul_overflow(merged[d], repeats, &merged[d]), "repeat_interleave: ", repeats,
                    " repeats of size ", input.sizes()[d], " overflow");
  TORCH_CHECK(!output_size.has_value() || *output_size == merged[d], "repeat_interleave: Invalid output_size, expected ",
              merged[d], " but got ", output_size.value_or(0));
  return at::reshape(at::clone(at::expand(at::unsqueeze(input, d + 1), wide), MemoryFormat::Contiguous), merged);
}

}  // namespace at::native
