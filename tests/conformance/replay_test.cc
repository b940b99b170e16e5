#include "tests/conformance/replay.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "aten/core/empty.h"
#include "aten/core/library.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/dispatch/registry.h"
#include "c10/memory/allocator.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/case_set.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/factors.h"
#include "tests/layers/pass_through.h"
#include "utils/serialize/safetensors.h"

namespace conformance {
namespace {

namespace fs = std::filesystem;
using at::Tensor;
using c10::ScalarType;
using Json = nlohmann::json;

Tensor values(std::vector<double> numbers, ScalarType dtype = ScalarType::Float) {
  const Tensor t = at::empty_contiguous({static_cast<int64_t>(numbers.size())}, ScalarType::Double);
  std::copy(numbers.begin(), numbers.end(), t.data_ptr<double>());
  return at::to(t, dtype);
}

Json reference(const char* key, std::vector<int64_t> size, const char* dtype = "float32", bool grad = false) {
  Json json = {{"tensor", key}, {"dtype", dtype}, {"size", size}};
  if (grad) json["requires_grad"] = true;
  return json;
}

// A folder of its own for each test.
class ReplayTest : public testing::Test {
 protected:
  ReplayTest() : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void write(const std::string& file, const std::string& bytes) const { std::ofstream(folder_ / file, std::ios::binary) << bytes; }

  void write_case(const std::string& name, const Json& one, const torch::safetensors::NamedTensors& blobs) const {
    std::string op = "aten::" + name;
    std::replace(op.begin(), op.end(), '@', '.');
    write(name + ".json", Json{{"op", op}, {"cases", Json::array({one})}}.dump());
    torch::safetensors::save_file(blobs, folder_ / (name + ".safetensors"));
  }

  OperatorReport replay(const std::string& name, bool layouts = false, bool grad = true) const {
    Options options;
    options.layouts = layouts;
    options.grad = grad;
    return replay_operator(CaseSet(folder_), name, options);
  }

  // The one failure of a case, as text.
  std::string failure(const std::string& name, bool layouts = false) const {
    const OperatorReport report = replay(name, layouts);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(report.passed + report.skipped, 0u);
    return report.failures.empty() ? "" : report.failures[0].text();
  }

  // What is wrong with the set, which is one line.
  std::string damage(const std::string& name) const {
    try {
      replay(name);
    } catch (const BadSet& e) {
      const std::string message = e.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_NE(message.find(folder_.string()), std::string::npos) << message;
      return message;
    }
    ADD_FAILURE() << "taken as sound";
    return "";
  }

  const fs::path folder_;
};

// mul.Tensor of [1, 2] and [3, 4] with its gradients for the cotangent [1, 10].
struct Product {
  Json json = {{"args", Json::array({reference("a", {2}, "float32", true), reference("b", {2}, "float32", true)})},
               {"kwargs", Json::object()},
               {"outputs", Json::array({reference("out", {2})})},
               {"grad", {{"outputs", Json::array({reference("g", {2})})}, {"inputs", Json::array({reference("ga", {2}), reference("gb", {2})})}}}};
  torch::safetensors::NamedTensors blobs = {{"a", values({1, 2})},   {"b", values({3, 4})},    {"out", values({3, 8})},
                                            {"g", values({1, 10})}, {"ga", values({3, 40})}, {"gb", values({1, 20})}};
  void set(const std::string& key, Tensor value) {
    for (auto& [name, tensor] : blobs) {
      if (name == key) tensor = value;
    }
  }
};

TEST_F(ReplayTest, PassesWhatIsRight) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  for (const bool layouts : {false, true}) {
    const OperatorReport report = replay("mul@Tensor", layouts);
    EXPECT_EQ(report.passed, 1u);
    EXPECT_EQ(report.failed, 0u);
    EXPECT_EQ(report.family, "binary");
  }
}

TEST_F(ReplayTest, PlantedValue) {
  Product p;
  p.set("out", values({3, 8.01}));
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, result 0, index 1: got 8, expected 8.01000023");
}

TEST_F(ReplayTest, PlantedDtype) {
  Product p;
  p.set("out", values({3, 8}, ScalarType::Double));
  p.json["outputs"][0]["dtype"] = "float64";
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, result 0: got dtype Float, expected Double");
}

TEST_F(ReplayTest, PlantedSize) {
  Product p;
  p.json["outputs"][0]["size"] = {1, 2};
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, result 0: got size [2], expected [1, 2]");
}

TEST_F(ReplayTest, PlantedGradient) {
  Product p;
  p.set("gb", values({1, 20.1}));
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, gradient 1, index 1: got 20, expected 20.1000004");
  EXPECT_EQ(replay("mul@Tensor", false, /*grad=*/false).passed, 1u);
}

TEST_F(ReplayTest, PlantedGradientThatIsNone) {
  Product p;
  p.json["grad"]["inputs"][0] = nullptr;
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, gradient 0, index 0: got 3, expected 0");
}

TEST_F(ReplayTest, PlantedChangeOfAnArgument) {
  Json json = {{"args", Json::array({Json::array({reference("a", {2}), reference("b", {2})}), 2})},
               {"kwargs", Json::object()},
               {"outputs", Json::array()},
               {"mutated", {{"self", Json::array({reference("a2", {2}), reference("b2", {2})})}}}};
  torch::safetensors::NamedTensors blobs = {
      {"a", values({1, 2})}, {"b", values({3, 4})}, {"a2", values({2, 4})}, {"b2", values({6, 8})}};
  write_case("_foreach_mul_@Scalar", json, blobs);
  EXPECT_EQ(replay("_foreach_mul_@Scalar", false).passed, 1u);
  blobs[3].second = values({6, 9});
  write_case("_foreach_mul_@Scalar", json, blobs);
  EXPECT_EQ(failure("_foreach_mul_@Scalar"), "case 0, self after the call, index 1: got 8, expected 9");
  json["mutated"] = {{"other", Json::array()}};
  write_case("_foreach_mul_@Scalar", json, blobs);
  EXPECT_NE(failure("_foreach_mul_@Scalar").find("\"mutated\" names no argument: other"), std::string::npos);
}

TEST_F(ReplayTest, PlantedNumberOfResults) {
  Product p;
  p.json["outputs"].push_back(reference("out", {2}));
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure("mul@Tensor"), "case 0, results: got 1, expected 2");
}

TEST_F(ReplayTest, PlantedScalar) {
  const Json one = {{"args", Json::array({reference("a", {2}), reference("a", {2})})}, {"kwargs", Json::object()}, {"outputs", Json::array({false})}};
  write_case("equal", one, {{"a", values({1, 2})}});
  EXPECT_EQ(failure("equal"), "case 0, result 0: got true, expected false");
}

TEST_F(ReplayTest, PlantedError) {
  Product p;
  p.json["args"][1] = reference("c", {3}, "float32", true);
  p.blobs.emplace_back("c", values({1, 2, 3}));
  write_case("mul@Tensor", p.json, p.blobs);
  const std::string text = failure("mul@Tensor");
  EXPECT_NE(text.find("case 0, call: got an error: The size of tensor a (2) must match"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST_F(ReplayTest, EveryMismatchIsCounted) {
  Product right, wrong;
  wrong.json["outputs"][0]["size"] = {1, 2};
  write("mul@Tensor.json", Json{{"op", "aten::mul.Tensor"}, {"cases", {right.json, wrong.json, wrong.json}}}.dump());
  torch::safetensors::save_file(right.blobs, folder_ / "mul@Tensor.safetensors");
  const OperatorReport report = replay("mul@Tensor");
  EXPECT_EQ(report.passed, 1u);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_EQ(report.failures[0].number, 1u);
  EXPECT_EQ(report.failures[1].number, 2u);
}

TEST_F(ReplayTest, UnknownOperatorIsSkipped) {
  const Product p;
  write_case("no_such_operator", p.json, p.blobs);
  const OperatorReport report = replay("no_such_operator");
  EXPECT_EQ(report.skipped, 1u);
  EXPECT_EQ(report.skip_reason, "no such operator");
}

TEST_F(ReplayTest, OperatorWithoutAKernelIsSkipped) {
  torch::Library library(torch::Library::FRAGMENT, "aten", std::nullopt, __FILE__, __LINE__);
  library.def("only_a_schema.Tensor(Tensor self, Tensor other) -> Tensor");
  const Product p;
  write_case("only_a_schema@Tensor", p.json, p.blobs);
  const OperatorReport report = replay("only_a_schema@Tensor", false, false);
  EXPECT_EQ(report.skipped, 1u);
  EXPECT_NE(report.skip_reason.find("has no kernel"), std::string::npos) << report.skip_reason;
}

Tensor mul_bypassing(const Tensor& a, const Tensor& b) {
  const c10::ExcludeDispatchKeyGuard off(c10::DispatchKey::Tracer);
  return at::mul(a, b);
}

// A layer's kernel for one operator stands before the handler of all: what it changes is found, however little.
TEST_F(ReplayTest, LayerThatChangesBits) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  Options options;
  for (const std::string& name : layers::pass_through_names()) {
    options.layer = name;
    EXPECT_EQ(replay_operator(CaseSet(folder_), "mul@Tensor", options).passed, 1u) << name;
  }
  const auto failure = [&](auto* kernel) {
    torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Tracer, __FILE__, __LINE__);
    library.impl("mul.Tensor", kernel);
    options.layer = "Tracer";
    const OperatorReport report = replay_operator(CaseSet(folder_), "mul@Tensor", options);
    return report.failures.empty() ? "" : report.failures[0].text();
  };
  EXPECT_EQ(failure(+[](const Tensor& a, const Tensor& b) { return at::mul(mul_bypassing(a, b), 1 + 1e-7); }),
            "case 0 (Tracer), value 0: got other bits, expected what the plain call gave");
  EXPECT_EQ(failure(+[](const Tensor& a, const Tensor& b) { return mul_bypassing(a.detach(), b); }),
            "case 0 (Tracer), gradient 0, index 0: got 0, expected 3");
}

// The kernel of mul.Tensor for meta, and what the replay says of it.
std::string failure_on_meta(const fs::path& folder, Tensor (*kernel)(const Tensor&, const Tensor&)) {
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
  library.impl("mul.Tensor", kernel);
  Options options;
  options.meta = true;
  const OperatorReport report = replay_operator(CaseSet(folder), "mul@Tensor", options);
  EXPECT_EQ(report.passed, report.failures.empty() ? 1u : 0u);
  return report.failures.empty() ? "" : report.failures[0].text();
}

Tensor on_meta(at::IntArrayRef sizes, at::IntArrayRef strides, ScalarType dtype = ScalarType::Float) {
  return at::empty_with_strides(sizes, strides, dtype, c10::Device(c10::DeviceType::Meta));
}

TEST_F(ReplayTest, MetaGivesSizesStridesAndDtypesOfTheCpu) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(failure_on_meta(
                folder_, +[](const Tensor& a, const Tensor&) { return on_meta({2}, {1}); }),
            "");
  EXPECT_EQ(failure_on_meta(
                folder_, +[](const Tensor& a, const Tensor&) { return on_meta({3}, {1}); }),
            "case 0 (meta), result 0: got size [3] for [2], expected what the CPU gives");
  EXPECT_EQ(failure_on_meta(
                folder_, +[](const Tensor& a, const Tensor&) { return on_meta({2}, {2}); }),
            "case 0 (meta), result 0: got strides [2] for [1] of size [2], expected what the CPU gives");
  EXPECT_EQ(failure_on_meta(
                folder_, +[](const Tensor& a, const Tensor&) { return on_meta({2}, {1}, ScalarType::Double); }),
            "case 0 (meta), result 0: got dtype Double for Float, expected what the CPU gives");
  EXPECT_EQ(failure_on_meta(
                folder_, +[](const Tensor& a, const Tensor&) { return at::empty_contiguous({2}, ScalarType::Float); }),
            "case 0 (meta), result 0: got device cpu, expected what the CPU gives");
  const auto refuses = +[](const Tensor& a, const Tensor&) -> Tensor { TORCH_CHECK(false, "no rule"); };
  EXPECT_EQ(failure_on_meta(folder_, refuses),
            "case 0 (meta), call: got an error: no rule, expected what the CPU gives");
}

TEST_F(ReplayTest, WhatNeedsElementsMayRefuseMeta) {
  write_case(
      "nonzero",
      {{"args", {reference("a", {2})}}, {"kwargs", Json::object()}, {"outputs", {reference("i", {1, 1}, "int64")}}},
      {{"a", values({0, 1})}, {"i", values({1}, ScalarType::Long)}});
  Options options;
  options.meta = true;
  OperatorReport report = replay_operator(CaseSet(folder_), "nonzero", options);
  EXPECT_EQ(report.passed, 1u);
  EXPECT_EQ(report.refused, 1u);
  // One that answers is no longer one of them.
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
  library.impl(
      "nonzero", +[](const Tensor&) {
        return on_meta({1, 1}, {1, 1}, ScalarType::Long);
      });
  report = replay_operator(CaseSet(folder_), "nonzero", options);
  ASSERT_EQ(report.failed, 1u);
  EXPECT_EQ(report.failures[0].text(),
            "case 0 (meta), call: got an answer, expected a refusal: a row for each element that is not zero");
}

// A call that names an overload for numbers and gives a tensor reaches the one for tensors.
TEST_F(ReplayTest, OverloadByArguments) {
  const Json one = {{"args", {reference("a", {3}), reference("i", {2}, "int64"), 0}},
                    {"kwargs", Json::object()},
                    {"outputs", {reference("a", {1}), reference("b", {1}), reference("c", {1})}}};
  write_case("tensor_split@indices", one,
             {{"a", values({1, 2, 3})}, {"b", values({2})}, {"c", values({3})}, {"i", values({1, 2}, ScalarType::Long)}});
  EXPECT_EQ(replay("tensor_split@indices").passed, 1u);
}

TEST(Compare, Tolerances) {
  struct Row {
    ScalarType dtype;
    double expected, near, far;
  };
  const Row rows[] = {{ScalarType::Double, 2, 2 + 2.9e-7, 2 + 3.1e-7},
                      {ScalarType::Float, 2, 2 + 4.5e-5, 2 + 4.8e-5},
                      {ScalarType::BFloat16, 2, 2 + 0x1p-5, 2 + 0x1p-4},
                      {ScalarType::Half, 2, 2 + 0x1p-9, 2 + 0x1p-8}};
  for (const Row& row : rows) {
    const Tensor expected = values({row.expected}, row.dtype);
    EXPECT_FALSE(difference(values({row.near}, row.dtype), expected)) << c10::toString(row.dtype);
    EXPECT_TRUE(difference(values({row.far}, row.dtype), expected)) << c10::toString(row.dtype);
    EXPECT_FALSE(difference(values({row.far}, row.dtype), expected, 10)) << c10::toString(row.dtype);
  }
  EXPECT_TRUE(difference(values({1}, ScalarType::Long), values({2}, ScalarType::Long), 10));
  EXPECT_FALSE(difference(values({NAN, INFINITY}), values({NAN, INFINITY})));
  EXPECT_TRUE(difference(values({NAN}), values({0})));
  EXPECT_TRUE(difference(values({0}), values({NAN})));
  EXPECT_TRUE(difference(values({INFINITY}), values({-INFINITY})));
  EXPECT_TRUE(difference(values({1e38}), values({INFINITY})));
}

TEST(Compare, EigenvaluesInAnyOrder) {
  const auto matrix = [](std::vector<double> v) { return at::view(values(v, ScalarType::Double), {2, 2}); };
  const auto complex = [](std::vector<double> real, std::vector<double> imaginary) {
    return at::complex(values(real, ScalarType::Double), values(imaginary, ScalarType::Double));
  };
  const Tensor turn = matrix({0, 2, -2, 0}), recorded = complex({0, 0}, {2, -2}), other_order = complex({0, 0}, {-2, 2});
  // Columns (1, i) and (1, -i), divided by their length.
  const double h = std::sqrt(0.5);
  const Tensor vectors = at::complex(matrix({h, h, 0, 0}), matrix({0, 0, h, -h}));
  bool another_order = false;
  const auto wrong = [&](const char* rule, const Tensor& l, const Tensor& v) {
    std::vector<Tensor> got = {l}, expected = {recorded};
    if (v.defined()) got.push_back(v), expected.push_back(vectors);
    another_order = false;
    return factors_difference(rule, "linalg_eig", got, expected, {turn}, another_order).has_value();
  };
  EXPECT_FALSE(wrong("complex_set", recorded, {}));
  EXPECT_FALSE(another_order);
  EXPECT_FALSE(wrong("complex_set", other_order, {}));
  EXPECT_TRUE(another_order);
  EXPECT_TRUE(wrong("complex_set", complex({0, 0}, {2, 2}), {})) << "the same twice";
  EXPECT_FALSE(wrong("eig", recorded, vectors));
  EXPECT_FALSE(wrong("eig", recorded, at::neg(vectors))) << "another phase";
  EXPECT_FALSE(wrong("eig", other_order, at::flip(vectors, {1})));
  EXPECT_TRUE(wrong("eig", other_order, vectors)) << "vectors of the other value";
  EXPECT_TRUE(wrong("eig", recorded, at::mul(vectors, at::Scalar(2)))) << "another length";
}

TEST(Compare, IndicesThatMayNameAnyOfEqualElements) {
  const Tensor source = values({5, 7, 7, 1, 7});
  const auto longs = [](std::vector<double> v) { return values(v, ScalarType::Long); };
  EXPECT_FALSE(index_difference(longs({4, 1}), longs({1, 2}), source, 0));
  EXPECT_TRUE(index_difference(longs({1, 1}), longs({1, 2}), source, 0)) << "the same twice";
  EXPECT_TRUE(index_difference(longs({1, 0}), longs({1, 2}), source, 0)) << "another element";
  EXPECT_TRUE(index_difference(longs({1, 5}), longs({1, 2}), source, 0)) << "out of range";
  EXPECT_TRUE(has_ties(source, 0));
  EXPECT_FALSE(has_ties(values({1, 2, 3}), 0));
}

TEST_F(ReplayTest, Ties) {
  const auto record = [&](std::vector<double> indices) {
    const Json one = {{"args", {reference("a", {4}), 2}}, {"kwargs", Json::object()}, {"outputs", {reference("v", {2}), reference("i", {2}, "int64")}}};
    write_case("topk", one, {{"a", values({3, 9, 9, 9})}, {"v", values({9, 9})}, {"i", values(indices, ScalarType::Long)}});
  };
  for (const std::vector<double>& any : {std::vector<double>{1, 2}, {3, 1}, {2, 3}}) {
    record(any);
    EXPECT_EQ(replay("topk").passed, 1u);
  }
  record({0, 1});
  EXPECT_NE(failure("topk").find("result 1, index 0"), std::string::npos);
}

// --- the kinds of values that newer sets have ---

TEST_F(ReplayTest, ConjugatesAndNegatives) {
  const auto record = [&](const char* mark, double out) {
    Json a = reference("a", {1}, "complex64"), one = {{"kwargs", Json::object()}, {"outputs", {reference("out", {1})}}};
    if (*mark != 0) a[mark] = true;
    one["args"] = Json::array({a});
    write_case("imag", one, {{"a", values({3, 4})}, {"out", values({out})}});
    return replay("imag").passed == 1;
  };
  EXPECT_TRUE(record("", 4));
  EXPECT_TRUE(record("conj", -4));
  EXPECT_TRUE(record("neg", -4));
  EXPECT_FALSE(record("conj", 4));
  EXPECT_FALSE(record("neg", 4));
}

// Two calls of rand with the seed 42, and what random_() gives after the first.
TEST_F(ReplayTest, SeedsGeneratorsAndTheNumberDrawnNext) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(42);
  std::vector<double> drawn(2);
  for (double& x : drawn) x = static_cast<double>(generator.get<at::CPUGeneratorImpl>()->random() & 0xffffff) * 0x1p-24;
  const int64_t next = static_cast<int64_t>(generator.get<at::CPUGeneratorImpl>()->random64() % (uint64_t{1} << 63));
  const torch::safetensors::NamedTensors blobs = {{"out", values(drawn)}};
  Json one = {{"args", {{2}}},
              {"kwargs", Json::object()},
              {"outputs", {reference("out", {2})}},
              {"seed", 42},
              {"next_random", next}};
  write_case("rand", one, blobs);
  EXPECT_EQ(replay("rand", /*layouts=*/true).passed, 1u);
  one["next_random"] = next + 1;
  write_case("rand", one, blobs);
  EXPECT_EQ(failure("rand"),
            "case 0, the number drawn next: got " + std::to_string(next) + ", expected " + std::to_string(next + 1));
  one["seed"] = 41;
  one.erase("next_random");
  write_case("rand", one, blobs);
  EXPECT_NE(failure("rand").find("result 0, index 0"), std::string::npos);

  // A generator of the call's own is seeded for it, and is the one that goes on.
  one = {{"args", {{2}}},
         {"kwargs", {{"generator", {{"generator", 42}}}}},
         {"outputs", {reference("out", {2})}},
         {"next_random", next}};
  write_case("rand@generator", one, blobs);
  EXPECT_EQ(replay("rand@generator").passed, 1u);
  one["kwargs"]["generator"]["generator"] = -1;
  write_case("rand@generator", one, blobs);
  EXPECT_NE(failure("rand@generator").find("expected a seed"), std::string::npos);
}

TEST_F(ReplayTest, ResultsThatAreNotCompared) {
  Product p;
  p.json["outputs"][0] = {{"any", true}};
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_EQ(replay("mul@Tensor").passed, 1u);
  p.set("ga", values({3, 41}));
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_NE(failure("mul@Tensor").find("gradient 0, index 1"), std::string::npos);

  Json one = {{"args", {{2}}},
              {"kwargs", {{"dtype", {{"dtype", "float64"}}}}},
              {"outputs", {reference("z", {2}, "float64")}},
              {"compare", "size"}};
  const torch::safetensors::NamedTensors zeros = {{"z", values({0, 0}, ScalarType::Double)}};
  write_case("full",
             {{"args", {{2}, 7.5}}, {"kwargs", one["kwargs"]}, {"outputs", one["outputs"]}, {"compare", "size"}},
             zeros);
  EXPECT_EQ(replay("full").passed, 1u);
  write_case("empty@memory_format", one, zeros);
  EXPECT_EQ(replay("empty@memory_format").passed, 1u);
  one["kwargs"]["dtype"]["dtype"] = "float32";
  write_case("empty@memory_format", one, zeros);
  EXPECT_EQ(failure("empty@memory_format"), "case 0, result 0: got dtype Float, expected Double");
}

// --- records that are known to be wrong: taken only with the known fault, and where the result is right ---

Json number_of(double re, double im) { return {{"complex", {re, im}}}; }

class RecorderErrors : public ReplayTest {
 protected:
  // Whether the case passes; `blobs` are the arguments a, b, ... and the result "out".
  bool passes(const std::string& name, Json args, const torch::safetensors::NamedTensors& blobs, Json out, Json grad = nullptr) const {
    Json one = {{"args", std::move(args)}, {"kwargs", Json::object()}, {"outputs", Json::array({std::move(out)})}};
    if (!grad.is_null()) one["grad"] = std::move(grad);
    write_case(name, one, blobs);
    return replay(name).passed == 1;
  }
};

TEST_F(RecorderErrors, ComplexDot) {
  const auto dot = [&](std::vector<double> out) {
    return passes("dot", {reference("a", {2}, "complex64"), reference("a", {2}, "complex64")}, {{"a", values({1, 2, 3, 4})}, {"out", values(out)}},
                  reference("out", {}, "complex64"));
  };
  EXPECT_TRUE(dot({-10, 28}));
  EXPECT_TRUE(dot({0, 0}));
  EXPECT_FALSE(dot({0, 28}));
  EXPECT_FALSE(dot({1, 0}));
}

TEST_F(RecorderErrors, SumsOf16Bits) {
  const auto mv = [&](double out, ScalarType type, const char* name) {
    return passes("mv", {reference("a", {1, 4}, name), reference("b", {4}, name)},
                  {{"a", values({4, 4, -4, -4}, type)}, {"b", values({2, 2, 2, 1}, type)}, {"out", values({out}, type)}}, reference("out", {1}, name));
  };
  // Terms of 28 in all, of which 4 are left.
  EXPECT_TRUE(mv(4, ScalarType::BFloat16, "bfloat16"));
  EXPECT_TRUE(mv(4.5, ScalarType::BFloat16, "bfloat16"));
  EXPECT_FALSE(mv(6, ScalarType::BFloat16, "bfloat16"));
  EXPECT_FALSE(mv(4.001, ScalarType::Float, "float32"));
  EXPECT_FALSE(mv(NAN, ScalarType::BFloat16, "bfloat16"));
}

TEST_F(RecorderErrors, NormalizedSingle) {
  const auto layer_norm = [&](double out) {
    return passes("layer_norm", {reference("a", {1}), {1}, reference("b", {1}), reference("c", {1})},
                  {{"a", values({8.5})}, {"b", values({3})}, {"c", values({0.5})}, {"out", values({out})}}, reference("out", {1}));
  };
  EXPECT_TRUE(layer_norm(0.5));
  EXPECT_TRUE(layer_norm(0.501));
  EXPECT_FALSE(layer_norm(0.51));
}

TEST_F(RecorderErrors, OverflowingQuotient) {
  const auto fmod = [&](double divisor, double out) {
    return passes("fmod@Tensor", {reference("a", {1}), reference("b", {1})},
                  {{"a", values({9})}, {"b", values({divisor})}, {"out", values({out})}}, reference("out", {1}));
  };
  EXPECT_TRUE(fmod(1e-40, NAN));
  EXPECT_FALSE(fmod(1e-40, 1));
  EXPECT_FALSE(fmod(2, NAN));
  EXPECT_TRUE(fmod(2, 1));
}

TEST_F(RecorderErrors, GradientOfAsStridedScatter) {
  const auto scatter = [&](std::vector<double> gradient) {
    return passes("as_strided_scatter", {reference("a", {3}, "float32", true), reference("b", {1}, "float32", true), {1}, {1}, 1},
                  {{"a", values({1, 2, 3})}, {"b", values({9})}, {"out", values({1, 9, 3})}, {"g", values({5, 6, 7})}, {"ga", values(gradient)}, {"gb", values({6})}},
                  reference("out", {3}), {{"outputs", Json::array({reference("g", {3})})}, {"inputs", {reference("ga", {3}), reference("gb", {1})}}});
  };
  EXPECT_TRUE(scatter({5, 0, 7}));
  EXPECT_TRUE(scatter({0, 6, 0}));
  EXPECT_TRUE(scatter({1e30, 6, NAN})) << "memory that was not written";
  EXPECT_FALSE(scatter({5, 1, 7}));
}

TEST_F(RecorderErrors, ComplexPowers) {
  const auto pow = [&](double factor) {
    return passes("pow@Scalar", {number_of(3, 4), reference("a", {1}, "complex64")}, {{"a", values({2, 0})}, {"out", values({-7 * factor, 24 * factor})}},
                  reference("out", {1}, "complex64"));
  };
  EXPECT_TRUE(pow(1));
  EXPECT_FALSE(pow(1.001));
}

TEST_F(RecorderErrors, SqrtOfComplexZero) {
  const auto sqrt = [&](std::vector<double> gradient) {
    return passes("sqrt", Json::array({reference("a", {2}, "complex64", true)}),
                  {{"a", values({0, 0, 4, 0})}, {"out", values({0, 0, 2, 0})}, {"g", values({1, 0, 1, 0})}, {"ga", values(gradient)}},
                  reference("out", {2}, "complex64"), {{"outputs", Json::array({reference("g", {2}, "complex64")})}, {"inputs", Json::array({reference("ga", {2}, "complex64")})}});
  };
  EXPECT_TRUE(sqrt({NAN, NAN, 0.25, 0}));
  EXPECT_FALSE(sqrt({0, 0, 0.25, 0}));
  EXPECT_FALSE(sqrt({NAN, NAN, NAN, NAN}));
}

TEST_F(RecorderErrors, GradientOfClampAtABound) {
  const auto clamp = [&](std::vector<double> gradient) {
    return passes("clamp", {reference("a", {4}, "float32", true), -1, 1},
                  {{"a", values({-1, 0, 1, 2})},
                   {"out", values({-1, 0, 1, 1})},
                   {"g", values({5, 6, 7, 8})},
                   {"ga", values(gradient)}},
                  reference("out", {4}),
                  {{"outputs", Json::array({reference("g", {4})})}, {"inputs", Json::array({reference("ga", {4})})}});
  };
  EXPECT_TRUE(clamp({0, 6, 0, 0}));
  EXPECT_TRUE(clamp({5, 6, 7, 0}));
  EXPECT_FALSE(clamp({5, 6, 0, 0}));
  EXPECT_FALSE(clamp({5, 6, 7, 8}));
  const auto bounded = [&](std::vector<double> of_self, std::vector<double> of_bound) {
    return passes(
        "clamp_min@Tensor", {reference("a", {3}, "float32", true), reference("b", {1}, "float32", true)},
        {{"a", values({0, 1, 2})},
         {"b", values({1})},
         {"out", values({1, 1, 2})},
         {"g", values({4, 6, 8})},
         {"ga", values(of_self)},
         {"gb", values(of_bound)}},
        reference("out", {3}),
        {{"outputs", Json::array({reference("g", {3})})}, {"inputs", {reference("ga", {3}), reference("gb", {1})}}});
  };
  EXPECT_TRUE(bounded({0, 3, 8}, {7}));
  EXPECT_TRUE(bounded({0, 6, 8}, {4}));
  EXPECT_FALSE(bounded({0, 6, 8}, {5}));
  EXPECT_FALSE(bounded({0, 5, 8}, {4}));
}

TEST_F(RecorderErrors, CoarseBesselFunction) {
  const auto bessel = [&](const char* name, double recorded) {
    return passes(name, Json::array({reference("a", {1}, "float64")}),
                  {{"a", values({5.5}, ScalarType::Double)}, {"out", values({recorded}, ScalarType::Double)}},
                  reference("out", {1}, "float64"));
  };
  const std::pair<const char*, double> at[] = {{"special_bessel_j0", ::j0(5.5)}, {"special_bessel_j1", ::j1(5.5)},
                                               {"special_bessel_y0", ::y0(5.5)}, {"special_bessel_y1", ::y1(5.5)}};
  for (const auto& [name, value] : at) {
    EXPECT_TRUE(bessel(name, value)) << name;
    EXPECT_TRUE(bessel(name, value + 8.8e-7)) << name;
    EXPECT_FALSE(bessel(name, value + 1e-6)) << name;
  }
}

TEST_F(RecorderErrors, NormalIntoNothing) {
  const auto normal = [&](double mean, std::vector<int64_t> size) {
    Json one = {{"args", {reference("a", {}, "float64"), 0.0}},
                {"kwargs", {{"out", reference("z", {0}, "float64")}}},
                {"outputs", Json::array({reference("out", std::move(size), "float64")})}};
    write_case("normal@Tensor_float_out", one,
               {{"a", values({2}, ScalarType::Double)},
                {"z", values({}, ScalarType::Double)},
                {"out", values({mean}, ScalarType::Double)}});
    return replay("normal@Tensor_float_out").passed == 1;
  };
  EXPECT_TRUE(normal(2, {}));
  EXPECT_TRUE(normal(2, {0}));
  EXPECT_FALSE(normal(3, {}));
  EXPECT_FALSE(normal(2, {1}));
}

TEST_F(RecorderErrors, GradientOf16Bits) {
  const auto gradient = [&](double first) {
    const Json one = {{"args", Json::array({reference("a", {3}, "bfloat16")})},
                      {"kwargs", {{"spacing", {2.0}}, {"dim", {0}}, {"edge_order", 1}}},
                      {"outputs", Json::array({reference("out", {3}, "bfloat16")})}};
    write_case(
        "gradient@scalarrayarray", one,
        {{"a", values({4, 4.5, 6}, ScalarType::BFloat16)}, {"out", values({first, 0.5, 0.75}, ScalarType::BFloat16)}});
    return replay("gradient@scalarrayarray").passed == 1;
  };
  EXPECT_TRUE(gradient(0.25));
  EXPECT_TRUE(gradient(0.375));
  EXPECT_FALSE(gradient(0.5));
}

TEST_F(RecorderErrors, RenormByTheLargestModulus) {
  const auto renorm = [&](std::vector<double> gradient) {
    return passes("renorm", {reference("a", {1, 2}, "complex128", true), {{"float", "inf"}}, 0, 1.0},
                  {{"a", values({2, 0, 0, 0}, ScalarType::Double)},
                   {"out", values({1, 0, 0, 0}, ScalarType::Double)},
                   {"g", values({0, 1, 0, 0}, ScalarType::Double)},
                   {"ga", values(gradient, ScalarType::Double)}},
                  reference("out", {1, 2}, "complex128"),
                  {{"outputs", Json::array({reference("g", {1, 2}, "complex128")})},
                   {"inputs", Json::array({reference("ga", {1, 2}, "complex128")})}});
  };
  EXPECT_TRUE(renorm({0, 0.5, 0, 0}));
  EXPECT_TRUE(renorm({NAN, NAN, NAN, NAN}));
  EXPECT_FALSE(renorm({0.5, 0.5, 0, 0}));
  EXPECT_FALSE(renorm({NAN, NAN, 0, 0}));
}

// --- --layouts, with operators that are wrong in one of the forms ---

void ignores_strides(const c10::OperatorBase&, const c10::DispatchKeySet*, c10::Stack& stack) {
  const Tensor self = stack[0].toTensor();
  const Tensor out = at::empty_contiguous(self.sizes(), self.scalar_type());
  std::copy_n(self.data_ptr<float>(), self.numel(), out.data_ptr<float>());
  stack = {c10::IValue(out)};
}
void copies(const c10::OperatorBase&, const c10::DispatchKeySet*, c10::Stack& stack) { stack = {c10::IValue(at::clone(stack[0].toTensor()))}; }
void doubles_in_place(const c10::OperatorBase&, const c10::DispatchKeySet*, c10::Stack& stack) {
  Tensor self = stack[0].toTensor();
  at::mul_(self, 2);
  stack = {c10::IValue(self)};
}
void returns_another(const c10::OperatorBase&, const c10::DispatchKeySet*, c10::Stack& stack) { stack = {c10::IValue(at::clone(stack[0].toTensor()))}; }

using TestOperator = c10::Operator<Tensor(const Tensor&)>;
constexpr TestOperator kNoKernel{"for_test", "test", c10::Kernels::kPerBackend, c10::Differentiation::kNone, {}};
TestOperator operators[] = {kNoKernel, kNoKernel, kNoKernel, kNoKernel, kNoKernel};
constexpr c10::Boxing kIgnoresStrides{"", ignores_strides}, kCopies{"", copies},
    kDoublesInPlace{"", doubles_in_place}, kReturnsAnother{"", returns_another};
const c10::RegisteredOperator kOperators[] = {
    {"wrong_when_strided(Tensor self) -> Tensor", &operators[0], &kIgnoresStrides},
    {"wrong_in_place(Tensor self) -> Tensor", &operators[1], &kCopies},
    {"wrong_in_place_(Tensor(a!) self) -> Tensor(a!)", &operators[2], &kDoublesInPlace},
    {"wrong_out(Tensor self) -> Tensor", &operators[3], &kCopies},
    {"wrong_out.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", &operators[4], &kReturnsAnother},
};
const c10::OperatorRegistration kRegistration("aten", kOperators);

TEST_F(ReplayTest, LayoutsFindWhatTheRecordedCallHides) {
  const Json one = {{"args", Json::array({reference("a", {2, 3})})}, {"kwargs", Json::object()}, {"outputs", Json::array({reference("a", {2, 3})})}};
  for (const auto& [name, form] : {std::pair<std::string, std::string>{"wrong_when_strided", "(transposed), result 0, index 1"},
                                   {"wrong_in_place", "(in-place), result 0, index 0"},
                                   {"wrong_out", "(out=), result 0: got another tensor"}}) {
    write_case(name, one, {{"a", values({1, 2, 3, 4, 5, 6})}});
    EXPECT_EQ(replay(name).passed, 1u) << name;
    const std::string text = failure(name, /*layouts=*/true);
    EXPECT_NE(text.find(form), std::string::npos) << text;
  }
}

// --- damaged and hostile sets ---

TEST_F(ReplayTest, MissingFiles) {
  EXPECT_NE(damage("mul@Tensor").find("no such file"), std::string::npos);
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  fs::remove(folder_ / "mul@Tensor.safetensors");
  EXPECT_NE(damage("mul@Tensor").find("no such file"), std::string::npos);
  fs::create_directory(folder_ / "mul@Tensor.safetensors");
  EXPECT_NE(damage("mul@Tensor").find("no such file"), std::string::npos);
  EXPECT_THROW(CaseSet((folder_ / "nowhere").string()), BadSet);
}

TEST_F(ReplayTest, FileBeyondTheLimit) {
  write("mul@Tensor.json", "");
  fs::resize_file(folder_ / "mul@Tensor.json", uintmax_t{1} << 40);
  EXPECT_NE(damage("mul@Tensor").find("is larger than"), std::string::npos);
}

TEST_F(ReplayTest, JsonThatIsNotACaseFile) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  const std::string deep(200000, '[');
  for (const std::string& text : {std::string(), std::string("{"), std::string("nothing"), deep, std::string("[]"), std::string("{}"), std::string("\"op\""),
                                  std::string(R"({"op":"aten::add.Tensor","cases":[]})"), std::string(R"({"op":"aten::mul.Tensor"})"),
                                  std::string(R"({"op":"aten::mul.Tensor","cases":{}})"), std::string(R"({"op":7,"cases":[]})"),
                                  std::string("\xff\xfe\x00", 3)}) {
    write("mul@Tensor.json", text);
    damage("mul@Tensor");
  }
}

TEST_F(ReplayTest, CasesThatAreNone) {
  const auto damaged = [&](const char* pointer, const Json& value) {
    Product p;
    p.json[Json::json_pointer(pointer)] = value;
    write_case("mul@Tensor", p.json, p.blobs);
    return failure("mul@Tensor");
  };
  const std::string at = "case 0, the record: got ";
  EXPECT_NE(damaged("/args/0/tensor", "nowhere").find(at + "there is no blob \"nowhere\""), std::string::npos);
  EXPECT_NE(damaged("/args/0/dtype", "float64").find(at + "blob \"a\" has another dtype"), std::string::npos);
  EXPECT_NE(damaged("/args/0/dtype", "float7").find(at + "unknown dtype"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", {3}).find(at + "a tensor reaches beyond its blob"), std::string::npos);
  EXPECT_NE(damaged("/outputs/0/size", {3}).find(at + "a tensor reaches beyond its blob"), std::string::npos);
  EXPECT_NE(damaged("/grad/inputs/1/size", {3}).find(at + "a tensor reaches beyond its blob"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", {-1}).find(at + "a size is negative or too large"), std::string::npos);
  EXPECT_NE(damaged("/args/0/stride", {-1}).find(at + "a stride is negative or too large"), std::string::npos);
  EXPECT_NE(damaged("/args/0/stride", {int64_t{1} << 62}).find(at + "a tensor reaches beyond its blob"), std::string::npos);
  EXPECT_NE(damaged("/args/0/stride", {1, 1}).find(at + "sizes and strides differ in length"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", {int64_t{1} << 40}).find(at + "a size is negative or too large"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", {uint64_t{1} << 63}).find(at + "expected an integer"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", {1.5}).find(at + "expected an integer"), std::string::npos);
  EXPECT_NE(damaged("/args/0/size", "2").find(at + "expected a list"), std::string::npos);
  EXPECT_NE(damaged("/args/0", {{"what", 1}}).find(at + "an unknown kind of value"), std::string::npos);
  EXPECT_NE(damaged("/args/2", 1).find(at + "more arguments than the operator has"), std::string::npos);
  EXPECT_NE(damaged("/args", Json::array()).find(at + "argument 'self' is missing"), std::string::npos);
  EXPECT_NE(damaged("/kwargs/alpha", 1).find(at + "an argument that the operator does not have"), std::string::npos);
  EXPECT_NE(damaged("/outputs", 1).find(at + "\"outputs\" is not a list"), std::string::npos);
  EXPECT_NE(damaged("/grad/inputs", Json::array()).find(at + "gradients are not recorded for the arguments"), std::string::npos);
  EXPECT_NE(damaged("/grad", 1).find(at), std::string::npos);
}

TEST_F(ReplayTest, ACaseThatIsNoneStopsNoOther) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  write("mul@Tensor.json", Json{{"op", "aten::mul.Tensor"}, {"cases", {nullptr, p.json, 3, p.json}}}.dump());
  const OperatorReport report = replay("mul@Tensor");
  EXPECT_EQ(report.passed, 2u);
  EXPECT_EQ(report.failed, 2u);
  EXPECT_EQ(report.failures[1].number, 2u);
}

// An expanded tensor names more elements than any file holds.
TEST_F(ReplayTest, ExpandedBeyondTheLimit) {
  Product p;
  p.json["args"][0]["size"] = {1 << 20, 1 << 20};
  p.json["args"][0]["stride"] = {0, 0};
  write_case("mul@Tensor", p.json, p.blobs);
  EXPECT_NE(failure("mul@Tensor").find("the record: got a tensor is too large"), std::string::npos);
}

TEST_F(ReplayTest, DamagedTensors) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  std::ifstream in(folder_ / "mul@Tensor.safetensors", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (const size_t length : {size_t{0}, size_t{7}, size_t{40}, whole.size() - 1}) {
    write("mul@Tensor.safetensors", whole.substr(0, length));
    damage("mul@Tensor");
  }
  std::string header = whole;
  header[6] = '\x7f';  // a header of 2^54 bytes
  write("mul@Tensor.safetensors", header);
  damage("mul@Tensor");
}

// Whatever bytes are changed, the file is damaged, or its cases pass or fail.
TEST_F(ReplayTest, AnyByteChanged) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  for (const char* file : {"mul@Tensor.json", "mul@Tensor.safetensors"}) {
    std::ifstream in(folder_ / file, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    std::mt19937 random(7);
    size_t refused = 0;
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = whole;
      for (unsigned n = 1 + random() % 3; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random() % 3 ? '0' + random() % 80 : random());
      write(file, bytes);
      try {
        const OperatorReport report = replay("mul@Tensor", round % 2 == 0);
        EXPECT_EQ(report.passed + report.failed + report.skipped, 1u);
        refused += !report.failures.empty() && report.failures[0].where == "the record";
      } catch (const BadSet&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 500u) << file;
    write(file, whole);
  }
}

// --- archives ---

std::string gzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string tar_entry(const std::string& name, const std::string& bytes) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  char size[13];
  std::snprintf(size, sizeof(size), "%011zo", bytes.size());
  header.replace(124, 11, size);
  header[156] = '0';
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char check[8];
  std::snprintf(check, sizeof(check), "%06o", sum);
  header.replace(148, 7, std::string(check, 7));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

TEST_F(ReplayTest, Archive) {
  const std::string end(1024, '\0'), tar = tar_entry("set/add@Tensor.json", "{}") + tar_entry("set/add@Tensor.safetensors", "xyz") + end;
  write("set.tar.gz", gzip(tar));
  const CaseSet set(folder_ / "set.tar.gz");
  EXPECT_EQ(set.names(), std::vector<std::string>{"add@Tensor"});
  EXPECT_EQ(set.read("add@Tensor.safetensors"), "xyz");
  EXPECT_THROW(set.read("mul@Tensor.json"), BadSet);

  std::string size = tar;
  size[124] = '7';
  std::string name = tar;
  name[0] = 'x';
  const std::string good = gzip(tar);
  for (const std::string& bytes : {std::string(), std::string("no archive"), good.substr(0, good.size() / 2), gzip(""), gzip(size), gzip(name),
                                   gzip(tar.substr(0, tar.size() - 1024)), gzip(tar.substr(0, 600))}) {
    write("damaged.tar.gz", bytes);
    EXPECT_THROW(CaseSet((folder_ / "damaged.tar.gz").string()), BadSet);
  }
}

TEST_F(ReplayTest, ArchiveThatUnpacksToTooMuch) {
  write("bomb.tar.gz", gzip(std::string(CaseSet::kMaxArchiveBytes + 1, '\0')));
  EXPECT_THROW(CaseSet((folder_ / "bomb.tar.gz").string()), BadSet);
}

// --- the command ---

struct Ran {
  int status;
  std::string text, last_line;
};

class CommandTest : public ReplayTest {
 protected:
  Ran run(const std::string& arguments) const {
    const std::string command = "tests/conformance/replay " + arguments + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    Ran ran;
    char buffer[4096];
    while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
      ran.text += buffer;
      ran.last_line = buffer;
    }
    ran.status = WEXITSTATUS(pclose(pipe));
    return ran;
  }
};

TEST_F(CommandTest, Summary) {
  const Product p;
  Product wrong;
  wrong.set("out", values({3, 9}));
  write_case("mul@Tensor", p.json, p.blobs);
  write_case("no_such_operator", p.json, p.blobs);
  const std::string cases = "--cases=" + folder_.string();
  Ran ran = run(cases);
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text,
            "skipped no_such_operator: no such operator\n"
            "binary: 1 operators, 1 passed, 0 failed, 0 skipped\n"
            "none: 1 operators, 0 passed, 0 failed, 1 skipped\n"
            "1 passed, 0 failed, 1 skipped\n");

  write_case("multiply@Tensor", wrong.json, wrong.blobs);
  ran = run(cases + " --report=" + (folder_ / "report.json").string());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.text.find("FAILED multiply@Tensor: 1 of 1 cases; case 0, result 0, index 1: got 8, expected 9\n"), std::string::npos) << ran.text;
  EXPECT_EQ(ran.last_line, "1 passed, 1 failed, 1 skipped\n");
  std::ifstream in(folder_ / "report.json");
  const Json report = Json::parse(in);
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["families"]["binary"]["passed"], 1);
  EXPECT_EQ(report["results"][1]["failures"][0]["index"], 1);
  fs::remove(folder_ / "report.json");

  EXPECT_EQ(run(cases + " --ops='mul@*'").last_line, "1 passed, 0 failed, 0 skipped\n");
  write("list.txt", "mul@Tensor\n");
  EXPECT_EQ(run(cases + " --list=" + (folder_ / "list.txt").string()).last_line, "1 passed, 0 failed, 0 skipped\n");
  // Relative paths are those of the caller of `bazel run`.
  EXPECT_EQ(run("--cases=. --list=list.txt").status, 1);
  setenv("BUILD_WORKING_DIRECTORY", folder_.c_str(), 1);
  const std::string from_there = run("--cases=. --list=list.txt").last_line;
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(from_there, "1 passed, 0 failed, 0 skipped\n");
}

TEST_F(CommandTest, ErrorsAreOneLineAndStatus1) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  const std::string cases = "--cases=" + folder_.string();
  const auto expect = [&](const std::string& arguments, const std::string& text) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 1) << arguments;
    EXPECT_EQ(ran.text, ran.last_line) << arguments;
    EXPECT_NE(ran.text.find(text), std::string::npos) << ran.text;
  };
  expect("", "usage: replay --cases=DIR");
  expect(cases + " --layer=Batched", "--layer is one of Wrapper, ");
  expect(cases + " --what", "unknown argument --what");
  expect("--cases=/nowhere", "/nowhere: no such folder or archive");
  expect(cases + " --list=/nowhere", "/nowhere: no such file");
  expect(cases + " --ops=nothing", "no operator to replay");
  expect(cases + " --device=tpu", "--device is cpu, cuda or ");
  if (c10::GetAllocator(c10::DeviceType::CUDA) == nullptr) expect(cases + " --device=cuda", "this program is built without it");
  write("mul@Tensor.json", "{");
  expect(cases, "mul@Tensor.json");
}

TEST_F(CommandTest, ADamagedRecordingDoesNotEndIt) {
  const Product p;
  write_case("mul@Tensor", p.json, p.blobs);
  write("add@Tensor.json", "{");
  const Ran ran = run("--cases=" + folder_.string());
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.text.find("unreadable " + folder_.string() + "/add@Tensor.json: "), std::string::npos) << ran.text;
  EXPECT_EQ(ran.last_line, "1 passed, 0 failed, 0 skipped\n");
}

}  // namespace
}  // namespace conformance
