#include "aten/fake/fake_tensor.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"

namespace at {
namespace {

using c10::testing::message_of;

const Device kGpu(kCUDA, 0);

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FakeTensors, HaveADeviceAndNoElements) {
  FakeTensorMode mode;
  Tensor x, y;
  {
    const DispatchModeGuard on(mode);
    x = at::empty({1 << 20, 1 << 20}, TensorOptions(kCUDA).dtype(kHalf));  // two terabytes
    y = at::randn({3});
  }
  EXPECT_TRUE(is_fake(x));
  EXPECT_FALSE(is_fake(at::ones({2})));
  EXPECT_EQ(x.device(), kGpu);
  EXPECT_EQ(y.device(), Device(kCPU));
  EXPECT_EQ(x.scalar_type(), kHalf);
  // Without the mode, by the tensors alone.
  const Tensor z = at::relu(at::t(x) * 2).to(kFloat);
  EXPECT_TRUE(is_fake(z));
  EXPECT_EQ(z.device(), kGpu);
  EXPECT_EQ(z.scalar_type(), kFloat);
  EXPECT_EQ(z.strides(), IntArrayRef({1, 1 << 20}));
  EXPECT_EQ(x.to(kCPU).device(), Device(kCPU));
  EXPECT_EQ(at::zeros_like(x, TensorOptions().device(kCPU)).device(), Device(kCPU));
  EXPECT_EQ(x.new_zeros({2}).device(), kGpu);
  EXPECT_EQ(at::split(x, 1 << 19)[1].sizes(), IntArrayRef({1 << 19, 1 << 20}));
  EXPECT_TRUE(contains(message_of([&] { y.data_ptr(); }), "storage"));
}

TEST(FakeTensors, ViewsAndWritesAreThoseOfTensors) {
  FakeTensorMode mode;
  Tensor x = mode.from_tensor(at::ones({4, 6}));
  const int64_t version = x._version();
  const Tensor row = x[1];
  EXPECT_TRUE(row.is_view());
  EXPECT_EQ(row.storage_offset(), 6);
  EXPECT_TRUE(x.add_(1).is_same(x));
  EXPECT_EQ(x._version(), version + 1);
  Tensor out = mode.from_tensor(at::empty({0}));
  at::add_out(out, x, x);
  EXPECT_EQ(out.sizes(), x.sizes());
  x.resize_({2, 2});
  EXPECT_EQ(x.sizes(), IntArrayRef({2, 2}));
  EXPECT_EQ((x + 1).sizes(), IntArrayRef({2, 2}));
  Tensor detached = out.detach();
  detached.t_();
  EXPECT_EQ(detached.sizes(), IntArrayRef({6, 4}));
  EXPECT_EQ((out + 0).sizes(), IntArrayRef({4, 6}));
}

TEST(FakeTensors, MixedDevices) {
  FakeTensorMode mode;
  const Tensor gpu = mode.from_tensor(at::ones({2, 2}), kGpu), cpu = mode.from_tensor(at::ones({2, 2}));
  EXPECT_EQ(message_of([&] { gpu + cpu; }), "FakeTensorMode: aten::add.Tensor: expected all tensors on one device, found "
                                            "two different devices, cuda:0 and cpu");
  EXPECT_TRUE(contains(message_of([&] { at::cat({cpu, gpu}); }), "aten::cat"));
  // Numbers go with all, and copies and indices cross.
  const Tensor number = mode.from_tensor(at::ones({}));
  EXPECT_EQ((gpu + number).device(), kGpu);
  EXPECT_EQ((number + gpu).device(), kGpu);
  EXPECT_EQ((gpu * at::scalar_tensor(2)).device(), kGpu);
  EXPECT_EQ(gpu.clone().copy_(cpu).device(), kGpu);
  const Tensor indices = mode.from_tensor(at::zeros({3}, kLong));
  EXPECT_EQ(at::index(gpu, c10::List<std::optional<Tensor>>({indices})).device(), kGpu);
  // Real tensors, and those of another mode.
  EXPECT_TRUE(contains(message_of([&] { gpu + at::ones({2, 2}); }), "a tensor of sizes [2, 2] on cpu is not fake"));
  FakeTensorMode other;
  EXPECT_TRUE(contains(message_of([&] { gpu + other.from_tensor(at::ones({2, 2}), kGpu); }), "of two modes"));
  FakeTensorMode lenient(/*allow_non_fake_inputs=*/true);
  EXPECT_TRUE(is_fake(lenient.from_tensor(at::ones({2, 2})) + at::ones({2, 2})));
}

TEST(FakeTensors, WhatNeedsElements) {
  FakeTensorMode mode;
  const Tensor x = mode.from_tensor(at::ones({4}));
  EXPECT_TRUE(contains(message_of<DataDependentOutputException>([&] { x.sum().item<float>(); }),
                       "FakeTensorMode: aten::_local_scalar_dense needs the elements of a tensor"));
  EXPECT_THROW(at::equal(x, x), DataDependentOutputException);
  EXPECT_THROW(at::is_nonzero(x.sum()), DataDependentOutputException);
  EXPECT_THROW(at::nonzero(x), DynamicOutputShapeException);
  EXPECT_THROW(at::masked_select(x, x.gt(0)), DynamicOutputShapeException);
  EXPECT_THROW(std::get<0>(at::_unique(x)), DynamicOutputShapeException);
  EXPECT_THROW(at::index(x, c10::List<std::optional<Tensor>>({x.gt(0)})), DynamicOutputShapeException);
  // Errors of arguments stay what they are.
  EXPECT_EQ(message_of([&] { at::mm(x, x); }), message_of([&] { at::mm(at::ones({4}), at::ones({4})); }));
}

TEST(FakeTensors, MemoryIsThatOfStorages) {
  FakeTensorMode mode;
  const DispatchModeGuard on(mode);
  Tensor x = at::zeros({1000}, TensorOptions(kCUDA));
  EXPECT_EQ(mode.memory(kCUDA).live_bytes, 4000);
  EXPECT_EQ(mode.memory(Device(kCPU)).live_bytes, 0);
  const Tensor view = x.view({10, 100});
  EXPECT_EQ(mode.memory(kGpu).live_bytes, 4000);
  Tensor y = x + 1;
  EXPECT_EQ(mode.memory(kCUDA).peak_bytes, 8000);
  x = Tensor();
  EXPECT_EQ(mode.memory(kCUDA).live_bytes, 8000);  // the view
  y = Tensor();
  EXPECT_EQ(mode.memory(kCUDA).live_bytes, 4000);
  EXPECT_EQ(mode.memory(kCUDA).peak_bytes, 8000);
  mode.reset_peak(kCUDA);
  EXPECT_EQ(mode.memory(kCUDA).peak_bytes, 4000);
}

TEST(FakeTensors, SharedStoragesStayShared) {
  FakeTensorMode mode;
  const Tensor real = at::ones({4, 4});
  const Tensor a = mode.from_tensor(real), b = mode.from_tensor(real[2]);
  EXPECT_EQ(mode.memory(Device(kCPU)).live_bytes, 64);
  EXPECT_EQ(b.storage_offset(), 8);
  EXPECT_TRUE(mode.from_tensor(a).is_same(a));
  EXPECT_TRUE(mode.from_tensor(torch::ones({2}).requires_grad_()).requires_grad());
  EXPECT_THROW(mode.from_tensor(at::eye(2).to_sparse()), c10::NotImplementedError);
}

// A step of a multilayer perceptron: gradients have the parameters' sizes and devices, and the peak is that of the real run's
// tensors.
TEST(FakeTensors, TrainingStep) {
  for (const Device device : {Device(kCPU), kGpu}) {
    FakeTensorMode mode;
    const DispatchModeGuard on(mode);
    Tensor w1 = torch::randn({256, 64}, device).requires_grad_(), w2 = torch::randn({10, 256}, device).requires_grad_();
    const Tensor x = torch::randn({32, 64}, device);
    const Tensor target = torch::zeros({32}, TensorOptions(device).dtype(kLong));
    const int64_t before = mode.memory(device).live_bytes;
    EXPECT_EQ(before, 4 * (256 * 64 + 10 * 256 + 32 * 64) + 8 * 32);
    {
      const Tensor loss = at::cross_entropy_loss(at::linear(at::gelu(at::linear(x, w1)), w2), target);
      EXPECT_EQ(loss.dim(), 0);
      EXPECT_EQ(loss.device(), device);
      loss.backward();
    }
    ASSERT_TRUE(w1.grad().defined());
    EXPECT_TRUE(is_fake(w1.grad()));
    EXPECT_EQ(w1.grad().sizes(), w1.sizes());
    EXPECT_EQ(w2.grad().device(), device);
    EXPECT_EQ(mode.memory(device).live_bytes, before + 4 * (256 * 64 + 10 * 256));
    // The hidden layer before and after gelu, at least.
    EXPECT_GT(mode.memory(device).peak_bytes, before + 2 * 4 * 32 * 256);
  }
}

}  // namespace
}  // namespace at
