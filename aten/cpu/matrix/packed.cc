// PackedMatrix: the register tiles of builtin_gemm.cc on a matrix that is packed once.
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
// A call of PackedMatrix::multiply for one type.
template <class T>
struct PackedProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row;
  const T* b;
  T* c;
  int64_t c_row;
  const T* add;
  int64_t add_row;
};
}  // namespace at::matrix::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

inline constexpr int64_t kPackedDepth = 256;  // of a block
// The highest tile: one of more rows would leave less of the first cache to the panels.
inline constexpr int64_t kPackedHeight = HWY_MIN(kRows, 10);
inline constexpr int64_t kPackedRows = 6 * kPackedHeight;  // of A that are packed together

template <class T>
int64_t PackedWidth() {
  return 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

template <class T>
int64_t PackedBytes(int64_t n, int64_t k) {
  const int64_t width = PackedWidth<T>();
  return (n + width - 1) / width * width * k * static_cast<int64_t>(sizeof(T));
}

// Block after block of k, panel after panel.
template <class T>
void PackAll(const Operand& from, int64_t n, int64_t k, T* to) {
  const int64_t width = PackedWidth<T>();
  const T* b = static_cast<const T*>(from.data);
  for (int64_t k0 = 0; k0 < k; k0 += kPackedDepth) {
    const int64_t deep = HWY_MIN(kPackedDepth, k - k0);
    for (int64_t j = 0; j < n; j += width, to += width * deep)
      PackPanel<T>(b + k0 * from.row + j * from.col, from.col, from.row, HWY_MIN(width, n - j), width, deep, to);
  }
}

template <class T>
using PackedTile = void (*)(const Tile<T>&);

// Panels are as high as a tile: of all even heights, so that little of a tile stays empty.
template <class T>
PackedTile<T> TileOfHeight(int64_t rows) {
  static constexpr PackedTile<T> kTiles[] = {
      RunTile<T, 2, 2>, RunTile<T, 4, 2>, RunTile<T, 6, 2>,
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
      RunTile<T, 8, 2>, RunTile<T, 10, 2>,
#endif
  };
  return kTiles[rows / 2 - 1];
}

// The height of panels of about the same height that cover m rows.
inline int64_t EvenHeight(int64_t m) {
  const int64_t panels = (m + kPackedHeight - 1) / kPackedHeight;
  return ((m + panels - 1) / panels + 1) / 2 * 2;
}

// Rows up to kPackedRows.
template <class T>
void MultiplyRows(const PackedProduct<T>& p, T* packed_a) {
  const int64_t width = PackedWidth<T>(), height = EvenHeight(p.m), padded = (p.n + width - 1) / width * width;
  for (int64_t k0 = 0; k0 < p.k; k0 += kPackedDepth) {
    const int64_t deep = HWY_MIN(kPackedDepth, p.k - k0);
    for (int64_t i = 0; i < p.m; i += height)
      PackPanel<T>(p.a + i * p.a_row + k0, p.a_row, 1, HWY_MIN(height, p.m - i), height, deep, packed_a + i * deep);
    const T* add = k0 == 0 ? p.add : p.c;
    const int64_t add_row = k0 == 0 ? p.add_row : p.c_row;
    for (int64_t j = 0; j < p.n; j += width) {
      for (int64_t i = 0; i < p.m; i += height) {
        Tile<T> t;
        t.a = packed_a + i * deep;
        t.b = p.b + k0 * padded + j * deep;
        t.k = deep;
        t.c = p.c + i * p.c_row + j;
        t.c_row = p.c_row;
        t.add = add == nullptr ? nullptr : add + i * add_row + j;
        t.add_row = add_row;
        t.alpha = t.beta = 1;
        t.rows = HWY_MIN(height, p.m - i);
        t.columns = HWY_MIN(width, p.n - j);
        TileOfHeight<T>(height)(t);
      }
    }
  }
}

template <class T>
void MultiplyPacked(const PackedProduct<T>& given) {
  constexpr size_t kOnStack = 24 * 1024;
  const int64_t most = HWY_MIN(given.m + kPackedHeight, kPackedRows), deep = HWY_MIN(given.k, kPackedDepth);
  const size_t bytes = static_cast<size_t>(most * deep) * sizeof(T);
  const auto run = [&](T* packed_a) {
    PackedProduct<T> p = given;
    for (int64_t i = 0; i < given.m; i += kPackedRows) {
      p.m = HWY_MIN(kPackedRows, given.m - i);
      p.a = given.a + i * p.a_row;
      p.c = given.c + i * p.c_row;
      p.add = given.add == nullptr ? nullptr : given.add + i * p.add_row;
      MultiplyRows<T>(p, packed_a);
    }
  };
  if (bytes > kOnStack) {
    const Scratch scratch(bytes);
    return run(scratch.as<T>());
  }
  alignas(64) unsigned char small[kOnStack];
  run(reinterpret_cast<T*>(small));
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

template <class T>
PackedProduct<T> product_of(int64_t m, int64_t n, int64_t k, const void* a, int64_t a_row, const void* b, void* c,
                            int64_t c_row, const void* add, int64_t add_row) {
  return {m, n, k, static_cast<const T*>(a), a_row, static_cast<const T*>(b), static_cast<T*>(c), c_row,
          static_cast<const T*>(add), add_row};
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

void PackedMatrix::multiply(int64_t m, const void* a, int64_t a_row, void* c, int64_t c_row, const void* add,
                            int64_t add_row) const {
  using namespace internal;
  if (type_ == Type::kFloat64) {
    AT_ISA_FUNCTION(MultiplyPacked<double>)
    (product_of<double>(m, n_, k_, a, a_row, packed_.as<void>(), c, c_row, add, add_row));
  } else {
    AT_ISA_FUNCTION(MultiplyPacked<float>)
    (product_of<float>(m, n_, k_, a, a_row, packed_.as<void>(), c, c_row, add, add_row));
  }
}

}  // namespace at::matrix
#endif  // HWY_ONCE
