// Replays the checked-in recordings of //tests/conformance:record.py, a test case for each overload and mode.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c10/dispatch/registry.h"
#include "tests/conformance/checked_in.h"
#include "tests/conformance/core_operators.h"

namespace conformance {
namespace {

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
