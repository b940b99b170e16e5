#include "aten/cpu/loops/select.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/select.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/loops/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

struct Item16 {
  uint64_t low, high;
};

template <class T>
struct Select {
  static void loop(char* const* data, int64_t n, const void*) {
    T* out = reinterpret_cast<T*>(data[0]);
    const uint8_t* condition = reinterpret_cast<const uint8_t*>(data[1]);
    const T* a = reinterpret_cast<const T*>(data[2]);
    const T* b = reinterpret_cast<const T*>(data[3]);
    ATEN_LANES_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T yes = a[i], no = b[i];
      out[i] = condition[i] != 0 ? yes : no;
    }
  }
};

ElementLoop find_select(int64_t item_size) {
  switch (item_size) {
    case 1: return Select<uint8_t>::loop;
    case 2: return Select<uint16_t>::loop;
    case 4: return Select<uint32_t>::loop;
    case 8: return Select<uint64_t>::loop;
    case 16: return Select<Item16>::loop;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"

namespace at::cpu {

ElementLoop select_loop(int64_t item_size) {
  static constexpr auto kFind = AT_ISA_TABLE(find_select);
  return kFind.get()(item_size);
}

}  // namespace at::cpu

#endif  // HWY_ONCE
