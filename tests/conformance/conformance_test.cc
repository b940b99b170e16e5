// Replays the checked-in recordings of //tests/conformance:record.py, a test case for each overload and mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "c10/dispatch/registry.h"
#include "tests/conformance/case_set.h"
#include "tests/conformance/core_operators.h"
#include "tests/conformance/replay.h"

namespace conformance {
namespace {

const CaseSet& first_families() {
  static const CaseSet set("tests/conformance/first_families.tar.gz");
  return set;
}
const CaseSet& newer() {
  static const CaseSet set("tests/conformance/newer.tar.gz");
  return set;
}

const CaseSet& gradients() {
  static const CaseSet set("tests/conformance/gradients.tar.gz");
  return set;
}

const CaseSet& shapes() {
  static const CaseSet set("tests/conformance/shapes.tar.gz");
  return set;
}

const CaseSet& nested() {
  static const CaseSet set("tests/conformance/nested.tar.gz");
  return set;
}

const CaseSet& quantized() {
  static const CaseSet set("tests/conformance/quantized.tar.gz");
  return set;
}

const CaseSet& sparse() {
  static const CaseSet set("tests/conformance/sparse.tar.gz");
  return set;
}

using Recording = std::pair<const CaseSet*, std::string>;

std::vector<Recording> all_of(const CaseSet& set) {
  std::vector<Recording> all;
  for (const std::string& name : set.names()) all.emplace_back(&set, name);
  return all;
}

std::vector<Recording> decomposed(const CaseSet& set) {
  std::vector<Recording> all;
  for (const std::string& name : set.names()) {
    const size_t dot = name.find('@');
    const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    const auto op = c10::Dispatcher::singleton().findSchema("aten::" + name.substr(0, dot), overload);
    if (op && is_decomposed(*op)) all.emplace_back(&set, name);
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<Recording>& info) {
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

TEST_P(Conformance, AsRecorded) { replay([](Options&) {}); }
TEST_P(Conformance, ThroughLayers) { replay([](Options& o) { o.layer = "all"; }); }
TEST_P(Conformance, Layouts) { replay([](Options& o) { o.layouts = true; }); }
TEST_P(Conformance, OnAPluginDevice) { replay([](Options& o) { o.device = "shadow:0"; }); }
TEST_P(Conformance, OnMeta) {
  replay([](Options& o) { o.meta = true; });
}

INSTANTIATE_TEST_SUITE_P(FirstFamilies, Conformance, testing::ValuesIn(all_of(first_families())), test_name);
INSTANTIATE_TEST_SUITE_P(Newer, Conformance, testing::ValuesIn(all_of(newer())), test_name);
INSTANTIATE_TEST_SUITE_P(Gradients, Conformance, testing::ValuesIn(all_of(gradients())), test_name);
INSTANTIATE_TEST_SUITE_P(Shapes, Conformance, testing::ValuesIn(all_of(shapes())), test_name);

// Nested, quantized (with the operators of torch.ops.quantized) and sparse tensors have one device. Their parts, and the dense
// tensors beside them, lie in several ways.
class OnTheCpu : public Conformance {};
TEST_P(OnTheCpu, AsRecorded) { replay([](Options&) {}); }
TEST_P(OnTheCpu, Layouts) { replay([](Options& o) { o.layouts = true; }); }
INSTANTIATE_TEST_SUITE_P(Nested, OnTheCpu, testing::ValuesIn(all_of(nested())), test_name);
INSTANTIATE_TEST_SUITE_P(Quantized, OnTheCpu, testing::ValuesIn(all_of(quantized())), test_name);
INSTANTIATE_TEST_SUITE_P(Sparse, OnTheCpu, testing::ValuesIn(all_of(sparse())), test_name);

// In place of the kernels, where an operator has one.
class Decompositions : public Conformance {};
TEST_P(Decompositions, CallCoreOperators) { replay([](Options& o) { o.decompositions = true; }); }
INSTANTIATE_TEST_SUITE_P(FirstFamilies, Decompositions, testing::ValuesIn(decomposed(first_families())), test_name);
INSTANTIATE_TEST_SUITE_P(Newer, Decompositions, testing::ValuesIn(decomposed(newer())), test_name);
INSTANTIATE_TEST_SUITE_P(Gradients, Decompositions, testing::ValuesIn(decomposed(gradients())), test_name);
INSTANTIATE_TEST_SUITE_P(Shapes, Decompositions, testing::ValuesIn(decomposed(shapes())), test_name);

TEST(ConformanceSet, HasAllOverloads) {
  EXPECT_EQ(first_families().names().size(), 345u);
  EXPECT_EQ(gradients().names().size(), 61u);
  EXPECT_EQ(nested().names().size(), 83u);
  EXPECT_EQ(quantized().names().size(), 191u);
  EXPECT_EQ(newer().names().size(), 41u);
  EXPECT_EQ(shapes().names().size(), 105u);
  EXPECT_EQ(sparse().names().size(), 249u);
}

}  // namespace
}  // namespace conformance
