// Programs with kernels of their own: an operator with a derivative, accessors, shared memory, random numbers.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#include "tests/cuda_on_host/programs/programs.h"

namespace {

using c10::cuda::testing::in_all_orders;
using torch::Tensor;

// The operator as a function with a derivative.
struct Swish : torch::autograd::Function<Swish> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x, double scale) {
    static auto op = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("fused_program::swish_forward", "")
                         .typed<Tensor(const Tensor&, double)>();
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return op.call(x, scale);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grads) {
    static auto op = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("fused_program::swish_backward", "")
                         .typed<Tensor(const Tensor&, const Tensor&, double)>();
    return {op.call(grads[0], ctx->get_saved_variables()[0], ctx->saved_data["scale"].toDouble()), Tensor()};
  }
};

torch::Device last_device() {
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(torch::cuda::device_count() - 1));
}

TEST(Programs, AnOperatorWithADerivative) {
  in_all_orders([] {
    torch::manual_seed(0);
    const Tensor host = torch::randn({7, 45});
    // On a device that is not the current one, and on a stream that is not the default one.
    const auto device = last_device();
    const at::cuda::CUDAStreamGuard stream(at::cuda::getStreamFromPool(false, device.index()));
    const at::cuda::CUDAGuard elsewhere(0);
    for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
      const Tensor x = host.to(dtype).to(device).requires_grad_(), y = Swish::apply(x, 0.5);
      EXPECT_EQ(y.device(), device);
      const Tensor reference = host.to(dtype).to(torch::kDouble).requires_grad_();
      const Tensor expected = reference * torch::sigmoid(0.5 * reference);
      const double tolerance = dtype == torch::kBFloat16 ? 3e-2 : dtype == torch::kHalf ? 4e-3 : 1e-5;
      EXPECT_TRUE(torch::allclose(y.cpu().to(torch::kDouble), expected, tolerance, tolerance)) << dtype;
      y.sum().backward();
      expected.sum().backward();
      EXPECT_TRUE(torch::allclose(x.grad().cpu().to(torch::kDouble), reference.grad(), tolerance, tolerance)) << dtype;
    }
    EXPECT_EQ(Swish::apply(torch::empty({0}, device), 1).numel(), 0);
    EXPECT_NE(c10::testing::message_of([&] { Swish::apply(host.to(device).t(), 1); }).find("x must be contiguous"),
              std::string::npos);
  });
}

TEST(Programs, Accessors) {
  in_all_orders([] {
    torch::manual_seed(1);
    const Tensor gates = torch::randn({3, 3, 40}), cell = torch::randn({3, 40});
    // Not contiguous: accessors know strides.
    const Tensor turned = gates.to(torch::kCUDA).transpose(0, 2).contiguous().transpose(0, 2);
    const auto result = programs::gated_cell(turned, cell.to(torch::kCUDA));
    const Tensor expected = cell + torch::tanh(gates.select(1, 2)) * torch::sigmoid(gates.select(1, 0));
    EXPECT_TRUE(torch::allclose(result[1].cpu(), expected, 1e-5, 1e-6));
    EXPECT_TRUE(
        torch::allclose(result[0].cpu(), torch::tanh(expected) * torch::sigmoid(gates.select(1, 1)), 1e-5, 1e-6));

    const Tensor points = torch::randn({11, 3});
    const Tensor distances = programs::square_distances(points.to(torch::kCUDA));
    EXPECT_TRUE(torch::allclose(distances.cpu(), torch::cdist(points, points).square(), 1e-4, 1e-4));
  });
}

TEST(Programs, SharedMemoryAndAtomicAdditions) {
  in_all_orders([] {
    torch::manual_seed(2);
    const Tensor host = torch::randn({5, 300}), x = host.to(torch::kCUDA);
    const auto [sums, maxima] = programs::row_statistics(x);
    EXPECT_TRUE(torch::allclose(sums.cpu(), host.sum(1), 1e-4, 1e-4));
    EXPECT_TRUE(torch::equal(maxima.cpu(), std::get<0>(host.max(1))));
    EXPECT_TRUE(torch::allclose(programs::tree_sum(x).cpu(), host.sum(), 1e-4, 1e-4));
    for (const auto dtype : {torch::kInt, torch::kLong}) {
      const Tensor values = torch::randint(0, 9, {200}, dtype);
      const auto [counts, weights] = programs::histogram(values.to(torch::kCUDA), 9);
      const Tensor expected = torch::bincount(values, {}, 9);
      EXPECT_TRUE(torch::equal(counts.cpu().to(torch::kLong), expected));
      EXPECT_TRUE(torch::equal(weights.cpu().to(torch::kFloat), expected.to(torch::kFloat) / 2));
    }
  });
}

TEST(Programs, AFailedAssertionIsAnError) {
  c10::cuda::testing::in_own_process([] {
    if (torch::cuda::device_count() == 0) return;
    const Tensor values = torch::full({3}, 7, torch::dtype(torch::kInt)).to(torch::kCUDA);
    EXPECT_THROW(
        {
          programs::histogram(values, 5);
          torch::cuda::synchronize();
        },
        c10::Error);
#ifdef KD_CUDA_ON_HOST
    cuda_standin::reset();
#endif
  });
}

TEST(Programs, OffsetsOfStridedTensors) {
  in_all_orders([] {
    const Tensor host = torch::arange(2 * 6 * 4 * 5, torch::kFloat).reshape({2, 6, 4, 5}), x = host.to(torch::kCUDA);
    for (const auto& part : {0, 1, 2}) {
      const auto of = [&](const Tensor& t) {
        return part == 0 ? t : part == 1 ? t.transpose(1, 3) : t.slice(1, 0, 6, 2).select(3, 2);
      };
      EXPECT_TRUE(torch::equal(programs::gathered(of(x)).cpu(), of(host)));
    }
    const Tensor a = host.select(0, 0).select(0, 1), b = host.select(0, 1).select(0, 3).t().contiguous().t();
    EXPECT_TRUE(torch::equal(programs::added_by_offsets(a.to(torch::kCUDA), b.to(torch::kCUDA)).cpu(), a + b));
  });
}

TEST(Programs, RandomNumbersOfTheDevicesGenerator) {
  in_all_orders([] {
    const torch::Device device(torch::kCUDA, 0);
    torch::cuda::manual_seed_all(11);
    const Tensor first = programs::random_mask({500}, 0.4, device), second = programs::random_mask({500}, 0.4, device);
    torch::cuda::manual_seed(11);
    EXPECT_TRUE(torch::equal(programs::random_mask({500}, 0.4, device), first));
    EXPECT_FALSE(torch::equal(first, second));
    EXPECT_NEAR(first.mean().item<double>(), 1, 0.2);
    // A generator of the program's own; its state comes back.
    at::Generator own = at::cuda::detail::createCUDAGenerator();
    own.set_current_seed(5);
    const Tensor state = own.get_state();
    const Tensor drawn = programs::random_mask({64}, 0.5, device, own);
    own.set_state(state);
    EXPECT_TRUE(torch::equal(programs::random_mask({64}, 0.5, device, own), drawn));

    // In a graph: every replay draws others, as without a graph.
    torch::cuda::manual_seed(11);
    at::cuda::CUDAGraph graph;
    Tensor mask;
    {
      const at::cuda::CUDAStreamGuard stream(at::cuda::getStreamFromPool());
      graph.capture_begin();
      mask = programs::random_mask({500}, 0.4, device);
      graph.capture_end();
    }
    torch::cuda::synchronize();
    graph.replay();
    EXPECT_TRUE(torch::equal(mask, first));
    graph.replay();
    EXPECT_TRUE(torch::equal(mask, second));
  });
}

}  // namespace
