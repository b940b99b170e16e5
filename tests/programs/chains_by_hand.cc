// The chains of chains_benchmark.cc as one would write them by hand: what printed groups are measured by.
#include "tests/programs/chains_by_hand.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/programs/chains_by_hand.cc"
#include "hwy/foreach_target.h"
// Behind it:
#include "hwy/highway.h"

// clang-format off
#include "aten/cpu/loops/activation-inl.h"
#include "aten/cpu/loops/arithmetic-inl.h"
#include "aten/cpu/loops/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace torch {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace cpu = ::at::cpu::HWY_NAMESPACE;
namespace op = ::at::cpu::op;

// Columns are a multiple of two vectors.
template <bool gelu>
void chain(const float* x, const float* w, const float* b, const float* r, float* out, int64_t rows, int64_t columns) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float zero = 0;
  for (int64_t row = 0; row < rows; ++row, x += columns, r += columns, out += columns) {
    for (int64_t i = 0; i < columns; i += 2 * lanes) {
      auto p = hn::Add(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, w + i)), hn::LoadU(d, b + i));
      auto q = hn::Add(hn::Mul(hn::LoadU(d, x + i + lanes), hn::LoadU(d, w + i + lanes)), hn::LoadU(d, b + i + lanes));
      if constexpr (gelu) {
        const auto both = cpu::Fn<op::Gelu>::run(cpu::VecFloat(p, q), static_cast<const cpu::VecFloat*>(nullptr));
        p = both.v;
        q = both.w;
      } else {
        p = cpu::VecFn<op::ClampMin>::run(d, p, &zero);
        q = cpu::VecFn<op::ClampMin>::run(d, q, &zero);
      }
      hn::StoreU(hn::Add(p, hn::LoadU(d, r + i)), d, out + i);
      hn::StoreU(hn::Add(q, hn::LoadU(d, r + i + lanes)), d, out + i + lanes);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace torch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace torch {

void gelu_chain_by_hand(const float* x, const float* w, const float* b, const float* r, float* out, int64_t rows,
                        int64_t columns) {
  AT_ISA_FUNCTION(chain<true>)(x, w, b, r, out, rows, columns);
}
void relu_chain_by_hand(const float* x, const float* w, const float* b, const float* r, float* out, int64_t rows,
                        int64_t columns) {
  AT_ISA_FUNCTION(chain<false>)(x, w, b, r, out, rows, columns);
}

}  // namespace torch

#endif  // HWY_ONCE
