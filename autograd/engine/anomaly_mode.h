#pragma once

#include "autograd/engine/node.h"

namespace torch::autograd {

// Anomaly detection, for the whole process: nodes note which calls made them, an error in backward is reported with the names
// of these calls (and where they lie, for addr2line), and (with check_nan) a gradient that is not a number is an error: "Function 'SqrtBackward0' returned nan values in
// its 0th output.". Slow; for debugging.
struct AnomalyMode {
  static bool is_enabled() { return __atomic_load_n(&enabled_, __ATOMIC_RELAXED); }
  static bool should_check_nan() { return __atomic_load_n(&check_nan_, __ATOMIC_RELAXED); }
  static void set_enabled(bool enabled, bool check_nan = true);

  // Writes the running calls (and the node being evaluated, for second derivatives) into the node's extras.
  static void note_creation(Node& node);
  // Warns with the note of `node`.
  static void report(const Node& node);

 private:
  static bool enabled_;
  static bool check_nan_;
};

// Anomaly mode until the end of the scope.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_before_;
  bool check_nan_before_;
};

}  // namespace torch::autograd
