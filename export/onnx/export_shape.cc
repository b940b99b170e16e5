// Sizes, views, parts, indices, tensors from nothing.
#include <algorithm>
#include <numeric>

#include "aten/core/tensor.h"
#include "export/onnx/exporter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;
using graph::IntExpr;
using graph::Operand;

constexpr int64_t kEnd = INT64_MAX;

std::vector<Operand> sizes_of(const graph::TensorInfo& info) {
  return {info.sizes.begin(), info.sizes.end()};
}

void reshape(const Call& c) {
  c.give(c.op("Reshape", {c.in(0), c.x.numbers(c.node.operand(1))}, {{"allowzero", int64_t{0}}}));
}
// By the result's own sizes.
Name as_result(const Call& c, const Name& x, size_t i = 0) {
  return c.op("Reshape", {x, c.x.numbers(sizes_of(c.result_info(i)))});
}
void to_result_sizes(const Call& c) {
  c.give(as_result(c, c.in(0)));
}
void unsqueeze(const Call& c) {
  c.give(c.op("Unsqueeze", {c.in(0), c.x.ints({c.dim(1, c.dims(0) + 1)})}));
}
void permuted(const Call& c, const std::vector<int64_t>& dims) {
  c.give(c.op("Transpose", {c.in(0)}, {{"perm", dims}}));
}
std::vector<int64_t> in_order(int64_t count) {
  std::vector<int64_t> dims(static_cast<size_t>(count));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}
void permute(const Call& c) {
  std::vector<int64_t> dims = c.is(1);
  for (int64_t& d : dims) d += d < 0 ? c.dims(0) : 0;
  permuted(c, dims);
}
void transpose(const Call& c) {
  std::vector<int64_t> dims = in_order(c.dims(0));
  if (dims.empty()) return c.give(c.op("Identity", {c.in(0)}));
  std::swap(dims[static_cast<size_t>(c.dim(1, c.dims(0)))], dims[static_cast<size_t>(c.dim(2, c.dims(0)))]);
  permuted(c, dims);
}
void t(const Call& c) {
  std::vector<int64_t> dims = in_order(c.dims(0));
  std::reverse(dims.begin(), dims.end());
  permuted(c, dims);
}
void expand(const Call& c) {
  // -1 keeps a size, which 1 does here.
  std::vector<Operand> sizes;
  const Operand& given = c.node.operand(1);
  const auto add = [&](const Operand& o) {
    const bool kept = o.is_constant() && o.constant().isInt() && o.constant().toInt() == -1;
    sizes.push_back(kept ? Operand(c10::IValue(1)) : o);
  };
  if (given.is_list()) {
    for (const Operand& o : given.list()) add(o);
  } else {
    for (const c10::IValue& v : c.known(1).toListRef()) add(Operand(v));
  }
  c.give(c.op("Expand", {c.in(0), c.x.numbers(sizes)}));
}
void repeat(const Call& c) {
  const Operand& given = c.node.operand(1);
  const auto count = static_cast<int64_t>(given.is_list() ? given.list().size() : c.known(1).toListRef().size());
  Name x = c.in(0);
  if (count > c.dims(0)) x = c.op("Unsqueeze", {x, c.x.ints(in_order(count - c.dims(0)))});
  c.give(count == 0 ? c.op("Identity", {x}) : c.op("Tile", {x, c.x.numbers(given)}));
}
void cat(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  Names parts;
  const Operand& list = c.node.operand(0);
  const Names all = c.x.tensors(list);
  for (size_t i = 0; i < all.size(); ++i) {
    ScalarType own = dtype;
    if (list.is_list() && list.list()[i].is_value() && list.list()[i].value()->info() != nullptr) {
      own = list.list()[i].value()->info()->dtype;
      // Tensors of one dimension without elements count for nothing.
      const auto& sizes = list.list()[i].value()->info()->sizes;
      if (sizes.size() == 1 && sizes[0] == IntExpr(0) && c.result_info().sizes.size() > 1) continue;
    }
    parts.push_back(c.x.cast(all[i], own, dtype));
  }
  const auto dims = static_cast<int64_t>(c.result_info().sizes.size());
  c.give(c.op("Concat", parts, {{"axis", c.dim(1, dims)}}));
}
void stack(const Call& c) {
  const auto dims = static_cast<int64_t>(c.result_info().sizes.size());
  const int64_t dim = c.dim(1, dims);
  Names parts;
  for (const Name& part : c.x.tensors(c.node.operand(0))) parts.push_back(c.op("Unsqueeze", {part, c.x.ints({dim})}));
  c.give(c.op("Concat", parts, {{"axis", dim}}));
}

// How many parts a list has: those that it is taken apart into.
size_t parts_of(const Call& c) {
  for (const graph::Use& use : c.node.result()->uses()) {
    if (use.node->kind() == graph::Node::Kind::kUnpack) return use.node->result_count();
  }
  supported(false, "how many parts it gives is not known");
  return 0;
}
Name sliced(const Call& c, const Name& x, int64_t dim, const Name& start, const Name& end) {
  return c.op("Slice", {x, start, end, c.x.ints({dim})});
}
void split(const Call& c) {
  const int64_t dim = c.dim(2, c.dims(0));
  const size_t count = parts_of(c);
  Names parts;
  if (c.node.operand(1).is_constant() && c.node.operand(1).constant().isInt()) {
    const int64_t each = c.i(1);
    for (size_t k = 0; k < count; ++k) {
      const int64_t start = static_cast<int64_t>(k) * each;
      parts.push_back(sliced(c, c.in(0), dim, c.x.ints({start}), c.x.ints({k + 1 == count ? kEnd : start + each})));
    }
    return c.x.define_list(c.node.result(), parts);
  }
  supported(c.node.operand(1).is_constant() || c.node.operand(1).is_list(), "its sizes are not known");
  c.x.define_list(c.node.result(),
                  c.x.nodes("Split", {c.in(0), c.x.numbers(c.node.operand(1))}, {{"axis", dim}}, count));
}
void chunk(const Call& c) {
  const int64_t dim = c.dim(2, c.dims(0)), size = c.fixed(0, dim),
                each = (size + c.i(1) - 1) / std::max<int64_t>(c.i(1), 1);
  Names parts;
  for (size_t k = 0; k < parts_of(c); ++k) {
    const int64_t start = static_cast<int64_t>(k) * each;
    parts.push_back(sliced(c, c.in(0), dim, c.x.ints({start}), c.x.ints({start + each})));
  }
  c.x.define_list(c.node.result(), parts);
}
void unbind(const Call& c) {
  const int64_t dim = c.dim(1, c.dims(0));
  Names parts;
  for (size_t k = 0; k < parts_of(c); ++k) {
    parts.push_back(c.op("Gather", {c.in(0), c.x.scalar(static_cast<int64_t>(k), ScalarType::Long)}, {{"axis", dim}}));
  }
  c.x.define_list(c.node.result(), parts);
}
void slice(const Call& c) {
  const int64_t dim = c.dim(1, c.dims(0));
  const Name start = c.is_none(2) ? c.x.ints({0}) : c.x.number(c.node.operand(2));
  const Name end = c.is_none(3) ? c.x.ints({kEnd}) : c.x.number(c.node.operand(3));
  c.give(c.op("Slice", {c.in(0), start, end, c.x.ints({dim}), c.x.number(c.node.operand(4))}));
}
void narrow(const Call& c) {
  const int64_t dim = c.dim(1, c.dims(0));
  const Name start = c.x.number(c.node.operand(2)), length = c.x.number(c.node.operand(3));
  c.give(sliced(c, c.in(0), dim, start, c.op("Add", {start, length})));
}
Name one_index(const Call& c, size_t i) {
  return c.op("Squeeze", {c.x.number(c.node.operand(i)), c.x.ints({0})});
}
void select(const Call& c) {
  c.give(c.op("Gather", {c.in(0), one_index(c, 2)}, {{"axis", c.dim(1, c.dims(0))}}));
}
void flip(const Call& c) {
  const std::vector<int64_t> dims = c.is(1);
  if (dims.empty()) return c.give(c.op("Identity", {c.in(0)}));
  const size_t n = dims.size();
  c.give(
      c.op("Slice", {c.in(0), c.x.ints(std::vector<int64_t>(n, -1)), c.x.ints(std::vector<int64_t>(n, INT64_MIN + 1)),
                     c.x.ints(dims), c.x.ints(std::vector<int64_t>(n, -1))}));
}
void trilu(const Call& c) {
  Name x = c.in(0);
  const bool truth = c.dtype(0) == ScalarType::Bool;
  if (truth) x = c.x.cast(x, ScalarType::Bool, ScalarType::Float);
  x = c.op("Trilu", {x, c.x.scalar(c.i(1), ScalarType::Long)},
           {{"upper", int64_t{std::string_view(c.target) == "upper"}}});
  c.give(truth ? c.x.cast(x, ScalarType::Float, ScalarType::Bool) : x);
}
// --- indices ---

void gather(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  c.give(c.op("GatherElements", {c.in(0), c.in(2)}, {{"axis", c.dim(1, c.dims(0))}}));
}
void scatter(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  const ScalarType dtype = c.result_dtype();
  Name source = c.in(3, dtype);
  // A value for all, or as much of the source as there are indices.
  const std::string_view form = c.target;
  if (form == "value") {
    source = c.op("Expand", {source, c.op("Shape", {c.in(2)})});
  } else {
    const auto &index = c.info(2).sizes, &given = c.info(3).sizes;
    supported(index == given, "its source has other sizes than its indices");
  }
  Attributes attributes{{"axis", c.dim(1, c.dims(0))}};
  if (form == "add") attributes.push_back({"reduction", std::string("add")});
  c.give(c.op("ScatterElements", {c.in(0, dtype), c.in(2), source}, attributes));
}
void scatter_reduce(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  supported(c.b(5), "it leaves out what it scatters into");
  supported(c.info(2).sizes == c.info(3).sizes, "its source has other sizes than its indices");
  const std::string kind = c.known(4).toStringRef();
  const char* const reduction = kind == "sum"    ? "add"
                                : kind == "prod" ? "mul"
                                : kind == "amax" ? "max"
                                : kind == "amin" ? "min"
                                                 : nullptr;
  supported(reduction != nullptr, "it gives the ", kind);
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("ScatterElements", {c.in(0, dtype), c.in(2), c.in(3, dtype)},
              {{"axis", c.dim(1, c.dims(0))}, {"reduction", std::string(reduction)}}));
}
void one_hot(const Call& c) {
  const int64_t classes = c.i(1);
  supported(classes > 0, "its classes are counted when it runs");
  c.give(c.op("OneHot", {c.in(0), c.x.ints({classes}), c.x.ints({0, 1})}));
}
void index_select(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  c.give(c.op("Gather", {c.in(0), c.in(2)}, {{"axis", c.dim(1, c.dims(0))}}));
}
void embedding(const Call& c) {
  c.give(c.op("Gather", {c.in(0), c.in(1)}));
}
// The index tensors of x[i, :, j]; none for a whole dimension.
std::vector<std::optional<Operand>> indices_of(const Call& c) {
  std::vector<std::optional<Operand>> all;
  const Operand& given = c.node.operand(1);
  const auto add = [&](const Operand& o) {
    const bool none = o.is_constant() && o.constant().isNone();
    all.push_back(none ? std::nullopt : std::optional<Operand>(o));
  };
  if (given.is_list()) {
    for (const Operand& o : given.list()) add(o);
  } else {
    for (const c10::IValue& v : c.known(1).toListRef()) add(Operand(v));
  }
  return all;
}
ScalarType dtype_of_operand(const Operand& o) {
  if (o.is_constant()) return o.constant().toTensor().scalar_type();
  supported(o.is_value() && o.value()->info() != nullptr, "nothing is known of an index");
  return o.value()->info()->dtype;
}
void index(const Call& c) {
  const auto indices = indices_of(c);
  const int64_t dims = c.dims(0);
  std::vector<int64_t> indexed, others;
  for (int64_t d = 0; d < dims; ++d) {
    const auto k = static_cast<size_t>(d);
    (k < indices.size() && indices[k].has_value() ? indexed : others).push_back(d);
  }
  for (const auto& one : indices) {
    supported(!one.has_value() || dtype_of_operand(*one) != ScalarType::Bool, "an index is a mask");
  }
  supported(!indexed.empty(), "it has no index");
  const auto at = [&](int64_t d) { return c.x.tensor(*indices[static_cast<size_t>(d)]); };
  const auto long_at = [&](int64_t d) {
    return c.x.cast(at(d), dtype_of_operand(*indices[static_cast<size_t>(d)]), ScalarType::Long);
  };
  if (indexed.size() == 1) return c.give(c.op("Gather", {c.in(0), long_at(indexed[0])}, {{"axis", indexed[0]}}));
  // Indexed dimensions first; the indices, of one size, side by side.
  const auto rank = static_cast<int64_t>(c.result_info().sizes.size()) - static_cast<int64_t>(others.size());
  Name shape;
  for (const int64_t d : indexed) {
    const Name own = long_at(d);
    const Name zero = c.op("Mul", {own, c.x.scalar(0, ScalarType::Long)});
    shape = shape.empty() ? zero : c.op("Add", {shape, zero});
  }
  Names columns;
  for (const int64_t d : indexed) {
    columns.push_back(c.op("Unsqueeze", {c.op("Add", {long_at(d), shape}), c.x.ints({rank})}));
  }
  std::vector<int64_t> order = indexed;
  order.insert(order.end(), others.begin(), others.end());
  const Name turned = c.op("Transpose", {c.in(0)}, {{"perm", order}});
  Name made = c.op("GatherND", {turned, c.op("Concat", columns, {{"axis", int64_t{-1}}})});
  // Indices that stand together stay where they were.
  const bool together = indexed.back() - indexed.front() + 1 == static_cast<int64_t>(indexed.size());
  if (together && indexed.front() > 0) {
    std::vector<int64_t> back;
    const int64_t before = indexed.front(), all = rank + static_cast<int64_t>(others.size());
    for (int64_t k = 0; k < before; ++k) back.push_back(rank + k);
    for (int64_t k = 0; k < rank; ++k) back.push_back(k);
    for (int64_t k = rank + before; k < all; ++k) back.push_back(k);
    made = c.op("Transpose", {made}, {{"perm", back}});
  }
  c.give(made);
}
void slice_scatter(const Call& c) {
  const int64_t dim = c.dim(2, c.dims(0));
  const Name all =
      c.op("Range", {c.x.scalar(0, ScalarType::Long),
                     c.op("Squeeze", {c.op("Shape", {c.in(0)}, {{"start", dim}, {"end", dim + 1}}), c.x.ints({0})}),
                     c.x.scalar(1, ScalarType::Long)});
  const Name start = c.is_none(3) ? c.x.ints({0}) : c.x.number(c.node.operand(3));
  const Name end = c.is_none(4) ? c.x.ints({kEnd}) : c.x.number(c.node.operand(4));
  Name places = c.op("Slice", {all, start, end, c.x.ints({0}), c.x.number(c.node.operand(5))});
  // Along that dimension alone, for every element of the source.
  std::vector<int64_t> shape(static_cast<size_t>(c.dims(0)), 1);
  shape[static_cast<size_t>(dim)] = -1;
  places = c.op("Expand", {c.op("Reshape", {places, c.x.ints(shape)}), c.op("Shape", {c.in(1)})});
  c.give(c.op("ScatterElements", {c.in(0), places, c.in(1, c.result_dtype())}, {{"axis", dim}}));
}
void select_scatter(const Call& c) {
  const int64_t dim = c.dim(2, c.dims(0));
  const Name source = c.op("Unsqueeze", {c.in(1, c.result_dtype()), c.x.ints({dim})});
  const Name places = c.op("Expand", {one_index(c, 3), c.op("Shape", {source})});
  c.give(c.op("ScatterElements", {c.in(0), places, source}, {{"axis", dim}}));
}
void nonzero(const Call& c) {
  c.give(c.op("Transpose", {c.op("NonZero", {c.in(0)})}, {{"perm", std::vector<int64_t>{1, 0}}}));
}

// --- from nothing ---

// `value` in the result's sizes.
void filled(const Call& c, const c10::IValue& value) {
  const graph::TensorInfo& info = c.result_info();
  const Name one = c.x.scalar(value, info.dtype);
  c.give(info.sizes.empty() ? c.op("Identity", {one}) : c.op("Expand", {one, c.x.numbers(sizes_of(info))}));
}
void zeros(const Call& c) {
  filled(c, 0);
}
void ones(const Call& c) {
  filled(c, 1);
}
void full(const Call& c) {
  const bool number = c.node.operand(1).is_constant();
  if (number) return filled(c, c.known(1));
  const graph::TensorInfo& info = c.result_info();
  const Name one = c.op("Squeeze", {c.x.number(c.node.operand(1)), c.x.ints({0})});
  c.give(c.op("Expand", {c.x.cast(one, ScalarType::Long, info.dtype), c.x.numbers(sizes_of(info))}));
}
void new_full(const Call& c) {
  filled(c, c.known(2));
}
void fill(const Call& c) {
  filled(c, c.known(1));
}
void scalar_tensor(const Call& c) {
  if (c.node.operand(0).is_constant()) return c.give(c.op("Identity", {c.x.scalar(c.known(0), c.result_dtype())}));
  const Name one = c.op("Squeeze", {c.x.number(c.node.operand(0)), c.x.ints({0})});
  c.give(c.x.cast(one, ScalarType::Long, c.result_dtype()));
}
void arange(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const std::string_view form = c.target;
  const auto at = [&](size_t i) -> Name {
    if (c.node.operand(i).is_constant()) return c.x.scalar(c.known(i), dtype);
    return c.x.cast(c.op("Squeeze", {c.x.number(c.node.operand(i)), c.x.ints({0})}), ScalarType::Long, dtype);
  };
  const Name start = form == "end" ? c.x.scalar(0, dtype) : at(0), end = form == "end" ? at(0) : at(1);
  c.give(c.op("Range", {start, end, form == "step" ? at(2) : c.x.scalar(1, dtype)}));
}
void copy(const Call& c) {
  c.give(c.op("Expand", {c.in(1, c.result_dtype()), c.op("Shape", {c.in(0)})}));
}

// --- numbers ---

void size_of(const Call& c) {
  const int64_t dim = c.dim(1, c.dims(0));
  c.give(c.op("Shape", {c.in(0)}, {{"start", dim}, {"end", dim + 1}}));
}
void item(const Call& c) {
  supported(c10::isIntegralType(c.dtype(0), true), "it reads a number that is not whole");
  c.give(c.op("Reshape", {c.in(0, ScalarType::Long), c.x.ints({1})}));
}
void arithmetic(const Call& c) {
  const Name a = c.x.number(c.node.operand(0)), b = c.x.number(c.node.operand(1));
  const std::string_view name = c.target;
  if (name != "FloorDiv") return c.give(c.op(c.target, {a, b}));
  c.give(c.op("Div", {c.op("Sub", {a, c.op("Mod", {a, b})}), b}));
}

constexpr Form kForms[] = {
    {"aten::view", reshape},
    {"aten::reshape", reshape},
    {"aten::_unsafe_view", reshape},
    {"aten::flatten.using_ints", to_result_sizes},
    {"aten::unflatten.int", to_result_sizes},
    {"aten::squeeze", to_result_sizes},
    {"aten::squeeze.dim", to_result_sizes},
    {"aten::squeeze.dims", to_result_sizes},
    {"aten::view_as", to_result_sizes},
    {"aten::reshape_as", to_result_sizes},
    {"aten::unsqueeze", unsqueeze},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::t", t},
    {"aten::expand", expand},
    {"aten::repeat", repeat},
    {"aten::cat", cat},
    {"aten::stack", stack},
    {"aten::split.Tensor", split},
    {"aten::split_with_sizes", split},
    {"aten::chunk", chunk},
    {"aten::unbind.int", unbind},
    {"aten::slice.Tensor", slice},
    {"aten::narrow", narrow},
    {"aten::select.int", select},
    {"aten::flip", flip},
    {"aten::tril", trilu, "lower"},
    {"aten::triu", trilu, "upper"},
    {"aten::gather", gather},
    {"aten::scatter.src", scatter, "source"},
    {"aten::scatter.value", scatter, "value"},
    {"aten::scatter_add", scatter, "add"},
    {"aten::scatter_reduce.two", scatter_reduce},
    {"aten::one_hot", one_hot},
    {"aten::index_select", index_select},
    {"aten::embedding", embedding},
    {"aten::index.Tensor", index},
    {"aten::slice_scatter", slice_scatter},
    {"aten::select_scatter", select_scatter},
    {"aten::nonzero", nonzero},
    {"aten::zeros", zeros},
    {"aten::zeros_like", zeros},
    {"aten::new_zeros", zeros},
    {"aten::ones", ones},
    {"aten::ones_like", ones},
    {"aten::new_ones", ones},
    {"aten::empty.memory_format", zeros},
    {"aten::empty_like", zeros},
    {"aten::full", full},
    {"aten::full_like", full},
    {"aten::new_full", new_full},
    {"aten::fill.Scalar", fill},
    {"aten::scalar_tensor", scalar_tensor},
    {"aten::arange", arange, "end"},
    {"aten::arange.start", arange, "start"},
    {"aten::arange.start_step", arange, "step"},
    {"aten::copy", copy},
    {"aten::sym_size.int", size_of},
    {"aten::item", item},
    {"aten::_local_scalar_dense", item},
    {"_operator::add", arithmetic, "Add"},
    {"_operator::sub", arithmetic, "Sub"},
    {"_operator::mul", arithmetic, "Mul"},
    {"_operator::mod", arithmetic, "Mod"},
    {"_operator::floordiv", arithmetic, "FloorDiv"},
    {"_operator::eq", arithmetic, "Equal"},
    {"_operator::lt", arithmetic, "Less"},
    {"_operator::le", arithmetic, "LessOrEqual"},
    {"_operator::gt", arithmetic, "Greater"},
    {"_operator::ge", arithmetic, "GreaterOrEqual"},
    {"torch::sym_max", arithmetic, "Max"},
    {"torch::sym_min", arithmetic, "Min"},
};

}  // namespace

c10::ArrayRef<Form> shape_forms() {
  return kForms;
}

}  // namespace torch::onnx
