// Plans and results as bytes that ranks send each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/checkpoint/planner.h"
#include "distributed/checkpoint/storage.h"

namespace torch::distributed::checkpoint::detail {

class WireWriter {
 public:
  void number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Throws DistBackendError for bytes that end too early.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number();
  std::string text();
  /// Of things that follow, each of at least 8 bytes.
  size_t count();

 private:
  std::string_view take(uint64_t bytes);
  std::string_view bytes_;
};

std::string to_bytes(const SavePlan& plan);
SavePlan save_plan_of(std::string_view bytes);
std::string to_bytes(const LoadPlan& plan);
LoadPlan load_plan_of(std::string_view bytes);
std::string to_bytes(const std::vector<WriteResult>& results);
std::vector<WriteResult> results_of(std::string_view bytes);

}  // namespace torch::distributed::checkpoint::detail
