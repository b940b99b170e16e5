#include "tests/cuda_on_host/blas/problem.h"

#include <algorithm>

#include "tests/cuda_on_host/blas/elements.h"

namespace cublas_standin {
namespace {

Matrix read_matrix(const Descriptor& layout) {
  Matrix m;
  m.type = layout.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_TYPE);
  m.order = layout.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_ORDER);
  m.batches = layout.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  m.rows = static_cast<int64_t>(layout.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_ROWS));
  m.columns = static_cast<int64_t>(layout.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_COLS));
  m.ld = layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_LD);
  m.batch_stride = layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  return m;
}

bool is_one_of(int value, std::initializer_list<int> choices) {
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

std::string wrong_matrix(const Matrix& m) {
  if (m.rows <= 0 || m.columns <= 0) return "no elements";
  if (m.rows > INT32_MAX || m.columns > INT32_MAX) return "rows and columns must be numbers of 32 bits";
  if (m.batches < 1) return "batch count";
  if (m.order != CUBLASLT_ORDER_COL && m.order != CUBLASLT_ORDER_ROW) return "";
  if (m.ld < (m.order == CUBLASLT_ORDER_COL ? m.rows : m.columns)) return "leading dimension";
  return "";
}

bool types_are_supported(const Problem& p) {
  const int a = p.a.type, b = p.b.type, c = p.c.type, d = p.d.type;
  const auto all = [&](int type) { return a == type && b == type && c == type && d == type; };
  if (is_fp8(a) || is_fp8(b)) {
    if (p.compute != CUBLAS_COMPUTE_32F || p.scale != CUDA_R_32F || !is_fp8(a) || !is_fp8(b)) return false;
    if (a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) return false;
    if (c == CUDA_R_32F) return d == CUDA_R_32F;
    if (c != CUDA_R_16F && c != CUDA_R_16BF) return false;
    return d == c || d == CUDA_R_8F_E4M3 || (d == CUDA_R_8F_E5M2 && (a == CUDA_R_8F_E5M2 || b == CUDA_R_8F_E5M2));
  }
  switch (p.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return p.scale == CUDA_R_16F && all(CUDA_R_16F);
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      if (a != CUDA_R_8I || b != CUDA_R_8I || c != d) return false;
      return (p.scale == CUDA_R_32I && c == CUDA_R_32I) || (p.scale == CUDA_R_32F && c == CUDA_R_8I);
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      if (p.scale == CUDA_C_32F) return all(CUDA_C_32F);
      if (p.scale != CUDA_R_32F || a != b || c != d) return false;
      if (a == CUDA_R_32F || a == CUDA_R_8I) return c == CUDA_R_32F;
      return (a == CUDA_R_16F || a == CUDA_R_16BF) && (c == a || c == CUDA_R_32F);
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return (p.scale == CUDA_R_32F && all(CUDA_R_32F)) || (p.scale == CUDA_C_32F && all(CUDA_C_32F));
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return (p.scale == CUDA_R_64F && all(CUDA_R_64F)) || (p.scale == CUDA_C_64F && all(CUDA_C_64F));
    default:
      return false;
  }
}

// The type that the bias has unless the descriptor says otherwise.
int default_bias_type(const Problem& p) {
  if (p.compute == CUBLAS_COMPUTE_32I && p.d.type == CUDA_R_8I) return p.scale;
  if (is_fp8(p.a.type)) return p.c.type == CUDA_R_32F ? CUDA_R_16BF : p.c.type;
  return p.d.type;
}

std::string unsupported_epilogue(const Problem& p) {
  switch (p.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return "";
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      break;
    case CUBLASLT_EPILOGUE_RELU_AUX:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DRELU:
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      if (p.d.type == CUDA_R_64F) return "this epilogue for double";
      break;
    default:
      return "an epilogue that is none";
  }
  if (is_complex(p.d.type)) return "epilogues of complex products";
  if (p.d.type == CUDA_R_32I) return "epilogues of sums of integers";
  if (p.d.order == CUBLASLT_ORDER_ROW) return "epilogues where D is stored by rows";
  if ((p.has_bias() || p.writes_bias()) && p.bias_type != default_bias_type(p)) return "the bias' type";
  return "";
}

std::string unsupported_scales(const Problem& p) {
  const bool quarter = is_fp8(p.a.type);
  const int64_t none = std::count(std::begin(p.scale_pointers), std::end(p.scale_pointers), nullptr);
  if (!quarter) return none == 4 && p.amax == nullptr ? "" : "scales of types that are not FP8";
  if (p.scale_pointers[2] != nullptr) return "a scale of C";
  if (!is_fp8(p.d.type) && (p.scale_pointers[3] != nullptr || p.amax != nullptr)) return "a scale or a maximum of D";
  const int mode = p.scale_modes[0];
  if (p.scale_modes[1] != mode ||
      !is_one_of(mode, {CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F}))
    return "the modes of scales";
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F &&
      (is_fp8(p.d.type) || p.scale_pointers[0] == nullptr || p.scale_pointers[1] == nullptr))
    return "vectors of scales: of A and B, where D is not FP8";
  return "";
}

}  // namespace

size_t Matrix::span_bytes() const {
  return static_cast<size_t>(at(batches - 1, rows - 1, columns - 1) + 1) * bytes_of(type);
}

size_t Problem::aux_bytes() const {
  const int64_t elements = (d.batches - 1) * aux_stride + (n - 1) * aux_ld + m;
  return aux_is_mask() ? static_cast<size_t>(elements + 7) / 8 : static_cast<size_t>(elements) * bytes_of(aux_type);
}

Problem read_problem(const Descriptor& operation, const Descriptor& a, const Descriptor& b, const Descriptor& c,
                     const Descriptor& d) {
  const auto number = [&](int name) { return operation.get<int32_t>(name); };
  const auto pointer = [&](int name) { return operation.get<void*>(name); };
  Problem p;
  p.compute = number(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  p.scale = number(CUBLASLT_MATMUL_DESC_SCALE_TYPE);
  p.pointer_mode = number(CUBLASLT_MATMUL_DESC_POINTER_MODE);
  p.trans_a = number(CUBLASLT_MATMUL_DESC_TRANSA);
  p.trans_b = number(CUBLASLT_MATMUL_DESC_TRANSB);
  p.trans_c = number(CUBLASLT_MATMUL_DESC_TRANSC);
  p.fill = number(CUBLASLT_MATMUL_DESC_FILL_MODE);
  p.epilogue = operation.get<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  p.a = read_matrix(a);
  p.b = read_matrix(b);
  p.c = read_matrix(c);
  p.d = read_matrix(d);
  p.m = p.d.rows;
  p.n = p.d.columns;
  p.k = p.trans_a == CUBLAS_OP_N ? p.a.columns : p.a.rows;
  p.bias = pointer(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  p.bias_type = number(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  if (p.bias_type == -1) p.bias_type = default_bias_type(p);
  p.bias_stride = operation.get<int64_t>(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  p.aux = pointer(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  p.aux_type = number(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
  if (p.aux_type == -1) p.aux_type = p.d.type;
  p.aux_ld = operation.get<int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  p.aux_stride = operation.get<int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
  constexpr int kPointers[] = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER};
  constexpr int kModes[] = {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                            CUBLASLT_MATMUL_DESC_C_SCALE_MODE, CUBLASLT_MATMUL_DESC_D_SCALE_MODE};
  for (int i = 0; i < 4; ++i) {
    p.scale_pointers[i] = pointer(kPointers[i]);
    p.scale_modes[i] = number(kModes[i]);
  }
  p.amax = pointer(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
  p.fast_accumulation = operation.get<int8_t>(CUBLASLT_MATMUL_DESC_FAST_ACCUM) != 0;
  return p;
}

std::string contradiction(const Problem& p) {
  const Matrix* const matrices[] = {&p.a, &p.b, &p.c, &p.d};
  for (int i = 0; i < 4; ++i) {
    if (const std::string what = wrong_matrix(*matrices[i]); !what.empty())
      return std::string("matrix ") + "ABCD"[i] + ": " + what;
    if (matrices[i]->batches != p.d.batches) return "batch counts differ";
  }
  for (const int op : {p.trans_a, p.trans_b}) {
    if (!is_one_of(op, {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C})) return "an operation that is none";
  }
  const bool ta = p.trans_a != CUBLAS_OP_N, tb = p.trans_b != CUBLAS_OP_N;
  if ((ta ? p.a.columns : p.a.rows) != p.m || (tb ? p.b.rows : p.b.columns) != p.n ||
      (tb ? p.b.columns : p.b.rows) != p.k || p.c.rows != p.m || p.c.columns != p.n) {
    return "sizes do not fit";
  }
  const int64_t width = p.d.order == CUBLASLT_ORDER_COL ? p.n : p.m;
  if (p.d.batches > 1 && p.d.batch_stride < (p.d.order == CUBLASLT_ORDER_COL ? p.m : p.n) &&
      p.d.batch_stride < p.d.ld * width)
    return "the batch of D overlaps";
  if ((p.has_bias() || p.writes_bias()) && p.bias == nullptr) return "no bias pointer";
  if (p.has_aux()) {
    const int64_t unit = p.aux_is_mask() ? 128 : 8;
    if (p.aux == nullptr) return "no pointer of the epilogue's matrix";
    if (p.aux_ld < p.m || p.aux_ld % unit != 0) return "leading dimension of the epilogue's matrix";
    if (p.d.batches > 1 && p.aux_stride % unit != 0) return "batch stride of the epilogue's matrix";
  }
  return "";
}

std::string unsupported(const Problem& p) {
  for (const Matrix* m : {&p.a, &p.b, &p.c, &p.d}) {
    if (m->order != CUBLASLT_ORDER_COL && m->order != CUBLASLT_ORDER_ROW)
      return "orders of memory but columns and rows";
  }
  if (p.c.order != p.d.order) return "C and D of different orders";
  if (p.trans_c != CUBLAS_OP_N) return "a transposed C";
  if (p.fill != CUBLAS_FILL_MODE_FULL) return "half matrices";
  if (p.pointer_mode != CUBLASLT_POINTER_MODE_HOST && p.pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
    return "vectors of factors";
  if (!types_are_supported(p)) return "types of compute, scale, A, B, C and D";
  if (p.a.type == CUDA_R_8I && p.compute == CUBLAS_COMPUTE_32I) {
    if (p.trans_a == CUBLAS_OP_N || p.trans_b != CUBLAS_OP_N) return "int8 but with A transposed and B not";
    if (p.m % 4 != 0 || p.k % 4 != 0) return "int8 where m or k is no multiple of 4";
    if (p.a.ld % 4 != 0 || p.b.ld % 4 != 0 || p.d.ld % 4 != 0)
      return "int8 with a leading dimension that is no multiple of 4";
  }
  if (is_fp8(p.a.type)) {
    if (p.trans_a == CUBLAS_OP_N || p.trans_b != CUBLAS_OP_N) return "FP8 but with A transposed and B not";
    if (p.m % 16 != 0 || p.k % 16 != 0) return "FP8 where m or k is no multiple of 16";
    for (const Matrix* m : {&p.a, &p.b, &p.c, &p.d}) {
      if (static_cast<size_t>(m->ld) * bytes_of(m->type) % 16 != 0)
        return "FP8 with columns that do not begin at a multiple of 16 bytes";
    }
  }
  if (const std::string what = unsupported_epilogue(p); !what.empty()) return what;
  return unsupported_scales(p);
}

uint64_t fingerprint(const Problem& p) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a over numbers
  const auto add = [&](auto value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001B3; };
  for (const int value : {p.compute, p.scale, p.pointer_mode, p.trans_a, p.trans_b, static_cast<int>(p.epilogue)})
    add(value);
  for (const Matrix* m : {&p.a, &p.b, &p.c, &p.d}) {
    for (const int64_t value :
         {int64_t{m->type}, int64_t{m->order}, int64_t{m->batches}, m->rows, m->columns, m->ld, m->batch_stride})
      add(value);
  }
  add(p.bias != nullptr), add(p.bias_type), add(p.bias_stride);
  add(p.aux != nullptr), add(p.aux_type), add(p.aux_ld), add(p.aux_stride);
  for (int i = 0; i < 4; ++i) add(p.scale_pointers[i] != nullptr), add(p.scale_modes[i]);
  add(p.amax != nullptr), add(p.fast_accumulation);
  return hash;
}

}  // namespace cublas_standin
