// Products of float16, bfloat16 and short integers by way of wider numbers.
#include <type_traits>

#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/rows/rows.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::matrix::internal {
namespace {

// Short integers wrap as int32 do. Small binaries have no fast products of int32.
const char* not_short(const Gemm& g) {
  switch (g.type) {
    case Type::kFloat16:
    case Type::kBFloat16: return nullptr;
    case Type::kUint8:
    case Type::kInt8:
    case Type::kInt16: return KINDLING_FEW_TILES ? "only floats" : nullptr;
    default: return "only types of one or two bytes";
  }
}

// `count` numbers `step` apart as dense wide ones, and back.
template <class T, class Wide>
void widen(const T* from, int64_t step, int64_t count, Wide* to) {
  if constexpr (std::is_floating_point_v<Wide>) {
    if (step == 1) return cpu::convert_row(from, to, count);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Wide>(from[i * step]);
}
template <class T, class Wide>
void narrow(const Wide* from, int64_t count, T* to, int64_t step) {
  if constexpr (std::is_floating_point_v<Wide>) {
    if (step == 1) return cpu::convert_row(from, to, count);
  }
  for (int64_t i = 0; i < count; ++i) to[i * step] = static_cast<T>(from[i]);
}

// A dense wide copy; what ran along rows still does.
template <class T, class Wide>
Operand widened(const Operand& o, int64_t rows, int64_t cols, Wide* to) {
  const T* from = static_cast<const T*>(o.data);
  if (o.row == 1 && o.col != 1) {
    for (int64_t j = 0; j < cols; ++j) widen(from + j * o.col, 1, rows, to + j * rows);
    return Operand{to, 1, rows, {0, 0}};
  }
  for (int64_t i = 0; i < rows; ++i) widen(from + i * o.row, o.col, cols, to + i * cols);
  return Operand{to, cols, 1, {0, 0}};
}

// Wide is float, or uint32_t for integers.
template <class T, class Wide>
void convert_and_multiply(const Gemm& g) {
  const int64_t batches = g.batch[0] * g.batch[1];
  const int64_t grain = at::in_parallel_region() ? batches : at::divup(batches, at::get_num_threads());
  const int64_t a_size = g.m * g.k, b_size = g.k * g.n, size = a_size + b_size + g.m * g.n + g.n;
  // For all threads before any of them writes: c may be what is added.
  const Scratch scratch(static_cast<size_t>(at::divup(batches, grain) * size) * sizeof(Wide));
  at::parallel_for(0, batches, grain, [&](int64_t begin, int64_t end) {
    Wide* const numbers = scratch.as<Wide>() + begin / grain * size;
    for (int64_t i = begin; i < end; ++i) {
      const Gemm entry = batch_entry(g, i);
      Gemm wide;
      wide.type = std::is_floating_point_v<Wide> ? Type::kFloat32 : Type::kInt32;
      wide.m = g.m, wide.n = g.n, wide.k = g.k;
      wide.a = widened<T>(entry.a, g.m, g.k, numbers);
      wide.b = widened<T>(entry.b, g.k, g.n, numbers + a_size);
      Wide* const sums = numbers + a_size + b_size;
      Wide* const added = sums + g.m * g.n;
      wide.c = sums;
      wide.c_row = g.n;
      wide.alpha = g.alpha;
      gemm(wide);
      const T* add = static_cast<const T*>(entry.add.data);
      const bool adds = add != nullptr && !g.beta.is_zero();
      const Wide beta = factor_of<Wide>(g.beta);
      for (int64_t r = 0; r < g.m; ++r) {
        Wide* const row = sums + r * g.n;
        if (adds && (r == 0 || g.add.row != 0)) widen(add + r * g.add.row, g.add.col, g.n, added);
        for (int64_t j = 0; adds && j < g.n; ++j) row[j] += beta * added[j];
        narrow(row, g.n, static_cast<T*>(entry.c) + r * g.c_row, g.c_col);
      }
    }
  });
}

void run_converting(const Gemm& g) {
  switch (g.type) {
    case Type::kFloat16: return convert_and_multiply<c10::Half, float>(g);
    case Type::kBFloat16: return convert_and_multiply<c10::BFloat16, float>(g);
    case Type::kUint8: return convert_and_multiply<uint8_t, uint32_t>(g);
    case Type::kInt8: return convert_and_multiply<int8_t, uint32_t>(g);
    default: return convert_and_multiply<int16_t, uint32_t>(g);
  }
}

}  // namespace

constinit const Candidate kConverting{"converting", not_short, run_converting};

}  // namespace at::matrix::internal
