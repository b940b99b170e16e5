// Compiled for AVX2 as a whole, so that its vectors are passed in registers.
#include "compile/tape/machine.h"

#define HWY_COMPILE_ONLY_STATIC 1
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX2

#include "compile/tape/machine-inl.h"

namespace torch::compiler::tape {

const Machine* machine_avx2() {
  return HWY_STATIC_DISPATCH(make_machine)();
}

}  // namespace torch::compiler::tape

#else

namespace torch::compiler::tape {

const Machine* machine_avx2() {
  return nullptr;
}

}  // namespace torch::compiler::tape

#endif
