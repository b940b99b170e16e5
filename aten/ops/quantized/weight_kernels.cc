// Products with weights that are stored as signed bytes or as halves, and recurrent cells made of them.
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/matrix/integer.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/quantized/quantized_parts.h"
#include "c10/util/safe_numerics.h"

namespace at::native {
namespace {

void check_matrix(const char* op, const char* name, const Tensor& t, ScalarType dtype) {
  TORCH_CHECK(t.dim() == 2 && t.scalar_type() == dtype, op, ": expected ", name, " of 2 dimensions and dtype ", dtype,
              ", but got ", t.dim(), " and ", t.scalar_type());
}

void check_input(const char* op, const Tensor& input, int64_t columns) {
  TORCH_CHECK(input.scalar_type() == kFloat, op, ": expected an input of dtype Float, but got ", input.scalar_type());
  TORCH_CHECK(input.dim() >= 2 && input.size(-1) == columns, op, ": expected an input [..., ", columns,
              "] of at least 2 dimensions, as the weight asks for, but got ", input.sizes());
}

void check_bias(const char* op, const Tensor& bias, int64_t channels) {
  TORCH_CHECK(bias.scalar_type() == kFloat && bias.dim() == 1 && bias.size(0) == channels, op,
              ": expected a bias of dtype Float with ", channels, " elements, but got ", bias.toString(), " of size ",
              bias.sizes());
}

}  // namespace

// --- signed bytes ---
std::tuple<Tensor, Tensor, double, int64_t> fbgemm_linear_quantize_weight(const Tensor& input) {
  const char* const op = "fbgemm_linear_quantize_weight";
  check_matrix(op, "a weight", input, kFloat);
  const auto [least, most] = quantized::extremes(input);
  const auto chosen = quantized::choose_parameters(least, most, {-128, 127}, false, true);
  const Tensor q = quantized::integers(
      op, quantized::quantize(op, dense(input), kQInt8, quantized::per_tensor(chosen.scale, chosen.zero_point)));
  const Tensor sums = at::sub(at::sum(q, IntArrayRef{1}, false, kLong), Scalar(chosen.zero_point * input.size(1)));
  return {q, at::to(sums, kInt), chosen.scale, chosen.zero_point};
}

// The bytes themselves: products lay them out as the processor likes them.
Tensor fbgemm_pack_quantized_matrix(const Tensor& input) {
  check_matrix("fbgemm_pack_quantized_matrix", "a weight", input, kChar);
  return at::view(at::reshape(at::clone(input, MemoryFormat::Contiguous), {-1}), kByte);
}
Tensor fbgemm_pack_quantized_matrix_kn(const Tensor& input, int64_t K, int64_t N) {
  TORCH_CHECK(K >= 0 && N >= 0 && input.numel() == c10::checked_numel({K, N}),
              "fbgemm_pack_quantized_matrix: expected a weight of ", K, " x ", N, " elements, but got ", input.numel());
  return native::fbgemm_pack_quantized_matrix(input);
}

Tensor fbgemm_linear_int8_weight(const Tensor& input, const Tensor& weight, const Tensor& packed,
                                 const Tensor& col_offsets, const Scalar& weight_scale, const Scalar& weight_zero_point,
                                 const Tensor& bias) {
  const char* const op = "fbgemm_linear_int8_weight";
  check_matrix(op, "a weight", weight, kChar);
  const int64_t channels = weight.size(0), columns = weight.size(1);
  check_input(op, input, columns);
  check_bias(op, bias, channels);
  TORCH_CHECK(packed.scalar_type() == kByte && packed.numel() == weight.numel(), op,
              ": expected a packed weight of fbgemm_pack_quantized_matrix, ", weight.numel(), " bytes, but got ",
              packed.toString(), " of ", packed.numel());
  TORCH_CHECK(col_offsets.numel() == channels, op, ": expected col_offsets of ", channels, " elements, but got ",
              col_offsets.numel());
  const int64_t zero_point = weight_zero_point.toLong();
  TORCH_CHECK(zero_point >= -128 && zero_point <= 127, op, ": expected weight_zero_point within [-128, 127], but got ",
              zero_point);
  const auto [least, most] = quantized::extremes(input);
  const auto chosen = quantized::choose_parameters(least, most, {0, 255}, false, true);
  const Tensor q = quantized::integers(
      op, quantized::quantize(op, dense(input), kQUInt8, quantized::per_tensor(chosen.scale, chosen.zero_point)));
  matrix::Convolution shape;
  shape.dims = 1;
  shape.out_channels = channels;
  shape.in_channels = columns;
  const Tensor own = dense(at::view(packed, kChar)), after = dense(bias);
  const matrix::IntegerWeights weights(shape,
                                       std::shared_ptr<const int8_t>(own.data_ptr<int8_t>(), [own](const int8_t*) {}),
                                       {static_cast<int32_t>(zero_point)});
  DimVector sizes(input.sizes().begin(), input.sizes().end());
  sizes.back() = channels;
  const Tensor result = empty_contiguous(sizes, kFloat);
  const std::vector<float> factors(static_cast<size_t>(channels),
                                   static_cast<float>(chosen.scale) * weight_scale.toFloat());
  matrix::IntegerResult to;
  to.to = matrix::IntegerResult::To::kNumbers;
  to.data = result.data_ptr<float>();
  to.factor = factors.data();
  to.after = after.const_data_ptr<float>();
  weights.multiply(c10::multiply_integers(input.sizes().slice(0, input.sizes().size() - 1)),
                   q.const_data_ptr<uint8_t>(), static_cast<int32_t>(chosen.zero_point), to);
  return fresh(result);
}

// --- halves: a row's bytes ---
Tensor fbgemm_pack_gemm_matrix_fp16(const Tensor& input) {
  check_matrix("fbgemm_pack_gemm_matrix_fp16", "a weight", input, kFloat);
  return at::view(dense(at::to(at::clamp(input, Scalar(-65504.0), Scalar(65504.0)), kHalf)), kByte);
}
Tensor fbgemm_linear_fp16_weight_fp32_activation(const Tensor& input, const Tensor& packed_weight,
                                                 const std::optional<Tensor>& bias) {
  const char* const op = "fbgemm_linear_fp16_weight";
  check_matrix(op, "a packed weight of fbgemm_pack_gemm_matrix_fp16", packed_weight, kByte);
  TORCH_CHECK(packed_weight.size(1) % 2 == 0, op, ": expected rows of halves, but got rows of ", packed_weight.size(1),
              " bytes");
  const Tensor weight = at::to(at::view(dense(packed_weight), kHalf), kFloat);
  check_input(op, input, weight.size(1));
  const Tensor product = at::matmul(input, at::t(weight));
  if (!bias.has_value() || !bias->defined()) return product;
  check_bias(op, *bias, weight.size(0));
  return at::add(product, *bias);
}
Tensor fbgemm_linear_fp16_weight(const Tensor& input, const Tensor& packed_weight, const Tensor& bias) {
  return native::fbgemm_linear_fp16_weight_fp32_activation(input, packed_weight, bias);
}

// --- cells ---
namespace {

struct Weights {
  const Tensor &of_input, &of_hidden, &bias_input, &bias_hidden, &packed_input, &packed_hidden, &offsets_input,
      &offsets_hidden;
  const Scalar &scale_input, &scale_hidden, &zero_input, &zero_hidden;

  Tensor from_input(const Tensor& x) const {
    return at::fbgemm_linear_int8_weight_fp32_activation(x, of_input, packed_input, offsets_input, scale_input,
                                                         zero_input, bias_input);
  }
  Tensor from_hidden(const Tensor& x) const {
    return at::fbgemm_linear_int8_weight_fp32_activation(x, of_hidden, packed_hidden, offsets_hidden, scale_hidden,
                                                         zero_hidden, bias_hidden);
  }
};

std::vector<Tensor> parts_of(const char* op, const Tensor& gates, int64_t count) {
  TORCH_CHECK(gates.size(1) % count == 0, op, ": expected weights of ", count, " gates, but they have ", gates.size(1),
              " rows");
  return at::chunk(gates, count, 1);
}

}  // namespace

#define CELL_WEIGHTS                                                                                                 \
  Weights {                                                                                                          \
    w_ih, w_hh, b_ih, b_hh, packed_ih, packed_hh, col_offsets_ih, col_offsets_hh, scale_ih, scale_hh, zero_point_ih, \
        zero_point_hh                                                                                                \
  }
#define CELL_ARGUMENTS                                                                                             \
  const Tensor &w_ih, const Tensor &w_hh, const Tensor &b_ih, const Tensor &b_hh, const Tensor &packed_ih,         \
      const Tensor &packed_hh, const Tensor &col_offsets_ih, const Tensor &col_offsets_hh, const Scalar &scale_ih, \
      const Scalar &scale_hh, const Scalar &zero_point_ih, const Scalar &zero_point_hh

std::tuple<Tensor, Tensor> quantized_lstm_cell(const Tensor& input, TensorList hx, CELL_ARGUMENTS) {
  TORCH_CHECK(hx.size() == 2, "quantized_lstm_cell: expected two hidden states, but got ", hx.size());
  const Weights w = CELL_WEIGHTS;
  const std::vector<Tensor> parts =
      parts_of("quantized_lstm_cell", at::add(w.from_input(input), w.from_hidden(hx[0])), 4);
  const Tensor cell =
      at::add(at::mul(at::sigmoid(parts[1]), hx[1]), at::mul(at::sigmoid(parts[0]), at::tanh(parts[2])));
  return {at::mul(at::sigmoid(parts[3]), at::tanh(cell)), cell};
}
Tensor quantized_gru_cell(const Tensor& input, const Tensor& hx, CELL_ARGUMENTS) {
  const Weights w = CELL_WEIGHTS;
  const std::vector<Tensor> of_input = parts_of("quantized_gru_cell", w.from_input(input), 3),
                            of_hidden = parts_of("quantized_gru_cell", w.from_hidden(hx), 3);
  const Tensor reset = at::sigmoid(at::add(of_input[0], of_hidden[0])),
               update = at::sigmoid(at::add(of_input[1], of_hidden[1])),
               fresh_part = at::tanh(at::add(of_input[2], at::mul(of_hidden[2], reset)));
  return at::add(at::mul(at::sub(hx, fresh_part), update), fresh_part);
}
Tensor quantized_rnn_relu_cell(const Tensor& input, const Tensor& hx, CELL_ARGUMENTS) {
  const Weights w = CELL_WEIGHTS;
  return at::clamp_min(at::add(w.from_hidden(hx), w.from_input(input)), Scalar(0));
}
Tensor quantized_rnn_tanh_cell(const Tensor& input, const Tensor& hx, CELL_ARGUMENTS) {
  const Weights w = CELL_WEIGHTS;
  return at::tanh(at::add(w.from_hidden(hx), w.from_input(input)));
}
#undef CELL_WEIGHTS
#undef CELL_ARGUMENTS

}  // namespace at::native
