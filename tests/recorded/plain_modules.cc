// Layers that map tensors to tensors, by name.
#include "nn/layers/layers.h"
#include "tests/recorded/module_options.h"

namespace recorded {

namespace nn = torch::nn;
using at::Tensor;
using conformance::number;

namespace {

// A pooling layer that may give the places of the maxima, too.
template <typename Holder>
Built with_indices(const Json& c, Holder holder) {
  const bool indices = flag_of(c, "return_indices", false);
  return {holder.ptr(), [holder, indices](const Call& call) mutable -> Tensors {
            if (!indices) return {holder->forward(call.inputs.at(0))};
            const auto [y, i] = holder->forward_with_indices(call.inputs.at(0));
            return {y, i};
          }};
}

template <size_t D>
nn::ConvOptions<D> conv_options(const Json& c) {
  nn::ConvOptions<D> o(integer_of(c, "in_channels", 1), integer_of(c, "out_channels", 1),
                       array_of<D>(read(c, "kernel_size")));
  o.stride(array_of<D>(c, "stride", 1)).dilation(array_of<D>(c, "dilation", 1));
  o.groups(integer_of(c, "groups", 1)).bias(flag_of(c, "bias", true));
  if (has(c, "padding")) {
    const Json& padding = read(c, "padding");
    if (padding == "same") {
      o.padding(torch::kSame);
    } else if (padding == "valid") {
      o.padding(torch::kValid);
    } else {
      o.padding(array_of<D>(padding));
    }
  }
  const std::string mode = text_of(c, "padding_mode", "zeros");
  if (mode == "reflect") {
    o.padding_mode(torch::kReflect);
  } else if (mode == "replicate") {
    o.padding_mode(torch::kReplicate);
  } else if (mode == "circular") {
    o.padding_mode(torch::kCircular);
  } else if (mode != "zeros") {
    refuse_value("padding_mode", mode);
  }
  return o;
}

template <size_t D>
nn::AvgPoolOptions<D> avg_options(const Json& c) {
  const auto kernel = array_of<D>(read(c, "kernel_size"));
  nn::AvgPoolOptions<D> o(kernel);
  o.stride(array_of<D>(c, "stride", kernel))
      .padding(array_of<D>(c, "padding", 0))
      .ceil_mode(flag_of(c, "ceil_mode", false));
  o.count_include_pad(flag_of(c, "count_include_pad", true));
  if constexpr (D > 1) {
    if (has(c, "divisor_override")) o.divisor_override(integer_of(c, "divisor_override", 1));
  }
  return o;
}
template <size_t D>
nn::MaxPoolOptions<D> max_options(const Json& c) {
  const auto kernel = array_of<D>(read(c, "kernel_size"));
  return nn::MaxPoolOptions<D>(kernel)
      .stride(array_of<D>(c, "stride", kernel))
      .padding(array_of<D>(c, "padding", 0))
      .dilation(array_of<D>(c, "dilation", 1))
      .ceil_mode(flag_of(c, "ceil_mode", false));
}
template <size_t D>
torch::ExpandingArrayWithOptionalElem<D> adaptive_size(const Json& c) {
  const Json& size = read(c, "output_size");
  if (!size.is_array()) return torch::ExpandingArrayWithOptionalElem<D>(size.get<int64_t>());
  std::vector<std::optional<int64_t>> all;
  for (const Json& n : size) all.push_back(n.is_null() ? std::optional<int64_t>() : n.get<int64_t>());
  return torch::ExpandingArrayWithOptionalElem<D>(all);
}

Built pooling(const std::string& name, const Json& c) {
  if (name == "AvgPool1d") return plain<1>(nn::AvgPool1d(avg_options<1>(c)));
  if (name == "AvgPool2d") return plain<1>(nn::AvgPool2d(avg_options<2>(c)));
  if (name == "AvgPool3d") return plain<1>(nn::AvgPool3d(avg_options<3>(c)));
  if (name == "MaxPool1d") return with_indices(c, nn::MaxPool1d(max_options<1>(c)));
  if (name == "MaxPool2d") return with_indices(c, nn::MaxPool2d(max_options<2>(c)));
  if (name == "MaxPool3d") return with_indices(c, nn::MaxPool3d(max_options<3>(c)));
  if (name == "AdaptiveAvgPool1d") return plain<1>(nn::AdaptiveAvgPool1d(array_of<1>(read(c, "output_size"))));
  if (name == "AdaptiveAvgPool2d") return plain<1>(nn::AdaptiveAvgPool2d(adaptive_size<2>(c)));
  if (name == "AdaptiveAvgPool3d") return plain<1>(nn::AdaptiveAvgPool3d(adaptive_size<3>(c)));
  if (name == "AdaptiveMaxPool1d") return with_indices(c, nn::AdaptiveMaxPool1d(array_of<1>(read(c, "output_size"))));
  if (name == "AdaptiveMaxPool2d") return with_indices(c, nn::AdaptiveMaxPool2d(adaptive_size<2>(c)));
  if (name == "AdaptiveMaxPool3d") return with_indices(c, nn::AdaptiveMaxPool3d(adaptive_size<3>(c)));
  return {};
}

Built activation(const std::string& name, const Json& c) {
  const bool inplace = flag_of(c, "inplace", false);
  if (name == "CELU") return plain<1>(nn::CELU(nn::CELUOptions().alpha(number_of(c, "alpha", 1)).inplace(inplace)));
  if (name == "ELU") return plain<1>(nn::ELU(nn::ELUOptions().alpha(number_of(c, "alpha", 1)).inplace(inplace)));
  if (name == "GELU") return plain<1>(nn::GELU(nn::GELUOptions().approximate(text_of(c, "approximate", "none"))));
  if (name == "GLU") return plain<1>(nn::GLU(integer_of(c, "dim", -1)));
  if (name == "Hardshrink") return plain<1>(nn::Hardshrink(number_of(c, "lambd", 0.5)));
  if (name == "Softshrink") return plain<1>(nn::Softshrink(number_of(c, "lambd", 0.5)));
  if (name == "Hardtanh") {
    return plain<1>(nn::Hardtanh(nn::HardtanhOptions()
                                     .min_val(number_of(c, "min_val", -1))
                                     .max_val(number_of(c, "max_val", 1))
                                     .inplace(inplace)));
  }
  if (name == "LeakyReLU")
    return plain<1>(
        nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(number_of(c, "negative_slope", 0.01)).inplace(inplace)));
  if (name == "LogSigmoid") return plain<1>(nn::LogSigmoid());
  if (name == "LogSoftmax") return plain<1>(nn::LogSoftmax(integer_of(c, "dim", -1)));
  if (name == "Softmax") return plain<1>(nn::Softmax(integer_of(c, "dim", -1)));
  if (name == "Softmin") return plain<1>(nn::Softmin(integer_of(c, "dim", -1)));
  // Their in-place forms give the same results.
  if (name == "Mish") return plain<1>(nn::Mish());
  if (name == "SiLU") return plain<1>(nn::SiLU());
  if (name == "PReLU") {
    return plain<1>(nn::PReLU(
        nn::PReLUOptions().num_parameters(integer_of(c, "num_parameters", 1)).init(number_of(c, "init", 0.25))));
  }
  if (name == "RReLU") {
    return plain<1>(nn::RReLU(
        nn::RReLUOptions().lower(number_of(c, "lower", 1. / 8)).upper(number_of(c, "upper", 1. / 3)).inplace(inplace)));
  }
  if (name == "ReLU") return plain<1>(nn::ReLU(inplace));
  if (name == "ReLU6") return plain<1>(nn::ReLU6(inplace));
  if (name == "SELU") return plain<1>(nn::SELU(inplace));
  if (name == "Sigmoid") return plain<1>(nn::Sigmoid());
  if (name == "Tanh") return plain<1>(nn::Tanh());
  if (name == "Tanhshrink") return plain<1>(nn::Tanhshrink());
  if (name == "Softsign") return plain<1>(nn::Softsign());
  if (name == "Softplus") {
    return plain<1>(
        nn::Softplus(nn::SoftplusOptions().beta(number_of(c, "beta", 1)).threshold(number_of(c, "threshold", 20))));
  }
  if (name == "Threshold") {
    return plain<1>(
        nn::Threshold(nn::ThresholdOptions(number_of(c, "threshold", 0), number_of(c, "value", 0)).inplace(inplace)));
  }
  return {};
}

nn::KLDivLossOptions kl_options(const Json& c) {
  nn::KLDivLossOptions o;
  o.log_target(flag_of(c, "log_target", false));
  const std::string reduction = text_of(c, "reduction", "mean");
  if (reduction == "batchmean") return o.reduction(torch::kBatchMean);
  if (reduction == "none") return o.reduction(torch::kNone);
  if (reduction == "sum") return o.reduction(torch::kSum);
  if (reduction != "mean") refuse_value("reduction", reduction);
  return o.reduction(torch::kMean);
}

Built class_loss(const std::string& name, const Json& c, const Tensor& weight) {
  const int64_t ignored = integer_of(c, "ignore_index", -100);
  if (name == "NLLLoss" || name == "NLLLoss2d")
    return plain<2>(nn::NLLLoss(reduced(nn::NLLLossOptions().weight(weight).ignore_index(ignored), c)));
  if (name == "CrossEntropyLoss") {
    return plain<2>(
        nn::CrossEntropyLoss(reduced(nn::CrossEntropyLossOptions().weight(weight).ignore_index(ignored).label_smoothing(
                                         number_of(c, "label_smoothing", 0)),
                                     c)));
  }
  if (name == "LinearCrossEntropyLoss") {
    return plain<2>(nn::LinearCrossEntropyLoss(
        reduced(nn::LinearCrossEntropyLossOptions(integer_of(c, "in_features", 1), integer_of(c, "num_classes", 1))
                    .bias(flag_of(c, "bias", false))
                    .weight(weight)
                    .ignore_index(ignored)
                    .label_smoothing(number_of(c, "label_smoothing", 0)),
                c)));
  }
  if (name == "MultiMarginLoss") {
    return plain<2>(nn::MultiMarginLoss(reduced(
        nn::MultiMarginLossOptions().p(integer_of(c, "p", 1)).margin(number_of(c, "margin", 1)).weight(weight), c)));
  }
  if (name == "MultiLabelSoftMarginLoss")
    return plain<2>(nn::MultiLabelSoftMarginLoss(reduced(nn::MultiLabelSoftMarginLossOptions().weight(weight), c)));
  if (name == "MultiLabelMarginLoss")
    return plain<2>(nn::MultiLabelMarginLoss(reduced(nn::MultiLabelMarginLossOptions(), c)));
  return {};
}

Built loss(const std::string& name, const Json& c, const TensorOf& tensor) {
  const Tensor weight = has(c, "weight") ? tensor(read(c, "weight")) : Tensor();
  if (Built built = class_loss(name, c, weight); built.module != nullptr) return built;
  if (name == "BCELoss") return plain<2>(nn::BCELoss(reduced(nn::BCELossOptions().weight(weight), c)));
  if (name == "BCEWithLogitsLoss") {
    const Tensor positive = has(c, "pos_weight") ? tensor(read(c, "pos_weight")) : Tensor();
    return plain<2>(
        nn::BCEWithLogitsLoss(reduced(nn::BCEWithLogitsLossOptions().weight(weight).pos_weight(positive), c)));
  }
  if (name == "CosineEmbeddingLoss")
    return plain<3>(
        nn::CosineEmbeddingLoss(reduced(nn::CosineEmbeddingLossOptions().margin(number_of(c, "margin", 0)), c)));
  if (name == "HingeEmbeddingLoss")
    return plain<2>(
        nn::HingeEmbeddingLoss(reduced(nn::HingeEmbeddingLossOptions().margin(number_of(c, "margin", 1)), c)));
  if (name == "MarginRankingLoss")
    return plain<3>(
        nn::MarginRankingLoss(reduced(nn::MarginRankingLossOptions().margin(number_of(c, "margin", 0)), c)));
  if (name == "HuberLoss")
    return plain<2>(nn::HuberLoss(reduced(nn::HuberLossOptions().delta(number_of(c, "delta", 1)), c)));
  if (name == "SmoothL1Loss")
    return plain<2>(nn::SmoothL1Loss(reduced(nn::SmoothL1LossOptions().beta(number_of(c, "beta", 1)), c)));
  if (name == "KLDivLoss") return plain<2>(nn::KLDivLoss(kl_options(c)));
  if (name == "L1Loss") return plain<2>(nn::L1Loss(reduced(nn::L1LossOptions(), c)));
  if (name == "MSELoss") return plain<2>(nn::MSELoss(reduced(nn::MSELossOptions(), c)));
  if (name == "SoftMarginLoss") return plain<2>(nn::SoftMarginLoss(reduced(nn::SoftMarginLossOptions(), c)));
  if (name == "PoissonNLLLoss") {
    return plain<2>(nn::PoissonNLLLoss(reduced(nn::PoissonNLLLossOptions()
                                                   .log_input(flag_of(c, "log_input", true))
                                                   .full(flag_of(c, "full", false))
                                                   .eps(number_of(c, "eps", 1e-8)),
                                               c)));
  }
  if (name == "TripletMarginLoss") {
    return plain<3>(nn::TripletMarginLoss(reduced(nn::TripletMarginLossOptions()
                                                      .margin(number_of(c, "margin", 1))
                                                      .p(number_of(c, "p", 2))
                                                      .eps(number_of(c, "eps", 1e-6))
                                                      .swap(flag_of(c, "swap", false)),
                                                  c)));
  }
  return {};
}

nn::BatchNormOptions batch_norm_options(const Json& c) {
  nn::BatchNormOptions o(integer_of(c, "num_features", 1));
  o.eps(number_of(c, "eps", 1e-5)).affine(flag_of(c, "affine", true));
  o.track_running_stats(flag_of(c, "track_running_stats", true));
  if (c.contains("momentum"))
    o.momentum(has(c, "momentum") ? std::optional<double>(number(read(c, "momentum"))) : std::nullopt);
  return o;
}

nn::EmbeddingOptions embedding_options(const Json& c) {
  nn::EmbeddingOptions o(integer_of(c, "num_embeddings", 1), integer_of(c, "embedding_dim", 1));
  if (has(c, "padding_idx")) o.padding_idx(integer_of(c, "padding_idx", 0));
  if (has(c, "max_norm")) o.max_norm(number(read(c, "max_norm")));
  return o.norm_type(number_of(c, "norm_type", 2))
      .scale_grad_by_freq(flag_of(c, "scale_grad_by_freq", false))
      .sparse(flag_of(c, "sparse", false));
}

// One number stands for all dimensions of the first input, so the layer is made again for each call.
template <typename Holder, typename Options>
Built upsampling(const Json& c, const Options& common) {
  const Json sizes = has(c, "size") ? c.at("size") : Json();
  const Json scale = has(c, "scale_factor") ? c.at("scale_factor") : Json();
  const auto options_for = [sizes, scale, common](size_t dims) {
    Options o = common;
    if (!sizes.is_null()) {
      std::vector<int64_t> size = integers(sizes);
      if (size.size() == 1) size.assign(dims, size[0]);
      o.size(size);
    }
    if (!scale.is_null()) {
      o.scale_factor(scale.is_array() ? scale.get<std::vector<double>>()
                                      : std::vector<double>(dims, scale.get<double>()));
    }
    return o;
  };
  return {Holder(common).ptr(), [options_for](const Call& call) -> Tensors {
            const Tensor& x = call.inputs.at(0);
            return {Holder(options_for(static_cast<size_t>(x.dim()) - 2))->forward(x)};
          }};
}
nn::UpsampleOptions upsample_options(const Json& c) {
  nn::UpsampleOptions o;
  if (has(c, "align_corners")) o.align_corners(flag_of(c, "align_corners", false));
  if (has(c, "recompute_scale_factor")) o.recompute_scale_factor(flag_of(c, "recompute_scale_factor", false));
  const std::string mode = text_of(c, "mode", "nearest");
  if (mode == "linear") return o.mode(torch::kLinear);
  if (mode == "bilinear") return o.mode(torch::kBilinear);
  if (mode == "bicubic") return o.mode(torch::kBicubic);
  if (mode == "trilinear") return o.mode(torch::kTrilinear);
  if (mode == "nearest-exact") return o.mode(torch::kNearestExact);
  if (mode == "area") return o.mode(torch::kArea);
  if (mode != "nearest") refuse_value("mode", mode);
  return o;
}

nn::DropoutOptions dropout_options(const Json& c) {
  return nn::DropoutOptions(number_of(c, "p", 0.5)).inplace(flag_of(c, "inplace", false));
}

}  // namespace

Built build_plain(const std::string& name, const Json& c, const TensorOf& tensor) {
  if (Built built = pooling(name, c); built.module != nullptr) return built;
  if (Built built = activation(name, c); built.module != nullptr) return built;
  if (Built built = loss(name, c, tensor); built.module != nullptr) return built;
  if (name == "Conv1d") return plain<1>(nn::Conv1d(conv_options<1>(c)));
  if (name == "Conv2d") return plain<1>(nn::Conv2d(conv_options<2>(c)));
  if (name == "Conv3d") return plain<1>(nn::Conv3d(conv_options<3>(c)));
  if (name == "BatchNorm1d") return plain<1>(nn::BatchNorm1d(batch_norm_options(c)));
  if (name == "BatchNorm2d") return plain<1>(nn::BatchNorm2d(batch_norm_options(c)));
  if (name == "BatchNorm3d") return plain<1>(nn::BatchNorm3d(batch_norm_options(c)));
  if (name == "Dropout") return plain<1>(nn::Dropout(dropout_options(c)));
  if (name == "Dropout2d") return plain<1>(nn::Dropout2d(dropout_options(c)));
  if (name == "Dropout3d") return plain<1>(nn::Dropout3d(dropout_options(c)));
  if (name == "AlphaDropout") return plain<1>(nn::AlphaDropout(dropout_options(c)));
  if (name == "FeatureAlphaDropout") return plain<1>(nn::FeatureAlphaDropout(dropout_options(c)));
  if (name == "Embedding") return plain<1>(nn::Embedding(embedding_options(c)));
  if (name == "Linear") {
    return plain<1>(nn::Linear(nn::LinearOptions(integer_of(c, "in_features", 1), integer_of(c, "out_features", 1))
                                   .bias(flag_of(c, "bias", true))));
  }
  if (name == "Flatten") {
    return plain<1>(nn::Flatten(
        nn::FlattenOptions().start_dim(integer_of(c, "start_dim", 1)).end_dim(integer_of(c, "end_dim", -1))));
  }
  if (name == "Unflatten")
    return plain<1>(nn::Unflatten(nn::UnflattenOptions(integer_of(c, "dim", 1), integers(read(c, "unflattened_size")))));
  if (name == "Identity") return plain<1>(nn::Identity());
  if (name == "Upsample") return upsampling<nn::Upsample>(c, upsample_options(c));
  if (name == "UpsamplingNearest2d") return upsampling<nn::UpsamplingNearest2d>(c, nn::UpsamplingNearest2dOptions());
  if (name == "UpsamplingBilinear2d") return upsampling<nn::UpsamplingBilinear2d>(c, nn::UpsamplingBilinear2dOptions());
  return {};
}

}  // namespace recorded
