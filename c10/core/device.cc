#include "c10/core/device.h"

#include <string_view>

#include "c10/util/exception.h"

namespace c10 {
namespace {

// In place: pointers would have to be relocated.
constexpr char kNames[COMPILE_TIME_MAX_DEVICE_TYPES][14] = {
    "cpu",    "cuda",  "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla",
    "vulkan", "metal", "xpu",    "mps",    "meta",   "hpu",   "ve",  "lazy", "ipu",  "mtia", "privateuseone",
};

// The name that register_privateuse1_backend gave; never freed.
constinit const std::string* g_privateuse1_name = nullptr;

std::string_view name_of(DeviceType type) {
  if (type == DeviceType::PrivateUse1) {
    if (const std::string* given = __atomic_load_n(&g_privateuse1_name, __ATOMIC_ACQUIRE)) return *given;
  }
  return kNames[static_cast<size_t>(type)];
}

// In PyTorch's order; the last one is privateuseone, which a program may have renamed.
constexpr const char* kNamesInErrors =
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, ";

bool is_name(std::string_view text) {
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) return false;
  }
  return !text.empty();
}

}  // namespace

bool isValidDeviceType(DeviceType type) {
  return static_cast<int>(type) >= 0 && static_cast<int>(type) < COMPILE_TIME_MAX_DEVICE_TYPES;
}

std::string DeviceTypeName(DeviceType type, bool lower_case) {
  TORCH_CHECK(isValidDeviceType(type), "Unknown device: ", static_cast<int>(type));
  std::string name(name_of(type));
  if (!lower_case) {
    for (char& c : name) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

void register_privateuse1_backend(const std::string& name) {
  TORCH_CHECK(is_name(name), "register_privateuse1_backend: a name consists of letters and '_', got '", name, "'");
  for (int type = 0; type < static_cast<int>(DeviceType::PrivateUse1); ++type) {
    TORCH_CHECK(std::string_view(kNames[type]) != name, "register_privateuse1_backend: '", name, "' is the name of another device type");
  }
  const std::string* fresh = new std::string(name);
  const std::string* given = nullptr;
  if (__atomic_compare_exchange_n(&g_privateuse1_name, &given, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  delete fresh;
  TORCH_CHECK(*given == name, "torch.register_privateuse1_backend() has already been set! Current backend: ", *given);
}

std::string get_privateuse1_backend(bool lower_case) { return DeviceTypeName(DeviceType::PrivateUse1, lower_case); }

bool is_privateuse1_backend_registered() {
  return __atomic_load_n(&g_privateuse1_name, __ATOMIC_ACQUIRE) != nullptr;
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
  bool valid = is_name(name);
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
    if (name_of(static_cast<DeviceType>(i)) == name) {
      *this = Device(static_cast<DeviceType>(i), static_cast<DeviceIndex>(index));
      return;
    }
  }
  TORCH_CHECK(false, "Expected one of ", kNamesInErrors, name_of(DeviceType::PrivateUse1), " device type at start of device string: ", text);
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
