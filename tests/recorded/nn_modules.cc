// torch.nn's classes: initial parameters from the seed, names, results, gradients, buffers.
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "nn/module/state_dict.h"
#include "tests/recorded/families.h"
#include "tests/recorded/modules.h"

namespace recorded {
namespace {

using at::Tensor;

// The leaves of nested lists, a packed sequence as the four tensors that it is made of.
std::vector<Json> parts(const Json& nested) {
  std::vector<Json> all;
  for (const Json& leaf : flatten(nested)) {
    if (leaf.is_object() && leaf.contains("packed_sequence")) {
      const Json& packed = leaf.at("packed_sequence");
      for (const char* part : {"data", "batch_sizes", "sorted_indices", "unsorted_indices"}) all.push_back(packed.at(part));
    } else {
      all.push_back(leaf);
    }
  }
  return all;
}

class ModuleCase {
 public:
  ModuleCase(const Json& c, Check& check) : case_(c), check_(check) {}

  void replay() {
    const Built built = construct();
    if (built.module == nullptr) return check_.skip("no class " + case_.at("class").get<std::string>() + " here");
    if (built.draws_as_python) {
      check_.then(case_.at("then"));
      for (const auto& [name, recorded] : case_.at("parameters").items())
        check_.tensor(name, built.module->named_parameters()[name], recorded);
    }
    check_.equal("state_dict keys", built.module->state_dict().keys(), case_.at("state_dict_keys"));
    for (const auto& [name, recorded] : case_.at("buffers").items()) {
      if (conformance::is_tensor(recorded)) check_.tensor(name, built.module->named_buffers()[name], recorded);
    }
    for (size_t i = 0; i < case_.at("runs").size(); ++i) {
      const Json& run = case_.at("runs")[i];
      const std::string mode = run.at("mode");
      Check::Scope scope(check_, "run " + std::to_string(i) + ", " + mode + ", " + run.at("dtype").get<std::string>());
      if (mode != "eval") replay(run, true);
      if (mode != "train") replay(run, false);
      check_all_read(member_or_empty(run, "kwargs"), "argument");
    }
    check_all_read(case_.at("config"), "config");
  }

 private:
  Built construct() const {
    at::manual_seed(case_.at("seed").get<uint64_t>());
    Built built = build(case_.at("class"), case_.at("config"), [this](const Json& v) {
      return v.is_null() ? Tensor() : check_.recordings().tensor(v);
    });
    if (built.module != nullptr && built.module->has_uninitialized_params()) initialize(built);
    return built;
  }

  // A lazy module learns its sizes from the first input.
  void initialize(const Built& built) const {
    const Json& run = case_.at("runs").at(0);
    Call call;
    for (const Json& v : run.at("inputs")) call.inputs.push_back(check_.recordings().tensor(v));
    call.kwargs = &member_or_empty(run, "kwargs");
    c10::NoGradGuard no_grad;
    built.module->eval();
    built.forward(call);
    built.module->train();
  }

  // The fresh module with the recorded parameters, and what is loaded over them.
  Built prepare(const Json& run, bool training) const {
    Built built = construct();
    c10::NoGradGuard no_grad;
    auto state = built.module->state_dict();
    for (const char* from : {"parameters", "load"}) {
      for (const auto& [name, recorded] : member_or_empty(case_, from).items())
        state[name].copy_(check_.recordings().tensor(recorded));
    }
    // Python's Module.to, which leaves integers as they are; C++'s converts them.
    const at::ScalarType dtype = run.at("dtype") == "float64" ? at::kDouble : at::kFloat;
    for (at::Tensor t : built.module->parameters()) t.set_data(t.data().to(dtype));
    for (at::Tensor t : built.module->buffers()) {
      if (t.is_floating_point()) t.set_data(t.data().to(dtype));
    }
    built.module->train(training);
    return built;
  }

  void replay(const Json& run, bool training) const {
    const Built built = prepare(run, training);
    Call call;
    std::vector<Tensor> leaves;
    call.tensor = [&](const Json& v) { return argument(v, leaves); };
    call.raw = &run.at("inputs");
    for (const Json& v : parts(run.at("inputs"))) call.inputs.push_back(call.tensor(v));
    call.kwargs = &member_or_empty(run, "kwargs");
    if (run.contains("seed")) at::manual_seed(run.at("seed").get<uint64_t>());
    if (flag_of(case_.at("config"), "inplace", false)) call.inputs[0] = at::clone(call.inputs[0]);
    const std::vector<Tensor> outputs = built.forward(call);

    const std::vector<Json> recorded = parts(Json::array({run.at("outputs")}));
    if (outputs.size() != recorded.size()) return check_.fail(std::to_string(outputs.size()) + " results");
    for (size_t i = 0; i < outputs.size(); ++i) check_.tensor("result " + std::to_string(i), outputs[i], recorded[i]);
    for (const auto& [name, after] : member_or_empty(run, "buffers_after").items())
      check_.tensor(name, built.module->named_buffers()[name], after);

    std::vector<std::string> names;
    std::vector<Json> gradients =
        run.contains("grad_inputs") ? run.at("grad_inputs").get<std::vector<Json>>() : std::vector<Json>(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) names.push_back("input " + std::to_string(i));
    for (const auto& [name, g] : member_or_empty(run, "grad_parameters").items()) {
      names.push_back(name);
      gradients.push_back(g);
      leaves.push_back(built.module->named_parameters()[name]);
    }
    check_.gradients(outputs, leaves, names, gradients);
  }

  // A list of integers stands for a tensor of them.
  Tensor argument(const Json& v, std::vector<Tensor>& leaves) const {
    if (v.is_null()) return {};
    if (v.is_array()) {
      const std::vector<int64_t> list = v;
      Tensor t = at::empty({static_cast<int64_t>(list.size())}, at::TensorOptions(at::kLong));
      std::copy(list.begin(), list.end(), t.data_ptr<int64_t>());
      return t;
    }
    Tensor t = check_.recordings().tensor(v);
    if (conformance::is_marked(v, "requires_grad")) leaves.push_back(t = at::clone(t).set_requires_grad(true));
    return t;
  }

  const Json& case_;
  Check& check_;
};

// Names and classes, as [["0", "Linear"] ..].
Json classes_of(const torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>>& modules) {
  Json all = Json::array();
  for (const auto& m : modules) all.push_back({m.key(), torch::nn::detail::class_name(*m.value())});
  return all;
}

void replay_container(const Json& one, Check& check) {
  at::manual_seed(one.at("seed").get<uint64_t>());
  const auto module = build_container(one.at("id"));
  if (module == nullptr) return check.skip("no such container here");
  check.equal("state_dict keys", module->state_dict().keys(), one.at("state_dict_keys"));
  check.equal("named_modules", classes_of(module->named_modules()), one.at("named_modules"));
  check.equal("named_children", classes_of(module->named_children()), one.at("named_children"));
  for (const auto& [name, recorded] : one.at("parameters").items())
    check.tensor(name, module->named_parameters()[name], recorded);
}

}  // namespace

void replay_nn_modules(const Json& one, Check& check) {
  if (one.contains("container")) return replay_container(one, check);
  ModuleCase(one, check).replay();
}

}  // namespace recorded
