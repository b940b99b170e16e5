// Layers: convolutions, pools, norms, activations over dimensions, losses, recurrent networks, attention, windows.
#include <algorithm>

#include "export/onnx/emitter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;
using Ints = std::vector<int64_t>;

Item same(Emitter& e, const char* name, const Item& x, const std::vector<Arg>& more) {
  std::vector<Arg> args{x};
  args.insert(args.end(), more.begin(), more.end());
  return e.call(name, args, x.dtype);
}

// --- windows that slide over the spatial dimensions ---

constexpr int64_t kLargest = INT32_MAX;

struct Window {
  size_t dims = 0;  // spatial ones; 0: not known
  Ints kernel, strides, dilations, pads;
  std::string auto_pad;

  bool symmetric() const {
    for (size_t d = 0; d < dims; ++d) {
      if (pads[d] != pads[dims + d]) return false;
    }
    return true;
  }
  bool plain() const { return auto_pad == "NOTSET" && symmetric(); }
  Ints half_pads() const { return Ints(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims)); }
};

// The attributes, checked against each other; `dims` from elsewhere, 0 where it is not known.
Window window_of(Emitter& e, size_t dims) {
  Window w;
  w.auto_pad = e.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  w.kernel = e.is("kernel_shape"), w.strides = e.is("strides"), w.dilations = e.is("dilations"), w.pads = e.is("pads");
  for (const Ints* list : {&w.kernel, &w.strides, &w.dilations}) {
    if (dims == 0) dims = list->size();
  }
  if (dims == 0) dims = w.pads.size() / 2;
  e.supported(dims > 0, "a window of unknown dimensions");
  w.dims = dims;
  const auto complete = [&](Ints& list, const char* name, size_t count, int64_t least, int64_t otherwise) {
    if (list.empty()) list.assign(count, otherwise);
    e.check(list.size() == count, "expected ", count, " ", name, ", but got ", list.size());
    for (const int64_t one : list) e.check(one >= least && one <= kLargest, "one of the ", name, " is ", one);
  };
  complete(w.strides, "strides", dims, 1, 1);
  complete(w.dilations, "dilations", dims, 1, 1);
  complete(w.pads, "pads", 2 * dims, 0, 0);
  if (!w.kernel.empty()) complete(w.kernel, "sizes of the kernel", dims, 1, 1);
  if (w.auto_pad == "VALID") {
    w.pads.assign(2 * dims, 0);
    w.auto_pad = "NOTSET";
  }
  return w;
}

// The dimensions and the kernel of a convolution, as far as its weight is known.
Window convolution_window(Emitter& e) {
  const at::Tensor weight = e.known(1);
  if (!weight.defined()) {
    const int64_t dim = std::max(e.known_dim(0).value_or(0), e.known_dim(1).value_or(0));
    return window_of(e, dim > 2 ? static_cast<size_t>(dim - 2) : 0);
  }
  e.check(weight.dim() > 2, "expected a weight of at least three dimensions, but got sizes ", weight.sizes());
  Window w = window_of(e, static_cast<size_t>(weight.dim() - 2));
  const Ints kernel(weight.sizes().begin() + 2, weight.sizes().end());
  e.check(w.kernel.empty() || w.kernel == kernel, "kernel_shape is ", w.kernel, ", but the weight has sizes ",
          weight.sizes());
  w.kernel = kernel;
  return w;
}
int64_t groups_of(Emitter& e) {
  const int64_t groups = e.i("group", 1);
  e.check(groups > 0 && groups <= kLargest, "group is ", groups);
  return groups;
}

void conv(Emitter& e) {
  const Window w = convolution_window(e);
  const int64_t groups = groups_of(e);
  Item x = e.in(0);
  const Item weight = e.in(1), bias = e.in_or_absent(2);
  Ints pads = w.half_pads();
  if (!w.plain()) {
    x = same(e, "onnx::pad_window", x, {weight, w.strides, w.dilations, w.pads, w.auto_pad});
    pads.assign(w.dims, 0);
  }
  e.out(same(e, "aten::convolution", x, {weight, bias, w.strides, pads, w.dilations, false, Ints(w.dims, 0), groups}));
}
void conv_transpose(Emitter& e) {
  const Window w = convolution_window(e);
  const int64_t groups = groups_of(e);
  const Item x = e.in(0), weight = e.in(1), bias = e.in_or_absent(2);
  Ints extra = e.is("output_padding");
  if (extra.empty()) extra.assign(w.dims, 0);
  e.check(extra.size() == w.dims, "expected ", w.dims, " values in output_padding, but got ", extra.size());
  for (const int64_t one : extra) e.check(one >= 0 && one <= kLargest, "output_padding has ", one);
  const auto sizes = e.is_if_any("output_shape");
  bool fits = true;  // the operator's own rule for output_padding
  for (size_t d = 0; d < w.dims; ++d) fits = fits && extra[d] < std::max(w.strides[d], w.dilations[d]);
  if (w.plain() && fits && !sizes.has_value()) {
    return e.out(
        same(e, "aten::convolution", x, {weight, bias, w.strides, w.half_pads(), w.dilations, true, extra, groups}));
  }
  e.out(same(e, "onnx::conv_transpose", x,
             {weight, bias, w.strides, w.pads, w.dilations, extra, groups, w.auto_pad,
              sizes.has_value() ? Arg(*sizes) : Arg(std::nullopt)}));
}

// Whether the operator for two or three dimensions computes it: it wants pads of at most half a window.
bool has_operator(const Window& w) {
  if (!w.plain() || w.dims > 3) return false;
  for (size_t d = 0; d < w.dims; ++d) {
    if (2 * w.pads[d] > w.kernel[d]) return false;
  }
  return true;
}
Window pool_window(Emitter& e) {
  e.check(e.has_attribute("kernel_shape"), "lacks the attribute 'kernel_shape'");
  Window w = window_of(e, 0);
  e.check(w.kernel.size() == w.dims, "expected ", w.dims, " sizes of the kernel");
  return w;
}
std::string pool_name(const char* kind, const Window& w) {
  return std::string("aten::") + kind + std::to_string(w.dims) + "d";
}
void max_pool(Emitter& e) {
  const Window w = pool_window(e);
  const bool ceil = e.i("ceil_mode", 0) != 0, column_major = e.i("storage_order", 0) != 0;
  const Item x = e.in(0);
  if (has_operator(w) && !e.wants(1) && c10::isFloatingType(x.dtype)) {
    return e.out(same(e, pool_name("max_pool", w).c_str(), x, {w.kernel, w.strides, w.half_pads(), w.dilations, ceil}));
  }
  e.outputs =
      e.call_for("onnx::max_pool", {x, w.kernel, w.strides, w.pads, w.dilations, w.auto_pad, ceil, column_major},
                 {x.dtype, ScalarType::Long});
}
void average_pool(Emitter& e) {
  const Window w = pool_window(e);
  const bool ceil = e.i("ceil_mode", 0) != 0, include = e.i("count_include_pad", 0) != 0;
  const Item x = e.in(0);
  const bool dilated = std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  if (has_operator(w) && !dilated) {
    return e.out(same(e, pool_name("avg_pool", w).c_str(), x, {w.kernel, w.strides, w.half_pads(), ceil, include}));
  }
  e.out(same(e, "onnx::average_pool", x, {w.kernel, w.strides, w.pads, w.dilations, w.auto_pad, ceil, include}));
}
void lp_pool(Emitter& e) {
  const Window w = pool_window(e);
  const bool ceil = e.i("ceil_mode", 0) != 0;
  e.out(same(e, "onnx::lp_pool", e.in(0), {w.kernel, w.strides, w.pads, w.dilations, w.auto_pad, ceil, e.i("p", 2)}));
}
void global_average_pool(Emitter& e) {
  const Item x = e.in(0);
  e.out(same(e, "aten::mean.dim", x, {e.call("onnx::spatial_axes", {x}), true}));
}
void global_max_pool(Emitter& e) {
  const Item x = e.in(0);
  e.out(same(e, "aten::amax", x, {e.call("onnx::spatial_axes", {x}), true}));
}
void global_lp_pool(Emitter& e) {
  const Item x = e.in(0);
  const int64_t p = e.i("p", 2);
  const Item powers = same(e, "aten::pow.Tensor_Scalar", same(e, "aten::abs", x, {}), {p});
  const Item total = same(e, "aten::sum.dim_IntList", powers, {e.call("onnx::spatial_axes", {x}), true});
  e.out(same(e, "aten::pow.Tensor_Scalar", total, {1.0 / static_cast<double>(p)}));
}
void max_unpool(Emitter& e) {
  const Window w = pool_window(e);
  const Arg sizes = e.has(2) ? e.ints(2) : Arg(std::nullopt);
  e.out(same(e, "onnx::max_unpool", e.in(0), {e.in(1), sizes, w.kernel, w.strides, w.pads}));
}
void col_to_im(Emitter& e) {
  const auto ones = [&](const char* name, const Ints& list) {
    for (const int64_t one : list) e.check(one >= 0 && one <= kLargest, "one of the ", name, " is ", one);
    return list;
  };
  e.out(same(e, "onnx::col2im", e.in(0),
             {e.ints(1), e.ints(2), ones("dilations", e.is("dilations")), ones("pads", e.is("pads")),
              ones("strides", e.is("strides"))}));
}
void deform_conv(Emitter& e) {
  const Window w = convolution_window(e);
  e.supported(w.dims == 2, "in ", w.dims, " dimensions");
  const int64_t groups = groups_of(e), offset_groups = e.i("offset_group", 1);
  e.check(offset_groups > 0 && offset_groups <= kLargest, "offset_group is ", offset_groups);
  const Item x = e.in(0);
  e.out(same(
      e, "onnx::deform_conv", x,
      {e.in(1), e.in(2), e.in_or_absent(3), e.in_or_absent(4), w.strides, w.pads, w.dilations, groups, offset_groups}));
}
void roi_align(Emitter& e) {
  const std::string mode = e.choice("mode", "avg", {"avg", "max"});
  const std::string transform =
      e.choice("coordinate_transformation_mode", e.opset() < 16 ? "output_half_pixel" : "half_pixel",
               {"half_pixel", "output_half_pixel"});
  e.out(same(e, "onnx::roi_align", e.in(0),
             {e.in(1), e.in(2), mode == "max", transform == "half_pixel", e.i("output_height", 1),
              e.i("output_width", 1), e.i("sampling_ratio", 0), e.f("spatial_scale", 1)}));
}
void non_max_suppression(Emitter& e) {
  const bool center = e.i("center_point_box", 0) != 0;
  e.out(e.call("onnx::non_max_suppression",
               {e.in(0), e.in(1), e.has(2) ? e.integer(2) : Arg(0), e.has(3) ? e.scalar(3) : Arg(0.0),
                e.has(4) ? e.scalar(4) : Arg(std::nullopt), center},
               ScalarType::Long));
}
void grid_sample(Emitter& e) {
  const std::string mode = e.opset() < 20 ? e.choice("mode", "bilinear", {"bilinear", "nearest", "bicubic"})
                                          : e.choice("mode", "linear", {"linear", "nearest", "cubic"});
  const std::string padding = e.choice("padding_mode", "zeros", {"zeros", "border", "reflection"});
  const int interpolation = mode == "nearest" ? 1 : mode == "bicubic" || mode == "cubic" ? 2 : 0;
  const int outside = padding == "zeros" ? 0 : padding == "border" ? 1 : 2;
  e.out(same(e, "aten::grid_sampler", e.in(0), {e.in(1), interpolation, outside, e.i("align_corners", 0) != 0}));
}
void affine_grid(Emitter& e) {
  e.out(same(e, "aten::affine_grid_generator", e.in(0), {e.ints(1), e.i("align_corners", 0) != 0}));
}

// --- norms ---

void batch_norm(Emitter& e) {
  e.ignore({"momentum", "spatial", "is_test", "consumed_inputs"});
  if (e.has_attribute("spatial")) e.supported(e.i("spatial") == 1, "spatial = 0");
  const bool training = e.opset() >= 14 && e.i("training_mode", 0) != 0;
  e.supported(training || !e.wants(1), "training");
  if (training) {
    // What the batch says of each channel; running statistics come out anew, of the variance with all elements.
    e.out(same(e, "aten::batch_norm", e.in(0),
               {e.in(1), e.in(2), std::nullopt, std::nullopt, true, 0.0, e.f("epsilon", 1e-5), false}));
    const double kept = e.f("momentum", 0.9);
    const auto running = [&](const Item& before, const Item& now) {
      const Item rest = e.call("aten::mul.Scalar", {e.cast(now, before.dtype), 1 - kept});
      return e.call("aten::add.Tensor", {e.call("aten::mul.Scalar", {before, kept}), rest});
    };
    const Item mean = e.in(3), var = e.in(4);
    if (!e.wants(1)) return;
    const Item channels = e.call("aten::flatten.using_ints",
                                 {e.call("aten::transpose.int", {e.in(0), int64_t{0}, int64_t{1}}), int64_t{1}});
    e.out(running(mean, e.call("aten::mean.dim", {channels, Ints{1}})));
    e.out(running(var, e.call("aten::var.correction", {channels, Ints{1}, int64_t{0}})));
    return;
  }
  e.out(same(e, "aten::batch_norm", e.in(0),
             {e.in(1), e.in(2), e.in(3), e.in(4), false, 0.0, e.f("epsilon", 1e-5), false}));
}
void instance_norm(Emitter& e) {
  e.ignore({"consumed_inputs"});
  e.out(same(e, "aten::instance_norm", e.in(0),
             {e.in(1), e.in(2), std::nullopt, std::nullopt, true, 0.0, e.f("epsilon", 1e-5), false}));
}
void layer_norm(Emitter& e) {
  const int64_t axis = e.i("axis", -1);
  const double epsilon = e.f("epsilon", 1e-5);
  e.ignore({"stash_type"});
  const Item x = e.in(0);
  const at::Tensor scale = e.known(1), bias = e.known(2);
  // The weight has the sizes that are normalized, or broadcasts to them.
  const auto fits = [&](const at::Tensor& t) { return t.defined() && axis < 0 && t.dim() == -axis; };
  if (fits(scale) && (!e.has(2) || (fits(bias) && bias.sizes() == scale.sizes())) && !e.wants(1) && !e.wants(2)) {
    const Ints sizes(scale.sizes().begin(), scale.sizes().end());
    return e.out(same(e, "aten::layer_norm", x, {sizes, e.in(1), e.in_or_absent(2), epsilon}));
  }
  std::vector<Item> normed = e.call_for("onnx::layer_norm", {x, e.in(1), e.in_or_absent(2), axis, epsilon},
                                        {x.dtype, ScalarType::Float, ScalarType::Float});
  e.outputs = std::move(normed);
}
void rms_norm(Emitter& e) {
  e.ignore({"stash_type"});
  const Item x = e.in(0);
  e.out(same(e, "onnx::rms_norm", x, {e.in(1), e.i("axis", -1), e.f("epsilon", 1e-5)}));
}
void group_norm(Emitter& e) {
  e.ignore({"stash_type"});
  const int64_t groups = e.i("num_groups");
  const Item x = e.in(0);
  Item scale = e.in(1), bias = e.in(2);
  if (e.opset() < 21) {
    // One a group.
    scale = e.call("onnx::for_each_channel", {scale, x}, scale.dtype);
    bias = e.call("onnx::for_each_channel", {bias, x}, bias.dtype);
  }
  e.out(same(e, "aten::group_norm", x, {groups, scale, bias, e.f("epsilon", 1e-5), false}));
}
void local_response_norm(Emitter& e) {
  const int64_t size = e.i("size");
  e.check(size > 0 && size <= kLargest, "size is ", size);
  e.out(same(e, "onnx::local_response_norm", e.in(0), {size, e.f("alpha", 1e-4), e.f("beta", 0.75), e.f("bias", 1)}));
}
void mean_variance_norm(Emitter& e) {
  const Item x = e.in(0);
  const Ints axes = e.is_if_any("axes").value_or(Ints{0, 2, 3});
  const Item centered = same(e, "aten::sub.Tensor", x, {same(e, "aten::mean.dim", x, {axes, true})});
  const Item squares = same(e, "aten::mul.Tensor", centered, {centered});
  const Item deviation = same(e, "aten::sqrt", same(e, "aten::mean.dim", squares, {axes, true}), {});
  e.out(same(e, "aten::div.Tensor", centered, {same(e, "aten::add.Scalar", deviation, {1e-9})}));
}
void lp_norm(Emitter& e) {
  const Ints axis{e.i("axis", -1)};
  const int64_t p = e.i("p", 2);
  e.check(p == 1 || p == 2, "p is ", p, "; 1 and 2 are known");
  const Item x = e.in(0);
  const Item parts = p == 1 ? same(e, "aten::abs", x, {}) : same(e, "aten::mul.Tensor", x, {x});
  Item norm = same(e, "aten::sum.dim_IntList", parts, {axis, true});
  if (p == 2) norm = same(e, "aten::sqrt", norm, {});
  // 0 / 0 is 0 here.
  const Item zero = e.call("aten::eq.Scalar", {norm, 0}, ScalarType::Bool);
  e.out(same(e, "aten::div.Tensor", x, {same(e, "aten::masked_fill.Scalar", norm, {zero, 1})}));
}

// --- over a dimension ---

void softmax(Emitter& e) {
  const Item x = e.in(0);
  const auto over = [&](const Item& v, int64_t axis) -> Item { return same(e, e.target(), v, {axis}); };
  if (e.opset() >= 13) return e.out(over(x, e.i("axis", -1)));
  // All dimensions from the axis on are one.
  const int64_t axis = e.i("axis", 1);
  if (axis == -1) return e.out(over(x, -1));
  const Item rows = same(e, "aten::reshape", x, {e.call("onnx::flatten_sizes", {x, axis})});
  e.out(same(e, "aten::reshape_as", over(rows, 1), {x}));
}
void dropout(Emitter& e) {
  e.ignore({"seed", "ratio", "is_test", "consumed_inputs"});
  const Item x = e.in(0);
  if (e.opset() < 12 || !e.has(2)) {
    e.skip(1);
    e.out(x);
    if (e.wants(1)) e.out(e.call("aten::ones_like", {x, ScalarType::Bool}, ScalarType::Bool));
    return;
  }
  e.outputs = e.call_for("onnx::dropout", {x, e.in_or_absent(1), e.in(2)}, {x.dtype, ScalarType::Bool});
}

// --- losses ---

int reduction_of(Emitter& e) {
  const std::string name = e.choice("reduction", "mean", {"none", "mean", "sum"});
  return name == "none" ? 0 : name == "mean" ? 1 : 2;
}
void nll_loss(Emitter& e) {
  const Item target = e.cast(e.in(1), ScalarType::Long);
  const int64_t ignored = e.i("ignore_index", -100);
  e.out(same(e, "aten::nll_loss_nd", e.in(0), {target, e.in_or_absent(2), reduction_of(e), ignored}));
}
void cross_entropy_loss(Emitter& e) {
  const Item target = e.cast(e.in(1), ScalarType::Long);
  const int64_t ignored = e.i("ignore_index", -100);
  const Item log_probabilities = same(e, "aten::log_softmax.int", e.in(0), {1});
  e.out(same(e, "aten::nll_loss_nd", log_probabilities, {target, e.in_or_absent(2), reduction_of(e), ignored}));
  e.out(log_probabilities);
}

// --- recurrent networks ---

void recurrent(Emitter& e) {
  const std::string kind = e.target();
  const std::string direction = e.choice("direction", "forward", {"forward", "reverse", "bidirectional"});
  const int64_t hidden = e.i("hidden_size", 0), layout = e.opset() < 14 ? 0 : e.i("layout", 0);
  e.check(layout == 0 || layout == 1, "layout is ", layout);
  e.ignore({"output_sequence", "hidden_size"});
  const double clip = e.has_attribute("clip") ? e.f("clip") : 0;
  const bool before_reset = kind == "gru" && e.i("linear_before_reset", 0) == 0;
  const bool coupled = kind == "lstm" && e.i("input_forget", 0) != 0;
  const Item x = e.in(0);
  std::vector<Arg> args{Arg(kind), x, e.in(1), e.in(2), e.in_or_absent(3), e.in_or_absent(4), e.in_or_absent(5)};
  args.push_back(kind == "lstm" ? Arg(e.in_or_absent(6)) : Arg(std::nullopt));
  args.push_back(kind == "lstm" ? Arg(e.in_or_absent(7)) : Arg(std::nullopt));
  args.insert(args.end(), {Arg(direction), Arg(hidden), Arg(layout == 1), Arg(clip), Arg(before_reset), Arg(coupled),
                           Arg(e.ss("activations")), Arg(e.fs("activation_alpha")), Arg(e.fs("activation_beta"))});
  e.outputs = e.call_for("onnx::recurrent", args, {x.dtype, x.dtype, x.dtype});
  if (kind != "lstm") e.outputs.pop_back();
}

// --- attention ---

void attention(Emitter& e) {
  const Item q = e.in(0);
  const bool causal = e.i("is_causal", 0) != 0;
  const Arg scale = e.has_attribute("scale") ? Arg(e.f("scale")) : Arg(std::nullopt);
  const ScalarType softmax =
      e.has_attribute("softmax_precision") ? e.dtype_named("softmax_precision") : ScalarType::Undefined;
  e.outputs =
      e.call_for("onnx::attention",
                 {q, e.in(1), e.in(2), e.in_or_absent(3), e.in_or_absent(4), e.in_or_absent(5), e.in_or_absent(6),
                  causal, e.i("q_num_heads", 0), e.i("kv_num_heads", 0), scale, e.f("softcap", 0),
                  e.i("qk_matmul_output_mode", 0), e.i("left_window_size", -1), e.i("right_window_size", -1), softmax},
                 {q.dtype, q.dtype, e.dtype(2), q.dtype});
}
void rotary_embedding(Emitter& e) {
  e.out(same(e, "onnx::rotary_embedding", e.in(0),
             {e.in(1), e.in(2), e.in_or_absent(3), e.i("interleaved", 0) != 0, e.i("num_heads", 0),
              e.i("rotary_embedding_dim", 0)}));
}

// --- signals ---

void window_function(Emitter& e) {
  const bool periodic = e.i("periodic", 1) != 0;
  const std::optional<ScalarType> dtype =
      e.has_attribute("output_datatype") ? e.dtype_named("output_datatype") : ScalarType::Float;
  // 25/46, not 0.54.
  if (std::string(e.target()) == "aten::hamming_window") {
    return e.out(e.call("aten::hamming_window.periodic_alpha_beta",
                        {e.integer(0), periodic, 25.0 / 46.0, 1 - 25.0 / 46.0, *dtype}, dtype));
  }
  e.out(e.call(std::string(e.target()) + ".periodic", {e.integer(0), periodic, *dtype}, dtype));
}
void mel_weight_matrix(Emitter& e) {
  const ScalarType dtype = e.has_attribute("output_datatype") ? e.dtype_named("output_datatype") : ScalarType::Float;
  e.out(e.call("onnx::mel_weight_matrix", {e.integer(0), e.integer(1), e.integer(2), e.in(3), e.in(4), dtype}, dtype));
}
void dft(Emitter& e) {
  const bool inverse = e.i("inverse", 0) != 0, onesided = e.i("onesided", 0) != 0;
  const Arg length = e.has(1) ? e.integer(1) : Arg(std::nullopt);
  const Arg axis = e.opset() < 20 ? Arg(e.i("axis", 1)) : e.has(2) ? e.integer(2) : Arg(-2);
  e.out(same(e, "onnx::dft", e.in(0), {length, axis, inverse, onesided}));
}
void stft(Emitter& e) {
  const bool onesided = e.i("onesided", 1) != 0;
  e.out(same(e, "onnx::stft", e.in(0),
             {e.integer(1), e.in_or_absent(2), e.has(3) ? e.integer(3) : Arg(std::nullopt), onesided}));
}

constexpr Operator kOperators[] = {
    {"AffineGrid", 20, affine_grid},
    {"Attention", 23, attention},
    {"AveragePool", 1, average_pool},
    {"BatchNormalization", 7, batch_norm},
    {"BlackmanWindow", 17, window_function, "aten::blackman_window"},
    {"Col2Im", 18, col_to_im},
    {"Conv", 1, conv},
    {"ConvTranspose", 1, conv_transpose},
    {"DFT", 17, dft},
    {"DeformConv", 19, deform_conv},
    {"Dropout", 7, dropout},
    {"GRU", 7, recurrent, "gru"},
    {"GlobalAveragePool", 1, global_average_pool},
    {"GlobalLpPool", 2, global_lp_pool},
    {"GlobalMaxPool", 1, global_max_pool},
    {"GridSample", 16, grid_sample},
    {"GroupNormalization", 18, group_norm},
    {"HammingWindow", 17, window_function, "aten::hamming_window"},
    {"HannWindow", 17, window_function, "aten::hann_window"},
    {"Hardmax", 1, softmax, "onnx::hardmax"},
    {"InstanceNormalization", 6, instance_norm},
    {"LRN", 1, local_response_norm},
    {"LSTM", 7, recurrent, "lstm"},
    {"LayerNormalization", 17, layer_norm},
    {"LogSoftmax", 1, softmax, "aten::log_softmax.int"},
    {"LpNormalization", 1, lp_norm},
    {"LpPool", 2, lp_pool},
    {"MaxPool", 1, max_pool},
    {"MaxUnpool", 9, max_unpool},
    {"MeanVarianceNormalization", 9, mean_variance_norm},
    {"MelWeightMatrix", 17, mel_weight_matrix},
    {"NegativeLogLikelihoodLoss", 12, nll_loss},
    {"NonMaxSuppression", 10, non_max_suppression},
    {"RMSNormalization", 23, rms_norm},
    {"RNN", 7, recurrent, "rnn"},
    {"RoiAlign", 10, roi_align},
    {"RotaryEmbedding", 23, rotary_embedding},
    {"STFT", 17, stft},
    {"Softmax", 1, softmax, "aten::softmax.int"},
    {"SoftmaxCrossEntropyLoss", 12, cross_entropy_loss},
};

}  // namespace

c10::ArrayRef<Operator> network_operators() {
  return kOperators;
}

}  // namespace torch::onnx
