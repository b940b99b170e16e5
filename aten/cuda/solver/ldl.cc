// L D L^T and L D L^H.
#include "aten/cuda/solver/call.h"
#include "aten/cuda/solver/solver.h"
#include "aten/ops/copy/ops.h"

namespace at::cuda::solver {

void sytrf(const Tensor& a, bool hermitian, const Tensor& pivots, const Tensor& info) {
  const Batch m(a);
  if (m.count == 0) return at::zero_(const_cast<Tensor&>(info)), void();
  TORCH_CHECK(m.count <= INT_MAX, "torch.linalg.ldl_factor_ex: batches of more than ", INT_MAX,
              " matrices are not supported on CUDA");
  const Tensor scratch = empty_contiguous({m.count, 2, m.rows}, a.scalar_type(), a.device());
  launch_ldl_factor(a.scalar_type(), m.data, m.rows, m.count, hermitian, ints(pivots), ints(info),
                    scratch.mutable_data_ptr());
}

void sytrs(const Tensor& a, bool hermitian, const Tensor& pivots, const Tensor& b) {
  const Batch m(a), x(b);
  if (x.count == 0) return;
  launch_ldl_solve(a.scalar_type(), m.data, m.rows, m.count, hermitian, ints(pivots), x.data, x.columns);
}

}  // namespace at::cuda::solver
