// Which modules take the place of which: the tables of convert(), prepare_qat() and quantize_dynamic().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "nn/module/any_module.h"
#include "nn/module/replacement.h"
#include "quantization/eager/stubs.h"

namespace torch::quantization {

/// What takes a module's place where it is registered, and what is called where it is held by a member. Without `call`
/// the module itself, which then maps a tensor to a tensor.
struct Replacement {
  nn::AnyModule module;
  nn::TensorsCall call = nullptr;
  /// It has the module's own children, which are replaced in both. Without `call` the module itself goes on being
  /// called where it is held by a member.
  bool shares_children = false;
};

/// By class: what makes a replacement. For layers of one's own:
///
///   auto mapping = get_default_static_quant_module_mappings();
///   mapping.set<MyLayerImpl>([](MyLayerImpl& layer) { return Replacement{AnyModule(QuantizedMyLayer(layer))}; });
///   convert(*model, mapping);
class ModuleMapping {
 public:
  using Make = std::function<Replacement(nn::Module&)>;
  template <typename Impl, typename F>
  ModuleMapping& set(F make) {
    makers_[typeid(Impl)] = [make = std::move(make)](nn::Module& module) { return make(dynamic_cast<Impl&>(module)); };
    return *this;
  }
  template <typename Impl>
  ModuleMapping& erase() {
    makers_.erase(typeid(Impl));
    return *this;
  }
  /// Null: modules of its class stay.
  const Make* find(const nn::Module& module) const {
    const auto found = makers_.find(typeid(module));
    return found == makers_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::type_index, Make> makers_;
};

/// To modules on quantized tensors: Linear, Conv1d to 3d, ConvTranspose1d to 3d, BatchNorm2d and 3d, LayerNorm,
/// GroupNorm, InstanceNorm1d to 3d, ELU, Hardswish, LeakyReLU, PReLU, ReLU6, Dropout, Embedding, EmbeddingBag, the
/// stubs, FloatFunctional, what fuse_modules() makes, LinearLeakyReLU, LinearTanh, ConvAdd2d and ConvAddReLU2d of
/// nn::intrinsic, the layers of training, and LSTM and MultiheadAttention of nn::quantizable.
const ModuleMapping& get_default_static_quant_module_mappings();
/// To modules whose layers are observed in their place, those of nn::quantizable: LSTM, MultiheadAttention.
const ModuleMapping& get_default_custom_module_mappings();
/// To layers of training: Linear, Conv1d to 3d, and what fuse_modules_qat() makes of them.
const ModuleMapping& get_default_qat_module_mappings();
/// The same and Embedding and EmbeddingBag, whose QConfig is default_embedding_qat_qconfig() or its form of 4 bits.
const ModuleMapping& get_embedding_qat_module_mappings();
/// To modules that quantize their inputs themselves: Linear, LSTM, GRU, LSTMCell, GRUCell, RNNCell, LinearReLU,
/// Embedding, EmbeddingBag.
const ModuleMapping& get_default_dynamic_quant_module_mappings();

/// Another module of the same class, tensors and hooks, of Linear, Conv1d to 3d, and these with ReLU; empty for others.
nn::AnyModule twin(const nn::Module& module);
/// Whether a module is one to quantization: fused ones are, with what is in them.
bool is_whole(const nn::Module& module);
/// As QConfigMapping::set_object_type names a module's class: "Linear", of what is fused or trained, its layer's.
std::string object_type(const nn::Module& module);

namespace detail {
/// The module that observes the results of another one: its child activation_post_process; null: there is none.
std::shared_ptr<ObserverBase> observer_of(const nn::Module& module);
constexpr const char* kObserver = "activation_post_process";
}  // namespace detail

}  // namespace torch::quantization
