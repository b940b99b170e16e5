// softmax, log_softmax and their backward operators.
#include <algorithm>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/softmax/kernels.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 16384;       // elements worth a thread
constexpr int64_t kElementsTogether = 1024;  // of short rows
constexpr int64_t kColumnBlock = 64;    // columns that one task takes where the dimension is not the innermost

TensorSpec softmax_spec(const char* op, const Tensor& self, int64_t dim, ScalarType type) {
  maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(type), "\"", op, "\" not implemented for '", toString(type), "'");
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, type, self.device()};
}

// f(block, first column, columns) over the blocks of columns of [outer][size][inner].
template <class F>
void for_column_blocks(const DimSplit& s, const F& f) {
  const int64_t blocks = (s.inner + kColumnBlock - 1) / kColumnBlock;
  const int64_t work = s.size * std::min(s.inner, kColumnBlock);
  at::parallel_for(0, s.outer * blocks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kColumnBlock;
      f(i / blocks * s.size * s.inner + first, std::min(kColumnBlock, s.inner - first));
    }
  });
}

template <class T>
void forward(const T* x, T* y, const DimSplit& s, bool log) {
  constexpr bool kNarrow = sizeof(T) == 2;
  if (s.inner == 1) {
    // Short rows are done several at a time.
    const int64_t together = kNarrow ? 1 : std::max<int64_t>(1, kElementsTogether / s.size);
    at::parallel_for(0, s.outer, std::max<int64_t>(1, kGrain / s.size), [&](int64_t begin, int64_t end) {
      [[maybe_unused]] std::vector<float> wide(kNarrow ? static_cast<size_t>(s.size) : 0);
      cpu::StreamedRows<T> results(together * s.size, s.outer * s.size);
      for (int64_t i = begin; i < end; i += together) {
        const int64_t rows = std::min(together, end - i);
        const T* const from = x + i * s.size;
        T* const to = results.begin(y + i * s.size);
        if constexpr (kNarrow) {
          cpu::convert_row(from, wide.data(), s.size);
          (log ? cpu::log_softmax_rows<float> : cpu::softmax_rows<float>)(wide.data(), wide.data(), 1, s.size);
          cpu::convert_row(wide.data(), to, s.size);
        } else {
          (log ? cpu::log_softmax_rows<T> : cpu::softmax_rows<T>)(from, to, rows, s.size);
        }
        if constexpr (kNarrow) {
          results.end(y + i * s.size, s.size, {from + s.size});
        } else {
          results.end(y + i * s.size, rows * s.size);  // the rows have prefetched the next one
        }
      }
    });
    return;
  }
  for_column_blocks(s, [&](int64_t offset, int64_t cols) {
    if constexpr (kNarrow) {
      std::vector<float> wide(static_cast<size_t>(s.size * cols));
      for (int64_t r = 0; r < s.size; ++r) cpu::convert_row(x + offset + r * s.inner, wide.data() + r * cols, cols);
      cpu::softmax_columns(wide.data(), wide.data(), cols, s.size, cols, log);
      for (int64_t r = 0; r < s.size; ++r) cpu::convert_row(wide.data() + r * cols, y + offset + r * s.inner, cols);
    } else {
      cpu::softmax_columns(x + offset, y + offset, s.inner, s.size, cols, log);
    }
  });
}

template <class T>
void backward(const T* g, const T* y, T* gx, const DimSplit& s, bool log) {
  constexpr bool kNarrow = sizeof(T) == 2;
  if (s.inner == 1) {
    at::parallel_for(0, s.outer, std::max<int64_t>(1, kGrain / s.size), [&](int64_t begin, int64_t end) {
      const auto n = static_cast<size_t>(s.size);
      [[maybe_unused]] std::vector<float> wide(kNarrow ? 2 * n : 0);
      cpu::StreamedRows<T> results(s.size, s.outer * s.size);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * s.size;
        T* const to = results.begin(gx + at);
        if constexpr (kNarrow) {
          cpu::convert_row(g + at, wide.data(), s.size);
          cpu::convert_row(y + at, wide.data() + n, s.size);
          (log ? cpu::log_softmax_backward_row<float> : cpu::softmax_backward_row<float>)(
              wide.data(), wide.data() + n, wide.data(), s.size);
          cpu::convert_row(wide.data(), to, s.size);
        } else {
          (log ? cpu::log_softmax_backward_row<T> : cpu::softmax_backward_row<T>)(g + at, y + at, to, s.size);
        }
        results.end(gx + at, s.size, {g + at + s.size, y + at + s.size});
      }
    });
    return;
  }
  for_column_blocks(s, [&](int64_t offset, int64_t cols) {
    if constexpr (kNarrow) {
      const auto n = static_cast<size_t>(s.size * cols);
      std::vector<float> wide(2 * n);
      for (int64_t r = 0; r < s.size; ++r) {
        cpu::convert_row(g + offset + r * s.inner, wide.data() + r * cols, cols);
        cpu::convert_row(y + offset + r * s.inner, wide.data() + n + static_cast<size_t>(r * cols), cols);
      }
      cpu::softmax_backward_columns(wide.data(), wide.data() + n, wide.data(), cols, s.size, cols, log);
      for (int64_t r = 0; r < s.size; ++r) cpu::convert_row(wide.data() + r * cols, gx + offset + r * s.inner, cols);
    } else {
      cpu::softmax_backward_columns(g + offset, y + offset, gx + offset, s.inner, s.size, cols, log);
    }
  });
}

void run_softmax(const Tensor& self, int64_t dim, bool log, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = dense(self, out.scalar_type());
  DenseOut y(out);
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  cpu::visit_floating(x.scalar_type(), log ? "log_softmax" : "softmax", [&](auto tag) {
    using T = typename decltype(tag)::type;
    forward(static_cast<const T*>(x.const_data_ptr()), y.data<T>(), s, log);
  });
  y.commit();
}

TensorSpec backward_spec(const char* op, const Tensor& grad, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  maybe_wrap_dim(dim, output.dim());
  TORCH_CHECK(
      grad.sizes() == output.sizes(), op, "(): expected grad_output and output to have the same size, but got ", grad.sizes(),
      " and ", output.sizes());
  TORCH_CHECK(
      grad.scalar_type() == output.scalar_type(), op, "(): expected grad_output and output to have the same dtype, but got ",
      toString(grad.scalar_type()), " and ", toString(output.scalar_type()));
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(input_dtype) && isFloatingType(grad.scalar_type()), "\"", op, "\" not implemented for '",
      toString(isFloatingType(input_dtype) ? grad.scalar_type() : input_dtype), "'");
  return {DimVector(output.sizes().begin(), output.sizes().end()), {}, input_dtype, output.device()};
}

void run_backward(const Tensor& grad, const Tensor& output, int64_t dim, bool log, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor g = dense(grad), y = dense(output);
  DenseOut gx(out, g.scalar_type());
  const DimSplit s = split_at_dim(y.sizes(), maybe_wrap_dim(dim, y.dim()));
  cpu::visit_floating(g.scalar_type(), log ? "log_softmax_backward" : "softmax_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    backward(static_cast<const T*>(g.const_data_ptr()), static_cast<const T*>(y.const_data_ptr()), gx.data<T>(), s, log);
  });
  gx.commit();
}

ScalarType converted(const char* op, const Tensor& self, bool half_to_float) {
  TORCH_CHECK(!half_to_float || self.scalar_type() == ScalarType::Half, op,
              ": conversion to float is supported for Half only, got ", self.scalar_type());
  return half_to_float ? ScalarType::Float : self.scalar_type();
}

void refuse_half_to_float(const char* op, bool half_to_float) {
  TORCH_CHECK(!half_to_float, op, " with half to float conversion is not supported on CPU");
}

}  // namespace

TensorSpec softmax_meta(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_spec("softmax", self, dim, dtype.value_or(self.scalar_type()));
}
void softmax_cpu(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) { run_softmax(self, dim, false, out); }
TensorSpec log_softmax_meta(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return softmax_spec("log_softmax", self, dim, dtype.value_or(self.scalar_type()));
}
void log_softmax_cpu(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  run_softmax(self, dim, true, out);
}

TensorSpec _softmax_meta(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_spec("softmax", self, dim, converted("softmax", self, half_to_float));
}
void _softmax_cpu(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  refuse_half_to_float("softmax", half_to_float);
  run_softmax(self, dim, false, out);
}
TensorSpec _log_softmax_meta(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_spec("log_softmax", self, dim, converted("log_softmax", self, half_to_float));
}
void _log_softmax_cpu(const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  refuse_half_to_float("log_softmax", half_to_float);
  run_softmax(self, dim, true, out);
}

TensorSpec _softmax_backward_data_meta(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  return backward_spec("_softmax_backward_data", grad_output, output, dim, input_dtype);
}
void _softmax_backward_data_cpu(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType, Tensor& out) {
  run_backward(grad_output, output, dim, false, out);
}
TensorSpec _log_softmax_backward_data_meta(
    const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType input_dtype) {
  return backward_spec("_log_softmax_backward_data", grad_output, output, dim, input_dtype);
}
void _log_softmax_backward_data_cpu(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType, Tensor& out) {
  run_backward(grad_output, output, dim, true, out);
}

}  // namespace at::native
