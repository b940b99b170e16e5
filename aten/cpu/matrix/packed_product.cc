#include "aten/cpu/matrix/packed_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_product.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {

struct Rows {
  const float* x;
  int64_t k;
  template <int kRows, class Run, class Skip>
  HWY_INLINE void Visit(int64_t first, const Run& run, const Skip& skip) const {
    const float* from[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) from[r] = x + (first + r) * k;
    run(from, k);
  }
};

void MultiplyRows(const PackedLayer& l, const float* x, int64_t begin, int64_t end, int64_t first_strip,
                  int64_t last_strip) {
  Multiply(Rows{x, l.numbers}, l, begin, end, first_strip, last_strip);
}

int64_t ProductStrip() {
  return Strip();
}
int64_t ProductFilledTo() {
  return FilledTo();
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix {

using internal::PackedLayer;

namespace internal {
namespace {

int64_t strip() {
  return AT_ISA_FUNCTION(ProductStrip)();
}
int64_t filled_to() {
  return AT_ISA_FUNCTION(ProductFilledTo)();
}

}  // namespace
}  // namespace internal

PackedProduct::PackedProduct(int64_t n, int64_t k, const float* weight, const float* bias)
    : n_(n), k_(k), packed_(internal::rounded_up(n, internal::filled_to()) * (k + 1)) {
  const int64_t vector = internal::filled_to();
  internal::pack_bias(bias, n, vector,
                      internal::pack_strips(weight, n, k, 1, internal::strip(), vector, packed_.data()));
}

PackedLayer PackedProduct::layer(const float* add, float low, float high, float* y) const {
  const int64_t filled = internal::rounded_up(n_, internal::filled_to());
  return {packed_.data(), packed_.data() + filled * k_, k_, n_, add, low, high, y};
}

int64_t PackedProduct::strips() const {
  const int64_t strip = internal::strip();
  return (n_ + strip - 1) / strip;
}

void PackedProduct::multiply(const PackedLayer& layer, const float* x, int64_t begin, int64_t end, int64_t first_strip,
                             int64_t last_strip) {
  using namespace internal;
  AT_ISA_FUNCTION(MultiplyRows)(layer, x, begin, end, first_strip, last_strip);
}

void PackedProduct::run_alone(int64_t m, const float* x, const float* add, float low, float high, float* y) const {
  multiply(layer(add, low, high, y), x, 0, m, 0, strips());
}

}  // namespace at::matrix
#endif  // HWY_ONCE
