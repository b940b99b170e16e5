#include "distributed/fsdp/full_state_dict.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "c10/core/grad_mode.h"
#include "c10/value/ivalue.h"
#include "distributed/tensor/dtensor.h"
#include "nn/module/state_dict.h"
#include "optim/state_dict.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using c10::IValue;
using tensor::DTensor;
using GenericDict = c10::Dict<IValue, IValue>;

Tensor whole(const Tensor& t) {
  const c10::NoGradGuard no_grad;
  return t.defined() && DTensor::is(t) ? DTensor(t).full_tensor() : t;
}

// This rank's part of a tensor, where that is whole and has the sizes of a DTensor.
Tensor part_like(const Tensor& t, const Tensor& like) {
  if (!t.defined() || DTensor::is(t) || !like.defined() || !DTensor::is(like) || t.sizes() != like.sizes()) return t;
  const DTensor target(like);
  return tensor::distribute_tensor(t.detach(), target.device_mesh(), target.placements(), std::nullopt);
}

// The same dict with other tensors.
template <class Change>
IValue changed(const IValue& fields, const Change& change) {
  GenericDict result;
  for (const auto& entry : fields.toGenericDict()) {
    const IValue& value = entry.value();
    result.insert(entry.key(), value.isTensor() ? IValue(change(value.toTensor())) : value);
  }
  return IValue(result);
}

// Calls change(number, fields) for the state of each parameter, in order.
template <class Change>
void change_states(optim::StateDict& state, const Change& change) {
  GenericDict states;
  for (const auto& entry : state.at("state").toGenericDict()) {
    states.insert(entry.key(), change(entry.key().toInt(), entry.value()));
  }
  state.set("state", IValue(states));
}

}  // namespace

FullStateDict::FullStateDict(nn::ModuleRef module) {
  handles_.push_back(module->register_state_dict_post_hook([](nn::Module&, nn::StateDict& state, const std::string&) {
    for (auto& item : state) *item = whole(item.value());
  }));
  handles_.push_back(module->register_load_state_dict_pre_hook(
      [](nn::Module& m, nn::StateDict& state, const std::string& prefix, bool, std::vector<std::string>&,
         std::vector<std::string>&, std::vector<std::string>&) {
        for (const auto& item : m.named_parameters(prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1))) {
          if (Tensor* const found = state.find(item.key())) *found = part_like(*found, item.value());
        }
      }));
}

FullStateDict::FullStateDict(optim::Optimizer& optimizer) : optimizer_(&optimizer) {
  hooks_.push_back(optimizer.register_state_dict_post_hook([](optim::Optimizer&, optim::StateDict& state) {
    change_states(state, [](int64_t, const IValue& fields) { return changed(fields, whole); });
  }));
  hooks_.push_back(optimizer.register_load_state_dict_pre_hook([](optim::Optimizer& self, optim::StateDict& state) {
    std::unordered_map<int64_t, Tensor> params;
    for (size_t g = 0; g < self.param_groups().size(); ++g) {
      const std::string group = "param_groups." + std::to_string(g) + ".params.";
      const std::vector<Tensor>& own = self.param_groups()[g].params();
      for (size_t k = 0; k < own.size(); ++k) {
        if (state.contains(group + std::to_string(k))) params[state.integer(group + std::to_string(k))] = own[k];
      }
    }
    change_states(state, [&](int64_t number, const IValue& fields) {
      const Tensor& param = params[number];
      return changed(fields, [&](const Tensor& t) { return part_like(t, param); });
    });
  }));
}

FullStateDict::~FullStateDict() {
  for (nn::RemovableHandle& handle : handles_) handle.remove();
  for (const size_t hook : hooks_) optimizer_->remove_hook(hook);
}

}  // namespace torch::distributed::fsdp
