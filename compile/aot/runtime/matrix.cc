#include "compile/aot/runtime/matrix.h"

#include "c10/parallel/parallel.h"

namespace torch::aot {

void multiply(const at::matrix::PackedMatrix& w, int64_t m, const at::matrix::Operand& x, void* y, const void* bias) {
  const int64_t n = w.n(), item = at::matrix::type_size(w.type());
  // A million multiply-adds take about 10 us.
  constexpr int64_t kWork = int64_t{1} << 20, kRows = 6;
  const int64_t work = n * w.k();
  const int64_t grain = work >= kWork ? kRows : (kWork / (work + 1) + kRows) / kRows * kRows;
  if (m <= grain) return w.multiply(m, x, y, n, bias, 0);
  at::parallel_for(0, m, grain, [&](int64_t begin, int64_t end) {
    at::matrix::Operand rows = x;
    rows.data = static_cast<const char*>(x.data) + begin * x.row * item;
    w.multiply(end - begin, rows, static_cast<char*>(y) + begin * n * item, n, bias, 0);
  });
}

}  // namespace torch::aot
