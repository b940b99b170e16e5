#include "quantization/eager/module_tree.h"

#include <unordered_map>

#include "c10/util/exception.h"
#include "nn/layers/linear.h"
#include "nn/module/module_access.h"
#include "nn/module/replacement.h"

namespace torch::quantization::detail {

using at::Tensor;

void Replacing::add(const std::string& path, Replacement replacement) {
  all_.emplace_back(path, std::move(replacement));
}

void Replacing::apply(bool forget) {
  struct Place {
    nn::Module* parent;
    std::string name;
  };
  // A module may be registered in several places.
  std::unordered_map<const nn::Module*, std::vector<Place>> places;
  for_all(model_, [&](nn::Module& parent) {
    for (const auto& child : nn::ModuleAccess::children(parent)) {
      places[child.value().get()].push_back({&parent, child.key()});
    }
  });
  for (auto& [path, replacement] : all_) {
    const std::shared_ptr<nn::Module> old = model_.get_submodule(path);
    const std::shared_ptr<nn::Module> fresh = replacement.module.ptr();
    fresh->train(old->is_training());
    for (const Place& place : places[old.get()]) place.parent->set_submodule(place.name, replacement.module);
    stop_observing(*old);
    if (replacement.shares_children) {
      for (const auto& child : nn::ModuleAccess::children(*fresh)) {
        places[child.value().get()].push_back({fresh.get(), child.key()});
      }
      if (replacement.call == nullptr) continue;
    }
    nn::move_forward_hooks(*old, *fresh);
    if (auto* functional = dynamic_cast<nn::quantized::FloatFunctionalImpl*>(old.get())) {
      functional->call_instead(std::dynamic_pointer_cast<nn::quantized::QFunctionalImpl>(fresh));
    } else if (replacement.call != nullptr) {
      nn::call_instead(*old, std::move(replacement.call));
    } else {
      nn::call_instead(*old, replacement.module);
    }
    if (!forget) continue;
    for (const auto* list : {&nn::ModuleAccess::parameters(*old), &nn::ModuleAccess::buffers(*old)}) {
      for (const auto& item : *list) {
        if (Tensor* member = nn::ModuleAccess::tensor_member(*old, item.key())) *member = Tensor();
      }
    }
    nn::ModuleAccess::parameters(*old).clear();
    nn::ModuleAccess::buffers(*old).clear();
  }
}

namespace {

struct Observe {
  std::optional<std::vector<Tensor>> operator()(nn::Module& self, const std::vector<Tensor>&,
                                                const std::vector<Tensor>& outputs) const {
    const auto observer = observer_of(self);
    if (observer == nullptr) return std::nullopt;
    TORCH_CHECK(outputs.size() == 1, "prepare: expected one result of ", self.name(), ", but got ", outputs.size());
    return std::vector<Tensor>{observer->forward(outputs[0])};
  }
};

}  // namespace

void observe(nn::Module& module, std::shared_ptr<ObserverBase> observer) {
  if (module.named_children().contains(kObserver)) {
    module.replace_module(kObserver, std::shared_ptr<nn::Module>(std::move(observer)));
  } else {
    module.register_module(kObserver, std::move(observer));
  }
  if (dynamic_cast<nn::quantized::FloatFunctionalImpl*>(&module) != nullptr) return;
  nn::detail::add_hook(&module, nn::detail::ForwardHook(Observe()), /*prepend=*/true, /*always_call=*/false);
}

void stop_observing(nn::Module& module) {
  if (observer_of(module) == nullptr) return;
  if (dynamic_cast<nn::quantized::FloatFunctionalImpl*>(&module) != nullptr) {
    module.replace_module(kObserver, std::shared_ptr<nn::Module>(nn::Identity().ptr()));
    return;
  }
  nn::ModuleAccess::remove_child(module, kObserver);
  nn::remove_forward_hooks(module, typeid(Observe));
}

}  // namespace torch::quantization::detail
