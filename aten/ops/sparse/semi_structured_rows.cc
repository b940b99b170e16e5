#include "aten/ops/sparse/semi_structured_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/ops/sparse/semi_structured_rows.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::semi_structured {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of two groups of `size` bytes.
template <size_t size>
HWY_INLINE void expand_all(const PairTable& table, const uint8_t* numbers, int64_t count, const uint8_t* kept,
                           uint8_t* groups) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t i = 0; i < count; ++i, kept += size, groups += 2 * size) {
    const auto& places = table[numbers[i]];
    for (size_t k = 0; k < 2 * size; ++k) groups[k] = places[k] < size ? kept[places[k]] : 0;
  }
#else
  const hn::FixedTag<uint8_t, 2 * size> d;
  const hn::FixedTag<uint8_t, size> half;
  for (int64_t i = 0; i < count; ++i, kept += size, groups += 2 * size) {
    const auto elements = hn::ZeroExtendVector(d, hn::LoadU(half, kept));
    hn::StoreU(hn::TableLookupBytesOr0(elements, hn::LoadU(d, table[numbers[i]].data())), d, groups);
  }
#endif
}

static void expand_wide(const PairTable& table, const uint8_t* numbers, int64_t count, const uint8_t* kept,
                        uint8_t* groups) {
  expand_all<8>(table, numbers, count, kept, groups);
}
static void expand_narrow(const PairTable& table, const uint8_t* numbers, int64_t count, const uint8_t* kept,
                          uint8_t* groups) {
  expand_all<4>(table, numbers, count, kept, groups);
}

}  // namespace HWY_NAMESPACE
}  // namespace at::semi_structured
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::semi_structured {

void expand_pairs(const PairTable& table, bool narrow, const uint8_t* numbers, int64_t count, const void* kept,
                  void* groups) {
  const auto expand = narrow ? AT_ISA_FUNCTION(expand_narrow) : AT_ISA_FUNCTION(expand_wide);
  expand(table, numbers, count, static_cast<const uint8_t*>(kept), static_cast<uint8_t*>(groups));
}

}  // namespace at::semi_structured
#endif  // HWY_ONCE
