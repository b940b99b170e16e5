// A kernel that is chosen by the device: declared in a header, defined once, and registered by the sources that have
// it.
//
//   // scale.h
//   using scale_fn = void (*)(at::Tensor&, double);
//   DECLARE_DISPATCH(scale_fn, scale_stub)
//   // scale.cc
//   DEFINE_DISPATCH(scale_stub);
//   at::Tensor& scale(at::Tensor& t, double by) { scale_stub(t.device().type(), t, by); return t; }
//   // scale_kernel.cc, in namespace at::native
//   REGISTER_DISPATCH(scale_stub, &scale_cpu);
//
// Kernels are compiled once: what the processor can do is asked inside of them, not by the stub.
#pragma once

#include <atomic>
#include <utility>

#include "c10/core/device.h"
#include "c10/util/exception.h"

namespace at::native {

/// A function pointer for each type of device.
template <class FnPtr, class Name>
struct DispatchStub;

template <class Result, class Name, class... Args>
struct DispatchStub<Result (*)(Args...), Name> {
  using FnPtr = Result (*)(Args...);

  constexpr DispatchStub() = default;
  DispatchStub(const DispatchStub&) = delete;
  DispatchStub& operator=(const DispatchStub&) = delete;

  /// Calls the device's kernel. Throws c10::NotImplementedError where there is none.
  template <class... Given>
  Result operator()(c10::DeviceType device_type, Given&&... args) {
    const FnPtr kernel = place(device_type).load(std::memory_order_relaxed);
    TORCH_CHECK_NOT_IMPLEMENTED(kernel != nullptr, "DispatchStub: missing kernel for ", device_type);
    return (*kernel)(std::forward<Given>(args)...);
  }
  bool is_device_supported(c10::DeviceType device_type) {
    return place(device_type).load(std::memory_order_relaxed) != nullptr;
  }
  void set_kernel(c10::DeviceType device_type, FnPtr kernel) {
    place(device_type).store(kernel, std::memory_order_relaxed);
  }
  void set_cuda_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::CUDA, kernel); }
  void set_hip_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::HIP, kernel); }
  void set_mps_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::MPS, kernel); }
  void set_mtia_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::MTIA, kernel); }
  void set_xpu_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::XPU, kernel); }
  void set_privateuse1_dispatch_ptr(FnPtr kernel) { set_kernel(c10::DeviceType::PrivateUse1, kernel); }

 private:
  std::atomic<FnPtr>& place(c10::DeviceType type) { return kernels_[static_cast<size_t>(type)]; }

  // Constant-initialised: a registration in another source may come first.
  std::atomic<FnPtr> kernels_[c10::COMPILE_TIME_MAX_DEVICE_TYPES] = {};
};

/// Registers on construction.
template <class Stub>
struct RegisterDispatch {
  RegisterDispatch(Stub& stub, c10::DeviceType type, typename Stub::FnPtr kernel) { stub.set_kernel(type, kernel); }
};

}  // namespace at::native

#define DECLARE_DISPATCH(fn, name)                                                                       \
  struct name##_DECLARE_DISPATCH_type : ::at::native::DispatchStub<fn, name##_DECLARE_DISPATCH_type> {}; \
  extern struct name##_DECLARE_DISPATCH_type name;
#define DEFINE_DISPATCH(name) struct name##_DECLARE_DISPATCH_type name

#define KINDLING_REGISTER_STUB(name, type, fn)                                                       \
  static ::at::native::RegisterDispatch<struct name##_DECLARE_DISPATCH_type> name##_register_##type( \
      name, ::c10::DeviceType::type, fn);
#define REGISTER_ARCH_DISPATCH(name, arch, fn) KINDLING_REGISTER_STUB(name, CPU, fn)
#define REGISTER_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, CPU, fn)
#define REGISTER_ALL_CPU_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, CPU, fn)
#define ALSO_REGISTER_AVX512_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, CPU, fn)
#define REGISTER_NO_AVX512_DISPATCH(name)
#define REGISTER_NO_CPU_DISPATCH(name)
#define REGISTER_CUDA_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, CUDA, fn)
#define REGISTER_MPS_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, MPS, fn)
#define REGISTER_XPU_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, XPU, fn)
#define REGISTER_PRIVATEUSE1_DISPATCH(name, fn) KINDLING_REGISTER_STUB(name, PrivateUse1, fn)
