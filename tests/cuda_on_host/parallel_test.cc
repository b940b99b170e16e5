// Tensors and modules on several CUDA devices: what goes where, in how many copies, on which streams, and that training
// on all of them is training on one.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>
#include <torch/csrc/cuda/comm.h>
#include <torch/nn/parallel/data_parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

namespace nn = torch::nn;
using c10::testing::message_of;
using torch::Device;
using torch::Tensor;

Device gpu(int index) {
  return Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::vector<Device> first_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(gpu(i));
  return devices;
}

// Each device has a current stream that is not its default one.
struct SideStreams {
  SideStreams() {
    for (int i = 0; i < at::cuda::getNumGPUs(); ++i) {
      streams.push_back(at::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(i)));
    }
    guard.emplace(streams);
  }
  std::vector<at::cuda::CUDAStream> streams;
  std::optional<c10::cuda::CUDAMultiStreamGuard> guard;
};

void on_devices(int devices, const std::function<void()>& body) {
  c10::cuda::testing::in_all_orders(
      [&] {
        torch::manual_seed(0);
        at::globalContext().setAllowTF32CuDNN(false);  // sums are compared with the CPU's
        body();
      },
      {.devices = devices});
}

void expect_equal(const Tensor& got, const Tensor& expected) {
  EXPECT_TRUE(torch::equal(got.cpu(), expected.cpu())) << got.cpu() << "\nexpected\n" << expected.cpu();
}

TEST(CudaComm, SpreadsAndJoins) {
  on_devices(3, [] {
    const SideStreams streams;
    const Tensor host = torch::arange(30, torch::kFloat).reshape({6, 5}), x = host.to(gpu(0));
    const auto copies = torch::cuda::broadcast(x, {0, 1, 2});
    ASSERT_EQ(copies.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(copies[static_cast<size_t>(i)].device(), gpu(i));
      expect_equal(copies[static_cast<size_t>(i)], host);
    }
    EXPECT_TRUE(copies[0].is_same(x));
    std::vector<Tensor> outs{torch::empty({6, 5}, gpu(1)), torch::empty({6, 5}, gpu(2))};
    for (const Tensor& out : torch::cuda::broadcast_out(x + 1, outs)) expect_equal(out, host + 1);

    const auto equal = torch::cuda::scatter(x, {0, 1, 2, 1}, std::nullopt, 0);
    ASSERT_EQ(equal.size(), 3u);  // of two rows each
    for (int64_t i = 0; i < 3; ++i) expect_equal(equal[static_cast<size_t>(i)], host.narrow(0, 2 * i, 2));
    expect_equal(torch::cuda::gather(equal, 0, 2), host);
    EXPECT_EQ(torch::cuda::gather(equal, 0, 2).device(), gpu(2));
    EXPECT_EQ(torch::cuda::gather(equal, 0, std::nullopt).device(), gpu(0));
    const Tensor on_host = torch::cuda::gather(equal, 0, -1);
    EXPECT_TRUE(on_host.is_cpu());
    EXPECT_TRUE(torch::equal(on_host, host));

    // Along another dimension, of given sizes, on streams of the parts'.
    const auto side = at::cuda::getStreamFromPool(true, 2);
    const auto uneven = torch::cuda::scatter(host, {1, 2}, std::vector<int64_t>{1, 4}, 1,
                                             std::vector<std::optional<at::cuda::CUDAStream>>{std::nullopt, side});
    side.synchronize();
    expect_equal(uneven[0], host.narrow(1, 0, 1));
    expect_equal(uneven[1], host.narrow(1, 1, 4));
    std::vector<Tensor> parts{torch::zeros({6, 2}, gpu(2)), torch::zeros({6, 3}, gpu(0))};
    torch::cuda::scatter_out(x, parts, 1);
    expect_equal(parts[0], host.narrow(1, 0, 2));
    expect_equal(parts[1], host.narrow(1, 2, 3));
    Tensor whole = torch::zeros({6, 5}, gpu(1));
    expect_equal(torch::cuda::gather_out(parts, whole, 1), host);

    expect_equal(torch::cuda::reduce_add({x, host.to(gpu(1)) * 2, host.to(gpu(2)) * 3}, 1), host * 6);
  });
}

TEST(CudaComm, SmallTensorsGoTogether) {
  on_devices(3, [] {
    const SideStreams streams;
    std::vector<Tensor> host, tensors;
    for (int64_t i = 0; i < 8; ++i) {
      host.push_back(torch::arange(i, 4 * i + 3).to(i % 3 == 0 ? torch::kDouble : torch::kFloat));
      tensors.push_back(host.back().to(gpu(0)));
    }
    torch::cuda::synchronize();
    for (const size_t bytes : {size_t{1}, size_t{64}, size_t{10485760}}) {
      cuda_standin::clear_trace();
      const auto all = torch::cuda::broadcast_coalesced(tensors, {0, 1, 2}, bytes);
      ASSERT_EQ(all.size(), 3u);
      for (int device = 0; device < 3; ++device) {
        const std::vector<Tensor>& here = all[static_cast<size_t>(device)];
        for (size_t i = 0; i < host.size(); ++i) {
          EXPECT_EQ(here[i].device(), gpu(device));
          EXPECT_EQ(here[i].scalar_type(), host[i].scalar_type());
          expect_equal(here[i], host[i]);
        }
      }
      if (bytes > 64) {
        // Two dtypes to two devices.
        const auto ran = cuda_standin::trace();
        EXPECT_EQ(std::count_if(ran.begin(), ran.end(),
                                [](const auto& work) { return work.name.find("Peer") != std::string::npos; }),
                  4);
      }
      const auto sums = torch::cuda::reduce_add_coalesced(all, 2, bytes);
      for (size_t i = 0; i < host.size(); ++i) {
        EXPECT_EQ(sums[i].device(), gpu(2));
        expect_equal(sums[i], host[i] * 3);
      }
    }
  });
}

TEST(CudaComm, SaysWhatDoesNotFit) {
  on_devices(2, [] {
    const auto contains = [](const std::string& text, const char* part) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    const Tensor x = torch::ones({4, 2}, gpu(0));
    contains(message_of([&] { torch::cuda::broadcast(x, {0, 2}); }), "there is no CUDA device 2 among 2");
    contains(message_of([&] { torch::cuda::broadcast(x, {}); }), "Expected at least one device to broadcast to");
    contains(message_of([&] { torch::cuda::broadcast(x, {1, 0}); }), "the tensor is on cuda:0");
    contains(message_of([&] { torch::cuda::scatter(x, {}); }), "Expected at least one device to scatter to");
    contains(
        message_of([&] {
          torch::cuda::scatter(x, {0, 1}, std::vector<int64_t>{4});
        }),
        "Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and len(chunk_sizes) = 1");
    contains(message_of([&] {
               torch::cuda::scatter(
                   x, {0, 1}, std::nullopt, 0,
                   std::vector<std::optional<at::cuda::CUDAStream>>{std::nullopt, at::cuda::getDefaultCUDAStream(0)});
             }),
             "stream 1 is one of cuda:0, but the part's device is cuda:1");
    contains(message_of([&] { torch::cuda::gather({}, 0, 0); }), "Expected at least one tensor to gather from");
    contains(message_of([&] {
               torch::cuda::broadcast_coalesced({x, torch::ones({2}, gpu(1))}, {0, 1});
             }),
             "all tensors must be on cuda:0");
    std::vector<Tensor> outs{torch::ones({4, 2})};
    contains(message_of([&] { torch::cuda::broadcast_out(x, outs); }), "output tensor 0 has device cpu");
    contains(message_of([&] {
               torch::cuda::reduce_add({x, torch::ones({3}, gpu(1))}, 0);
             }),
             "expected tensors of size [4, 2], but got one of size [3]");
    contains(message_of([&] {
               torch::cuda::reduce_add_coalesced({{x}, {x, x}}, 0);
             }),
             "expected 1 tensors of each device");
  });
}

// Convolution, numbers that are no parameters, and a parameter that is used twice.
struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(2, 3, 2)));
    fc = register_module("fc", nn::Linear(12, 2));
    scale = register_buffer("scale", torch::arange(1, 4, torch::kFloat).reshape({3, 1, 1}));
    shift = register_parameter("shift", torch::zeros({1}));
  }
  Tensor forward(const Tensor& x) { return fc((torch::relu(conv(x)) * scale + shift).flatten(1)) * (shift + 1); }
  nn::Conv2d conv{nullptr};
  nn::Linear fc{nullptr};
  Tensor scale, shift;
};
TORCH_MODULE(Net);

void train(Net net, const Tensor& x, int64_t batch, const std::function<Tensor(Net, const Tensor&)>& forward) {
  torch::optim::SGD optimizer(net->parameters(), 0.05);
  for (int64_t begin = 0; begin < x.size(0); begin += batch) {
    optimizer.zero_grad();
    forward(net, x.narrow(0, begin, std::min(batch, x.size(0) - begin))).pow(2).mean().backward();
    optimizer.step();
  }
}

TEST(CudaDataParallel, TrainsAsOneDeviceDoes) {
  for (const int devices : {2, 4}) {
    on_devices(devices, [&] {
      Net one;
      Net all(std::dynamic_pointer_cast<NetImpl>(one->clone(gpu(0))));
      // The last batch has three samples: not every device gets one.
      const Tensor x = torch::randn({13, 2, 3, 3});
      train(one, x, 5, [](Net net, const Tensor& part) { return net(part); });
      {
        const SideStreams streams;
        const Tensor on_device = x.to(gpu(0));
        train(all, on_device, 5, [&](Net net, const Tensor& part) {
          const Tensor y = nn::parallel::data_parallel(net, part, first_devices(devices));
          EXPECT_EQ(y.device(), gpu(0));
          return y;
        });
        for (const auto& parameter : all->named_parameters()) {
          EXPECT_EQ(parameter.value().device(), gpu(0));
          const Tensor expected = one->named_parameters()[parameter.key()];
          EXPECT_TRUE(torch::allclose(parameter.value().cpu(), expected, 1e-4, 1e-5)) << parameter.key();
          EXPECT_TRUE(torch::allclose(parameter.value().grad().cpu(), expected.grad(), 1e-4, 1e-5)) << parameter.key();
        }
      }
    });
  }
}

TEST(CudaDataParallel, RunsReplicasWhereTheirInputsAre) {
  on_devices(2, [] {
    struct Probe : nn::Cloneable<Probe> {
      void reset() override {}
      Tensor forward(const Tensor& x) {
        const auto device = static_cast<double>(c10::cuda::current_device());
        return torch::full({1, 2}, device, x.options()) * 10 +
               (at::cuda::getCurrentCUDAStream() == at::cuda::getDefaultCUDAStream() ? 1 : 0);
      }
    };
    const auto probe = std::make_shared<Probe>();
    const Tensor x = torch::ones({2, 2}, gpu(0));
    const auto run = [&] { return nn::parallel::data_parallel(probe, x, first_devices(2), Device(torch::kCPU)); };
    EXPECT_TRUE(torch::equal(run(), torch::tensor({{1.f, 1.f}, {11.f, 11.f}})));
    const SideStreams streams;
    EXPECT_TRUE(torch::equal(run(), torch::tensor({{0.f, 0.f}, {10.f, 10.f}})));
    EXPECT_EQ(c10::cuda::current_device(), 0);
  });
}

TEST(CudaDataParallel, AppliesInParallelOrSaysWhy) {
  on_devices(2, [] {
    nn::Linear linear(3, 4);
    linear->to(gpu(0));
    auto replicas = nn::parallel::replicate(linear, first_devices(2));
    EXPECT_EQ(replicas[1]->weight.device(), gpu(1));
    const Tensor x = torch::randn({5, 3});
    const auto results = nn::parallel::parallel_apply(replicas, {x.to(gpu(0)), x.to(gpu(1))});
    EXPECT_EQ(results[1].device(), gpu(1));
    EXPECT_TRUE(torch::allclose(results[0].cpu(), results[1].cpu(), 1e-5, 1e-6));
    (results[0].sum() + results[1].to(gpu(0)).sum()).backward();
    EXPECT_TRUE(torch::allclose(linear->bias.grad().cpu(), torch::full({4}, 10.f)));
    EXPECT_FALSE(replicas[1]->weight.grad().defined());
    // A module and its input on two devices.
    const std::string text = message_of([&] { nn::parallel::parallel_apply(replicas, {x.to(gpu(1)), x.to(gpu(1))}); });
    EXPECT_NE(text.find("Expected all tensors to be on the same device, but found at least two devices"),
              std::string::npos)
        << text;
    EXPECT_EQ(message_of([&] { nn::parallel::parallel_apply(replicas, {x.to(gpu(0))}); }),
              "Must have as many inputs as modules");
  });
}

}  // namespace
