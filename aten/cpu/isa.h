#pragma once

#include <cstdint>

// Which instruction set the kernels use. Inner loops are compiled for several (Highway's foreach_target) and stand in
// LoopTables; the index is chosen once, at the first call.

namespace at::cpu {

enum class Isa : int { kAvx512 = 0, kAvx2 = 1, kSse4 = 2, kBaseline = 3 };
inline constexpr int kIsaCount = 4;

namespace detail {
extern int isa_index_or_minus_one;
int detect_isa();
}  // namespace detail

/// The best instruction set this CPU and this build have.
inline int isa_index() {
  const int index = __atomic_load_n(&detail::isa_index_or_minus_one, __ATOMIC_RELAXED);
  return index >= 0 ? index : detail::detect_isa();
}

inline Isa isa() { return static_cast<Isa>(isa_index()); }

/// Makes isa() answer no better than `best`, so that tests and benchmarks reach every variant.
void limit_isa(Isa best);

/// One function compiled for each instruction set; a set that was not compiled holds the next lower one's.
template <class Function>
struct IsaTable {
  Function by_isa[kIsaCount] = {};
  Function get() const { return by_isa[isa_index()]; }
  constexpr explicit operator bool() const { return by_isa[kIsaCount - 1] != nullptr; }
};

template <class Function>
constexpr IsaTable<Function> isa_table(Function avx512, Function avx2, Function sse4, Function baseline) {
  IsaTable<Function> t;
  t.by_isa[3] = baseline;
  t.by_isa[2] = sse4 != nullptr ? sse4 : baseline;
  t.by_isa[1] = avx2 != nullptr ? avx2 : t.by_isa[2];
  t.by_isa[0] = avx512 != nullptr ? avx512 : t.by_isa[1];
  return t;
}

template <class Function>
constexpr IsaTable<Function> baseline_table(Function f) {
  return isa_table<Function>(nullptr, nullptr, nullptr, f);
}

}  // namespace at::cpu
