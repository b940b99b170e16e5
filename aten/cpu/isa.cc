#include "aten/cpu/isa.h"

#include "hwy/highway.h"

namespace at::cpu {
namespace detail {

int isa_index_or_minus_one = -1;

int detect_isa() {
  const int64_t targets = hwy::SupportedTargets();
  int index = 3;
#if HWY_ARCH_X86
  if (targets & HWY_AVX3) {
    index = 0;
  } else if (targets & HWY_AVX2) {
    index = 1;
  } else if (targets & HWY_SSE4) {
    index = 2;
  }
#else
  (void)targets;
#endif
  __atomic_store_n(&isa_index_or_minus_one, index, __ATOMIC_RELAXED);
  return index;
}

}  // namespace detail

void limit_isa(Isa best) {
  const int found = detail::detect_isa();
  const int wanted = static_cast<int>(best);
  __atomic_store_n(&detail::isa_index_or_minus_one, found > wanted ? found : wanted, __ATOMIC_RELAXED);
}

}  // namespace at::cpu
