// Mixed precision: which operators autocast casts and how, what dtypes come out, models, regions, and GradScaler.
#include <map>
#include <set>

#include "aten/aten.h"
#include "aten/autocast/autocast.h"
#include "aten/codegen/operator_facts.h"
#include "aten/core/dispatch_mode.h"
#include "aten/core/wrapper_tensor.h"
#include "autograd/autocast/custom_function.h"
#include "autograd/autograd.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "optim/amp/grad_scaler.h"
#include "optim/sgd.h"
#include "tests/recorded/autocast_calls.h"
#include "tests/recorded/families.h"

namespace recorded {
namespace {

using at::Tensor;
using c10::IValue;

// --- names of dtypes and devices ---

const std::map<std::string, at::ScalarType>& dtypes() {
  static const std::map<std::string, at::ScalarType> all = {{"float32", at::kFloat},
                                                            {"float64", at::kDouble},
                                                            {"float16", at::kHalf},
                                                            {"bfloat16", at::kBFloat16},
                                                            {"complex32", at::kComplexHalf},
                                                            {"complex64", at::kComplexFloat},
                                                            {"complex128", at::kComplexDouble},
                                                            {"bool", at::kBool},
                                                            {"uint8", at::kByte},
                                                            {"int8", at::kChar},
                                                            {"int16", at::kShort},
                                                            {"int32", at::kInt},
                                                            {"int64", at::kLong}};
  return all;
}

std::string name_of(at::ScalarType type) {
  for (const auto& [name, other] : dtypes()) {
    if (other == type) return name;
  }
  return c10::toString(type);
}

c10::DeviceType device_of(const Json& one) {
  return one.at("device") == "cuda" ? at::kCUDA : at::kCPU;
}

// --- tensors of a CUDA device that is not there: sizes and dtypes, computed as for meta tensors ---

class ShapeOnly final : public at::WrapperTensorImpl {
 public:
  explicit ShapeOnly(const Tensor& meta)
      : WrapperTensorImpl(meta.scalar_type(), c10::Device(at::kCUDA, 0), meta.sizes(), meta.strides()), meta_(meta) {}

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) const override {
    at::transform_tensors(*stack, [](const Tensor& t) { return meta_of(t); });
    for (IValue& value : *stack) {
      if (value.isDevice() && value.toDevice().is_cuda()) value = c10::Device(at::kMeta);
    }
    op.callBoxed(*stack);
    at::transform_tensors(*stack, [](const Tensor& t) { return of(t); });
  }
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<ShapeOnly>(meta_);
    copy->copy_metadata_from(*this);
    return copy;
  }
  void shallow_copy_from(const c10::TensorImpl& other) override {
    WrapperTensorImpl::shallow_copy_from(other);
    meta_ = static_cast<const ShapeOnly&>(other).meta_;
  }
  const char* kind() const override { return "ShapeOnly"; }

  // A tensor of that device with the sizes and the dtype of `t`.
  static Tensor of(const Tensor& t) {
    if (!t.defined() || at::wrapper_of(t) != nullptr) return t;
    return Tensor(c10::make_intrusive<ShapeOnly>(meta_of(t)));
  }

 private:
  static Tensor meta_of(const Tensor& t) {
    if (!t.defined()) return t;
    if (const auto* wrapper = at::wrapper_of<ShapeOnly>(t)) return wrapper->meta_;
    return t.is_meta()
               ? t
               : at::empty_strided(t.sizes(), t.strides(), at::TensorOptions(t.scalar_type()).device(at::kMeta));
  }

  Tensor meta_;
};

// Makes the tensors that operators ask of that device.
struct FactoriesOfShapes final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    bool made = false;
    for (IValue& value : *stack) {
      if (!value.isDevice() || !value.toDevice().is_cuda()) continue;
      value = c10::Device(at::kMeta);
      made = true;
    }
    op.callBoxed(stack);
    if (made) at::transform_tensors(*stack, [](const Tensor& t) { return ShapeOnly::of(t); });
  }
};

// --- policies ---

// PyTorch's own that are no operators here: library-specific ones and those behind its recurrent layers.
const std::set<std::string>& absent_operators() {
  static const std::set<std::string> names = {"mkldnn_rnn_layer",
                                              "_lu_with_info",
                                              "_scaled_dot_product_flash_attention",
                                              "_thnn_fused_gru_cell",
                                              "_thnn_fused_lstm_cell",
                                              "cudnn_convolution",
                                              "cudnn_convolution_transpose"};
  return names;
}

std::string policy_of(const kindling::OperatorFacts& op, c10::DeviceType device) {
  std::string name = device == at::kCUDA ? op.autocast_cuda : op.autocast_cpu;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

void replay_policy(const Json& one, Check& check) {
  std::string policy = one.at("policy");
  // What PyTorch casts by hand follows a policy here, and is recorded apart.
  const std::string by_hand = ", by a wrapper of its own";
  const bool is_by_hand = policy.ends_with(by_hand);
  if (is_by_hand) policy.erase(policy.size() - by_hand.size());
  std::set<std::string> recorded = one.at("operators").get<std::set<std::string>>();
  for (const std::string& name : absent_operators()) {
    if (recorded.erase(name) == 0) continue;
    for (const auto& op : kindling::kOperatorFacts) check.expect(op.name != name, name + " is an operator by now");
  }
  const auto device = device_of(one);
  const auto key = at::autocast::get_autocast_dispatch_key_from_device_type(device);
  std::set<std::string> here;
  for (const auto& op : kindling::kOperatorFacts) {
    if (policy_of(op, device) != policy || (op.name == std::string_view("_cudnn_rnn")) != is_by_hand) continue;
    here.insert(op.name);
    if (op.gradient == kindling::Gradient::kNoKernel) continue;
    const std::string name = op.name;
    const size_t dot = std::min(name.find('.'), name.size());
    const auto handle = c10::Dispatcher::singleton().findSchema(
        {"aten::" + name.substr(0, dot), dot < name.size() ? name.substr(dot + 1) : ""});
    check.expect(handle.has_value() && handle->hasKernelForDispatchKey(key), name + " has no kernel of the layer");
  }
  // A power in PyTorch.
  if (device == at::kCUDA && policy == "fp32") check.expect(here.erase("square") == 1, "square has no policy");
  check.equal("operators", here, recorded);
}

// --- dtypes of results ---

// Calls that are no operators: compositions that only Python has.
const std::set<std::string>& uncalled() {
  static const std::set<std::string> names = {"nn.functional.linear_cross_entropy",
                                              "nn.functional.local_response_norm",
                                              "nn.functional.multilabel_soft_margin_loss",
                                              "nn.functional.max_unpool1d",
                                              "nn.functional.softsign",
                                              "nn.functional.tanhshrink",
                                              "nn.functional.triplet_margin_with_distance_loss",
                                              "__rdiv__",
                                              "__rmod__",
                                              "__rpow__",
                                              "svd_lowrank",
                                              "pca_lowrank",
                                              "nn.functional.multi_head_attention_forward",
                                              "hash_tensor",
                                              "nn.functional.gaussian_nll_loss",
                                              "linalg.polar"};
  return names;
}

void collect(const IValue& value, Json& names) {
  if (value.isTensor()) {
    names.push_back(name_of(value.toTensor().scalar_type()));
  } else if (value.isTensorList()) {
    for (const Tensor& t : value.toTensorVector()) names.push_back(name_of(t.scalar_type()));
  }
}

// Operators that take arguments of different dtypes here and not in PyTorch: parameters of norms may be wider than the
// input, vectors' products promote.
const std::set<std::string>& mixes_more() {
  static const std::set<std::string> names = {"_batch_norm_with_update",
                                              "_native_batch_norm_legit",
                                              "cross",
                                              "linalg.cross",
                                              "native_batch_norm",
                                              "native_group_norm",
                                              "native_layer_norm",
                                              "nn.functional.batch_norm",
                                              "nn.functional.bilinear",
                                              "nn.functional.group_norm",
                                              "nn.functional.instance_norm",
                                              "nn.functional.layer_norm"};
  return names;
}

// Where another dtype or an error comes out for reasons that are not autocast's.
const std::set<std::string>& differs() {
  static const std::set<std::string> rows = {
      "cuda complex low",
      "cuda complex mixed",    // both parts are of one of Half, Float and Double here, also in shape only
      "cuda ldexp low",        // the power of two is Float in such a region
      "cuda grid_sampler_2d mixed",  // the next ones refuse to mix dtypes in shape only too
      "cuda grid_sampler_3d mixed",
      "cuda heaviside mixed",  // these refuse to mix dtypes in shape only too, as they do on the CPU
      "cuda linalg.solve_triangular mixed",
      "cuda _softmax_backward_data mixed",
      "cuda index_copy mixed",
      "cuda index_add mixed",
      "cuda put mixed",
      "cuda nn.functional.embedding_bag mixed",
      "cuda torch.ops.aten._scaled_dot_product_flash_attention_for_cpu mixed",
      "cpu _softmax_backward_data low",  // the gradient has the dtype that is given as the input's
      "cuda _softmax_backward_data low",
      "cuda native_group_norm mixed",  // statistics are those of the CPU: Float beside wider parameters
      "cuda linalg.cross mixed",       // promotes here
      "cuda native_batch_norm low",    // and of the input's dtype beside narrow ones
      "cuda _native_batch_norm_legit low",
      "cuda _batch_norm_with_update low",
      "cuda torch.ops.aten._safe_softmax.default low",  // made of softmax, which computes in Float in such a region
  };
  return rows;
}

// An operator whose result's shape depends on values, or that has no form for shapes alone; some take memory by
// themselves.
bool needs_values(const Json& result) {
  if (!result.is_object()) return false;
  const std::string message = result.at("message");
  for (const char* part : {"from the 'Meta' backend", "cannot be called on meta tensors",
                           "Cannot copy out of meta tensor", "Cannot allocate on device cuda", "without storage"}) {
    if (message.find(part) != std::string::npos) return true;
  }
  return false;
}

// Computed by sums here, where PyTorch's go through a matrix product and so lose precision in a region.
const std::set<std::string>& keeps_float32() {
  static const std::set<std::string> names = {"cov", "corrcoef"};
  return names;
}

// What stands in the recording for errors that are c10::Error and the kinds of it here.
bool is_error(const std::string& kind) {
  static const std::set<std::string> kinds = {"RuntimeError", "ValueError",     "TypeError",
                                              "IndexError",   "AssertionError", "NotImplementedError"};
  return kinds.count(kind) == 1;
}

class ResultDtypes {
 public:
  explicit ResultDtypes(const Json& one) : device_(device_of(one)), low_(dtypes().at(one.at("autocast_dtype"))) {}

  Json of(const AutocastCall& call, const c10::OperatorHandle& op, const std::string& mix) const {
    int n = 0;
    c10::Stack stack = arguments_of(call, op, [&](const Tensor& t, bool counted) {
      const bool low = mix == "low" || (mix == "mixed" && n % 2 == 0);
      n += counted;
      const Tensor typed = low ? t.to(low_) : t;
      return device_ == at::kCUDA ? ShapeOnly::of(typed) : typed;
    });
    if (n != call.float_inputs) return "a call with " + std::to_string(n) + " tensors";
    if (device_ == at::kCUDA) at::transform_tensors(stack, [](const Tensor& t) { return ShapeOnly::of(t); });
    try {
      const Enabled region(device_, low_);
      FactoriesOfShapes factories;
      std::optional<at::DispatchModeGuard> shapes;
      if (device_ == at::kCUDA) shapes.emplace(factories);
      op.callBoxed(stack);
    } catch (const c10::Error& e) {
      return {{"error", "RuntimeError"}, {"message", e.what_without_backtrace()}};
    }
    Json names = Json::array();
    if (gives_first_result(call)) stack.resize(1);
    for (const IValue& value : stack) collect(value, names);
    return names;
  }

 private:
  // As the recording did it: without asking for the device.
  struct Enabled {
    Enabled(c10::DeviceType device, at::ScalarType type)
        : device(device), before(at::autocast::get_autocast_dtype(device)) {
      at::autocast::set_autocast_dtype(device, type);
      at::autocast::set_autocast_enabled(device, true);
    }
    ~Enabled() {
      at::autocast::set_autocast_enabled(device, false);
      at::autocast::set_autocast_dtype(device, before);
      at::autocast::clear_cache();
    }
    c10::DeviceType device;
    at::ScalarType before;
  };

  c10::DeviceType device_;
  at::ScalarType low_;
};

// What LAPACK computes in no narrow dtype is refused by its shape rule, on a device that has kernels too.
bool refuses_narrow(const Json& result) {
  return result.is_object() && result.at("message").get<std::string>().find("_cpu\" not implemented for") != std::string::npos;
}

bool has_kernel(const c10::OperatorHandle& op) {
  static const std::set<std::string> without = [] {
    std::set<std::string> names;
    for (const auto& facts : kindling::kOperatorFacts) {
      if (facts.gradient == kindling::Gradient::kNoKernel) names.insert(facts.name);
    }
    return names;
  }();
  const auto& name = op.operator_name();
  return without.count(name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name)) == 0;
}

void replay_result_dtypes(const Json& one, Check& check) {
  const ResultDtypes results(one);
  for (const Json& row : one.at("rows")) {
    const std::string name = row[0];
    Check::Scope scope(check, name);
    const auto& calls = autocast_calls();
    const auto call = std::find_if(calls.begin(), calls.end(),
                                   [&](const auto& c) { return c.name == name && c.float_inputs == row[1]; });
    if (call == calls.end()) {
      check.expect(uncalled().count(name) == 1 || name.rfind("masked.", 0) == 0, "no call of this operator");
      continue;
    }
    const auto op = operator_of(*call);
    if (!op.has_value() || !has_kernel(*op)) continue;  // not an operator yet
    for (const auto& [mix, recorded] : row[2].items()) {
      const Json got = results.of(*call, *op, mix);
      if (needs_values(got)) continue;
      if (differs().count(one.at("device").get<std::string>() + " " + name + " " + mix)) continue;
      if (one.at("device") == "cuda" && refuses_narrow(got)) continue;
      // Where PyTorch has no kernel for the dtype, or refuses to mix dtypes, there may be a result here.
      if (recorded.is_object() && got.is_array() &&
          (recorded.at("error") == "NotImplementedError" || mixes_more().count(name)))
        continue;
      if (keeps_float32().count(name) && mix == "float32" && got == Json::array({"float32"})) continue;
      const bool same = recorded.is_object() ? got.is_object() && is_error(recorded.at("error")) : got == recorded;
      check.expect(same, mix + " gives " + got.dump() + ", recorded " + recorded.dump());
    }
  }
}

// --- models ---

torch::nn::Sequential model_of(const std::string& name) {
  using namespace torch::nn;
  if (name == "mlp") return Sequential(Linear(6, 8), GELU(), Linear(8, 3));
  if (name == "mlp with norm")
    return Sequential(Linear(6, 8), LayerNorm(LayerNormOptions({8})), ReLU(), Linear(8, 3), Softmax(-1));
  if (name == "cnn")
    return Sequential(Conv2d(Conv2dOptions(2, 4, 3).padding(1)), BatchNorm2d(4), ReLU(),
                      AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions(2)), Flatten(), Linear(16, 3));
  return nullptr;
}

void compare_model(const Json& one, Check& check, torch::nn::Module& model,
                   const std::function<Tensor(const Tensor&)>& forward,
                   const std::function<std::string(const std::string&)>& name_in_python) {
  Tensor y, loss;
  {
    torch::autocast region(at::kCPU, dtypes().at(one.at("autocast_dtype")));
    y = forward(check.recordings().tensor(one.at("input")));
    loss = at::mse_loss(y, at::zeros_like(y));
  }
  // Numbers of 16 bits are rounded in other orders. A gradient that is zero but for rounding, such as that of a bias
  // before a norm, has the error of the others.
  const double steps = one.at("autocast_dtype") == "bfloat16" ? 8e-3 : 1e-3;
  const auto compare = [&](const std::string& what, const Tensor& got, const Json& recorded, double size) {
    const Tensor wanted = check.recordings().tensor(recorded);
    check.expect(got.scalar_type() == wanted.scalar_type() && at::allclose(got, wanted, 4 * steps, 2 * steps * size),
                 what + " differs");
  };
  compare("output", y, one.at("output"), 1);
  compare("loss", loss, one.at("loss"), 0);
  loss.backward();
  double size = 1e-3;
  for (const auto& [name, gradient] : one.at("grad_parameters").items())
    size = std::max(size, at::max(at::abs(check.recordings().tensor(gradient))).item<double>());
  for (const auto& parameter : model.named_parameters()) {
    const std::string name = name_in_python(parameter.key());
    if (!one.at("grad_parameters").contains(name)) {
      check.fail("no gradient of " + name + " is recorded");
      continue;
    }
    compare("gradient of " + name, parameter.value().grad(), one.at("grad_parameters").at(name), size);
  }
}

void replay_model(const Json& one, Check& check) {
  at::manual_seed(one.at("seed").get<uint64_t>());
  const std::string name = one.at("model");
  const auto same = [](const std::string& key) { return key; };
  if (name == "encoder layer") {
    torch::nn::TransformerEncoderLayer layer(
        torch::nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0.0));
    // Sequences first: the layer has no batch_first in C++.
    compare_model(
        one, check, *layer, [&](const Tensor& x) { return layer->forward(x.transpose(0, 1)).transpose(0, 1); }, same);
    return;
  }
  torch::nn::Sequential model = model_of(name);
  compare_model(
      one, check, *model, [&](const Tensor& x) { return model->forward(x); }, same);
}

// --- regions ---

struct CountCasts final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    casts += op.operator_name().name == "aten::_to_copy";
    op.callBoxed(*stack);
  }
  int casts = 0;
};

Json* seen = nullptr;  // what a Function of the case notes

struct Cast : torch::autograd::Function<Cast> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, Tensor x) {
    torch::amp::custom_fwd region(ctx, at::kCPU, at::kFloat);
    x = region(x);
    seen->push_back({"custom_fwd(cast_inputs=float32): input dtype, autocast enabled inside",
                     {name_of(x.scalar_type()), at::autocast::is_autocast_enabled(at::kCPU)}});
    return x * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list g) {
    torch::amp::custom_bwd region(ctx, at::kCPU);
    seen->push_back({"custom_bwd: autocast enabled inside", at::autocast::is_autocast_enabled(at::kCPU)});
    return {g[0] * 2};
  }
};

struct Keep : torch::autograd::Function<Keep> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, Tensor x) {
    torch::amp::custom_fwd region(ctx, at::kCPU);
    seen->push_back({"custom_fwd(): autocast enabled inside", at::autocast::is_autocast_enabled(at::kCPU)});
    return x * 1;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list g) {
    torch::amp::custom_bwd region(ctx, at::kCPU);
    seen->push_back(
        {"custom_bwd() after custom_fwd(): autocast enabled inside", at::autocast::is_autocast_enabled(at::kCPU)});
    return {g[0]};
  }
};

class States {
 public:
  Json rows = Json::array();

  void run() {
    note("outside: is_autocast_enabled(cpu)", enabled());
    in_region();
    note("after: enabled", enabled());
    {
      torch::autocast region(at::kCPU, at::kBFloat16);
      note("decorated function", at::matmul(a_, a_));
    }
    {
      torch::autocast region(at::kCPU, at::kFloat);
      note("autocast(cpu, dtype=float32): enabled", enabled());
    }
    gradients();
    functions();
    casts("casts of one weight used three times, cache on", true, true);
    casts("the same, cache off", false, true);
    casts("the same, cache on, weight does not require a gradient", true, false);
  }

 private:
  static bool enabled() { return at::autocast::is_autocast_enabled(at::kCPU); }
  void note(const std::string& what, const Json& value) { rows.push_back({what, value}); }
  void note(const std::string& what, bool value) { note(what, Json(value)); }
  void note(const std::string& what, const Tensor& t) { note(what, Json(name_of(t.scalar_type()))); }

  void in_region() {
    torch::autocast region(at::kCPU);
    note("autocast(cpu): enabled", enabled());
    note("autocast(cpu): dtype", Json(name_of(at::autocast::get_autocast_dtype(at::kCPU))));
    note("mm(f32, f32)", at::matmul(a_, a_));
    note("mm(bf16, f32)", at::matmul(b_, a_));
    note("add(f32, bf16)", a_ + b_);
    note("add(bf16, bf16)", b_ + b_);
    note("cat(f32, bf16)", at::cat({a_, b_}));
    note("stack(bf16, bf16)", at::stack({b_, b_}));
    note("exp(bf16)", b_.exp());
    note("mse_loss(bf16, bf16)", at::mse_loss(b_, b_));
    note("softmax(bf16)", at::softmax(b_, 0));
    note("layer_norm(bf16)", at::layer_norm(b_, {2}));
    note("mm(f64, f64)", at::matmul(a_.to(at::kDouble), a_.to(at::kDouble)));
    note("mm(i64, i64)", at::matmul(a_.to(at::kLong), a_.to(at::kLong)));
    Tensor out = at::empty({2, 2});
    note("mm.out(f32)", at::mm_out(out, a_, a_));
    note("addmm_ in place", a_.clone().addmm_(a_, a_));
    {
      torch::autocast off(at::kCPU, std::nullopt, false);
      note("nested enabled=False: enabled", enabled());
      note("nested enabled=False: mm(f32, f32)", at::matmul(a_, a_));
      torch::autocast again(at::kCPU, at::kHalf);
      note("nested again float16: mm(f32, f32)", at::matmul(a_, a_));
    }
    note("after the nested region: mm(f32, f32)", at::matmul(a_, a_));
    note("cache enabled", at::autocast::is_autocast_cache_enabled());
    torch::autocast uncached(at::kCPU, std::nullopt, true, false);
    note("cache_enabled=False", at::autocast::is_autocast_cache_enabled());
  }

  void gradients() {
    Tensor p = at::ones({2, 2}).set_requires_grad(true), y;
    {
      torch::autocast region(at::kCPU);
      y = at::matmul(at::matmul(a_, p), p);
    }
    y.sum().backward();
    note("gradient of a float32 parameter", p.grad());
  }

  void functions() {
    seen = &rows;
    {
      torch::autocast region(at::kCPU);
      const Tensor z = Cast::apply(at::ones({2}, at::TensorOptions(at::kBFloat16)).set_requires_grad(true));
      note("custom_fwd result", z);
      z.sum().backward();
    }
    Tensor z;
    {
      torch::autocast region(at::kCPU);
      z = Keep::apply(at::ones({2}).set_requires_grad(true));
    }
    z.sum().backward();
    seen = nullptr;
  }

  void casts(const std::string& what, bool cache, bool leaf) {
    const Tensor weight = at::ones({2, 2}).set_requires_grad(leaf);
    Tensor x = at::ones({2, 2}, at::TensorOptions(at::kBFloat16));
    CountCasts count;
    torch::autocast region(at::kCPU, std::nullopt, true, cache);
    {
      const at::DispatchModeGuard guard(count);
      for (int i = 0; i < 3; ++i) x = at::matmul(x, weight);
    }
    note(what, Json(count.casts));
  }

  const Tensor a_ = at::ones({2, 2}), b_ = at::ones({2, 2}, at::TensorOptions(at::kBFloat16));
};

void replay_states(const Json& one, Check& check) {
  States states;
  states.run();
  const Json& recorded = one.at("rows");
  check.expect(states.rows.size() == recorded.size(), std::to_string(states.rows.size()) + " statements");
  for (size_t i = 0; i < std::min(states.rows.size(), recorded.size()); ++i) {
    check.equal("statement", states.rows[i][0], recorded[i][0]);
    check.equal(states.rows[i][0], states.rows[i][1], recorded[i][1]);
  }
}

// --- errors, GradScaler ---

// Null, or the message.
Json error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  }
  return nullptr;
}

void compare_errors(const std::map<std::string, std::function<void()>>& calls, const Json& recorded, Check& check) {
  for (const Json& row : recorded) {
    const std::string what = row[0];
    if (calls.count(what) == 0) {
      check.fail("no such statement: " + what);
      continue;
    }
    check.equal(what, error_of(calls.at(what)), row[1].is_null() ? Json() : row[1].at("message"));
    check.expect(row[1].is_null() || is_error(row[1].at("type")), what + ": another kind of error");
  }
}

void replay_scaler_errors(const Json& one, Check& check) {
  compare_errors({{"autocast(cpu, dtype=int32)", [] { torch::autocast region(at::kCPU, at::kInt); }},
                  {"autocast(nowhere)", [] { torch::autocast region("nowhere"); }}},
                 one.at("rows"), check);
}

torch::amp::GradScaler scaler_of(const Json& config) {
  torch::amp::GradScaler scaler(at::kCPU, number_of(config, "init_scale", 65536), number_of(config, "growth_factor", 2),
                                number_of(config, "backoff_factor", 0.5), integer_of(config, "growth_interval", 2000),
                                flag_of(config, "enabled", true));
  check_all_read(config, "config");
  return scaler;
}

void replay_scaler(const Json& one, Check& check) {
  using namespace torch::optim;
  torch::amp::GradScaler scaler = scaler_of(one.at("config"));
  Tensor p = at::zeros({3}).set_requires_grad(true), q = at::zeros({2}).set_requires_grad(true);
  const Json& settings = one.at("optimizer");
  const auto options = [&](const char* lr) {
    return SGDOptions(settings.at(lr).get<double>()).momentum(settings.at("momentum").get<double>());
  };
  SGD opt({OptimizerParamGroup({p}), OptimizerParamGroup({q}, std::make_unique<SGDOptions>(options("lr_of_second")))},
          options("lr"));
  size_t n = 0;
  for (const Json& step : one.at("steps")) {
    Check::Scope scope(check, "step " + std::to_string(n++));
    const Recordings& recorded = check.recordings();
    opt.zero_grad();
    const Tensor loss =
        at::sum(p * recorded.tensor(step.at("gradients")[0])) + at::sum(q * recorded.tensor(step.at("gradients")[1]));
    scaler.scale(loss).backward();
    if (has(step, "spoiled")) q.mutable_grad()[1] = step.at("spoiled") == "inf" ? INFINITY : NAN;
    if (step.at("unscale_first")) {
      scaler.unscale_(opt);
      check.tensor("unscaled", p.grad(), step.at("unscaled")[0]);
      check.tensor("unscaled", q.grad(), step.at("unscaled")[1]);
    }
    scaler.step(opt);
    scaler.update();
    check.number("scale", scaler.get_scale(), step.at("scale"));
    check.equal("growth_tracker", scaler.growth_tracker(), step.at("growth_tracker"));
    check.tensor("parameter", p, step.at("parameters")[0]);
    check.tensor("parameter", q, step.at("parameters")[1]);
  }
  Json state = Json::object();
  for (const auto& entry : scaler.state_dict()) {
    if (entry.value().isInt())
      state[entry.key()] = entry.value().toInt();
    else
      state[entry.key()] = entry.value().toDouble();
  }
  check.equal("state_dict", state, one.at("state_dict"));
}

void replay_scaler_api(const Json& one, Check& check) {
  torch::amp::GradScaler s(at::kCPU, 8.0);
  const Tensor x = at::tensor({1.0f, 2.0f});
  const std::map<std::string, std::function<void(const Json&)>> rows = {
      {"scale(tensor)", [&](const Json& r) { check.tensor("scale(tensor)", s.scale(x), r); }},
      {"scale([t, t])",
       [&](const Json& r) {
         const auto scaled = s.scale({x, x * 2});
         for (size_t i = 0; i < 2; ++i) check.tensor("scale([t, t])", scaled[i], r[i]);
       }},
      {"get_scale", [&](const Json& r) { check.number("get_scale", s.get_scale(), r); }},
      {"get_growth_factor", [&](const Json& r) { check.number("get_growth_factor", s.get_growth_factor(), r); }},
      {"get_backoff_factor", [&](const Json& r) { check.number("get_backoff_factor", s.get_backoff_factor(), r); }},
      {"get_growth_interval", [&](const Json& r) { check.equal("get_growth_interval", s.get_growth_interval(), r); }},
      {"is_enabled", [&](const Json& r) { check.equal("is_enabled", s.is_enabled(), r); }},
      {"update(4.0); get_scale", [&](const Json& r) {
         s.update(4.0);
         check.number("update(4.0); get_scale", s.get_scale(), r);
       }}};
  for (const Json& row : one.at("rows")) {
    const auto f = rows.find(row[0]);
    if (f != rows.end())
      f->second(row[1]);
    else
      check.fail("no such statement: " + row[0].get<std::string>());
  }
  Tensor p = at::zeros({1}).set_requires_grad(true);
  torch::optim::SGD opt({p}, 0.1);
  torch::amp::GradScaler used(at::kCPU);
  used.scale(at::sum(p * 1)).backward();
  used.unscale_(opt);
  const auto stepped = [&](void (*then)(torch::amp::GradScaler&, torch::optim::SGD&)) {
    return [=, &opt] {
      torch::amp::GradScaler fresh(at::kCPU);
      fresh.scale(at::sum(p * 1)).backward();
      fresh.step(opt);
      then(fresh, opt);
    };
  };
  compare_errors({{"step without a gradient", [&] { torch::amp::GradScaler(at::kCPU).step(opt); }},
                  {"unscale_ twice", [&] { used.unscale_(opt); }},
                  {"unscale_ after step", stepped([](auto& scaler, auto& sgd) { scaler.unscale_(sgd); })},
                  {"step twice", stepped([](auto& scaler, auto& sgd) { scaler.step(sgd); })},
                  {"update before scale", [] { torch::amp::GradScaler(at::kCPU).update(); }},
                  {"growth_factor 1", [] { torch::amp::GradScaler(at::kCPU, 65536, 1.0); }},
                  {"backoff_factor 1", [] { torch::amp::GradScaler(at::kCPU, 65536, 2.0, 1.0); }}},
                 one.at("errors"), check);
}

}  // namespace

void replay_amp(const Json& one, Check& check) {
  const std::string kind = one.at("kind");
  if (kind == "policy") return replay_policy(one, check);
  if (kind == "default dtype")
    return check.equal("dtype", name_of(at::autocast::get_autocast_dtype(device_of(one))), one.at("dtype"));
  if (kind == "result dtypes") return replay_result_dtypes(one, check);
  if (kind == "model") return replay_model(one, check);
  if (kind == "states") return replay_states(one, check);
  if (kind == "errors") return replay_scaler_errors(one, check);
  if (kind == "GradScaler") return replay_scaler(one, check);
  if (kind == "GradScaler api") return replay_scaler_api(one, check);
  check.fail("no such kind of case: " + kind);
}

}  // namespace recorded
