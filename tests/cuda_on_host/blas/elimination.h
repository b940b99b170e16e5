// LU factorizations as the libraries make them where no array of pivots is given.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cublas_standin {

/// An m x n matrix by columns becomes L and U, without row exchanges; the place of the first zero on U's diagonal, from
/// 1 on.
template <class T>
int factor_without_pivots(int64_t m, int64_t n, T* a, int64_t ld) {
  int failed = 0;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    const T pivot = a[j + j * ld];
    if (pivot == T(0)) {
      if (failed == 0) failed = static_cast<int>(j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < m; ++i) a[i + j * ld] = a[i + j * ld] / pivot;
    for (int64_t k = j + 1; k < n; ++k) {
      for (int64_t i = j + 1; i < m; ++i) a[i + k * ld] = a[i + k * ld] - a[i + j * ld] * a[j + k * ld];
    }
  }
  return failed;
}

}  // namespace cublas_standin
