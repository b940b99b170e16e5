// Observers and fake quantizers, against what PyTorch recorded (testdata/record_qparams.py) and by their formulas.
#include <cmath>
#include <limits>
#include <sstream>

#include "aten/core/printing.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"
#include "nn/module/state_dict.h"
#include "quantization/observers/fake_quantize.h"
#include "quantization/qconfig.h"
#include "quantization/testing/recorded.h"

namespace torch::quantization {
namespace {

using at::Tensor;
using at::testing::elements;
using at::testing::sample;
using at::testing::tensor_of;
using c10::ScalarType;
using c10::testing::message_of;
using nlohmann::json;
using testing::observer_named;
using testing::options_of;
using testing::Recorded;

TEST(Recorded, ObserversChooseTheSameBits) {
  const Recorded recorded;
  int compared = 0, histograms = 0;
  for (const json& one : recorded.cases) {
    if (one.contains("grad")) continue;
    SCOPED_TRACE(one.dump());
    const std::string name = one.at("class");
    const auto observer =
        observer_named(name, options_of(one.at("options"), name.find("PerChannel") != std::string::npos));
    for (const auto& batch : one.at("batches")) {
      const Tensor x = recorded.tensors.get(batch.get<std::string>());
      EXPECT_TRUE(observer->forward(x).is_same(x));
    }
    EXPECT_EQ(observer->quant_min(), one.at("quant_min").get<int64_t>());
    EXPECT_EQ(observer->quant_max(), one.at("quant_max").get<int64_t>());
    EXPECT_TRUE(at::equal(observer->min_val, recorded.tensor(one, "min_val"))) << observer->min_val;
    EXPECT_TRUE(at::equal(observer->max_val, recorded.tensor(one, "max_val"))) << observer->max_val;
    // PyTorch counts numbers of half precision in that precision.
    if (one.contains("histogram") && one.at("data") != "half") {
      ++histograms;
      const auto* own = dynamic_cast<const HistogramObserverImpl*>(observer.get());
      EXPECT_TRUE(at::equal(own->histogram, recorded.tensor(one, "histogram")));
    }
    const auto [scale, zero_point] = observer->calculate_qparams();
    const Tensor want_scale = recorded.tensor(one, "scale"), want_zero = recorded.tensor(one, "zero_point");
    EXPECT_EQ(scale.sizes(), want_scale.sizes());
    EXPECT_EQ(zero_point.scalar_type(), want_zero.scalar_type());
    EXPECT_TRUE(at::equal(scale, want_scale)) << scale << " but PyTorch has " << want_scale;
    EXPECT_TRUE(at::equal(zero_point, want_zero)) << zero_point << " but PyTorch has " << want_zero;
    ++compared;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(histograms, 30);
}

TEST(Observers, WarnBeforeTheyHaveSeenAnything) {
  MinMaxObserver observer;
  const auto [scale, zero] = observer->calculate_qparams();
  EXPECT_EQ(at::testing::values(scale), std::vector<double>{1});
  EXPECT_EQ(at::testing::values(zero), std::vector<double>{0});
  observer(at::empty({0, 3}));
  EXPECT_EQ(at::testing::values(std::get<0>(observer->calculate_qparams())), std::vector<double>{1});
  observer(tensor_of({-1, 3}, {2}));
  observer->reset_min_max_vals();
  EXPECT_EQ(at::testing::values(std::get<0>(observer->calculate_qparams())), std::vector<double>{1});
}

TEST(Observers, RefuseWhatTheyCannotDo) {
  const auto refuses = [](const auto& make, const std::string& text) {
    try {
      make();
      ADD_FAILURE() << "no error; expected: " << text;
    } catch (const c10::Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refuses([] { MinMaxObserver o(ObserverOptions().qscheme(c10::kPerChannelAffine)); }, "per_tensor_symmetric");
  refuses([] { PerChannelMinMaxObserver o(ObserverOptions().qscheme(c10::kPerTensorAffine)); },
          "per_channel_symmetric");
  refuses([] { MinMaxObserver o(ObserverOptions().quant_min(1).quant_max(5)); }, "must include 0");
  refuses([] { MinMaxObserver o(ObserverOptions().quant_min(0).quant_max(0)); }, "strictly less");
  refuses([] { MinMaxObserver o(ObserverOptions().quant_min(-200).quant_max(200)); }, "(=256)");
  refuses([] { MinMaxObserver o(ObserverOptions().dtype(ScalarType::Float)); }, "dtype of integers");
  refuses([] { MinMaxObserver o(ObserverOptions().qscheme(c10::kPerTensorSymmetric).reduce_range(true)); },
          "Cannot reduce range");
  refuses([] { HistogramObserver o(ObserverOptions().bins(0)); }, "number of bins");
  refuses([] { MovingAverageMinMaxObserver o(ObserverOptions().is_dynamic(true)); }, "averaging constant of 0.01");
  refuses([] { FixedQParamsObserver o(0.0, 0); }, "positive scale");
  refuses(
      [] {
        PlaceholderObserver o;
        o->calculate_qparams();
      },
      "should not be called for PlaceholderObserver");
  refuses(
      [] {
        MinMaxObserver o;
        o(tensor_of({1, std::nan("")}, {2}));
        o->calculate_qparams();
      },
      "should be less than");
  refuses(
      [] {
        PerChannelMinMaxObserver o;
        o(at::ones({3, 2}));
        o(at::ones({4, 2}));
      },
      "3 channels");
  refuses(
      [] {
        PerChannelMinMaxObserver o(ObserverOptions().qscheme(c10::kPerChannelAffine).ch_axis(2));
        o(at::ones({3, 2}));
      },
      "ch_axis 2");
  refuses([] { FakeQuantize f(with_args<PlaceholderObserver>()); }, "chooses scales");
  refuses([] { FusedMovingAvgObsFakeQuantize f(with_args<MinMaxObserver>(ObserverOptions())); }, "only works with");
  refuses([] { get_default_qconfig("cuda"); }, "not supported. backend must be one of");
}

TEST(Observers, HistogramsLeaveInfinityOut) {
  HistogramObserver observer(ObserverOptions().bins(8));
  observer(tensor_of({-1, 1, INFINITY, -INFINITY}, {4}));
  EXPECT_EQ(at::testing::values(observer->min_val), std::vector<double>{-1});
  EXPECT_EQ(at::testing::values(at::sum(observer->histogram)), std::vector<double>{2});
  EXPECT_NE(message_of<c10::Error>([&] { observer(tensor_of({std::nan("")}, {1})); }), "");
}

TEST(Observers, AreModules) {
  PerChannelMinMaxObserver observer(ObserverOptions().dtype(ScalarType::QInt8).qscheme(c10::kPerChannelSymmetric));
  observer(sample({3, 4}));
  const auto state = observer->state_dict();
  EXPECT_EQ(state.keys(), (std::vector<std::string>{"eps", "min_val", "max_val"}));
  PerChannelMinMaxObserver other(ObserverOptions().dtype(ScalarType::QInt8).qscheme(c10::kPerChannelSymmetric));
  other->load_state_dict(state);
  EXPECT_TRUE(at::equal(std::get<0>(other->calculate_qparams()), std::get<0>(observer->calculate_qparams())));

  // A clone goes on by itself.
  FakeQuantize fake(with_args<MovingAverageMinMaxObserver>(ObserverOptions().quant_min(0).quant_max(255)));
  fake(sample({8}));
  const auto copy = std::dynamic_pointer_cast<FakeQuantizeImpl>(fake->clone());
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(at::equal(copy->scale, fake->scale));
  copy->forward(at::mul(sample({8}), 100));
  EXPECT_FALSE(at::equal(copy->scale, fake->scale));
  EXPECT_TRUE(same_observer(*copy, *fake));

  nn::Sequential model(nn::Linear(2, 2));
  model->push_back(fake);
  model->apply(disable_observer);
  const Tensor before = fake->scale.clone();
  fake(at::mul(sample({8}), 1000));
  EXPECT_TRUE(at::equal(fake->scale, before));
  model->apply(disable_fake_quant);
  const Tensor x = sample({5});
  EXPECT_TRUE(at::equal(fake(x), x));
}

TEST(QConfigs, NearestMappingCounts) {
  const QConfig one = default_qconfig(), other = default_dynamic_qconfig();
  QConfigMapping mapping;
  EXPECT_FALSE(mapping.get("a", "aten::linear", 0).has_value());
  mapping.set_global(one).set_object_type("aten::linear", other).set_module_name_regex("block.*", std::nullopt);
  mapping.set_module_name("block1.fc", one).set_module_name_object_type_order("block1.fc", "aten::linear", 1, other);
  EXPECT_TRUE(qconfig_equals(mapping.get("x", "aten::conv2d", 0), one));
  EXPECT_TRUE(qconfig_equals(mapping.get("x", "aten::linear", 0), other));
  EXPECT_FALSE(mapping.get("block1.conv", "aten::conv2d", 0).has_value());
  EXPECT_TRUE(qconfig_equals(mapping.get("block1.fc", "aten::linear", 0), one));
  EXPECT_TRUE(qconfig_equals(mapping.get("block1.fc.inner", "aten::linear", 0), one));
  EXPECT_TRUE(qconfig_equals(mapping.get("block1.fc", "aten::linear", 1), other));
  EXPECT_FALSE(qconfig_equals(one, other));
  EXPECT_FALSE(qconfig_equals(one, std::nullopt));
  EXPECT_NE(message_of<c10::ValueError>([&] { mapping.set_module_name_regex("(", one); }), "");
}

TEST(QConfigs, DefaultsMakeWhatTheySay) {
  const QConfig x86 = get_default_qconfig("x86"), phone = get_default_qconfig("qnnpack");
  EXPECT_EQ(x86.activation()->quant_max(), 127);
  EXPECT_EQ(phone.activation()->quant_max(), 255);
  EXPECT_TRUE(is_per_channel(x86.weight()->qscheme()));
  EXPECT_FALSE(is_per_channel(phone.weight()->qscheme()));
  for (const char* backend : {"x86", "fbgemm", "qnnpack", "onednn"}) {
    for (const int version : {0, 1}) {
      const QConfig qat = get_default_qat_qconfig(backend, version);
      EXPECT_EQ(dynamic_cast<FusedMovingAvgObsFakeQuantizeImpl*>(qat.activation().get()) != nullptr, version == 1);
      EXPECT_EQ(qat.weight()->quant_min(), -128);
    }
  }
  EXPECT_TRUE(default_dynamic_qconfig().activation()->is_dynamic());
  EXPECT_EQ(float16_dynamic_qconfig().weight()->dtype(), ScalarType::Half);
  const auto fixed = get_default_qconfig_mapping("x86").get("a", "aten::tanh", 0)->activation();
  EXPECT_EQ(at::testing::values(std::get<0>(fixed->calculate_qparams())), std::vector<double>{2.0 / 256});
  EXPECT_EQ(at::testing::values(std::get<1>(fixed->calculate_qparams())), std::vector<double>{128});
}

}  // namespace
}  // namespace torch::quantization
