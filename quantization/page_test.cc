// The examples of docs/quantization.md, which //docs:quantization_examples_test finds here.
#include <torch/torch.h>

#include "export/capture/export.h"
#include "export/pt2/pt2.h"
#include "gtest/gtest.h"
#include "quantization/eager/quantize.h"
#include "quantization/quantization.h"

namespace {

using torch::Tensor;
namespace nn = torch::nn;
namespace ao = torch::ao::quantization;

struct NetImpl : nn::Module {
  NetImpl() {
    register_module("quant", quant);
    register_module("conv", conv);
    register_module("bn", bn);
    register_module("relu", relu);
    register_module("skip", skip);
    register_module("fc", fc);
    register_module("dequant", dequant);
  }
  Tensor forward(const Tensor& input) {
    Tensor x = relu(bn(conv(quant(input))));
    x = skip->add(x, x);  // for x + x
    return dequant(fc(x.mean({2, 3})));
  }
  ao::QuantStub quant;
  nn::Conv2d conv{nn::Conv2dOptions(3, 8, 3).padding(1)};
  nn::BatchNorm2d bn{8};
  nn::ReLU relu;
  nn::quantized::FloatFunctional skip;
  nn::Linear fc{8, 4};
  ao::DeQuantStub dequant;
};
TORCH_MODULE(Net);

std::vector<Tensor> images() {
  return {torch::randn({4, 3, 8, 8}), torch::randn({4, 3, 8, 8})};
}

double error(const Tensor& got, const Tensor& want) {
  return ((got - want).norm() / want.norm()).item<double>();
}

TEST(Page, AfterTraining) {
  torch::manual_seed(1);
  const std::vector<Tensor> calibration = images();
  const Tensor x = calibration[0];
  torch::NoGradGuard no_grad;
  Net net;
  net->eval();
  const Tensor want = net->forward(x);
  ao::fuse_modules(net, {{"conv", "bn", "relu"}});
  ao::prepare(net, ao::get_default_qconfig("x86"));
  for (const Tensor& batch : calibration) net->forward(batch);
  ao::convert(net);
  const Tensor y = net->forward(x);
  EXPECT_LT(error(y, want), 0.1);
}

TEST(Page, InTraining) {
  torch::manual_seed(1);
  const std::vector<Tensor> batches = images();
  Net net;
  torch::optim::SGD optimizer(net->parameters(), 0.01);
  const auto train_step = [&](const Tensor& batch) {
    optimizer.zero_grad();
    net->forward(batch).pow(2).mean().backward();
    optimizer.step();
  };
  ao::fuse_modules_qat(net, {{"conv", "bn", "relu"}});
  ao::prepare_qat(net, ao::get_default_qat_qconfig("x86"));
  for (const Tensor& batch : batches) train_step(batch);
  net->apply(ao::disable_observer);  // scales stay from here on
  net->apply(nn::intrinsic::qat::freeze_bn_stats);
  for (const Tensor& batch : batches) train_step(batch);
  net->eval();
  const Tensor want = net->forward(batches[0]);
  ao::convert(net);
  torch::NoGradGuard no_grad;
  EXPECT_LT(error(net->forward(batches[0]), want), 0.1);
}

TEST(Page, Dynamic) {
  torch::manual_seed(1);
  torch::NoGradGuard no_grad;
  nn::Sequential model(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
  const Tensor x = torch::randn({5, 16}), want = model->forward(x);
  ao::quantize_dynamic(model);  // Linear, LSTM, GRU and cells, weights of 8 bits
  EXPECT_LT(error(model->forward(x), want), 0.1);
}

TEST(Page, Programs) {
  torch::manual_seed(1);
  torch::NoGradGuard no_grad;
  nn::Sequential model(nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4));
  const std::vector<Tensor> calibration{torch::randn({5, 16}), torch::randn({5, 16})};
  const Tensor x = calibration[0], want = model->forward(x);
  torch::ExportedProgram program = torch::export_(model, x);  // or torch::load_exported("model.pt2")
  ao::X86InductorQuantizer quantizer;
  quantizer.set_global(ao::get_default_x86_inductor_quantization_config());
  auto prepared = ao::prepare_pt2e(std::move(program), quantizer);
  for (const Tensor& batch : calibration) prepared({batch});
  auto converted = ao::convert_pt2e(std::move(prepared));
  ao::lower_to_integers(converted);
  const Tensor y = converted({x}).toTensor();
  EXPECT_LT(error(y, want), 0.1);
}

TEST(Page, SomeStayFloat) {
  torch::manual_seed(1);
  torch::NoGradGuard no_grad;
  Net net;
  net->eval();
  auto mapping = ao::get_default_qconfig_mapping("x86");
  mapping.set_object_type("Conv2d", ao::default_per_channel_qconfig()).set_module_name("fc", std::nullopt);
  ao::prepare(net, mapping);
  EXPECT_EQ(net->named_modules().contains("fc.activation_post_process"), false);
  EXPECT_EQ(net->named_modules().contains("conv.activation_post_process"), true);
}

}  // namespace
