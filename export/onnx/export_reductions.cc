// Reductions, order, products of matrices.
#include <algorithm>
#include <cmath>

#include "aten/core/tensor.h"
#include "export/onnx/exporter.h"

namespace torch::onnx {
namespace {

using c10::ScalarType;

// The dimensions of an argument, from 0 on; nothing: all.
std::vector<int64_t> dims_of(const Call& c, size_t i) {
  const int64_t dims = c.dims(0);
  if (c.size() <= i || c.is_none(i)) return {};
  std::vector<int64_t> all = c.known(i).isInt() ? std::vector<int64_t>{c.known(i).toInt()} : c.is(i);
  for (int64_t& d : all) d += d < 0 ? dims : 0;
  return all;
}
bool keeps(const Call& c, size_t i) {
  return i < c.size() && c.b(i);
}
// Over these dimensions, or all where there are none. A number stays what it is.
Name reduced(const Call& c, const char* op, const Name& x, const std::vector<int64_t>& dims, bool keep) {
  if (c.dims(0) == 0) return c.op("Identity", {x});
  Names inputs{x};
  if (!dims.empty()) inputs.push_back(c.x.ints(dims));
  return c.op(op, inputs, {{"keepdims", int64_t{keep}}});
}
void whole(const Call& c) {
  c.give(reduced(c, c.target, c.in(0, c.result_dtype()), {}, false));
}
void over_dims(const Call& c) {
  c.give(reduced(c, c.target, c.in(0, c.result_dtype()), dims_of(c, 1), keeps(c, 2)));
}
void truths(const Call& c) {
  const Name x = c.x.cast(c.in(0, ScalarType::Bool), ScalarType::Bool, ScalarType::Int);
  const Name made = reduced(c, c.target, x, dims_of(c, 1), keeps(c, 2));
  c.give(c.x.cast(made, ScalarType::Int, ScalarType::Bool));
}
void with_index(const Call& c) {
  const int64_t dims = c.dims(0);
  const Name x = c.in(0);
  const bool max = std::string_view(c.target) == "Max";
  if (dims == 0) {
    c.give(c.op("Identity", {x}));
    return c.give(c.x.scalar(0, ScalarType::Long), 1);
  }
  const int64_t dim = c.dim(1, dims), keep = c.b(2);
  c.give(c.op(max ? "ReduceMax" : "ReduceMin", {x, c.x.ints({dim})}, {{"keepdims", keep}}));
  c.give(c.op(max ? "ArgMax" : "ArgMin", {x}, {{"axis", dim}, {"keepdims", keep}}), 1);
}
void index_of(const Call& c) {
  const bool all = c.is_none(1);
  supported(c.dims(0) > 0, "it is of a number");
  Name x = c.in(0);
  if (c.dtype(0) == ScalarType::Bool) x = c.x.cast(x, ScalarType::Bool, ScalarType::Int);
  if (!all) {
    return c.give(c.op(c.target, {x}, {{"axis", c.dim(1, c.dims(0))}, {"keepdims", int64_t{keeps(c, 2)}}}));
  }
  supported(!keeps(c, 2), "it keeps all dimensions");
  x = c.op("Reshape", {x, c.x.ints({-1})});
  c.give(c.op(c.target, {x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}));
}
// The mean of the squared deviations, times n/(n - correction).
Name variance(const Call& c, const std::vector<int64_t>& dims, double correction, bool keep, Name* mean_out = nullptr) {
  const ScalarType dtype = c.dtype(0);
  const Name x = c.in(0), mean = reduced(c, "ReduceMean", x, dims, true);
  if (mean_out != nullptr) *mean_out = reduced(c, "ReduceMean", x, dims, keep);
  const Name deviation = c.op("Sub", {x, mean});
  const Name squares = c.op("Mul", {deviation, deviation});
  if (correction == 0) return reduced(c, "ReduceMean", squares, dims, keep);
  int64_t count = 1;
  for (int64_t d = 0; d < c.dims(0); ++d) {
    if (dims.empty() || std::find(dims.begin(), dims.end(), d) != dims.end()) count *= c.fixed(0, d);
  }
  return c.op("Div", {reduced(c, "ReduceSum", squares, dims, keep),
                      c.number(std::max(0.0, static_cast<double>(count) - correction), dtype)});
}
double correction_of(const Call& c, size_t i) {
  return c.is_none(i) ? 1 : c.f(i);
}
void var(const Call& c) {
  const Name v = variance(c, dims_of(c, 1), correction_of(c, 2), c.b(3));
  c.give(std::string_view(c.target) == "std" ? c.op("Sqrt", {v}) : v);
}
void var_mean(const Call& c) {
  Name mean;
  const Name v = variance(c, dims_of(c, 1), correction_of(c, 2), c.b(3), &mean);
  c.give(v);
  c.give(mean, 1);
}
void vector_norm(const Call& c) {
  const double order = c.f(1);
  const std::vector<int64_t> dims = dims_of(c, 2);
  const Name x = c.in(0, c.result_dtype());
  if (order == 2) return c.give(reduced(c, "ReduceL2", x, dims, c.b(3)));
  if (order == 1) return c.give(reduced(c, "ReduceL1", x, dims, c.b(3)));
  supported(std::isinf(order), "its order is ", order);
  c.give(reduced(c, order > 0 ? "ReduceMax" : "ReduceMin", c.op("Abs", {x}), dims, c.b(3)));
}
void cumsum(const Call& c) {
  const Name x = c.in(0, c.result_dtype());
  if (c.dims(0) == 0) return c.give(c.op("Identity", {x}));
  c.give(c.op("CumSum", {x, c.x.scalar(c.dim(1, c.dims(0)), ScalarType::Long)}));
}
void topk(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  const Names made =
      c.x.nodes("TopK", {c.in(0), c.x.number(c.node.operand(1))},
                {{"axis", c.dim(2, c.dims(0))}, {"largest", int64_t{c.b(3)}}, {"sorted", int64_t{1}}}, 2);
  c.give(made[0]);
  c.give(made[1], 1);
}
void sort(const Call& c) {
  supported(c.dims(0) > 0, "it is of a number");
  const bool stable = std::string_view(c.target) == "stable";
  const int64_t dim = c.dim(stable ? 2 : 1, c.dims(0));
  const Name size = c.op("Shape", {c.in(0)}, {{"start", dim}, {"end", dim + 1}});
  const Names made = c.x.nodes("TopK", {c.in(0), size},
                               {{"axis", dim}, {"largest", int64_t{c.b(stable ? 3 : 2)}}, {"sorted", int64_t{1}}}, 2);
  c.give(made[0]);
  c.give(made[1], 1);
}

// --- matrices ---

void matmul(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  c.give(c.op("MatMul", {c.in(0, dtype), c.in(1, dtype)}));
}
Name times(const Call& c, const Name& x, size_t i, ScalarType dtype) {
  const c10::IValue& factor = c.known(i);
  const bool one = factor.isInt() ? factor.toInt() == 1 : factor.isDouble() && factor.toDouble() == 1;
  return one ? x : c.op("Mul", {x, c.x.scalar(factor, dtype)});
}
void addmm(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  if (c10::isFloatingType(dtype) && c.dims(0) <= 2 && c.dims(0) >= 1) {
    return c.give(c.op("Gemm", {c.in(1), c.in(2), c.in(0)}, {{"alpha", c.f(4)}, {"beta", c.f(3)}}));
  }
  const Name product = times(c, c.op("MatMul", {c.in(1), c.in(2)}), 4, dtype);
  c.give(c.op("Add", {times(c, c.in(0), 3, dtype), product}));
}
void baddbmm(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name product = times(c, c.op("MatMul", {c.in(1), c.in(2)}), 4, dtype);
  c.give(c.op("Add", {times(c, c.in(0), 3, dtype), product}));
}
void linear(const Call& c) {
  const int64_t dims = c.dims(0);
  if (dims == 2 && c.dims(1) == 2) {
    return c.give(c.op("Gemm", {c.in(0), c.in(1), c.in_or_none(2)}, {{"transB", int64_t{1}}}));
  }
  supported(c.dims(1) == 2, "its weight has no two dimensions");
  Name y = c.op("MatMul", {c.in(0), c.op("Transpose", {c.in(1)}, {{"perm", std::vector<int64_t>{1, 0}}})});
  if (!c.is_none(2)) y = c.op("Add", {y, c.in(2)});
  c.give(y);
}
void outer(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  const Name column = c.op("Unsqueeze", {c.in(0, dtype), c.x.ints({1})});
  c.give(c.op("Mul", {column, c.op("Unsqueeze", {c.in(1, dtype), c.x.ints({0})})}));
}
void einsum(const Call& c) {
  c.give(c.op("Einsum", c.x.tensors(c.node.operand(1)), {{"equation", c.known(0).toStringRef()}}));
}
void attention(const Call& c) {
  const ScalarType dtype = c.result_dtype();
  supported(c.f(4) == 0, "it drops out");
  supported(c.size() <= 7 || c.is_none(7) || !c.b(7), "its heads are groups");
  const int64_t dims = c.dims(0);
  supported(dims >= 3 && c.dims(1) == dims && c.dims(2) == dims, "its tensors have not as many dimensions");
  const double scale = c.is_none(6) ? 1 / std::sqrt(static_cast<double>(c.fixed(0, dims - 1))) : c.f(6);
  std::vector<int64_t> turned;
  for (int64_t d = 0; d < dims; ++d) turned.push_back(d);
  std::swap(turned[static_cast<size_t>(dims) - 1], turned[static_cast<size_t>(dims) - 2]);
  const Name root = c.number(std::sqrt(scale), dtype);
  const Name q = c.op("Mul", {c.in(0), root}),
             k = c.op("Mul", {c.op("Transpose", {c.in(1)}, {{"perm", turned}}), root});
  Name scores = c.op("MatMul", {q, k});
  const Name least = c.number(-INFINITY, dtype);
  if (c.b(5)) {
    // Rows see columns up to their own.
    const Name ones =
        c.op("ConstantOfShape", {c.op("Concat",
                                      {c.op("Shape", {c.in(0)}, {{"start", dims - 2}, {"end", dims - 1}}),
                                       c.op("Shape", {c.in(1)}, {{"start", dims - 2}, {"end", dims - 1}})},
                                      {{"axis", int64_t{0}}})});
    const Name seen = c.op("Trilu", {c.op("Add", {ones, c.number(1, ScalarType::Float)})}, {{"upper", int64_t{0}}});
    scores = c.op("Where", {c.x.cast(seen, ScalarType::Float, ScalarType::Bool), scores, least});
  }
  if (!c.is_none(3)) {
    const bool truth = c.dtype(3) == ScalarType::Bool;
    scores = truth ? c.op("Where", {c.in(3), scores, least}) : c.op("Add", {scores, c.in(3, dtype)});
  }
  c.give(c.op("MatMul", {c.op("Softmax", {scores}, {{"axis", int64_t{-1}}}), c.in(2)}));
}

constexpr Form kForms[] = {
    {"aten::sum", whole, "ReduceSum"},
    {"aten::mean", whole, "ReduceMean"},
    {"aten::max", whole, "ReduceMax"},
    {"aten::min", whole, "ReduceMin"},
    {"aten::prod", whole, "ReduceProd"},
    {"aten::sum.dim_IntList", over_dims, "ReduceSum"},
    {"aten::mean.dim", over_dims, "ReduceMean"},
    {"aten::amax", over_dims, "ReduceMax"},
    {"aten::amin", over_dims, "ReduceMin"},
    {"aten::prod.dim_int", over_dims, "ReduceProd"},
    {"aten::logsumexp", over_dims, "ReduceLogSumExp"},
    {"aten::any", truths, "ReduceMax"},
    {"aten::any.dim", truths, "ReduceMax"},
    {"aten::any.dims", truths, "ReduceMax"},
    {"aten::all", truths, "ReduceMin"},
    {"aten::all.dim", truths, "ReduceMin"},
    {"aten::all.dims", truths, "ReduceMin"},
    {"aten::max.dim", with_index, "Max"},
    {"aten::min.dim", with_index, "Min"},
    {"aten::argmax", index_of, "ArgMax"},
    {"aten::argmin", index_of, "ArgMin"},
    {"aten::var.correction", var},
    {"aten::std.correction", var, "std"},
    {"aten::var_mean.correction", var_mean},
    {"aten::linalg_vector_norm", vector_norm},
    {"aten::cumsum", cumsum},
    {"aten::topk", topk},
    {"aten::sort", sort},
    {"aten::sort.stable", sort, "stable"},
    {"aten::mm", matmul},
    {"aten::bmm", matmul},
    {"aten::matmul", matmul},
    {"aten::mv", matmul},
    {"aten::dot", matmul},
    {"aten::addmm", addmm},
    {"aten::baddbmm", baddbmm},
    {"aten::linear", linear},
    {"aten::outer", outer},
    {"aten::einsum", einsum},
    {"aten::scaled_dot_product_attention", attention},
};

}  // namespace

c10::ArrayRef<Form> reduction_forms() {
  return kForms;
}

}  // namespace torch::onnx
