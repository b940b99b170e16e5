// Sizes, pieces, indices, sequences.
#include <algorithm>
#include <cmath>

#include "aten/aten.h"
#include "export/onnx/boxed.h"
#include "export/onnx/callables.h"
#include "export/onnx/runtime.h"

namespace torch::onnx {
namespace {

using c10::IValue;
using c10::ScalarType;

// --- numbers and lists from tensors ---

Ints ints(const Tensor& x) {
  TORCH_CHECK_VALUE(c10::isIntegralType(x.scalar_type(), false) && x.dim() <= 1,
                    "expected whole numbers in a row, but got a tensor of dtype ", x.scalar_type(), " and sizes ",
                    x.sizes());
  const Tensor wide = at::to(x, ScalarType::Long).contiguous();
  const int64_t* values = wide.data_ptr<int64_t>();
  return Ints(values, values + wide.numel());
}
c10::Scalar scalar(const Tensor& x) {
  TORCH_CHECK_VALUE(x.numel() == 1, "expected a number, but got a tensor of sizes ", x.sizes());
  return x.item();
}
int64_t integer(const Tensor& x) {
  TORCH_CHECK_VALUE(x.numel() == 1, "expected a number, but got a tensor of sizes ", x.sizes());
  return x.item().toLong();
}
bool truth(const Tensor& x) {
  TORCH_CHECK_VALUE(x.numel() == 1, "expected a truth value, but got a tensor of sizes ", x.sizes());
  return x.item().toBool();
}
Tensor number(int64_t v) {
  return at::scalar_tensor(v, at::TensorOptions().dtype(ScalarType::Long));
}
void push_true(c10::Stack& stack) {
  stack.emplace_back(at::scalar_tensor(true, at::TensorOptions().dtype(ScalarType::Bool)));
}
void push_false(c10::Stack& stack) {
  stack.emplace_back(at::scalar_tensor(false, at::TensorOptions().dtype(ScalarType::Bool)));
}

// --- sizes ---

Tensor shape(const Tensor& x, int64_t start, std::optional<int64_t> end) {
  const int64_t n = x.dim();
  const auto within = [n](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
  const int64_t first = within(start), last = std::max(first, within(end.value_or(n)));
  return at::tensor(Ints(x.sizes().begin() + first, x.sizes().begin() + last),
                    at::TensorOptions().dtype(ScalarType::Long));
}
Tensor size(const Tensor& x) {
  return number(x.numel());
}
Ints reshape_sizes(const Tensor& x, Ints sizes, bool allow_zero) {
  for (size_t d = 0; d < sizes.size() && !allow_zero; ++d) {
    if (sizes[d] != 0) continue;
    TORCH_CHECK_VALUE(static_cast<int64_t>(d) < x.dim(), "dimension ", d, " is to be kept of sizes ", x.sizes());
    sizes[d] = x.size(static_cast<int64_t>(d));
  }
  return sizes;
}
Ints flatten_sizes(const Tensor& x, int64_t axis) {
  TORCH_CHECK_INDEX(axis >= -x.dim() && axis <= x.dim(), "axis ", axis, " of sizes ", x.sizes());
  if (axis < 0) axis += x.dim();
  const auto split = static_cast<size_t>(axis);
  return {product(x.sizes().slice(0, split)), product(x.sizes().slice(split))};
}
Ints unsqueeze_sizes(const Tensor& x, const Ints& axes) {
  const auto n = static_cast<int64_t>(axes.size()) + x.dim();
  std::vector<bool> added(static_cast<size_t>(n));
  for (const int64_t axis : axes) {
    TORCH_CHECK_INDEX(axis >= -n && axis < n, "axis ", axis, " of ", n, " dimensions");
    const auto d = static_cast<size_t>(axis < 0 ? axis + n : axis);
    TORCH_CHECK_VALUE(!added[d], "axis ", axis, " twice");
    added[d] = true;
  }
  Ints sizes;
  for (int64_t d = 0, from = 0; d < n; ++d) sizes.push_back(added[static_cast<size_t>(d)] ? 1 : x.size(from++));
  return sizes;
}
Ints reversed_axes(const Tensor& x) {
  Ints axes;
  for (int64_t d = x.dim(); d-- > 0;) axes.push_back(d);
  return axes;
}
Ints all_axes(const Tensor& x) {
  Ints axes;
  for (int64_t d = 0; d < x.dim(); ++d) axes.push_back(d);
  return axes;
}
Ints spatial_axes(const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() > 2, "expected at least three dimensions, but got sizes ", x.sizes());
  Ints axes;
  for (int64_t d = 2; d < x.dim(); ++d) axes.push_back(d);
  return axes;
}
// As many elements of a view that says its elements many times may be.
constexpr int64_t kMostElements = int64_t{1} << 40;
Ints broadcast_sizes(const Tensor& x, const Ints& sizes) {
  const size_t own = x.sizes().size(), n = std::max(own, sizes.size());
  Ints all(n);
  int64_t elements = 1;
  for (size_t d = 0; d < n; ++d) {
    const int64_t a = d + own < n ? 1 : x.sizes()[d + own - n],
                  b = d + sizes.size() < n ? 1 : sizes[d + sizes.size() - n];
    TORCH_CHECK_VALUE(b >= 0 && (a == b || a == 1 || b == 1), "sizes ", x.sizes(), " do not broadcast with ", sizes);
    all[d] = a == 1 ? b : a;
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(elements, all[d], &elements) && elements <= kMostElements, "sizes ",
                      x.sizes(), " broadcast with ", sizes, " have more than ", kMostElements, " elements");
  }
  return all;
}
Ints split_sizes(const Tensor& x, int64_t axis, int64_t parts) {
  const int64_t size = x.size(axis_of(x, axis)), each = (size + parts - 1) / parts;
  Ints sizes;
  for (int64_t k = 0, left = size; k < parts; ++k) {
    sizes.push_back(std::min(each, left));
    left -= sizes.back();
  }
  return sizes;
}

// --- pieces ---

Tensor slice(const Tensor& x, const Ints& starts, const Ints& ends, const std::optional<Ints>& axes,
             const std::optional<Ints>& steps) {
  const size_t n = starts.size();
  TORCH_CHECK_VALUE(ends.size() == n && (!axes.has_value() || axes->size() == n) &&
                        (!steps.has_value() || steps->size() == n) && static_cast<int64_t>(n) <= x.dim(),
                    "expected as many ends, axes and steps as there are starts (", n, "), for sizes ", x.sizes());
  Tensor piece = x;
  for (size_t k = 0; k < n; ++k) {
    const int64_t axis = axis_of(x, axes.has_value() ? (*axes)[k] : static_cast<int64_t>(k));
    const int64_t step = steps.has_value() ? (*steps)[k] : 1, size = piece.size(axis);
    TORCH_CHECK_VALUE(step != 0, "a slice with step 0");
    if (step > 0) {
      piece = at::slice(piece, axis, starts[k], ends[k], step);
      continue;
    }
    // From the start down to what is above the end.
    const auto within = [size](int64_t at, int64_t low) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, low, size - 1);
    };
    const int64_t from = within(starts[k], 0), to = within(ends[k], -1);
    if (size == 0 || from <= to) {
      piece = at::slice(piece, axis, 0, 0, 1);
      continue;
    }
    const int64_t down = step == INT64_MIN ? INT64_MAX : -step;
    const Tensor turned = at::flip(at::slice(piece, axis, to + 1, from + 1, 1), {axis});
    piece = at::slice(turned, axis, 0, turned.size(axis), down);
  }
  return piece;
}

// For each place of a padded axis, the place that it is taken from.
Tensor padded_places(int64_t size, int64_t before, int64_t after, std::string_view mode) {
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  const Tensor places = at::arange(-before, size + after, options);
  if (mode == "edge") return at::clamp(places, 0, size - 1);
  if (mode == "wrap") return at::remainder(places, size);
  if (size == 1) return at::zeros_like(places);
  const int64_t period = 2 * (size - 1);
  const Tensor turn = at::remainder(places, period);
  return at::minimum(turn, at::rsub(turn, period));
}
Tensor pad(const Tensor& x, const Ints& pads, const std::string& mode, const c10::Scalar& value,
           const std::optional<Ints>& axes) {
  const size_t n = axes.has_value() ? axes->size() : static_cast<size_t>(x.dim());
  TORCH_CHECK_VALUE(pads.size() == 2 * n, "expected ", 2 * n, " pads for sizes ", x.sizes(), ", but got ", pads.size());
  Tensor out = x;
  for (size_t k = 0; k < n; ++k) {
    const int64_t axis = axis_of(x, axes.has_value() ? (*axes)[k] : static_cast<int64_t>(k));
    int64_t before = pads[k], after = pads[n + k];
    if (before == 0 && after == 0) continue;
    TORCH_CHECK_VALUE(
        before >= -kMostElements && before <= kMostElements && after >= -kMostElements && after <= kMostElements,
        "pads ", pads, " for sizes ", x.sizes());
    const int64_t cut_before = std::max<int64_t>(0, -before), cut_after = std::max<int64_t>(0, -after);
    const int64_t size = out.size(axis);
    TORCH_CHECK_VALUE(cut_before + cut_after <= size, "pads ", pads, " take away more than there is of sizes ",
                      x.sizes());
    if (cut_before + cut_after > 0) out = at::narrow(out, axis, cut_before, size - cut_before - cut_after);
    before = std::max<int64_t>(0, before), after = std::max<int64_t>(0, after);
    if (before == 0 && after == 0) continue;
    if (mode == "constant") {
      Ints pairs(static_cast<size_t>(2 * (x.dim() - axis)), 0);
      pairs[pairs.size() - 2] = before, pairs[pairs.size() - 1] = after;
      out = at::constant_pad_nd(out, pairs, value);
      continue;
    }
    TORCH_CHECK_VALUE(out.size(axis) > 0, "an axis of size 0 is padded by '", mode, "'");
    out = at::index_select(out, axis, padded_places(out.size(axis), before, after, mode));
  }
  return out;
}
Tensor center_crop_pad(const Tensor& x, const Ints& sizes, const std::optional<Ints>& axes) {
  const size_t n = axes.has_value() ? axes->size() : static_cast<size_t>(x.dim());
  TORCH_CHECK_VALUE(sizes.size() == n, "expected ", n, " sizes, but got ", sizes.size());
  Tensor out = x;
  for (size_t k = 0; k < n; ++k) {
    const int64_t axis = axis_of(x, axes.has_value() ? (*axes)[k] : static_cast<int64_t>(k));
    const int64_t size = out.size(axis), wanted = sizes[k];
    TORCH_CHECK_VALUE(wanted >= 0, "a size of ", wanted);
    if (wanted < size) out = at::narrow(out, axis, (size - wanted) / 2, wanted);
    if (wanted <= size) continue;
    const int64_t before = (wanted - size) / 2;
    out = pad(out, {before, wanted - size - before}, "constant", 0, Ints{axis});
  }
  return out;
}

// --- rearrangements ---

Tensor depth_to_space(const Tensor& x, int64_t block) {
  TORCH_CHECK_VALUE(x.dim() == 4 && block > 0 && block < (int64_t{1} << 20) && x.size(1) % (block * block) == 0,
                    "DepthToSpace by ", block, " of sizes ", x.sizes());
  const int64_t n = x.size(0), c = x.size(1) / (block * block), h = x.size(2), w = x.size(3);
  return x.reshape({n, block, block, c, h, w}).permute({0, 3, 4, 1, 5, 2}).reshape({n, c, h * block, w * block});
}
Tensor space_to_depth(const Tensor& x, int64_t block) {
  TORCH_CHECK_VALUE(
      x.dim() == 4 && block > 0 && block < (int64_t{1} << 20) && x.size(2) % block == 0 && x.size(3) % block == 0,
      "SpaceToDepth by ", block, " of sizes ", x.sizes());
  const int64_t n = x.size(0), c = x.size(1), h = x.size(2) / block, w = x.size(3) / block;
  return x.reshape({n, c, h, block, w, block}).permute({0, 3, 5, 1, 2, 4}).reshape({n, c * block * block, h, w});
}

// --- constants ---

Tensor range(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const c10::Scalar a = scalar(start), b = scalar(limit), step = scalar(delta);
  const auto options = at::TensorOptions().dtype(start.scalar_type());
  const bool empty = step.toDouble() > 0 ? a.toDouble() >= b.toDouble() : a.toDouble() <= b.toDouble();
  TORCH_CHECK_VALUE(step.toDouble() != 0, "a range with step 0");
  return empty ? at::empty({0}, options) : at::arange(a, b, step, options);
}
Tensor eye_like(const Tensor& x, int64_t k, ScalarType dtype) {
  TORCH_CHECK_VALUE(x.dim() == 2, "expected two dimensions, but got sizes ", x.sizes());
  Tensor out = at::zeros(x.sizes(), at::TensorOptions().dtype(dtype));
  const bool there = k >= 0 ? k < x.size(1) : k > -x.size(0) - 1 && -k < x.size(0);
  if (there && x.numel() > 0) at::diagonal(out, k).fill_(1);
  return out;
}
Tensor one_hot(const Tensor& indices, const Tensor& depth, const Tensor& values, int64_t axis) {
  const int64_t n = integer(depth);
  TORCH_CHECK_VALUE(n >= 0 && n <= kMostElements, "a depth of ", n);
  TORCH_CHECK_VALUE(values.numel() == 2, "expected two values, but got sizes ", values.sizes());
  const int64_t dims = indices.dim() + 1;
  TORCH_CHECK_INDEX(axis >= -dims && axis < dims, "axis ", axis, " of ", dims, " dimensions");
  const Tensor places = at::arange(0, n, at::TensorOptions().dtype(ScalarType::Long));
  const Tensor index = at::to(indices, ScalarType::Long);
  const Tensor hot = at::eq(at::where(at::lt(index, 0), at::add(index, n), index).unsqueeze(-1), places);
  const Tensor off = values.reshape({2}).select(0, 0), on = values.reshape({2}).select(0, 1);
  return at::movedim(at::where(hot, on, off), -1, axis);
}

// --- indices ---

Tensor wrapped_index(const Tensor& index, const Tensor& x, int64_t axis) {
  const int64_t size = x.size(axis_of(x, axis));
  const Tensor wide = at::to(index, ScalarType::Long);
  return at::where(at::lt(wide, 0), at::add(wide, size), wide);
}
Tensor gather(const Tensor& x, const Tensor& index, int64_t axis) {
  axis = axis_of(x, axis);
  const Tensor wrapped = wrapped_index(index, x, axis);
  Ints sizes(x.sizes().begin(), x.sizes().begin() + axis);
  sizes.insert(sizes.end(), index.sizes().begin(), index.sizes().end());
  sizes.insert(sizes.end(), x.sizes().begin() + axis + 1, x.sizes().end());
  return at::index_select(x, axis, wrapped.reshape({-1})).reshape(sizes);
}
// For each row of `index`, which is a place in the first dimensions of sizes, its number among those places.
Tensor flat_places(const Tensor& index, c10::IntArrayRef sizes) {
  Tensor flat =
      at::zeros(index.sizes().slice(0, index.sizes().size() - 1), at::TensorOptions().dtype(ScalarType::Long));
  for (int64_t k = 0; k < index.size(-1); ++k) {
    const int64_t size = sizes[static_cast<size_t>(k)];
    const Tensor one = at::to(at::select(index, -1, k), ScalarType::Long);
    const Tensor wrapped = at::where(at::lt(one, 0), at::add(one, size), one);
    const bool inside =
        one.numel() == 0 || (at::ge(wrapped, 0).all().item().toBool() && at::lt(wrapped, size).all().item().toBool());
    TORCH_CHECK_INDEX(inside, "an index beyond dimension ", k, " of sizes ", sizes);
    flat = at::add(at::mul(flat, size), wrapped);
  }
  return flat;
}
Tensor gather_nd(const Tensor& x, const Tensor& index, int64_t batch) {
  TORCH_CHECK_VALUE(
      index.dim() > 0 && batch >= 0 && batch < index.dim() && batch < x.dim() && index.size(-1) <= x.dim() - batch &&
          x.sizes().slice(0, static_cast<size_t>(batch)) == index.sizes().slice(0, static_cast<size_t>(batch)),
      "GatherND of indices of sizes ", index.sizes(), " in sizes ", x.sizes(), " with ", batch, " batch dimensions");
  const auto depth = index.size(-1);
  // The batch's places come first in every index.
  const auto from = static_cast<size_t>(batch), to = static_cast<size_t>(batch + depth);
  const int64_t batches = product(x.sizes().slice(0, from)), places = product(x.sizes().slice(from, to - from));
  const Ints rest(x.sizes().begin() + static_cast<std::ptrdiff_t>(to), x.sizes().end());
  Tensor flat = flat_places(index, x.sizes().slice(from, to - from));
  const Tensor rows = at::mul(at::arange(0, batches, at::TensorOptions().dtype(ScalarType::Long)), places);
  const int64_t each = product(index.sizes().slice(from, index.sizes().size() - 1 - from));
  const Tensor all = at::add(flat.reshape({batches, each}), rows.unsqueeze(1)).reshape({-1});
  Ints sizes(index.sizes().begin(), index.sizes().end() - 1);
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return at::index_select(x.reshape({batches * places, product(rest)}), 0, all).reshape(sizes);
}
Tensor scatter_nd(const Tensor& x, const Tensor& index, const Tensor& updates, const std::string& reduction) {
  TORCH_CHECK_VALUE(index.dim() > 0 && index.size(-1) <= x.dim(), "ScatterND of indices of sizes ", index.sizes(),
                    " in sizes ", x.sizes());
  const auto depth = static_cast<size_t>(index.size(-1));
  Ints wanted(index.sizes().begin(), index.sizes().end() - 1);
  wanted.insert(wanted.end(), x.sizes().begin() + static_cast<std::ptrdiff_t>(depth), x.sizes().end());
  TORCH_CHECK_VALUE(updates.sizes() == c10::IntArrayRef(wanted), "expected updates of sizes ", wanted, ", but got ",
                    updates.sizes());
  const int64_t places = product(x.sizes().slice(0, depth)), elements = product(x.sizes().slice(depth));
  const Tensor flat = flat_places(index, x.sizes().slice(0, depth)).reshape({-1});
  const Tensor rows = x.reshape({places, elements}), values = updates.reshape({flat.numel(), elements});
  if (values.numel() == 0) return x;
  const Tensor at_rows = flat.unsqueeze(1).expand({flat.numel(), elements});
  Tensor out;
  if (reduction == "none") {
    out = at::scatter(rows, 0, at_rows, values);
  } else {
    const char* name = reduction == "add" ? "sum" : reduction == "mul" ? "prod" : reduction == "max" ? "amax" : "amin";
    out = at::scatter_reduce(rows, 0, at_rows, values, name);
  }
  return out.reshape(x.sizes());
}
Tensor compress(const Tensor& x, const Tensor& condition, std::optional<int64_t> axis) {
  TORCH_CHECK_VALUE(condition.dim() == 1, "expected a condition of one dimension, but got sizes ", condition.sizes());
  const Tensor rows = axis.has_value() ? x : x.reshape({-1});
  return at::index_select(rows, axis.has_value() ? axis_of(x, *axis) : 0, at::nonzero(condition).reshape({-1}));
}
Tensor reverse_sequence(const Tensor& x, const Tensor& lengths, int64_t batch_axis, int64_t time_axis) {
  TORCH_CHECK_VALUE(x.dim() >= 2 && batch_axis + time_axis == 1 && batch_axis >= 0 && batch_axis <= 1 &&
                        lengths.dim() == 1 && lengths.size(0) == x.size(batch_axis),
                    "ReverseSequence of sizes ", x.sizes(), " with batch axis ", batch_axis, ", time axis ", time_axis,
                    " and lengths of sizes ", lengths.sizes());
  const Tensor y = at::transpose(x, 0, batch_axis);  // batch, time, ...
  const Tensor time = at::arange(0, y.size(1), at::TensorOptions().dtype(ScalarType::Long)).unsqueeze(0);
  const Tensor length = at::to(lengths, ScalarType::Long).unsqueeze(1);
  const Tensor from = at::where(at::lt(time, length), at::sub(at::sub(length, 1), time), time);
  Ints sizes(y.sizes().begin(), y.sizes().end());
  Tensor index = from.reshape({y.size(0), y.size(1)});
  while (index.dim() < y.dim()) index = index.unsqueeze(-1);
  return at::transpose(at::gather(y, 1, index.expand(sizes)), 0, batch_axis);
}
Tensor tensor_scatter(const Tensor& past, const Tensor& update, const MaybeTensor& starts, int64_t axis,
                      bool circular) {
  axis = axis_of(past, axis);
  TORCH_CHECK_VALUE(axis > 0 && update.dim() == past.dim(), "TensorScatter of sizes ", update.sizes(), " into ",
                    past.sizes(), " along ", axis);
  const int64_t n = past.size(0), length = update.size(axis), most = past.size(axis);
  const auto options = at::TensorOptions().dtype(ScalarType::Long);
  const Tensor first = starts.has_value() ? at::to(*starts, ScalarType::Long) : at::zeros({n}, options);
  Tensor index = at::add(first.reshape({n, 1}), at::arange(0, length, options));
  if (circular) index = at::remainder(index, most);
  Ints sizes(static_cast<size_t>(past.dim()), 1);
  sizes[0] = n, sizes[static_cast<size_t>(axis)] = length;
  return at::scatter(past, axis, index.reshape(sizes).expand(update.sizes()), update);
}

// --- sequences ---

using Tensors = std::vector<Tensor>;

void append(c10::Stack& stack) {
  const c10::List<Tensor> list = stack[0].toTensorList();
  list.push_back(stack[1].toTensor());
  stack = {IValue(list)};
}
size_t place_in(const Tensors& list, int64_t at, size_t most) {
  const auto n = static_cast<int64_t>(list.size());
  const int64_t place = at < 0 ? at + n : at;
  TORCH_CHECK_INDEX(place >= 0 && place < static_cast<int64_t>(most), "place ", at, " of a sequence of ", n);
  return static_cast<size_t>(place);
}
Tensor at_place(const Tensors& list, int64_t place) {
  return list[place_in(list, place, list.size())];
}
Tensors insert(Tensors list, const Tensor& x, std::optional<int64_t> place) {
  const size_t at = place.has_value() ? place_in(list, *place, list.size() + 1) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), x);
  return list;
}
Tensors erase(Tensors list, int64_t place) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place_in(list, place, list.size())));
  return list;
}
Tensor length(const Tensors& list) {
  return number(static_cast<int64_t>(list.size()));
}
Tensor stack(const Tensors& list, int64_t axis, bool joined, ScalarType dtype) {
  if (list.empty()) {
    TORCH_CHECK_VALUE(!joined, "an empty sequence is to be joined");
    return at::empty({0}, at::TensorOptions().dtype(dtype == ScalarType::Undefined ? ScalarType::Float : dtype));
  }
  return joined ? at::cat(list, axis) : at::stack(list, axis);
}
Tensors split_to_sequence(const Tensor& x, const MaybeTensor& sizes, int64_t axis, bool keep) {
  axis = axis_of(x, axis);
  if (!sizes.has_value()) {
    Tensors parts = at::unbind(x, axis);
    for (Tensor& part : parts) {
      if (keep) part = part.unsqueeze(axis);
    }
    return parts;
  }
  if (sizes->dim() > 0) return at::split_with_sizes(x, ints(*sizes), axis);
  const int64_t each = integer(*sizes);
  TORCH_CHECK_VALUE(each > 0, "a split into parts of ", each);
  return at::split(x, each, axis);
}

constexpr OwnCallable kCallables[] = {
    {"onnx::all_axes(Tensor x) -> int[]", boxed<&all_axes>},
    {"onnx::append(Tensor[] list, Tensor x) -> Tensor[]", append},
    {"onnx::at(Tensor[] list, int place) -> Tensor", boxed<&at_place>},
    {"onnx::broadcast_sizes(Tensor x, int[] sizes) -> int[]", boxed<&broadcast_sizes>},
    {"onnx::center_crop_pad(Tensor x, int[] sizes, int[]? axes) -> Tensor", boxed<&center_crop_pad>},
    {"onnx::compress(Tensor x, Tensor condition, int? axis) -> Tensor", boxed<&compress>},
    {"onnx::depth_to_space(Tensor x, int block) -> Tensor", boxed<&depth_to_space>},
    {"onnx::erase(Tensor[] list, int place) -> Tensor[]", boxed<&erase>},
    {"onnx::eye_like(Tensor x, int k, ScalarType dtype) -> Tensor", boxed<&eye_like>},
    {"onnx::false() -> Tensor", push_false},
    {"onnx::flatten_sizes(Tensor x, int axis) -> int[]", boxed<&flatten_sizes>},
    {"onnx::gather(Tensor x, Tensor index, int axis) -> Tensor", boxed<&gather>},
    {"onnx::gather_nd(Tensor x, Tensor index, int batch_dims) -> Tensor", boxed<&gather_nd>},
    {"onnx::insert(Tensor[] list, Tensor x, int? place) -> Tensor[]", boxed<&insert>},
    {"onnx::int(Tensor x) -> int", boxed<&integer>},
    {"onnx::ints(Tensor x) -> int[]", boxed<&ints>},
    {"onnx::length(Tensor[] list) -> Tensor", boxed<&length>},
    {"onnx::number(int x) -> Tensor", boxed<&number>},
    {"onnx::one_hot(Tensor indices, Tensor depth, Tensor values, int axis) -> Tensor", boxed<&one_hot>},
    {"onnx::pad(Tensor x, int[] pads, str mode, Scalar value, int[]? axes) -> Tensor", boxed<&pad>},
    {"onnx::range(Tensor start, Tensor limit, Tensor delta) -> Tensor", boxed<&range>},
    {"onnx::reshape_sizes(Tensor x, int[] sizes, bool allow_zero) -> int[]", boxed<&reshape_sizes>},
    {"onnx::reverse_sequence(Tensor x, Tensor lengths, int batch_axis, int time_axis) -> Tensor",
     boxed<&reverse_sequence>},
    {"onnx::reversed_axes(Tensor x) -> int[]", boxed<&reversed_axes>},
    {"onnx::scalar(Tensor x) -> Scalar", boxed<&scalar>},
    {"onnx::scatter_nd(Tensor x, Tensor index, Tensor updates, str reduction) -> Tensor", boxed<&scatter_nd>},
    {"onnx::shape(Tensor x, int start, int? end) -> Tensor", boxed<&shape>},
    {"onnx::size(Tensor x) -> Tensor", boxed<&size>},
    {"onnx::slice(Tensor x, int[] starts, int[] ends, int[]? axes, int[]? steps) -> Tensor", boxed<&slice>},
    {"onnx::space_to_depth(Tensor x, int block) -> Tensor", boxed<&space_to_depth>},
    {"onnx::spatial_axes(Tensor x) -> int[]", boxed<&spatial_axes>},
    {"onnx::split_sizes(Tensor x, int axis, int parts) -> int[]", boxed<&split_sizes>},
    {"onnx::split_to_sequence(Tensor x, Tensor? sizes, int axis, bool keep) -> Tensor[]", boxed<&split_to_sequence>},
    {"onnx::stack(Tensor[] list, int axis, bool joined, ScalarType dtype) -> Tensor", boxed<&stack>},
    {"onnx::tensor_scatter(Tensor past, Tensor update, Tensor? starts, int axis, bool circular) -> Tensor",
     boxed<&tensor_scatter>},
    {"onnx::true() -> Tensor", push_true},
    {"onnx::truth(Tensor x) -> bool", boxed<&truth>},
    {"onnx::unsqueeze_sizes(Tensor x, int[] axes) -> int[]", boxed<&unsqueeze_sizes>},
    {"onnx::wrapped_index(Tensor index, Tensor x, int axis) -> Tensor", boxed<&wrapped_index>},
};

}  // namespace

int64_t product(c10::IntArrayRef sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes) {
    TORCH_CHECK_VALUE(!__builtin_mul_overflow(all, size, &all), "sizes ", sizes, " have too many elements");
  }
  return all;
}
int64_t axis_of(const Tensor& x, int64_t axis) {
  TORCH_CHECK_INDEX(axis >= -x.dim() && axis < x.dim(), "axis ", axis, " of sizes ", x.sizes());
  return axis < 0 ? axis + x.dim() : axis;
}

c10::ArrayRef<OwnCallable> shape_callables() {
  return kCallables;
}

}  // namespace torch::onnx
