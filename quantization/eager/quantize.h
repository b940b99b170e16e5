// Quantization of modules, layer by layer: torch.ao.quantization's eager mode. Models are changed in place; where the
// float model is to stay, clone() it first.
//
//   struct NetImpl : nn::Module {
//     NetImpl() { register_module("quant", quant); register_module("conv", conv); .. }
//     Tensor forward(const Tensor& x) { return dequant(relu(bn(conv(quant(x))))); }
//     QuantStub quant;
//     nn::Conv2d conv{nn::Conv2dOptions(3, 8, 3)};
//     ..
//   };
//   net->eval();
//   fuse_modules(net, {{"conv", "bn", "relu"}});
//   prepare(net, get_default_qconfig("x86"));
//   for (const Tensor& x : calibration) net->forward(x);
//   convert(net);                                     // net->forward(x) computes with bytes
//
// A layer is replaced where it is registered, by name. Members that hold it go on holding the old one; calls of them,
// as `conv(x)`, go to what took its place. `conv->forward(x)` does not: observers do not see it, and after convert()
// the old layer has no weights any more, so that it throws. Another model that has the layer, too, calls the new one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "nn/module/computed_tensor.h"
#include "nn/module/state_dict.h"
#include "quantization/eager/mappings.h"
#include "quantization/eager/stubs.h"
#include "quantization/qconfig.h"

namespace torch::quantization {

/// A list of modules, by their paths, that follow each other.
using FuseList = std::vector<std::string>;

/// Puts modules together, in evaluation: [Conv1d to 3d, BatchNorm], the norm's scale in the weights; the same with
/// ReLU; [Conv1d to 3d or Linear, ReLU]; [Linear, BatchNorm1d]; [BatchNorm2d or 3d, ReLU]; [ConvTranspose1d to 3d,
/// BatchNorm]. The first becomes the whole (nn::intrinsic), the others nn::Identity. Throws ValueError for other lists,
/// and then changes nothing.
void fuse_modules(nn::ModuleRef model, const std::vector<FuseList>& modules_to_fuse);
/// For training: batch norms stay modules of their own (nn::intrinsic::ConvBn2d). [ConvTranspose, BatchNorm] is
/// refused.
void fuse_modules_qat(nn::ModuleRef model, const std::vector<FuseList>& modules_to_fuse);

/// Gives every module a QConfig: its own, what the mapping has for its path and class, or its parent's.
void propagate_qconfig_(nn::ModuleRef model, const QConfigMapping* mapping = nullptr);

/// Observers behind what has a QConfig and a quantized form (get_default_static_quant_module_mappings): children named
/// activation_post_process. Warns where there is none. Throws ValueError where there are observers already.
/// `custom_modules`: what becomes what before, so that its layers are observed; an empty one leaves all as they are.
void prepare(nn::ModuleRef model, const ModuleMapping& custom_modules = get_default_custom_module_mappings());
void prepare(nn::ModuleRef model, const QConfig& qconfig,
             const ModuleMapping& custom_modules = get_default_custom_module_mappings());
void prepare(nn::ModuleRef model, const QConfigMapping& mapping,
             const ModuleMapping& custom_modules = get_default_custom_module_mappings());

/// The same for training: layers become those of nn::qat, observers fake quantizers; sigmoid, tanh, softmax and
/// hardsigmoid get fake quantizers of fixed scales. Throws ValueError where the model is not in training. `modules`:
/// what becomes what.
void prepare_qat(nn::ModuleRef model, const ModuleMapping& modules = get_default_qat_module_mappings());
void prepare_qat(nn::ModuleRef model, const QConfig& qconfig,
                 const ModuleMapping& modules = get_default_qat_module_mappings());
void prepare_qat(nn::ModuleRef model, const QConfigMapping& mapping,
                 const ModuleMapping& modules = get_default_qat_module_mappings());

/// The part of a prepared model's state that is its observers', to be loaded by another that was prepared alike.
nn::StateDict get_observer_state_dict(nn::ModuleRef model);
/// Throws c10::Error, and loads nothing, where names or sizes differ.
void load_observer_state_dict(nn::ModuleRef model, const nn::StateDict& state);

/// What `mapping` makes of a module that has a QConfig; else a replacement without a module.
Replacement swap_module(nn::Module& module, const ModuleMapping& mapping);

/// Every module below that has a QConfig becomes what `mapping` makes of it; observers and QConfigs are taken away.
/// Where one cannot be converted nothing is changed.
void convert(nn::ModuleRef model, const ModuleMapping& mapping = get_default_static_quant_module_mappings());

/// eval(), prepare(), `calibrate()`, convert().
void quantize(nn::ModuleRef model, const QConfig& qconfig, const std::function<void()>& calibrate);
void quantize(nn::ModuleRef model, const QConfigMapping& mapping, const std::function<void()>& calibrate);
/// train(), prepare_qat(), `train()`, convert().
void quantize_qat(nn::ModuleRef model, const QConfig& qconfig, const std::function<void()>& train);

/// Linear, LSTM, GRU and cells become those of nn::quantized::dynamic. `dtype`: QInt8, or Half for weights in half
/// precision; QUInt8 and QUInt4x2: tables (Embedding and EmbeddingBag). Throws ValueError for others.
void quantize_dynamic(nn::ModuleRef model, c10::ScalarType dtype = c10::ScalarType::QInt8);
/// Of these classes ("Linear", "LSTM") or paths only.
void quantize_dynamic(nn::ModuleRef model, const std::set<std::string>& which,
                      c10::ScalarType dtype = c10::ScalarType::QInt8);
/// What the mapping has a QConfig for.
void quantize_dynamic(nn::ModuleRef model, const QConfigMapping& mapping);

/// A QuantWrapper around every Linear, Conv1d to 3d, and what is fused of these with ReLU, that has a QConfig.
void add_quant_dequant(nn::ModuleRef model);

}  // namespace torch::quantization
