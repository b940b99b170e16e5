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
  ORT = 8,
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
  PrivateUse1 = 19,
};
inline constexpr int COMPILE_TIME_MAX_DEVICE_TYPES = 20;

inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP,
                            kFPGA = DeviceType::FPGA, kORT = DeviceType::ORT, kXLA = DeviceType::XLA,
                            kMPS = DeviceType::MPS, kMeta = DeviceType::Meta, kVulkan = DeviceType::Vulkan,
                            kMetal = DeviceType::Metal, kXPU = DeviceType::XPU, kHPU = DeviceType::HPU,
                            kVE = DeviceType::VE, kLazy = DeviceType::Lazy, kIPU = DeviceType::IPU,
                            kPrivateUse1 = DeviceType::PrivateUse1;

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
  constexpr bool is_privateuseone() const noexcept { return type_ == DeviceType::PrivateUse1; }

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
