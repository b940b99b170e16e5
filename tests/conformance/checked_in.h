// The checked-in recordings, as values of parametrised tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/case_set.h"
#include "tests/conformance/replay.h"

namespace conformance {

inline const CaseSet& first_families() {
  static const CaseSet set("tests/conformance/first_families.tar.gz");
  return set;
}
inline const CaseSet& newer() {
  static const CaseSet set("tests/conformance/newer.tar.gz");
  return set;
}

inline const CaseSet& gradients() {
  static const CaseSet set("tests/conformance/gradients.tar.gz");
  return set;
}

inline const CaseSet& shapes() {
  static const CaseSet set("tests/conformance/shapes.tar.gz");
  return set;
}

inline const CaseSet& nested() {
  static const CaseSet set("tests/conformance/nested.tar.gz");
  return set;
}

inline const CaseSet& quantized() {
  static const CaseSet set("tests/conformance/quantized.tar.gz");
  return set;
}

inline const CaseSet& sparse() {
  static const CaseSet set("tests/conformance/sparse.tar.gz");
  return set;
}

using Recording = std::pair<const CaseSet*, std::string>;

inline std::vector<Recording> all_of(const CaseSet& set) {
  std::vector<Recording> all;
  for (const std::string& name : set.names()) all.emplace_back(&set, name);
  return all;
}

inline std::string test_name(const testing::TestParamInfo<Recording>& info) {
  std::string name = info.param.second;
  std::replace(name.begin(), name.end(), '@', '_');
  // Two marks, since some operators have a name as that of another namespace's: quantized_batch_norm.
  if (const size_t dot = name.find('.'); dot != std::string::npos) name.replace(dot, 1, "__");
  return name;
}

class Conformance : public testing::TestWithParam<Recording> {
 protected:
  void replay(void (*choose)(Options&)) {
    const auto& [set, name] = GetParam();
    Options options;
    choose(options);
    const OperatorReport report = replay_operator(*set, name, options);
    for (const CaseFailure& failure : report.failures) ADD_FAILURE() << name << ": " << failure.text();
    EXPECT_EQ(report.skipped, 0u) << report.skip_reason;
    EXPECT_GT(report.passed, 0u);
  }
};

}  // namespace conformance
