#include "aten/core/context.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "aten/cpu/isa.h"
#include "c10/cuda/hooks.h"
#include "c10/parallel/parallel.h"
#include "c10/util/atomic.h"
#include "c10/util/exception.h"

namespace at {
namespace {

// The values that are kept; constant-initialised, so that code before main may set them.
#define KD_CONTEXT_FIELD_(get, set, initial) constinit c10::Atomic<bool> g_##get(initial);
KD_CONTEXT_FLAGS(KD_CONTEXT_FIELD_)
#undef KD_CONTEXT_FIELD_
constinit c10::Atomic<bool> g_deterministic(false);
constinit c10::Atomic<bool> g_deterministic_warn_only(false);
constinit c10::Atomic<bool> g_allow_tf32_cudnn(true);
constinit c10::Atomic<int> g_benchmark_limit(10);
constinit c10::Atomic<int> g_precision(0);
constinit c10::Atomic<int> g_float32[3][4] = {};  // by backend and operation
constinit c10::Atomic<int> g_linalg(0);
constinit c10::Atomic<int> g_blas(0);
thread_local bool t_no_tf32 = false;

}  // namespace

Context& globalContext() {
  static constinit Context context;
  return context;
}

#define KD_CONTEXT_DEFINE_(get, set, initial)          \
  bool Context::get() const { return g_##get.load(); } \
  void Context::set(bool value) { g_##get.store(value); }
KD_CONTEXT_FLAGS(KD_CONTEXT_DEFINE_)
#undef KD_CONTEXT_DEFINE_

const AcceleratorHooksInterface& Context::getAcceleratorHooksInterface(std::optional<c10::DeviceType> type) {
  const c10::DeviceType wanted = type.has_value() ? *type : *getAccelerator(true);
  const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(wanted);
  TORCH_CHECK(hooks != nullptr, wanted, " device type not an accelerator.");
  return *hooks;
}

c10::Device Context::getDeviceFromPtr(void* data, c10::DeviceType type) {
  if (type == c10::DeviceType::CPU) return c10::Device(type);
  return getAcceleratorHooksInterface(type).getDeviceFromPtr(data);
}

bool Context::isPinnedPtr(const void* data, std::optional<c10::DeviceType> type) {
  if (!type.has_value()) type = getAccelerator();
  const AcceleratorHooksInterface* hooks = type.has_value() ? detail::acceleratorHooks(*type) : nullptr;
  return hooks != nullptr && hooks->isPinnedPtr(data);
}

c10::Allocator* Context::getPinnedMemoryAllocator(std::optional<c10::DeviceType> type) {
  return at::getPinnedMemoryAllocator(type);
}

void Context::lazyInitDevice(c10::DeviceType type) {
  if (type != c10::DeviceType::CPU) getAcceleratorHooksInterface(type).init();
}

bool Context::setFlushDenormal(bool on) {
#if defined(__SSE__)
  // Flush results to zero (bit 15) and read subnormal operands as zero (bit 6).
  constexpr unsigned kBits = 0x8040;
  _mm_setcsr(on ? _mm_getcsr() | kBits : _mm_getcsr() & ~kBits);
  return true;
#else
  return false;
#endif
}

void Context::setDeterministicAlgorithms(bool on, bool warn_only) {
  g_deterministic.store(on);
  g_deterministic_warn_only.store(warn_only);
}
bool Context::deterministicAlgorithms() const { return g_deterministic.load(); }
bool Context::deterministicAlgorithmsWarnOnly() const { return g_deterministic_warn_only.load(); }

void Context::alertNotDeterministic(std::string_view caller) {
  if (!g_deterministic.load()) return;
  if (g_deterministic_warn_only.load()) {
    TORCH_WARN(caller, " does not have a deterministic implementation, but you set "
                       "'torch.use_deterministic_algorithms(True, warn_only=True)'.");
    return;
  }
  TORCH_CHECK(
      false, caller,
      " does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can "
      "turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable "
      "for your application.");
}

bool Context::hasMKLDNN() { return KINDLING_HAVE_ONEDNN; }
bool Context::hasOpenMP() { return KINDLING_HAVE_OPENMP; }

bool Context::hasCuSOLVER() { return c10::cuda::library_version(c10::cuda::Library::kCuSOLVER) > 0; }
bool Context::hasCuBLASLt() { return c10::cuda::library_version(c10::cuda::Library::kCuBLASLt) > 0; }
long Context::versionCUDART() { return c10::cuda::library_version(c10::cuda::Library::kRuntime); }
long Context::versionCuDNN() { return c10::cuda::library_version(c10::cuda::Library::kCuDNN); }

bool Context::has(c10::DeviceType type) {
  if (type == c10::DeviceType::CUDA) return getNumGPUs() > 0;
  const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(type);
  return hooks != nullptr && hooks->isBuilt();
}

void Context::setQEngine(QEngine e) {
  TORCH_CHECK(e == kNoQEngine, "quantized engine ", c10::toString(e), " is not supported");
}

const std::vector<QEngine>& Context::supportedQEngines() {
  static const std::vector<QEngine> engines{kNoQEngine};
  return engines;
}

int Context::benchmarkLimitCuDNN() const { return g_benchmark_limit.load(); }
void Context::setBenchmarkLimitCuDNN(int limit) { g_benchmark_limit.store(limit); }

bool Context::allowTF32CuDNN(const std::string&) const { return g_allow_tf32_cudnn.load(); }
void Context::setAllowTF32CuDNN(bool value) { g_allow_tf32_cudnn.store(value); }
void Context::setAllowTF32CuBLAS(bool value) {
  setFloat32MatmulPrecision(value ? Float32MatmulPrecision::HIGH : Float32MatmulPrecision::HIGHEST);
}

Float32MatmulPrecision Context::float32MatmulPrecision() const {
  return static_cast<Float32MatmulPrecision>(g_precision.load());
}
void Context::setFloat32MatmulPrecision(Float32MatmulPrecision precision) {
  g_precision.store(static_cast<int>(precision));
}
void Context::setFloat32MatmulPrecision(std::string_view name) {
  constexpr std::string_view kNames[] = {"highest", "high", "medium"};
  for (int i = 0; i < 3; ++i) {
    if (name == kNames[i]) return setFloat32MatmulPrecision(static_cast<Float32MatmulPrecision>(i));
  }
  TORCH_WARN(
      name, " is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect.");
}

Float32Precision Context::float32Precision(Float32Backend backend, Float32Op op) const {
  const auto at = [](Float32Backend b, Float32Op o) {
    return static_cast<Float32Precision>(g_float32[static_cast<size_t>(b)][static_cast<size_t>(o)].load());
  };
  Float32Precision precision = at(backend, op);
  if (precision == Float32Precision::NONE) precision = at(backend, Float32Op::ALL);
  return precision == Float32Precision::NONE ? at(Float32Backend::GENERIC, Float32Op::ALL) : precision;
}
void Context::setFloat32Precision(Float32Backend backend, Float32Op op, Float32Precision precision) {
  g_float32[static_cast<size_t>(backend)][static_cast<size_t>(op)].store(static_cast<int>(precision));
}

LinalgBackend Context::linalgPreferredBackend() const { return static_cast<LinalgBackend>(g_linalg.load()); }
void Context::setLinalgPreferredBackend(LinalgBackend backend) { g_linalg.store(static_cast<int>(backend)); }
BlasBackend Context::blasPreferredBackend() { return static_cast<BlasBackend>(g_blas.load()); }
void Context::setBlasPreferredBackend(BlasBackend backend) { g_blas.store(static_cast<int>(backend)); }

NoTF32Guard::NoTF32Guard() : changed_(!t_no_tf32) { t_no_tf32 = true; }
NoTF32Guard::~NoTF32Guard() {
  if (changed_) t_no_tf32 = false;
}
bool NoTF32Guard::should_disable_tf32() { return t_no_tf32; }

size_t getNumGPUs() {
  const AcceleratorHooksInterface* hooks = detail::acceleratorHooks(c10::DeviceType::CUDA);
  return hooks != nullptr ? static_cast<size_t>(hooks->deviceCount()) : 0;
}

std::string get_cpu_capability() {
  switch (cpu::isa()) {
    case cpu::Isa::kAvx512:
      return "AVX512";
    case cpu::Isa::kAvx2:
      return "AVX2";
    default:
      return "DEFAULT";
  }
}

std::string get_mkl_version() { return "MKL not found"; }
std::string get_mkldnn_version() { return Context::hasMKLDNN() ? "oneDNN" : "MKLDNN not found"; }
std::string get_openmp_version() { return Context::hasOpenMP() ? "OpenMP (libgomp)" : "OpenMP not found"; }
std::string get_cxx_flags() {
  return c10::str("C++", __cplusplus / 100 % 100);
}

std::string show_config() {
  std::string out = "Kindling built with:\n";
#if defined(__clang__)
  out += "  - clang " __clang_version__ "\n";
#elif defined(__GNUC__)
  out += "  - GCC " __VERSION__ "\n";
#endif
  out += c10::str("  - C++ Version: ", static_cast<int64_t>(__cplusplus), "\n");
  out += c10::str("  - ", get_mkldnn_version(), "\n  - ", get_openmp_version(), "\n");
  out += c10::str("  - CPU capability usage: ", get_cpu_capability(), "\n");
  if (const long runtime = Context::versionCUDART(); runtime > 0) {
    out += c10::str("  - CUDA Runtime ", runtime / 1000, ".", runtime / 10 % 100, "\n");
  }
  if (const long cudnn = Context::versionCuDNN(); cudnn > 0) {
    out += c10::str("  - CuDNN ", cudnn / 10000, ".", cudnn / 100 % 100, ".", cudnn % 100, "\n");
  }
  return out;
}

}  // namespace at
