#include "c10/util/array_ref.h"

namespace c10::detail {

void array_ref_index_error(size_t index, size_t length) {
  TORCH_CHECK_INDEX(false, "ArrayRef: invalid index Index = ", index, "; Length = ", length);
  __builtin_unreachable();
}

void array_ref_empty_error(const char* what) {
  TORCH_CHECK(false, "ArrayRef: attempted to access ", what, "() of empty list");
  __builtin_unreachable();
}

void array_ref_slice_error(size_t n, size_t m, size_t length) {
  TORCH_CHECK(false, "ArrayRef: invalid slice, N = ", n, "; M = ", m, "; size = ", length);
  __builtin_unreachable();
}

}  // namespace c10::detail
