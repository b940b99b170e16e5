#include "c10/core/device.h"

#include <string_view>

#include "c10/util/exception.h"

namespace c10 {
namespace {

constexpr std::string_view kNames[COMPILE_TIME_MAX_DEVICE_TYPES] = {
    "cpu",    "cuda",  "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "ort", "xla",
    "vulkan", "metal", "xpu",    "mps",    "meta",   "hpu",   "ve",  "lazy", "ipu", "privateuseone",
};

std::string all_names() {
  std::string out;
  for (const std::string_view name : kNames) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

}  // namespace

bool isValidDeviceType(DeviceType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < COMPILE_TIME_MAX_DEVICE_TYPES;
}

std::string DeviceTypeName(DeviceType type, bool lower_case) {
  TORCH_CHECK(isValidDeviceType(type), "Unknown device: ", static_cast<int>(type));
  std::string name(kNames[static_cast<size_t>(type)]);
  if (!lower_case) {
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

void to_text(std::string& out, DeviceType type) {
  out += DeviceTypeName(type, true);
}
void to_text(std::string& out, const Device& device) {
  out += device.str();
}

Device::Device(const std::string& text) : type_(DeviceType::CPU) {
  TORCH_CHECK(!text.empty(), "Device string must not be empty");
  const size_t colon = text.find(':');
  const std::string_view name = std::string_view(text).substr(0, colon);
  bool valid = !name.empty();
  for (const char c : name) valid = valid && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
  int index = -1;
  if (colon != std::string::npos) {
    const std::string_view digits = std::string_view(text).substr(colon + 1);
    // One spelling a number: no sign, no leading zero, and it fits the index type.
    valid = valid && !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0');
    index = 0;
    for (const char c : digits) {
      valid = valid && c >= '0' && c <= '9';
      if (!valid) break;
      index = index * 10 + (c - '0');
    }
    valid = valid && index <= 127;
  }
  TORCH_CHECK(valid, "Invalid device string: '", text, "'");
  for (int i = 0; i < COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    if (kNames[i] == name) {
      *this = Device(static_cast<DeviceType>(i), static_cast<DeviceIndex>(index));
      return;
    }
  }
  TORCH_CHECK(false, "Expected one of ", all_names(), " device type at start of device string: ", text);
}

std::string Device::str() const {
  std::string out = DeviceTypeName(type_, true);
  if (has_index()) {
    out += ':';
    detail::append_i64(out, index_);
  }
  return out;
}

void Device::bad_index() const {
  TORCH_CHECK(index_ >= -1, "Device index must be -1 or non-negative, got ", static_cast<int>(index_));
  TORCH_CHECK(false, "CPU device index must be -1 or zero, got ", static_cast<int>(index_));
  __builtin_unreachable();
}

}  // namespace c10
