// torch.nn.init: what a tensor of zeros is after a seed, and where the generator stands then.
#include "nn/init/init.h"

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "tests/recorded/families.h"
#include "tests/recorded/named_calls.h"

namespace recorded {
namespace {

namespace init = torch::nn::init;
using at::Tensor;

}  // namespace

init::NonlinearityType nonlinearity_of(const std::string& name) {
  static const std::vector<std::pair<std::string, init::NonlinearityType>> all = {
      {"linear", torch::kLinear},
      {"conv1d", torch::kConv1D},
      {"conv2d", torch::kConv2D},
      {"conv3d", torch::kConv3D},
      {"conv_transpose1d", torch::kConvTranspose1D},
      {"conv_transpose2d", torch::kConvTranspose2D},
      {"conv_transpose3d", torch::kConvTranspose3D},
      {"sigmoid", torch::kSigmoid},
      {"tanh", torch::kTanh},
      {"relu", torch::kReLU},
      {"leaky_relu", torch::kLeakyReLU},
      {"selu", torch::kSELU},
  };
  for (const auto& [text, value] : all) {
    if (text == name) return value;
  }
  throw std::runtime_error("no nonlinearity " + name);
}

namespace {

init::FanModeType mode_of(const Json& k) {
  const std::string mode = text_of(k, "mode", "fan_in");
  if (mode == "fan_out") return torch::kFanOut;
  if (mode != "fan_in") refuse_value("mode", mode);
  return torch::kFanIn;
}

Tensor zeros(const Json& one) {
  const std::string name = read(one, "dtype");
  const at::ScalarType dtype = name == "float64"    ? at::kDouble
                               : name == "bfloat16" ? at::kBFloat16
                               : name == "float16"  ? at::kHalf
                                                    : at::kFloat;
  std::vector<int64_t> size = read(one, "size");
  // The only layout that is not contiguous is a transposed matrix.
  if (one.contains("from")) return at::t(at::zeros({size[1], size[0]}, at::TensorOptions(dtype)));
  return at::zeros(size, at::TensorOptions(dtype));
}

}  // namespace

void initialize(const std::string& f, Tensor t, const Json& k) {
  const auto number = [&](const char* name, double otherwise) { return number_of(k, name, otherwise); };
  if (f == "uniform_") return (void)init::uniform_(t, number("a", 0), number("b", 1));
  if (f == "normal_") return (void)init::normal_(t, number("mean", 0), number("std", 1));
  if (f == "trunc_normal_")
    return (void)init::trunc_normal_(t, number("mean", 0), number("std", 1), number("a", -2), number("b", 2));
  if (f == "xavier_uniform_") return (void)init::xavier_uniform_(t, number("gain", 1));
  if (f == "xavier_normal_") return (void)init::xavier_normal_(t, number("gain", 1));
  const init::NonlinearityType nonlinearity = nonlinearity_of(text_of(k, "nonlinearity", "leaky_relu"));
  if (f == "kaiming_uniform_") return (void)init::kaiming_uniform_(t, number("a", 0), mode_of(k), nonlinearity);
  if (f == "kaiming_normal_") return (void)init::kaiming_normal_(t, number("a", 0), mode_of(k), nonlinearity);
  if (f == "orthogonal_") return (void)init::orthogonal_(t, number("gain", 1));
  if (f == "sparse_") return (void)init::sparse_(t, number("sparsity", 0), number("std", 0.01));
  if (f == "constant_") return (void)init::constant_(t, number("val", 0));
  if (f == "ones_") return (void)init::ones_(t);
  if (f == "zeros_") return (void)init::zeros_(t);
  if (f == "eye_") return (void)init::eye_(t);
  if (f == "dirac_") return (void)init::dirac_(t, integer_of(k, "groups", 1));
  throw std::runtime_error("no function " + f);
}

void replay_init(const Json& one, Check& check) {
  const std::string f = read(one, "function");
  if (f == "calculate_gain") {
    const init::NonlinearityType nonlinearity = nonlinearity_of(read(one, "nonlinearity"));
    const double gain = has(one, "param") ? init::calculate_gain(nonlinearity, number_of(one, "param", 0))
                                          : init::calculate_gain(nonlinearity);
    return check.number("gain", gain, read(one, "value"), 0);
  }
  Tensor t = zeros(one);
  at::manual_seed(read(one, "seed").get<uint64_t>());
  initialize(f, t, read(one, "kwargs"));
  check_all_read(one.at("kwargs"), f);
  check.tensor("result", t, read(one, "result"));
  check.then(read(one, "then"));
}

}  // namespace recorded
