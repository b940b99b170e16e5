#include "autograd/engine/anomaly_mode.h"

#include <string>

#include "autograd/engine/engine.h"
#include "autograd/engine/node_extras.h"
#include "c10/util/exception.h"

namespace torch::autograd {

constinit bool AnomalyMode::enabled_ = false;
constinit bool AnomalyMode::check_nan_ = true;

void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  __atomic_store_n(&enabled_, enabled, __ATOMIC_RELAXED);
  __atomic_store_n(&check_nan_, check_nan, __ATOMIC_RELAXED);
}

void AnomalyMode::note_creation(Node& node) {
  NodeExtras& extras = node.mutable_extras();
  extras.made_at = c10::get_backtrace(1);
  if (const Node* evaluated = Engine::current_node()) {
    extras.made_by = evaluated->name();
    if (evaluated->extras() != nullptr && !evaluated->extras()->made_at.empty()) {
      extras.made_by += ", which was made at:\n" + evaluated->extras()->made_at;
    }
  }
}

void AnomalyMode::report(const Node& node) {
  const NodeExtras* extras = node.extras();
  if (extras == nullptr || extras->made_at.empty()) {
    TORCH_WARN(
        "Error detected in ", node.name(),
        ". No forward pass information available. Enable detect anomaly during forward pass for more information.");
    return;
  }
  TORCH_WARN(
      "Error detected in ", node.name(), ". Traceback of forward call that caused the error:\n", extras->made_at);
  if (!extras->made_by.empty()) {
    TORCH_WARN("It was recorded while differentiating ", extras->made_by);
  }
}

DetectAnomalyGuard::DetectAnomalyGuard(bool check_nan)
    : enabled_before_(AnomalyMode::is_enabled()), check_nan_before_(AnomalyMode::should_check_nan()) {
  AnomalyMode::set_enabled(true, check_nan);
}

DetectAnomalyGuard::~DetectAnomalyGuard() {
  AnomalyMode::set_enabled(enabled_before_, check_nan_before_);
}

}  // namespace torch::autograd
