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

namespace recorded {
namespace {

namespace nn = torch::nn;
namespace utils = torch::nn::utils;
namespace parametrize = torch::nn::utils::parametrize;
namespace prune = torch::nn::utils::prune;
using at::Tensor;

template <size_t D>
torch::ExpandingArray<D> kernel_of(const Json& config) {
  std::vector<int64_t> all = integers(config.at("kernel_size"));
  if (all.size() == 1) all.assign(D, all[0]);
  return torch::ExpandingArray<D>(all);
}

template <typename Conv, size_t D, template <size_t> class Options>
Conv conv_of(const Json& c) {
  return Conv(Options<D>(c.at("in_channels").get<int64_t>(), c.at("out_channels").get<int64_t>(), kernel_of<D>(c))
                  .bias(flag_of(c, "bias", true)));
}

nn::AnyModule build_layer(const Json& spec) {
  const Json& c = spec.at("config");
  const std::string name = spec.at("class");
  if (name == "Linear") {
    return nn::AnyModule(
        nn::Linear(nn::LinearOptions(c.at("in_features").get<int64_t>(), c.at("out_features").get<int64_t>())
                       .bias(flag_of(c, "bias", true))));
  }
  if (name == "Conv1d") return nn::AnyModule(conv_of<nn::Conv1d, 1, nn::ConvOptions>(c));
  if (name == "Conv2d") return nn::AnyModule(conv_of<nn::Conv2d, 2, nn::ConvOptions>(c));
  if (name == "Conv3d") return nn::AnyModule(conv_of<nn::Conv3d, 3, nn::ConvOptions>(c));
  if (name == "ConvTranspose1d") return nn::AnyModule(conv_of<nn::ConvTranspose1d, 1, nn::ConvTransposeOptions>(c));
  if (name == "ConvTranspose2d") return nn::AnyModule(conv_of<nn::ConvTranspose2d, 2, nn::ConvTransposeOptions>(c));
  throw std::runtime_error("no class " + name + " here");
}

void seed(const Json& one) {
  at::manual_seed(one.at("seed").get<uint64_t>());
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

std::optional<int64_t> dim_of(const Json& kwargs, std::optional<int64_t> otherwise) {
  if (!kwargs.contains("dim")) return otherwise;
  return kwargs.at("dim").is_null() ? std::nullopt : std::optional<int64_t>(kwargs.at("dim").get<int64_t>());
}

void apply_parametrization(nn::Module& m, const std::string& apply, const Json& k) {
  const std::string name = text_of(k, "name", "weight");
  const int64_t iterations = integer_of(k, "n_power_iterations", 1);
  const double eps = number_of(k, "eps", 1e-12);
  if (apply == "weight_norm") return utils::parametrizations::weight_norm(m, name, dim_of(k, 0));
  if (apply == "spectral_norm")
    return utils::parametrizations::spectral_norm(m, name, iterations, eps, dim_of(k, std::nullopt));
  if (apply == "legacy weight_norm") return utils::weight_norm(m, name, dim_of(k, 0));
  if (apply == "legacy spectral_norm") return utils::spectral_norm(m, name, iterations, eps, dim_of(k, std::nullopt));
  return utils::parametrizations::orthogonal(m, name, k.at("orthogonal_map").get<std::string>(),
                                             k.at("use_trivialization").get<bool>());
}

void replay_parametrization(const Json& one, Check& check) {
  seed(one);
  nn::AnyModule layer = build_layer(one.at("module"));
  nn::Module& m = *layer.ptr();
  m.to(one.at("dtype") == "float64" ? at::kDouble : at::kFloat);
  check_state(check, "base", m, one.at("base"));
  const std::string apply = one.at("apply");
  const bool legacy = apply.rfind("legacy", 0) == 0;
  apply_parametrization(m, apply, one.at("kwargs"));
  check.then(one.at("then"));
  check.equal("state_dict keys", m.state_dict().keys(), one.at("state_dict_keys"));
  check.equal("parameter names", m.named_parameters().keys(), one.at("parameter_names"));
  check_state(check, "state", m, one.at("state"));
  const Tensor input = check.recordings().tensor(one.at("input"));
  for (const Json& pass : one.at("passes")) {
    Check::Scope scope(check, pass.at("mode").get<std::string>());
    m.train(pass.at("mode") == "train");
    const Tensor y = layer.forward(input);
    check.tensor("output", y, pass.at("output"));
    // Python computes what it reads.
    check.tensor("weight", legacy ? nn::tensor_member(m, "weight") : parametrize::get(m, "weight"), pass.at("weight"));
    if (pass.contains("grad_parameters")) check_gradients(check, y, m, pass.at("grad_parameters"));
  }
  check_state(check, "state after", m, one.at("state_after"));
  if (apply == "legacy weight_norm") {
    utils::remove_weight_norm(m);
  } else if (legacy) {
    utils::remove_spectral_norm(m);
  } else {
    parametrize::remove_parametrizations(m, "weight");
  }
  check_state(check, "removed", m, one.at("removed"));
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
  nn::AnyModule layer = build_layer(one.at("module"));
  nn::Module& m = *layer.ptr();
  for (const Json& link : one.at("chain")) {
    if (link == "symmetric") {
      parametrize::register_parametrization(m, "weight", std::make_shared<SymmetricImpl>());
    } else {
      parametrize::register_parametrization(m, "weight", std::make_shared<ExponentialImpl>());
    }
  }
  check.equal("state_dict keys", m.state_dict().keys(), one.at("state_dict_keys"));
  check_state(check, "state", m, one.at("state"));
  check.tensor("weight", nn::tensor_member(m, "weight"), one.at("weight"));
  const Tensor y = layer.forward(check.recordings().tensor(one.at("input")));
  check.tensor("output", y, one.at("output"));
  check_gradients(check, y, m, one.at("grad_parameters"));
  parametrize::assign(m, "weight", check.recordings().tensor(one.at("assigned")));
  check.tensor("original", m.get_parameter("parametrizations.weight.original"), one.at("original_after_assignment"));
  check.tensor("assigned weight", parametrize::get(m, "weight"), one.at("weight_after_assignment"));
  {
    const parametrize::CachedGuard cached;
    const Tensor first = parametrize::get(m, "weight");
    check.equal("cached is same", first.is_same(parametrize::get(m, "weight")), one.at("cached_is_same"));
  }
  check.equal("is_parametrized",
              std::vector<bool>{parametrize::is_parametrized(m), parametrize::is_parametrized(m, "bias")},
              one.at("is_parametrized"));
  parametrize::remove_parametrizations(m, "weight", one.at("leave_parametrized").get<bool>());
  check.tensor("removed", m.get_parameter("weight"), one.at("removed"));
}

prune::Amount amount_of(const Json& v) {
  return v.is_number_integer() ? prune::Amount(v.get<int64_t>()) : prune::Amount(v.get<double>());
}

void prune_step(nn::Module& m, const std::string& method, const Json& k, Check& check) {
  const std::string name = k.at("name");
  const auto tensor = [&](const char* key) { return has(k, key) ? check.recordings().tensor(k.at(key)) : Tensor(); };
  if (method == "identity") return prune::identity(m, name);
  if (method == "custom_from_mask") return prune::custom_from_mask(m, name, tensor("mask"));
  const prune::Amount amount = amount_of(k.at("amount"));
  if (method == "l1_unstructured") return prune::l1_unstructured(m, name, amount, tensor("importance_scores"));
  if (method == "random_unstructured") return prune::random_unstructured(m, name, amount);
  const int64_t dim = k.at("dim").get<int64_t>();
  if (method == "random_structured") return prune::random_structured(m, name, amount, dim);
  return prune::ln_structured(m, name, amount, conformance::number(k.at("n")), dim);
}

void replay_prune(const Json& one, Check& check) {
  seed(one);
  nn::AnyModule layer = build_layer(one.at("module"));
  nn::Module& m = *layer.ptr();
  check_state(check, "base", m, one.at("base"));
  std::vector<std::string> pruned;
  for (const Json& step : one.at("steps")) {
    const std::string method = step.at("method"), name = step.at("kwargs").at("name");
    Check::Scope scope(check, method);
    prune_step(m, method, step.at("kwargs"), check);
    check.then(step.at("then"));
    check.tensor("mask", m.get_buffer(name + "_mask"), step.at("mask"));
    check.tensor("value", nn::tensor_member(m, name), step.at("value"));
    if (std::find(pruned.begin(), pruned.end(), name) == pruned.end()) pruned.push_back(name);
  }
  check.equal("state_dict keys", m.state_dict().keys(), one.at("state_dict_keys"));
  check.equal("is_pruned", prune::is_pruned(m), one.at("is_pruned"));
  const Tensor y = layer.forward(check.recordings().tensor(one.at("input")));
  check.tensor("output", y, one.at("output"));
  check_gradients(check, y, m, one.at("grad_parameters"));
  for (const std::string& name : pruned) prune::remove(m, name);
  std::vector<std::string> keys = m.state_dict().keys(), recorded = one.at("removed_keys");
  // Python removed them in no certain order.
  std::sort(keys.begin(), keys.end());
  std::sort(recorded.begin(), recorded.end());
  check.equal("removed keys", keys, recorded);
}

void replay_prune_global(const Json& one, Check& check) {
  seed(one);
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
  check_state(check, "base", *net, one.at("base"));
  prune::ModuleParameters parameters;
  for (const Json& p : one.at("parameters"))
    parameters.emplace_back(*net->get_submodule(p.at(0)), p.at(1).get<std::string>());
  const prune::Amount amount = amount_of(one.at("kwargs").at("amount"));
  if (one.at("method") == "L1Unstructured") {
    prune::global_unstructured(parameters, prune::L1Unstructured(amount));
  } else {
    prune::global_unstructured(parameters, prune::RandomUnstructured(amount));
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    check.tensor("mask", parameters[i].first->get_buffer(parameters[i].second + "_mask"), one.at("masks")[i]);
  check.equal("state_dict keys", net->state_dict().keys(), one.at("state_dict_keys"));
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
  const std::string kind = one.at("kind");
  if (kind == "get_total_norm") {
    std::vector<Tensor> tensors;
    for (const Json& t : one.at("tensors")) tensors.push_back(check.recordings().tensor(t));
    return check.tensor("value", utils::get_total_norm(tensors, conformance::number(one.at("norm_type"))),
                        one.at("value"));
  }
  const std::vector<Tensor> parameters = with_gradients(one.at("grads"), check);
  if (kind == "clip_grad_value_") {
    utils::clip_grad_value_(parameters, one.at("clip_value").get<double>());
  } else if (kind == "clip_grads_with_norm_") {
    utils::clip_grads_with_norm_(parameters, one.at("max_norm").get<double>(), one.at("total_norm").get<double>());
  } else {
    const double norm_type = conformance::number(one.at("norm_type"));
    const double max_norm = one.at("max_norm").get<double>();
    const Tensor recorded = check.recordings().tensor(one.at("total_norm"));
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
                 one.at("total_norm"));
  }
  check_after(parameters, one.at("after"), check);
}

void replay_vectors(const Json& one, Check& check) {
  std::vector<Tensor> tensors, back;
  for (const Json& t : one.at("tensors")) {
    tensors.push_back(check.recordings().tensor(t));
    back.push_back(at::clone(tensors.back()));
  }
  check.tensor("vector", utils::parameters_to_vector(tensors), one.at("vector"));
  utils::vector_to_parameters(check.recordings().tensor(one.at("new")), back);
  for (size_t i = 0; i < back.size(); ++i) check.tensor("back", back[i], one.at("back")[i]);
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
  if (one.at("kind") == "pack_padded_sequence") {
    const bool batch_first = one.at("batch_first");
    const auto packed = rnn::pack_padded_sequence(check.recordings().tensor(one.at("input")),
                                                  numbers(one.at("lengths").get<std::vector<int64_t>>()), batch_first,
                                                  one.at("enforce_sorted").get<bool>());
    check_packed(check, packed, one.at("packed"));
    std::optional<int64_t> total;
    if (has(one, "total_length")) total = one.at("total_length").get<int64_t>();
    const auto [padded, lengths] =
        rnn::pad_packed_sequence(packed, batch_first, one.at("padding_value").get<double>(), total);
    check.tensor("padded", padded, one.at("padded"));
    check.tensor("padded lengths", lengths, one.at("padded_lengths"));
    return check_list(check, "unpacked", rnn::unpack_sequence(packed), one.at("unpacked"));
  }
  std::vector<Tensor> sequences;
  for (const Json& s : one.at("sequences")) sequences.push_back(check.recordings().tensor(s));
  if (one.at("kind") == "pack_sequence")
    return check_packed(check, rnn::pack_sequence(sequences, one.at("enforce_sorted").get<bool>()), one.at("packed"));
  const Json& k = one.at("kwargs");
  const bool batch_first = k.at("batch_first");
  const Tensor padded = rnn::pad_sequence(sequences, batch_first, k.at("padding_value").get<double>(),
                                          k.at("padding_side").get<std::string>());
  check.tensor("padded", padded, one.at("padded"));
  if (!one.contains("unpadded")) return;
  std::vector<int64_t> lengths;
  for (const Tensor& s : sequences) lengths.push_back(s.size(0));
  check_list(check, "unpadded", rnn::unpad_sequence(padded, numbers(lengths), batch_first), one.at("unpadded"));
}

template <typename Layer, typename Norm>
void replay_fuse(const Json& one, Check& check, const Layer& layer) {
  const Json& c = one.at("norm").at("config");
  Norm norm(nn::BatchNormOptions(c.at("num_features").get<int64_t>())
                .affine(c.at("affine").get<bool>())
                .eps(c.at("eps").get<double>()));
  load(check, *layer.ptr(), one.at("state"));
  load(check, *norm, one.at("norm_state"));
  layer.ptr()->eval();
  norm->eval();
  Layer fused = [&] {
    if constexpr (std::is_same_v<Layer, nn::Linear>) {
      return utils::fuse_linear_bn_eval(layer, norm);
    } else {
      const bool transpose =
          one.at("module").at("class").template get<std::string>().find("Transpose") != std::string::npos;
      return utils::fuse_conv_bn_eval(layer, norm, transpose);
    }
  }();
  check_state(check, "fused", *fused, one.at("fused"));
  check.tensor("output", fused(check.recordings().tensor(one.at("input"))), one.at("output"));
}

void replay_fuse(const Json& one, Check& check) {
  const std::string name = one.at("module").at("class");
  const nn::AnyModule any = build_layer(one.at("module"));
  if (name == "Linear") return replay_fuse<nn::Linear, nn::BatchNorm1d>(one, check, any.ptr<nn::LinearImpl>());
  if (name == "Conv1d") return replay_fuse<nn::Conv1d, nn::BatchNorm1d>(one, check, any.ptr<nn::Conv1dImpl>());
  if (name == "Conv2d") return replay_fuse<nn::Conv2d, nn::BatchNorm2d>(one, check, any.ptr<nn::Conv2dImpl>());
  if (name == "Conv3d") return replay_fuse<nn::Conv3d, nn::BatchNorm3d>(one, check, any.ptr<nn::Conv3dImpl>());
  if (name == "ConvTranspose1d")
    return replay_fuse<nn::ConvTranspose1d, nn::BatchNorm1d>(one, check, any.ptr<nn::ConvTranspose1dImpl>());
  replay_fuse<nn::ConvTranspose2d, nn::BatchNorm2d>(one, check, any.ptr<nn::ConvTranspose2dImpl>());
}

void replay_formats(const Json& one, Check& check) {
  const std::string module = one.at("module");
  nn::Sequential net = module.find("Transpose") != std::string::npos
                           ? nn::Sequential(nn::ConvTranspose2d(3, 4, 2), nn::ReLU())
                       : module.find("3d") != std::string::npos ? nn::Sequential(nn::Conv3d(3, 4, 2), nn::ReLU())
                                                                : nn::Sequential(nn::Conv2d(3, 4, 2), nn::ReLU());
  const auto strides = [&] {
    Json all = Json::array();
    for (const Tensor& p : net->parameters()) all.push_back(p.strides().vec());
    return all;
  };
  check.equal("strides before", strides(), one.at("strides_before"));
  if (one.at("function") == "convert_conv3d_weight_memory_format") {
    utils::convert_conv3d_weight_memory_format(net, at::MemoryFormat::ChannelsLast3d);
  } else {
    utils::convert_conv2d_weight_memory_format(net, at::MemoryFormat::ChannelsLast);
  }
  check.equal("strides after", strides(), one.at("strides_after"));
}

void replay_functional_call(const Json& one, Check& check) {
  seed(one);
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4), nn::Tanh(), nn::Linear(4, 2));
  net->train(one.at("mode") == "train");
  torch::OrderedDict<std::string, Tensor> given;
  std::vector<std::string> names;
  std::vector<Tensor> leaves;
  for (const auto& [name, value] : one.at("given").items()) {
    Tensor t = at::clone(check.recordings().tensor(value));
    if (name != "1.running_mean") t.set_requires_grad(true);
    given.insert(name, t);
  }
  std::vector<Json> gradients;
  for (const auto& [name, recorded] : one.at("gradients").items()) {
    names.push_back(name);
    leaves.push_back(given[name]);
    gradients.push_back(recorded);
  }
  const Tensor y = torch::func::functional_call(net, given, check.recordings().tensor(one.at("input")));
  check.tensor("output", y, one.at("output"));
  check.gradients({y}, leaves, names, gradients);
  for (const auto& [name, recorded] : one.at("given_after").items()) check.tensor(name, given[name], recorded);
  check_state(check, "state after", *net, one.at("state_after"));
}

}  // namespace

void replay_nn_utils(const Json& one, Check& check) {
  const std::string kind = one.at("kind");
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

}  // namespace recorded
