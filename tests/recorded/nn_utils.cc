// torch.nn.utils: parametrizations, weight and spectral norm, pruning, clipping, packing, fusion, functional_call.
#include "nn/utils/utils.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"
#include "tests/recorded/families.h"
#include "tests/recorded/modules.h"

namespace recorded {
namespace {

namespace nn = torch::nn;
namespace utils = torch::nn::utils;
namespace parametrize = torch::nn::utils::parametrize;
namespace prune = torch::nn::utils::prune;
using at::Tensor;

// A layer that takes one tensor, as torch.nn's class of this name and its configuration.
Built build_layer(const Json& spec) {
  Built layer = build(spec.at("class"), spec.at("config"), [](const Json&) -> Tensor {
    throw std::runtime_error("a tensor in a layer's configuration");
  });
  if (layer.module == nullptr) throw std::runtime_error("no class " + spec.at("class").get<std::string>() + " here");
  return layer;
}
Tensor forward(const Built& layer, const Tensor& x) {
  static const Json none = Json::object(), inputs = Json::array({Json()});
  Call call;
  call.inputs = {x};
  call.kwargs = &none;
  call.raw = &inputs;
  return layer.forward(call).at(0);
}

// Of a case whose module is the same in all: throws where it is another.
void expect_module(const Json& one, const std::string& text) {
  if (read(one, "module") != text) refuse_value("module", read(one, "module").dump());
}

void seed(const Json& one) {
  at::manual_seed(read(one, "seed").get<uint64_t>());
}

void check_state(Check& check, const std::string& what, nn::Module& m, const Json& recorded) {
  Check::Scope scope(check, what);
  const nn::StateDict state = m.state_dict();
  std::vector<std::string> missing;
  for (const auto& [name, value] : recorded.items()) {
    if (const Tensor* there = state.find(name)) {
      check.tensor(name, *there, value);
    } else {
      check.fail("no " + name);
    }
  }
  if (state.size() != recorded.size()) check.equal("keys", state.keys(), Json(recorded.size()));
}

void load(Check& check, nn::Module& m, const Json& state) {
  c10::NoGradGuard no_grad;
  nn::StateDict own = m.state_dict();
  for (const auto& [name, value] : state.items()) own[name].copy_(check.recordings().tensor(value));
}

// Parameters by name, for gradients.
struct Leaves {
  std::vector<Tensor> tensors;
  std::vector<std::string> names;
  std::vector<Json> recorded;
};
Leaves leaves_of(const nn::Module& m, const Json& gradients) {
  Leaves leaves;
  const auto parameters = m.named_parameters();
  for (const auto& [name, recorded] : gradients.items()) {
    leaves.names.push_back(name);
    leaves.tensors.push_back(parameters[name]);
    leaves.recorded.push_back(recorded);
  }
  return leaves;
}
void check_gradients(Check& check, const Tensor& result, const nn::Module& m, const Json& gradients) {
  const Leaves leaves = leaves_of(m, gradients);
  check.gradients({result}, leaves.tensors, leaves.names, leaves.recorded);
}

std::optional<int64_t> dim_of(const Json& k, std::optional<int64_t> otherwise) {
  if (!k.contains("dim")) return otherwise;
  return has(k, "dim") ? std::optional<int64_t>(read(k, "dim").get<int64_t>()) : std::nullopt;
}

void apply_parametrization(nn::Module& m, const std::string& apply, const Json& k) {
  const std::string name = text_of(k, "name", "weight");
  const bool spectral = apply.find("spectral") != std::string::npos;
  const int64_t iterations = spectral ? integer_of(k, "n_power_iterations", 1) : 0;
  const double eps = spectral ? number_of(k, "eps", 1e-12) : 0;
  if (apply == "weight_norm") return utils::parametrizations::weight_norm(m, name, dim_of(k, 0));
  if (apply == "spectral_norm")
    return utils::parametrizations::spectral_norm(m, name, iterations, eps, dim_of(k, std::nullopt));
  if (apply == "legacy weight_norm") return utils::weight_norm(m, name, dim_of(k, 0));
  if (apply == "legacy spectral_norm") return utils::spectral_norm(m, name, iterations, eps, dim_of(k, std::nullopt));
  if (apply != "orthogonal") throw std::runtime_error("no parametrization " + apply + " here");
  std::optional<std::string> map;
  if (has(k, "orthogonal_map")) map = read(k, "orthogonal_map").get<std::string>();
  utils::parametrizations::orthogonal(m, name, map, flag_of(k, "use_trivialization", true));
}

void replay_parametrization(const Json& one, Check& check) {
  seed(one);
  const Built layer = build_layer(read(one, "module"));
  nn::Module& m = *layer.module;
  m.to(read(one, "dtype") == "float64" ? at::kDouble : at::kFloat);
  check_state(check, "base", m, read(one, "base"));
  const std::string apply = read(one, "apply");
  const std::string name = text_of(read(one, "kwargs"), "name", "weight");
  const bool legacy = apply.rfind("legacy", 0) == 0;
  apply_parametrization(m, apply, read(one, "kwargs"));
  check.then(read(one, "then"));
  check.equal("state_dict keys", m.state_dict().keys(), read(one, "state_dict_keys"));
  check.equal("parameter names", m.named_parameters().keys(), read(one, "parameter_names"));
  check_state(check, "state", m, read(one, "state"));
  const Tensor input = check.recordings().tensor(read(one, "input"));
  for (const Json& pass : read(one, "passes")) {
    Check::Scope scope(check, pass.at("mode").get<std::string>());
    m.train(pass.at("mode") == "train");
    const Tensor y = forward(layer, input);
    check.tensor("output", y, pass.at("output"));
    // Python computes what it reads.
    check.tensor("weight", legacy ? nn::tensor_member(m, name) : parametrize::get(m, name), pass.at("weight"));
    if (pass.contains("grad_parameters")) check_gradients(check, y, m, pass.at("grad_parameters"));
  }
  check_state(check, "state after", m, read(one, "state_after"));
  if (apply == "legacy weight_norm") {
    utils::remove_weight_norm(m, name);
  } else if (legacy) {
    utils::remove_spectral_norm(m, name);
  } else {
    parametrize::remove_parametrizations(m, name);
  }
  check_state(check, "removed", m, read(one, "removed"));
}

struct SymmetricImpl : nn::Cloneable<SymmetricImpl> {
  Tensor forward(const Tensor& x) { return at::add(at::triu(x), at::transpose(at::triu(x, 1), -1, -2)); }
  Tensor right_inverse(const Tensor& a) { return at::triu(a); }
  void reset() override {}
};
struct ExponentialImpl : nn::Cloneable<ExponentialImpl> {
  Tensor forward(const Tensor& x) { return at::exp(x); }
  Tensor right_inverse(const Tensor& a) { return at::log(at::abs(a)); }
  void reset() override {}
};

void replay_custom(const Json& one, Check& check) {
  seed(one);
  const Built layer = build_layer(read(one, "module"));
  nn::Module& m = *layer.module;
  for (const Json& link : read(one, "chain")) {
    if (link == "symmetric") {
      parametrize::register_parametrization(m, "weight", std::make_shared<SymmetricImpl>());
    } else if (link != "exponential") {
      throw std::runtime_error("no parametrization " + link.dump() + " here");
    } else {
      parametrize::register_parametrization(m, "weight", std::make_shared<ExponentialImpl>());
    }
  }
  check.equal("state_dict keys", m.state_dict().keys(), read(one, "state_dict_keys"));
  check_state(check, "state", m, read(one, "state"));
  check.tensor("weight", nn::tensor_member(m, "weight"), read(one, "weight"));
  const Tensor y = forward(layer, check.recordings().tensor(read(one, "input")));
  check.tensor("output", y, read(one, "output"));
  check_gradients(check, y, m, read(one, "grad_parameters"));
  parametrize::assign(m, "weight", check.recordings().tensor(read(one, "assigned")));
  check.tensor("original", m.get_parameter("parametrizations.weight.original"), read(one, "original_after_assignment"));
  check.tensor("assigned weight", parametrize::get(m, "weight"), read(one, "weight_after_assignment"));
  {
    const parametrize::CachedGuard cached;
    const Tensor first = parametrize::get(m, "weight");
    check.equal("cached is same", first.is_same(parametrize::get(m, "weight")), read(one, "cached_is_same"));
  }
  check.equal("is_parametrized",
              std::vector<bool>{parametrize::is_parametrized(m), parametrize::is_parametrized(m, "bias")},
              read(one, "is_parametrized"));
  parametrize::remove_parametrizations(m, "weight", read(one, "leave_parametrized").get<bool>());
  check.tensor("removed", m.get_parameter("weight"), read(one, "removed"));
}

prune::Amount amount_of(const Json& v) {
  return v.is_number_integer() ? prune::Amount(v.get<int64_t>()) : prune::Amount(v.get<double>());
}

void prune_step(nn::Module& m, const std::string& method, const Json& k, Check& check) {
  const std::string name = read(k, "name");
  const auto tensor = [&](const char* key) { return has(k, key) ? check.recordings().tensor(k.at(key)) : Tensor(); };
  if (method == "identity") return prune::identity(m, name);
  if (method == "custom_from_mask") return prune::custom_from_mask(m, name, tensor("mask"));
  const prune::Amount amount = amount_of(read(k, "amount"));
  if (method == "l1_unstructured") return prune::l1_unstructured(m, name, amount, tensor("importance_scores"));
  if (method == "random_unstructured") return prune::random_unstructured(m, name, amount);
  const int64_t dim = read(k, "dim").get<int64_t>();
  if (method == "random_structured") return prune::random_structured(m, name, amount, dim);
  if (method != "ln_structured") throw std::runtime_error("no pruning " + method + " here");
  return prune::ln_structured(m, name, amount, conformance::number(read(k, "n")), dim, tensor("importance_scores"));
}

void replay_prune(const Json& one, Check& check) {
  seed(one);
  const Built layer = build_layer(read(one, "module"));
  nn::Module& m = *layer.module;
  check_state(check, "base", m, read(one, "base"));
  std::vector<std::string> pruned;
  for (const Json& step : read(one, "steps")) {
    const std::string method = step.at("method"), name = step.at("kwargs").at("name");
    Check::Scope scope(check, method);
    prune_step(m, method, step.at("kwargs"), check);
    check.then(step.at("then"));
    check.tensor("mask", m.get_buffer(name + "_mask"), step.at("mask"));
    check.tensor("value", nn::tensor_member(m, name), step.at("value"));
    if (std::find(pruned.begin(), pruned.end(), name) == pruned.end()) pruned.push_back(name);
  }
  check.equal("state_dict keys", m.state_dict().keys(), read(one, "state_dict_keys"));
  check.equal("is_pruned", prune::is_pruned(m), read(one, "is_pruned"));
  const Tensor y = forward(layer, check.recordings().tensor(read(one, "input")));
  check.tensor("output", y, read(one, "output"));
  check_gradients(check, y, m, read(one, "grad_parameters"));
  for (const std::string& name : pruned) prune::remove(m, name);
  std::vector<std::string> keys = m.state_dict().keys(), recorded = read(one, "removed_keys");
  // Python removed them in no certain order.
  std::sort(keys.begin(), keys.end());
  std::sort(recorded.begin(), recorded.end());
  check.equal("removed keys", keys, recorded);
}

void replay_prune_global(const Json& one, Check& check) {
  seed(one);
  expect_module(one, "Sequential(Linear(3, 4), Linear(4, 2))");
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
  check_state(check, "base", *net, read(one, "base"));
  prune::ModuleParameters parameters;
  for (const Json& p : read(one, "parameters"))
    parameters.emplace_back(*net->get_submodule(p.at(0)), p.at(1).get<std::string>());
  const Json& k = read(one, "kwargs");
  const prune::Amount amount = amount_of(read(k, "amount"));
  // A list with one for each parameter, or [module, name, scores] for some of them.
  std::vector<Tensor> scores;
  if (has(k, "importance_scores")) {
    scores.resize(parameters.size());
    const Json& given = read(k, "importance_scores");
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i].is_array()) {
        scores.at(i) = check.recordings().tensor(given[i]);
        continue;
      }
      for (size_t p = 0; p < parameters.size(); ++p) {
        const Json& parameter = one.at("parameters")[p];
        if (parameter.at(0) == given[i].at(0) && parameter.at(1) == given[i].at(1))
          scores[p] = check.recordings().tensor(given[i].at(2));
      }
    }
  }
  const std::string method = read(one, "method");
  if (method == "L1Unstructured") {
    prune::global_unstructured(parameters, prune::L1Unstructured(amount), scores);
  } else if (method == "RandomUnstructured") {
    prune::global_unstructured(parameters, prune::RandomUnstructured(amount), scores);
  } else {
    throw std::runtime_error("no pruning " + method + " here");
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    check.tensor("mask", parameters[i].first->get_buffer(parameters[i].second + "_mask"), read(one, "masks")[i]);
  check.equal("state_dict keys", net->state_dict().keys(), read(one, "state_dict_keys"));
}

// Parameters of zeros with these gradients.
std::vector<Tensor> with_gradients(const Json& gradients, Check& check) {
  std::vector<Tensor> parameters;
  for (const Json& g : gradients) {
    const Tensor gradient = g.is_null() ? Tensor() : at::clone(check.recordings().tensor(g));
    Tensor p = gradient.defined() ? at::zeros_like(gradient) : at::zeros({2});
    p.set_requires_grad(true);
    if (gradient.defined()) p.mutable_grad() = gradient;
    parameters.push_back(p);
  }
  return parameters;
}
void check_after(const std::vector<Tensor>& parameters, const Json& after, Check& check) {
  for (size_t i = 0; i < parameters.size(); ++i) check.tensor("after", parameters[i].grad(), after[i]);
}

void replay_clip(const Json& one, Check& check) {
  const std::string kind = read(one, "kind");
  if (kind == "get_total_norm") {
    std::vector<Tensor> tensors;
    for (const Json& t : read(one, "tensors")) tensors.push_back(check.recordings().tensor(t));
    (void)has(one, "foreach");  // the same result
    return check.tensor("value",
                        utils::get_total_norm(tensors, conformance::number(read(one, "norm_type")),
                                              flag_of(one, "error_if_nonfinite", false)),
                        read(one, "value"));
  }
  const std::vector<Tensor> parameters = with_gradients(read(one, "grads"), check);
  if (kind == "clip_grad_value_") {
    utils::clip_grad_value_(parameters, read(one, "clip_value").get<double>());
  } else if (kind == "clip_grads_with_norm_") {
    utils::clip_grads_with_norm_(parameters, read(one, "max_norm").get<double>(),
                                 read(one, "total_norm").get<double>());
  } else {
    const double norm_type = conformance::number(read(one, "norm_type"));
    const double max_norm = read(one, "max_norm").get<double>();
    const Tensor recorded = check.recordings().tensor(read(one, "total_norm"));
    if (kind == "clip_grad_norm_ nonfinite") {
      const bool refuses = has(one, "error_if_nonfinite");
      bool refused = false;
      try {
        utils::clip_grad_norm_(parameters, max_norm, norm_type, /*error_if_nonfinite=*/true);
      } catch (const c10::Error&) {
        refused = true;
      }
      check.expect(refused == refuses, "refused");
    }
    const double total = utils::clip_grad_norm_(parameters, max_norm, norm_type);
    check.tensor("total_norm", at::to(at::full({}, total, at::TensorOptions(at::kDouble)), recorded.scalar_type()),
                 read(one, "total_norm"));
  }
  check_after(parameters, read(one, "after"), check);
}

void replay_vectors(const Json& one, Check& check) {
  std::vector<Tensor> tensors, back;
  for (const Json& t : read(one, "tensors")) {
    tensors.push_back(check.recordings().tensor(t));
    back.push_back(at::clone(tensors.back()));
  }
  check.tensor("vector", utils::parameters_to_vector(tensors), read(one, "vector"));
  utils::vector_to_parameters(check.recordings().tensor(read(one, "new")), back);
  for (size_t i = 0; i < back.size(); ++i) check.tensor("back", back[i], read(one, "back")[i]);
}

void check_packed(Check& check, const utils::rnn::PackedSequence& got, const Json& value) {
  const Json& recorded = value.at("packed_sequence");
  check.tensor("data", got.data(), recorded.at("data"));
  check.tensor("batch_sizes", got.batch_sizes(), recorded.at("batch_sizes"));
  check.tensor("sorted_indices", got.sorted_indices(), recorded.at("sorted_indices"));
  check.tensor("unsorted_indices", got.unsorted_indices(), recorded.at("unsorted_indices"));
}

void check_list(Check& check, const std::string& what, const std::vector<Tensor>& got, const Json& recorded) {
  if (got.size() != recorded.size()) return check.fail(what + ": " + std::to_string(got.size()));
  for (size_t i = 0; i < got.size(); ++i) check.tensor(what, got[i], recorded[i]);
}

Tensor numbers(const std::vector<int64_t>& list) {
  Tensor t = at::empty({static_cast<int64_t>(list.size())}, at::TensorOptions(at::kLong));
  std::copy(list.begin(), list.end(), t.data_ptr<int64_t>());
  return t;
}

void replay_rnn(const Json& one, Check& check) {
  namespace rnn = torch::nn::utils::rnn;
  if (read(one, "kind") == "pack_padded_sequence") {
    const bool batch_first = read(one, "batch_first");
    const auto packed = rnn::pack_padded_sequence(check.recordings().tensor(read(one, "input")),
                                                  numbers(read(one, "lengths").get<std::vector<int64_t>>()),
                                                  batch_first, read(one, "enforce_sorted").get<bool>());
    check_packed(check, packed, read(one, "packed"));
    std::optional<int64_t> total;
    if (has(one, "total_length")) total = read(one, "total_length").get<int64_t>();
    const auto [padded, lengths] =
        rnn::pad_packed_sequence(packed, batch_first, read(one, "padding_value").get<double>(), total);
    check.tensor("padded", padded, read(one, "padded"));
    check.tensor("padded lengths", lengths, read(one, "padded_lengths"));
    return check_list(check, "unpacked", rnn::unpack_sequence(packed), read(one, "unpacked"));
  }
  std::vector<Tensor> sequences;
  for (const Json& s : read(one, "sequences")) sequences.push_back(check.recordings().tensor(s));
  if (read(one, "kind") == "pack_sequence")
    return check_packed(check, rnn::pack_sequence(sequences, read(one, "enforce_sorted").get<bool>()),
                        read(one, "packed"));
  const Json& k = read(one, "kwargs");
  const bool batch_first = flag_of(k, "batch_first", false);
  const Tensor padded = rnn::pad_sequence(sequences, batch_first, number_of(k, "padding_value", 0),
                                          text_of(k, "padding_side", "right"));
  check.tensor("padded", padded, read(one, "padded"));
  if (!one.contains("unpadded")) return;
  std::vector<int64_t> lengths;
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  check_list(check, "unpadded", rnn::unpad_sequence(padded, numbers(lengths), batch_first), read(one, "unpadded"));
}

template <typename Layer, typename Norm>
void replay_fuse(const Json& one, Check& check, const Layer& layer) {
  const Json& c = read(one, "norm").at("config");
  Norm norm(nn::BatchNormOptions(read(c, "num_features").get<int64_t>())
                .affine(flag_of(c, "affine", true))
                .momentum(number_of(c, "momentum", 0.1))
                .eps(number_of(c, "eps", 1e-5)));
  load(check, *layer.ptr(), read(one, "state"));
  load(check, *norm, read(one, "norm_state"));
  layer.ptr()->eval();
  norm->eval();
  Layer fused = [&] {
    if constexpr (std::is_same_v<Layer, nn::Linear>) {
      return utils::fuse_linear_bn_eval(layer, norm);
    } else {
      const bool transpose =
          read(one, "module").at("class").template get<std::string>().find("Transpose") != std::string::npos;
      return utils::fuse_conv_bn_eval(layer, norm, transpose);
    }
  }();
  check_state(check, "fused", *fused, read(one, "fused"));
  check.tensor("output", fused(check.recordings().tensor(read(one, "input"))), read(one, "output"));
}

void replay_fuse(const Json& one, Check& check) {
  const std::string name = read(one, "module").at("class");
  const std::shared_ptr<nn::Module> any = build_layer(read(one, "module")).module;
  const auto as = [&]<typename Impl>(std::shared_ptr<Impl>) { return std::dynamic_pointer_cast<Impl>(any); };
  using nn::BatchNorm1d, nn::BatchNorm2d, nn::BatchNorm3d;
#define FUSE(Layer, Norm) \
  if (name == #Layer) return replay_fuse<nn::Layer, Norm>(one, check, as(std::shared_ptr<nn::Layer##Impl>()))
  FUSE(Linear, BatchNorm1d);
  FUSE(Conv1d, BatchNorm1d);
  FUSE(Conv2d, BatchNorm2d);
  FUSE(Conv3d, BatchNorm3d);
  FUSE(ConvTranspose1d, BatchNorm1d);
  FUSE(ConvTranspose2d, BatchNorm2d);
  FUSE(ConvTranspose3d, BatchNorm3d);
#undef FUSE
  check.skip("no fusion of " + name + " here");
}

void replay_formats(const Json& one, Check& check) {
  const std::string module = read(one, "module");
  nn::Sequential net = module.find("Transpose") != std::string::npos
                           ? nn::Sequential(nn::ConvTranspose2d(3, 4, 2), nn::ReLU())
                       : module.find("3d") != std::string::npos ? nn::Sequential(nn::Conv3d(3, 4, 2), nn::ReLU())
                                                                : nn::Sequential(nn::Conv2d(3, 4, 2), nn::ReLU());
  const auto strides = [&] {
    Json all = Json::array();
    for (const Tensor& p : net->parameters()) all.push_back(p.strides().vec());
    return all;
  };
  check.equal("strides before", strides(), read(one, "strides_before"));
  const std::string format = read(one, "memory_format"), function = read(one, "function");
  if (format != "channels_last" && format != "channels_last_3d") refuse_value("memory_format", format);
  const at::MemoryFormat to =
      format == "channels_last" ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
  if (function == "convert_conv3d_weight_memory_format") {
    utils::convert_conv3d_weight_memory_format(net, to);
  } else if (function == "convert_conv2d_weight_memory_format") {
    utils::convert_conv2d_weight_memory_format(net, to);
  } else {
    refuse_value("function", function);
  }
  check.equal("strides after", strides(), read(one, "strides_after"));
}

void replay_functional_call(const Json& one, Check& check) {
  seed(one);
  expect_module(one, "Sequential(Linear(3, 4), BatchNorm1d(4), Tanh(), Linear(4, 2))");
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Tanh(), nn::Linear(4, 2));
  net->train(read(one, "mode") == "train");
  torch::OrderedDict<std::string, Tensor> given;
  std::vector<std::string> names;
  std::vector<Tensor> leaves;
  for (const auto& [name, value] : read(one, "given").items()) {
    Tensor t = at::clone(check.recordings().tensor(value));
    if (name != "1.running_mean") t.set_requires_grad(true);
    given.insert(name, t);
  }
  std::vector<Json> gradients;
  for (const auto& [name, recorded] : read(one, "gradients").items()) {
    names.push_back(name);
    leaves.push_back(given[name]);
    gradients.push_back(recorded);
  }
  const Tensor y = torch::func::functional_call(net, given, check.recordings().tensor(read(one, "input")));
  check.tensor("output", y, read(one, "output"));
  check.gradients({y}, leaves, names, gradients);
  for (const auto& [name, recorded] : read(one, "given_after").items()) check.tensor(name, given[name], recorded);
  check_state(check, "state after", *net, read(one, "state_after"));
}

void replay_kind(const Json& one, Check& check) {
  const std::string kind = read(one, "kind");
  if (kind == "parametrization") return replay_parametrization(one, check);
  if (kind == "custom parametrization") return replay_custom(one, check);
  if (kind == "prune") return replay_prune(one, check);
  if (kind == "prune global") return replay_prune_global(one, check);
  if (kind == "parameters_to_vector") return replay_vectors(one, check);
  if (kind == "fuse") return replay_fuse(one, check);
  if (kind == "convert_memory_format") return replay_formats(one, check);
  if (kind == "functional_call") return replay_functional_call(one, check);
  if (kind.rfind("pa", 0) == 0) return replay_rnn(one, check);
  replay_clip(one, check);
}

}  // namespace

void replay_nn_utils(const Json& one, Check& check) {
  replay_kind(one, check);
  if (check.skip_reason().empty()) check_all_read(one, "field", {"id", "repr", "kind"});
}

}  // namespace recorded
