// What the candidates share: memory, parts of products, and how these are shared out over threads.
#include "aten/cpu/matrix/internal.h"

#include "c10/memory/cpu_allocator.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {

int64_t type_size(Type type) {
  constexpr int64_t kSizes[] = {4, 8, 2, 2, 1, 1, 2, 4, 8, 8, 16};
  return kSizes[static_cast<int>(type)];
}

namespace internal {

double work(const Gemm& g) {
  return static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k) *
         static_cast<double>(g.batch[0]) * static_cast<double>(g.batch[1]);
}

namespace {

const void* advance(const void* p, int64_t elements, int64_t size) {
  return p == nullptr ? nullptr : static_cast<const char*>(p) + elements * size;
}

Operand moved(const Operand& o, int64_t elements, int64_t size) {
  Operand r = o;
  r.data = advance(o.data, elements, size);
  return r;
}

}  // namespace

Gemm batch_entry(const Gemm& g, int64_t i) {
  const int64_t size = type_size(g.type), p = i / g.batch[1], q = i % g.batch[1];
  Gemm r = g;
  r.a = moved(g.a, p * g.a.batch[0] + q * g.a.batch[1], size);
  r.b = moved(g.b, p * g.b.batch[0] + q * g.b.batch[1], size);
  r.add = moved(g.add, p * g.add.batch[0] + q * g.add.batch[1], size);
  r.c = const_cast<void*>(advance(g.c, p * g.c_batch[0] + q * g.c_batch[1], size));
  r.batch[0] = r.batch[1] = 1;
  return r;
}

Gemm part(const Gemm& g, int64_t m0, int64_t m, int64_t n0, int64_t n) {
  const int64_t size = type_size(g.type);
  Gemm r = g;
  r.m = m;
  r.n = n;
  r.a = moved(g.a, m0 * g.a.row, size);
  r.b = moved(g.b, n0 * g.b.col, size);
  r.add = moved(g.add, m0 * g.add.row + n0 * g.add.col, size);
  r.c = const_cast<void*>(advance(g.c, m0 * g.c_row + n0 * g.c_col, size));
  return r;
}

Gemm transposed(const Gemm& g) {
  auto turn = [](const Operand& o) { return Operand{o.data, o.col, o.row, {o.batch[0], o.batch[1]}}; };
  Gemm r = g;
  r.m = g.n;
  r.n = g.m;
  r.a = turn(g.b);
  r.b = turn(g.a);
  r.add = turn(g.add);
  r.c_row = g.c_col;
  r.c_col = g.c_row;
  return r;
}

void run_in_parts(const Gemm& g, int64_t row_unit, int64_t col_unit, void (*serial)(const Gemm&)) {
  constexpr double kWorthAThread = 64.0 * 64 * 64;
  const int64_t batches = g.batch[0] * g.batch[1];
  const double worth = work(g) / kWorthAThread;
  if (worth < 2 && batches == 1) return serial(g);
  int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  if (worth < static_cast<double>(threads)) threads = worth < 2 ? 1 : static_cast<int64_t>(worth);
  if (threads == 1 && batches == 1) return serial(g);

  // Cut each matrix into row_parts x col_parts so that all threads have work and the parts' outlines are short.
  int64_t row_parts = 1, col_parts = 1;
  if (batches < threads) {
    const int64_t wanted = at::divup(threads, batches);
    double best = -1;
    for (int64_t r = 1; r <= wanted; ++r) {
      const int64_t c = wanted / r;
      if (r > at::divup(g.m, row_unit) || c > at::divup(g.n, col_unit)) continue;
      const double used = static_cast<double>(r * c);
      const double outline = static_cast<double>(g.m) / static_cast<double>(r) + static_cast<double>(g.n) / static_cast<double>(c);
      const double score = used * 1e6 / (1 + outline / static_cast<double>(g.m + g.n));
      if (score > best) best = score, row_parts = r, col_parts = c;
    }
  }
  const int64_t rows = at::divup(at::divup(g.m, row_parts), row_unit) * row_unit;
  const int64_t cols = at::divup(at::divup(g.n, col_parts), col_unit) * col_unit;
  row_parts = at::divup(g.m, rows);
  col_parts = at::divup(g.n, cols);
  const int64_t parts = row_parts * col_parts;
  const int64_t total = batches * parts;
  at::parallel_for(0, total, at::divup(total, threads), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Gemm entry = batch_entry(g, i / parts);
      if (parts == 1) {
        serial(entry);
        continue;
      }
      const int64_t m0 = i % parts / col_parts * rows, n0 = i % col_parts * cols;
      serial(part(entry, m0, g.m - m0 < rows ? g.m - m0 : rows, n0, g.n - n0 < cols ? g.n - n0 : cols));
    }
  });
}

}  // namespace internal

}  // namespace at::matrix
