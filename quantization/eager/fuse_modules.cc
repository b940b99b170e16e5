// Layers that follow each other, put together.
#include <set>
#include <tuple>
#include <utility>

#include "c10/util/exception.h"
#include "nn/layers/activation.h"
#include "nn/layers/conv.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/replacement.h"
#include "nn/utils/fusion.h"
#include "quantization/eager/fused.h"
#include "quantization/eager/quantize.h"

namespace torch::quantization {

namespace {

using Parts = std::vector<std::shared_ptr<nn::Module>>;
using nn::intrinsic::FusedImpl;

template <class M>
std::shared_ptr<M> as(const std::shared_ptr<nn::Module>& module) {
  const nn::Module& m = *module;
  return typeid(m) == typeid(M) ? std::dynamic_pointer_cast<M>(module) : nullptr;
}

// Another module of the same tensors and hooks: the first becomes a name for the whole.
template <class M>
std::shared_ptr<M> twin(const std::shared_ptr<M>& module) {
  auto copy = std::make_shared<M>(*module);
  copy->train(module->is_training());
  return copy;
}

template <class... Layers>
nn::AnyModule together(const std::shared_ptr<Layers>&... layers) {
  return nn::AnyModule(std::make_shared<FusedImpl<Layers...>>(layers...));
}

template <class Layer, class Norm>
std::shared_ptr<Layer> folded(const std::shared_ptr<Layer>& layer, const std::shared_ptr<Norm>& norm) {
  const nn::ModuleHolder<Layer> l(layer);
  const nn::ModuleHolder<Norm> n(norm);
  if constexpr (std::is_same_v<Layer, nn::LinearImpl>) {
    return nn::utils::fuse_linear_bn_eval(l, n).ptr();
  } else {
    constexpr bool kTransposed = std::is_same_v<Layer, nn::ConvTranspose1dImpl> ||
                                 std::is_same_v<Layer, nn::ConvTranspose2dImpl> ||
                                 std::is_same_v<Layer, nn::ConvTranspose3dImpl>;
    return nn::utils::fuse_conv_bn_eval(l, n, kTransposed).ptr();
  }
}

// A layer with the norm of its dimensions, with relu, or both. Empty: this is something else.
template <class Layer, class Norm>
nn::AnyModule fuse_layer(const Parts& parts, bool qat) {
  const auto layer = as<Layer>(parts[0]);
  if (layer == nullptr) return {};
  const auto norm = as<Norm>(parts[1]);
  const auto relu = as<nn::ReLUImpl>(parts.back());
  if (parts.size() == 2 && relu != nullptr) return together(twin(layer), twin(relu));
  if (norm == nullptr) return {};
  if (parts.size() == 2) return qat ? together(twin(layer), twin(norm)) : nn::AnyModule(folded(layer, norm));
  if constexpr (!std::is_same_v<Layer, nn::LinearImpl>) {
    if (relu == nullptr) return {};
    return qat ? together(twin(layer), twin(norm), twin(relu)) : together(folded(layer, norm), twin(relu));
  }
  return {};
}

template <class Layer, class Norm>
nn::AnyModule fuse_transposed(const Parts& parts, bool qat) {
  const auto layer = as<Layer>(parts[0]);
  const auto norm = as<Norm>(parts[1]);
  if (layer == nullptr || norm == nullptr || parts.size() != 2 || qat) return {};
  return nn::AnyModule(folded(layer, norm));
}

template <class Norm>
nn::AnyModule fuse_norm(const Parts& parts) {
  const auto norm = as<Norm>(parts[0]);
  const auto relu = as<nn::ReLUImpl>(parts[1]);
  if (norm == nullptr || relu == nullptr || parts.size() != 2) return {};
  return together(twin(norm), twin(relu));
}

nn::AnyModule fuse(const Parts& parts, bool qat) {
  nn::AnyModule made;
  const auto attempt = [&](nn::AnyModule one) {
    if (!one.is_empty()) made = std::move(one);
    return !made.is_empty();
  };
  attempt(fuse_layer<nn::Conv1dImpl, nn::BatchNorm1dImpl>(parts, qat)) ||
      attempt(fuse_layer<nn::Conv2dImpl, nn::BatchNorm2dImpl>(parts, qat)) ||
      attempt(fuse_layer<nn::Conv3dImpl, nn::BatchNorm3dImpl>(parts, qat)) ||
      attempt(fuse_layer<nn::LinearImpl, nn::BatchNorm1dImpl>(parts, qat)) ||
      attempt(fuse_norm<nn::BatchNorm2dImpl>(parts)) || attempt(fuse_norm<nn::BatchNorm3dImpl>(parts)) ||
      attempt(fuse_transposed<nn::ConvTranspose1dImpl, nn::BatchNorm1dImpl>(parts, qat)) ||
      attempt(fuse_transposed<nn::ConvTranspose2dImpl, nn::BatchNorm2dImpl>(parts, qat)) ||
      attempt(fuse_transposed<nn::ConvTranspose3dImpl, nn::BatchNorm3dImpl>(parts, qat));
  return made;
}

std::string classes_of(const Parts& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + nn::detail::class_name(*part);
  return text;
}

void fuse_all(nn::Module& model, const std::vector<FuseList>& lists, bool qat) {
  const char* const who = qat ? "fuse_modules_qat" : "fuse_modules";
  std::vector<std::pair<Parts, nn::AnyModule>> all;
  std::set<const nn::Module*> seen;
  for (const FuseList& names : lists) {
    TORCH_CHECK_VALUE(names.size() == 2 || names.size() == 3, who, ": expected two or three modules, but got ",
                      names.size());
    Parts parts;
    for (const std::string& name : names) {
      parts.push_back(model.get_submodule(name));
      TORCH_CHECK_VALUE(seen.insert(parts.back().get()).second, who, ": the module '", name, "' is named twice");
      TORCH_CHECK_VALUE(parts.back()->is_training() == qat, who, ": the module '", name, "' is in ",
                        qat ? "evaluation: call train() first" : "training: call eval() first");
    }
    nn::AnyModule made = fuse(parts, qat);
    TORCH_CHECK_VALUE(!made.is_empty(), who, ": did not find fuser method for: (", classes_of(parts), ")");
    all.emplace_back(std::move(parts), std::move(made));
  }
  const auto replace = [&](const std::string& name, const std::shared_ptr<nn::Module>& old, const nn::AnyModule& by) {
    model.set_submodule(name, by);
    // Their hooks are the twins' now.
    nn::remove_forward_hooks(*old);
    nn::call_instead(*old, by);
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [parts, made] = all[i];
    made.ptr()->train(parts[0]->is_training());
    replace(lists[i][0], parts[0], made);
    for (size_t k = 1; k < parts.size(); ++k) replace(lists[i][k], parts[k], nn::AnyModule(nn::Identity()));
  }
}

}  // namespace

void fuse_modules(nn::ModuleRef model, const std::vector<FuseList>& modules_to_fuse) {
  fuse_all(*model, modules_to_fuse, false);
}
void fuse_modules_qat(nn::ModuleRef model, const std::vector<FuseList>& modules_to_fuse) {
  fuse_all(*model, modules_to_fuse, true);
}

}  // namespace torch::quantization
