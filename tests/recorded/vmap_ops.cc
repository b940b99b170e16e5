// Operators under vmap: batched arguments, and the stack of what each sample gives.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "func/vmap.h"
#include "tests/recorded/families.h"
#include "tests/recorded/python_interpreter.h"

namespace recorded {
namespace {

using at::Tensor;

// The recorded tensors of nested values in order, each with its dimension in `dims`, which has the same form.
void collect(const Json& value, const Json& dims, Check& check, std::vector<Tensor>& tensors,
             std::vector<torch::func::Dims>& places) {
  if (conformance::is_tensor(value)) {
    tensors.push_back(check.recordings().tensor(value));
    if (dims.is_null()) {
      places.emplace_back(std::nullopt);
    } else {
      places.emplace_back(dims.get<int64_t>());
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      collect(value[i], dims.is_null() ? dims : dims.at(i), check, tensors, places);
  }
}

// The values with the interpreter's tensors in the place of recorded ones.
Json with_tensors(const Json& value, PythonInterpreter& python, const std::vector<Tensor>& tensors, size_t& next) {
  if (conformance::is_tensor(value)) return python.value(tensors.at(next++));
  if (!value.is_array()) return value;
  Json all = Json::array();
  for (const Json& element : value) all.push_back(with_tensors(element, python, tensors, next));
  return all;
}

void results_of(const Json& value, const PythonInterpreter& python, std::vector<Tensor>& results) {
  if (value.is_object() && value.contains("tensor")) {
    results.push_back(python.tensor(value));
  } else if (value.is_array()) {
    for (const Json& element : value) results_of(element, python, results);
  }
}

// torch.masked: functions of what a mask leaves, by the functions of all elements that something neutral stands in for.
Json call_masked(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  const Tensor x = python.tensor(a.positional.at(0));
  const auto where = [&](const Tensor& t, const char* mask, const c10::Scalar& otherwise) {
    return a.given(mask) ? at::where(python.tensor(a.named.at(mask)), t, otherwise) : t;
  };
  const auto masked = [&](const c10::Scalar& otherwise) { return where(x, "mask", otherwise); };
  const double infinity = std::numeric_limits<double>::infinity();
  // By its place behind the tensor, or by name.
  const bool norm = name == "norm";
  const Json dim = a.given("dim")                                                  ? a.named.at("dim")
                   : a.positional.size() > (norm ? 2u : 1u) && name != "logaddexp" ? a.positional.at(norm ? 2 : 1)
                                                                                   : Json();
  std::vector<int64_t> dims;
  if (dim.is_null()) {
    for (int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  } else {
    dims = integers(dim);
  }
  const bool keepdim = a.given("keepdim") && a.named.at("keepdim").get<bool>();
  const auto over_all = [&](auto reduce) {
    // One dimension after the other, from the last on.
    Tensor result = masked(name == "prod" ? 1 : 0);
    std::vector<int64_t> order;
    for (const int64_t d : dims) order.push_back(d < 0 ? d + x.dim() : d);
    std::sort(order.rbegin(), order.rend());
    for (const int64_t d : order) result = reduce(result, d);
    return result;
  };
  const auto count = [&] {
    return at::sum(a.given("mask") ? at::mul(at::ones_like(x), python.tensor(a.named.at("mask"))) : at::ones_like(x),
                   dims, true);
  };
  const auto mean = [&] { return at::div(at::sum(masked(0), dims, true), count()); };
  const auto shaped = [&](const Tensor& t) { return keepdim ? t : at::squeeze(t, dims); };
  const auto variance = [&] {
    const Tensor from_mean = at::sub(x, mean());
    const bool unbiased = !a.given("unbiased") || a.named.at("unbiased").get<bool>();
    return at::div(at::sum(where(at::mul(from_mean, from_mean), "mask", 0), dims, true),
                   unbiased ? at::clamp_min(at::sub(count(), 1), 0) : count());
  };
  const auto one_dim = [&] { return dim.is_null() ? std::nullopt : std::optional<int64_t>(dims.at(0)); };
  Tensor result;
  if (name == "sum") result = at::sum(masked(0), dims, keepdim);
  if (name == "prod") result = over_all([&](const Tensor& t, int64_t d) { return at::prod(t, d, keepdim); });
  if (name == "amax") result = at::amax(masked(-infinity), dims, keepdim);
  if (name == "amin") result = at::amin(masked(infinity), dims, keepdim);
  if (name == "argmax") result = at::argmax(masked(-infinity), one_dim(), keepdim);
  if (name == "argmin") result = at::argmin(masked(infinity), one_dim(), keepdim);
  if (name == "mean") result = shaped(mean());
  if (name == "median") result = std::get<0>(at::nanmedian(masked(std::nan("")), dims.at(0), keepdim));
  if (name == "norm")
    result = at::linalg_vector_norm(masked(0), conformance::number(a.positional.at(1)), dims, keepdim);
  if (name == "var") result = shaped(variance());
  if (name == "std") result = shaped(at::sqrt(variance()));
  if (name == "cumsum") result = at::cumsum(masked(0), dims.at(0));
  if (name == "cumprod") result = at::cumprod(masked(1), dims.at(0));
  if (name == "softmax") result = at::softmax(masked(-infinity), dims.at(0));
  if (name == "log_softmax") result = at::log_softmax(masked(-infinity), dims.at(0));
  if (name == "softmin") result = at::softmax(at::neg(masked(infinity)), dims.at(0));
  if (name == "logsumexp") result = at::logsumexp(masked(-infinity), dims, keepdim);
  if (name == "logaddexp") {
    result = at::logaddexp(where(x, "input_mask", -infinity),
                           where(python.tensor(a.positional.at(1)), "other_mask", -infinity));
  }
  if (!result.defined()) throw NotExpressible("no masked." + name + " here");
  if (name.rfind("arg", 0) == 0) result = at::to(result, x.scalar_type());
  return python.value(result);
}

// x[i, j], whose indices are numbers, lists of them and tensors.
Json call_getitem(PythonInterpreter& python, const PythonArguments& a) {
  std::vector<at::indexing::TensorIndex> indices;
  const Json& given = a.positional.at(1);
  for (const Json& index : given.is_array() ? given : Json::array({given})) {
    if (index.is_number_integer()) {
      indices.emplace_back(index.get<int64_t>());
    } else if (index.is_array()) {
      indices.emplace_back(at::tensor(integers(index)));
    } else if (index.is_object() && index.contains("tensor")) {
      indices.emplace_back(python.tensor(index));
    } else {
      throw NotExpressible("an index of another kind");
    }
  }
  return python.value(python.tensor(a.positional.at(0)).index(indices));
}

// Calls that are no operator of their own, by the names that PyTorch's tables of samples have. A part behind the name
// is one of several sets of samples.
Json call_sample(PythonInterpreter& python, const std::string& name, PythonArguments a) {
  static const std::map<std::string, std::string> reflected = {
      {"__radd__", "add"},       {"__rdiv__", "div"},       {"__rmul__", "mul"},
      {"__rsub__", "sub"},       {"__ror__", "bitwise_or"}, {"__rxor__", "bitwise_xor"},
      {"__rmatmul__", "matmul"}, {"__rmod__", "remainder"}, {"__rpow__", "pow"}};
  static const std::map<std::string, at::ScalarType> conversions = {
      {"bfloat16", at::kBFloat16},   {"bool", at::kBool},
      {"byte", at::kByte},           {"char", at::kChar},
      {"double", at::kDouble},       {"float", at::kFloat},
      {"half", at::kHalf},           {"int", at::kInt},
      {"long", at::kLong},           {"short", at::kShort},
      {"cfloat", at::kComplexFloat}, {"cdouble", at::kComplexDouble}};
  const auto starts = [&](const char* with) { return name.rfind(with, 0) == 0; };
  const auto first = [&] { return python.tensor(a.positional.at(0)); };
  if (starts("masked.")) return call_masked(python, name.substr(7), a);
  if (name == "__getitem__") return call_getitem(python, a);
  if (const auto found = reflected.find(name); found != reflected.end()) {
    return call_operator(python, found->second, {{a.positional.at(1), a.positional.at(0)}, {}});
  }
  if (const auto found = conversions.find(name); found != conversions.end()) {
    return python.value(at::to(first(), found->second));
  }
  if (starts("polygamma.")) return call_operator(python, "polygamma", {{a.positional[1], a.positional[0]}, {}});
  if (starts("special.polygamma.")) {
    return call_operator(python, "special_polygamma", {{a.positional[1], a.positional[0]}, {}});
  }
  if (name == "linalg.pinv.singular") {
    return python.value(at::linalg_pinv(at::matmul(first(), at::mT(python.tensor(a.positional.at(1))))));
  }
  if (name == "einsum") {
    if (a.positional.at(1).is_string()) std::swap(a.positional[0], a.positional[1]);
    return call_operator(python, name, a);
  }
  if (name == "max_pool2d_with_indices_backward") {
    // The gradient for ones.
    a.named.erase("return_indices");
    const Json results = call_operator(python, "max_pool2d_with_indices", a);
    a.positional.insert(a.positional.begin(), python.value(at::ones_like(python.tensor(results.at(0)))));
    a.named["indices"] = results.at(1);
    return call_operator(python, name, a);
  }
  if (name == "nn.functional.softsign") return python.value(at::div(first(), at::add(at::abs(first()), 1)));
  if (name == "nn.functional.tanhshrink") return python.value(at::sub(first(), at::tanh(first())));
  if (name == "nn.functional.soft_margin_loss" || name == "nn.functional.hinge_embedding_loss") {
    if (const auto found = a.named.find("reduction"); found != a.named.end()) {
      found->second = found->second == "none" ? 0 : found->second == "mean" ? 1 : 2;
    }
    return call_operator(python, name.substr(14), a);
  }
  if (name == "zero_") {
    Tensor self = first();
    return python.value(at::zero_(self));
  }
  if (name == "cdist") {
    const double p = conformance::number(a.positional.at(2));
    return python.value(at::cdist(first(), python.tensor(a.positional.at(1)), p));
  }
  if (name == "where") std::swap(a.positional.at(0), a.positional.at(1));
  if (name == "norm.fro" && a.positional.size() > 2) {
    return python.value(at::frobenius_norm(first(), integers(a.positional.at(2))));
  }
  if (name == "sum_to_size") {
    Json sizes = Json(std::vector<Json>(a.positional.begin() + 1, a.positional.end()));
    if (a.positional.at(1).is_array()) sizes = a.positional.at(1);
    return call_operator(python, name, {{a.positional.at(0), sizes}, {}});
  }
  if (name == "lu") {
    const auto [factors, pivots] = at::linalg_lu_factor(first());
    return Json::array({python.value(factors), python.value(pivots)});
  }
  if (name == "meshgrid.variadic_tensors") return call_operator(python, "meshgrid", {{Json(a.positional)}, a.named});
  if (name == "torch.ops.aten._safe_softmax.default") return call_operator(python, "_safe_softmax", a);
  if (starts("nn.functional.")) {
    std::string function = name.substr(14);
    function = function.substr(0, function.find('.'));
    if (function == "embedding_bag") std::swap(a.positional.at(0), a.positional.at(1));
    if (function == "upsample_nearest" || function == "upsample_bilinear") {
      a.named["mode"] = function.substr(9);
      if (function == "upsample_bilinear") a.named["align_corners"] = true;
      function = "interpolate";
    }
    return call_functional(python, function, a);
  }
  return call_torch(
      python, name.substr(0, name.find('.') == std::string::npos || starts("linalg.") ? name.npos : name.find('.')), a);
}

// The recorded overload, or, where PyTorch's has arguments that are tensors or numbers, the one that takes those given.
Json call_recorded(PythonInterpreter& python, const std::string& op, const PythonArguments& arguments) {
  try {
    return call_overload(python, op, arguments);
  } catch (const CompilerRefuses&) {
    return call_operator(python, op.substr(6, op.find('.') == std::string::npos ? op.npos : op.find('.') - 6),
                         arguments);
  }
}

}  // namespace

void replay_vmap_ops(const Json& one, Check& check) {
  if (!one.contains("args")) return check.skip("a list of what PyTorch refuses");
  const Json& args = read(one, "args");
  const Json none = Json::object();
  const Json& kwargs = has(one, "kwargs") ? read(one, "kwargs") : none;
  const Json& kwarg_dims = has(one, "kwarg_in_dims") ? read(one, "kwarg_in_dims") : none;
  std::vector<Tensor> tensors;
  std::vector<torch::func::Dims> dims;
  collect(args, read(one, "in_dims"), check, tensors, dims);
  for (const auto& [name, value] : kwargs.items()) collect(value, kwarg_dims.at(name), check, tensors, dims);
  const std::string op = text_of(one, "op", ""), sample = text_of(one, "sample_of", "");

  const auto call = [&](const std::vector<Tensor>& given) {
    PythonInterpreter python;
    PythonArguments arguments;
    size_t next = 0;
    for (const Json& value : args) arguments.positional.push_back(with_tensors(value, python, given, next));
    for (const auto& [name, value] : kwargs.items()) arguments.named[name] = with_tensors(value, python, given, next);
    std::vector<Tensor> results;
    results_of(op.empty() ? call_sample(python, sample, arguments) : call_recorded(python, op, arguments), python,
               results);
    return results;
  };
  std::vector<Tensor> results;
  try {
    const torch::func::Dims all = std::vector<torch::func::Dims>{torch::func::Dims(dims)};
    results = torch::func::vmap(call, all, conformance::integer(read(one, "out_dims")))(tensors);
  } catch (const NotExpressible& error) {
    return check.skip(error.what());
  }
  const Json& outputs = read(one, "outputs");
  check.expect(results.size() == outputs.size(),
               std::to_string(results.size()) + " results, recorded " + std::to_string(outputs.size()));
  for (size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
    // PyTorch's exponential of a float matrix with numbers of some hundreds is wrong in the fourth digit; a Bessel
    // function next to its zero in the fifth.
    const double factor = read(one, "id") == "matrix_exp/1" ? 50 : op == "aten::special_bessel_y1" ? 30 : 1;
    check.tensor("output " + std::to_string(i), at::resolve_neg(at::resolve_conj(results[i])), outputs[i], factor);
  }
}

}  // namespace recorded
