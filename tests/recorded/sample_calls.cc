#include "tests/recorded/sample_calls.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "aten/core/reduction.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/masked/reductions.h"
#include "nn/functional/attention.h"

namespace recorded {
namespace {

using at::Tensor;

// Undefined where it is not given.
Tensor tensor_of(const PythonInterpreter& python, const Json& c, const char* name) {
  return has(c, name) ? python.tensor(c.at(name)) : Tensor();
}

// torch.masked, by Python's names of its arguments.
Json call_masked(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  namespace masked = torch::masked;
  if (name == "logaddexp") {
    const Json c = a.by_name(name, "input, other, dtype=, input_mask=, other_mask=");
    return python.value(masked::logaddexp(python.tensor(c.at("input")), python.tensor(c.at("other")), std::nullopt,
                                          tensor_of(python, c, "input_mask"), tensor_of(python, c, "other_mask")));
  }
  const bool normalized = name == "norm" || name == "normalize";
  std::string signature = normalized ? "input, ord=, dim=, " : "input, dim=, ";
  if (name == "normalize") signature += "eps=, ";
  const Json c = a.by_name(name, signature + (name == "var" || name == "std" ? "unbiased=, correction=, " : "") +
                                     "keepdim=, dtype=, mask=");
  const Tensor x = python.tensor(c.at("input")), mask = tensor_of(python, c, "mask");
  const bool keepdim = flag_of(c, "keepdim", false);
  std::vector<int64_t> dims;
  if (has(c, "dim")) dims = integers(c.at("dim"));
  const at::OptionalIntArrayRef dim = has(c, "dim") ? at::OptionalIntArrayRef(dims) : std::nullopt;
  const auto one_dim = [&] { return dims.empty() ? std::nullopt : std::optional<int64_t>(dims.at(0)); };
  std::optional<at::ScalarType> dtype;
  if (has(c, "dtype")) dtype = conformance::dtype_of(c.at("dtype").at("dtype"));
  const double correction = flag_of(c, "unbiased", true) ? number_of(c, "correction", 1) : 0;
  const std::map<std::string, std::function<Tensor()>> all = {
      {"sum", [&] { return masked::sum(x, dim, keepdim, dtype, mask); }},
      {"prod", [&] { return masked::prod(x, dim, keepdim, dtype, mask); }},
      {"amax", [&] { return masked::amax(x, dim, keepdim, dtype, mask); }},
      {"amin", [&] { return masked::amin(x, dim, keepdim, dtype, mask); }},
      {"argmax", [&] { return masked::argmax(x, one_dim(), keepdim, mask); }},
      {"argmin", [&] { return masked::argmin(x, one_dim(), keepdim, mask); }},
      {"mean", [&] { return masked::mean(x, dim, keepdim, dtype, mask); }},
      {"median", [&] { return masked::median(x, dims.empty() ? -1 : dims[0], keepdim, dtype, mask); }},
      {"logsumexp", [&] { return masked::logsumexp(x, dim, keepdim, dtype, mask); }},
      {"norm", [&] { return masked::norm(x, number_of(c, "ord", 2), dim, keepdim, dtype, mask); }},
      {"var", [&] { return masked::var(x, dim, correction, keepdim, dtype, mask); }},
      {"std", [&] { return masked::std(x, dim, correction, keepdim, dtype, mask); }},
      {"cumsum", [&] { return masked::cumsum(x, dims.at(0), dtype, mask); }},
      {"cumprod", [&] { return masked::cumprod(x, dims.at(0), dtype, mask); }},
      {"softmax", [&] { return masked::softmax(x, dims.at(0), dtype, mask); }},
      {"log_softmax", [&] { return masked::log_softmax(x, dims.at(0), dtype, mask); }},
      {"softmin", [&] { return masked::softmin(x, dims.at(0), dtype, mask); }},
      {"normalize",
       [&] { return masked::normalize(x, number_of(c, "ord", 2), dims.at(0), number_of(c, "eps", 1e-12), dtype, mask); }},
  };
  const auto found = all.find(name);
  if (found == all.end()) throw NotExpressible("no masked." + name + " here");
  // PyTorch gives indices in the input's dtype.
  const Tensor result = found->second();
  return python.value(name.rfind("arg", 0) == 0 ? at::to(result, x.scalar_type()) : result);
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

// torch.nn.functional.multi_head_attention_forward, whose options Python has as arguments.
Json call_attention(PythonInterpreter& python, const PythonArguments& a) {
  const auto tensor = [&](size_t place) { return python.tensor(a.positional.at(place)); };
  const auto number = [&](size_t place) { return a.positional.at(place).get<int64_t>(); };
  torch::nn::functional::MultiheadAttentionForwardFuncOptions options(
      number(3), number(4), tensor(5), tensor(6), tensor(7), tensor(8), a.positional.at(9).get<bool>(),
      conformance::number(a.positional.at(10)), tensor(11), tensor(12));
  options.training(a.named.at("training").get<bool>()).attn_mask(python.tensor(a.named.at("attn_mask")));
  const auto [result, weights] =
      torch::nn::functional::multi_head_attention_forward(tensor(0), tensor(1), tensor(2), options);
  return Json::array({python.value(result), python.value(weights)});
}

// Functions that are written in Python only, by their documents; false where `name` is none of these.
bool call_formula(PythonInterpreter& python, const std::string& name, const PythonArguments& a, Json& result) {
  const auto tensor = [&](size_t place) { return python.tensor(a.positional.at(place)); };
  if (name == "nn.functional.softsign") {
    result = python.value(at::div(tensor(0), at::add(at::abs(tensor(0)), 1)));
  } else if (name == "nn.functional.tanhshrink") {
    result = python.value(at::sub(tensor(0), at::tanh(tensor(0))));
  } else if (name == "nn.functional.linear_cross_entropy") {
    const Tensor x = tensor(0), weight = tensor(1);
    const Tensor logits = at::linear(x, at::reshape(weight, {-1, weight.size(-1)}));
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.pop_back();
    sizes.insert(sizes.end(), weight.sizes().begin(), weight.sizes().end() - 1);
    const std::string reduction = a.given("reduction") ? a.named.at("reduction") : Json("mean");
    result = python.value(at::cross_entropy_loss(at::reshape(logits, sizes), tensor(2), std::nullopt,
                                                 reduction == "none"   ? at::Reduction::None
                                                 : reduction == "mean" ? at::Reduction::Mean
                                                                       : at::Reduction::Sum));
  } else if (name == "unravel_index") {
    Tensor rest = tensor(0);
    const std::vector<int64_t> shape = integers(a.positional.at(1));
    std::vector<Json> places(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      places[d] = python.value(at::remainder(rest, shape[d]));
      rest = at::div(rest, shape[d], "floor");
    }
    result = Json(places);
  } else {
    return false;
  }
  return true;
}

}  // namespace

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
    if (!a.given("stride")) a.named["stride"] = a.named.at("kernel_size");
    const Json results = call_operator(python, "max_pool2d_with_indices", a);
    a.positional.insert(a.positional.begin(), python.value(at::ones_like(python.tensor(results.at(0)))));
    a.named["indices"] = results.at(1);
    return call_operator(python, name, a);
  }
  if (Json result; call_formula(python, name, a, result)) return result;
  if (name == "nn.functional.multi_head_attention_forward") return call_attention(python, a);
  if (name == "zero_") {
    Tensor self = at::clone(first());
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
    const Json c = a.by_name("lu", "A, pivot=, get_infos=");
    const auto [factors, pivots, infos] = at::linalg_lu_factor_ex(first(), flag_of(c, "pivot", true));
    Json results = Json::array({python.value(factors), python.value(pivots)});
    if (flag_of(c, "get_infos", false)) results.push_back(python.value(infos));
    return results;
  }
  if (name == "T") return call_operator(python, "numpy_T", a);
  if (name == "H") return call_operator(python, "matrix_H", a);
  if (name == "meshgrid.variadic_tensors") return call_operator(python, "meshgrid", {{Json(a.positional)}, a.named});
  if (name == "torch.ops.aten._safe_softmax.default") return call_operator(python, "_safe_softmax", a);
  if (starts("nn.functional.")) {
    std::string function = name.substr(14);
    function = function.substr(0, function.find('.'));
    if (function == "embedding" || function == "embedding_bag") std::swap(a.positional.at(0), a.positional.at(1));
    if (function == "upsample_nearest" || function == "upsample_bilinear") {
      a.named["mode"] = function.substr(9);
      if (function == "upsample_bilinear") a.named["align_corners"] = true;
      function = "interpolate";
    }
    return call_functional(python, function, a);
  }
  const bool spaced = starts("linalg.") || starts("fft.") || starts("special.");
  return call_torch(python, spaced ? name : name.substr(0, name.find('.')), a);
}

Json call_recorded(PythonInterpreter& python, const std::string& op, const PythonArguments& arguments) {
  try {
    return call_overload(python, op, arguments);
  } catch (const CompilerRefuses&) {
    return call_operator(python, op.substr(6, op.find('.') == std::string::npos ? op.npos : op.find('.') - 6),
                         arguments);
  }
}

void results_of(const Json& value, const PythonInterpreter& python, std::vector<Tensor>& results) {
  if (value.is_object() && value.contains("tensor")) {
    results.push_back(python.tensor(value));
  } else if (value.is_array()) {
    for (const Json& element : value) results_of(element, python, results);
  }
}

}  // namespace recorded
