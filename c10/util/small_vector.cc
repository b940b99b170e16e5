#include "c10/util/small_vector.h"

#include <cstdlib>

namespace c10::detail {

void* small_vector_allocate(size_t count, size_t element_size) {
  size_t bytes = 0;
  TORCH_CHECK(count <= UINT32_MAX && !__builtin_mul_overflow(count, element_size, &bytes),
              "SmallVector unable to grow. Requested capacity (", count, ") is larger than the maximum");
  void* p = std::malloc(bytes);
  TORCH_CHECK_WITH(OutOfMemoryError, p != nullptr, "SmallVector: cannot allocate ", bytes, " bytes");
  return p;
}

void small_vector_free(void* p) noexcept {
  std::free(p);
}

}  // namespace c10::detail
