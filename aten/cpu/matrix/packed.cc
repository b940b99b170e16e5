// PackedMatrix: the strips of builtin_gemm.cc of a matrix that is packed once.
#include "aten/cpu/matrix/packed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/tile-inl.h"
// clang-format on

#ifndef ATEN_CPU_MATRIX_PACKED_ONCE_
#define ATEN_CPU_MATRIX_PACKED_ONCE_
namespace at::matrix::internal {
// A call of PackedMatrix::multiply_part for one type.
template <class T>
struct PackedProduct {
  int64_t packed_n, packed_k, m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  T* c;
  int64_t c_row;
  const T* add;
  int64_t add_row;
  T alpha;
};
}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

template <class T>
int64_t PackedBytes(int64_t n, int64_t k) {
  const int64_t width = StripWidth<T>();
  return (n + width - 1) / width * width * k * static_cast<int64_t>(sizeof(T));
}

// Block after block of k, strip after strip, the last one filled up with zeros.
template <class T>
void PackAll(const Operand& from, int64_t n, int64_t k, T* to) {
  const int64_t width = StripWidth<T>();
  const T* b = static_cast<const T*>(from.data);
  for (int64_t k0 = 0; k0 < k; k0 += StripDepth<T>()) {
    const int64_t deep = HWY_MIN(StripDepth<T>(), k - k0);
    for (int64_t j = 0; j < n; j += width, to += width * deep)
      PackPanel<T>(b + k0 * from.row + j * from.col, from.col, from.row, HWY_MIN(width, n - j), width, deep, to);
  }
}

template <class T>
void MultiplyPacked(const PackedProduct<T>& p) {
  const int64_t width = StripWidth<T>(), padded = (p.packed_n + width - 1) / width * width;
  for (int64_t k0 = 0; k0 < p.k; k0 += StripDepth<T>()) {
    const int64_t rows = HWY_MIN(StripDepth<T>(), p.packed_k - k0), deep = HWY_MIN(rows, p.k - k0);
    const T* add = k0 == 0 ? p.add : p.c;
    const int64_t add_row = k0 == 0 ? p.add_row : p.c_row;
    for (int64_t j = 0; j < p.n; j += width) {
      MultiplyStrip<T>({p.m, HWY_MIN(width, p.n - j), deep, p.a + k0 * p.a_col, p.a_row, p.a_col,
                        p.b + k0 * padded + j * rows, width, p.c + j, p.c_row, add == nullptr ? nullptr : add + j,
                        add_row, 1, p.alpha, 1});
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix {
namespace internal {
namespace {

int64_t bytes_of(Type type, int64_t n, int64_t k) {
  if (type == Type::kFloat64) return AT_ISA_FUNCTION(PackedBytes<double>)(n, k);
  return AT_ISA_FUNCTION(PackedBytes<float>)(n, k);
}

}  // namespace
}  // namespace internal

PackedMatrix::PackedMatrix(Type type, int64_t n, int64_t k, const Operand& b)
    : type_(type), n_(n), k_(k), packed_(static_cast<size_t>(internal::bytes_of(type, n, k))) {
  using namespace internal;
  if (type == Type::kFloat64) {
    AT_ISA_FUNCTION(PackAll<double>)(b, n, k, packed_.as<double>());
  } else {
    AT_ISA_FUNCTION(PackAll<float>)(b, n, k, packed_.as<float>());
  }
}

void PackedMatrix::multiply_part(int64_t m, int64_t n, int64_t k, const Operand& a, void* c, int64_t c_row,
                                 const void* add, int64_t add_row, double alpha) const {
  using namespace internal;
  const auto run = [&]<class T>(T, void (*multiply)(const PackedProduct<T>&)) {
    multiply({n_, k_, m, n, k, static_cast<const T*>(a.data), a.row, a.col, packed_.as<const T>(), static_cast<T*>(c),
              c_row, static_cast<const T*>(add), add_row, static_cast<T>(alpha)});
  };
  if (type_ == Type::kFloat64) {
    run(0.0, AT_ISA_FUNCTION(MultiplyPacked<double>));
  } else {
    run(0.0f, AT_ISA_FUNCTION(MultiplyPacked<float>));
  }
}

}  // namespace at::matrix
#endif  // HWY_ONCE
