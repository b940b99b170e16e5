#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/fft/kernels_double.cc"
#include "hwy/foreach_target.h"  // keep first
#include "hwy/highway.h"

#include "aten/cpu/fft/kernels-inl.h"

#if HWY_ONCE
namespace at::cpu::fft {
ATEN_CPU_FFT_KERNELS(double)
}  // namespace at::cpu::fft
#endif
