#include <cstdlib>
#include <optional>
#include <string_view>

#include "aten/cuda/blas/blas.h"
#include "c10/cuda/device.h"
#include "c10/util/exception.h"

namespace at::cuda::blas {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMostKiB = size_t{1} << 30;

// Digits at the front of `text`, which are taken off.
std::optional<size_t> take_number(std::string_view& text) {
  size_t value = 0, digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + static_cast<size_t>(text[digits++] - '0');
    if (value > kMostKiB) return std::nullopt;
  }
  text.remove_prefix(digits);
  return digits == 0 ? std::nullopt : std::optional<size_t>(value);
}

// ":4096:2:16:8": pairs of KiB and how often.
std::optional<size_t> parse_config(std::string_view text) {
  size_t total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    size_t pair[2];
    for (size_t& number : pair) {
      if (text.empty() || text.front() != ':') return std::nullopt;
      text.remove_prefix(1);
      const std::optional<size_t> taken = take_number(text);
      if (!taken) return std::nullopt;
      number = *taken;
    }
    total += pair[0] * pair[1];
    if (total > kMostKiB) return std::nullopt;
  }
  return total * kKiB;
}

// What CUBLASLT_WORKSPACE_SIZE says; nullopt: nothing.
std::optional<size_t> read_size() {
  const char* const size = std::getenv("CUBLASLT_WORKSPACE_SIZE");
  if (size == nullptr) return std::nullopt;
  std::string_view text = size;
  const std::optional<size_t> number = take_number(text);
  if (number && text.empty()) return *number * kKiB;
  TORCH_WARN("CUBLASLT_WORKSPACE_SIZE is no number of KiB: ", size, "; the default is used");
  return std::nullopt;
}

std::optional<size_t> read_config() {
  const char* const config = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  if (config == nullptr) return std::nullopt;
  const std::optional<size_t> bytes = parse_config(config);
  if (!bytes) TORCH_WARN("Could not parse CUBLAS_WORKSPACE_CONFIG, ", config, "; the default is used");
  return bytes;
}

}  // namespace

size_t configured_workspace_bytes(int device) {
  static const std::optional<size_t> configured = read_config();
  if (configured) return *configured;
  const bool large = at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device))->major >= 9;
  return (large ? 32 * 1024 : 2 * 4096 + 8 * 16) * kKiB;
}

size_t workspace_bytes(int device) {
  static const std::optional<size_t> wanted = read_size();
  return wanted ? *wanted : configured_workspace_bytes(device);
}

}  // namespace at::cuda::blas
