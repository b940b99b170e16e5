// Bad arguments of what is public and no operator by name: each line is a call that throws an error of this library, with a
// text that says more than that an internal assumption failed.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "c10/memory/cpu_allocator.h"
#include "torch/torch.h"

namespace {

using torch::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct BadCall {
  const char* what;
  std::function<void()> call;
};

void expect_errors(const std::vector<BadCall>& calls) {
  for (const BadCall& bad : calls) {
    SCOPED_TRACE(bad.what);
    try {
      bad.call();
      ADD_FAILURE() << "no error";
    } catch (const c10::Error& e) {
      EXPECT_EQ(std::string(e.what()).find("INTERNAL ASSERT"), std::string::npos) << e.what();
      EXPECT_GT(e.msg().size(), 10u) << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "an error of another library: " << e.what();
    }
  }
}

Tensor ones(at::IntArrayRef sizes) { return torch::ones(sizes); }

TEST(BadArguments, FactoriesAndForeignMemory) {
  static float data[8] = {};
  expect_errors({
      {"negative size", [] { torch::empty({2, -1}); }},
      {"product overflows", [] { torch::empty({int64_t{1} << 40, int64_t{1} << 40}); }},
      {"more than memory", [] { torch::zeros({int64_t{1} << 50}); }},
      {"bytes overflow", [] { torch::ones({kHuge}); }},
      {"no such device", [] { torch::empty({1}, torch::Device("tpu:0")); }},
      {"device text", [] { torch::Device("cpu:-3"); }},
      {"a device without support", [] { torch::empty({1}, torch::kCUDA); }},
      {"arange without step", [] { torch::arange(0, 5, 0); }},
      {"arange backwards", [] { torch::arange(5, 0, 1); }},
      {"arange of NaN", [] { torch::arange(0.0, kNaN); }},
      {"arange without end", [] { torch::arange(0.0, std::numeric_limits<double>::infinity()); }},
      {"linspace steps", [] { torch::linspace(0, 1, -1); }},
      {"eye", [] { torch::eye(-1); }},
      {"randperm", [] { torch::randperm(-1); }},
      {"randint bounds", [] { torch::randint(5, 5, {2}); }},
      {"randint beyond the dtype", [] { torch::randint(0, 1000, {2}, torch::kByte); }},
      {"full beyond the dtype", [] { torch::full({2}, 1e9, torch::kByte); }},
      {"ragged literal", [] { torch::tensor({{1, 2}, {3}}); }},
      {"from_blob with a negative size", [&] { torch::from_blob(data, {-2}); }},
      {"from_blob strides", [&] { torch::from_blob(data, {2, 2}, {1}); }},
      {"from_blob negative stride", [&] { torch::from_blob(data, {2, 2}, {-2, 1}); }},
      {"from_blob overflow", [&] { torch::from_blob(data, {kHuge, kHuge}); }},
      {"from_blob of nothing", [&] { torch::from_blob(nullptr, {4}); }},
      {"integers that require a gradient", [] { torch::ones({2}, torch::TensorOptions(torch::kLong).requires_grad(true)); }},
      {"set_requires_grad of integers", [] { torch::ones({2}, torch::kInt).set_requires_grad(true); }},
      {"a number that is no dtype", [] { torch::ones({2}).to(static_cast<torch::ScalarType>(77)); }},
  });
}

TEST(BadArguments, TensorMembers) {
  const Tensor t = torch::arange(6.0).view({2, 3});
  const Tensor none;
  using torch::indexing::Slice;
  expect_errors({
      {"size of a dimension", [&] { t.size(2); }},
      {"stride of a dimension", [&] { t.stride(-3); }},
      {"item of several", [&] { t.item(); }},
      {"item of none", [] { torch::ones({0}).item<float>(); }},
      {"item that does not fit", [] { torch::full({}, 1e10).item<int>(); }},
      {"data of another dtype", [&] { t.data_ptr<int64_t>(); }},
      {"accessor of another dtype", [&] { t.accessor<double, 2>(); }},
      {"accessor of another rank", [&] { t.accessor<float, 3>(); }},
      {"sizes of nothing", [&] { none.sizes(); }},
      {"dim of nothing", [&] { none.dim(); }},
      {"device of nothing", [&] { none.device(); }},
      {"dtype of nothing", [&] { none.dtype(); }},
      {"operator on nothing", [&] { none + t; }},
      {"method of nothing", [&] { none.sum(); }},
      {"backward of nothing", [&] { none.backward(); }},
      {"index", [&] { t[2]; }},
      {"index of a number", [&] { torch::ones({})[0]; }},
      {"index by place", [&] { t.index({5}); }},
      {"too many indices", [&] { t.index({0, 0, 0}); }},
      {"two ellipses", [&] { t.index({"...", "..."}); }},
      {"slice step", [&] { t.index({Slice(0, 2, 0)}); }},
      {"slice step backwards", [&] { t.index({Slice(0, 2, -1)}); }},
      {"mask of another size", [&] { t.index({torch::ones({3}, torch::kBool)}); }},
      {"index tensor out of range", [&] { t.index({torch::full({1}, 7, torch::kLong)}); }},
      {"floating index", [&] { t.index({torch::ones({1})}); }},
      {"assigned size", [&] { t.clone().index_put_({0}, torch::ones({5})); }},
      {"assigned place", [&] { t.clone().index_put_({torch::full({1}, 9, torch::kLong)}, 1.0); }},
      {"device", [&] { t.to("nowhere"); }},
      {"view", [&] { t.view({4}); }},
      {"view with two unknowns", [&] { t.view({-1, -1}); }},
      {"expand", [&] { t.expand({2, 4}); }},
      {"as_strided beyond the storage", [&] { t.as_strided({10}, {1}); }},
      {"as_strided overflow", [&] { t.as_strided({kHuge}, {kHuge}); }},
      {"resize of a tensor with a gradient", [] { torch::ones({2}, torch::requires_grad()).resize_({3}); }},
      {"resize to a negative size", [&] { t.clone().resize_({-1}); }},
      {"set_data of another dtype", [&] { torch::ones({2}, torch::requires_grad()).set_data(torch::ones({2}, torch::kLong)); }},
      {"grad of another size", [&] {
         Tensor w = torch::ones({2}, torch::requires_grad());
         w.mutable_grad() = torch::ones({3});
         (w * 2).sum().backward();
       }},
      {"hook on a tensor without gradient", [&] { t.register_hook([](Tensor g) { return g; }); }},
      {"retain_grad without gradient", [&] { t.retain_grad(); }},
      {"in place on a leaf", [] { torch::ones({2}, torch::requires_grad()).add_(1); }},
      {"in place through an expanded tensor", [] { torch::ones({1}).expand({3}).add_(1); }},
  });
}

TEST(BadArguments, Autograd) {
  const Tensor w = torch::ones({2}, torch::requires_grad());
  expect_errors({
      {"backward of several", [&] { (w * 2).backward(); }},
      {"backward without a graph", [] { torch::ones({}).backward(); }},
      {"gradient of another size", [&] { (w * 2).backward(torch::ones({3})); }},
      {"backward twice", [&] {
         Tensor y = (w * w).sum();
         y.backward();
         y.backward();
       }},
      {"grad of what was not used", [&] {
         const Tensor other = torch::ones({2}, torch::requires_grad());
         torch::autograd::grad({(w * 2).sum()}, {other});
       }},
      {"grad of nothing", [&] { torch::autograd::grad({}, {w}); }},
      {"grad with respect to nothing", [&] { torch::autograd::grad({(w * 2).sum()}, {Tensor()}); }},
      {"another number of gradients", [&] { torch::autograd::grad({(w * 2).sum()}, {w}, {torch::ones({}), torch::ones({})}); }},
      {"a saved value that has changed", [&] {
         Tensor x = w * 1;
         Tensor y = (x * x).sum();
         x.add_(1);
         y.backward();
       }},
  });
}

// Numbers whose sums and products do not fit, and values that the dtype does not hold.
TEST(BadArguments, OperatorsWithHugeNumbers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kQuarter = int64_t{1} << 62;
  const Tensor integers = torch::zeros({3}, torch::kLong), first = torch::zeros({1}, torch::kLong);
  expect_errors({
      {"repeat_interleave", [&] { torch::repeat_interleave(torch::tensor({kQuarter, kQuarter, kQuarter, kQuarter, int64_t{3}})); }},
      {"one_hot", [&] { torch::one_hot(torch::full({1}, kMost, torch::kLong)); }},
      {"kron", [&] { torch::kron(torch::zeros({0, kQuarter}), torch::zeros({0, 4})); }},
      {"im2col", [&] { torch::im2col(torch::zeros({1, 1, 4, 4}), {int64_t{1} << 40, int64_t{1} << 40}, {1, 1}, {int64_t{1} << 40, int64_t{1} << 40}, {1, 1}); }},
      {"masked_fill", [&] { torch::masked_fill(integers, integers == 0, std::numeric_limits<double>::infinity()); }},
      {"index_fill", [&] { torch::index_fill(integers, 0, first, 1e19); }},
      {"scatter", [&] { torch::scatter(integers, 0, first, kNaN); }},
      {"scatter of a byte", [&] { torch::scatter(integers.to(torch::kByte), 0, first, 300); }},
      {"gradient of polygamma", [] { torch::polygamma(kMost, torch::ones({1}, torch::requires_grad())).sum().backward(); }},
      {"rrelu", [] { torch::rrelu(torch::ones({2}), 1, 0, false); }},
  });
  Tensor out = torch::full({3}, 7, torch::kByte);
  EXPECT_THROW(torch::scatter_out(out, out.clone(), 0, first, 300), c10::Error);
  EXPECT_EQ(out.sum().item<int>(), 21);
  EXPECT_EQ(torch::cumulative_trapezoid(torch::zeros({0})).numel(), 0);
  EXPECT_EQ(torch::zeros({2}).random_(kMost, std::nullopt, std::nullopt).numel(), 2);
}

TEST(BadArguments, Modules) {
  const Tensor x = ones({2, 3});
  expect_errors({
      {"Linear of negative size", [] { nn::Linear(-1, 2); }},
      {"Linear of huge size", [] { nn::Linear(kHuge, 2); }},
      {"Linear input", [&] { nn::Linear(4, 2)(x); }},
      {"Linear dtype", [&] { nn::Linear(3, 2)(x.to(torch::kLong)); }},
      {"Linear of nothing", [&] { nn::Linear(3, 2)(Tensor()); }},
      {"Bilinear", [] { nn::Bilinear(nn::BilinearOptions(0, 2, 2)); }},
      {"Conv1d channels", [] { nn::Conv1d(nn::Conv1dOptions(0, 2, 3)); }},
      {"Conv2d kernel", [] { nn::Conv2d(nn::Conv2dOptions(1, 2, 0)); }},
      {"Conv2d stride", [] { nn::Conv2d(nn::Conv2dOptions(1, 2, 3).stride(0))(torch::ones({1, 1, 5, 5})); }},
      {"Conv2d groups", [] { nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)); }},
      {"Conv2d no groups", [] { nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(0)); }},
      {"Conv2d padding", [] { nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(-1))(torch::ones({1, 1, 5, 5})); }},
      {"Conv2d dilation", [] { nn::Conv2d(nn::Conv2dOptions(1, 1, 3).dilation(-1))(torch::ones({1, 1, 5, 5})); }},
      {"Conv2d input rank", [] { nn::Conv2d(1, 1, 3)(torch::ones({5})); }},
      {"Conv2d input channels", [] { nn::Conv2d(2, 1, 3)(torch::ones({1, 3, 5, 5})); }},
      {"Conv2d input too small", [] { nn::Conv2d(1, 1, 3)(torch::ones({1, 1, 2, 2})); }},
      {"Conv3d huge kernel", [] { nn::Conv3d(nn::Conv3dOptions(kHuge, 2, kHuge)); }},
      {"kernel list", [] { nn::Conv2d(nn::Conv2dOptions(1, 1, {1, 2, 3})); }},
      {"MaxPool2d kernel", [] { nn::MaxPool2d(0)(torch::ones({1, 1, 4, 4})); }},
      {"MaxPool2d stride", [] { nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(-1))(torch::ones({1, 1, 4, 4})); }},
      {"MaxPool2d padding", [] { nn::MaxPool2d(nn::MaxPool2dOptions(2).padding(2))(torch::ones({1, 1, 4, 4})); }},
      {"MaxPool2d rank", [] { nn::MaxPool2d(2)(torch::ones({4})); }},
      {"AvgPool2d kernel", [] { nn::AvgPool2d(-2)(torch::ones({1, 1, 4, 4})); }},
      {"AdaptiveAvgPool2d", [] { nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({-1, 2}))(torch::ones({1, 1, 4, 4})); }},
      {"LayerNorm shape", [&] { nn::LayerNorm(nn::LayerNormOptions({4}))(x); }},
      {"LayerNorm negative", [] { nn::LayerNorm(nn::LayerNormOptions({-4})); }},
      {"GroupNorm division", [] { nn::GroupNorm(nn::GroupNormOptions(2, 3))(torch::ones({1, 3, 2})); }},
      {"GroupNorm no groups", [] { nn::GroupNorm(nn::GroupNormOptions(0, 4))(torch::ones({1, 4})); }},
      {"BatchNorm1d rank", [] { nn::BatchNorm1d(3)(torch::ones({2, 3, 4, 5})); }},
      {"BatchNorm1d channels", [] { nn::BatchNorm1d(4)(torch::ones({2, 3})); }},
      {"BatchNorm of one value", [] { nn::BatchNorm1d(3)(torch::ones({1, 3})); }},
      {"BatchNorm of negative size", [] { nn::BatchNorm2d(-3); }},
      {"Embedding sizes", [] { nn::Embedding(-1, 4); }},
      {"Embedding padding_idx", [] { nn::Embedding(nn::EmbeddingOptions(3, 4).padding_idx(3)); }},
      {"Embedding index", [] { nn::Embedding(3, 4)(torch::full({1}, 3, torch::kLong)); }},
      {"Embedding negative index", [] { nn::Embedding(3, 4)(torch::full({1}, -1, torch::kLong)); }},
      {"Embedding dtype", [] { nn::Embedding(3, 4)(torch::ones({1})); }},
      {"Embedding from_pretrained", [] { nn::Embedding::from_pretrained(torch::ones({3})); }},
      {"Dropout p", [] { nn::Dropout(1.5); }},
      {"Dropout NaN", [] { nn::Dropout{kNaN}; }},
      {"Dropout negative", [] { nn::Dropout2d(-0.1); }},
      {"Softmax dim", [&] { nn::Softmax(2)(x); }},
      {"LogSoftmax dim", [&] { nn::LogSoftmax(-3)(x); }},
      {"GELU approximation", [&] { nn::GELU(nn::GELUOptions().approximate("good"))(x); }},
      {"PReLU parameters", [&] { nn::PReLU(nn::PReLUOptions().num_parameters(2))(x); }},
      {"Flatten dims", [&] { nn::Flatten(nn::FlattenOptions().start_dim(1).end_dim(5))(x); }},
      {"Unflatten", [&] { nn::Unflatten(nn::UnflattenOptions(1, {2, 2}))(x); }},
      {"CrossEntropyLoss target", [&] { nn::CrossEntropyLoss()(x, torch::full({2}, 5, torch::kLong)); }},
      {"CrossEntropyLoss sizes", [&] { nn::CrossEntropyLoss()(x, torch::zeros({3}, torch::kLong)); }},
      {"NLLLoss dtype", [&] { nn::NLLLoss()(x, torch::zeros({2})); }},
      {"CrossEntropyLoss smoothing", [&] { nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().label_smoothing(2))(x, torch::zeros({2}, torch::kLong)); }},
      {"BCELoss sizes", [&] { nn::BCELoss()(x, torch::ones({2})); }},
      {"BCELoss range", [&] { nn::BCELoss()(x * 2, x); }},
      {"MSELoss sizes", [&] { nn::MSELoss()(x, torch::ones({2, 4})); }},
      {"SmoothL1Loss beta", [&] { F::smooth_l1_loss(x, x, F::SmoothL1LossFuncOptions().beta(-1)); }},
      {"HuberLoss delta", [&] { nn::HuberLoss(nn::HuberLossOptions().delta(-1))(x, x); }},
      {"empty holder", [&] { nn::Linear(nullptr)->forward(x); }},
      {"empty Sequential", [&] { nn::Sequential()->forward(x); }},
      {"Sequential index", [] { nn::Sequential(nn::ReLU())->ptr(3); }},
      {"Sequential of wrong argument", [] { nn::Sequential(nn::ReLU())->forward(3); }},
      {"Sequential of wrong result", [&] { nn::Sequential(nn::ReLU())->forward<int>(x); }},
      {"ModuleList index", [] { nn::ModuleList(nn::ReLU())->ptr(1); }},
      {"ModuleDict key", [] { nn::ModuleDict()["missing"]; }},
      {"ParameterList index", [] { nn::ParameterList()->at(0); }},
  });
}

struct Holder : nn::Module {
  using nn::Module::register_buffer;
  using nn::Module::register_module;
  using nn::Module::register_parameter;
  using nn::Module::replace_module;
  using nn::Module::unregister_module;
};

TEST(BadArguments, ModuleTree) {
  expect_errors({
      {"parameter without a name", [] { Holder().register_parameter("", torch::ones({1})); }},
      {"parameter with a dot", [] { Holder().register_parameter("a.b", torch::ones({1})); }},
      {"parameter twice", [] {
         Holder h;
         h.register_parameter("a", torch::ones({1}));
         h.register_parameter("a", torch::ones({1}));
       }},
      {"buffer twice", [] {
         Holder h;
         h.register_buffer("a", torch::ones({1}));
         h.register_buffer("a", torch::ones({1}));
       }},
      {"integers as a parameter", [] { Holder().register_parameter("a", torch::ones({1}, torch::kLong)); }},
      {"module with a dot", [] { Holder().register_module("a.b", nn::ReLU()); }},
      {"replace nothing", [] { Holder().replace_module("a", nn::ReLU()); }},
      {"unregister nothing", [] { Holder().unregister_module("a"); }},
      {"to an integer dtype", [] { nn::Linear(2, 2)->to(torch::kLong); }},
      {"to no device", [] { nn::Linear(2, 2)->to(torch::kCUDA); }},
      {"clone of what cannot", [] { Holder().clone(); }},
      {"load a missing file", [] {
         nn::Linear l(2, 2);
         torch::load(l, "/nonexistent/folder/model.pt");
       }},
      {"save to a missing folder", [] { torch::save(nn::Linear(2, 2), "/nonexistent/folder/model.pt"); }},
  });
}

TEST(BadArguments, InitAndUtils) {
  const Tensor v = ones({3});
  expect_errors({
      {"xavier of a vector", [&] { nn::init::xavier_uniform_(v); }},
      {"kaiming of a number", [] { nn::init::kaiming_normal_(torch::ones({})); }},
      {"orthogonal of a vector", [&] { nn::init::orthogonal_(v); }},
      {"eye of a vector", [&] { nn::init::eye_(v); }},
      {"dirac of a matrix", [] { nn::init::dirac_(torch::ones({2, 2})); }},
      {"sparse", [] { nn::init::sparse_(torch::ones({2, 2}), 2.0); }},
      {"uniform bounds", [&] { nn::init::uniform_(v, 2.0, 1.0); }},
      {"normal deviation", [&] { nn::init::normal_(v, 0.0, -1.0); }},
      {"clip of nothing finite", [] {
         Tensor w = torch::ones({1}, torch::requires_grad());
         w.mutable_grad() = torch::full({1}, kNaN);
         nn::utils::clip_grad_norm_(w, 1.0, 2.0, true);
       }},
      {"vector_to_parameters", [&] { nn::utils::vector_to_parameters(v, {torch::ones({2})}); }},
      {"no threads", [] { torch::set_num_threads(0); }},
      {"negative memory limit", [] { c10::set_cpu_memory_limit(-1); }},
  });
}

std::vector<Tensor> parameters() { return {torch::ones({2}, torch::requires_grad())}; }

TEST(BadArguments, Optimizers) {
  namespace optim = torch::optim;
  expect_errors({
      {"SGD rate", [] { optim::SGD(parameters(), optim::SGDOptions(-1)); }},
      {"SGD rate NaN", [] { optim::SGD(parameters(), optim::SGDOptions(kNaN)); }},
      {"SGD momentum", [] { optim::SGD(parameters(), optim::SGDOptions(1).momentum(-1)); }},
      {"SGD nesterov", [] { optim::SGD(parameters(), optim::SGDOptions(1).nesterov(true)); }},
      {"Adam betas", [] { optim::Adam(parameters(), optim::AdamOptions().betas({1.0, 0.9})); }},
      {"Adam betas NaN", [] { optim::Adam(parameters(), optim::AdamOptions().betas({0.9, kNaN})); }},
      {"Adam eps", [] { optim::Adam(parameters(), optim::AdamOptions().eps(-1)); }},
      {"AdamW decay", [] { optim::AdamW(parameters(), optim::AdamWOptions().weight_decay(-1)); }},
      {"Adagrad rate", [] { optim::Adagrad(parameters(), optim::AdagradOptions(-1)); }},
      {"RMSprop alpha", [] { optim::RMSprop(parameters(), optim::RMSpropOptions().alpha(-1)); }},
      {"undefined parameter", [] { optim::SGD({Tensor()}, optim::SGDOptions(1)); }},
      {"no leaf", [] { optim::SGD({parameters()[0] * 2}, optim::SGDOptions(1)); }},
      {"integer parameter", [] { optim::SGD({torch::ones({2}, torch::kLong)}, optim::SGDOptions(1)); }},
      {"gradient of another size", [] {
         auto p = parameters();
         p[0].mutable_grad() = torch::ones({3});
         optim::SGD(p, optim::SGDOptions(1)).step();
       }},
      {"a parameter twice", [] {
         auto p = parameters();
         optim::SGD({optim::OptimizerParamGroup(p), optim::OptimizerParamGroup(p)}, optim::SGDOptions(1));
       }},
      {"StepLR", [] {
         optim::SGD sgd(parameters(), optim::SGDOptions(1));
         optim::StepLR(sgd, 0, 0.1);
       }},
      {"LinearLR", [] {
         optim::SGD sgd(parameters(), optim::SGDOptions(1));
         optim::LinearLR(sgd, 0.0, 1.0, 5);
       }},
      {"CosineAnnealingLR", [] {
         optim::SGD sgd(parameters(), optim::SGDOptions(1));
         optim::CosineAnnealingLR(sgd, 0);
       }},
      {"LambdaLR without a function", [] {
         optim::SGD sgd(parameters(), optim::SGDOptions(1));
         optim::LambdaLR(sgd, std::function<double(unsigned)>());
       }},
      {"load a missing file", [] {
         optim::SGD sgd(parameters(), optim::SGDOptions(1));
         torch::load(sgd, "/nonexistent/folder/optimizer.pt");
       }},
  });
}

TEST(BadArguments, Data) {
  namespace data = torch::data;
  const auto dataset = [] { return data::datasets::TensorDataset(torch::ones({4, 2})).map(data::transforms::Stack<data::TensorExample>()); };
  expect_errors({
      {"RandomSampler size", [] { data::samplers::RandomSampler(-1); }},
      {"RandomSampler dtype", [] { data::samplers::RandomSampler(4, torch::kFloat); }},
      {"RandomSampler size beyond the dtype", [] { data::samplers::RandomSampler(1000, torch::kByte); }},
      {"DistributedSampler rank", [] { data::samplers::DistributedRandomSampler(4, 2, 2); }},
      {"DistributedSampler replicas", [] { data::samplers::DistributedSequentialSampler(4, 0, 0); }},
      {"batch_size", [&] { data::make_data_loader(dataset(), data::DataLoaderOptions().batch_size(0)); }},
      {"max_jobs", [&] { data::make_data_loader(dataset(), data::DataLoaderOptions(2).workers(1).max_jobs(0)); }},
      {"two iterators", [&] {
         auto loader = data::make_data_loader(dataset(), data::DataLoaderOptions(2).workers(1));
         auto first = loader->begin();
         auto second = loader->begin();
       }},
      {"past the end", [&] {
         auto loader = data::make_data_loader(dataset(), data::DataLoaderOptions(4));
         auto it = loader->begin();
         for (int i = 0; i < 5; ++i) ++it;
       }},
      {"TensorDataset of a number", [] { data::datasets::TensorDataset(torch::ones({})); }},
      {"TensorDataset index", [] { data::datasets::TensorDataset(torch::ones({4})).get(4); }},
      {"Normalize without numbers", [] { data::transforms::Normalize<>(torch::ArrayRef<double>(), torch::ArrayRef<double>()); }},
      {"Normalize by zero", [] { data::transforms::Normalize<>(0.5, 0.0); }},
      {"MNIST in no folder", [] { data::datasets::MNIST("/nonexistent/folder"); }},
  });
}

}  // namespace
