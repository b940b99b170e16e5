#include "distributed/process_group/debug.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <string>

#include "c10/util/env.h"
#include "c10/util/exception.h"

namespace c10d {
namespace {

constexpr int kUnset = -1;
std::atomic<int> level = kUnset;

int level_of_environment() {
  std::string text = c10::utils::get_env("TORCH_DISTRIBUTED_DEBUG").value_or("OFF");
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  if (text.empty() || text == "OFF") return static_cast<int>(DebugLevel::Off);
  if (text == "INFO") return static_cast<int>(DebugLevel::Info);
  TORCH_CHECK_VALUE(text == "DETAIL", "The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, but is '",
                    text, "'.");
  return static_cast<int>(DebugLevel::Detail);
}

}  // namespace

DebugLevel debug_level() {
  if (level == kUnset) setDebugLevelFromEnvironment();
  return static_cast<DebugLevel>(level.load());
}

void setDebugLevel(DebugLevel to) {
  level = static_cast<int>(to);
}

void setDebugLevelFromEnvironment() {
  level = level_of_environment();
}

}  // namespace c10d
