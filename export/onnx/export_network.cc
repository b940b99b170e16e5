// Convolutions, pooling, norms, padding, images.
#include "aten/core/tensor.h"
#include "export/onnx/exporter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;
using graph::Operand;
using Ints = std::vector<int64_t>;

// One number for all spatial dimensions.
Ints spread(Ints values, size_t count) {
  if (values.size() == 1) values.resize(count, values[0]);
  return values;
}
Ints both_sides(const Ints& padding) {
  Ints pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}
size_t spatial(const Call& c, size_t outer) {
  const int64_t dims = c.dims(0);
  supported(dims >= static_cast<int64_t>(outer) + 1, "its input has ", dims, " dimensions");
  return static_cast<size_t>(dims) - outer;
}

// A call of an operator of images for one without a batch.
template <class F>
void batched(const Call& c, bool has_batch, const F& f) {
  if (has_batch) return c.give(f(c.in(0)));
  c.give(c.op("Squeeze", {f(c.op("Unsqueeze", {c.in(0), c.x.ints({0})})), c.x.ints({0})}));
}

void convolution(const Call& c) {
  const bool general = std::string_view(c.target) == "general";
  const auto n = static_cast<size_t>(c.dims(1)) - 2;
  const bool has_batch = c.dims(0) == c.dims(1);
  supported(!c.is_none(4) && !c.known(4).isString(), "its padding is a text");
  const Ints stride = spread(c.is(3), n), padding = spread(c.is(4), n), dilation = spread(c.is(5), n);
  const bool transposed = general && c.b(6);
  Ints kernel;
  for (size_t d = 0; d < n; ++d) kernel.push_back(c.fixed(1, static_cast<int64_t>(d) + 2));
  Attributes attributes{{"kernel_shape", kernel},
                        {"strides", stride},
                        {"pads", both_sides(padding)},
                        {"dilations", dilation},
                        {"group", c.i(general ? 8 : 6)}};
  if (transposed) attributes.push_back({"output_padding", spread(c.is(7), n)});
  batched(c, has_batch, [&](const Name& x) {
    Names inputs{x, c.in(1)};
    if (!c.is_none(2)) inputs.push_back(c.in(2));
    return c.op(transposed ? "ConvTranspose" : "Conv", inputs, attributes);
  });
}
void conv_transpose(const Call& c) {
  const auto n = static_cast<size_t>(c.dims(1)) - 2;
  Ints kernel;
  for (size_t d = 0; d < n; ++d) kernel.push_back(c.fixed(1, static_cast<int64_t>(d) + 2));
  const Attributes attributes{{"kernel_shape", kernel},
                              {"strides", spread(c.is(3), n)},
                              {"pads", both_sides(spread(c.is(4), n))},
                              {"output_padding", spread(c.is(5), n)},
                              {"group", c.i(6)},
                              {"dilations", spread(c.is(7), n)}};
  batched(c, c.dims(0) == c.dims(1), [&](const Name& x) {
    Names inputs{x, c.in(1)};
    if (!c.is_none(2)) inputs.push_back(c.in(2));
    return c.op("ConvTranspose", inputs, attributes);
  });
}

size_t pool_dims(const Call& c) {
  return static_cast<size_t>(c.target[0] - '0');
}
void max_pool(const Call& c) {
  const size_t n = pool_dims(c);
  const Ints kernel = spread(c.is(1), n), stride = c.is(2).empty() ? kernel : spread(c.is(2), n);
  const Attributes attributes{{"kernel_shape", kernel},
                              {"strides", stride},
                              {"pads", both_sides(spread(c.is(3), n))},
                              {"dilations", spread(c.is(4), n)},
                              {"ceil_mode", int64_t{c.b(5)}}};
  for (size_t k = 1; k < c.node.result_count(); ++k) {
    supported(c.node.result(k)->uses().empty(), "its indices are used");
    c.give("", k);
  }
  batched(c, spatial(c, 2) >= n, [&](const Name& x) { return c.op("MaxPool", {x}, attributes); });
}
void avg_pool(const Call& c) {
  const size_t n = pool_dims(c);
  supported(c.size() <= 6 || c.is_none(6), "it has a divisor of its own");
  const Ints kernel = spread(c.is(1), n), stride = c.is(2).empty() ? kernel : spread(c.is(2), n);
  const Attributes attributes{{"kernel_shape", kernel},
                              {"strides", stride},
                              {"pads", both_sides(spread(c.is(3), n))},
                              {"ceil_mode", int64_t{c.b(4)}},
                              {"count_include_pad", int64_t{c.b(5)}}};
  batched(c, spatial(c, 2) >= n, [&](const Name& x) { return c.op("AveragePool", {x}, attributes); });
}
void adaptive_avg_pool(const Call& c) {
  const size_t n = pool_dims(c);
  const Ints size = spread(c.is(1), n);
  const int64_t dims = c.dims(0), first = dims - static_cast<int64_t>(n);
  Ints axes, kernel;
  bool ones = true;
  for (size_t d = 0; d < n; ++d) {
    axes.push_back(first + static_cast<int64_t>(d));
    ones = ones && size[d] == 1;
  }
  if (ones) return c.give(c.op("ReduceMean", {c.in(0), c.x.ints(axes)}, {{"keepdims", int64_t{1}}}));
  for (size_t d = 0; d < n; ++d) {
    const int64_t own = c.fixed(0, axes[d]);
    supported(size[d] > 0 && own % size[d] == 0, "its sizes are no multiples of the result's");
    kernel.push_back(own / size[d]);
  }
  batched(c, first >= 2, [&](const Name& x) {
    return c.op("AveragePool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}});
  });
}

// --- norms ---

Name filled(const Call& c, int64_t size, double value, ScalarType dtype) {
  return c.op("Expand", {c.number(value, dtype), c.x.ints({size})});
}
// Weight and bias, of ones and zeros where there are none.
void norm_parameters(const Call& c, size_t weight, size_t bias, int64_t size, Name* w, Name* b) {
  const ScalarType dtype = c.dtype(0);
  *w = c.is_none(weight) ? filled(c, size, 1, dtype) : c.in(weight);
  *b = c.is_none(bias) ? filled(c, size, 0, dtype) : c.in(bias);
}
// Each channel by what the batch itself says of it.
void batch_norm_of_batch(const Call& c, double eps) {
  const int64_t dims = c.dims(0);
  const ScalarType dtype = c.dtype(0);
  Ints others, inner;
  for (int64_t d = 0; d < dims; ++d) {
    if (d != 1) others.push_back(d);
    if (d > 1) inner.push_back(d - 1);
  }
  const Name axes = c.x.ints(others);
  const Name centred = c.op("Sub", {c.in(0), c.op("ReduceMean", {c.in(0), axes})});
  const Name variance = c.op("ReduceMean", {c.op("Mul", {centred, centred}), axes});
  Name result = c.op("Div", {centred, c.op("Sqrt", {c.op("Add", {variance, c.number(eps, dtype)})})});
  const auto by_channel = [&](size_t i) {
    return inner.empty() ? c.in(i) : c.op("Unsqueeze", {c.in(i), c.x.ints(inner)});
  };
  if (!c.is_none(1)) result = c.op("Mul", {result, by_channel(1)});
  if (!c.is_none(2)) result = c.op("Add", {result, by_channel(2)});
  c.give(result);
}
void batch_norm(const Call& c) {
  const std::string_view form = c.target;
  // batch_norm(..., training, momentum, eps, cudnn), native_batch_norm(..., training, momentum, eps), no_training(...,
  // momentum, eps).
  const bool plain = form == "plain";
  const bool running = !c.is_none(3) && !c.is_none(4), trains = form != "no_training" && c.b(5);
  supported(!trains || !running, "it trains");
  supported(trains || running, "it has no running statistics");
  const double eps = c.f(form == "no_training" ? 6 : 7), momentum = c.f(form == "no_training" ? 5 : 6);
  const bool has_length = c.dims(0) >= 2;
  supported(has_length, "its input has ", c.dims(0), " dimensions");
  if (trains) {
    batch_norm_of_batch(c, eps);
  } else {
    Name weight, bias;
    norm_parameters(c, 1, 2, c.fixed(3, 0), &weight, &bias);
    c.give(c.op("BatchNormalization", {c.in(0), weight, bias, c.in(3), c.in(4)},
                {{"epsilon", eps}, {"momentum", 1 - momentum}}));
  }
  for (size_t k = 1; !plain && k < c.node.result_count(); ++k) {
    supported(c.node.result(k)->uses().empty(), "its statistics are used");
    c.give("", k);
  }
}
void layer_norm(const Call& c) {
  const bool native = std::string_view(c.target) == "native";
  const Ints shape = c.is(1);
  const auto dims = static_cast<int64_t>(shape.size());
  Name weight, bias = c.in_or_none(3);
  if (c.is_none(2)) {
    weight = c.op("Expand", {c.number(1, c.dtype(0)), c.x.ints(shape)});
  } else {
    weight = c.in(2);
  }
  Names inputs{c.in(0), weight};
  if (!bias.empty()) inputs.push_back(bias);
  c.give(c.op("LayerNormalization", inputs, {{"axis", -dims}, {"epsilon", c.f(4)}}));
  for (size_t k = 1; native && k < c.node.result_count(); ++k) {
    supported(c.node.result(k)->uses().empty(), "its statistics are used");
    c.give("", k);
  }
}
// [N, C, ...] with the statistics of each of so many groups of channels.
Name grouped_norm(const Call& c, int64_t groups, double eps) {
  const ScalarType dtype = c.dtype(0);
  const Name x = c.in(0);
  Names sizes{c.op("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}}), c.x.ints({groups, -1})};
  const Name rows = c.op("Reshape", {x, c.op("Concat", sizes, {{"axis", int64_t{0}}})});
  const Name normed = c.op("InstanceNormalization", {rows, filled(c, groups, 1, dtype), filled(c, groups, 0, dtype)},
                           {{"epsilon", eps}});
  return c.op("Reshape", {normed, c.op("Shape", {x})});
}
Name with_channels(const Call& c, Name y, size_t weight, size_t bias) {
  Ints shape(static_cast<size_t>(c.dims(0)) - 1, 1);
  shape[0] = -1;
  if (!c.is_none(weight)) y = c.op("Mul", {y, c.op("Reshape", {c.in(weight), c.x.ints(shape)})});
  if (!c.is_none(bias)) y = c.op("Add", {y, c.op("Reshape", {c.in(bias), c.x.ints(shape)})});
  return y;
}
void group_norm(const Call& c) {
  c.give(with_channels(c, grouped_norm(c, c.i(1), c.f(4)), 2, 3));
}
void native_group_norm(const Call& c) {
  c.give(with_channels(c, grouped_norm(c, c.i(6), c.f(7)), 1, 2));
  for (size_t k = 1; k < c.node.result_count(); ++k) {
    supported(c.node.result(k)->uses().empty(), "its statistics are used");
    c.give("", k);
  }
}
void instance_norm(const Call& c) {
  supported(c.b(5) && c.is_none(3) && c.is_none(4), "it has running statistics");
  c.give(with_channels(c, grouped_norm(c, c.fixed(0, 1), c.f(7)), 1, 2));
}
void rms_norm(const Call& c) {
  const Ints shape = c.is(1);
  const ScalarType dtype = c.dtype(0);
  Ints axes;
  for (size_t d = 0; d < shape.size(); ++d) axes.push_back(-static_cast<int64_t>(d) - 1);
  const double eps =
      c.is_none(3) ? (dtype == ScalarType::Double ? 2.220446049250313e-16 : 1.1920928955078125e-07) : c.f(3);
  const Name x = c.in(0);
  const Name mean = c.op("ReduceMean", {c.op("Mul", {x, x}), c.x.ints(axes)}, {{"keepdims", int64_t{1}}});
  Name y = c.op("Mul", {x, c.op("Reciprocal", {c.op("Sqrt", {c.op("Add", {mean, c.number(eps, dtype)})})})});
  if (!c.is_none(2)) y = c.op("Mul", {y, c.in(2)});
  c.give(y);
}

// --- padding, images ---

// Pairs from the last dimension on, as begins then ends of all.
Name pads_of(const Call& c, size_t i) {
  const Operand& given = c.node.operand(i);
  std::vector<Operand> pairs;
  if (given.is_list()) {
    pairs = given.list();
  } else {
    for (const c10::IValue& v : c.known(i).toListRef()) pairs.emplace_back(v);
  }
  const auto dims = static_cast<size_t>(c.dims(0));
  std::vector<Operand> pads(2 * dims, Operand(c10::IValue(0)));
  for (size_t k = 0; k + 1 < pairs.size(); k += 2) {
    pads[dims - 1 - k / 2] = pairs[k];
    pads[2 * dims - 1 - k / 2] = pairs[k + 1];
  }
  return c.x.numbers(pads);
}
void constant_pad(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("Pad",
              {c.in(0), pads_of(c, 1), c.x.scalar(c.size() > 2 && !c.is_none(2) ? c.known(2) : c10::IValue(0), dtype)},
              {{"mode", std::string("constant")}}));
}
void edge_pad(const Call& c) {
  c.give(c.op("Pad", {c.in(0), pads_of(c, 1)}, {{"mode", std::string(c.target)}}));
}
void pad(const Call& c) {
  const std::string mode = c.known(2).toStringRef();
  if (mode == "constant") {
    const c10::IValue value = c.is_none(3) ? c10::IValue(0.0) : c.known(3);
    return c.give(c.op("Pad", {c.in(0), pads_of(c, 1), c.x.scalar(value, c.result_dtype())},
                       {{"mode", std::string("constant")}}));
  }
  const std::string named = mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : mode;
  c.give(c.op("Pad", {c.in(0), pads_of(c, 1)}, {{"mode", named}}));
}
void pixel_shuffle(const Call& c) {
  supported(c.dims(0) == 4, "its input has ", c.dims(0), " dimensions");
  c.give(c.op("DepthToSpace", {c.in(0)}, {{"blocksize", c.i(1)}, {"mode", std::string("CRD")}}));
}
void resize(const Call& c, const Attributes& attributes, size_t size, size_t factors) {
  const size_t n = spatial(c, 2);
  if (size < c.size() && !c.is_none(size)) {
    std::vector<Operand> sizes;
    for (size_t d = 0; d < 2; ++d) sizes.emplace_back(c.info(0).sizes[d]);
    const Operand& given = c.node.operand(size);
    if (given.is_list()) {
      sizes.insert(sizes.end(), given.list().begin(), given.list().end());
    } else {
      for (const c10::IValue& v : c.known(size).toListRef()) sizes.emplace_back(v);
    }
    return c.give(c.op("Resize", {c.in(0), "", "", c.x.numbers(sizes)}, attributes));
  }
  std::vector<double> scales{1, 1};
  for (const c10::IValue& v : c.known(factors).toListRef()) scales.push_back(v.toDouble());
  supported(scales.size() == n + 2, "its factors are not as many as its dimensions");
  Names parts;
  for (const double scale : scales)
    parts.push_back(c.op("Reshape", {c.number(scale, ScalarType::Float), c.x.ints({1})}));
  c.give(c.op("Resize", {c.in(0), "", c.op("Concat", parts, {{"axis", int64_t{0}}})}, attributes));
}
void upsample_nearest(const Call& c) {
  resize(c,
         {{"mode", std::string("nearest")},
          {"coordinate_transformation_mode", std::string("asymmetric")},
          {"nearest_mode", std::string("floor")}},
         1, 2);
}
void upsample_linear(const Call& c) {
  const bool corners = c.b(2), cubic = std::string_view(c.target) == "cubic";
  Attributes attributes{{"mode", std::string(c.target)},
                        {"coordinate_transformation_mode", std::string(corners ? "align_corners"
                                                                       : cubic ? "half_pixel"
                                                                               : "pytorch_half_pixel")}};
  if (cubic) attributes.push_back({"cubic_coeff_a", -0.75});
  resize(c, attributes, 1, 3);
}
void glu(const Call& c) {
  const Names halves = c.x.nodes("Split", {c.in(0)}, {{"axis", c.dim(1, c.dims(0))}, {"num_outputs", int64_t{2}}}, 2);
  c.give(c.op("Mul", {halves[0], c.op("Sigmoid", {halves[1]})}));
}
void prelu(const Call& c) {
  const int64_t dims = c.dims(0);
  Name slope = c.in(1);
  if (std::string_view(c.target) == "plain" && dims >= 2 && c.fixed(1, 0) != 1) {
    Ints shape(static_cast<size_t>(dims) - 1, 1);
    shape[0] = -1;
    slope = c.op("Reshape", {slope, c.x.ints(shape)});
  }
  c.give(c.op("PRelu", {c.in(0), slope}));
}
void grid_sample(const Call& c) {
  constexpr const char* kModes[] = {"linear", "nearest", "cubic"};
  constexpr const char* kPadding[] = {"zeros", "border", "reflection"};
  c.give(c.op("GridSample", {c.in(0), c.in(1)},
              {{"mode", std::string(kModes[c.i(2)])},
               {"padding_mode", std::string(kPadding[c.i(3)])},
               {"align_corners", int64_t{c.b(4)}}}));
}

constexpr Form kForms[] = {
    {"aten::convolution", convolution, "general"},
    {"aten::conv1d", convolution, "plain"},
    {"aten::conv2d", convolution, "plain"},
    {"aten::conv3d", convolution, "plain"},
    {"aten::conv_transpose1d", conv_transpose},
    {"aten::conv_transpose2d.input", conv_transpose},
    {"aten::conv_transpose3d.input", conv_transpose},
    {"aten::max_pool1d", max_pool, "1"},
    {"aten::max_pool2d", max_pool, "2"},
    {"aten::max_pool3d", max_pool, "3"},
    {"aten::max_pool2d_with_indices", max_pool, "2"},
    {"aten::max_pool3d_with_indices", max_pool, "3"},
    {"aten::avg_pool1d", avg_pool, "1"},
    {"aten::avg_pool2d", avg_pool, "2"},
    {"aten::avg_pool3d", avg_pool, "3"},
    {"aten::adaptive_avg_pool1d", adaptive_avg_pool, "1"},
    {"aten::adaptive_avg_pool2d", adaptive_avg_pool, "2"},
    {"aten::_adaptive_avg_pool2d", adaptive_avg_pool, "2"},
    {"aten::adaptive_avg_pool3d", adaptive_avg_pool, "3"},
    {"aten::_adaptive_avg_pool3d", adaptive_avg_pool, "3"},
    {"aten::batch_norm", batch_norm, "plain"},
    {"aten::native_batch_norm", batch_norm, "native"},
    {"aten::_native_batch_norm_legit", batch_norm, "native"},
    {"aten::_native_batch_norm_legit_no_training", batch_norm, "no_training"},
    {"aten::layer_norm", layer_norm, "plain"},
    {"aten::native_layer_norm", layer_norm, "native"},
    {"aten::group_norm", group_norm},
    {"aten::native_group_norm", native_group_norm},
    {"aten::instance_norm", instance_norm},
    {"aten::rms_norm", rms_norm},
    {"aten::constant_pad_nd", constant_pad},
    {"aten::reflection_pad1d", edge_pad, "reflect"},
    {"aten::reflection_pad2d", edge_pad, "reflect"},
    {"aten::reflection_pad3d", edge_pad, "reflect"},
    {"aten::replication_pad1d", edge_pad, "edge"},
    {"aten::replication_pad2d", edge_pad, "edge"},
    {"aten::replication_pad3d", edge_pad, "edge"},
    {"aten::pad", pad},
    {"aten::pixel_shuffle", pixel_shuffle},
    {"aten::upsample_nearest1d.vec", upsample_nearest},
    {"aten::upsample_nearest2d.vec", upsample_nearest},
    {"aten::upsample_nearest3d.vec", upsample_nearest},
    {"aten::upsample_bilinear2d.vec", upsample_linear, "linear"},
    {"aten::upsample_trilinear3d.vec", upsample_linear, "linear"},
    {"aten::upsample_bicubic2d.vec", upsample_linear, "cubic"},
    {"aten::glu", glu},
    {"aten::prelu", prelu, "plain"},
    {"aten::_prelu_kernel", prelu, "kernel"},
    {"aten::grid_sampler_2d", grid_sample},
};

}  // namespace

c10::ArrayRef<Form> network_forms() {
  return kForms;
}

}  // namespace torch::onnx
