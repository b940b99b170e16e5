// torch.nn.functional: results, gradients, and arguments that a call changed.
#include <map>

#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/cpu_generator.h"
#include "nn/functional/functional.h"
#include "tests/recorded/families.h"
#include "tests/recorded/functional_arguments.h"
#include "tests/recorded/modules.h"

namespace recorded {
namespace {

namespace F = torch::nn::functional;
using at::Tensor;
using Tensors = std::vector<Tensor>;

template <typename Options>
Options reduced(const Arguments& a, Options options) {
  const std::string reduction = a.text("reduction", "mean");
  if (reduction == "none") return options.reduction(torch::kNone);
  if (reduction == "sum") return options.reduction(torch::kSum);
  if (reduction != "mean") refuse_value("reduction", reduction);
  return options.reduction(torch::kMean);
}

// --- convolution ---
template <size_t D>
typename torch::nn::functional::ConvFuncOptions<D> conv_options(const Arguments& a) {
  F::ConvFuncOptions<D> o;
  o.bias(a.tensor(2))
      .stride(a.array<D>("stride", 1))
      .dilation(a.array<D>("dilation", 1))
      .groups(a.integer("groups", 1));
  if (a.given("padding") && a.value("padding").is_string()) {
    const Json& padding = a.value("padding");
    if (padding == "same") return o.padding(torch::kSame);
    if (padding != "valid") refuse_value("padding", padding);
    return o.padding(torch::kValid);
  }
  return o.padding(a.array<D>("padding", 0));
}
template <size_t D>
F::ConvTransposeFuncOptions<D> conv_transpose_options(const Arguments& a) {
  return F::ConvTransposeFuncOptions<D>()
      .bias(a.tensor(2))
      .stride(a.array<D>("stride", 1))
      .padding(a.array<D>("padding", 0))
      .output_padding(a.array<D>("output_padding", 0))
      .dilation(a.array<D>("dilation", 1))
      .groups(a.integer("groups", 1));
}

// --- pooling ---
template <size_t D>
torch::nn::AvgPoolOptions<D> avg_options(const Arguments& a) {
  const auto kernel = a.array<D>(1);
  torch::nn::AvgPoolOptions<D> o(kernel);
  o.stride(a.array<D>("stride", kernel)).padding(a.array<D>("padding", 0)).ceil_mode(a.flag("ceil_mode", false));
  o.count_include_pad(a.flag("count_include_pad", true));
  if constexpr (D > 1) {
    if (a.given("divisor_override")) o.divisor_override(a.integer("divisor_override", 1));
  }
  return o;
}
template <size_t D>
torch::nn::MaxPoolOptions<D> max_options(const Arguments& a) {
  const auto kernel = a.array<D>(1);
  return torch::nn::MaxPoolOptions<D>(kernel)
      .stride(a.array<D>("stride", kernel))
      .padding(a.array<D>("padding", 0))
      .dilation(a.array<D>("dilation", 1))
      .ceil_mode(a.flag("ceil_mode", false));
}
template <size_t D>
torch::nn::LPPoolOptions<D> lp_options(const Arguments& a) {
  const auto kernel = a.array<D>(2);
  return torch::nn::LPPoolOptions<D>(a.number(1), kernel)
      .stride(a.array<D>("stride", kernel))
      .ceil_mode(a.flag("ceil_mode", false));
}
template <size_t D>
F::MaxUnpoolFuncOptions<D> unpool_options(const Arguments& a) {
  const auto kernel = a.array<D>(2);
  F::MaxUnpoolFuncOptions<D> o(kernel);
  o.stride(a.array<D>("stride", kernel)).padding(a.array<D>("padding", 0));
  if (a.given("output_size")) o.output_size(integers(a.value("output_size")));
  return o;
}
template <size_t D>
torch::nn::FractionalMaxPoolOptions<D> fractional_options(const Arguments& a) {
  torch::nn::FractionalMaxPoolOptions<D> o(a.array<D>(1));
  if (a.given("output_size")) o.output_size(a.array<D>("output_size", 1));
  if (a.given("output_ratio")) {
    o.output_ratio(torch::ExpandingArray<D, double>(a.value("output_ratio").get<std::vector<double>>()));
  }
  return o._random_samples(a.tensor("_random_samples"));
}
// The first of both results, unless both were recorded.
Tensors with_indices(const Arguments& a, const std::tuple<Tensor, Tensor>& both) {
  if (a.flag("return_indices", false)) return {std::get<0>(both), std::get<1>(both)};
  return {std::get<0>(both)};
}
template <size_t D>
torch::ExpandingArrayWithOptionalElem<D> adaptive_size(const Arguments& a) {
  const Json& size = a.value(1);
  if (!size.is_array()) return torch::ExpandingArrayWithOptionalElem<D>(a.integer(1));
  std::vector<std::optional<int64_t>> all;
  for (const Json& n : size) all.push_back(n.is_null() ? std::optional<int64_t>() : n.get<int64_t>());
  return torch::ExpandingArrayWithOptionalElem<D>(all);
}

// --- other options ---
F::InterpolateFuncOptions interpolate_options(const Arguments& a) {
  F::InterpolateFuncOptions o;
  const size_t dims = static_cast<size_t>(a.tensor(0).dim()) - 2;
  if (a.given("size")) {
    std::vector<int64_t> size = integers(a.value("size"));
    if (!a.value("size").is_array()) size.assign(dims, size[0]);
    o.size(size);
  }
  if (a.given("scale_factor")) {
    const Json& scale = a.value("scale_factor");
    o.scale_factor(scale.is_array() ? scale.get<std::vector<double>>()
                                    : std::vector<double>(dims, scale.get<double>()));
  }
  if (a.given("align_corners")) o.align_corners(a.flag("align_corners", false));
  if (a.given("recompute_scale_factor")) o.recompute_scale_factor(a.flag("recompute_scale_factor", false));
  o.antialias(a.flag("antialias", false));
  const std::string mode = a.text("mode", "nearest");
  if (mode == "linear") return o.mode(torch::kLinear);
  if (mode == "bilinear") return o.mode(torch::kBilinear);
  if (mode == "bicubic") return o.mode(torch::kBicubic);
  if (mode == "trilinear") return o.mode(torch::kTrilinear);
  if (mode == "area") return o.mode(torch::kArea);
  if (mode == "nearest-exact") return o.mode(torch::kNearestExact);
  if (mode == "lanczos") return o.mode(torch::kLanczos);
  if (mode != "nearest") refuse_value("mode", mode);
  return o;
}
F::GridSampleFuncOptions grid_options(const Arguments& a) {
  F::GridSampleFuncOptions o;
  o.align_corners(a.flag("align_corners", false));
  const std::string mode = a.text("mode", "bilinear"), padding = a.text("padding_mode", "zeros");
  if (mode == "nearest") {
    o.mode(torch::kNearest);
  } else if (mode == "bicubic") {
    o.mode(torch::kBicubic);
  } else if (mode != "bilinear") {
    refuse_value("mode", mode);
  }
  if (padding == "border") {
    o.padding_mode(torch::kBorder);
  } else if (padding == "reflection") {
    o.padding_mode(torch::kReflection);
  } else if (padding != "zeros") {
    refuse_value("padding_mode", padding);
  }
  return o;
}
F::PadFuncOptions pad_options(const Arguments& a) {
  F::PadFuncOptions o(integers(a.value(1)));
  if (a.given("value")) o.value(a.number("value", 0));
  const std::string mode = a.text("mode", "constant");
  if (mode == "reflect") return o.mode(torch::kReflect);
  if (mode == "replicate") return o.mode(torch::kReplicate);
  if (mode == "circular") return o.mode(torch::kCircular);
  if (mode != "constant") refuse_value("mode", mode);
  return o;
}
F::EmbeddingBagFuncOptions bag_options(const Arguments& a) {
  F::EmbeddingBagFuncOptions o;
  o.offsets(a.tensor(2)).per_sample_weights(a.tensor("per_sample_weights"));
  o.include_last_offset(a.flag("include_last_offset", false)).scale_grad_by_freq(a.flag("scale_grad_by_freq", false));
  o.norm_type(a.number("norm_type", 2)).sparse(a.flag("sparse", false));
  if (a.given("max_norm")) o.max_norm(a.number("max_norm", 1));
  if (a.given("padding_idx")) o.padding_idx(a.integer("padding_idx", 0));
  const std::string mode = a.text("mode", "mean");
  if (mode == "sum") return o.mode(torch::kSum);
  if (mode == "max") return o.mode(torch::kMax);
  if (mode != "mean") refuse_value("mode", mode);
  return o.mode(torch::kMean);
}
F::EmbeddingFuncOptions embedding_options(const Arguments& a) {
  F::EmbeddingFuncOptions o;
  if (a.given("padding_idx")) o.padding_idx(a.integer("padding_idx", 0));
  if (a.given("max_norm")) o.max_norm(a.number("max_norm", 1));
  return o.norm_type(a.number("norm_type", 2))
      .scale_grad_by_freq(a.flag("scale_grad_by_freq", false))
      .sparse(a.flag("sparse", false));
}
template <typename Options>
Options softmax_options(const Arguments& a) {
  Options o(a.integer("dim", -1));
  if (a.given("dtype")) o.dtype(a.dtype("dtype"));
  return o;
}
F::KLDivFuncOptions kl_options(const Arguments& a) {
  F::KLDivFuncOptions o;
  o.log_target(a.flag("log_target", false));
  const std::string reduction = a.text("reduction", "mean");
  if (reduction == "batchmean") return o.reduction(torch::kBatchMean);
  if (reduction == "none") return o.reduction(torch::kNone);
  if (reduction == "sum") return o.reduction(torch::kSum);
  if (reduction != "mean") refuse_value("reduction", reduction);
  return o.reduction(torch::kMean);
}
F::DropoutFuncOptions dropout_options(const Arguments& a) {
  return F::DropoutFuncOptions().p(a.number("p", 0.5)).training(a.flag("training", true));
}
F::RMSNormFuncOptions rms_options(const Arguments& a) {
  F::RMSNormFuncOptions o(integers(a.value(1)));
  if (a.given("eps")) o.eps(a.number("eps", 0));
  return o.weight(a.tensor("weight"));
}
F::CrossEntropyFuncOptions cross_entropy_options(const Arguments& a) {
  return reduced(a, F::CrossEntropyFuncOptions()
                        .weight(a.tensor("weight"))
                        .ignore_index(a.integer("ignore_index", -100))
                        .label_smoothing(a.number("label_smoothing", 0)));
}
Tensors attention_forward(const Arguments& a) {
  const auto o = F::MultiheadAttentionForwardFuncOptions(a.integer(3), a.integer(4), a.tensor(5), a.tensor(6),
                                                         a.tensor(7), a.tensor(8), a.value(9).get<bool>(), a.number(10),
                                                         a.tensor(11), a.tensor(12))
                     .training(a.flag("training", true))
                     .key_padding_mask(a.tensor("key_padding_mask"))
                     .attn_mask(a.tensor("attn_mask"))
                     .static_k(a.tensor("static_k"))
                     .static_v(a.tensor("static_v"))
                     .need_weights(a.flag("need_weights", true))
                     .average_attn_weights(a.flag("average_attn_weights", true))
                     .use_separate_proj_weight(a.flag("use_separate_proj_weight", false))
                     .q_proj_weight(a.tensor("q_proj_weight"))
                     .k_proj_weight(a.tensor("k_proj_weight"))
                     .v_proj_weight(a.tensor("v_proj_weight"));
  // The mask says it all; the flag is only a hint there.
  if (a.flag("is_causal", false) && !a.given("attn_mask")) refuse_value("is_causal", "without attn_mask");
  const auto [y, w] = F::multi_head_attention_forward(a.tensor(0), a.tensor(1), a.tensor(2), o);
  return {y, w};
}
Tensors triplet_with_distance(const Arguments& a) {
  auto o = reduced(a, F::TripletMarginWithDistanceLossFuncOptions()
                          .margin(a.number("margin", 1))
                          .swap(a.flag("swap", false)));
  if (a.given("distance_function")) o.distance_function(distance_function(a.value("distance_function")));
  return {F::triplet_margin_with_distance_loss(a.tensor(0), a.tensor(1), a.tensor(2), o)};
}
Tensors gaussian_nll(const Arguments& a) {
  const auto o = reduced(a, F::GaussianNLLLossFuncOptions().full(a.flag("full", false)).eps(a.number("eps", 1e-6)));
  const Tensor var = a.is_tensor(2) ? a.tensor(2) : at::full_like(a.tensor(0), a.number(2));
  return {F::gaussian_nll_loss(a.tensor(0), a.tensor(1), var, o)};
}

#define CALL(expression) [](const Arguments& a) -> Tensors { return {expression}; }
#define POOLS(D)                                                                                        \
  {"avg_pool" #D "d", CALL(F::avg_pool##D##d(a.tensor(0), avg_options<D>(a)))},                         \
      {"max_pool" #D "d",                                                                               \
       [](const Arguments& a) {                                                                         \
         return with_indices(a, F::max_pool##D##d_with_indices(a.tensor(0), max_options<D>(a)));        \
       }},                                                                                              \
      {"adaptive_max_pool" #D "d",                                                                      \
       [](const Arguments& a) {                                                                         \
         return with_indices(a, F::adaptive_max_pool##D##d_with_indices(a.tensor(0), size_##D(a)));     \
       }},                                                                                              \
      {"adaptive_avg_pool" #D "d", CALL(F::adaptive_avg_pool##D##d(a.tensor(0), size_##D(a)))},         \
      {"lp_pool" #D "d", CALL(F::lp_pool##D##d(a.tensor(0), lp_options<D>(a)))},                        \
      {"max_unpool" #D "d", CALL(F::max_unpool##D##d(a.tensor(0), a.tensor(1), unpool_options<D>(a)))}, \
      {"conv" #D "d", CALL(F::conv##D##d(a.tensor(0), a.tensor(1), conv_options<D>(a)))},               \
      {"conv_transpose" #D "d",                                                                         \
       CALL(F::conv_transpose##D##d(a.tensor(0), a.tensor(1), conv_transpose_options<D>(a)))},          \
  {                                                                                                     \
    "dropout" #D "d", CALL(F::dropout##D##d(a.tensor(0), dropout_options(a)))                           \
  }

torch::ExpandingArray<1> size_1(const Arguments& a) {
  return a.array<1>(1);
}
torch::ExpandingArrayWithOptionalElem<2> size_2(const Arguments& a) {
  return adaptive_size<2>(a);
}
torch::ExpandingArrayWithOptionalElem<3> size_3(const Arguments& a) {
  return adaptive_size<3>(a);
}

const std::map<std::string, Function>& activations() {
  static const std::map<std::string, Function> all = {
      {"celu", CALL(F::celu(a.tensor(0), F::CELUFuncOptions().alpha(a.number("alpha", 1))))},
      {"elu", CALL(F::elu(a.tensor(0), F::ELUFuncOptions().alpha(a.number("alpha", 1))))},
      {"gelu", CALL(F::gelu(a.tensor(0), F::GELUFuncOptions().approximate(a.text("approximate", "none"))))},
      {"glu", CALL(F::glu(a.tensor(0), F::GLUFuncOptions(a.integer("dim", -1))))},
      {"hardshrink", CALL(F::hardshrink(a.tensor(0), F::HardshrinkFuncOptions(a.number("lambd", 0.5))))},
      {"softshrink", CALL(F::softshrink(a.tensor(0), F::SoftshrinkFuncOptions(a.number("lambd", 0.5))))},
      {"hardsigmoid", CALL(F::hardsigmoid(a.tensor(0)))},
      {"hardswish", CALL(F::hardswish(a.tensor(0)))},
      {"hardtanh",
       CALL(F::hardtanh(a.tensor(0),
                        F::HardtanhFuncOptions().min_val(a.number("min_val", -1)).max_val(a.number("max_val", 1))))},
      {"leaky_relu",
       CALL(F::leaky_relu(a.tensor(0), F::LeakyReLUFuncOptions().negative_slope(a.number("negative_slope", 0.01))))},
      {"logsigmoid", CALL(F::logsigmoid(a.tensor(0)))},
      {"mish", CALL(F::mish(a.tensor(0)))},
      {"prelu", CALL(F::prelu(a.tensor(0), a.tensor(1)))},
      {"relu", CALL(F::relu(a.tensor(0)))},
      {"sigmoid", CALL(F::sigmoid(a.tensor(0)))},
      {"tanh", CALL(F::tanh(a.tensor(0)))},
      {"relu6", CALL(F::relu6(a.tensor(0)))},
      {"rrelu", CALL(F::rrelu(a.tensor(0), F::RReLUFuncOptions()
                                               .lower(a.number("lower", 0.125))
                                               .upper(a.number("upper", 1. / 3))
                                               .training(a.flag("training", false))))},
      {"selu", CALL(F::selu(a.tensor(0)))},
      {"silu", CALL(F::silu(a.tensor(0)))},
      {"softplus",
       CALL(F::softplus(a.tensor(0),
                        F::SoftplusFuncOptions().beta(a.number("beta", 1)).threshold(a.number("threshold", 20))))},
      {"softsign", CALL(F::softsign(a.tensor(0)))},
      {"tanhshrink", CALL(F::tanhshrink(a.tensor(0)))},
      {"threshold",
       CALL(F::threshold(a.tensor(0), F::ThresholdFuncOptions(a.number("threshold", 0), a.number("value", 0))))},
      {"softmax", CALL(F::softmax(a.tensor(0), softmax_options<F::SoftmaxFuncOptions>(a)))},
      {"softmin", CALL(F::softmin(a.tensor(0), softmax_options<F::SoftminFuncOptions>(a)))},
      {"log_softmax", CALL(F::log_softmax(a.tensor(0), softmax_options<F::LogSoftmaxFuncOptions>(a)))},
      {"gumbel_softmax", CALL(F::gumbel_softmax(a.tensor(0), F::GumbelSoftmaxFuncOptions()
                                                                 .tau(a.number("tau", 1))
                                                                 .hard(a.flag("hard", false))
                                                                 .dim(static_cast<int>(a.integer("dim", -1)))))},
      {"dropout", CALL(F::dropout(a.tensor(0), dropout_options(a)))},
      {"alpha_dropout",
       CALL(F::alpha_dropout(a.tensor(0),
                             F::AlphaDropoutFuncOptions().p(a.number("p", 0.5)).training(a.flag("training", false))))},
      {"feature_alpha_dropout",
       CALL(F::feature_alpha_dropout(
           a.tensor(0),
           F::FeatureAlphaDropoutFuncOptions().p(a.number("p", 0.5)).training(a.flag("training", false))))},
  };
  return all;
}

const std::map<std::string, Function>& losses() {
  static const std::map<std::string, Function> all = {
      {"binary_cross_entropy",
       CALL(F::binary_cross_entropy(a.tensor(0), a.tensor(1),
                                    reduced(a, F::BinaryCrossEntropyFuncOptions().weight(a.tensor("weight")))))},
      {"binary_cross_entropy_with_logits",
       CALL(F::binary_cross_entropy_with_logits(a.tensor(0), a.tensor(1),
                                                reduced(a, F::BinaryCrossEntropyWithLogitsFuncOptions()
                                                               .weight(a.tensor("weight"))
                                                               .pos_weight(a.tensor("pos_weight")))))},
      {"cosine_embedding_loss",
       CALL(F::cosine_embedding_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                                     reduced(a, F::CosineEmbeddingLossFuncOptions().margin(a.number("margin", 0)))))},
      {"cosine_similarity", CALL(F::cosine_similarity(
                                a.tensor(0), a.tensor(1),
                                F::CosineSimilarityFuncOptions().dim(a.integer("dim", 1)).eps(a.number("eps", 1e-8))))},
      {"cross_entropy", CALL(F::cross_entropy(a.tensor(0), a.tensor(1), cross_entropy_options(a)))},
      {"linear_cross_entropy",
       CALL(F::linear_cross_entropy(a.tensor(0), a.tensor(1), a.tensor(2),
                                    reduced(a, F::LinearCrossEntropyFuncOptions()
                                                   .linear_bias(a.tensor("linear_bias"))
                                                   .weight(a.tensor("weight"))
                                                   .ignore_index(a.integer("ignore_index", -100))
                                                   .label_smoothing(a.number("label_smoothing", 0)))))},
      {"ctc_loss", CALL(F::ctc_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3),
                                    reduced(a, F::CTCLossFuncOptions()
                                                   .blank(a.integer("blank", 0))
                                                   .zero_infinity(a.flag("zero_infinity", false)))))},
      {"gaussian_nll_loss", gaussian_nll},
      {"hinge_embedding_loss",
       CALL(F::hinge_embedding_loss(a.tensor(0), a.tensor(1),
                                    reduced(a, F::HingeEmbeddingLossFuncOptions().margin(a.number("margin", 1)))))},
      {"huber_loss", CALL(F::huber_loss(a.tensor(0), a.tensor(1),
                                        reduced(a, F::HuberLossFuncOptions().delta(a.number("delta", 1)))))},
      {"kl_div", CALL(F::kl_div(a.tensor(0), a.tensor(1), kl_options(a)))},
      {"l1_loss", CALL(F::l1_loss(a.tensor(0), a.tensor(1), reduced(a, F::L1LossFuncOptions())))},
      {"margin_ranking_loss",
       CALL(F::margin_ranking_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                                   reduced(a, F::MarginRankingLossFuncOptions().margin(a.number("margin", 0)))))},
      {"mse_loss",
       CALL(F::mse_loss(a.tensor(0), a.tensor(1), reduced(a, F::MSELossFuncOptions().weight(a.tensor("weight")))))},
      {"multi_margin_loss",
       CALL(F::multi_margin_loss(
           a.tensor(0), a.tensor(1),
           reduced(a, F::MultiMarginLossFuncOptions()
                          .p(a.integer("p", 1))
                          .margin(a.number("margin", 1))
                          .weight(a.tensor("weight")))))},
      {"multilabel_margin_loss",
       CALL(F::multilabel_margin_loss(a.tensor(0), a.tensor(1), reduced(a, F::MultilabelMarginLossFuncOptions())))},
      {"multilabel_soft_margin_loss",
       CALL(F::multilabel_soft_margin_loss(
           a.tensor(0), a.tensor(1), reduced(a, F::MultilabelSoftMarginLossFuncOptions().weight(a.tensor("weight")))))},
      {"nll_loss",
       CALL(F::nll_loss(
           a.tensor(0),
           a.tensor(1),
           reduced(
               a, F::NLLLossFuncOptions().weight(a.tensor("weight")).ignore_index(a.integer("ignore_index", -100)))))},
      {"pairwise_distance", CALL(F::pairwise_distance(a.tensor(0), a.tensor(1),
                                                      F::PairwiseDistanceFuncOptions()
                                                          .p(a.number("p", 2))
                                                          .eps(a.number("eps", 1e-6))
                                                          .keepdim(a.flag("keepdim", false))))},
      {"pdist", CALL(F::pdist(a.tensor(0), a.number("p", 2)))},
      {"poisson_nll_loss", CALL(F::poisson_nll_loss(a.tensor(0), a.tensor(1),
                                                    reduced(a, F::PoissonNLLLossFuncOptions()
                                                                   .log_input(a.flag("log_input", true))
                                                                   .full(a.flag("full", false))
                                                                   .eps(a.number("eps", 1e-8)))))},
      {"smooth_l1_loss", CALL(F::smooth_l1_loss(a.tensor(0), a.tensor(1),
                                                reduced(a, F::SmoothL1LossFuncOptions().beta(a.number("beta", 1)))))},
      {"soft_margin_loss",
       CALL(F::soft_margin_loss(a.tensor(0), a.tensor(1), reduced(a, F::SoftMarginLossFuncOptions())))},
      {"triplet_margin_loss", CALL(F::triplet_margin_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                                                          reduced(a, F::TripletMarginLossFuncOptions()
                                                                         .margin(a.number("margin", 1))
                                                                         .p(a.number("p", 2))
                                                                         .eps(a.number("eps", 1e-6))
                                                                         .swap(a.flag("swap", false)))))},
      {"triplet_margin_with_distance_loss", triplet_with_distance},
  };
  return all;
}

const std::map<std::string, Function>& others() {
  static const std::map<std::string, Function> all = {
      POOLS(1),
      POOLS(2),
      POOLS(3),
      {"fractional_max_pool2d",
       [](const Arguments& a) {
         return with_indices(a, F::fractional_max_pool2d_with_indices(a.tensor(0), fractional_options<2>(a)));
       }},
      {"fractional_max_pool3d",
       [](const Arguments& a) {
         return with_indices(a, F::fractional_max_pool3d_with_indices(a.tensor(0), fractional_options<3>(a)));
       }},
      {"affine_grid", CALL(F::affine_grid(a.tensor(0), integers(a.value(1)), a.flag("align_corners", false)))},
      {"grid_sample", CALL(F::grid_sample(a.tensor(0), a.tensor(1), grid_options(a)))},
      {"interpolate", CALL(F::interpolate(a.tensor(0), interpolate_options(a)))},
      {"upsample", CALL(F::interpolate(a.tensor(0), interpolate_options(a)))},
      {"upsample_nearest", CALL(F::interpolate(a.tensor(0), interpolate_options(a).mode(torch::kNearest)))},
      {"upsample_bilinear",
       CALL(F::interpolate(a.tensor(0), interpolate_options(a).mode(torch::kBilinear).align_corners(true)))},
      {"pixel_shuffle", CALL(F::pixel_shuffle(a.tensor(0), a.integer(1)))},
      {"pixel_unshuffle", CALL(F::pixel_unshuffle(a.tensor(0), a.integer(1)))},
      {"channel_shuffle", CALL(F::channel_shuffle(a.tensor(0), a.integer(1)))},
      {"pad", CALL(F::pad(a.tensor(0), pad_options(a)))},
      {"fold",
       CALL(F::fold(a.tensor(0), F::FoldFuncOptions(a.array<2>(1), a.array<2>(2))
                                     .dilation(a.array<2>("dilation", 1))
                                     .padding(a.array<2>("padding", 0))
                                     .stride(a.array<2>("stride", 1))))},
      {"unfold",
       [](const Arguments& a) -> Tensors {
         const auto options = F::UnfoldFuncOptions(a.array<2>(1))
                                  .dilation(a.array<2>("dilation", 1))
                                  .padding(a.array<2>("padding", 0))
                                  .stride(a.array<2>("stride", 1));
         if (a.tensor(0).dim() == 4) return {F::unfold(a.tensor(0), options)};
         // Python's function takes an image without a batch too.
         return {at::im2col(a.tensor(0), *options.kernel_size(), *options.dilation(), *options.padding(),
                                   *options.stride())};
       }},
      {"linear", CALL(F::linear(a.tensor(0), a.tensor(1), a.tensor(2)))},
      {"bilinear", CALL(F::bilinear(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3)))},
      {"grouped_mm", CALL(F::grouped_mm(a.tensor(0), a.tensor(1), a.tensor("offs")))},
      {"conv_tbc", CALL(at::conv_tbc(a.tensor(0), a.tensor(1), a.tensor(2), a.integer("pad", 0)))},
      {"embedding", CALL(F::embedding(a.tensor(0), a.tensor(1), embedding_options(a)))},
      {"embedding_bag", CALL(F::embedding_bag(a.tensor(0), a.tensor(1), bag_options(a)))},
      {"one_hot", CALL(F::one_hot(a.tensor(0), a.integer("num_classes", -1)))},
      {"batch_norm", CALL(F::batch_norm(a.tensor(0), a.tensor(1), a.tensor(2),
                                        F::BatchNormFuncOptions()
                                            .weight(a.tensor("weight"))
                                            .bias(a.tensor("bias"))
                                            .training(a.flag("training", false))
                                            .momentum(a.number("momentum", 0.1))
                                            .eps(a.number("eps", 1e-5))))},
      {"instance_norm", CALL(F::instance_norm(a.tensor(0), F::InstanceNormFuncOptions()
                                                               .running_mean(a.tensor("running_mean"))
                                                               .running_var(a.tensor("running_var"))
                                                               .weight(a.tensor("weight"))
                                                               .bias(a.tensor("bias"))
                                                               .use_input_stats(a.flag("use_input_stats", true))
                                                               .momentum(a.number("momentum", 0.1))
                                                               .eps(a.number("eps", 1e-5))))},
      {"layer_norm", CALL(F::layer_norm(a.tensor(0), F::LayerNormFuncOptions(integers(a.value(1)))
                                                         .weight(a.tensor("weight"))
                                                         .bias(a.tensor("bias"))
                                                         .eps(a.number("eps", 1e-5))))},
      {"group_norm",
       CALL(F::group_norm(a.tensor(0),
                          F::GroupNormFuncOptions(a.integer(1))
                              .weight(a.tensor("weight"))
                              .bias(a.tensor("bias"))
                              .eps(a.number("eps", 1e-5))))},
      {"rms_norm", CALL(F::rms_norm(a.tensor(0), rms_options(a)))},
      {"local_response_norm", CALL(F::local_response_norm(a.tensor(0), F::LocalResponseNormFuncOptions(a.integer(1))
                                                                           .alpha(a.number("alpha", 1e-4))
                                                                           .beta(a.number("beta", 0.75))
                                                                           .k(a.number("k", 1))))},
      {"normalize",
       CALL(F::normalize(
           a.tensor(0),
           F::NormalizeFuncOptions().p(a.number("p", 2)).dim(a.integer("dim", 1)).eps(a.number("eps", 1e-12))))},
      {"multi_head_attention_forward", attention_forward},
      {"scaled_dot_product_attention",
       CALL(F::scaled_dot_product_attention(
           a.tensor(0), a.tensor(1), a.tensor(2), a.tensor("attn_mask"), a.number("dropout_p", 0),
           a.flag("is_causal", false), a.given("scale") ? std::optional<double>(a.number("scale", 1)) : std::nullopt,
           a.flag("enable_gqa", false)))},
  };
  return all;
}
#undef CALL
#undef POOLS

}  // namespace

Function functional(const std::string& name) {
  for (const auto* group : {&activations(), &losses(), &others()}) {
    if (const auto found = group->find(name); found != group->end()) return found->second;
  }
  return nullptr;
}

void replay_nn_functional(const Json& one, Check& check) {
  const std::string call = one.at("call");
  const Function function = functional(call.substr(call.rfind('.') + 1));
  if (function == nullptr) return check.skip("no function " + call + " here");
  const Arguments arguments(one, check.recordings());
  if (one.contains("seed")) at::manual_seed(one.at("seed").get<uint64_t>());
  const Tensors results = function(arguments);
  arguments.check_all_read();
  if (one.contains("then")) check.then(one.at("then"));

  const std::vector<Json> recorded = flatten(Json::array({one.at("outputs")}));
  if (results.size() != recorded.size()) return check.fail(std::to_string(results.size()) + " results");
  for (size_t i = 0; i < results.size(); ++i) check.tensor("result " + std::to_string(i), results[i], recorded[i]);
  for (const auto& [index, after] : member_or_empty(one, "changed").items()) {
    check.tensor("argument " + index + " after the call", arguments.tensor(std::stoul(index)), after);
  }
  if (one.contains("grad_inputs")) {
    check.gradients(results, arguments.leaves(), arguments.leaf_names(),
                    one.at("grad_inputs").get<std::vector<Json>>());
  }
}

}  // namespace recorded
