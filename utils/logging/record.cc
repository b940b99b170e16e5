// "dispatch" and "autograd": callbacks that are there while they are asked for.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "aten/core/record_function.h"
#include "c10/util/exception.h"
#include "utils/logging/logging.h"

namespace torch::_logging {
namespace {

std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& range) {
  KD_LOG_ARTIFACT(kDispatch) << range.name();
  return nullptr;
}
std::unique_ptr<at::ObserverContext> on_node(const at::RecordFunction& range) {
  KD_LOG_COMPONENT(kAutograd, DEBUG) << "Executing: " << range.name() << ", seq = " << range.seqNr();
  return nullptr;
}

struct Callback {
  at::RecordFunctionCallback::StartCallback start;
  at::RecordScope scope;
  at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

  void want(bool wanted) {
    if (wanted == (handle != at::INVALID_CALLBACK_HANDLE)) return;
    if (wanted) {
      handle = at::addGlobalCallback(at::RecordFunctionCallback(start).scopes({scope}));
    } else {
      at::removeCallback(std::exchange(handle, at::INVALID_CALLBACK_HANDLE));
    }
  }
};

void update() {
  static std::mutex mutex;
  static Callback operators{&on_operator, at::RecordScope::FUNCTION};
  static Callback nodes{&on_node, at::RecordScope::BACKWARD_FUNCTION};
  const std::lock_guard lock(mutex);
  operators.want(is_on(Artifact::kDispatch));
  nodes.want(is_on(Component::kAutograd, DEBUG));
}

[[maybe_unused]] const bool kReady = [] {
  detail::on_change = &update;
  try {
    update();
  } catch (const c10::Error& error) {
    // TORCH_LOGS is wrong, or asks for help.
    std::fprintf(stderr, "%s\n", error.msg().c_str());
    ::_exit(1);
  }
  return true;
}();

}  // namespace
}  // namespace torch::_logging
