#include "aten/cpu/matrix/packed_strips.h"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace at::matrix::internal {

void* new_packed(size_t bytes) {
  constexpr size_t kLine = 64, kLargePage = size_t{2} << 20;
  const size_t alignment = bytes >= kLargePage ? kLargePage : kLine;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kLargePage) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}
void delete_packed(void* memory) {
  std::free(memory);
}

float* pack_bias(const float* bias, int64_t outer, int64_t vector, float* to) {
  const int64_t filled = rounded_up(outer, vector);
  for (int64_t j = 0; j < filled; ++j) *to++ = bias != nullptr && j < outer ? bias[j] : 0;
  return to;
}

}  // namespace at::matrix::internal
