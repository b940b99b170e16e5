#include "aten/ops/index/indexing.h"

#include <cstring>

#include "aten/cpu/index/index.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/support/strides.h"

namespace at::native {
namespace {

// The first element outside [low, high), through `value`.
bool out_of_range(const Tensor& given, int64_t low, int64_t high, int64_t& value) {
  const Tensor index = aligned(given);
  cpu::StridedDims<1> dims;
  for (int64_t d = index.dim() - 1; d >= 0; --d) dims.push(index.sizes()[d], {index.strides()[d]});
  dims.normalize();
  const auto* data = static_cast<const int64_t*>(index.const_data_ptr());
  if (dims.ndim == 0) {
    value = *data;
    return value < low || value >= high;
  }
  cpu::StridedWalk<1> walk(dims, 1);
  const int64_t n = dims.sizes[0], stride = dims.strides[0][0];
  for (int64_t i = n == 0 ? 0 : walk.total(); i > 0; --i, walk.next()) {
    const int64_t bad = cpu::find_out_of_range(data + walk.offset[0], n, stride, low, high);
    if (bad >= 0) {
      value = data[walk.offset[0] + bad * stride];
      return true;
    }
  }
  return false;
}

}  // namespace

Tensor dense_index(const char* op, const Tensor& index) {
  TORCH_CHECK_INDEX(
      index.scalar_type() == ScalarType::Long || index.scalar_type() == ScalarType::Int, op,
      "(): Expected dtype int32/int64 for index, but got ", toString(index.scalar_type()));
  return dense(index, ScalarType::Long);
}

void check_index_range(const Tensor& index, int64_t dim, int64_t size, bool negative) {
  int64_t value = 0;
  if (index.is_cpu() && index.numel() > 0 && out_of_range(index, negative ? -size : 0, size, value)) {
    TORCH_CHECK_INDEX(false, "index ", value, " is out of bounds for dimension ", dim, " with size ", size);
  }
}

std::optional<int64_t> index_outside(const Tensor& index, int64_t size) {
  int64_t value = 0;
  if (index.is_cpu() && index.numel() > 0 && out_of_range(index, 0, size, value)) return value;
  return std::nullopt;
}

void check_index_in_self(const Tensor& index, int64_t size) {
  int64_t value = 0;
  if (index.is_cpu() && index.numel() > 0 && out_of_range(index, 0, size, value)) {
    TORCH_CHECK_INDEX(false, "index out of range in self");
  }
}

ScalarBytes scalar_bytes(const Scalar& value, ScalarType type) {
  ScalarBytes result{};
  pointwise::store_element(value, type, result.bytes);
  return result;
}

Tensor apart_from(const Tensor& self, const Tensor& other) {
  return other.is_alias_of(self) ? at::clone(other, MemoryFormat::Contiguous) : other;
}

}  // namespace at::native
