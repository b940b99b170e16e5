#include "tests/layers/pass_through.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "aten/core/dispatch_mode.h"
#include "aten/core/library.h"
#include "aten/core/record_function.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace layers {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::Stack;

constexpr DispatchKey kKeys[] = {DispatchKey::Wrapper,         DispatchKey::Functionalize, DispatchKey::ADInplaceOrView,
                                 DispatchKey::Tracer,          DispatchKey::AutocastCPU,   DispatchKey::AutocastPrivateUse1,
                                 DispatchKey::FuncTorchBatched};
constexpr const char* kObserver = "Profiler";
constexpr const char* kMode = "DispatchMode";
constexpr const char* kAll = "all";

std::atomic<int64_t> g_calls{0};

void pass_on(const c10::OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  ++g_calls;
  op.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, keys.highestPriorityTypeId()), stack);
}

struct PassOn final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, DispatchKeySet, Stack* stack) override {
    ++g_calls;
    op.callBoxed(*stack);
  }
};

std::unique_ptr<at::ObserverContext> observe(const at::RecordFunction&) {
  ++g_calls;
  return nullptr;
}

}  // namespace

struct PassThrough::Installed {
  std::vector<torch::Library> libraries;
  std::optional<c10::IncludeDispatchKeyGuard> keys;
  PassOn mode;
  std::optional<at::DispatchModeGuard> mode_on;
  std::optional<at::CallbackHandle> observer;

  ~Installed() {
    if (observer.has_value()) at::removeCallback(*observer);
  }
};

const std::vector<std::string>& pass_through_names() {
  static const std::vector<std::string>& names = *[] {
    auto* all = new std::vector<std::string>;
    for (const DispatchKey key : kKeys) all->push_back(c10::toString(key));
    all->insert(all->end(), {kObserver, kMode, kAll});
    return all;
  }();
  return names;
}

PassThrough::PassThrough(const std::string& name) : installed_(std::make_unique<Installed>()) {
  const auto& names = pass_through_names();
  TORCH_CHECK_VALUE(std::find(names.begin(), names.end(), name) != names.end(), "no layer to pass through: ", name);
  const bool all = name == kAll;
  DispatchKeySet keys;
  for (const DispatchKey key : kKeys) {
    if (!all && name != c10::toString(key)) continue;
    torch::Library& library = installed_->libraries.emplace_back(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&pass_on>());
    keys |= key;
  }
  if (!keys.empty()) installed_->keys.emplace(keys);
  if (all || name == kMode) installed_->mode_on.emplace(installed_->mode);
  if (all || name == kObserver) {
    const auto callback = at::RecordFunctionCallback(&observe).needsInputs(true).needsOutputs(true);
    installed_->observer = at::addThreadLocalCallback(callback);
  }
}

PassThrough::~PassThrough() = default;

int64_t PassThrough::calls() { return g_calls; }

}  // namespace layers
