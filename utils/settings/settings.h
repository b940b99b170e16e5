// Settings of a process by their documented names: determinism, the precision of products, and switches of backends.
// They are at::globalContext()'s (aten/core/context.h), which says what each changes here.
//
//   torch::use_deterministic_algorithms(true);
//   torch::set_float32_matmul_precision("high");
//   torch::backends::cudnn::benchmark = true;
#pragma once

#include <string>
#include <string_view>

#include "aten/core/context.h"

namespace torch {

/// Whether operators that could give other bits in another run are refused, or with `warn_only` warned of; and, while
/// utils::deterministic::fill_uninitialized_memory is on, as it is from the start, whether tensors of undefined
/// contents have defined ones: NaN for floating-point and complex numbers, the largest value for integers, true for
/// bool. That holds for torch::empty, empty_like, empty_strided, empty_permuted, new_empty, new_empty_strided and for
/// what resize_ adds.
void use_deterministic_algorithms(bool mode, bool warn_only = false);
bool are_deterministic_algorithms_enabled();
bool is_deterministic_algorithms_warn_only_enabled();
/// The same as a number or word: 0 "default", 1 "warn", 2 "error". Throws Error for others.
void set_deterministic_debug_mode(int mode);
void set_deterministic_debug_mode(std::string_view mode);
int get_deterministic_debug_mode();

/// "highest", "high" or "medium"; warns and changes nothing for another word.
void set_float32_matmul_precision(std::string_view precision);
std::string get_float32_matmul_precision();

namespace utils::detail {

/// A setting that reads as a bool and is assigned to.
template <bool (at::Context::*kGet)() const, void (at::Context::*kSet)(bool)>
struct Switch {
  operator bool() const { return (at::globalContext().*kGet)(); }
  const Switch& operator=(bool value) const {
    (at::globalContext().*kSet)(value);
    return *this;
  }
};
struct FillSwitch {
  operator bool() const { return at::globalContext().deterministicFillUninitializedMemory(); }
  const FillSwitch& operator=(bool value) const;
};
template <bool (at::Context::*kGet)() const, void (at::Context::*kSet)(bool)>
inline constexpr Switch<kGet, kSet> switch_of;

}  // namespace utils::detail

namespace utils::deterministic {
inline constexpr detail::FillSwitch fill_uninitialized_memory;
}

namespace backends {

namespace cpu {
/// "AVX2" ...; "DEFAULT" for none.
std::string get_cpu_capability();
}  // namespace cpu

namespace cuda {
inline bool is_built() {
  return at::Context::hasCUDART();
}
namespace matmul {
inline constexpr auto allow_fp16_reduced_precision_reduction =
    utils::detail::switch_of<&at::Context::allowFP16ReductionCuBLAS, &at::Context::setAllowFP16ReductionCuBLAS>;
inline constexpr auto allow_bf16_reduced_precision_reduction =
    utils::detail::switch_of<&at::Context::allowBF16ReductionCuBLAS, &at::Context::setAllowBF16ReductionCuBLAS>;
inline constexpr auto allow_fp16_accumulation =
    utils::detail::switch_of<&at::Context::allowFP16AccumulationCuBLAS, &at::Context::setAllowFP16AccumulationCuBLAS>;
inline constexpr auto allow_tf32 =
    utils::detail::switch_of<&at::Context::allowTF32CuBLAS, &at::Context::setAllowTF32CuBLAS>;
}  // namespace matmul
inline bool flash_sdp_enabled() {
  return at::globalContext().userEnabledFlashSDP();
}
inline void enable_flash_sdp(bool enabled) {
  at::globalContext().setSDPUseFlash(enabled);
}
inline bool mem_efficient_sdp_enabled() {
  return at::globalContext().userEnabledMemEfficientSDP();
}
inline void enable_mem_efficient_sdp(bool enabled) {
  at::globalContext().setSDPUseMemEfficient(enabled);
}
inline bool math_sdp_enabled() {
  return at::globalContext().userEnabledMathSDP();
}
inline void enable_math_sdp(bool enabled) {
  at::globalContext().setSDPUseMath(enabled);
}
inline bool cudnn_sdp_enabled() {
  return at::globalContext().userEnabledCuDNNSDP();
}
inline void enable_cudnn_sdp(bool enabled) {
  at::globalContext().setSDPUseCuDNN(enabled);
}
}  // namespace cuda

namespace cudnn {
inline bool is_available() {
  return at::Context::hasCuDNN();
}
/// 91900 is 9.19; 0 without it.
inline long version() {
  return at::Context::versionCuDNN();
}
inline constexpr auto enabled =
    utils::detail::switch_of<&at::Context::userEnabledCuDNN, &at::Context::setUserEnabledCuDNN>;
inline constexpr auto benchmark =
    utils::detail::switch_of<&at::Context::benchmarkCuDNN, &at::Context::setBenchmarkCuDNN>;
inline constexpr auto deterministic =
    utils::detail::switch_of<&at::Context::deterministicCuDNN, &at::Context::setDeterministicCuDNN>;
}  // namespace cudnn

namespace mkldnn {
inline bool is_available() {
  return at::Context::hasMKLDNN();
}
inline constexpr auto enabled =
    utils::detail::switch_of<&at::Context::userEnabledMkldnn, &at::Context::setUserEnabledMkldnn>;
inline constexpr auto deterministic =
    utils::detail::switch_of<&at::Context::deterministicMkldnn, &at::Context::setDeterministicMkldnn>;
}  // namespace mkldnn

namespace mkl {
inline bool is_available() {
  return at::Context::hasMKL();
}
}  // namespace mkl
namespace openmp {
inline bool is_available() {
  return at::Context::hasOpenMP();
}
}  // namespace openmp

}  // namespace backends

/// Texts about the build and about threads, as torch.__config__ has them.
namespace __config__ {
std::string show();
std::string parallel_info();
}  // namespace __config__

namespace utils::collect_env {

/// What a report of an error should say: the library, the build, the system, the processor, CUDA, and the environment's
/// variables that matter. In the form of python -m torch.utils.collect_env.
std::string get_pretty_env_info();

}  // namespace utils::collect_env

}  // namespace torch
