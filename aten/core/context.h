// What a program asks and sets of all devices and operators at once, by libtorch's names.
//
//   at::globalContext().setBenchmarkCuDNN(true);
//   at::globalContext().defaultGenerator(x.device()).set_current_seed(7);
//   if (at::hasMKLDNN()) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/device.h"
#include "c10/core/qengine.h"
#include "c10/memory/allocator.h"

namespace at {

/// The precision of float32 products, as torch.set_float32_matmul_precision names it.
enum class Float32MatmulPrecision { HIGHEST, HIGH, MEDIUM };
/// How float32 is computed by which library and operation, as torch.backends.*.fp32_precision names it.
enum class Float32Backend : int8_t { GENERIC, CUDA, MKLDNN };
enum class Float32Op : int8_t { ALL, CONV, RNN, MATMUL };
enum class Float32Precision : int8_t { NONE, IEEE, TF32, BF16 };
enum class LinalgBackend : int8_t { Default, Cusolver, Magma };
enum class BlasBackend : int8_t { Default, Cublas, Cublaslt, Ck };
inline constexpr LinalgBackend kLinalgDefault = LinalgBackend::Default;

/// The settings of a process. Reading and setting is thread-safe.
///
/// CPU tensors' results are deterministic and in the dtype's own precision whatever they say: what changes something
/// there is setFlushDenormal, setDeterministicAlgorithms (for what asks alertNotDeterministic) and
/// setFloat32Precision(MKLDNN, CONV, IEEE). CUDA tensors obey those of cuDNN and cuBLAS (docs/cuda.md). Those of
/// libraries that this one does not use (MAGMA, FBGEMM ...) keep their value and change nothing.
class Context {
 public:
  /// The generator that operators draw from on `device` where none is given; torch::manual_seed seeds them all. Throws
  /// c10::Error for devices without generators.
  const Generator& defaultGenerator(c10::Device device) { return detail::getDefaultGenerator(device); }
  /// The hooks of a device type, or of the program's accelerator. Throws c10::Error where there are none.
  const AcceleratorHooksInterface& getAcceleratorHooksInterface(std::optional<c10::DeviceType> type = std::nullopt);
  /// The device that memory is on. Throws c10::Error for devices without hooks.
  c10::Device getDeviceFromPtr(void* data, c10::DeviceType type);
  /// Whether the accelerator reads this memory by itself.
  bool isPinnedPtr(const void* data, std::optional<c10::DeviceType> type = std::nullopt);
  c10::Allocator* getPinnedMemoryAllocator(std::optional<c10::DeviceType> type = std::nullopt);
  /// Makes a device's backend ready; nothing for the CPU. Throws c10::Error where the program has no such backend.
  void lazyInitDevice(c10::DeviceType type);
  void lazyInitCUDA() { lazyInitDevice(c10::DeviceType::CUDA); }

  /// Subnormal numbers become zero in the calling thread's arithmetic, and in that of threads it starts. False where
  /// the processor cannot.
  bool setFlushDenormal(bool on);

  /// Operators that can give other bits in another run are refused (or warned of). All of this library's are
  /// deterministic; one of a program says that it is not by alertNotDeterministic.
  void setDeterministicAlgorithms(bool on, bool warn_only = false);
  bool deterministicAlgorithms() const;
  bool deterministicAlgorithmsWarnOnly() const;
  /// Throws c10::Error, or warns, where deterministic algorithms are asked for.
  static void alertNotDeterministic(std::string_view caller);
  void alertCuBLASConfigNotDeterministic() const {}

  // --- what the build has ---
  static bool hasMKL() { return false; }
  static bool hasMKLDNN();
  static bool hasOpenMP();
  static bool hasLAPACK() { return true; }
  static bool hasKleidiAI() { return false; }
  static bool hasMAGMA() { return false; }
  static bool hasCUDA() { return has(c10::DeviceType::CUDA); }
  /// Whether the program is linked with the toolkit's runtime, and with the library and what uses it.
  static bool hasCUDART() { return versionCUDART() > 0; }
  static bool hasCuDNN() { return versionCuDNN() > 0; }
  static bool hasCuSOLVER();
  static bool hasCuBLASLt();
  static bool hasROCM() { return false; }
  static bool hasHIP() { return has(c10::DeviceType::HIP); }
  static bool hasMPS() { return has(c10::DeviceType::MPS); }
  static bool hasMTIA() { return has(c10::DeviceType::MTIA); }
  static bool hasXPU() { return has(c10::DeviceType::XPU); }
  static bool hasHPU() { return has(c10::DeviceType::HPU); }
  static bool hasIPU() { return false; }
  static bool hasXLA() { return false; }
  static bool hasLazy() { return false; }
  static bool hasORT() { return false; }
  static bool hasMAIA() { return false; }
  /// As the libraries number themselves: 13000 is 13.0, and 91900 cuDNN 9.19; 0 without them.
  static long versionCUDART();
  static long versionCuDNN();

  /// Which engine quantized operators use: there is one, the library's own.
  QEngine qEngine() const { return kNoQEngine; }
  /// Throws c10::Error for another: "quantized engine FBGEMM is not supported".
  void setQEngine(QEngine e);
  static const std::vector<QEngine>& supportedQEngines();
  static bool isXNNPACKAvailable() { return false; }

// --- values that are kept; the third argument is the default ---
#define KD_CONTEXT_FLAGS(_)                                                              \
  _(userEnabledCuDNN, setUserEnabledCuDNN, true)                                         \
  _(userEnabledMkldnn, setUserEnabledMkldnn, true)                                       \
  _(userEnabledNNPACK, setUserEnabledNNPACK, true)                                       \
  _(benchmarkCuDNN, setBenchmarkCuDNN, false)                                            \
  _(deterministicCuDNN, setDeterministicCuDNN, false)                                    \
  _(deterministicMkldnn, setDeterministicMkldnn, false)                                  \
  _(immediateMiopen, setImmediateMiopen, false)                                          \
  _(deterministicFillUninitializedMemory, setDeterministicFillUninitializedMemory, true) \
  _(allowTF32OneDNN, setAllowTF32OneDNN, false)                                          \
  _(allowFP16ReductionCuBLAS, setAllowFP16ReductionCuBLAS, true)                         \
  _(allowBF16ReductionCuBLAS, setAllowBF16ReductionCuBLAS, true)                         \
  _(allowFP16AccumulationCuBLAS, setAllowFP16AccumulationCuBLAS, false)                  \
  _(allowFP16ReductionCPU, setAllowFP16ReductionCPU, false)                              \
  _(allowFP16BF16ReductionMathSDP, setAllowFP16BF16ReductionMathSDP, false)              \
  _(userEnabledFlashSDP, setSDPUseFlash, true)                                           \
  _(userEnabledMemEfficientSDP, setSDPUseMemEfficient, true)                             \
  _(userEnabledMathSDP, setSDPUseMath, true)                                             \
  _(userEnabledCuDNNSDP, setSDPUseCuDNN, true)                                           \
  _(userEnabledOverrideableSDP, setSDPUseOverrideable, true)                             \
  _(releaseWeightsWhenPrepacking, setReleaseWeightsWhenPrepacking, true)                 \
  _(checkSparseTensorInvariants, setCheckSparseTensorInvariants, false)                  \
  _(areVmapFallbackWarningsEnabled, setDisplayVmapFallbackWarnings, false)
#define KD_CONTEXT_DECLARE_(get, set, initial) \
  bool get() const;                            \
  void set(bool value);
  KD_CONTEXT_FLAGS(KD_CONTEXT_DECLARE_)
#undef KD_CONTEXT_DECLARE_

  /// 10 configurations unless set.
  int benchmarkLimitCuDNN() const;
  void setBenchmarkLimitCuDNN(int limit);
  /// For one operation ("conv", "rnn") in newer programs, which here is for all.
  bool allowTF32CuDNN(const std::string& op = {}) const;
  void setAllowTF32CuDNN(bool value);
  void setAllowTF32CuDNN(const std::string&, bool value) { setAllowTF32CuDNN(value); }
  /// Products of float32 are always of float32; the precision that is asked for is what these say.
  bool allowTF32CuBLAS() const { return float32MatmulPrecision() != Float32MatmulPrecision::HIGHEST; }
  void setAllowTF32CuBLAS(bool value);
  Float32MatmulPrecision float32MatmulPrecision() const;
  void setFloat32MatmulPrecision(Float32MatmulPrecision precision);
  /// "highest", "high" or "medium"; warns and keeps the value for another text.
  void setFloat32MatmulPrecision(std::string_view name);
  /// What was set for the operation, else for all operations of the backend, else for GENERIC; NONE unless set.
  Float32Precision float32Precision(Float32Backend backend, Float32Op op) const;
  /// IEEE for MKLDNN's CONV keeps convolutions from Winograd's algorithm, whose rounding errors are larger than those of
  /// plain sums. The other values are kept and change nothing.
  void setFloat32Precision(Float32Backend backend, Float32Op op, Float32Precision precision);
  LinalgBackend linalgPreferredBackend() const;
  void setLinalgPreferredBackend(LinalgBackend backend);
  BlasBackend blasPreferredBackend();
  void setBlasPreferredBackend(BlasBackend backend);

 private:
  static bool has(c10::DeviceType type);
};

/// The one of the process.
Context& globalContext();

/// While it lives, should_disable_tf32() in this thread.
struct NoTF32Guard {
  NoTF32Guard();
  ~NoTF32Guard();
  NoTF32Guard(const NoTF32Guard&) = delete;
  NoTF32Guard& operator=(const NoTF32Guard&) = delete;
  static bool should_disable_tf32();

 private:
  bool changed_;
};

inline bool hasMKL() { return Context::hasMKL(); }
inline bool hasMKLDNN() { return Context::hasMKLDNN(); }
inline bool hasOpenMP() { return Context::hasOpenMP(); }
inline bool hasLAPACK() { return Context::hasLAPACK(); }
inline bool hasKleidiAI() { return Context::hasKleidiAI(); }
inline bool hasMAGMA() { return Context::hasMAGMA(); }
inline bool hasCUDA() { return Context::hasCUDA(); }
inline bool hasHIP() { return Context::hasHIP(); }
inline bool hasMPS() { return Context::hasMPS(); }
inline bool hasMTIA() { return Context::hasMTIA(); }
inline bool hasXPU() { return Context::hasXPU(); }
inline bool hasHPU() { return Context::hasHPU(); }
inline bool hasIPU() { return Context::hasIPU(); }
inline bool hasXLA() { return Context::hasXLA(); }
inline bool hasORT() { return Context::hasORT(); }
inline bool hasMAIA() { return Context::hasMAIA(); }
/// How many CUDA devices there are.
size_t getNumGPUs();

/// Texts about the build, as torch.__config__ shows them: libraries and instruction set; compiler flags; versions of
/// libraries, the text says so where one is not used.
std::string show_config();
std::string get_cxx_flags();
std::string get_mkl_version();
std::string get_mkldnn_version();
std::string get_openmp_version();
/// "AVX512", "AVX2" or "DEFAULT": what kernels use on this processor.
std::string get_cpu_capability();

}  // namespace at
