#include "aten/core/range_hooks.h"

#include "aten/core/sequence_number.h"

namespace at {

thread_local constinit uint64_t sequence_number::detail::next = 0;

constinit const impl::RangeHooks* impl::installed_range_hooks = nullptr;

void impl::set_range_hooks(const RangeHooks* hooks) noexcept {
  __atomic_store_n(&installed_range_hooks, hooks, __ATOMIC_RELEASE);
}

}  // namespace at
