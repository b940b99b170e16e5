#include "tests/cuda_on_host/blas/product.h"

#include <cmath>
#include <vector>

#include "tests/cuda_on_host/blas/elements.h"

namespace cublas_standin {
namespace {

// A number as the sums are made of it: what reduced compute types leave of an element.
Number as_factor(Number x, int compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return {rounded_to_tf32(x.real()), rounded_to_tf32(x.imag())};
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return {rounded_to(CUDA_R_16F, x.real()).real(), rounded_to(CUDA_R_16F, x.imag()).real()};
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return {rounded_to(CUDA_R_16BF, x.real()).real(), rounded_to(CUDA_R_16BF, x.imag()).real()};
    default:
      return x;
  }
}

// op(A) of one batch by rows; `transposed`: the matrix is turned, `by_columns`: the result is.
template <class T>
std::vector<T> gather(const void* base, const Matrix& m, int64_t batch, int op, bool by_columns, int compute) {
  const bool turned = op != CUBLAS_OP_N;
  const int64_t rows = turned ? m.columns : m.rows, columns = turned ? m.rows : m.columns;
  std::vector<T> out(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const Number x = as_factor(load(base, m.type, turned ? m.at(batch, c, r) : m.at(batch, r, c)), compute);
      T& to = out[static_cast<size_t>(by_columns ? c * rows + r : r * columns + c)];
      if constexpr (std::is_same_v<T, Number>) {
        to = op == CUBLAS_OP_C ? std::conj(x) : x;
      } else {
        to = x.real();
      }
    }
  }
  return out;
}

template <class T>
T sum_of_products(const T* a, const T* b, int64_t begin, int64_t end, bool in_half) {
  T sum{};
  if (in_half) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<T, double>) sum = rounded_to(CUDA_R_16F, sum + a[i] * b[i]).real();
    }
    return sum;
  }
  for (int64_t i = begin; i < end; ++i) sum += a[i] * b[i];
  return sum;
}

double tanh_of_gelu(double x) {
  return std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
}
double gelu(double x) {
  return 0.5 * x * (1 + tanh_of_gelu(x));
}
double gelu_gradient(double x) {
  const double t = tanh_of_gelu(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

bool mask_bit(const void* mask, int64_t i) {
  return (static_cast<const uint8_t*>(mask)[i / 8] >> (i % 8) & 1) != 0;
}
void set_mask_bit(void* mask, int64_t i, bool value) {
  uint8_t& byte = static_cast<uint8_t*>(mask)[i / 8];
  byte = static_cast<uint8_t>((byte & ~(1 << (i % 8))) | (value ? 1 << (i % 8) : 0));
}

double scale_factor(const Problem& p, int operand, int64_t place) {
  const auto* factors = static_cast<const float*>(p.scale_pointers[operand]);
  if (factors == nullptr) return 1;
  return factors[p.scale_modes[operand] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F ? place : 0];
}

// What the epilogue makes of an element, and what it stores of it beside D.
Number finished(const Problem& p, Number value, int64_t batch, int64_t row, int64_t column) {
  const uint32_t e = p.epilogue;
  const int64_t place = batch * p.aux_stride + column * p.aux_ld + row;
  if (p.has_bias()) value += load(p.bias, p.bias_type, batch * p.bias_stride + row);
  if (e == CUBLASLT_EPILOGUE_DRELU || e == CUBLASLT_EPILOGUE_DRELU_BGRAD) return mask_bit(p.aux, place) ? value : 0;
  if (e == CUBLASLT_EPILOGUE_DGELU || e == CUBLASLT_EPILOGUE_DGELU_BGRAD)
    return value * gelu_gradient(load(p.aux, p.aux_type, place).real());
  if ((e & CUBLASLT_EPILOGUE_RELU) != 0) {
    if (p.has_aux()) set_mask_bit(p.aux, place, value.real() > 0);
    return std::isnan(value.real()) ? value : Number(std::max(value.real(), 0.0));
  }
  if ((e & CUBLASLT_EPILOGUE_GELU) != 0) {
    if (p.has_aux()) store(p.aux, p.aux_type, place, value);
    return gelu(value.real());
  }
  return value;
}

// The sums of rows of a matrix that is stored by rows.
template <class T>
void store_sums(const Problem& p, int64_t batch, const std::vector<T>& by_rows, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r) {
    Number sum = 0;
    for (int64_t i = 0; i < p.k; ++i) sum += by_rows[static_cast<size_t>(r * p.k + i)];
    store(p.bias, p.bias_type, batch * p.bias_stride + r, sum);
  }
}

template <class T>
void compute_as(const Problem& p, const Pointers& x, bool in_result_type) {
  const Number alpha = load(x.alpha, p.scale, 0), beta = load(x.beta, p.scale, 0);
  const bool in_half = p.compute == CUBLAS_COMPUTE_16F || p.compute == CUBLAS_COMPUTE_16F_PEDANTIC;
  double most = 0;
  for (int64_t batch = 0; batch < p.d.batches; ++batch) {
    const std::vector<T> a = gather<T>(x.a, p.a, batch, p.trans_a, false, p.compute);
    const std::vector<T> b = gather<T>(x.b, p.b, batch, p.trans_b, true, p.compute);
    std::vector<double> gradient(static_cast<size_t>(p.m));
    for (int64_t j = 0; j < p.n; ++j) {
      for (int64_t i = 0; i < p.m; ++i) {
        const T *row = a.data() + i * p.k, *column = b.data() + j * p.k;
        Number sum;
        if (in_result_type) {
          sum = rounded_to(p.d.type, sum_of_products(row, column, 0, p.k / 2, in_half)) +
                rounded_to(p.d.type, sum_of_products(row, column, p.k / 2, p.k, in_half));
        } else {
          sum = sum_of_products(row, column, 0, p.k, in_half);
        }
        Number value = alpha * sum * scale_factor(p, 0, i) * scale_factor(p, 1, j);
        if (beta != Number(0)) value += beta * load(x.c, p.c.type, p.c.at(batch, i, j));
        value = finished(p, value, batch, i, j);
        gradient[static_cast<size_t>(i)] += value.real();
        most = std::max(most, std::abs(value.real()));
        store(x.d, p.d.type, p.d.at(batch, i, j), value * scale_factor(p, 3, 0));
      }
    }
    if ((p.epilogue & 16) != 0) {
      for (int64_t i = 0; i < p.m; ++i)
        store(p.bias, p.bias_type, batch * p.bias_stride + i, gradient[static_cast<size_t>(i)]);
    }
    if (p.epilogue == CUBLASLT_EPILOGUE_BGRADA) store_sums(p, batch, a, p.m);
    if (p.epilogue == CUBLASLT_EPILOGUE_BGRADB) store_sums(p, batch, b, p.n);
  }
  if (p.amax != nullptr) *static_cast<float*>(p.amax) = static_cast<float>(most);
}

}  // namespace

void compute(const Problem& problem, const Pointers& pointers, bool in_result_type) {
  if (is_complex(problem.d.type)) {
    compute_as<Number>(problem, pointers, in_result_type);
  } else {
    compute_as<double>(problem, pointers, in_result_type);
  }
}

}  // namespace cublas_standin
