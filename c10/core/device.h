// Device: a kind of device and, optionally, which one ("cuda" is not "cuda:0": the former means the current one).
#pragma once

#include <cstdint>
#include <string>

#include "c10/macros/macros.h"
#include "c10/util/text_stream.h"

namespace c10 {

enum class DeviceType : int8_t {
  CPU = 0,
  CUDA = 1,
  MKLDNN = 2,
  OPENGL = 3,
  OPENCL = 4,
  IDEEP = 5,
  HIP = 6,
  FPGA = 7,
  MAIA = 8,
  ORT = 8,  // its older name
  XLA = 9,
  Vulkan = 10,
  Metal = 11,
  XPU = 12,
  MPS = 13,
  Meta = 14,
  HPU = 15,
  VE = 16,
  Lazy = 17,
  IPU = 18,
  MTIA = 19,
  PrivateUse1 = 20,  // a backend outside this library: register_privateuse1_backend gives it a name
};
inline constexpr int COMPILE_TIME_MAX_DEVICE_TYPES = 21;

inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP,
                            kFPGA = DeviceType::FPGA, kORT = DeviceType::ORT, kXLA = DeviceType::XLA,
                            kMPS = DeviceType::MPS, kMeta = DeviceType::Meta, kVulkan = DeviceType::Vulkan,
                            kMetal = DeviceType::Metal, kXPU = DeviceType::XPU, kHPU = DeviceType::HPU,
                            kVE = DeviceType::VE, kLazy = DeviceType::Lazy, kIPU = DeviceType::IPU,
                            kMAIA = DeviceType::MAIA, kMTIA = DeviceType::MTIA,
                            kPrivateUse1 = DeviceType::PrivateUse1;

// Names the device type PrivateUse1: `name` then stands for it in device strings and wherever a device is printed. Once a
// process, letters and '_' only; the same name again does nothing. Throws c10::Error for another name than the one given
// before and for the name of another device type.
//
//   c10::register_privateuse1_backend("shadow");
//   torch::Device("shadow:0").is_privateuseone();  // true
void register_privateuse1_backend(const std::string& name);
// That name, or "privateuseone" before one was given.
std::string get_privateuse1_backend(bool lower_case = true);
bool is_privateuse1_backend_registered();

// "CUDA", or "cuda" if `lower_case`.
std::string DeviceTypeName(DeviceType type, bool lower_case = false);
bool isValidDeviceType(DeviceType type);
void to_text(std::string& out, DeviceType type);

using DeviceIndex = int8_t;

class Device final {
 public:
  using Type = DeviceType;

  constexpr Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {
    if (C10_UNLIKELY(index < -1 || (index > 0 && type == DeviceType::CPU))) bad_index();
  }
  // "cpu", "cuda", "cuda:1"; throws c10::Error on any other form.
  Device(const std::string& text);
  Device(const char* text) : Device(std::string(text)) {}

  constexpr DeviceType type() const noexcept { return type_; }
  constexpr DeviceIndex index() const noexcept { return index_; }
  constexpr bool has_index() const noexcept { return index_ != -1; }
  void set_index(DeviceIndex index) { *this = Device(type_, index); }

  constexpr bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
  constexpr bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
  constexpr bool is_meta() const noexcept { return type_ == DeviceType::Meta; }
  constexpr bool is_hip() const noexcept { return type_ == DeviceType::HIP; }
  constexpr bool is_xla() const noexcept { return type_ == DeviceType::XLA; }
  constexpr bool is_mps() const noexcept { return type_ == DeviceType::MPS; }
  constexpr bool is_xpu() const noexcept { return type_ == DeviceType::XPU; }
  constexpr bool is_hpu() const noexcept { return type_ == DeviceType::HPU; }
  constexpr bool is_ipu() const noexcept { return type_ == DeviceType::IPU; }
  constexpr bool is_ve() const noexcept { return type_ == DeviceType::VE; }
  constexpr bool is_lazy() const noexcept { return type_ == DeviceType::Lazy; }
  constexpr bool is_vulkan() const noexcept { return type_ == DeviceType::Vulkan; }
  constexpr bool is_metal() const noexcept { return type_ == DeviceType::Metal; }
  constexpr bool is_ort() const noexcept { return type_ == DeviceType::ORT; }
  constexpr bool is_maia() const noexcept { return type_ == DeviceType::MAIA; }
  constexpr bool is_mtia() const noexcept { return type_ == DeviceType::MTIA; }
  constexpr bool is_privateuseone() const noexcept { return type_ == DeviceType::PrivateUse1; }

  // Whether its tensors may be seen with any strides: not on devices whose compilers lay out memory themselves.
  constexpr bool supports_as_strided() const noexcept {
    return type_ != DeviceType::IPU && type_ != DeviceType::XLA && type_ != DeviceType::Lazy && type_ != DeviceType::MTIA;
  }

  constexpr bool operator==(const Device&) const noexcept = default;

  // "cuda:1"
  std::string str() const;

 private:
  [[noreturn]] C10_COLD void bad_index() const;

  DeviceType type_;
  DeviceIndex index_ = -1;
};
void to_text(std::string& out, const Device& device);

// Prints through any stream type.
template <TextStream Stream, SameType<DeviceType> X>
Stream& operator<<(Stream& out, X type) {
  out << DeviceTypeName(type, true).c_str();
  return out;
}
template <TextStream Stream, SameType<Device> X>
Stream& operator<<(Stream& out, const X& device) {
  out << device.str().c_str();
  return out;
}

}  // namespace c10

namespace std {
template <typename>
struct hash;
template <>
struct hash<c10::DeviceType> {
  size_t operator()(c10::DeviceType type) const noexcept { return static_cast<size_t>(type); }
};
template <>
struct hash<c10::Device> {
  size_t operator()(const c10::Device& d) const noexcept {
    return static_cast<size_t>(static_cast<uint8_t>(d.type())) << 8 | static_cast<uint8_t>(d.index());
  }
};
}  // namespace std

namespace at {
using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
}  // namespace at
