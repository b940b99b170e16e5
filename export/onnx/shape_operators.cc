// Sizes, views, pieces, indices, constants, resizing.
#include <algorithm>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
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
bool all_of(const Ints& values, bool (*f)(int64_t)) {
  return std::all_of(values.begin(), values.end(), f);
}

// --- constants ---

template <class T>
at::Tensor tensor_from(const std::vector<T>& values, ScalarType dtype, bool in_a_row) {
  at::Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions().dtype(dtype));
  if (dtype == ScalarType::Long) {
    std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  } else {
    std::copy(values.begin(), values.end(), t.data_ptr<float>());
  }
  return in_a_row ? t : t.reshape({});
}
void constant(Emitter& e) {
  if (e.has_attribute("value")) return e.out(e.constant_attribute("value"));
  if (e.has_attribute("value_float"))
    return e.out(e.constant(tensor_from<double>({e.f("value_float")}, ScalarType::Float, false)));
  if (e.has_attribute("value_floats"))
    return e.out(e.constant(tensor_from(e.fs("value_floats"), ScalarType::Float, true)));
  if (e.has_attribute("value_int"))
    return e.out(e.constant(tensor_from<int64_t>({e.i("value_int")}, ScalarType::Long, false)));
  if (e.has_attribute("value_ints")) return e.out(e.constant(tensor_from(e.is("value_ints"), ScalarType::Long, true)));
  e.supported(false, "a constant that is no tensor of numbers");
}
void constant_of_shape(Emitter& e) {
  const at::Tensor value =
      e.has_attribute("value") ? e.t("value") : at::zeros({1}, at::TensorOptions().dtype(ScalarType::Float));
  e.check(value.numel() == 1, "expected one value, but got sizes ", value.sizes());
  const ScalarType dtype = value.scalar_type();
  e.out(e.call("aten::full", {e.ints(0), graph::Operand(c10::IValue(value.item())), dtype}, dtype));
}
void range(Emitter& e) {
  e.out(e.call("onnx::range", {e.in(0), e.in(1), e.in(2)}));
}
void eye_like(Emitter& e) {
  const ScalarType dtype = e.has_attribute("dtype") ? e.dtype_named("dtype") : e.dtype();
  e.out(e.call("onnx::eye_like", {e.in(0), e.i("k", 0), dtype}, dtype));
}
void one_hot(Emitter& e) {
  e.out(e.call("onnx::one_hot", {e.in(0), e.in(1), e.in(2), e.i("axis", -1)}, e.dtype(2)));
}

// --- sizes ---

void shape(Emitter& e) {
  const Arg end = e.has_attribute("end") ? Arg(e.i("end")) : Arg(std::nullopt);
  e.out(e.call("onnx::shape", {e.in(0), e.i("start", 0), end}, ScalarType::Long));
}
void size(Emitter& e) {
  e.out(e.call("onnx::size", {e.in(0)}, ScalarType::Long));
}

// --- views ---

void reshape(Emitter& e) {
  const bool allow_zero = e.i("allowzero", 0) != 0;
  const std::optional<Ints> known = e.known_ints(1);
  const Item x = e.in(0);
  if (known.has_value() && all_of(*known, [](int64_t n) { return n != 0; })) {
    return e.out(same(e, "aten::reshape", x, {*known}));
  }
  e.out(same(e, "aten::reshape", x, {e.call("onnx::reshape_sizes", {x, e.ints(1), allow_zero})}));
}
void flatten(Emitter& e) {
  const Item x = e.in(0);
  e.out(same(e, "aten::reshape", x, {e.call("onnx::flatten_sizes", {x, e.i("axis", 1)})}));
}
// The axes: an attribute before opset 13, then an input. Null where there are none.
std::optional<Arg> axes_of(Emitter& e) {
  if (e.opset() < 13) {
    if (!e.has_attribute("axes")) return std::nullopt;
    return Arg(e.is("axes"));
  }
  return e.has(1) ? std::optional<Arg>(e.ints(1)) : std::nullopt;
}
void squeeze(Emitter& e) {
  const Item x = e.in(0);
  const std::optional<Arg> axes = axes_of(e);
  e.out(axes.has_value() ? same(e, "aten::squeeze.dims", x, {*axes}) : same(e, "aten::squeeze", x, {}));
}
void unsqueeze(Emitter& e) {
  const Item x = e.in(0);
  const std::optional<Arg> axes = axes_of(e);
  e.check(axes.has_value(), "lacks axes");
  if (axes->operand().is_constant()) {
    const Ints known = axes->operand().constant().toIntVector();
    if (known.size() == 1) return e.out(same(e, "aten::unsqueeze", x, {known[0]}));
  }
  e.out(same(e, "aten::reshape", x, {e.call("onnx::unsqueeze_sizes", {x, *axes})}));
}
void transpose(Emitter& e) {
  const Item x = e.in(0);
  if (const auto perm = e.is_if_any("perm")) return e.out(same(e, "aten::permute", x, {*perm}));
  e.out(same(e, "aten::permute", x, {e.call("onnx::reversed_axes", {x})}));
}
void expand(Emitter& e) {
  const Item x = e.in(0);
  e.out(same(e, "aten::expand", x, {e.call("onnx::broadcast_sizes", {x, e.ints(1)})}));
}
void tile(Emitter& e) {
  e.out(same(e, "aten::repeat", e.in(0), {e.ints(1)}));
}
void depth_to_space(Emitter& e) {
  const std::string mode = e.choice("mode", "DCR", {"DCR", "CRD"});
  const int64_t block = e.i("blocksize");
  const Item x = e.in(0);
  e.out(mode == "CRD" ? same(e, "aten::pixel_shuffle", x, {block}) : same(e, "onnx::depth_to_space", x, {block}));
}
void space_to_depth(Emitter& e) {
  const std::string mode = e.choice("mode", "DCR", {"DCR", "CRD"});
  e.out(same(e, mode == "CRD" ? "aten::pixel_unshuffle" : "onnx::space_to_depth", e.in(0), {e.i("blocksize")}));
}

// --- pieces ---

void concat(Emitter& e) {
  const int64_t axis = e.i("axis");
  const std::vector<Item> parts = e.all_inputs();
  e.check(!parts.empty(), "expected at least one input");
  e.out(e.call("aten::cat", {parts, axis}));
}
void split(Emitter& e) {
  const int64_t axis = e.i("axis", 0);
  const Item x = e.in(0);
  const auto count = static_cast<int64_t>(e.output_count());
  std::optional<Arg> sizes;
  if (e.opset() < 13) {
    if (e.has_attribute("split")) sizes = Arg(e.is("split"));
  } else if (e.has(1)) {
    sizes = e.ints(1);
  }
  const int64_t parts = e.opset() >= 18 ? e.i("num_outputs", count) : count;
  e.check(parts == count, "expected ", parts, " outputs, but got ", count);
  if (!sizes.has_value()) sizes = e.call("onnx::split_sizes", {x, axis, parts});
  const Item list = same(e, "aten::split_with_sizes", x, {*sizes, axis});
  e.outputs = e.unpack(list, e.output_count(), x.dtype);
}
void slice(Emitter& e) {
  const Item x = e.in(0);
  std::optional<Ints> starts, ends, axes, steps;
  bool known = true;
  if (e.opset() < 10) {
    starts = e.is("starts"), ends = e.is("ends");
    axes = e.is_if_any("axes");
  } else {
    starts = e.known_ints(1), ends = e.known_ints(2), axes = e.known_ints(3), steps = e.known_ints(4);
    known =
        starts.has_value() && ends.has_value() && (axes.has_value() || !e.has(3)) && (steps.has_value() || !e.has(4));
  }
  if (known) {
    const size_t n = starts->size();
    e.check(ends->size() == n && (!axes.has_value() || axes->size() == n) && (!steps.has_value() || steps->size() == n),
            "expected as many ends, axes and steps as there are starts");
    if (!steps.has_value()) steps = Ints(n, 1);
    if (!axes.has_value()) {
      axes.emplace();
      for (size_t k = 0; k < n; ++k) axes->push_back(static_cast<int64_t>(k));
    }
    if (all_of(*steps, [](int64_t s) { return s > 0; })) {
      Item piece = x;
      for (size_t k = 0; k < n; ++k) {
        piece = same(e, "aten::slice.Tensor", piece, {(*axes)[k], (*starts)[k], (*ends)[k], (*steps)[k]});
      }
      return e.out(piece);
    }
    return e.out(same(e, "onnx::slice", x, {*starts, *ends, *axes, *steps}));
  }
  if (axes.has_value() && axes->size() == 1 &&
      (!e.has(4) || (steps.has_value() && steps->size() == 1 && (*steps)[0] > 0))) {
    const int64_t step = steps.has_value() ? (*steps)[0] : 1;
    return e.out(same(e, "aten::slice.Tensor", x, {(*axes)[0], e.integer(1), e.integer(2), step}));
  }
  const auto given = [&](size_t i) { return e.has(i) ? e.ints(i) : Arg(std::nullopt); };
  e.out(same(e, "onnx::slice", x, {e.ints(1), e.ints(2), given(3), given(4)}));
}
void pad(Emitter& e) {
  const std::string mode = e.choice("mode", "constant", {"constant", "reflect", "edge", "wrap"});
  const Item x = e.in(0);
  if (e.opset() < 11) {
    return e.out(same(e, "onnx::pad", x, {e.is("pads"), mode, e.f("value", 0), std::nullopt}));
  }
  const Arg value = e.has(2) ? e.scalar(2) : Arg(0);
  const std::optional<Ints> pads = e.known_ints(1);
  if (mode == "constant" && pads.has_value() && !e.has(3) && pads->size() % 2 == 0) {
    // Of the last dimension first, begin and end together.
    Ints pairs;
    const size_t n = pads->size() / 2;
    for (size_t d = n; d-- > 0;) pairs.insert(pairs.end(), {(*pads)[d], (*pads)[n + d]});
    if (all_of(pairs, [](int64_t p) { return p >= 0; }))
      return e.out(same(e, "aten::constant_pad_nd", x, {pairs, value}));
  }
  e.out(same(e, "onnx::pad", x, {e.ints(1), mode, value, e.has(3) ? e.ints(3) : Arg(std::nullopt)}));
}
void center_crop_pad(Emitter& e) {
  const auto axes = e.is_if_any("axes");
  e.out(same(e, "onnx::center_crop_pad", e.in(0), {e.ints(1), axes.has_value() ? Arg(*axes) : Arg(std::nullopt)}));
}
void trilu(Emitter& e) {
  const bool upper = e.i("upper", 1) != 0;
  e.out(same(e, upper ? "aten::triu" : "aten::tril", e.in(0), {e.has(1) ? e.integer(1) : Arg(0)}));
}

// --- indices ---

void gather(Emitter& e) {
  const int64_t axis = e.i("axis", 0);
  const Item x = e.in(0);
  const at::Tensor known = e.known(1);
  if (known.defined() && known.dim() == 0 && c10::isIntegralType(known.scalar_type(), false)) {
    return e.out(same(e, "aten::select.int", x, {axis, e.integer(1)}));
  }
  if (axis < 0 || axis > 64) return e.out(same(e, "onnx::gather", x, {e.in(1), axis}));
  // x[:, :, index]
  std::vector<graph::Operand> indices(static_cast<size_t>(axis), graph::Operand(c10::IValue()));
  indices.emplace_back(e.cast(e.in(1), ScalarType::Long).value);
  e.out(same(e, "aten::index.Tensor", x, {graph::Operand(std::move(indices))}));
}
// Indices from 0 on; negative ones count from the end.
Item index_of(Emitter& e, const Item& x, int64_t axis) {
  return e.call("onnx::wrapped_index", {e.in(1), x, axis}, ScalarType::Long);
}
void gather_elements(Emitter& e) {
  const int64_t axis = e.i("axis", 0);
  const Item x = e.in(0);
  e.out(same(e, "aten::gather", x, {axis, index_of(e, x, axis)}));
}
void gather_nd(Emitter& e) {
  e.out(same(e, "onnx::gather_nd", e.in(0), {e.in(1), e.i("batch_dims", 0)}));
}
std::string reduction_of(Emitter& e) {
  return e.choice("reduction", "none", {"none", "add", "mul", "max", "min"});
}
void scatter_elements(Emitter& e) {
  const int64_t axis = e.i("axis", 0);
  const std::string reduction = reduction_of(e);
  const Item x = e.in(0), index = index_of(e, x, axis), updates = e.in(2);
  if (reduction == "none") return e.out(same(e, "aten::scatter.src", x, {axis, index, updates}));
  const char* name = reduction == "add" ? "sum" : reduction == "mul" ? "prod" : reduction == "max" ? "amax" : "amin";
  e.out(same(e, "aten::scatter_reduce.two", x, {axis, index, updates, name}));
}
void scatter_nd(Emitter& e) {
  const std::string reduction = reduction_of(e);
  e.out(same(e, "onnx::scatter_nd", e.in(0), {e.in(1), e.in(2), reduction}));
}
void compress(Emitter& e) {
  const Arg axis = e.has_attribute("axis") ? Arg(e.i("axis")) : Arg(std::nullopt);
  e.out(same(e, "onnx::compress", e.in(0), {e.in(1), axis}));
}
void reverse_sequence(Emitter& e) {
  e.out(same(e, "onnx::reverse_sequence", e.in(0), {e.in(1), e.i("batch_axis", 1), e.i("time_axis", 0)}));
}
void tensor_scatter(Emitter& e) {
  const std::string mode = e.choice("mode", "linear", {"linear", "circular"});
  e.out(same(e, "onnx::tensor_scatter", e.in(0), {e.in(1), e.in_or_absent(2), e.i("axis", -2), mode == "circular"}));
}

// --- resizing ---

void resize(Emitter& e) {
  const bool old = e.opset() < 11;
  const Item x = e.in(0);
  const std::string mode = e.choice("mode", "nearest", {"nearest", "linear", "cubic"});
  const std::string transform =
      old ? "asymmetric"
          : e.choice("coordinate_transformation_mode", "half_pixel",
                     {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                      "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  const std::string nearest = old ? "floor"
                                  : e.choice("nearest_mode", "round_prefer_floor",
                                             {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  const std::string policy = e.choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"});
  const double cubic = e.f("cubic_coeff_a", -0.75), extrapolation = e.f("extrapolation_value", 0);
  const bool exclude = e.i("exclude_outside", 0) != 0, antialias = e.i("antialias", 0) != 0;
  const auto axes = e.is_if_any("axes");
  const size_t scales_at = old ? 1 : 2;
  const auto empty = [&](size_t i) {
    if (!e.has(i)) return true;
    const at::Tensor known = e.known(i);
    return known.defined() && known.numel() == 0;
  };
  const bool by_sizes = !old && !empty(3);
  if (by_sizes) e.skip(scales_at);
  e.check(by_sizes || !empty(scales_at), "neither scales nor sizes");
  const bool crops = transform == "tf_crop_and_resize";
  if (!old && !crops) e.skip(1);
  e.out(same(e, "onnx::resize", x,
             {by_sizes ? Arg(std::nullopt) : Arg(e.in(scales_at)), by_sizes ? e.ints(3) : Arg(std::nullopt),
              crops ? Arg(e.in(1)) : Arg(std::nullopt), mode, transform, nearest, policy, cubic, extrapolation, exclude,
              antialias, axes.has_value() ? Arg(*axes) : Arg(std::nullopt)}));
}
void upsample(Emitter& e) {
  e.check(e.opset() < 10, "Upsample ends with opset 9");
  const std::string mode = e.choice("mode", "nearest", {"nearest", "linear"});
  const Item x = e.in(0);
  const Arg scales = e.opset() < 9
                         ? Arg(e.input_value(e.constant(tensor_from(e.fs("scales"), ScalarType::Float, true))))
                         : Arg(e.in(1));
  e.out(same(e, "onnx::resize", x,
             {scales, std::nullopt, std::nullopt, mode, "asymmetric", "floor", "stretch", -0.75, 0.0, false, false,
              std::nullopt}));
}

constexpr Operator kOperators[] = {
    {"CenterCropPad", 18, center_crop_pad},
    {"Compress", 9, compress},
    {"Concat", 4, concat},
    {"Constant", 1, constant},
    {"ConstantOfShape", 9, constant_of_shape},
    {"DepthToSpace", 1, depth_to_space},
    {"Expand", 8, expand},
    {"EyeLike", 9, eye_like},
    {"Flatten", 1, flatten},
    {"Gather", 1, gather},
    {"GatherElements", 11, gather_elements},
    {"GatherND", 11, gather_nd},
    {"OneHot", 9, one_hot},
    {"Pad", 2, pad},
    {"Range", 11, range},
    {"Reshape", 5, reshape},
    {"Resize", 10, resize},
    {"ReverseSequence", 10, reverse_sequence},
    {"Scatter", 9, scatter_elements},
    {"ScatterElements", 11, scatter_elements},
    {"ScatterND", 11, scatter_nd},
    {"Shape", 1, shape},
    {"Size", 1, size},
    {"Slice", 1, slice},
    {"SpaceToDepth", 1, space_to_depth},
    {"Split", 2, split},
    {"Squeeze", 1, squeeze},
    {"TensorScatter", 24, tensor_scatter},
    {"Tile", 6, tile},
    {"Transpose", 1, transpose},
    {"Trilu", 14, trilu},
    {"Unsqueeze", 1, unsqueeze},
    {"Upsample", 7, upsample},
};

}  // namespace

c10::ArrayRef<Operator> shape_operators() {
  return kOperators;
}

}  // namespace torch::onnx
