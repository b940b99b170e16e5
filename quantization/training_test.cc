// Fake quantizers and programs in training.
#include <cmath>
#include <nlohmann/json.hpp>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"
#include "quantization/quantization.h"
#include "quantization/testing/programs.h"
#include "quantization/testing/recorded.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using at::testing::tensor_of;
using c10::ScalarType;
using nlohmann::json;
using testing::count;
using testing::images;
using testing::observer_named;
using testing::options_of;
using testing::program_of;
using testing::Recorded;
using testing::relative_error;
using testing::run;

X86InductorQuantizer x86(bool is_qat) {
  X86InductorQuantizer quantizer;
  quantizer.set_global(get_default_x86_inductor_quantization_config(is_qat));
  return quantizer;
}

TEST(Recorded, FakeQuantizersGiveTheSame) {
  const Recorded recorded;
  int compared = 0;
  for (const json& one : recorded.cases) {
    if (!one.contains("grad")) continue;
    SCOPED_TRACE(one.dump());
    const std::string name = one.at("class"), observer = one.at("observer");
    const bool channels = observer.find("PerChannel") != std::string::npos;
    const ObserverOptions options = options_of(one.at("options"), channels);
    const ObserverFactory make = [=] { return observer_named(observer, options); };
    std::shared_ptr<ObserverBase> fake;
    if (name == "FakeQuantize") fake = FakeQuantize(make).ptr();
    if (name == "FusedMovingAvgObsFakeQuantize") fake = FusedMovingAvgObsFakeQuantize(make).ptr();
    std::shared_ptr<LearnableFakeQuantizeImpl> learnable;
    if (name == "LearnableFakeQuantize") {
      learnable = LearnableFakeQuantize(make, 1.0, 0.0, channels ? 4 : 1).ptr();
      fake = learnable;
    }
    std::vector<Tensor> batches;
    for (const auto& batch : one.at("batches")) batches.push_back(recorded.tensors.get(batch.get<std::string>()));
    for (size_t i = 0; i + 1 < batches.size(); ++i) fake->forward(batches[i]);
    if (learnable != nullptr) learnable->enable_param_learning();
    const Tensor x = batches.back().clone().requires_grad_();
    const Tensor y = fake->forward(x);
    y.backward(recorded.tensor(one, "grad"));
    EXPECT_TRUE(at::equal(y, recorded.tensor(one, "y")));
    EXPECT_TRUE(at::equal(x.grad(), recorded.tensor(one, "dx")));
    const auto check = [&](const Tensor& scale, const Tensor& zero) {
      EXPECT_TRUE(at::equal(scale, recorded.tensor(one, "scale"))) << scale;
      EXPECT_TRUE(at::equal(zero, recorded.tensor(one, "zero_point"))) << zero;
    };
    if (auto* f = dynamic_cast<FakeQuantizeImpl*>(fake.get())) check(f->scale, f->zero_point);
    if (auto* f = dynamic_cast<FusedMovingAvgObsFakeQuantizeImpl*>(fake.get())) check(f->scale, f->zero_point);
    if (learnable != nullptr) {
      check(learnable->scale, learnable->zero_point);
      EXPECT_TRUE(at::allclose(learnable->scale.grad(), recorded.tensor(one, "dscale"), 1e-5, 1e-5));
      EXPECT_TRUE(at::allclose(learnable->zero_point.grad(), recorded.tensor(one, "dzero"), 1e-5, 1e-5));
    }
    ++compared;
  }
  EXPECT_GE(compared, 9);
}

TEST(Pt2e, TrainingLearnsTheRounding) {
  const auto state = testing::small_resnet_state(1, 8, 4, 21);
  for (const auto& [name, t] : state) {
    if (!name.ends_with("running_mean") && !name.ends_with("running_var")) t.set_requires_grad(true);
  }
  const auto batches = images(4, {8, 3, 12, 12}, 22);
  ExportedProgram program = program_of(testing::small_resnet(1, true), state, {batches[0]});
  auto quantizer = x86(true);
  ExportedProgram prepared = prepare_qat_pt2e(std::move(program), quantizer);
  EXPECT_EQ(count(prepared, "aten::_native_batch_norm_legit_functional"), 3);
  for (const auto& observer : observers_of(prepared)) {
    EXPECT_NE(dynamic_cast<FakeQuantizeBase*>(observer.get()), nullptr);
  }
  const Tensor targets = tensor_of({0, 1, 2, 3, 0, 1, 2, 3}, {8}, ScalarType::Long);
  std::vector<double> losses;
  const Tensor mean_before = prepared.state_dict.at("stem.bn.running_mean").clone();
  for (int step = 0; step < 12; ++step) {
    Tensor loss = at::cross_entropy_loss(run(prepared, {batches[0]}), targets);
    losses.push_back(at::testing::values(loss)[0]);
    loss.backward();
    const c10::NoGradGuard no_grad;
    for (auto& [name, t] : prepared.state_dict) {
      if (!t.requires_grad() || !t.grad().defined()) continue;
      t.sub_(at::mul(t.grad(), 0.05));
      t.grad().zero_();
    }
  }
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  EXPECT_FALSE(at::equal(prepared.state_dict.at("stem.bn.running_mean"), mean_before));

  move_exported_model_to_eval(prepared);
  for (const auto& observer : observers_of(prepared)) dynamic_cast<FakeQuantizeBase&>(*observer).disable_observer();
  const c10::NoGradGuard no_grad;
  const Tensor trained = run(prepared, {batches[0]});
  ExportedProgram program8 = convert_pt2e(std::move(prepared));
  EXPECT_EQ(count(program8, "aten::_native_batch_norm_legit_functional"), 0);
  EXPECT_EQ(program8.signature.outputs.size(), 1u);
  const Tensor reference = run(program8, {batches[0]});
  EXPECT_LT(relative_error(reference, trained), 0.05);
  LoweringOptions all;
  all.use_cost_model = false;
  EXPECT_EQ(lower_to_integers(program8, all).changes, 4);
  EXPECT_LT(relative_error(run(program8, {batches[0]}), reference), 0.05);
}

}  // namespace
}  // namespace torch::quantization
