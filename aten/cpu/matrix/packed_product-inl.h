// The kernels of PackedProduct<KINDLING_WEIGHT>, for sources compiled once a target. Include after hwy/highway.h and
// packed_tile-inl.h; defines the class's functions at last.

#if defined(ATEN_CPU_MATRIX_PACKED_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_PACKED_PRODUCT_INL_H_
#undef ATEN_CPU_MATRIX_PACKED_PRODUCT_INL_H_
#else
#define ATEN_CPU_MATRIX_PACKED_PRODUCT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace {

struct Rows {
  const float* x;
  int64_t k;
  template <int kRows, class Run, class Skip>
  HWY_INLINE void Visit(int64_t first, const Run& run, const Skip& skip) const {
    const float* from[kRows];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) from[r] = x + (first + r) * k;
    run(from, k);
  }
};

void MultiplyRows(const PackedLayer& l, const float* x, int64_t begin, int64_t end, int64_t first_strip,
                  int64_t last_strip) {
  Multiply<KINDLING_WEIGHT>(Rows{x, l.numbers}, l, begin, end, first_strip, last_strip);
}
int64_t ProductStrip() {
  return Strip();
}
int64_t ProductFilledTo() {
  return FilledTo();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix {

template <>
int64_t PackedProduct<KINDLING_WEIGHT>::strip() {
  using namespace internal;
  return AT_ISA_FUNCTION(ProductStrip)();
}
template <>
int64_t PackedProduct<KINDLING_WEIGHT>::filled_to() {
  using namespace internal;
  return AT_ISA_FUNCTION(ProductFilledTo)();
}
template <>
void PackedProduct<KINDLING_WEIGHT>::multiply(const internal::PackedLayer& layer, const float* x, int64_t begin,
                                              int64_t end, int64_t first_strip, int64_t last_strip) {
  using namespace internal;
  AT_ISA_FUNCTION(MultiplyRows)(layer, x, begin, end, first_strip, last_strip);
}

}  // namespace at::matrix
#endif  // HWY_ONCE

#endif  // the toggle of the target
