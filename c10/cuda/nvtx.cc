#include "c10/cuda/nvtx.h"

#include <nvtx3/nvToolsExt.h>

namespace c10::cuda::nvtx {

void mark(const char* message) {
  nvtxMarkA(message);
}
int range_push(const char* message) {
  return nvtxRangePushA(message);
}
int range_pop() {
  return nvtxRangePop();
}
uint64_t range_start(const char* message) {
  return nvtxRangeStartA(message);
}
void range_end(uint64_t range) {
  nvtxRangeEnd(range);
}

}  // namespace c10::cuda::nvtx
