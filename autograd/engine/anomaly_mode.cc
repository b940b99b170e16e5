#include "autograd/engine/anomaly_mode.h"

#include <string>

#include "autograd/engine/node_extras.h"
#include "c10/util/backtrace.h"
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
  extras.made_at = c10::capture_frames(1);
  extras.made_by = get_current_node();
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
      "Error detected in ", node.name(), ". Traceback of forward call that caused the error:\n",
      c10::describe_frames(extras->made_at));
  // For second derivatives: the node whose backward recorded this one, and so on.
  for (const Node* parent = extras->made_by.get(); parent != nullptr;) {
    const NodeExtras* const its = parent->extras();
    const bool known = its != nullptr && !its->made_at.empty();
    TORCH_WARN(
        "Previous calculation was induced by ", parent->name(), ". ",
        known ? "Traceback of forward call that induced the previous calculation:\n" + c10::describe_frames(its->made_at)
              : "No forward pass information available.");
    parent = its == nullptr ? nullptr : its->made_by.get();
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
