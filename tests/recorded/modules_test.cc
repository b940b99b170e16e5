// torch.nn's classes against what PyTorch recorded: initial parameters from the seed, names, results, gradients,
// buffers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/default_dtype.h"
#include "c10/core/grad_mode.h"
#include "nn/module/state_dict.h"
#include "tests/conformance/case_set.h"
#include "tests/conformance/case_values.h"
#include "tests/conformance/compare.h"
#include "tests/recorded/modules.h"

namespace recorded {
namespace {

using at::Tensor;
using conformance::is_marked;
using conformance::is_tensor;

// RECORDED_CASES names another folder or archive.
std::string cases_path() {
  const char* other = std::getenv("RECORDED_CASES");
  return other != nullptr ? other : "tests/recorded/modules.tar.gz";
}

struct Recordings {
  std::map<std::string, std::vector<Json>> by_class;
  torch::safetensors::File blobs;

  static const Recordings& get() {
    static const Recordings all = [] {
      const conformance::CaseSet set(cases_path());
      Recordings r{{}, torch::safetensors::File::from_bytes(set.read("nn_modules.safetensors"))};
      const std::string lines = set.read("nn_modules.jsonl");
      for (size_t at = 0, end; at < lines.size(); at = end + 1) {
        end = std::min(lines.find('\n', at), lines.size());
        Json one = Json::parse(lines.substr(at, end - at));
        if (one.contains("class")) r.by_class[one.at("class").get<std::string>()].push_back(std::move(one));
      }
      return r;
    }();
    return all;
  }
};

Tensor value_of(const Json& v) {
  const conformance::CaseValues values(Recordings::get().blobs, conformance::Layout::kRecorded, c10::kCPU);
  return values.recorded(v);
}

// The tensors of nested lists; null is an undefined one, a list of integers a tensor.
void flatten(const Json& v, std::vector<Json>& all) {
  if (v.is_array() && !v.empty() && !v[0].is_number()) {
    for (const Json& x : v) flatten(x, all);
  } else {
    all.push_back(v);
  }
}

// The cotangent of the k-th result.
Tensor cotangent(const Tensor& like, int64_t k) {
  Tensor values = at::empty(like.sizes(), at::TensorOptions(at::kDouble));
  for (int64_t i = 0; i < values.numel(); ++i)
    values.data_ptr<double>()[i] = static_cast<double>((7 * i + 3 * k + 3) % 11 - 5) / 8;
  return at::to(values, like.scalar_type());
}

class ModuleCase {
 public:
  explicit ModuleCase(const Json& c) : case_(c) {}

  void replay() {
    const Built built = construct();
    if (built.draws_as_python) {
      // The numbers are 64 bits each, taken modulo 2^30.
      const auto generator = at::detail::getDefaultCPUGenerator();
      for (const Json& then : case_.at("then"))
        EXPECT_EQ(at::check_generator<at::CPUGeneratorImpl>(generator)->random64() % (uint64_t{1} << 30),
                  then.get<uint64_t>())
            << "then";
      for (const auto& [name, recorded] : case_.at("parameters").items())
        expect(name, built.module->named_parameters()[name], recorded, 1);
    }
    std::vector<std::string> keys;
    for (const Json& key : case_.at("state_dict_keys")) keys.push_back(key.get<std::string>());
    EXPECT_EQ(built.module->state_dict().keys(), keys);
    for (const auto& [name, recorded] : case_.at("buffers").items()) {
      if (is_tensor(recorded)) expect(name, built.module->named_buffers()[name], recorded, 1);
    }
    for (size_t i = 0; i < case_.at("runs").size(); ++i) {
      const Json& run = case_.at("runs")[i];
      SCOPED_TRACE("run " + std::to_string(i) + ", " + run.at("mode").get<std::string>() + ", " +
                   run.at("dtype").get<std::string>());
      const std::string mode = run.at("mode");
      if (mode != "eval") replay(run, true);
      if (mode != "train") replay(run, false);
    }
  }

 private:
  Built construct() const {
    at::manual_seed(case_.at("seed").get<uint64_t>());
    return build(case_.at("class"), case_.at("config"));
  }

  static void expect(const std::string& what, const Tensor& got, const Json& recorded, double factor) {
    if (recorded.is_null()) {
      EXPECT_FALSE(got.defined()) << what;
      return;
    }
    ASSERT_TRUE(got.defined()) << what << " is undefined";
    if (recorded.contains("sparse_coo")) return;
    if (const auto difference = conformance::difference(got, value_of(recorded), factor))
      ADD_FAILURE() << what << " " << difference->text();
  }

  void replay(const Json& run, bool training) const {
    const Built built = construct();
    {
      c10::NoGradGuard no_grad;
      auto state = built.module->state_dict();
      for (const char* from : {"parameters", "load"}) {
        if (!case_.contains(from)) continue;
        for (const auto& [name, recorded] : case_.at(from).items()) state[name].copy_(value_of(recorded));
      }
    }
    built.module->to(run.at("dtype") == "float64" ? at::kDouble : at::kFloat);
    built.module->train(training);

    Call call;
    std::vector<Tensor> leaves;
    call.tensor = [&leaves](const Json& v) {
      if (v.is_array()) {
        std::vector<int64_t> list = v;
        Tensor t = at::empty({static_cast<int64_t>(list.size())}, at::TensorOptions(at::kLong));
        std::copy(list.begin(), list.end(), t.data_ptr<int64_t>());
        return t;
      }
      if (v.is_null()) return Tensor();
      Tensor t = value_of(v);
      if (is_marked(v, "requires_grad")) leaves.push_back(t = at::clone(t).set_requires_grad(true));
      return t;
    };
    std::vector<Json> inputs;
    for (const Json& v : run.at("inputs")) call.inputs.push_back(call.tensor(v));
    static const Json none = Json::object();
    call.kwargs = run.contains("kwargs") ? &run.at("kwargs") : &none;
    if (run.contains("seed")) at::manual_seed(run.at("seed").get<uint64_t>());
    const Json& config = case_.at("config");
    if (config.contains("inplace") && config.at("inplace") == true) call.inputs[0] = at::clone(call.inputs[0]);
    const std::vector<Tensor> outputs = built.forward(call);

    std::vector<Json> recorded;
    flatten(run.at("outputs"), recorded);
    ASSERT_EQ(outputs.size(), recorded.size());
    std::vector<Tensor> results, cotangents;
    for (size_t i = 0; i < outputs.size(); ++i) {
      expect("result " + std::to_string(i), outputs[i], recorded[i], 1);
      if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
      cotangents.push_back(cotangent(outputs[i], static_cast<int64_t>(results.size())));
      results.push_back(outputs[i]);
    }
    if (run.contains("buffers_after")) {
      for (const auto& [name, after] : run.at("buffers_after").items()) {
        if (name.find("num_batches_tracked") == std::string::npos)
          expect(name, built.module->named_buffers()[name], after, 1);
      }
    }
    if (results.empty()) return;
    std::vector<std::string> names;
    std::vector<Json> expected;
    std::vector<Tensor> wanted = leaves;
    if (run.contains("grad_inputs")) {
      for (const Json& g : run.at("grad_inputs")) expected.push_back(g);
    }
    ASSERT_EQ(expected.size(), leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) names.push_back("gradient of input " + std::to_string(i));
    if (run.contains("grad_parameters")) {
      for (const auto& [name, g] : run.at("grad_parameters").items()) {
        names.push_back("gradient of " + name);
        expected.push_back(g);
        wanted.push_back(built.module->named_parameters()[name]);
      }
    }
    if (wanted.empty()) return;
    const auto gradients = torch::autograd::grad(results, wanted, cotangents, /*retain_graph=*/false,
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (case_.at("class") == "CTCLoss") {
        expect_same_through_log_softmax(leaves[i], gradients[i], expected[i]);
      } else {
        expect(names[i], gradients[i], expected[i], 10);
      }
    }
  }

  // PyTorch's gradient of ctc_loss is that of log_softmax and ctc_loss together: both are the same before log_softmax.
  static void expect_same_through_log_softmax(const Tensor& log_probs, const Tensor& got, const Json& recorded) {
    const auto before = [&](const Tensor& g) {
      return at::sub(g, at::mul(at::exp(at::detach(log_probs)), at::sum(g, {-1}, /*keepdim=*/true)));
    };
    const Tensor expected = before(value_of(recorded));
    // A target that cannot be spelled: PyTorch has NaN, here are zeros.
    if (at::item(at::any(at::isnan(expected))).toBool()) return;
    if (const auto difference = conformance::difference(before(got), expected, 10))
      ADD_FAILURE() << "gradient before log_softmax " << difference->text();
  }

  const Json& case_;
};

class Modules : public testing::TestWithParam<std::string> {};

TEST_P(Modules, AsRecorded) {
  for (const Json& one : Recordings::get().by_class.at(GetParam())) {
    SCOPED_TRACE(one.at("id").get<std::string>() + " " + one.at("config").dump());
    try {
      ModuleCase(one).replay();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// The classes that modules.cc builds.
std::vector<std::string> classes() {
  std::vector<std::string> names;
  for (const auto& [name, cases] : Recordings::get().by_class) {
    if (build(name, cases.front().at("config")).module != nullptr) names.push_back(name);
  }
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

INSTANTIATE_TEST_SUITE_P(Recorded, Modules, testing::ValuesIn(classes()), test_name);

}  // namespace
}  // namespace recorded
