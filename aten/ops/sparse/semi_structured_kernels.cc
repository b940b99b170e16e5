// Matrices with two of four elements: what the products of dense and kept ones are, and the operators of that name.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/cpu/matrix/gemm.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/sparse/semi_structured_loops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

using semi_structured::Format;
using semi_structured::Kept;

constexpr int64_t kPanelElements = int64_t{1} << 19;  // dense ones that exist at one time

void check_matrix(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.dim() == 2, op, ": expected ", name, " to be a matrix, but got ", t.dim(), " dimensions");
}

// Of a matrix and what names its places.
Format check_kept(const char* op, const Tensor& values, const Tensor& indices) {
  check_matrix(op, "the kept elements", values);
  check_matrix(op, "the metadata", indices);
  const Format format = semi_structured::format_of(op, values.scalar_type());
  TORCH_CHECK(indices.scalar_type() == format.word, op, ": expected metadata of dtype ", format.word,
              " for elements of ", values.scalar_type(), ", but got ", indices.scalar_type());
  TORCH_CHECK(values.size(1) % format.kept == 0, op, ": expected ", format.kept, " elements of each group, but got ",
              values.size(1), " a row");
  const int64_t words = format.words_of(format.columns_of(values.size(1)));
  TORCH_CHECK(indices.size(0) == values.size(0) && indices.size(1) == words, op, ": expected metadata of size [",
              values.size(0), ", ", words, "] for elements of size ", values.sizes(), ", but got ", indices.sizes());
  TORCH_CHECK(values.device() == indices.device(), op, ": expected elements and metadata on one device, but got ",
              values.device(), " and ", indices.device());
  return format;
}

int64_t columns_of(const Format& format, const Tensor& values) {
  return format.columns_of(values.size(1));
}

// The dtype of a product: int8 gives int8 or int32.
ScalarType product_type(const char* op, const Tensor& values, const Tensor& other, std::optional<ScalarType> dtype) {
  const ScalarType own = values.scalar_type();
  TORCH_CHECK(other.scalar_type() == own, op, ": expected factors of one dtype, but got ", own, " and ",
              other.scalar_type());
  TORCH_CHECK(!dtype.has_value() || *dtype == own || (own == ScalarType::Char && *dtype == ScalarType::Int), op,
              ": out_dtype is only supported as Int for factors of dtype Char, but got ", dtype.value_or(own), " for ",
              own);
  return dtype.value_or(own);
}

// Kept elements as the loops read them, and the parts of them that products unpack.
class Unpacked {
 public:
  Unpacked(const char* op, const Tensor& values, const Tensor& indices)
      : op_(op),
        values_(dense(values)),
        indices_(dense(indices)),
        matrix_{semi_structured::format_of(op, values.scalar_type()), values.size(0), 0, values_.const_data_ptr(),
                indices_.const_data_ptr()} {
    matrix_.columns = matrix_.format.columns_of(values.size(1));
  }

  // As many lines of `length` elements as a panel may have, so that columns begin with a word.
  int64_t lines(int64_t length) const {
    return std::max<int64_t>(kPanelElements / std::max<int64_t>(length, 1) / 64 * 64, 64);
  }

  // The elements of a part; those of int8 as int32, in which products of them are computed.
  const Tensor& part(int64_t row, int64_t row_end, int64_t column, int64_t column_end) {
    panel_ = empty_contiguous({row_end - row, column_end - column}, values_.scalar_type());
    semi_structured::expand(op_, matrix_, row, row_end, column, column_end, panel_.mutable_data_ptr());
    if (values_.scalar_type() == ScalarType::Char)
      panel_ = at::_to_copy(panel_, TensorOptions().dtype(ScalarType::Int));
    return panel_;
  }

  int64_t rows() const { return matrix_.rows; }
  int64_t columns() const { return matrix_.columns; }

 private:
  const char* op_;
  Tensor values_, indices_;
  Kept matrix_;
  Tensor panel_;
};

// Where a product is computed: integers as int32, of which int8 keeps what it can hold.
class ProductOut {
 public:
  explicit ProductOut(Tensor& out) : out_(out) {
    computed_ = out.scalar_type() == ScalarType::Char ? empty_contiguous(out.sizes(), ScalarType::Int) : out;
  }
  const Tensor& tensor() const { return computed_; }
  void commit() {
    if (!computed_.is_same(out_)) at::copy_(out_, at::clamp(computed_, Scalar(-128), Scalar(127)));
  }

 private:
  Tensor& out_;
  Tensor computed_;
};

Tensor factor(const Tensor& t) {
  return t.scalar_type() == ScalarType::Char ? dense(t, ScalarType::Int) : aligned(t);
}

char* at_place(const Tensor& t, int64_t row, int64_t column) {
  return static_cast<char*>(t.mutable_data_ptr()) +
         (row * t.stride(0) + column * t.stride(1)) * static_cast<int64_t>(t.itemsize());
}

matrix::Gemm product(const Tensor& out, int64_t row, int64_t column, const Tensor& a, const Tensor& b) {
  matrix::Gemm g;
  g.type = matrix_type(out.scalar_type());
  g.m = a.size(0);
  g.n = b.size(1);
  g.k = a.size(1);
  g.a = matrix_operand(a);
  g.b = matrix_operand(b);
  g.c = at_place(out, row, column);
  g.c_row = out.stride(0);
  g.c_col = out.stride(1);
  return g;
}

}  // namespace

// --- kept elements and dense ones ---
std::array<TensorSpec, 2> semi_structured_compress_meta(const Tensor& self) {
  const char* const op = "to_sparse_semi_structured";
  check_matrix(op, "the tensor", self);
  const Format format = semi_structured::format_of(op, self.scalar_type());
  const int64_t rows = self.size(0), columns = self.size(1);
  TORCH_CHECK(columns % format.group == 0, op, ": expected a multiple of ", format.group, " columns, but got ",
              columns);
  return {TensorSpec{{rows, format.kept_of(columns)}, {}, self.scalar_type(), self.device()},
          TensorSpec{{rows, format.words_of(columns)}, {}, format.word, self.device()}};
}
void semi_structured_compress_cpu(const Tensor& self, Tensor& out0, Tensor& out1) {
  const char* const op = "to_sparse_semi_structured";
  const Tensor elements = dense(self);
  semi_structured::compress(op, semi_structured::format_of(op, self.scalar_type()), self.size(0), self.size(1),
                            elements.const_data_ptr(), out0.mutable_data_ptr(), out1.mutable_data_ptr());
}

TensorSpec semi_structured_expand_meta(const Tensor& values, const Tensor& indices) {
  const Format format = check_kept("_semi_structured_expand", values, indices);
  return {{values.size(0), columns_of(format, values)}, {}, values.scalar_type(), values.device()};
}
void semi_structured_expand_cpu(const Tensor& values, const Tensor& indices, Tensor& out) {
  const char* const op = "_semi_structured_expand";
  const Tensor elements = dense(values), words = dense(indices);
  const Kept matrix{semi_structured::format_of(op, values.scalar_type()), out.size(0), out.size(1),
                    elements.const_data_ptr(), words.const_data_ptr()};
  semi_structured::expand(op, matrix, 0, out.size(0), 0, out.size(1), out.mutable_data_ptr());
}

TensorSpec semi_structured_gather_meta(const Tensor& self, const Tensor& indices) {
  const char* const op = "_semi_structured_gather";
  check_matrix(op, "self", self);
  const Format format = semi_structured::format_of(op, self.scalar_type());
  check_matrix(op, "the metadata", indices);
  TORCH_CHECK(self.size(1) % format.group == 0 && indices.scalar_type() == format.word &&
                  indices.size(0) == self.size(0) && indices.size(1) == format.words_of(self.size(1)),
              op, ": expected metadata of dtype ", format.word, " and size [", self.size(0), ", ",
              format.words_of(self.size(1)), "] for a matrix of size ", self.sizes(), ", but got ",
              indices.scalar_type(), " and ", indices.sizes());
  TORCH_CHECK(self.device() == indices.device(), op, ": expected self and metadata on one device, but got ",
              self.device(), " and ", indices.device());
  return {{self.size(0), format.kept_of(self.size(1))}, {}, self.scalar_type(), self.device()};
}
void semi_structured_gather_cpu(const Tensor& self, const Tensor& indices, Tensor& out) {
  const char* const op = "_semi_structured_gather";
  const Tensor elements = dense(self), words = dense(indices);
  semi_structured::gather(op, semi_structured::format_of(op, self.scalar_type()), self.size(0), self.size(1),
                          elements.const_data_ptr(), words.const_data_ptr(), out.mutable_data_ptr());
}

// --- products ---
TensorSpec semi_structured_addmm_meta(const std::optional<Tensor>& bias, const Tensor& values, const Tensor& indices,
                                      const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
                                      std::optional<ScalarType> dtype) {
  const char* const op = "_semi_structured_addmm";
  const Format format = check_kept(op, values, indices);
  check_matrix(op, "mat2", mat2);
  const int64_t columns = columns_of(format, values);
  TORCH_CHECK(mat2.size(0) == columns, op, ": mat1 and mat2 shapes cannot be multiplied (", values.size(0), "x",
              columns, " and ", mat2.size(0), "x", mat2.size(1), ")");
  TORCH_CHECK(mat2.device() == values.device(), op, ": expected factors on one device, but got ", values.device(),
              " and ", mat2.device());
  const ScalarType type = product_type(op, values, mat2, dtype);
  if (bias.has_value() && bias->defined()) {
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == values.size(0), op, ": expected an addend for each of ",
                values.size(0), " rows, but got one of size ", bias->sizes());
    TORCH_CHECK(bias->scalar_type() == type && bias->device() == values.device(), op, ": expected an addend of dtype ",
                type, " on ", values.device(), ", but got ", bias->scalar_type(), " on ", bias->device());
  }
  matrix_factor(alpha, type);
  matrix_factor(beta, type);
  return {{values.size(0), mat2.size(1)}, {}, type, values.device()};
}
void semi_structured_addmm_cpu(const std::optional<Tensor>& bias, const Tensor& values, const Tensor& indices,
                               const Tensor& mat2, const Scalar& beta, const Scalar& alpha, std::optional<ScalarType>,
                               Tensor& out) {
  Unpacked matrix("_semi_structured_addmm", values, indices);
  ProductOut result(out);
  const Tensor& to = result.tensor();
  const Tensor b = factor(mat2);
  const bool adds = bias.has_value() && bias->defined();
  const Tensor addend = adds ? factor(*bias) : Tensor();
  const int64_t step = matrix.lines(matrix.columns());
  for (int64_t row = 0; row < matrix.rows(); row += step) {
    const int64_t end = std::min(row + step, matrix.rows());
    matrix::Gemm g = product(to, row, 0, matrix.part(row, end, 0, matrix.columns()), b);
    g.alpha = matrix_factor(alpha, to.scalar_type());
    if (adds) {
      const int64_t stride = addend.stride(0);
      g.add = {
          static_cast<const char*>(addend.const_data_ptr()) + row * stride * static_cast<int64_t>(addend.itemsize()),
          stride, 0};
      g.beta = matrix_factor(beta, to.scalar_type());
    }
    matrix::gemm(g);
  }
  result.commit();
}

TensorSpec semi_structured_mm_left_meta(const Tensor& mat1, const Tensor& values, const Tensor& indices,
                                        std::optional<ScalarType> dtype) {
  const char* const op = "_semi_structured_mm_left";
  const Format format = check_kept(op, values, indices);
  check_matrix(op, "mat1", mat1);
  const int64_t columns = columns_of(format, values);
  TORCH_CHECK(mat1.size(1) == values.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", mat1.size(0), "x",
              mat1.size(1), " and ", values.size(0), "x", columns, ")");
  TORCH_CHECK(mat1.device() == values.device(), op, ": expected factors on one device, but got ", mat1.device(),
              " and ", values.device());
  return {{mat1.size(0), columns}, {}, product_type(op, values, mat1, dtype), values.device()};
}
void semi_structured_mm_left_cpu(const Tensor& mat1, const Tensor& values, const Tensor& indices,
                                 std::optional<ScalarType>, Tensor& out) {
  Unpacked matrix("_semi_structured_mm_left", values, indices);
  ProductOut result(out);
  const Tensor a = factor(mat1);
  const int64_t step = matrix.lines(matrix.rows());
  for (int64_t column = 0; column < matrix.columns(); column += step) {
    const int64_t end = std::min(column + step, matrix.columns());
    matrix::gemm(product(result.tensor(), 0, column, a, matrix.part(0, matrix.rows(), column, end)));
  }
  result.commit();
}

// --- the operators of PyTorch, whose metadata are in the order that devices read ---
namespace {

// Rows of a block of the order: of metadata of 16 bits 32, of 32 bits 16.
int64_t block_rows(const char* op, ScalarType word) {
  TORCH_CHECK(word == ScalarType::Short || word == ScalarType::Int, op,
              ": expected metadata of dtype Short or Int, but got ", word);
  return word == ScalarType::Short ? 32 : 16;
}

void check_order(const char* op, ScalarType word, int64_t rows, int64_t words) {
  const int64_t block = block_rows(op, word);
  TORCH_CHECK(rows % block == 0 && words % 2 == 0, op, ": expected a multiple of ", block,
              " rows and an even number of words of metadata a row, but got ", rows, " and ", words);
}

// Of each block of 8 n rows those at equal distance come together; then squares of two rows and two words are
// transposed, and stand in columns of squares.
Tensor to_device_order(const Tensor& indices) {
  const int64_t rows = indices.size(0), words = indices.size(1),
                block = indices.scalar_type() == ScalarType::Short ? 32 : 16;
  const Tensor together = at::transpose(at::reshape(indices, {rows / block, block / 8, 8, words}), 1, 2);
  const Tensor squares = at::reshape(together, {rows / 2, 2, words / 2, 2});
  return at::reshape(at::permute(squares, {2, 0, 3, 1}), {rows, words});
}

Tensor from_device_order(const char* op, const Tensor& indices) {
  check_matrix(op, "the metadata", indices);
  const int64_t rows = indices.size(0), words = indices.size(1), block = block_rows(op, indices.scalar_type());
  check_order(op, indices.scalar_type(), rows, words);
  const Tensor squares = at::permute(at::reshape(indices, {words / 2, rows / 2, 2, 2}), {1, 3, 0, 2});
  const Tensor together = at::reshape(squares, {rows / block, 8, block / 8, words});
  return at::reshape(at::transpose(together, 1, 2), {rows, words});
}

// The elements of `self` where `mask` is true, two of each group of a row, and their metadata.
std::tuple<Tensor, Tensor> pruned(const char* op, const Tensor& self, const Tensor& mask) {
  const Tensor indices = std::get<1>(at::_semi_structured_compress(at::to(mask, self.scalar_type())));
  check_order(op, indices.scalar_type(), indices.size(0), indices.size(1));
  return {at::_semi_structured_gather(at::where(mask, self, Scalar(0)), indices), to_device_order(indices)};
}

// A byte has two rows of four elements, two of them a square of 4 x 4, four of these, row by row, one of 8 x 8.
Tensor bits_of_bytes(const Tensor& like) {
  return at::bitwise_left_shift(at::ones({8}, like.options().dtype(ScalarType::Byte)),
                                at::arange(8, like.options().dtype(ScalarType::Byte)));
}
Tensor bytes_of_mask(const Tensor& mask) {
  const int64_t rows = mask.size(0) / 8, columns = mask.size(1) / 8;
  const Tensor parts = at::reshape(mask, {rows, 2, 2, 2, columns, 2, 4});
  const Tensor bits = at::reshape(at::permute(parts, {0, 4, 1, 5, 2, 3, 6}), {rows, columns, 4, 2, 8});
  return at::to(at::sum(at::mul(bits, bits_of_bytes(mask)), {-1}), ScalarType::Byte);
}
Tensor mask_of_bytes(const char* op, const Tensor& input, const Tensor& bytes) {
  check_matrix(op, "input", input);
  const int64_t rows = input.size(0) / 8, columns = input.size(1) / 8;
  TORCH_CHECK(input.size(0) % 8 == 0 && input.size(1) % 8 == 0 && bytes.scalar_type() == ScalarType::Byte &&
                  bytes.sizes() == IntArrayRef({rows, columns, 4, 2}),
              op, ": expected thread_masks of dtype Byte and size [", rows, ", ", columns,
              ", 4, 2] for an input whose rows and columns are multiples of 8, but got ", bytes.scalar_type(), " and ",
              bytes.sizes(), " for an input of size ", input.sizes());
  const Tensor bits = at::ne(at::bitwise_and(at::unsqueeze(bytes, -1), bits_of_bytes(bytes)), 0);
  const Tensor parts = at::permute(at::reshape(bits, {rows, columns, 2, 2, 2, 2, 4}), {0, 2, 4, 5, 1, 3, 6});
  return at::reshape(parts, {rows * 8, columns * 8});
}

void check_tiles(const char* op, const Tensor& input) {
  check_matrix(op, "input", input);
  TORCH_CHECK(input.scalar_type() == ScalarType::Half || input.scalar_type() == ScalarType::BFloat16, op,
              ": expected an input of dtype Half or BFloat16, but got ", input.scalar_type());
  TORCH_CHECK(input.size(0) % 32 == 0 && input.size(1) % 32 == 0, op,
              ": expected rows and columns that are multiples of 32, but got ", input.sizes());
}

}  // namespace

std::tuple<Tensor, Tensor> _to_sparse_semi_structured(const Tensor& self) {
  const char* const op = "_to_sparse_semi_structured";
  check_matrix(op, "dense", self);
  const Format format = semi_structured::format_of(op, self.scalar_type());
  check_order(op, format.word, self.size(0), format.words_of(self.size(1)));
  const auto [values, indices] = at::_semi_structured_compress(self);
  return {values, to_device_order(indices)};
}

Tensor _sparse_semi_structured_mm(const Tensor& mat1, const Tensor& mat1_meta, const Tensor& mat2,
                                  std::optional<ScalarType> out_dtype) {
  const Tensor indices = from_device_order("_sparse_semi_structured_mm", mat1_meta);
  return at::_semi_structured_addmm(std::nullopt, mat1, indices, mat2, 1, 1, out_dtype);
}

Tensor _sparse_semi_structured_addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat1_meta,
                                     const Tensor& mat2, const Scalar& alpha, const Scalar& beta,
                                     std::optional<ScalarType> out_dtype) {
  const Tensor indices = from_device_order("_sparse_semi_structured_addmm", mat1_meta);
  return at::_semi_structured_addmm(input, mat1, indices, mat2, beta, alpha, out_dtype);
}

Tensor _sparse_semi_structured_linear(const Tensor& input, const Tensor& weight, const Tensor& meta,
                                      const std::optional<Tensor>& bias, std::optional<std::string_view> activation,
                                      std::optional<ScalarType> out_dtype) {
  const char* const op = "_sparse_semi_structured_linear";
  const std::string_view then = activation.value_or("");
  TORCH_CHECK(then.empty() || then == "relu" || then == "silu", op, ": expected the activation relu or silu, but got ",
              then);
  TORCH_CHECK(input.dim() > 0, op, ": expected an input of at least 1 dimension, but got 0");
  const Tensor indices = from_device_order(op, meta);
  DimVector sizes(input.sizes().begin(), input.sizes().end());
  int64_t count = 1;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) count *= sizes[d];
  const Tensor rows = at::reshape(input, {count, sizes.back()});
  Tensor result = at::t(at::_semi_structured_addmm(bias, weight, indices, at::t(rows), 1, 1, out_dtype));
  if (then == "relu") result = at::relu(result);
  if (then == "silu") result = at::silu(result);
  sizes.back() = result.size(1);
  return input.dim() == 2 ? result : at::reshape(result, sizes);
}

Tensor semi_structured_tile_mask_cpu(const Tensor& self, bool magnitude) {
  check_matrix("_semi_structured_tile_mask", "self", self);
  TORCH_CHECK(self.size(0) % 4 == 0 && self.size(1) % 4 == 0 && isFloatingType(self.scalar_type()),
              "_semi_structured_tile_mask: expected a floating-point matrix of tiles of 4 x 4, but got ",
              self.scalar_type(), " of size ", self.sizes());
  const Tensor elements = dense(self, ScalarType::Float);
  Tensor mask = empty_contiguous(self.sizes(), ScalarType::Bool);
  const int64_t columns = self.size(1);
  const float* const from = elements.const_data_ptr<float>();
  bool* const to = mask.data_ptr<bool>();
  parallel_for(0, self.size(0) / 4, std::max<int64_t>(4096 / std::max<int64_t>(columns, 1), 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin * 4; row < end * 4; row += 4) {
                   for (int64_t column = 0; column < columns; column += 4) {
                     float tile[16];
                     for (int64_t i = 0; i < 16; ++i) {
                       const float x = from[(row + i / 4) * columns + column + i % 4];
                       tile[i] = magnitude ? std::fabs(x) : x;
                     }
                     const uint32_t chosen = semi_structured::greedy_tile(tile);
                     for (int64_t i = 0; i < 16; ++i)
                       to[(row + i / 4) * columns + column + i % 4] = (chosen >> i & 1) != 0;
                   }
                 }
               });
  return mask;
}
Tensor semi_structured_tile_mask_meta(const Tensor& self, bool) {
  check_matrix("_semi_structured_tile_mask", "self", self);
  return at::empty(self.sizes(), self.options().dtype(ScalarType::Bool));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _sparse_semi_structured_tile(const Tensor& input,
                                                                                std::string_view algorithm,
                                                                                bool use_cutlass) {
  const char* const op = "_sparse_semi_structured_tile";
  check_tiles(op, input);
  const bool magnitude = algorithm.empty() || algorithm == "largest_abs_values_greedy";
  TORCH_CHECK(magnitude || algorithm == "largest_values_greedy", op,
              ": expected the algorithm largest_abs_values_greedy or largest_values_greedy, but got ", algorithm);
  TORCH_CHECK_NOT_IMPLEMENTED(use_cutlass, op, ": use_cutlass=False, the packing of another library, has no kernel");
  const Tensor mask = at::_semi_structured_tile_mask(input, magnitude);
  const auto [packed, meta] = pruned(op, input, mask);
  const auto [packed_t, meta_t] = pruned(op, at::t(input), at::t(mask));
  return {packed, meta, packed_t, meta_t, bytes_of_mask(mask)};
}

std::tuple<Tensor, Tensor> _sparse_semi_structured_apply(const Tensor& input, const Tensor& thread_masks) {
  const char* const op = "_sparse_semi_structured_apply";
  check_tiles(op, input);
  const Tensor mask = mask_of_bytes(op, input, thread_masks);
  return {std::get<0>(pruned(op, input, mask)), std::get<0>(pruned(op, at::t(input), at::t(mask)))};
}

Tensor _sparse_semi_structured_apply_dense(const Tensor& input, const Tensor& thread_masks) {
  return at::where(mask_of_bytes("_sparse_semi_structured_apply_dense", input, thread_masks), input, Scalar(0));
}

}  // namespace at::native
