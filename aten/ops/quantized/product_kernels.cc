// Products of integers, of 8-bit floats, and of numbers with weights that are stored as integers.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/matrix/integer.h"
#include "aten/cpu/matrix/packed.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

void check_matrices(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "mat1 must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(self.size(1) == mat2.size(0), "mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x",
              self.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
}

TensorSpec matrix_spec(int64_t rows, int64_t cols, ScalarType dtype, Device device) {
  TensorSpec spec;
  spec.sizes = {rows, cols};
  spec.dtype = dtype;
  spec.device = device;
  return spec;
}

Tensor as_float(const Tensor& t) {
  return at::to(t, kFloat);
}

// --- scaled products ---
bool is_float8(ScalarType dtype) {
  return dtype == ScalarType::Float8_e4m3fn || dtype == ScalarType::Float8_e5m2;
}

// One scale for the whole matrix, or one a row (of the first) or a column (of the second).
void check_scale(const char* op, const char* name, const Tensor& scale, int64_t lines) {
  TORCH_CHECK(scale.scalar_type() == kFloat, op, ": expected ", name, " of dtype Float, but got ", scale.scalar_type());
  TORCH_CHECK(scale.numel() == 1 || scale.numel() == lines, op, ": expected ", name, " with 1 element or ", lines,
              ", but got ", scale.numel());
}

TensorSpec scaled_spec(const char* op, const Tensor& self, const Tensor& mat2, const Tensor& scale_a,
                       const Tensor& scale_b, const std::optional<Tensor>& bias, std::optional<ScalarType> out_dtype) {
  check_matrices(self, mat2);
  TORCH_CHECK(is_float8(self.scalar_type()) && is_float8(mat2.scalar_type()), op,
              ": expected matrices of dtype Float8_e4m3fn or Float8_e5m2, but got ", self.scalar_type(), " and ",
              mat2.scalar_type());
  check_scale(op, "scale_a", scale_a, self.size(0));
  check_scale(op, "scale_b", scale_b, mat2.size(1));
  if (bias.has_value() && bias->defined()) {
    TORCH_CHECK(bias->numel() == mat2.size(1), "Bias must be size ", mat2.size(1), " but got ", bias->numel());
    TORCH_CHECK(bias->is_floating_point(), op, ": expected a floating-point bias, but got ", bias->scalar_type());
  }
  const ScalarType dtype = out_dtype.value_or(self.scalar_type());
  TORCH_CHECK(dtype == kFloat || dtype == kBFloat16 || dtype == kHalf || is_float8(dtype), op,
              ": expected out_dtype to be Float, Half, BFloat16 or a Float8 type, but got ", dtype);
  return matrix_spec(self.size(0), mat2.size(1), dtype, self.device());
}

void scaled_product(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                    const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result, Tensor& out) {
  Tensor product = at::mm(as_float(self), as_float(mat2));
  product =
      at::mul(product, scale_a.numel() == 1 ? at::reshape(scale_a, IntArrayRef()) : at::reshape(scale_a, {-1, 1}));
  product = at::mul(product, scale_b.numel() == 1 ? at::reshape(scale_b, IntArrayRef()) : at::reshape(scale_b, {-1}));
  if (bias.has_value() && bias->defined()) product = at::add(product, as_float(at::reshape(*bias, {-1})));
  if (scale_result.has_value() && scale_result->defined() && is_float8(out.scalar_type())) {
    product = at::mul(product, at::reshape(as_float(*scale_result), IntArrayRef()));
  }
  at::copy_(out, product);
}

// A recipe's only scale.
const Tensor& single_scale(const char* op, const char* name, TensorList scales, IntArrayRef recipe) {
  TORCH_CHECK(scales.size() == 1 && recipe.size() == 1, op, ": expected one scale and one recipe for ", name,
              ", but got ", scales.size(), " and ", recipe.size());
  constexpr int64_t kTensorWise = 0, kRowWise = 1;
  TORCH_CHECK_NOT_IMPLEMENTED(recipe[0] == kTensorWise || recipe[0] == kRowWise, op, ": recipe ", recipe[0],
                              " is not implemented on the CPU, only one scale a matrix (0) or a row (1)");
  return scales[0];
}

// --- weights of 4 bits ---
// Two columns in a byte, the even one in the low half.
uint8_t nibble(const uint8_t* row, int64_t column) {
  return static_cast<uint8_t>(row[column / 2] >> (column % 2 * 4)) & 15;
}

// self * weight^T in float32. write(first, last, to) gives rows of the weight, a few at a time: the caches hold them.
template <class Write>
Tensor weight_only_product(const Tensor& self, int64_t rows, const Write& write) {
  constexpr int64_t kRows = 64, kWorthACopy = 8;
  const Tensor x = dense(self, kFloat);
  const int64_t count = x.size(0), depth = x.size(1);
  const Tensor turned = empty_contiguous({rows, count}, kFloat);
  if (turned.numel() == 0) return at::t(turned);
  const matrix::Operand right{x.const_data_ptr(), 1, depth};
  std::optional<matrix::PackedMatrix> packed;
  if (count >= kWorthACopy && depth > 0) packed.emplace(matrix::Type::kFloat32, count, depth, right);
  at::parallel_for(0, at::divup(rows, kRows), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> weight(static_cast<size_t>(std::min(rows, kRows) * depth));
    for (int64_t first = begin * kRows; first < std::min(rows, end * kRows); first += kRows) {
      const int64_t last = std::min(rows, first + kRows);
      write(first, last, weight.data());
      float* const to = turned.data_ptr<float>() + first * count;
      if (packed.has_value()) {
        packed->multiply(last - first, {weight.data(), depth}, to, count, nullptr, 0);
        continue;
      }
      matrix::Gemm g;
      g.m = last - first, g.n = count, g.k = depth;
      g.a = {weight.data(), depth, 1};
      g.b = right;
      g.c = to;
      g.c_row = count;
      matrix::gemm(g);
    }
  });
  return at::t(turned);
}

// Offsets that end the groups, which never go back.
std::vector<int64_t> group_ends(const Tensor& offs, int64_t groups, int64_t last) {
  TORCH_CHECK(offs.dim() == 1 && offs.scalar_type() == kInt, "_grouped_mm: offs must be a 1D tensor of dtype int32");
  TORCH_CHECK(groups < 0 || offs.numel() == groups, "_grouped_mm: matrix batch sizes have to match, got ", groups,
              " matrices and ", offs.numel(), " offsets");
  // Sizes of results do not depend on where they are: on meta all elements belong to no group.
  if (offs.is_meta()) return std::vector<int64_t>(static_cast<size_t>(offs.numel()));
  const Tensor ends = dense(at::to(offs, Device(DeviceType::CPU), kLong));
  std::vector<int64_t> all(ends.data_ptr<int64_t>(), ends.data_ptr<int64_t>() + ends.numel());
  int64_t before = 0;
  for (const int64_t end : all) {
    TORCH_CHECK(end >= before && end <= last, "_grouped_mm: offs must not decrease and lie within [0, ", last,
                "], but got ", end, " after ", before);
    before = end;
  }
  return all;
}

}  // namespace

// --- integers ---
TensorSpec _int_mm_meta(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "Expected self to be of dimension 2 but got ", self.dim());
  TORCH_CHECK(mat2.dim() == 2, "Expected mat2 to be of dimension 2 but got ", mat2.dim());
  TORCH_CHECK(self.size(1) == mat2.size(0), "self.size(1) needs to match mat2.size(0) but got ", self.size(1), " and ",
              mat2.size(0));
  TORCH_CHECK(self.scalar_type() == kChar, "Expected self dtype to be of type int8 but got ", self.scalar_type());
  TORCH_CHECK(mat2.scalar_type() == kChar, "Expected mat2 dtype to be of type int8 but got ", mat2.scalar_type());
  return matrix_spec(self.size(0), mat2.size(1), kInt, self.device());
}

void _int_mm_cpu(const Tensor& self, const Tensor& mat2, Tensor& out) {
  const int64_t rows = self.size(0), depth = self.size(1);
  DenseOut to(out);
  if (matrix::multiply_signed_bytes(rows, mat2.size(1), depth, {self.const_data_ptr(), self.stride(0), self.stride(1)},
                                    {mat2.const_data_ptr(), mat2.stride(0), mat2.stride(1)}, to.data<int32_t>())) {
    return to.commit();
  }
  const Tensor from = dense(self), weight = dense(at::t(mat2));
  // The first factor as bytes around 128.
  const Tensor bytes = empty_contiguous(from.sizes(), kByte);
  const auto* const signed_bytes = reinterpret_cast<const uint8_t*>(from.data_ptr<int8_t>());
  uint8_t* const shifted = bytes.data_ptr<uint8_t>();
  at::parallel_for(0, from.numel(), 8 * at::internal::GRAIN_SIZE, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) shifted[i] = signed_bytes[i] ^ 0x80;
  });
  matrix::Convolution shape;
  shape.dims = 1;
  shape.in_channels = depth;
  shape.out_channels = mat2.size(1);
  const matrix::IntegerWeights weights(
      shape, std::shared_ptr<const int8_t>(weight.data_ptr<int8_t>(), [](const int8_t*) {}), {0});
  matrix::IntegerResult result;
  result.data = to.data<int32_t>();
  weights.multiply(rows, shifted, 128, result);
  to.commit();
}

TensorSpec _weight_int8pack_mm_meta(const Tensor& self, const Tensor& mat2, const Tensor& scales) {
  TORCH_CHECK(self.dim() == 2, "_weight_int8pack_mm: expect A to be 2D tensor.");
  TORCH_CHECK(self.scalar_type() == kBFloat16 || self.scalar_type() == kHalf || self.scalar_type() == kFloat,
              "_weight_int8pack_mm: expect A to be either 32-bit or 16-bit float tensor.");
  TORCH_CHECK(mat2.dim() == 2 && mat2.scalar_type() == kChar, "_weight_int8pack_mm: expect B to be int8 tensor.");
  TORCH_CHECK(mat2.size(1) == self.size(1), "_weight_int8pack_mm: expect B.size(1) == ", self.size(1));
  TORCH_CHECK(scales.dim() == 1 && scales.size(0) == mat2.size(0),
              "_weight_int8pack_mm: expect scales to be 1d tensor with size ", mat2.size(0));
  TORCH_CHECK(scales.is_floating_point(), "_weight_int8pack_mm: expect floating-point scales, but got ",
              scales.scalar_type());
  return matrix_spec(self.size(0), mat2.size(0), self.scalar_type(), self.device());
}
void _weight_int8pack_mm_cpu(const Tensor& self, const Tensor& mat2, const Tensor& scales, Tensor& out) {
  const Tensor weight = dense(mat2);
  const int64_t depth = weight.size(1);
  const int8_t* const from = weight.data_ptr<int8_t>();
  const cpu::Conversion to_float = cpu::find_conversion(kFloat, kChar);
  const Tensor product = weight_only_product(self, weight.size(0), [&](int64_t first, int64_t last, float* to) {
    cpu::convert(to_float, to, from + first * depth, (last - first) * depth);
  });
  at::copy_(out, at::mul(product, as_float(scales)));
}

TensorSpec _convert_weight_to_int4pack_for_cpu_meta(const Tensor& self, int64_t innerKTiles) {
  TORCH_CHECK(self.dim() == 2, "_convert_weight_to_int4pack_for_cpu: expect weight to be 2D tensor.");
  TORCH_CHECK(self.scalar_type() == kInt, "_convert_weight_to_int4pack_for_cpu: expect weight to be kInt.");
  TORCH_CHECK(self.size(1) % 2 == 0, "_convert_weight_to_int4pack_for_cpu: expect k to be even, but got ",
              self.size(1));
  TORCH_CHECK(innerKTiles > 0, "_convert_weight_to_int4pack_for_cpu: innerKTiles must be positive, but got ",
              innerKTiles);
  return matrix_spec(self.size(0), self.size(1) / 2, kByte, self.device());
}
void _convert_weight_to_int4pack_for_cpu_cpu(const Tensor& self, int64_t, Tensor& out) {
  const Tensor weight = dense(self);
  const int32_t* const from = weight.data_ptr<int32_t>();
  DenseOut packed(out);
  uint8_t* const to = packed.data<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    to[i] = static_cast<uint8_t>((from[2 * i] & 15) | (from[2 * i + 1] & 15) << 4);
  }
  packed.commit();
}

TensorSpec _weight_int4pack_mm_for_cpu_meta(const Tensor& self, const Tensor& mat2, int64_t qGroupSize,
                                            const Tensor& qScaleAndZeros) {
  const char* const op = "_weight_int4pack_mm_for_cpu";
  TORCH_CHECK(self.dim() == 2, op, " : expect A to be 2D tensor.");
  TORCH_CHECK(self.scalar_type() == kBFloat16 || self.scalar_type() == kHalf || self.scalar_type() == kFloat, op,
              " : expect A to be either 32-bit or 16-bit float tensor.");
  TORCH_CHECK(mat2.scalar_type() == kByte && mat2.dim() == 2, op, " : expect B to be uint8 tensor of 2 dimensions.");
  TORCH_CHECK(mat2.size(1) * 2 == self.size(1), op, " : expect B.size(1) == ", self.size(1) / 2, ", got ",
              mat2.size(1));
  TORCH_CHECK(qGroupSize == 32 || qGroupSize == 64 || qGroupSize == 128 || qGroupSize == 256, op,
              ": expect qGroupSize to be 32, 64, 128 or 256, got ", qGroupSize);
  TORCH_CHECK(self.size(1) % qGroupSize == 0, op, ": expect K to be a multiple of qGroupSize, but got ", self.size(1),
              " and ", qGroupSize);
  TORCH_CHECK(qScaleAndZeros.dim() == 3 && qScaleAndZeros.size(0) == self.size(1) / qGroupSize &&
                  qScaleAndZeros.size(1) == mat2.size(0) && qScaleAndZeros.size(2) == 2,
              op, ": expect qScaleAndZeros to be 3d tensor with sizes [", self.size(1) / qGroupSize, ", ", mat2.size(0),
              ", 2]");
  TORCH_CHECK(qScaleAndZeros.is_floating_point(), op, ": expect floating-point qScaleAndZeros, but got ",
              qScaleAndZeros.scalar_type());
  return matrix_spec(self.size(0), mat2.size(0), self.scalar_type(), self.device());
}
void _weight_int4pack_mm_for_cpu_cpu(const Tensor& self, const Tensor& mat2, int64_t qGroupSize,
                                     const Tensor& qScaleAndZeros, Tensor& out) {
  const int64_t rows = mat2.size(0), depth = self.size(1);
  const Tensor packed = dense(mat2), parameters = dense(qScaleAndZeros, kFloat);
  const uint8_t* const from = packed.data_ptr<uint8_t>();
  const float* const scales = parameters.data_ptr<float>();
  at::copy_(out, weight_only_product(self, rows, [&](int64_t first, int64_t last, float* to) {
    for (int64_t n = first; n < last; ++n) {
      for (int64_t k = 0; k < depth; ++k) {
        const float* const own = scales + (k / qGroupSize * rows + n) * 2;
        *to++ = static_cast<float>(nibble(from + n * (depth / 2), k) - 8) * own[0] + own[1];
      }
    }
  }));
}

// --- floats of 8 bits ---
TensorSpec _scaled_mm_meta(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                           const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                           std::optional<ScalarType> out_dtype, bool) {
  TORCH_CHECK(!scale_result.has_value() || !scale_result->defined() || scale_result->numel() == 1,
              "_scaled_mm: expected scale_result with 1 element");
  return scaled_spec("_scaled_mm", self, mat2, scale_a, scale_b, bias, out_dtype);
}
void _scaled_mm_cpu(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                    const std::optional<Tensor>& bias, const std::optional<Tensor>& scale_result,
                    std::optional<ScalarType>, bool, Tensor& out) {
  scaled_product(self, mat2, scale_a, scale_b, bias, scale_result, out);
}

TensorSpec _scaled_mm_v2_meta(const Tensor& self, const Tensor& mat2, TensorList scale_a, IntArrayRef recipe_a,
                              IntArrayRef, TensorList scale_b, IntArrayRef recipe_b, IntArrayRef,
                              const std::optional<Tensor>& bias, std::optional<ScalarType> out_dtype,
                              IntArrayRef contraction_dim, bool) {
  TORCH_CHECK(contraction_dim.empty() || contraction_dim.size() == 2,
              "_scaled_mm_v2: contraction_dim must be empty or "
              "name a dimension of each matrix, but got ",
              contraction_dim);
  TORCH_CHECK_NOT_IMPLEMENTED(contraction_dim.empty() || (contraction_dim[0] == 1 && contraction_dim[1] == 0),
                              "_scaled_mm_v2: contraction_dim ", contraction_dim, " is not implemented, only [1, 0]");
  return scaled_spec("_scaled_mm_v2", self, mat2, single_scale("_scaled_mm_v2", "self", scale_a, recipe_a),
                     single_scale("_scaled_mm_v2", "mat2", scale_b, recipe_b), bias, out_dtype);
}
void _scaled_mm_v2_cpu(const Tensor& self, const Tensor& mat2, TensorList scale_a, IntArrayRef, IntArrayRef,
                       TensorList scale_b, IntArrayRef, IntArrayRef, const std::optional<Tensor>& bias,
                       std::optional<ScalarType>, IntArrayRef, bool, Tensor& out) {
  scaled_product(self, mat2, scale_a[0], scale_b[0], bias, std::nullopt, out);
}

// --- groups ---
Tensor _grouped_mm(const Tensor& self, const Tensor& mat2, const std::optional<Tensor>& offs,
                   const std::optional<Tensor>& bias, std::optional<ScalarType> out_dtype) {
  TORCH_CHECK((self.dim() == 2 || self.dim() == 3) && (mat2.dim() == 2 || mat2.dim() == 3),
              "_grouped_mm: mat_a and mat_b have to be 2 or 3 dimensional tensors, but got ", self.dim(), " and ",
              mat2.dim());
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type() && self.is_floating_point(),
              "_grouped_mm: expected floating-point matrices of one dtype, but got ", self.scalar_type(), " and ",
              mat2.scalar_type());
  TORCH_CHECK(!bias.has_value() || !bias->defined(), "_grouped_mm: Bias not supported yet");
  TORCH_CHECK(!out_dtype.has_value() || *out_dtype == self.scalar_type(),
              "_grouped_mm: Grouped gemm output dtype must match the dtype of mat_a");
  const bool given = offs.has_value() && offs->defined();
  TORCH_CHECK(given == (self.dim() == 2 || mat2.dim() == 2),
              "_grouped_mm: Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
  TORCH_CHECK(
      (self.dim() == 2 && mat2.dim() == 2 ? self.size(1) == mat2.size(0) : self.size(-1) == mat2.size(mat2.dim() - 2)),
      "_grouped_mm: contraction dimension of mat_a and mat_b must match, got ", self.size(-1), " and ",
      mat2.size(mat2.dim() - 2));
  if (!given) return at::bmm(self, mat2);
  const bool rows = self.dim() == 2, cols = mat2.dim() == 2;
  const int64_t groups = rows && cols ? -1 : rows ? mat2.size(0) : self.size(0);
  const std::vector<int64_t> ends = group_ends(*offs, groups,
                                               rows && cols ? self.size(1)
                                               : rows       ? self.size(0)
                                                            : mat2.size(1));
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (size_t g = 0; g < ends.size(); ++g) {
    const int64_t end = ends[g], i = static_cast<int64_t>(g);
    // Groups of the inner dimension, of rows, or of columns.
    if (rows && cols) {
      parts.push_back(at::mm(at::slice(self, 1, begin, end), at::slice(mat2, 0, begin, end)));
    } else if (rows) {
      parts.push_back(at::mm(at::slice(self, 0, begin, end), at::select(mat2, 0, i)));
    } else {
      parts.push_back(at::mm(at::select(self, 0, i), at::slice(mat2, 1, begin, end)));
    }
    begin = end;
  }
  if (rows && cols) {
    return parts.empty() ? at::zeros({0, self.size(0), mat2.size(1)}, self.options()) : at::stack(parts);
  }
  // What stands behind the last group belongs to none.
  if (rows && begin < self.size(0)) parts.push_back(at::zeros({self.size(0) - begin, mat2.size(2)}, self.options()));
  if (!rows && begin < mat2.size(1)) parts.push_back(at::zeros({self.size(1), mat2.size(1) - begin}, self.options()));
  if (parts.empty())
    return at::zeros({rows ? self.size(0) : self.size(1), rows ? mat2.size(2) : mat2.size(1)}, self.options());
  return at::cat(parts, rows ? 0 : 1);
}

}  // namespace at::native
