#include "compile/group/group_compiler.h"

#include <array>
#include <atomic>

#include "c10/util/exception.h"

namespace torch::compiler {
namespace {

using Compilers =
    std::array<std::atomic<const GroupCompiler*>, static_cast<size_t>(c10::COMPILE_TIME_MAX_DEVICE_TYPES)>;

Compilers& compilers() {
  static Compilers all{};
  return all;
}

}  // namespace

void register_group_compiler(c10::DeviceType type, const GroupCompiler& compiler) {
  const GroupCompiler* before = nullptr;
  TORCH_CHECK(compilers().at(static_cast<size_t>(type)).compare_exchange_strong(before, &compiler), "groups of ",
              c10::DeviceTypeName(type), " tensors have a compiler already");
}
const GroupCompiler* group_compiler(c10::DeviceType type) {
  return compilers().at(static_cast<size_t>(type)).load(std::memory_order_acquire);
}

}  // namespace torch::compiler
