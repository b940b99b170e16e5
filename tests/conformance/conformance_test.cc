// Replays the checked-in recordings of //tests/conformance:record.py, a test case for each overload and mode.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/case_set.h"
#include "tests/conformance/replay.h"

namespace conformance {
namespace {

const CaseSet& recordings() {
  static const CaseSet set("tests/conformance/first_families.tar.gz");
  return set;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  void replay(bool layouts) {
    Options options;
    options.layouts = layouts;
    const OperatorReport report = replay_operator(recordings(), GetParam(), options);
    for (const CaseFailure& failure : report.failures) ADD_FAILURE() << GetParam() << ": " << failure.text();
    EXPECT_EQ(report.skipped, 0u) << report.skip_reason;
    EXPECT_GT(report.passed, 0u);
  }
};

TEST_P(Conformance, AsRecorded) { replay(false); }
TEST_P(Conformance, Layouts) { replay(true); }

INSTANTIATE_TEST_SUITE_P(FirstFamilies, Conformance, testing::ValuesIn(recordings().names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '@', '_');
  return name;
});

TEST(ConformanceSet, HasAllOverloads) {
  const CaseSet& set = recordings();
  EXPECT_EQ(set.names().size(), 345u);
}

}  // namespace
}  // namespace conformance
