// LAPACK in a fully static program, without its Fortran compiler's run-time library.
#include <cmath>
#include <cstdio>

#include "aten/cpu/lapack/lapack.h"

int main() {
  double a[] = {3, 0, 0, -2}, values[2], u[4], vt[4];
  at::cpu::lapack::Workspace<double> w;
  const int info = at::cpu::lapack::gesdd('A', 2, 2, a, 2, values, u, 2, vt, 2, w);
  const bool ok = info == 0 && std::abs(values[0] - 3) < 1e-12 && std::abs(values[1] - 2) < 1e-12;
  if (!ok) std::printf("FAIL: info %d, singular values %g and %g\n", info, values[0], values[1]);
  return ok ? 0 : 1;
}
