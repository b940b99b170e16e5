#include "tests/recorded/modules.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "nn/layers/layers.h"
#include "tests/recorded/fields.h"
#include "tests/recorded/module_options.h"

namespace recorded {

namespace nn = torch::nn;
using at::Tensor;
using conformance::integer;
using conformance::number;

namespace {

template <size_t D, typename Holder>
Built conv_transpose(const Json& c) {
  auto options = nn::ConvTransposeOptions<D>(integer_of(c, "in_channels", 0), integer_of(c, "out_channels", 0),
                                             array_of<D>(read(c, "kernel_size")))
                     .stride(array_of<D>(c, "stride", 1))
                     .padding(array_of<D>(c, "padding", 0))
                     .output_padding(array_of<D>(c, "output_padding", 0))
                     .groups(integer_of(c, "groups", 1))
                     .bias(flag_of(c, "bias", true))
                     .dilation(array_of<D>(c, "dilation", 1));
  // Others than zeros are refused by forward.
  const std::string mode = text_of(c, "padding_mode", "zeros");
  if (mode == "reflect") {
    options.padding_mode(torch::kReflect);
  } else if (mode == "replicate") {
    options.padding_mode(torch::kReplicate);
  } else if (mode == "circular") {
    options.padding_mode(torch::kCircular);
  } else if (mode != "zeros") {
    refuse_value("padding_mode", mode);
  }
  Holder holder(options);
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            if (!has(*call.kwargs, "output_size")) return {holder(call.inputs.at(0))};
            const std::vector<int64_t> size = integers(read(*call.kwargs, "output_size"));
            return {holder(call.inputs.at(0), c10::IntArrayRef(size))};
          }};
}

template <size_t D>
nn::MaxUnpoolOptions<D> unpool_options(const Json& c) {
  const auto kernel = array_of<D>(read(c, "kernel_size"));
  return nn::MaxUnpoolOptions<D>(kernel).stride(array_of<D>(c, "stride", kernel)).padding(array_of<D>(c, "padding", 0));
}
template <size_t D, typename Holder>
Built max_unpool(const Json& c) {
  Holder holder(unpool_options<D>(c));
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            if (!has(*call.kwargs, "output_size")) return {holder->forward(call.inputs.at(0), call.inputs.at(1))};
            return {holder->forward(call.inputs.at(0), call.inputs.at(1), integers(read(*call.kwargs, "output_size")))};
          }};
}

template <size_t D>
nn::FractionalMaxPoolOptions<D> fractional_options(const Json& c) {
  nn::FractionalMaxPoolOptions<D> options(array_of<D>(read(c, "kernel_size")));
  if (has(c, "output_size")) options.output_size(array_of<D>(read(c, "output_size")));
  if (has(c, "output_ratio")) {
    const Json& ratio = read(c, "output_ratio");
    std::vector<double> all;
    for (size_t d = 0; d < D; ++d) all.push_back(number(ratio.is_array() ? ratio.at(d) : ratio));
    options.output_ratio(torch::ExpandingArray<D, double>(all));
  }
  return options;
}
template <size_t D, typename Holder>
Built fractional(const Json& c) {
  Holder holder(fractional_options<D>(c));
  const bool indices = flag_of(c, "return_indices", false);
  return {holder.ptr(), [holder, indices](const Call& call) mutable -> Tensors {
            const auto [y, i] = holder->forward_with_indices(call.inputs.at(0));
            return indices ? Tensors{y, i} : Tensors{y};
          }};
}

template <size_t D>
nn::LPPoolOptions<D> lp_options(const Json& c) {
  const auto kernel = array_of<D>(read(c, "kernel_size"));
  return nn::LPPoolOptions<D>(number_of(c, "norm_type", 2), kernel)
      .stride(array_of<D>(c, "stride", kernel))
      .ceil_mode(flag_of(c, "ceil_mode", false));
}

template <typename Options>
Options transformer_layer(const Json& c, Options o) {
  o.dim_feedforward(integer_of(c, "dim_feedforward", 2048))
      .dropout(number_of(c, "dropout", 0.1))
      .layer_norm_eps(number_of(c, "layer_norm_eps", 1e-5));
  o.batch_first(flag_of(c, "batch_first", false))
      .norm_first(flag_of(c, "norm_first", false))
      .bias(flag_of(c, "bias", true));
  const std::string activation = text_of(c, "activation", "relu");
  if (activation == "gelu") {
    o.activation(torch::kGELU);
  } else if (activation != "relu") {
    refuse_value("activation", activation);
  }
  return o;
}
template <typename Options>
Options transformer_layer(const Json& c) {
  return transformer_layer(c, Options(integer_of(c, "d_model", 0), integer_of(c, "nhead", 0)));
}

nn::LayerNormOptions layer_norm_options(const Json& c) {
  return nn::LayerNormOptions(integers(read(c, "normalized_shape")))
      .eps(number_of(c, "eps", 1e-5))
      .elementwise_affine(flag_of(c, "elementwise_affine", true))
      .bias(flag_of(c, "bias", true));
}
nn::RMSNormOptions rms_norm_options(const Json& c) {
  nn::RMSNormOptions options(integers(read(c, "normalized_shape")));
  if (has(c, "eps")) options.eps(number(read(c, "eps")));
  return options.elementwise_affine(flag_of(c, "elementwise_affine", true));
}

Built attention(const Json& c) {
  const int64_t embed = integer_of(c, "embed_dim", 0);
  nn::MultiheadAttention holder(nn::MultiheadAttentionOptions(embed, integer_of(c, "num_heads", 1))
                                    .dropout(number_of(c, "dropout", 0))
                                    .bias(flag_of(c, "bias", true))
                                    .add_bias_kv(flag_of(c, "add_bias_kv", false))
                                    .add_zero_attn(flag_of(c, "add_zero_attn", false))
                                    .kdim(integer_of(c, "kdim", embed))
                                    .vdim(integer_of(c, "vdim", embed))
                                    .batch_first(flag_of(c, "batch_first", false)));
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            const auto [y, w] = holder->forward(call.inputs.at(0), call.inputs.at(1), call.inputs.at(2),
                                                call.named("key_padding_mask"), call.flag("need_weights", true),
                                                call.named("attn_mask"), call.flag("average_attn_weights", true),
                                                call.flag("is_causal", false));
            return {y, w};
          }};
}

nn::AnyModule norm_of(const Json& spec) {
  const Json& c = spec.at("config");
  const std::string name = spec.contains("module") ? spec.at("module") : spec.at("class");
  if (name == "LayerNorm") return nn::AnyModule(nn::LayerNorm(layer_norm_options(c)));
  if (name == "RMSNorm") return nn::AnyModule(nn::RMSNorm(rms_norm_options(c)));
  throw std::runtime_error("no norm " + name + " here");
}

Built transformer_class(const std::string& name, const Json& c) {
  if (name == "TransformerEncoderLayer") {
    nn::TransformerEncoderLayer holder(transformer_layer<nn::TransformerEncoderLayerOptions>(c));
    return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
              return {holder->forward(call.inputs.at(0), call.named("src_mask"), call.named("src_key_padding_mask"),
                                      call.flag("is_causal", false))};
            }};
  }
  const auto decode = [](auto holder) {
    return [holder](const Call& call) mutable -> Tensors {
      return {holder->forward(call.inputs.at(0), call.inputs.at(1), call.named("tgt_mask"), call.named("memory_mask"),
                              call.named("tgt_key_padding_mask"), call.named("memory_key_padding_mask"),
                              call.flag("tgt_is_causal", false), call.flag("memory_is_causal", false))};
    };
  };
  if (name == "TransformerDecoderLayer") {
    nn::TransformerDecoderLayer holder(transformer_layer<nn::TransformerDecoderLayerOptions>(c));
    return {holder.ptr(), decode(holder)};
  }
  if (name == "TransformerEncoder") {
    nn::TransformerEncoderOptions options(
        transformer_layer<nn::TransformerEncoderLayerOptions>(read(c, "encoder_layer").at("config")),
        integer_of(c, "num_layers", 0));
    options.enable_nested_tensor(flag_of(c, "enable_nested_tensor", true)).mask_check(flag_of(c, "mask_check", true));
    if (has(c, "norm")) options.norm(norm_of(read(c, "norm")));
    nn::TransformerEncoder holder(options);
    return {holder.ptr(),
            [holder](const Call& call) mutable -> Tensors {
              return {holder->forward(call.inputs.at(0), call.named("mask"), call.named("src_key_padding_mask"),
                                      call.flag("is_causal", false))};
            },
            false};
  }
  if (name == "TransformerDecoder") {
    nn::TransformerDecoderOptions options(
        transformer_layer<nn::TransformerDecoderLayerOptions>(read(c, "decoder_layer").at("config")),
        integer_of(c, "num_layers", 0));
    if (has(c, "norm")) options.norm(norm_of(read(c, "norm")));
    nn::TransformerDecoder holder(options);
    return {holder.ptr(), decode(holder), false};
  }
  nn::Transformer holder(transformer_layer(
      c, nn::TransformerOptions(integer_of(c, "d_model", 512), integer_of(c, "nhead", 8),
                                integer_of(c, "num_encoder_layers", 6), integer_of(c, "num_decoder_layers", 6))));
  return {
      holder.ptr(),
      [holder](const Call& call) mutable -> Tensors {
        return {holder->forward(call.inputs.at(0), call.inputs.at(1), call.named("src_mask"), call.named("tgt_mask"),
                                call.named("memory_mask"), call.named("src_key_padding_mask"),
                                call.named("tgt_key_padding_mask"), call.named("memory_key_padding_mask"),
                                call.flag("src_is_causal", false), call.flag("tgt_is_causal", false),
                                call.flag("memory_is_causal", false))};
      },
      false};
}

nn::EmbeddingBagMode bag_mode(const Json& c) {
  const std::string mode = text_of(c, "mode", "mean");
  if (mode == "sum") return torch::kSum;
  if (mode == "max") return torch::kMax;
  if (mode != "mean") refuse_value("mode", mode);
  return torch::kMean;
}
template <typename Options>
Options bag_options(const Json& c, Options o) {
  if (has(c, "max_norm")) o.max_norm(number(read(c, "max_norm")));
  o.norm_type(number_of(c, "norm_type", 2))
      .scale_grad_by_freq(flag_of(c, "scale_grad_by_freq", false))
      .mode(bag_mode(c))
      .sparse(flag_of(c, "sparse", false));
  o.include_last_offset(flag_of(c, "include_last_offset", false));
  if (has(c, "padding_idx")) o.padding_idx(integer(read(c, "padding_idx")));
  return o;
}
Built embedding_bag(const Json& c) {
  nn::EmbeddingBag holder(
      bag_options(c, nn::EmbeddingBagOptions(integer_of(c, "num_embeddings", 0), integer_of(c, "embedding_dim", 0))));
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            const Tensor offsets = call.inputs.size() > 1 ? call.inputs[1] : call.named("offsets");
            return {holder->forward(call.inputs.at(0), offsets,
                                    call.inputs.size() > 2 ? call.inputs[2] : call.named("per_sample_weights"))};
          }};
}

Built adaptive_softmax(const Json& c) {
  nn::AdaptiveLogSoftmaxWithLoss holder(nn::AdaptiveLogSoftmaxWithLossOptions(integer_of(c, "in_features", 0),
                                                                              integer_of(c, "n_classes", 0),
                                                                              integers(read(c, "cutoffs")))
                                            .div_value(number_of(c, "div_value", 4))
                                            .head_bias(flag_of(c, "head_bias", false)));
  return {holder.ptr(), [holder](const Call& call) mutable -> Tensors {
            // The recorded loss has a gradient.
            const nn::ASMoutput result = holder->forward(call.inputs.at(0), call.inputs.at(1));
            const Tensor loss = at::neg(at::mean(result.output));
            return {result.output, loss};
          }};
}

Built triplet(const Json& c) {
  auto options = reduced(
      nn::TripletMarginWithDistanceLossOptions().margin(number_of(c, "margin", 1)).swap(flag_of(c, "swap", false)), c);
  if (has(c, "distance_function")) options.distance_function(distance_function(read(c, "distance_function")));
  return plain<3>(nn::TripletMarginWithDistanceLoss(options));
}

nn::InstanceNormOptions instance_options(const Json& c) {
  return nn::InstanceNormOptions(integer_of(c, "num_features", 0))
      .eps(number_of(c, "eps", 1e-5))
      .momentum(number_of(c, "momentum", 0.1))
      .affine(flag_of(c, "affine", false))
      .track_running_stats(flag_of(c, "track_running_stats", false));
}

Built normalization(const std::string& name, const Json& c) {
  if (name == "InstanceNorm1d") return plain<1>(nn::InstanceNorm1d(instance_options(c)));
  if (name == "InstanceNorm2d") return plain<1>(nn::InstanceNorm2d(instance_options(c)));
  if (name == "InstanceNorm3d") return plain<1>(nn::InstanceNorm3d(instance_options(c)));
  if (name == "GroupNorm") {
    return plain<1>(nn::GroupNorm(nn::GroupNormOptions(integer_of(c, "num_groups", 1), integer_of(c, "num_channels", 1))
                                      .eps(number_of(c, "eps", 1e-5))
                                      .affine(flag_of(c, "affine", true))
                                      .bias(flag_of(c, "bias", true))));
  }
  if (name == "LayerNorm") return plain<1>(nn::LayerNorm(layer_norm_options(c)));
  if (name == "RMSNorm") return plain<1>(nn::RMSNorm(rms_norm_options(c)));
  if (name == "LocalResponseNorm") {
    return plain<1>(nn::LocalResponseNorm(nn::LocalResponseNormOptions(integer_of(c, "size", 1))
                                              .alpha(number_of(c, "alpha", 1e-4))
                                              .beta(number_of(c, "beta", 0.75))
                                              .k(number_of(c, "k", 1))));
  }
  if (name == "CrossMapLRN2d") {
    return plain<1>(nn::CrossMapLRN2d(nn::CrossMapLRN2dOptions(integer_of(c, "size", 1))
                                          .alpha(number_of(c, "alpha", 1e-4))
                                          .beta(number_of(c, "beta", 0.75))
                                          .k(static_cast<int64_t>(number_of(c, "k", 1)))));
  }
  return {};
}

template <size_t D, typename Reflection, typename Replication, typename Circular, typename Zero, typename Constant>
Built padding(const std::string& kind, const Json& c) {
  const auto pad = array_of<2 * D>(read(c, "padding"));
  if (kind == "ReflectionPad") return plain<1>(Reflection(pad));
  if (kind == "ReplicationPad") return plain<1>(Replication(pad));
  if (kind == "CircularPad") return plain<1>(Circular(pad));
  if (kind == "ZeroPad") return plain<1>(Zero(pad));
  if (kind == "ConstantPad") return plain<1>(Constant(pad, number_of(c, "value", 0)));
  return {};
}

Built of_dimensions(const std::string& kind, char d, const Json& c) {
  if (kind == "ConvTranspose") {
    return d == '1'   ? conv_transpose<1, nn::ConvTranspose1d>(c)
           : d == '2' ? conv_transpose<2, nn::ConvTranspose2d>(c)
                      : conv_transpose<3, nn::ConvTranspose3d>(c);
  }
  if (kind == "MaxUnpool")
    return d == '1'   ? max_unpool<1, nn::MaxUnpool1d>(c)
           : d == '2' ? max_unpool<2, nn::MaxUnpool2d>(c)
                      : max_unpool<3, nn::MaxUnpool3d>(c);
  if (kind == "FractionalMaxPool")
    return d == '2' ? fractional<2, nn::FractionalMaxPool2d>(c) : fractional<3, nn::FractionalMaxPool3d>(c);
  if (kind == "LPPool") {
    return d == '1'   ? plain<1>(nn::LPPool1d(lp_options<1>(c)))
           : d == '2' ? plain<1>(nn::LPPool2d(lp_options<2>(c)))
                      : plain<1>(nn::LPPool3d(lp_options<3>(c)));
  }
  if (kind.size() > 3 && kind.substr(kind.size() - 3) == "Pad") {
    if (d == '1')
      return padding<1, nn::ReflectionPad1d, nn::ReplicationPad1d, nn::CircularPad1d, nn::ZeroPad1d, nn::ConstantPad1d>(
          kind, c);
    if (d == '2')
      return padding<2, nn::ReflectionPad2d, nn::ReplicationPad2d, nn::CircularPad2d, nn::ZeroPad2d, nn::ConstantPad2d>(
          kind, c);
    return padding<3, nn::ReflectionPad3d, nn::ReplicationPad3d, nn::CircularPad3d, nn::ZeroPad3d, nn::ConstantPad3d>(
        kind, c);
  }
  return {};
}

}  // namespace

std::function<Tensor(const Tensor&, const Tensor&)> distance_function(const Json& function) {
  const std::string name = function.at("function");
  if (name == "cosine_distance")
    return [](const Tensor& x, const Tensor& y) { return at::rsub(at::cosine_similarity(x, y, -1, 1e-8), 1); };
  if (name == "l1_distance")
    return [](const Tensor& x, const Tensor& y) { return at::sum(at::abs(at::sub(x, y)), {-1}); };
  throw std::runtime_error("no distance function " + name + " here");
}

Tensor Call::named(const char* name) const {
  return has(*kwargs, name) ? tensor(kwargs->at(name)) : Tensor();
}
bool Call::flag(const char* name, bool otherwise) const {
  return flag_of(*kwargs, name, otherwise);
}

Built build(const std::string& name, const Json& c, const TensorOf& tensor) {
  if (Built built = build_lazy(name, c); built.module != nullptr) return built;
  if (name.size() > 2 && name.back() == 'd' && name[name.size() - 2] <= '3') {
    Built built = of_dimensions(name.substr(0, name.size() - 2), name[name.size() - 2], c);
    if (built.module != nullptr) return built;
  }
  if (Built built = normalization(name, c); built.module != nullptr) return built;
  if (name.rfind("Transformer", 0) == 0) return transformer_class(name, c);
  if (name == "MultiheadAttention") return attention(c);
  if (name == "EmbeddingBag") return embedding_bag(c);
  if (name == "AdaptiveLogSoftmaxWithLoss") return adaptive_softmax(c);
  if (name == "TripletMarginWithDistanceLoss") return triplet(c);
  if (name == "GaussianNLLLoss")
    return plain<3>(nn::GaussianNLLLoss(
        reduced(nn::GaussianNLLLossOptions().full(flag_of(c, "full", false)).eps(number_of(c, "eps", 1e-6)), c)));
  if (name == "CTCLoss")
    return plain<4>(nn::CTCLoss(reduced(
        nn::CTCLossOptions().blank(integer_of(c, "blank", 0)).zero_infinity(flag_of(c, "zero_infinity", false)), c)));
  if (name == "CosineSimilarity")
    return plain<2>(nn::CosineSimilarity(
        nn::CosineSimilarityOptions().dim(integer_of(c, "dim", 1)).eps(number_of(c, "eps", 1e-8))));
  if (name == "PairwiseDistance") {
    return plain<2>(nn::PairwiseDistance(nn::PairwiseDistanceOptions()
                                             .p(number_of(c, "p", 2))
                                             .eps(number_of(c, "eps", 1e-6))
                                             .keepdim(flag_of(c, "keepdim", false))));
  }
  if (name == "PixelShuffle") return plain<1>(nn::PixelShuffle(integer_of(c, "upscale_factor", 1)));
  if (name == "PixelUnshuffle") return plain<1>(nn::PixelUnshuffle(integer_of(c, "downscale_factor", 1)));
  if (name == "ChannelShuffle") return plain<1>(nn::ChannelShuffle(integer_of(c, "groups", 1)));
  if (name == "Hardsigmoid") return plain<1>(nn::Hardsigmoid(flag_of(c, "inplace", false)));
  if (name == "Hardswish") return plain<1>(nn::Hardswish(flag_of(c, "inplace", false)));
  if (name == "Softmax2d") return plain<1>(nn::Softmax2d());
  if (name == "Dropout1d")
    return plain<1>(nn::Dropout1d(nn::DropoutOptions(number_of(c, "p", 0.5)).inplace(flag_of(c, "inplace", false))));
  if (name == "Bilinear") {
    return plain<2>(nn::Bilinear(nn::BilinearOptions(integer_of(c, "in1_features", 1), integer_of(c, "in2_features", 1),
                                                     integer_of(c, "out_features", 1))
                                     .bias(flag_of(c, "bias", true))));
  }
  if (name == "Fold") {
    return plain<1>(nn::Fold(nn::FoldOptions(array_of<2>(read(c, "output_size")), array_of<2>(read(c, "kernel_size")))
                                 .dilation(array_of<2>(c, "dilation", 1))
                                 .padding(array_of<2>(c, "padding", 0))
                                 .stride(array_of<2>(c, "stride", 1))));
  }
  if (name == "Unfold") {
    return plain<1>(nn::Unfold(nn::UnfoldOptions(array_of<2>(read(c, "kernel_size")))
                                   .dilation(array_of<2>(c, "dilation", 1))
                                   .padding(array_of<2>(c, "padding", 0))
                                   .stride(array_of<2>(c, "stride", 1))));
  }
  if (Built built = build_recurrent(name, c); built.module != nullptr) return built;
  return build_plain(name, c, tensor);
}

}  // namespace recorded
