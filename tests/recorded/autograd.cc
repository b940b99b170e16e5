// Autograd beyond operators: scripts with what they log, and derivatives of derivatives, also in forward mode.
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "nn/functional/functional.h"
#include "tests/recorded/autograd_scripts.h"
#include "tests/recorded/families.h"

namespace recorded {

namespace F = torch::nn::functional;
namespace forward_ad = torch::autograd::forward_ad;
using at::Tensor;

namespace {

using Function = Tensor (*)(const Tensor&);

Tensor unit(const Tensor& x, double scale) {
  return at::mul(at::eye(x.size(0), x.options()), scale);
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"sin(x) * exp(-x * x)", [](const Tensor& x) { return x.sin() * (-x * x).exp(); }},
      {"tanh(x) ** 2", [](const Tensor& x) { return x.tanh().pow(2); }},
      {"sigmoid(x) / (1 + x * x)", [](const Tensor& x) { return x.sigmoid() / (1 + x * x); }},
      {"log(1 + x * x)", [](const Tensor& x) { return (1 + x * x).log(); }},
      {"softmax(x, -1)", [](const Tensor& x) { return at::softmax(x, -1); }},
      {"log_softmax(x, 0)", [](const Tensor& x) { return at::log_softmax(x, 0); }},
      {"x @ x.T", [](const Tensor& x) { return at::matmul(x, x.mT()); }},
      {"(x @ x.T + 3 I).inverse()", [](const Tensor& x) { return at::inverse(at::matmul(x, x.mT()) + unit(x, 3)); }},
      {"det(x @ x.T + I)", [](const Tensor& x) { return at::det(at::matmul(x, x.mT()) + unit(x, 1)); }},
      {"cholesky(x @ x.T + 2 I)",
       [](const Tensor& x) { return at::linalg_cholesky(at::matmul(x, x.mT()) + unit(x, 2)); }},
      {"norm(x, 3, -1)", [](const Tensor& x) { return x.norm(3, {-1}); }},
      {"layer_norm(x)",
       [](const Tensor& x) { return F::layer_norm(x, F::LayerNormFuncOptions(std::vector<int64_t>{x.size(-1)})); }},
      {"gelu(x)", [](const Tensor& x) { return F::gelu(x); }},
      {"softplus(x)", [](const Tensor& x) { return F::softplus(x); }},
      {"var(x, -1)", [](const Tensor& x) { return x.var(-1); }},
      {"logsumexp(x, 0)", [](const Tensor& x) { return x.logsumexp({0}); }},
      {"cumprod(x, -1)", [](const Tensor& x) { return x.cumprod(-1); }},
      {"prod(x, 0)", [](const Tensor& x) { return x.prod(0); }},
      {"conv1d(x[None], ones(1, rows, 2) / 2)",
       [](const Tensor& x) {
         return F::conv1d(x.unsqueeze(0), at::ones({1, x.size(0), 2}, x.options()) / 2).pow(2);
       }},
      {"avg_pool1d(x[None], 2) ** 3", [](const Tensor& x) { return at::avg_pool1d(x.unsqueeze(0), {2}).pow(3); }},
      {"atan2(x, x.flip(0))", [](const Tensor& x) { return at::atan2(x, x.flip({0})); }},
      {"cat(x, x * x)[1:]",
       [](const Tensor& x) {
         return at::slice(at::cat({x, x * x}), 0, 1) * at::slice(x, 0, 0, 1);
       }},
      {"x.index_select(1, [0, 0, 2]) ** 2",
       [](const Tensor& x) {
         const Tensor index =
             at::cat({at::zeros({2}, at::TensorOptions(at::kLong)), at::full({1}, 2, at::TensorOptions(at::kLong))});
         return x.index_select(1, index).pow(2);
       }},
      {"where(x > 0, x ** 3, exp(x))", [](const Tensor& x) { return at::where(x > 0, x.pow(3), x.exp()); }},
      {"einsum(ij,kj->ik) ** 2",
       [](const Tensor& x) {
         return at::einsum("ij,kj->ik", {x, x}).pow(2);
       }},
      {"fft: abs(rfft(x)) ** 2", [](const Tensor& x) { return at::fft_rfft(x).abs().pow(2); }},
      {"digamma(2 + x * x)", [](const Tensor& x) { return at::digamma(2 + x * x); }},
      {"erf(x)", [](const Tensor& x) { return at::erf(x); }},
      {"elu(x, 0.7)", [](const Tensor& x) { return F::elu(x, F::ELUFuncOptions().alpha(0.7)); }},
      {"silu(x)", [](const Tensor& x) { return F::silu(x); }},
      {"mish(x)", [](const Tensor& x) { return F::mish(x); }},
      {"cosine_similarity(x, x ** 2)",
       [](const Tensor& x) { return F::cosine_similarity(x, x.pow(2), F::CosineSimilarityFuncOptions().dim(-1)); }},
      {"mse_loss(x, x.flip(1))", [](const Tensor& x) { return F::mse_loss(x, x.flip({1})); }},
      {"scaled_dot_product_attention",
       [](const Tensor& x) {
         return at::scaled_dot_product_attention(x.unsqueeze(0), x.unsqueeze(0) * 2, x.unsqueeze(0).sin());
       }},
  };
  return all;
}

Tensor normalized(const Tensor& x) {
  const Tensor apart = x - at::mean(x, {-1}, /*keepdim=*/true);
  return apart / (at::mean(apart * apart, {-1}, /*keepdim=*/true) + 1e-5).sqrt();
}

void replay_derivatives(const Json& one, Check& check) {
  const auto found = functions().find(one.at("function").get<std::string>());
  if (found == functions().end()) return check.skip("no function " + one.at("function").get<std::string>() + " here");
  const Function f = found->second;
  const auto tensor = [&](const char* field) { return check.recordings().tensor(one.at(field)); };
  const Tensor x = tensor("x").set_requires_grad(true);
  const auto derivative = [](const Tensor& of, const Tensor& by, int64_t k) {
    return torch::autograd::grad({of}, {by}, {cotangent(of, k)}, std::nullopt, /*create_graph=*/true,
                                 /*allow_unused=*/true)[0];
  };
  const Tensor y = f(x);
  check.tensor("y", y, one.at("y"));
  const Tensor first = derivative(y, x, 0);
  check.tensor("gradient", first, one.at("gradient"), 10);
  Tensor second;
  if (has(one, "second")) check.tensor("second derivative", second = derivative(first, x, 1), one.at("second"), 100);
  if (one.contains("third")) {
    // A constant has no graph, or one that does not reach x: its derivative is 0.
    const Tensor third = second.requires_grad() ? derivative(second, x, 2) : Tensor();
    if (one.at("function") == "layer_norm(x)") {
      // PyTorch takes the saved mean and deviation for constants there; the plain formula says what is right.
      const Tensor plain = derivative(derivative(derivative(normalized(x), x, 0), x, 1), x, 2);
      check.expect(at::allclose(third, plain, 1e-8, 1e-8), "the third derivative is not that of the formula");
    } else {
      check.tensor("third derivative", third.defined() ? third : at::zeros_like(x), one.at("third"), 100);
    }
  }
  if (one.contains("forward_tangent")) {
    forward_ad::dual_level level;
    const Tensor dual = forward_ad::make_dual(at::detach(x), tensor("tangent"));
    check.tensor("forward tangent", forward_ad::unpack_dual(f(dual)).tangent, one.at("forward_tangent"), 10);
  }
  if (one.contains("forward_over_reverse")) {
    forward_ad::dual_level level;
    const Tensor dual = forward_ad::make_dual(at::detach(x), tensor("tangent")).requires_grad_();
    const Tensor gradient = derivative(f(dual), dual, 0);
    check.tensor("forward over reverse", forward_ad::unpack_dual(gradient).tangent, one.at("forward_over_reverse"),
                 100);
  }
}

// Of an exception only the kind counts; KeyError and AttributeError are Python's own, c10::Error stands for them. Numbers
// are equal within rounding.
bool same_line(std::string got, std::string recorded) {
  const auto kind_only = [](std::string& line) {
    const size_t at = line.find("Error: ");
    if (at == std::string::npos) return;
    line.resize(at + 5);
    if (line == "KeyError" || line == "AttributeError") line = "RuntimeError";
  };
  kind_only(got), kind_only(recorded);
  const char *a = got.c_str(), *b = recorded.c_str();
  while (*a != 0 && *b != 0) {
    char *end_a, *end_b;
    if (std::isdigit(static_cast<unsigned char>(*a)) && std::isdigit(static_cast<unsigned char>(*b))) {
      const double x = std::strtod(a, &end_a), y = std::strtod(b, &end_b);
      if (std::abs(x - y) > 1e-9 * std::max(1.0, std::abs(y))) return false;
      a = end_a, b = end_b;
    } else if (*a++ != *b++) {
      return false;
    }
  }
  return *a == *b;
}

void replay_script(const Json& one, Check& check) {
  const std::string name = one.at("id").get<std::string>().substr(7);
  for (const auto* scripts : {&hook_scripts(), &engine_scripts(), &checkpoint_scripts(), &function_scripts(),
                              &mode_scripts(), &module_scripts()}) {
    const auto found = scripts->find(name);
    if (found == scripts->end()) continue;
    ScriptRun run;
    run.added = one.at("added_to_values").get<double>();
    found->second(run);
    const std::vector<std::string> recorded = one.at("log");
    const auto& lines = run.log.lines();
    if (lines.size() != recorded.size())
      check.fail(std::to_string(lines.size()) + " lines, recorded " + std::to_string(recorded.size()));
    for (size_t i = 0; i < std::min(lines.size(), recorded.size()); ++i) {
      if (lines[i] == ScriptLog::kNotInCpp) continue;
      if (!same_line(lines[i], recorded[i])) check.fail("logs \"" + lines[i] + "\", recorded \"" + recorded[i] + "\"");
    }
    return;
  }
  check.skip("the script " + name + " is not written here");
}

}  // namespace

std::string ScriptLog::text(const Tensor& t) {
  if (!t.defined()) return "None";
  if (t.dim() == 0) {
    if (t.scalar_type() == at::kBool) return text(t.item().toBool());
    if (std::isnan(t.item().toDouble())) return "nan";
    char number[40];
    std::snprintf(number, sizeof(number), "%.17g", t.item().toDouble());
    std::string s = number;
    if (at::isFloatingType(t.scalar_type()) && s.find_first_of(".en") == std::string::npos) s += ".0";
    return s;
  }
  std::string all = "[";
  for (int64_t i = 0; i < t.size(0); ++i) all += (i > 0 ? ", " : "") + text(at::select(at::detach(t), 0, i));
  return all + "]";
}

std::string ScriptLog::text(const std::vector<std::string>& names) {
  std::string all = "[";
  for (size_t i = 0; i < names.size(); ++i) all += (i > 0 ? ", '" : "'") + names[i] + "'";
  return all + "]";
}

Tensor doubles(std::initializer_list<double> values) {
  return ScriptRun().leaf(values, false);
}

std::string tuple(const std::vector<bool>& values) {
  std::string all;
  for (const bool value : values) all += (all.empty() ? "" : ", ") + ScriptLog::text(value);
  return "(" + all + ")";
}

std::string python_class(const torch::autograd::Node& node) {
  std::string name = node.name();
  const bool custom = name.find("CppNode<") != std::string::npos;
  name.erase(0, name.rfind(':') + 1);
  return custom ? name.substr(0, name.size() - 1) + "Backward" : name;
}

Tensor ScriptRun::leaf(std::vector<double> values, bool requires_grad) const {
  Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions(at::kDouble));
  for (size_t i = 0; i < values.size(); ++i) t.data_ptr<double>()[i] = values[i] + added;
  return t.set_requires_grad(requires_grad);
}

std::string caught(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::IndexError& e) {
    return std::string("IndexError: ") + e.what_without_backtrace();
  } catch (const c10::ValueError& e) {
    return std::string("ValueError: ") + e.what_without_backtrace();
  } catch (const c10::TypeError& e) {
    return std::string("TypeError: ") + e.what_without_backtrace();
  } catch (const c10::NotImplementedError& e) {
    return std::string("NotImplementedError: ") + e.what_without_backtrace();
  } catch (const std::exception& e) {
    return std::string("RuntimeError: ") + e.what();
  }
  return "None";
}

void replay_autograd(const Json& one, Check& check) {
  const std::string kind = one.at("kind");
  if (kind == "script") return replay_script(one, check);
  if (kind == "derivatives") {
    try {
      return replay_derivatives(one, check);
    } catch (const c10::NotImplementedError& error) {
      if (error.msg().find("has no kernel for it and none was registered") == std::string::npos) throw;
      return check.skip(error.msg());
    }
  }
  check.skip("the inputs that these names were recorded for are not");
}

}  // namespace recorded
