// Replays recorded operator calls through the boxed, by-name path.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "c10/core/device.h"
#include "tests/conformance/case_set.h"

namespace conformance {

struct Options {
  bool grad = true;
  // Each case also with its tensor arguments in transposed and in strided storage, and in the operator's in-place and out=
  // forms; a case passes where all of them give what was recorded.
  bool layouts = false;
  // A name of layers::pass_through_names(): each case is also run through that layer, and gives the same bits. Empty: none.
  std::string layer;
  // Each case so many times more, with the same bits.
  uint64_t repeats = 0;
  // Called before each of them with its number, from 0.
  std::function<void(uint64_t)> before_repeat;
  // Each case also with tensors on meta, which have no elements: all results have the sizes, strides and dtypes that
  // the CPU gives. Those of needs_elements.h may refuse.
  bool meta = false;
  // Only cases of operators that have a decomposition, which runs in place of the kernel and calls nothing but core
  // operators; results are compared, gradients are not. Operators without one have no cases.
  bool decompositions = false;
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Runs a recorded call and its backward pass, if set. It may run each several times; what the last run gave is compared.
  std::function<void(const std::function<void()>&)> runner;
};

enum class Outcome { kPassed, kFailed, kSkipped };

struct CaseFailure {
  size_t number = 0;
  std::string form;   // "", "transposed", "in-place", ...
  std::string where;  // "result 0", "gradient 1", "call"
  int64_t index = -1;
  std::string got, expected;

  std::string text() const;
};

// What became of the cases of one overload.
struct OperatorReport {
  std::string name;    // "softmax@int"
  std::string family;  // "softmax"; "none" where there is no such operator
  size_t passed = 0, failed = 0, skipped = 0;
  size_t refused = 0;  // of those that passed: on meta there is no answer
  std::string skip_reason;
  std::vector<CaseFailure> failures;
};

// Replays the cases of one overload. Throws BadSet where its files are damaged.
OperatorReport replay_operator(const CaseSet& set, const std::string& name, const Options& options);

}  // namespace conformance
