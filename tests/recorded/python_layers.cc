// torch.nn.functional, torch.nn, its utilities, and torch.optim, by Python's names.
#include <algorithm>
#include <set>

#include "aten/ops/matmul/ops.h"
#include "autograd/autograd.h"
#include "nn/functional/functional.h"
#include "nn/layers/linear.h"
#include "nn/layers/rnn.h"
#include "nn/utils/rnn.h"
#include "nn/utils/stateless.h"
#include "tests/conformance/case_set.h"
#include "tests/recorded/functional_arguments.h"
#include "tests/recorded/modules.h"
#include "tests/recorded/named_calls.h"
#include "tests/recorded/optim_values.h"
#include "tests/recorded/python_interpreter.h"

namespace recorded {
namespace {

using at::Tensor;
using torch::nn::utils::rnn::PackedSequence;
using Texts = std::set<std::string>;

bool has_tag(const Json& v, const char* tag) {
  return v.is_object() && v.contains(tag);
}
bool is_tensor(const Json& v) {
  return has_tag(v, "tensor");
}

const std::map<std::string, std::string>& signatures_of_functions() {
  static const std::string conv = "input, weight, bias=, stride=, padding=, dilation=, groups=";
  static const std::string transposed = "input, weight, bias=, stride=, padding=, output_padding=, groups=, dilation=";
  static const std::string max_pool = "input, kernel_size, stride=, padding=, dilation=, ceil_mode=, return_indices=";
  static const std::string avg_pool =
      "input, kernel_size, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override=";
  static const std::string unpool = "input, indices, kernel_size, stride=, padding=, output_size=";
  static const std::string fractional =
      "input, kernel_size, output_size=, output_ratio=, return_indices=, _random_samples=";
  static const std::string adaptive = "input, output_size, return_indices=";
  static const std::string dropout = "input, p=, training=, inplace=";
  static const std::string loss = "input, target, size_average=, reduce=, reduction=";
  static const std::string weighted = "input, target, weight=, size_average=, reduce=, reduction=";
  static const std::string softmax = "input, dim=, _stacklevel=, dtype=", inplace = "input, inplace=";
  static const std::map<std::string, std::string> all = {
      {"linear", "input, weight, bias="},
      {"bilinear", "input1, input2, weight, bias="},
      {"conv1d", conv},
      {"conv2d", conv},
      {"conv3d", conv},
      {"conv_transpose1d", transposed},
      {"conv_transpose2d", transposed},
      {"conv_transpose3d", transposed},
      {"max_pool1d", max_pool},
      {"max_pool2d", max_pool},
      {"max_pool3d", max_pool},
      {"avg_pool1d", "input, kernel_size, stride=, padding=, ceil_mode=, count_include_pad="},
      {"avg_pool2d", avg_pool},
      {"avg_pool3d", avg_pool},
      {"adaptive_avg_pool1d", adaptive},
      {"adaptive_avg_pool2d", adaptive},
      {"adaptive_avg_pool3d", adaptive},
      {"adaptive_max_pool1d", adaptive},
      {"adaptive_max_pool2d", adaptive},
      {"adaptive_max_pool3d", adaptive},
      {"max_unpool1d", unpool},
      {"max_unpool2d", unpool},
      {"max_unpool3d", unpool},
      {"fractional_max_pool2d", fractional},
      {"fractional_max_pool3d", fractional},
      {"interpolate", "input, size=, scale_factor=, mode=, align_corners=, recompute_scale_factor=, antialias="},
      {"grid_sample", "input, grid, mode=, padding_mode=, align_corners="},
      {"affine_grid", "theta, size, align_corners="},
      {"pad", "input, pad, mode=, value="},
      {"pixel_shuffle", "input, upscale_factor"},
      {"pixel_unshuffle", "input, downscale_factor"},
      {"fold", "input, output_size, kernel_size, dilation=, padding=, stride="},
      {"unfold", "input, kernel_size, dilation=, padding=, stride="},
      {"softmax", softmax},
      {"softmin", softmax},
      {"log_softmax", softmax},
      {"glu", "input, dim="},
      {"dropout", dropout},
      {"alpha_dropout", dropout},
      {"feature_alpha_dropout", dropout},
      {"gelu", "input, approximate="},
      {"prelu", "input, weight"},
      {"rrelu", "input, lower=, upper=, training=, inplace="},
      {"hardtanh", "input, min_val=, max_val=, inplace="},
      {"softplus", "input, beta=, threshold="},
      {"threshold", "input, threshold, value, inplace="},
      {"layer_norm", "input, normalized_shape, weight=, bias=, eps="},
      {"rms_norm", "input, normalized_shape, weight=, eps="},
      {"batch_norm", "input, running_mean, running_var, weight=, bias=, training=, momentum=, eps="},
      {"instance_norm", "input, running_mean=, running_var=, weight=, bias=, use_input_stats=, momentum=, eps="},
      {"group_norm", "input, num_groups, weight=, bias=, eps="},
      {"local_response_norm", "input, size, alpha=, beta=, k="},
      {"normalize", "input, p=, dim=, eps=, out="},
      {"embedding", "input, weight, padding_idx=, max_norm=, norm_type=, scale_grad_by_freq=, sparse="},
      {"embedding_bag",
       "input, weight, offsets=, max_norm=, norm_type=, scale_grad_by_freq=, mode=, sparse=, per_sample_weights=, "
       "include_last_offset=, padding_idx="},
      {"one_hot", "tensor, num_classes="},
      {"cross_entropy", "input, target, weight=, size_average=, ignore_index=, reduce=, reduction=, label_smoothing="},
      {"nll_loss", "input, target, weight=, size_average=, ignore_index=, reduce=, reduction="},
      {"binary_cross_entropy", weighted},
      {"binary_cross_entropy_with_logits", "input, target, weight=, size_average=, reduce=, reduction=, pos_weight="},
      {"mse_loss", loss + ", weight="},
      {"l1_loss", loss},
      {"smooth_l1_loss", loss + ", beta="},
      {"huber_loss", "input, target, reduction=, delta=, weight="},
      {"kl_div", loss + ", log_target="},
      {"gaussian_nll_loss", "input, target, var, full=, eps=, reduction="},
      {"cosine_embedding_loss", "input1, input2, target, margin=, size_average=, reduce=, reduction="},
      {"margin_ranking_loss", "input1, input2, target, margin=, size_average=, reduce=, reduction="},
      {"triplet_margin_loss",
       "anchor, positive, negative, margin=, p=, eps=, swap=, size_average=, reduce=, reduction="},
      {"triplet_margin_with_distance_loss",
       "anchor, positive, negative, distance_function=, margin=, swap=, reduction="},
      {"multi_margin_loss", "input, target, p=, margin=, weight=, size_average=, reduce=, reduction="},
      {"multilabel_margin_loss", loss},
      {"ctc_loss", "log_probs, targets, input_lengths, target_lengths, blank=, reduction=, zero_infinity="},
      {"scaled_dot_product_attention", "query, key, value, attn_mask=, dropout_p=, is_causal=, scale=, enable_gqa="},
      {"pdist", "input, p="},
      {"cosine_similarity", "x1, x2, dim=, eps="},
      {"pairwise_distance", "x1, x2, p=, eps=, keepdim="},
      {"relu", inplace},
      {"relu6", inplace},
      {"selu", inplace},
      {"silu", inplace},
      {"mish", inplace},
      {"hardsigmoid", inplace},
      {"hardswish", inplace},
      {"elu", "input, alpha=, inplace="},
      {"celu", "input, alpha=, inplace="},
      {"leaky_relu", "input, negative_slope=, inplace="},
      {"hardshrink", "input, lambd="},
      {"softshrink", "input, lambd="},
      {"logsigmoid", "input"},
      {"softsign", "input"},
      {"tanhshrink", "input"},
      {"sigmoid", "input"},
      {"tanh", "input"},
      {"gumbel_softmax", "logits, tau=, hard=, eps=, dim="},
      {"dropout1d", dropout},
      {"dropout2d", dropout},
      {"dropout3d", dropout},
      {"lp_pool1d", "input, norm_type, kernel_size, stride=, ceil_mode="},
      {"lp_pool2d", "input, norm_type, kernel_size, stride=, ceil_mode="},
      {"lp_pool3d", "input, norm_type, kernel_size, stride=, ceil_mode="},
      {"channel_shuffle", "input, groups"},
      {"upsample", "input, size=, scale_factor=, mode=, align_corners="},
      {"soft_margin_loss", loss},
      {"multilabel_soft_margin_loss", weighted},
      {"hinge_embedding_loss", "input, target, margin=, size_average=, reduce=, reduction="},
      {"poisson_nll_loss", "input, target, log_input=, full=, size_average=, eps=, reduce=, reduction="},
  };
  return all;
}

const std::map<std::string, std::string>& signatures_of_layers() {
  static const std::string conv =
      "in_channels, out_channels, kernel_size, stride=, padding=, dilation=, groups=, bias=, padding_mode=";
  static const std::string transposed =
      "in_channels, out_channels, kernel_size, stride=, padding=, output_padding=, groups=, bias=, dilation=, "
      "padding_mode=";
  static const std::string batch_norm = "num_features, eps=, momentum=, affine=, track_running_stats=";
  static const std::string recurrent =
      "input_size, hidden_size, num_layers=, bias=, batch_first=, dropout=, bidirectional=, proj_size=, nonlinearity=";
  static const std::string cell = "input_size, hidden_size, bias=, nonlinearity=";
  static const std::string dropout = "p=, inplace=", inplace = "inplace=";
  static const std::string loss = "size_average=, reduce=, reduction=", weighted = "weight=, " + loss;
  static const std::map<std::string, std::string> all = {
      {"Linear", "in_features, out_features, bias="},
      {"Bilinear", "in1_features, in2_features, out_features, bias="},
      {"Conv1d", conv},
      {"Conv2d", conv},
      {"Conv3d", conv},
      {"ConvTranspose1d", transposed},
      {"ConvTranspose2d", transposed},
      {"ConvTranspose3d", transposed},
      {"BatchNorm1d", batch_norm},
      {"BatchNorm2d", batch_norm},
      {"BatchNorm3d", batch_norm},
      {"InstanceNorm1d", batch_norm},
      {"InstanceNorm2d", batch_norm},
      {"InstanceNorm3d", batch_norm},
      {"GroupNorm", "num_groups, num_channels, eps=, affine=, bias="},
      {"LayerNorm", "normalized_shape, eps=, elementwise_affine=, bias="},
      {"Dropout", dropout},
      {"Dropout2d", dropout},
      {"AlphaDropout", dropout},
      {"Embedding", "num_embeddings, embedding_dim, padding_idx=, max_norm=, norm_type=, scale_grad_by_freq=, sparse="},
      {"MultiheadAttention", "embed_dim, num_heads, dropout=, bias=, add_bias_kv=, add_zero_attn=, kdim=, vdim="},
      {"TransformerEncoderLayer", "d_model, nhead, dim_feedforward=, dropout=, activation="},
      {"TransformerDecoderLayer", "d_model, nhead, dim_feedforward=, dropout=, activation="},
      {"Transformer", "d_model=, nhead=, num_encoder_layers=, num_decoder_layers=, dim_feedforward=, dropout="},
      {"RNN", recurrent},
      {"LSTM", recurrent},
      {"GRU", recurrent},
      {"RNNCell", cell},
      {"LSTMCell", cell},
      {"GRUCell", cell},
      {"Flatten", "start_dim=, end_dim="},
      {"Unflatten", "dim, unflattened_size"},
      {"Upsample", "size=, scale_factor=, mode=, align_corners="},
      {"PixelShuffle", "upscale_factor"},
      {"PixelUnshuffle", "downscale_factor"},
      {"AdaptiveLogSoftmaxWithLoss", "in_features, n_classes, cutoffs, div_value=, head_bias="},
      {"CosineSimilarity", "dim=, eps="},
      {"PairwiseDistance", "p=, eps=, keepdim="},
      {"Dropout1d", dropout},
      {"Dropout3d", dropout},
      {"FeatureAlphaDropout", dropout},
      {"EmbeddingBag",
       "num_embeddings, embedding_dim, max_norm=, norm_type=, scale_grad_by_freq=, mode=, sparse=, _weight=, "
       "include_last_offset=, padding_idx="},
      {"RMSNorm", "normalized_shape, eps=, elementwise_affine="},
      {"LocalResponseNorm", "size, alpha=, beta=, k="},
      {"ChannelShuffle", "groups"},
      {"Fold", "output_size, kernel_size, dilation=, padding=, stride="},
      {"Unfold", "kernel_size, dilation=, padding=, stride="},
      {"UpsamplingNearest2d", "size=, scale_factor="},
      {"UpsamplingBilinear2d", "size=, scale_factor="},
      {"Identity", ""},
      {"ReLU", inplace},
      {"ReLU6", inplace},
      {"SELU", inplace},
      {"SiLU", inplace},
      {"Mish", inplace},
      {"Hardsigmoid", inplace},
      {"Hardswish", inplace},
      {"ELU", "alpha=, inplace="},
      {"CELU", "alpha=, inplace="},
      {"GELU", "approximate="},
      {"GLU", "dim="},
      {"Softmax", "dim="},
      {"Softmin", "dim="},
      {"LogSoftmax", "dim="},
      {"Softmax2d", ""},
      {"Sigmoid", ""},
      {"LogSigmoid", ""},
      {"Softsign", ""},
      {"Tanh", ""},
      {"Tanhshrink", ""},
      {"Hardshrink", "lambd="},
      {"Softshrink", "lambd="},
      {"Hardtanh", "min_val=, max_val=, inplace="},
      {"LeakyReLU", "negative_slope=, inplace="},
      {"PReLU", "num_parameters=, init="},
      {"RReLU", "lower=, upper=, inplace="},
      {"Softplus", "beta=, threshold="},
      {"Threshold", "threshold, value, inplace="},
      {"L1Loss", loss},
      {"MSELoss", loss},
      {"MultiLabelMarginLoss", loss},
      {"SoftMarginLoss", loss},
      {"KLDivLoss", loss + ", log_target="},
      {"SmoothL1Loss", loss + ", beta="},
      {"HuberLoss", "reduction=, delta="},
      {"BCELoss", weighted},
      {"MultiLabelSoftMarginLoss", weighted},
      {"BCEWithLogitsLoss", weighted + ", pos_weight="},
      {"NLLLoss", "weight=, size_average=, ignore_index=, reduce=, reduction="},
      {"CrossEntropyLoss", "weight=, size_average=, ignore_index=, reduce=, reduction=, label_smoothing="},
      {"CosineEmbeddingLoss", "margin=, " + loss},
      {"HingeEmbeddingLoss", "margin=, " + loss},
      {"MarginRankingLoss", "margin=, " + loss},
      {"MultiMarginLoss", "p=, margin=, " + weighted},
      {"TripletMarginLoss", "margin=, p=, eps=, swap=, " + loss},
      {"TripletMarginWithDistanceLoss", "distance_function=, margin=, swap=, reduction="},
      {"PoissonNLLLoss", "log_input=, full=, size_average=, eps=, reduce=, reduction="},
      {"GaussianNLLLoss", "full=, eps=, reduction="},
      {"CTCLoss", "blank=, reduction=, zero_infinity="},
      {"MaxPool1d", "kernel_size, stride=, padding=, dilation=, return_indices=, ceil_mode="},
      {"AvgPool1d", "kernel_size, stride=, padding=, ceil_mode=, count_include_pad="},
      {"AdaptiveAvgPool1d", "output_size"},
      {"AdaptiveMaxPool1d", "output_size, return_indices="},
      {"LPPool1d", "norm_type, kernel_size, stride=, ceil_mode="},
      {"MaxUnpool1d", "kernel_size, stride=, padding="},
      {"CircularPad1d", "padding"},
      {"ReflectionPad1d", "padding"},
      {"ReplicationPad1d", "padding"},
      {"ZeroPad1d", "padding"},
      {"ConstantPad1d", "padding, value"},
      {"MaxPool2d", "kernel_size, stride=, padding=, dilation=, return_indices=, ceil_mode="},
      {"AvgPool2d", "kernel_size, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override="},
      {"AdaptiveAvgPool2d", "output_size"},
      {"AdaptiveMaxPool2d", "output_size, return_indices="},
      {"LPPool2d", "norm_type, kernel_size, stride=, ceil_mode="},
      {"MaxUnpool2d", "kernel_size, stride=, padding="},
      {"CircularPad2d", "padding"},
      {"ReflectionPad2d", "padding"},
      {"ReplicationPad2d", "padding"},
      {"ZeroPad2d", "padding"},
      {"ConstantPad2d", "padding, value"},
      {"FractionalMaxPool2d", "kernel_size, output_size=, output_ratio=, return_indices="},
      {"MaxPool3d", "kernel_size, stride=, padding=, dilation=, return_indices=, ceil_mode="},
      {"AvgPool3d", "kernel_size, stride=, padding=, ceil_mode=, count_include_pad=, divisor_override="},
      {"AdaptiveAvgPool3d", "output_size"},
      {"AdaptiveMaxPool3d", "output_size, return_indices="},
      {"LPPool3d", "norm_type, kernel_size, stride=, ceil_mode="},
      {"MaxUnpool3d", "kernel_size, stride=, padding="},
      {"CircularPad3d", "padding"},
      {"ReflectionPad3d", "padding"},
      {"ReplicationPad3d", "padding"},
      {"ZeroPad3d", "padding"},
      {"ConstantPad3d", "padding, value"},
      {"FractionalMaxPool3d", "kernel_size, output_size=, output_ratio=, return_indices="},
  };
  return all;
}

// The choices that an option's type has, by the option's name and what takes it; empty where it takes any text.
const Texts& choices(const std::string& option, const std::string& taker) {
  static const Texts any, none = {"(no text)"};
  static const Texts reduction = {"none", "mean", "sum"}, batch_reduction = {"none", "mean", "sum", "batchmean"};
  static const Texts padding = {"same", "valid"}, bag = {"sum", "mean", "max"};
  static const Texts interpolation = {"nearest",   "linear", "bilinear",      "bicubic",
                                      "trilinear", "area",   "nearest-exact", "lanczos"};
  static const Texts sampling = {"bilinear", "nearest", "bicubic"}, outside = {"zeros", "border", "reflection"};
  static const Texts padded = {"constant", "reflect", "replicate", "circular"};
  static const Texts around = {"zeros", "reflect", "replicate", "circular"};
  static const Texts activation = {"relu", "gelu"}, rnn = {"tanh", "relu"}, plateau = {"min", "max"};
  if (option == "reduction") return taker == "kl_div" || taker == "KLDivLoss" ? batch_reduction : reduction;
  if (option == "padding" && taker.find("onv") != std::string::npos) return padding;
  if (option == "padding_mode") return taker == "grid_sample" ? outside : around;
  if (option == "mode" && taker == "grid_sample") return sampling;
  if (option == "mode" && taker == "pad") return padded;
  if (option == "mode" && (taker == "embedding_bag" || taker == "EmbeddingBag")) return bag;
  if (option == "mode" && (taker == "interpolate" || taker == "Upsample")) return interpolation;
  if (option == "mode" && taker == "ReduceLROnPlateau") return plateau;
  if (option == "activation") return activation;
  if (option == "nonlinearity") return rnn;
  if (option == "approximate" || option == "mode" || option == "anneal_strategy" || option == "line_search_fn")
    return any;
  return none;
}

void check_texts(const std::string& taker, const Json& named) {
  for (const auto& [option, v] : named.items()) {
    if (!v.is_string()) continue;
    const Texts& all = choices(option, taker);
    if (!all.empty() && all.count(v.get<std::string>()) == 0)
      throw CompilerRefuses(taker + "'s " + option + " has no constant for " + v.dump());
  }
}

bool is_other_text(const Json& named, const char* option, const std::string& taker) {
  return has(named, option) && named.at(option).is_string() &&
         choices(option, taker).count(named.at(option).get<std::string>()) == 0;
}

std::vector<std::string> names_in(const std::string& signature) {
  std::vector<std::string> names;
  for (size_t at = 0; at < signature.size();) {
    const size_t end = std::min(signature.find(", ", at), signature.size());
    names.push_back(signature.substr(at, end - at));
    if (names.back().back() == '=') names.back().pop_back();
    at = end + 2;
  }
  return names;
}

Json values(PythonInterpreter& python, const std::vector<Tensor>& tensors) {
  Json all = Json::array();
  for (const Tensor& t : tensors) all.push_back(t.defined() ? python.value(t) : Json());
  return all.size() == 1 ? all[0] : all;
}

// --- what is made ---
struct Layer {
  std::string name;
  Built built;
};
struct Chain {
  std::vector<Json> layers;
};
using Optimizer = std::shared_ptr<torch::optim::Optimizer>;

Json call_layer(PythonInterpreter& python, const Layer& layer, const PythonArguments& a) {
  static const Json nothing = Json::object();
  Call call;
  std::vector<Json> raw;
  const auto take = [&](const Json& v) {
    if (v.is_array()) {
      for (const Json& one : v) call.inputs.push_back(python.tensor(one));
    } else {
      call.inputs.push_back(python.tensor(v));
    }
    raw.push_back(v);
  };
  for (const Json& v : a.positional) take(v);
  const Json named(a.named), all(raw);
  call.kwargs = &named;
  call.raw = &all;
  call.tensor = [&](const Json& v) { return python.tensor(v); };
  return values(python, layer.built.forward(call));
}

Json call_rnn(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  namespace rnn = torch::nn::utils::rnn;
  if (name == "pack_padded_sequence") {
    const Json c = a.by_name(name, "input, lengths, batch_first=, enforce_sorted=");
    return python.object(rnn::pack_padded_sequence(python.tensor(c.at("input")), python.tensor(c.at("lengths")),
                                                   flag_of(c, "batch_first", false),
                                                   flag_of(c, "enforce_sorted", true)));
  }
  if (name == "pad_packed_sequence") {
    const Json c = a.by_name(name, "sequence, batch_first=, padding_value=, total_length=");
    const PackedSequence* packed = python.object_of<PackedSequence>(c.at("sequence"));
    if (packed == nullptr) throw CompilerRefuses("pad_packed_sequence takes a packed sequence");
    const auto [padded, lengths] = rnn::pad_packed_sequence(
        *packed, flag_of(c, "batch_first", false), number_of(c, "padding_value", 0),
        has(c, "total_length") ? std::optional<int64_t>(integer_of(c, "total_length", 0)) : std::nullopt);
    return values(python, {padded, lengths});
  }
  if (name == "pad_sequence") {
    const Json c = a.by_name(name, "sequences, batch_first=, padding_value=");
    std::vector<Tensor> all;
    for (const Json& one : c.at("sequences")) all.push_back(python.tensor(one));
    return python.value(rnn::pad_sequence(all, flag_of(c, "batch_first", false), number_of(c, "padding_value", 0)));
  }
  throw NotExpressible("no function nn.utils.rnn." + name + " here");
}

Json call_init(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  static const std::map<std::string, std::string> signatures = {
      {"uniform_", "tensor, a=, b="},
      {"normal_", "tensor, mean=, std="},
      {"trunc_normal_", "tensor, mean=, std=, a=, b="},
      {"constant_", "tensor, val"},
      {"ones_", "tensor"},
      {"zeros_", "tensor"},
      {"xavier_uniform_", "tensor, gain="},
      {"xavier_normal_", "tensor, gain="},
      {"kaiming_uniform_", "tensor, a=, mode=, nonlinearity="},
      {"kaiming_normal_", "tensor, a=, mode=, nonlinearity="},
      {"orthogonal_", "tensor, gain="},
      {"eye_", "tensor"},
      {"dirac_", "tensor, groups="},
      {"sparse_", "tensor, sparsity, std="}};
  const auto nonlinearity = [](const std::string& text) {
    try {
      return nonlinearity_of(text);
    } catch (const std::runtime_error& error) {
      throw CompilerRefuses(error.what());
    }
  };
  if (name == "calculate_gain") {
    const Json c = a.by_name(name, "nonlinearity, param=");
    return torch::nn::init::calculate_gain(nonlinearity(c.at("nonlinearity").get<std::string>()),
                                           number_of(c, "param", 0.01));
  }
  const auto found = signatures.find(name);
  if (found == signatures.end()) throw NotExpressible("no function nn.init." + name + " here");
  const Json c = a.by_name(name, found->second);
  const std::string mode = text_of(c, "mode", "fan_in");
  if (mode != "fan_in" && mode != "fan_out") throw CompilerRefuses("FanModeType has no constant for " + mode);
  if (has(c, "nonlinearity")) (void)nonlinearity(c.at("nonlinearity").get<std::string>());
  initialize(name, python.tensor(c.at("tensor")), c);
  return c.at("tensor");
}

// The parameters that an optimizer is made of, and the settings of their groups.
void take_parameters(PythonInterpreter& python, const Json& v, std::vector<std::vector<Tensor>>& params,
                     std::vector<Json>& configs) {
  if (!v.is_array())
    throw CompilerRefuses("an optimizer takes a list of tensors, not one " + PythonInterpreter::type_name(v));
  if (v.empty() || is_tensor(v[0])) {
    params.emplace_back();
    configs.push_back(Json::object());
    for (const Json& t : v) params[0].push_back(python.tensor(t));
    return;
  }
  for (const Json& group : v) {
    Json config = group.at("dict");
    params.emplace_back();
    for (const Json& t : config.at("params")) params.back().push_back(python.tensor(t));
    config.erase("params");
    configs.push_back(config);
  }
}

Json make_schedule_of(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  static const std::map<std::string, std::string> signatures = {
      {"MultiStepLR", "optimizer, milestones, gamma=, last_epoch="},
      {"StepLR", "optimizer, step_size, gamma=, last_epoch="},
      {"LambdaLR", "optimizer, lr_lambda, last_epoch="},
      {"OneCycleLR",
       "optimizer, max_lr, total_steps=, epochs=, steps_per_epoch=, pct_start=, anneal_strategy=, cycle_momentum=, "
       "base_momentum=, max_momentum=, div_factor=, final_div_factor=, three_phase=, last_epoch="},
      {"CyclicLR",
       "optimizer, base_lr, max_lr, step_size_up=, step_size_down=, mode=, gamma=, scale_fn=, scale_mode=, "
       "cycle_momentum=, base_momentum=, max_momentum=, last_epoch="},
      {"ReduceLROnPlateau",
       "optimizer, mode=, factor=, patience=, threshold=, threshold_mode=, cooldown=, min_lr=, eps="},
      {"ExponentialLR", "optimizer, gamma, last_epoch="},
      {"CosineAnnealingLR", "optimizer, T_max, eta_min=, last_epoch="},
      {"PolynomialLR", "optimizer, total_iters=, power=, last_epoch="},
      {"MultiplicativeLR", "optimizer, lr_lambda, last_epoch="},
      {"CosineAnnealingWarmRestarts", "optimizer, T_0, T_mult=, eta_min=, last_epoch="},
      {"ConstantLR", "optimizer, factor=, total_iters=, last_epoch="},
      {"LinearLR", "optimizer, start_factor=, end_factor=, total_iters=, last_epoch="},
      {"SequentialLR", "optimizer, schedulers, milestones"},
  };
  const auto found = signatures.find(name);
  if (found == signatures.end()) throw NotExpressible("no schedule " + name + " here");
  Json c = a.by_name(name, found->second);
  Optimizer* optimizer = python.object_of<Optimizer>(c.at("optimizer"));
  if (optimizer == nullptr) throw CompilerRefuses("a schedule takes an optimizer");
  c.erase("optimizer");
  check_texts(name, c);
  if (name == "ReduceLROnPlateau") return python.object(make_plateau_schedule(**optimizer, c));
  if (name == "LambdaLR" || name == "MultiplicativeLR") {
    Json formulas = Json::array();
    for (const Json& one : c.at("lr_lambda").is_array() ? c.at("lr_lambda") : Json::array({c.at("lr_lambda")})) {
      if (!has_tag(one, "lambda")) throw CompilerRefuses(name + " takes functions");
      formulas.push_back("0.95");
    }
    c["lr_lambda"] = formulas;
  }
  if (c.contains("milestones") && c.at("milestones").is_null())
    throw CompilerRefuses("milestones are a list of integers");
  return python.object(make_schedule(**optimizer, Json{{"scheduler", name}, {"config", c}}));
}

}  // namespace

Json call_functional(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  const auto found = signatures_of_functions().find(name);
  const Function function = functional(name);
  if (found == signatures_of_functions().end()) throw NotExpressible("no function F." + name + " here");
  const Json named = a.by_name(name, found->second);
  // Operators below take any text there, where the options of F have constants.
  if (name.rfind("conv", 0) == 0 && is_other_text(named, "padding", name)) return call_operator(python, name, a);
  if (name == "pad" && is_other_text(named, "mode", name)) return call_operator(python, name, a);
  check_texts(name, named);
  // The names of Python's signature stand for the places, too.
  Json places = Json::array();
  for (const std::string& argument : names_in(found->second)) {
    if (!named.contains(argument)) break;
    places.push_back(named.at(argument));
  }
  // Convolutions take the bias by its place.
  if (name.rfind("conv", 0) == 0 && places.size() < 3) places.push_back(nullptr);
  if (name.rfind("conv", 0) == 0 && named.contains("bias")) places[2] = named.at("bias");
  if (function == nullptr) {
    if (name != "triplet_margin_with_distance_loss") throw NotExpressible("no function F." + name + " here");
    namespace F = torch::nn::functional;
    return python.value(F::triplet_margin_with_distance_loss(
        python.tensor(places.at(0)), python.tensor(places.at(1)), python.tensor(places.at(2)),
        F::TripletMarginWithDistanceLossFuncOptions().margin(number_of(named, "margin", 1))));
  }
  for (const Json& v : places) {
    if (v.is_string() && &v == &places[1] && name != "gelu") throw CompilerRefuses("F." + name + " takes a tensor, not a text");
  }
  const Arguments arguments(places, named, [&](const Json& v) { return python.tensor(v); });
  return values(python, function(arguments));
}

Json call_nn(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  if (name.rfind("init.", 0) == 0) return call_init(python, name.substr(5), a);
  if (name.rfind("utils.rnn.", 0) == 0) return call_rnn(python, name.substr(10), a);
  if (name == "Sequential") return python.object(Chain{a.positional});
  const auto found = signatures_of_layers().find(name);
  if (found == signatures_of_layers().end()) throw NotExpressible("no class nn." + name + " here");
  const Json config = a.by_name(name, found->second);
  check_texts(name, config);
  if (name == "GRU" && has(config, "proj_size")) throw CompilerRefuses("GRUOptions has no proj_size");
  Layer layer{name, build(name, config, [&](const Json& v) { return python.tensor(v); })};
  if (layer.built.module == nullptr) throw NotExpressible("no class nn." + name + " here");
  return python.object(std::move(layer));
}

Json call_optim(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  if (name.rfind("lr_scheduler.", 0) == 0) return make_schedule_of(python, name.substr(13), a);
  std::vector<std::vector<Tensor>> params;
  std::vector<Json> configs;
  if (a.positional.size() != 1) throw CompilerRefuses(name + " takes parameters, and settings by name");
  take_parameters(python, a.positional[0], params, configs);
  Optimizer optimizer = make_optimizer(name, Json(a.named), params, configs);
  if (optimizer == nullptr) throw NotExpressible("no optimizer " + name + " here");
  return python.object(std::move(optimizer));
}

Json call_functional_call(PythonInterpreter& python, const PythonArguments& a) {
  const Json c = a.by_name("functional_call", "module, parameter_and_buffer_dicts, args, tie_weights=, strict=");
  const Layer* layer = python.object_of<Layer>(c.at("module"));
  const auto linear = layer == nullptr ? nullptr : std::dynamic_pointer_cast<torch::nn::LinearImpl>(layer->built.module);
  if (linear == nullptr) throw NotExpressible("functional_call of a Linear only");
  torch::OrderedDict<std::string, Tensor> tensors;
  for (const auto& [name, value] : c.at("parameter_and_buffer_dicts").at("dict").items())
    tensors.insert(name, python.tensor(value));
  const torch::func::FunctionalCallOptions options{flag_of(c, "tie_weights", true), flag_of(c, "strict", false)};
  return python.value(torch::func::functional_call(linear, tensors, options, python.tensor(c.at("args"))));
}

bool call_object(PythonInterpreter& python, const Json& object, const std::string& method, const PythonArguments& a,
                 Json& result) {
  if (const Layer* layer = python.object_of<Layer>(object); layer != nullptr && method.empty()) {
    const Layer copy = *layer;
    result = call_layer(python, copy, a);
    return true;
  }
  if (const Chain* chain = python.object_of<Chain>(object); chain != nullptr && method.empty()) {
    const std::vector<Json> layers = chain->layers;
    PythonArguments next = a;
    for (const Json& layer : layers) {
      if (!call_object(python, layer, "", next, result)) return false;
      next = {{result}, {}};
    }
    return true;
  }
  if (Optimizer* optimizer = python.object_of<Optimizer>(object); optimizer != nullptr && method == "step") {
    const Optimizer copy = *optimizer;
    PythonNodePtr body = *python.object_of<PythonNodePtr>(Json{{"object", a.positional.at(0).at("lambda")}});
    result = python.value(copy->step([&] { return python.tensor(python.evaluate(*body)); }));
    return true;
  }
  if (at::Generator* generator = python.object_of<at::Generator>(object);
      generator != nullptr && method == "set_state") {
    generator->set_state(python.tensor(a.positional.at(0)));
    return true;
  }
  return false;
}

}  // namespace recorded
