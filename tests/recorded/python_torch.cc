// Functions of torch and methods of tensors that are no operators of their own.
#include <algorithm>
#include <cmath>
#include <set>

#include "aten/core/tensor_literal.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/signal/windows.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/default_dtype.h"
#include "c10/core/type_promotion.h"
#include "c10/parallel/parallel.h"
#include "tests/conformance/case_set.h"
#include "tests/recorded/python_interpreter.h"
#include "utils/serialize/archive.h"
#include "utils/testing/assert_close.h"

namespace recorded {
namespace {

using at::Tensor;
using Container = torch::detail::TensorDataContainer;

bool has_tag(const Json& v, const char* tag) {
  return v.is_object() && v.contains(tag);
}

at::ScalarType dtype_of(const Json& v) {
  if (!has_tag(v, "dtype"))
    throw CompilerRefuses("a value of type " + PythonInterpreter::type_name(v) + " is no dtype");
  return conformance::dtype_of(v.at("dtype"));
}

// Numbers and nested braces of them.
Container literal(const Json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_integer()) return v.get<int64_t>();
  if (v.is_number() || has_tag(v, "float")) return conformance::number(v);
  if (has_tag(v, "complex"))
    return c10::complex<float>(v.at("complex").at(0).get<float>(), v.at("complex").at(1).get<float>());
  if (!v.is_array()) throw CompilerRefuses("torch::tensor takes no value of type " + PythonInterpreter::type_name(v));
  std::vector<Container> parts;
  for (const Json& part : v) parts.push_back(literal(part));
  switch (parts.size()) {
    // Lists of one element, not copies of it.
    case 1:
      return Container(std::initializer_list<Container>{parts[0]});
    case 2:
      return Container(std::initializer_list<Container>{parts[0], parts[1]});
    case 3:
      return Container(std::initializer_list<Container>{parts[0], parts[1], parts[2]});
    case 4:
      return Container(std::initializer_list<Container>{parts[0], parts[1], parts[2], parts[3]});
    default:
      throw NotExpressible("braces of " + std::to_string(parts.size()) + " values");
  }
}

Json make_tensor(PythonInterpreter& python, const PythonArguments& a) {
  const Json c = a.by_name("tensor", "data, dtype=, device=, requires_grad=");
  at::TensorOptions options;
  if (has(c, "dtype")) options = options.dtype(dtype_of(c.at("dtype")));
  if (has(c, "requires_grad")) options = options.requires_grad(c.at("requires_grad").get<bool>());
  return python.value(torch::tensor(literal(c.at("data")), options));
}

Json all_of(const std::vector<Tensor>& tensors, PythonInterpreter& python) {
  Json all = Json::array();
  for (const Tensor& t : tensors) all.push_back(python.value(t));
  return all;
}

Json grad(PythonInterpreter& python, const PythonArguments& a) {
  const Json c = a.by_name("grad", "outputs, inputs");
  const auto tensors = [&](const Json& v) {
    std::vector<Tensor> all;
    for (const Json& one : v.is_array() ? v : Json::array({v})) all.push_back(python.tensor(one));
    return all;
  };
  return all_of(torch::autograd::grad(tensors(c.at("outputs")), tensors(c.at("inputs"))), python);
}

Json tensordot(PythonInterpreter& python, const PythonArguments& a) {
  Json c = a.by_name("tensordot", "self, other, dims=2");
  Json dims = has(c, "dims") ? c.at("dims") : Json(2);
  if (dims.is_number_integer()) {
    const int64_t n = dims.get<int64_t>();
    if (n > python.tensor(c.at("self")).dim())
      throw CompilerRefuses("tensordot takes lists of dimensions, and there are fewer than " + std::to_string(n));
    std::vector<int64_t> left, right;
    for (int64_t d = 0; d < n; ++d) {
      left.push_back(d - n);
      right.push_back(d);
    }
    dims = Json::array({left, right});
  }
  return call_operator(python, "tensordot", {{c.at("self"), c.at("other"), dims.at(0), dims.at(1)}, {}});
}

// Of a name's arguments, what operators have in another form.
PythonArguments adapted(const std::string& name, PythonArguments a) {
  static const std::set<std::string> variadic = {"meshgrid",       "broadcast_tensors", "block_diag",
                                                 "cartesian_prod", "chain_matmul",      "atleast_1d"};
  if (variadic.count(name) > 0 && (a.positional.empty() || !a.positional[0].is_array()))
    a.positional = {Json(a.positional)};
  if (name == "einsum" && a.positional.size() > 1 && !a.positional[1].is_array())
    a.positional = {a.positional[0], Json(std::vector<Json>(a.positional.begin() + 1, a.positional.end()))};
  return a;
}

Json norm(PythonInterpreter& python, PythonArguments a) {
  Json c = a.by_name("norm", "input, p=, dim=, keepdim=");
  const Json p = has(c, "p") ? c.at("p") : Json(2.0);
  if (!p.is_string()) return call_operator(python, "norm", a);
  return call_operator(python, "linalg_matrix_norm", {{c.at("input"), p}, {}});
}

// Python's stft pads first unless it is told not to; C++ does where center is given.
Json stft(PythonInterpreter& python, PythonArguments a) {
  Json c = a.by_name("stft", "input, n_fft, hop_length=, win_length=, window=, center=, pad_mode=, normalized=, "
                             "onesided=, return_complex=, align_to_window=");
  PythonArguments all;
  all.positional = {c.at("input"), c.at("n_fft")};
  c["center"] = !has(c, "center") || c.at("center").get<bool>();
  for (const auto& [name, value] : c.items()) {
    if (name != "input" && name != "n_fft") all.named[name] = value;
  }
  return call_operator(python, "stft", all);
}

// torch.signal.windows.
Json window(PythonInterpreter& python, const std::string& name, const PythonArguments& a) {
  namespace windows = torch::signal::windows;
  const auto named = [&](const char* signature) { return a.by_name(name, signature); };
  if (name == "hann") return python.value(windows::hann(named("M").at("M").get<int64_t>()));
  if (name == "kaiser") {
    const Json c = named("M, beta=");
    return python.value(windows::kaiser(c.at("M").get<int64_t>(), number_of(c, "beta", 12)));
  }
  if (name == "gaussian") {
    const Json c = named("M, std=");
    return python.value(windows::gaussian(c.at("M").get<int64_t>(), number_of(c, "std", 1)));
  }
  throw NotExpressible("no window " + name + " here");
}

Json assert_close(PythonInterpreter& python, const PythonArguments& a) {
  const Json c = a.by_name("assert_close", "actual, expected, rtol=, atol=, equal_nan=, check_dtype=");
  torch::testing::AssertCloseOptions options;
  if (has(c, "rtol")) options.rtol = c.at("rtol").get<double>();
  if (has(c, "atol")) options.atol = c.at("atol").get<double>();
  options.equal_nan = flag_of(c, "equal_nan", false);
  options.check_dtype = flag_of(c, "check_dtype", true);
  const Json &actual = c.at("actual"), &expected = c.at("expected");
  if (!has_tag(actual, "dict")) {
    torch::testing::assert_close(python.tensor(actual), python.tensor(expected), options);
    return {};
  }
  const auto map_of = [&](const Json& v) {
    std::map<std::string, Tensor> all;
    for (const auto& [key, value] : v.at("dict").items()) all[key] = python.tensor(value);
    return all;
  };
  torch::testing::assert_close(map_of(actual), map_of(expected), options);
  return {};
}

}  // namespace

Json call_torch(PythonInterpreter& python, const std::string& path, const PythonArguments& given) {
  const PythonArguments a = adapted(path, given);
  const auto first = [&]() -> const Json& {
    if (a.positional.empty()) throw CompilerRefuses(path + " needs an argument");
    return a.positional[0];
  };
  if (path == "tensor") return make_tensor(python, a);
  if (path == "as_tensor") return make_tensor(python, a);
  if (path == "autograd.grad") return grad(python, a);
  if (path == "tensordot") return tensordot(python, a);
  if (path == "norm") return norm(python, a);
  if (path == "stft") return stft(python, a);
  if (path == "testing.assert_close") return assert_close(python, a);
  if (path == "func.functional_call") return call_functional_call(python, a);
  if (path.rfind("signal.windows.", 0) == 0) return window(python, path.substr(15), a);
  if (path == "device" && a.positional.size() == 2) {
    const c10::Device device(c10::Device(first().get<std::string>()).type(), a.positional[1].get<c10::DeviceIndex>());
    return Json{{"device", device.str()}};
  }
  if (path == "device") return Json{{"device", c10::Device(first().get<std::string>()).str()}};
  if (path == "Generator") {
    if (a.given("device")) (void)c10::Device(a.named.at("device").get<std::string>());
    return python.object(at::make_generator<at::CPUGeneratorImpl>(uint64_t{67280421310721}));
  }
  if (path == "manual_seed") {
    if (!first().is_number_integer())
      throw CompilerRefuses("manual_seed takes a number of 64 bits, not " + PythonInterpreter::type_name(first()));
    at::manual_seed(first().get<uint64_t>());
    return {};
  }
  if (path == "set_num_threads") {
    at::set_num_threads(first().get<int>());
    return {};
  }
  if (path == "set_default_dtype") {
    const at::ScalarType before = c10::get_default_dtype_as_scalartype();
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype_of(first())));
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(before));
    return {};
  }
  if (path == "promote_types" || path == "can_cast") {
    const Json c = a.by_name(path, "a, b");
    const at::ScalarType from = dtype_of(c.at("a")), to = dtype_of(c.at("b"));
    return path == "can_cast" ? Json(c10::canCast(from, to)) : Json(c10::toString(c10::promoteTypes(from, to)));
  }
  if (path == "load") {
    Tensor t;
    torch::load(t, first().get<std::string>());
    return python.value(t);
  }
  if (path == "nonzero" && a.given("as_tuple")) {
    if (!a.named.at("as_tuple").is_boolean()) throw CompilerRefuses("nonzero's as_tuple is a bool");
    return call_operator(python, a.named.at("as_tuple").get<bool>() ? "nonzero_numpy" : "nonzero", {{first()}, {}});
  }
  if (path == "unique" && a.given("dim")) return call_operator(python, "unique_dim", a);
  if (path == "autocast") {
    if (a.given("enabled") && !a.named.at("enabled").is_boolean())
      throw CompilerRefuses("autocast is enabled by a bool");
    throw NotExpressible("no autocast here");
  }
  if (path == "from_numpy" || path == "frombuffer")
    throw CompilerRefuses(path + " is Python's own: torch::from_blob takes memory and sizes");
  if (path == "sparse.mm") return call_operator(python, "_sparse_mm", a);
  for (const char* space : {"linalg.", "fft.", "special."}) {
    const std::string prefix = space;
    if (path.rfind(prefix, 0) != 0) continue;
    return call_operator(python, prefix.substr(0, prefix.size() - 1) + "_" + path.substr(prefix.size()), a);
  }
  if (path.find('.') != std::string::npos) throw NotExpressible("no function torch." + path + " here");
  return call_operator(python, path, a);
}

bool call_tensor_method(PythonInterpreter& python, const Tensor& self, const std::string& name,
                        const PythonArguments& a, Json& result) {
  static const std::map<std::string, at::ScalarType> conversions = {{"long", at::kLong},   {"double", at::kDouble},
                                                                    {"float", at::kFloat}, {"int", at::kInt},
                                                                    {"half", at::kHalf},   {"bool", at::kBool}};
  if (const auto found = conversions.find(name); found != conversions.end()) {
    result = python.value(at::to(self, found->second));
    return true;
  }
  PythonArguments with_self = a;
  with_self.positional.insert(with_self.positional.begin(), python.value(self));
  if (name == "norm") {
    result = norm(python, with_self);
  } else if (name == "item") {
    const c10::Scalar number = self.item();
    result = number.isComplex() ? Json() : Json(number.toDouble());
  } else if (name == "tolist") {
    result = Json::array();
  } else if (name == "numpy") {
    TORCH_CHECK(!self.requires_grad(), "numpy needs detach()");
    throw CompilerRefuses("numpy() is Python's own");
  } else if (name == "requires_grad_") {
    result = python.value(self.requires_grad_(a.positional.empty() || a.positional[0].get<bool>()));
  } else if (name == "type") {
    throw CompilerRefuses("type() takes a dtype, not a text");
  } else if (name == "stride" && a.positional.empty()) {
    result = self.strides().vec();
  } else if (name == "storage_offset") {
    if (!a.positional.empty()) throw CompilerRefuses("storage_offset takes no argument");
    result = self.storage_offset();
  } else if (name == "backward" && a.positional.size() < 2 && a.named.empty()) {
    self.backward(a.positional.empty() ? Tensor() : python.tensor(a.positional[0]));
  } else if (name == "apply_") {
    throw CompilerRefuses("apply_ is Python's own");
  } else if (name == "to" && !a.positional.empty() && a.positional[0].is_string()) {
    result = python.value(self.to(self.options().device(c10::Device(a.positional[0].get<std::string>()))));
  } else if (name == "to" && a.given("memory_format")) {
    result = call_operator(python, "contiguous", with_self);
  } else if (name == "split" && !a.positional.empty() && a.positional[0].is_array()) {
    result = call_operator(python, "split_with_sizes", with_self);
  } else if (name == "nonzero") {
    result = call_torch(python, name, with_self);
  } else {
    return false;
  }
  return true;
}

}  // namespace recorded
