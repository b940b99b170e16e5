// Nested CUDA tensors give what nested CPU tensors give.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/testing/testing.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Tensor;

const at::Device kCpu(at::kCPU), kGpu(at::kCUDA, 0);

Tensor values() {
  return at::sin(at::arange(32, at::kFloat)).reshape({8, 4});
}
// Parts of 3, 0 and 4 rows; behind them the values have one more.
Tensor jagged(at::Device device, bool offsets_on_device) {
  const Tensor offsets = at::tensor({0, 3, 3, 7}, at::kLong).to(offsets_on_device ? device : kCpu);
  return at::_nested_view_from_jagged(values().to(device), offsets, offsets);
}

void expect_same(const std::string& what, const std::function<Tensor(const Tensor&)>& f) {
  for (const bool offsets_on_device : {false, true}) {
    SCOPED_TRACE(what);
    const Tensor expected = f(jagged(kCpu, false)), got = f(jagged(kGpu, offsets_on_device));
    EXPECT_EQ(got.device(), kGpu);
    ASSERT_EQ(got.is_nested(), expected.is_nested());
    const auto dense = [](const Tensor& t) { return t.is_nested() ? at::to_padded_tensor(t, 0) : t; };
    // Parts of no rows have no mean.
    EXPECT_TRUE(at::allclose(dense(got).to(kCpu), dense(expected), 1e-5, 1e-6, /*equal_nan=*/true));
  }
}

TEST(CudaNested, JaggedTensors) {
  c10::cuda::testing::in_all_orders([] {
    expect_same("itself", [](const Tensor& t) { return t; });
    expect_same("mul", [](const Tensor& t) { return t * t; });
    expect_same("a row for each part", [](const Tensor& t) {
      return t + at::arange(12, at::kFloat).reshape({3, 1, 4}).to(t.device());
    });
    expect_same("sum over the parts", [](const Tensor& t) { return at::sum(t, {1}); });
    expect_same("mean over the parts", [](const Tensor& t) { return at::mean(t, {1}); });
    expect_same("amax over the parts", [](const Tensor& t) { return at::amax(t, {1}); });
    expect_same("softmax", [](const Tensor& t) { return at::softmax(t, 2); });
    expect_same("linear", [](const Tensor& t) {
      return at::linear(t, at::sin(at::arange(12, at::kFloat)).reshape({3, 4}).to(t.device()));
    });
    expect_same("contiguous", [](const Tensor& t) { return t.clone(at::MemoryFormat::Contiguous); });
    expect_same("transpose", [](const Tensor& t) { return t.transpose(1, 2); });
    expect_same("zeros_like", [](const Tensor& t) { return at::zeros_like(t); });
  });
}

TEST(CudaNested, MoveBetweenDevices) {
  c10::cuda::testing::in_all_orders([] {
    for (const Tensor& here :
         {jagged(kCpu, false), at::_nested_tensor_from_tensor_list({values(), values().slice(0, 5)})}) {
      const Tensor there = here.to(kGpu);
      EXPECT_TRUE(there.is_nested());
      EXPECT_TRUE(there.key_set().has(c10::DispatchKey::NestedTensorCUDA));
      EXPECT_EQ(there.layout(), here.layout());
      EXPECT_TRUE(at::equal(there.to(kCpu), here));
      EXPECT_TRUE(at::equal(at::zeros_like(here, at::TensorOptions(kGpu)).to(kCpu), at::zeros_like(here)));
    }
    // Their structure is the host's.
    const Tensor list = at::_nested_tensor_from_tensor_list({values().to(kGpu), values().slice(0, 2).to(kGpu)});
    EXPECT_TRUE(list.is_cuda());
    EXPECT_TRUE(at::_nested_tensor_size(list).is_cpu());
  });
}

}  // namespace
