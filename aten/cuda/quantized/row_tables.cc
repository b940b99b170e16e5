// Tables of quantized rows on CUDA devices. Every step of packing is one operator, so that each is rounded as the CPU's
// loops round it.
#include <cstdint>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/quantized/row_table_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/device_parts.h"
#include "c10/core/device_guard.h"

namespace at::quantized::device {
namespace {

Tensor as_halves(const Tensor& t) {
  return at::to(at::to(t, kHalf), kFloat);
}

}  // namespace

Tensor make_table(const Tensor& integers, const Tensor& scales, const Tensor& least, int bits) {
  const int64_t rows = integers.size(0), columns = integers.size(1), each = 8 / bits;
  const Tensor both[] = {scales, least};
  const Tensor parameters = at::view(at::to(at::stack(both, 1), bits == 8 ? kFloat : kHalf), kByte);
  const Tensor bytes = bits == 8 ? integers : at::reshape(pack(integers, each, bits), {rows, columns / each});
  const Tensor parts[] = {bytes, parameters};
  return at::cat(parts, 1);
}

Tensor table_integers(const Tensor& table, int64_t columns, int bits) {
  const int64_t rows = table.size(0), each = 8 / bits;
  const Tensor bytes = at::narrow(table, 1, 0, columns / each);
  if (bits == 8) return at::clone(bytes, MemoryFormat::Contiguous);
  return unpack(at::reshape(bytes, {rows * (columns / each)}), 0, {rows, columns}, each, bits);
}

Tensor pack_rows(const Tensor& numbers, const Tensor& least_most, int bits) {
  const auto most_integer = static_cast<double>((1 << bits) - 1);
  Tensor least, most, scale, inverse;
  if (least_most.defined()) {
    least = at::select(least_most, 1, 0);
    most = at::select(least_most, 1, 1);
  } else if (numbers.size(1) == 0) {
    least = most = at::zeros({numbers.size(0)}, numbers.options());
  } else {
    least = at::amin(numbers, IntArrayRef{1});
    most = at::amax(numbers, IntArrayRef{1});
  }
  if (bits == 8) {
    const Tensor range = at::sub(most, least);
    scale = at::div(range, Scalar(most_integer));
    inverse = at::div(at::full_like(range, Scalar(most_integer)), at::add(range, Scalar(1e-8f)));
  } else {
    least = as_halves(least);
    scale = as_halves(at::div(at::sub(most, least), Scalar(most_integer)));
    const Tensor one = at::ones_like(scale);
    scale = at::where(at::eq(scale, Scalar(0)), one, scale);
    inverse = at::reciprocal(scale);
    const Tensor without_inverse = at::isinf(inverse);
    scale = at::where(without_inverse, one, scale);
    inverse = at::where(without_inverse, one, inverse);
  }
  const Tensor whole = at::round(at::mul(at::sub(numbers, at::unsqueeze(least, 1)), at::unsqueeze(inverse, 1)));
  const Tensor q = at::to(at::clamp(at::nan_to_num(whole, 0.0), Scalar(0), Scalar(most_integer)), kByte);
  return make_table(q, scale, least, bits);
}

void sums_of_rows(const TableLookup& lookup, const Tensor& out) {
  if (out.numel() == 0) return;
  const c10::DeviceGuard guard(out.device());
  cuda::RowTableCall call{};
  call.table = lookup.table.const_data_ptr<uint8_t>();
  call.bits = lookup.bits;
  call.row_bytes = lookup.table.size(-1);
  call.rows = lookup.table.numel() / call.row_bytes;
  call.columns = out.size(-1);
  if (lookup.indices.defined()) call.indices = lookup.indices.const_data_ptr<int64_t>();
  call.count = lookup.indices.defined() ? lookup.indices.numel() : call.rows;
  if (lookup.offsets.defined()) call.offsets = lookup.offsets.const_data_ptr<int64_t>();
  call.bags = out.numel() / call.columns;
  call.bag = lookup.bag;
  call.last_offset = lookup.last_offset;
  if (lookup.mapping.defined()) {
    call.mapping = lookup.mapping.const_data_ptr<int32_t>();
    call.mapped = lookup.mapping.numel();
  }
  if (lookup.weights.defined()) call.weights = lookup.weights.const_data_ptr<float>();
  call.out = out.data_ptr<float>();
  cuda::launch_sums_of_rows(call);
}

}  // namespace at::quantized::device
