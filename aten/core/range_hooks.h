#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "c10/value/ivalue.h"

// How libraries that do not need observers mark ranges for them: record_function.cc, where it is linked, puts its functions
// here when the first callback is added.
namespace at::impl {

// at::RecordScope::BACKWARD_FUNCTION.
inline constexpr uint8_t kBackwardScope = 1;

struct RangeHooks {
  // A range of an at::RecordScope that has not begun; null where nobody observes.
  void* (*open)(uint8_t scope);
  bool (*needs_inputs)(const void* range);
  void (*begin)(void* range, std::string_view name, std::vector<c10::IValue> inputs, int64_t sequence_nr);
  // Ends the range and frees it.
  void (*close)(void* range) noexcept;
};

extern constinit const RangeHooks* installed_range_hooks;

// Null as long as nobody ever observed.
inline const RangeHooks* range_hooks() noexcept { return __atomic_load_n(&installed_range_hooks, __ATOMIC_ACQUIRE); }
void set_range_hooks(const RangeHooks* hooks) noexcept;

}  // namespace at::impl
