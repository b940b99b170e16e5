#include "aten/cuda/blas/blas.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "aten/core/context.h"
#include "aten/cuda/blas/algorithm_cache.h"
#include "aten/cuda/blas/handle.h"
#include "c10/cuda/device.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

namespace at::cuda::blas {
namespace {

// A descriptor of the library's.
template <class T, cublasStatus_t (*kDestroy)(T)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) kDestroy(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T get() const { return value_; }
  T* out() { return &value_; }

 private:
  T value_ = nullptr;
};
using MatmulDescriptor = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using LayoutDescriptor = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using PreferenceDescriptor = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// A matrix as the library sees it, by columns.
struct Stored {
  const void* data = nullptr;
  ScalarType type = ScalarType::Undefined;
  int64_t rows = 0, columns = 0, ld = 1, batch = 0;
  cublasOperation_t operation = CUBLAS_OP_N;
};

// What the library computes: d = alpha * a * b + beta * c, all by columns.
struct Problem {
  Stored a, b, c, d;
  const void *scale_a = nullptr, *scale_b = nullptr;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  alignas(16) char alpha[16] = {}, beta[16] = {};
};

std::string describe(const Product& p) {
  return c10::str(p.name, " of ", p.batches == 1 ? "" : c10::str(p.batches, " pairs of "), p.m, " x ", p.k, " and ",
                  p.k, " x ", p.n, ", ", toString(p.type));
}

void check(cublasStatus_t status, const char* call, const Product& p) {
  if (C10_UNLIKELY(status != CUBLAS_STATUS_SUCCESS)) throw_cublas_error(status, call, describe(p));
}

cudaDataType_t data_type(const Product& p, ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return CUDA_R_32F;
    case ScalarType::Double:
      return CUDA_R_64F;
    case ScalarType::Half:
      return CUDA_R_16F;
    case ScalarType::BFloat16:
      return CUDA_R_16BF;
    case ScalarType::ComplexFloat:
      return CUDA_C_32F;
    case ScalarType::ComplexDouble:
      return CUDA_C_64F;
    case ScalarType::Char:
      return CUDA_R_8I;
    case ScalarType::Int:
      return CUDA_R_32I;
    case ScalarType::Float8_e4m3fn:
      return CUDA_R_8F_E4M3;
    case ScalarType::Float8_e5m2:
      return CUDA_R_8F_E5M2;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "\"", p.name, "\" not implemented for '", toString(type), "'");
  }
}

bool lies_by_rows(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return (columns == 1 || column == 1) && (rows == 1 || row >= columns);
}

// Which order the result is written in.
bool writes_by_rows(const Product& p) {
  const bool rows = lies_by_rows(p.m, p.n, p.out.row, p.out.column),
             columns = lies_by_rows(p.n, p.m, p.out.column, p.out.row);
  TORCH_INTERNAL_ASSERT(rows || columns);
  if (p.bias != nullptr || p.a_sums != nullptr) return rows;
  return rows && !(columns && p.n == 1);
}

// rows x columns, as the library sees it where the matrix that it gets is this one; turned where it lies by rows.
Stored stored(const Operand& operand, ScalarType type, int64_t rows, int64_t columns) {
  Stored s;
  s.data = operand.data;
  s.type = type;
  s.batch = operand.batch;
  if (lies_by_rows(columns, rows, operand.column, operand.row)) {
    s.rows = rows, s.columns = columns;
    s.ld = columns == 1 ? rows : operand.column;
  } else {
    TORCH_INTERNAL_ASSERT(lies_by_rows(rows, columns, operand.row, operand.column));
    s.rows = columns, s.columns = rows;
    s.ld = operand.row;
    s.operation = CUBLAS_OP_T;
  }
  return s;
}

Operand turned(const Operand& operand) {
  return {operand.data, operand.column, operand.row, operand.batch};
}

template <class T>
void put(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Compute type, type of the factors and the factors.
void choose_arithmetic(const Product& p, Problem& q) {
  const Context& context = globalContext();
  const auto real = [&](auto tag) {
    using T = decltype(tag);
    put(q.alpha, static_cast<T>(p.alpha.real()));
    put(q.beta, static_cast<T>(p.beta.real()));
  };
  const auto complex = [&](auto tag) {
    using T = decltype(tag);
    put(q.alpha, c10::complex<T>(static_cast<T>(p.alpha.real()), static_cast<T>(p.alpha.imag())));
    put(q.beta, c10::complex<T>(static_cast<T>(p.beta.real()), static_cast<T>(p.beta.imag())));
  };
  const cublasComputeType_t single = context.allowTF32CuBLAS() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  // Whether sums in parts may be added in the type of the result.
  const bool reduces = !p.wide_parts && (q.d.type != ScalarType::Half || context.allowFP16ReductionCuBLAS()) &&
                       (q.d.type != ScalarType::BFloat16 || context.allowBF16ReductionCuBLAS());
  q.reductions = reduces ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  switch (p.type) {
    case ScalarType::Double:
      q.compute = CUBLAS_COMPUTE_64F, q.scale = CUDA_R_64F;
      return real(double());
    case ScalarType::ComplexDouble:
      q.compute = CUBLAS_COMPUTE_64F, q.scale = CUDA_C_64F;
      return complex(double());
    case ScalarType::ComplexFloat:
      q.compute = single, q.scale = CUDA_C_32F;
      return complex(float());
    case ScalarType::Char:
      q.compute = CUBLAS_COMPUTE_32I, q.scale = CUDA_R_32I;
      return real(int32_t());
    case ScalarType::Half:
      if (context.allowFP16AccumulationCuBLAS() && q.d.type == ScalarType::Half) {
        q.compute = CUBLAS_COMPUTE_16F, q.scale = CUDA_R_16F;
        return real(c10::Half());
      }
      break;
    case ScalarType::Float:
      q.compute = single;
      break;
    default:
      break;
  }
  real(float());
}

uint32_t epilogue_of(const Product& p) {
  // By rows the library's second operand is the first one turned.
  if (p.a_sums != nullptr) return CUBLASLT_EPILOGUE_BGRADB;
  const bool bias = p.bias != nullptr;
  switch (p.activation) {
    case Activation::kRelu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::kNone:
      break;
  }
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// The product by columns: where the result lies by rows, that of the turned matrices in the other order.
Problem by_columns(const Product& p, bool rows) {
  const ScalarType b_type = p.b_type == ScalarType::Undefined ? p.type : p.b_type;
  const ScalarType out_type = p.out_type == ScalarType::Undefined ? p.type : p.out_type;
  Problem q;
  if (rows) {
    q.a = stored(turned(p.b), b_type, p.n, p.k);
    q.b = stored(turned(p.a), p.type, p.k, p.m);
    q.d = stored(turned(p.out), out_type, p.n, p.m);
    if (p.add.data != nullptr) q.c = stored(turned(p.add), out_type, p.n, p.m);
    q.scale_a = p.scale_b, q.scale_b = p.scale_a;
  } else {
    q.a = stored(p.a, p.type, p.m, p.k);
    q.b = stored(p.b, b_type, p.k, p.n);
    q.d = stored(p.out, out_type, p.m, p.n);
    if (p.add.data != nullptr) q.c = stored(p.add, out_type, p.m, p.n);
    q.scale_a = p.scale_a, q.scale_b = p.scale_b;
  }
  TORCH_INTERNAL_ASSERT(q.d.operation == CUBLAS_OP_N && q.c.operation == CUBLAS_OP_N);
  choose_arithmetic(p, q);
  q.epilogue = epilogue_of(p);
  if (p.add.data == nullptr) {
    q.c = q.d;
    std::memset(q.beta, 0, sizeof q.beta);
  }
  return q;
}

int64_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return address == 0 ? 256 : int64_t{1} << std::min(std::countr_zero(address), 8);
}

AlgorithmKey key_of(const Product& p, const Problem& q, int device) {
  AlgorithmKey key;
  key.add(device);
  key.add(q.compute), key.add(q.scale), key.add(q.reductions), key.add(q.epilogue);
  key.add(p.batches);
  for (const Stored* s : {&q.a, &q.b, &q.c, &q.d}) {
    key.add(static_cast<int64_t>(s->type) | static_cast<int64_t>(s->operation) << 8 | alignment_of(s->data) << 16);
    key.add(s->rows), key.add(s->columns), key.add(s->ld), key.add(p.batches == 1 ? 0 : s->batch);
  }
  const void* const vector = p.a_sums != nullptr ? p.a_sums : p.bias;
  key.add(vector == nullptr ? 0 : alignment_of(vector));
  key.add((q.scale_a != nullptr) | (q.scale_b != nullptr) << 1 | p.scale_lines << 2 | p.fast_accumulation << 3);
  return key;
}

class Descriptors {
 public:
  Descriptors(const Product& p, const Problem& q) : product_(p) {
    check(cublasLtMatmulDescCreate(operation_.out(), q.compute, q.scale), "cublasLtMatmulDescCreate", p);
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(q.a.operation));
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(q.b.operation));
    if (q.epilogue != CUBLASLT_EPILOGUE_DEFAULT) set(CUBLASLT_MATMUL_DESC_EPILOGUE, q.epilogue);
    if (p.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    if (p.a_sums != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.a_sums);
    if (q.scale_a != nullptr) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, q.scale_a);
    if (q.scale_b != nullptr) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, q.scale_b);
    if (p.scale_lines) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<int32_t>(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F));
    }
    if (p.fast_accumulation) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
    const Stored* const matrices[] = {&q.a, &q.b, &q.c, &q.d};
    for (int i = 0; i < 4; ++i) make_layout(layouts_[i], *matrices[i]);
  }

  cublasLtMatmulDesc_t operation() const { return operation_.get(); }
  cublasLtMatrixLayout_t layout(int i) const { return layouts_[i].get(); }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t name, T value) {
    check(cublasLtMatmulDescSetAttribute(operation_.get(), name, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute", product_);
  }
  void make_layout(LayoutDescriptor& layout, const Stored& s) {
    const char* const call = "cublasLtMatrixLayoutSetAttribute";
    check(cublasLtMatrixLayoutCreate(layout.out(), data_type(product_, s.type), static_cast<uint64_t>(s.rows),
                                     static_cast<uint64_t>(s.columns), s.ld),
          "cublasLtMatrixLayoutCreate", product_);
    if (product_.batches == 1) return;
    const auto batches = static_cast<int32_t>(product_.batches);
    check(cublasLtMatrixLayoutSetAttribute(layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches),
          call, product_);
    check(cublasLtMatrixLayoutSetAttribute(layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &s.batch,
                                           sizeof s.batch),
          call, product_);
  }

  const Product& product_;
  MatmulDescriptor operation_;
  LayoutDescriptor layouts_[4];
};

Choice choose(const Product& p, const Problem& q, const Descriptors& descriptors, cublasLtHandle_t handle, int device) {
  PreferenceDescriptor preference;
  check(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate", p);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute", p);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes(device)));
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, q.reductions);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(alignment_of(q.a.data)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(alignment_of(q.b.data)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(alignment_of(q.c.data)));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(alignment_of(q.d.data)));
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, descriptors.operation(), descriptors.layout(0), descriptors.layout(1), descriptors.layout(2),
      descriptors.layout(3), preference.get(), 1, &result, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic", p);
  if (result.state != CUBLAS_STATUS_SUCCESS) return {};
  return {true, result.algo, result.workspaceSize};
}

void check_sizes(const Product& p) {
  constexpr int64_t kMost = INT32_MAX;
  TORCH_INTERNAL_ASSERT(p.batches > 0 && p.m > 0 && p.n > 0 && p.k > 0);
  TORCH_CHECK(p.batches <= kMost && p.m <= kMost && p.n <= kMost && p.k <= kMost, p.name,
              ": CUDA tensors of more than 2147483647 rows, columns or batches are not supported, got ", describe(p));
}

}  // namespace

bool takes_layout(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  return lies_by_rows(rows, columns, row_stride, column_stride) ||
         lies_by_rows(columns, rows, column_stride, row_stride);
}

bool takes_addend(const Product& product, const Operand& add) {
  if (product.batches > 1 && add.batch == 0) return false;
  return writes_by_rows(product) ? lies_by_rows(product.m, product.n, add.row, add.column)
                                 : lies_by_rows(product.n, product.m, add.column, add.row);
}

bool try_multiply(const Product& p) {
  check_sizes(p);
  const bool rows = writes_by_rows(p);
  if ((p.bias != nullptr || p.a_sums != nullptr) && !rows) return false;
  const Problem q = by_columns(p, rows);
  const int device = c10::cuda::current_device();
  const cublasLtHandle_t handle = getCurrentCUDABlasLtHandle();
  const Descriptors descriptors(p, q);
  const AlgorithmKey key = key_of(p, q, device);
  std::optional<Choice> choice = AlgorithmCache::get().find(key);
  if (!choice) {
    choice = choose(p, q, descriptors, handle, device);
    AlgorithmCache::get().put(key, *choice);
  }
  if (!choice->found) return false;
  // Released at once: the stream's next work may have it when this is done.
  c10::DataPtr workspace;
  if (choice->workspace != 0) workspace = c10::GetAllocator(c10::kCUDA)->allocate(choice->workspace);
  check(cublasLtMatmul(handle, descriptors.operation(), q.alpha, q.a.data, descriptors.layout(0), q.b.data,
                       descriptors.layout(1), q.beta, q.c.data, descriptors.layout(2), const_cast<void*>(q.d.data),
                       descriptors.layout(3), &choice->algorithm, workspace.get(), choice->workspace,
                       c10::cuda::getCurrentCUDAStream()),
        "cublasLtMatmul", p);
  return true;
}

void multiply(const Product& p) {
  TORCH_CHECK_NOT_IMPLEMENTED(try_multiply(p), "cuBLASLt has no algorithm for ", describe(p));
}

}  // namespace at::cuda::blas
