#include "examples/gpt/shared_checkpoint.h"

#include <torch/torch.h>

#include <utility>
#include <vector>

#include "distributed/checkpoint/state_dict.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"

namespace gpt {
namespace {

namespace dcp = torch::distributed::checkpoint;
using torch::serialize::Checkpoint;
using Dict = c10::Dict<c10::IValue, c10::IValue>;

constexpr const char *kModel = "model", *kOptimizer = "optimizer", *kGenerator = "generator", *kStep = "step",
                     *kValues = "values";

// Tensors of all that this rank has. They are the model's, and the optimizer's where it has made a step.
dcp::StateDict tensors_of(const Checkpoint& checkpoint) {
  torch::nn::StateDict model;
  for (const auto& item : dcp::get_model_state_dict(*checkpoint.model)) {
    if (!item.value().is_meta()) model.insert(item.key(), item.value());
  }
  dcp::StateDict state{{kModel, model}};
  if (checkpoint.optimizer != nullptr) {
    const torch::optim::StateDict all = dcp::get_optimizer_state_dict(*checkpoint.model, {checkpoint.optimizer});
    Dict own = all.tree().toGenericDict().copy(), of_parameters;
    for (const auto& parameter : own.at("state").toGenericDict()) {
      if (model.contains(parameter.key().toStringRef())) of_parameters.insert(parameter.key(), parameter.value());
    }
    own.insert_or_assign("state", of_parameters);
    state.set(kOptimizer, c10::IValue(own));
  }
  if (checkpoint.generator.defined()) state.set(kGenerator, torch::Generator(checkpoint.generator).get_state());
  return state;
}

}  // namespace

bool is_shared(const std::string& path) {
  return !path.ends_with(".safetensors");
}

void save_shared(const Checkpoint& checkpoint, const std::string& path) {
  dcp::StateDict state = tensors_of(checkpoint);
  std::vector<c10::IValue> values;
  for (const auto& [name, value] : checkpoint.values) values.emplace_back(std::vector<std::string>{name, value});
  state.set(kStep, checkpoint.step);
  state.set(kValues, c10::IValue(std::move(values)));
  dcp::save(state, {.checkpoint_id = path});
}

void load_shared(Checkpoint& checkpoint, const std::string& path, bool alone) {
  const torch::NoGradGuard no_grad;
  dcp::StateDict state = tensors_of(checkpoint);
  dcp::load(state, {.checkpoint_id = path, .no_dist = alone});
  // The model's tensors have been written to.
  if (checkpoint.optimizer != nullptr) {
    dcp::set_optimizer_state_dict(*checkpoint.model, {checkpoint.optimizer},
                                  torch::optim::StateDict(state.at(kOptimizer)));
  }
  if (checkpoint.generator.defined()) checkpoint.generator.set_state(state.at(kGenerator).toTensor());
}

void read_values(Checkpoint& checkpoint, const std::string& path) {
  if (!is_shared(path)) return read_checkpoint_values(checkpoint, path);
  dcp::StateDict state{{kStep, 0}, {kValues, c10::IValue(std::vector<c10::IValue>())}};
  dcp::load(state, {.checkpoint_id = path, .no_dist = true});
  checkpoint.step = state.at(kStep).toInt();
  for (const c10::IValue& value : state.at(kValues).toListRef()) {
    checkpoint.values.emplace_back(value.toListRef()[0].toStringRef(), value.toListRef()[1].toStringRef());
  }
}

}  // namespace gpt
