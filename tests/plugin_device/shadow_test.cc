// What a device outside the library gets from it: memory, copies, streams, events, generators, hooks, its own kernels and the CPU's.
#include "tests/plugin_device/shadow.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "c10/core/accelerator.h"
#include "c10/core/event.h"
#include "c10/core/stream_guard.h"
#include "c10/testing/message_of.h"
#include "torch/torch.h"

namespace {

using c10::testing::message_of;
using torch::Device;
using torch::Tensor;

const Device kShadow(torch::kPrivateUse1, 0), kOther(torch::kPrivateUse1, 1);

Tensor values(int64_t n) { return torch::arange(n, torch::kFloat); }

TEST(ShadowMemory, IsClosedToTheHost) {
  const Tensor x = torch::ones({4}, kShadow);
  torch::accelerator::synchronize(0);  // no kernel has it open
  EXPECT_DEATH(std::printf("%f", *x.data_ptr<float>()), "");
  EXPECT_EQ(x.device(), kShadow);
  EXPECT_EQ(torch::empty({2}, "shadow").device(), kShadow);  // without an index: the current device
  {
    const c10::DeviceGuard guard(kOther);
    EXPECT_EQ(torch::empty({2}, "shadow").device(), kOther);
    EXPECT_EQ(torch::ones({2}).to("shadow").device(), kOther);
  }
  EXPECT_TRUE(x.key_set().has(c10::DispatchKey::PrivateUse1));
  EXPECT_EQ(x.toString(), "PrivateUse1FloatType");
}

TEST(ShadowMemory, GrowsWithItsContents) {
  Tensor x = values(3).to(kShadow);
  x.resize_({2000});
  EXPECT_EQ(x.storage().nbytes(), 8000u);
  EXPECT_TRUE(torch::equal(x.slice(0, 0, 3).cpu(), values(3)));
  Tensor y = torch::empty({0}, kShadow);
  y.set_(x.storage(), 1, {2}, {1});
  EXPECT_TRUE(torch::equal(y.cpu(), values(3).slice(0, 1)));
  const Tensor blob = torch::from_blob(x.data_ptr(), {3}, torch::TensorOptions().device("shadow"));
  EXPECT_EQ(blob.device(), kShadow);
  EXPECT_EQ(message_of([&] { blob.clone(); Tensor b = blob; b.resize_({100}); }), "Trying to resize storage that is not resizable");
  torch::accelerator::synchronize(0);  // the blob's memory is not held by the copy
}

TEST(ShadowCopies, GoByTheDevicesOfBoth) {
  const Tensor x = torch::randn({3, 4}).t();
  const Tensor y = x.to(kShadow), z = y.to(kOther), half = z.to(torch::kHalf);
  EXPECT_EQ(z.device(), kOther);
  EXPECT_EQ(y.strides(), x.strides());
  EXPECT_TRUE(torch::equal(z.cpu(), x));
  EXPECT_TRUE(torch::equal(half.cpu(), x.to(torch::kHalf)));
  Tensor target = torch::zeros({4, 3}, kShadow);
  target.copy_(values(3));  // broadcast
  EXPECT_TRUE(torch::equal(target.cpu(), values(3).expand({4, 3})));
  Tensor host = torch::zeros({4, 3});
  host.copy_(target);
  EXPECT_TRUE(torch::equal(host, target.cpu()));
  Tensor line = values(6).to(kShadow);
  line.slice(0, 1).copy_(line.slice(0, 0, 5));  // overlapping: read before it is written
  EXPECT_TRUE(torch::equal(line.cpu(), torch::tensor({0.f, 0.f, 1.f, 2.f, 3.f, 4.f})));
  EXPECT_TRUE(y.to("shadow").is_same(y));
  EXPECT_EQ(message_of([&] { target.copy_(torch::empty({4, 3}, torch::kMeta)); }), "Cannot copy out of meta tensor; no data!");
}

TEST(ShadowCopies, PinnedMemoryIsReadLate) {
  EXPECT_FALSE(values(4).is_pinned());
  Tensor pinned = values(4).pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_TRUE(pinned.pin_memory().is_same(pinned));
  EXPECT_TRUE(torch::empty({2}, torch::TensorOptions().pinned_memory(true)).is_pinned());
  EXPECT_EQ(message_of([] { torch::ones({2}, kShadow).pin_memory(); }).find("cannot pin 'PrivateUse1FloatType'"), 0u);
  shadow::hold_streams(true);
  const Tensor late = pinned.to(kShadow, torch::kFloat, /*non_blocking=*/true);
  Tensor pageable = values(4);
  const Tensor early = pageable.to(kShadow, torch::kFloat, /*non_blocking=*/true);
  pinned.fill_(7);
  pageable.fill_(7);
  shadow::hold_streams(false);
  EXPECT_TRUE(torch::equal(late.cpu(), torch::full({4}, 7.f)));
  EXPECT_TRUE(torch::equal(early.cpu(), values(4)));
}

TEST(ShadowStreams, AreOrderedByEventsOnly) {
  const c10::impl::VirtualGuardImpl impl(c10::kPrivateUse1);
  const c10::Stream a = impl.getNewStream(kShadow), b = impl.getNewStream(kShadow);
  EXPECT_TRUE(a.query());
  Tensor x = torch::zeros({8}, kShadow);
  const Tensor one = torch::ones({8}, kShadow), two = torch::full({8}, 2.f, kShadow);
  torch::accelerator::synchronize(0);
  shadow::hold_streams(true);
  c10::Event filled(c10::kPrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  {
    const c10::StreamGuard guard(a);
    for (int i = 0; i < 50; ++i) x.add_(one);
    filled.record(a);
  }
  EXPECT_FALSE(a.query());
  EXPECT_FALSE(filled.query());
  Tensor y;
  {
    const c10::StreamGuard guard(b);
    b.wait(filled);
    y = x.mul(two);
    x.record_stream(b);
  }
  shadow::hold_streams(false);
  b.synchronize();
  EXPECT_TRUE(filled.query());
  EXPECT_TRUE(torch::equal(y.cpu(), torch::full({8}, 100.f)));
  c10::Event later(c10::kPrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  later.record(b);
  later.synchronize();
  EXPECT_GE(filled.elapsedTime(later), 0.0);
  EXPECT_EQ(torch::accelerator::current_stream(), c10::Stream(c10::Stream::DEFAULT, kShadow));
}

TEST(ShadowStreams, WithoutAnEventTheOrderIsFree) {
  const c10::impl::VirtualGuardImpl impl(c10::kPrivateUse1);
  const c10::Stream a = impl.getNewStream(kShadow), b = impl.getNewStream(kShadow);
  int early = 0;
  for (int attempt = 0; attempt < 300 && early == 0; ++attempt) {
    const Tensor one = torch::ones({1}, kShadow);
    Tensor x = torch::zeros({1}, kShadow), y;
    torch::accelerator::synchronize(0);
    {
      const c10::StreamGuard guard(a);
      for (int i = 0; i < 4; ++i) x.add_(one);
    }
    {
      const c10::StreamGuard guard(b);
      y = x.mul(one);
    }
    torch::accelerator::synchronize(0);
    early += y.item<float>() != 4;
  }
  EXPECT_GT(early, 0) << "the second stream always waited for the first";
}

TEST(ShadowGenerator, IsSeededWithTheOthers) {
  torch::manual_seed(5);
  const Tensor on_cpu = torch::randn({20});
  const Tensor on_shadow = torch::randn({20}, kShadow), on_other = torch::randn({20}, kOther);
  EXPECT_TRUE(torch::equal(on_shadow.cpu(), on_cpu));
  EXPECT_TRUE(torch::equal(on_other.cpu(), on_cpu));
  at::Generator gen = at::make_generator_for(kShadow);
  gen.set_current_seed(5);
  const Tensor state = gen.get_state();
  const Tensor first = torch::rand({6}, gen, torch::TensorOptions(kShadow));
  gen.set_state(state);
  EXPECT_TRUE(torch::equal(first.cpu(), torch::rand({6}, gen, torch::TensorOptions(kShadow)).cpu()));
  EXPECT_NE(message_of([&] { torch::rand({6}, gen); }).find("Expected a 'cpu' device type for generator"), std::string::npos);
  EXPECT_NE(message_of([&] { torch::randperm(5, gen, torch::TensorOptions(kShadow)); }).find("cannot draw from a generator of shadow:0"),
            std::string::npos);
}

TEST(ShadowHooks, AreTheAccelerators) {
  EXPECT_TRUE(torch::accelerator::is_available());
  EXPECT_EQ(torch::accelerator::current_accelerator(), Device("shadow"));
  EXPECT_EQ(torch::accelerator::device_count(), 2);
  torch::accelerator::set_device_index(1);
  EXPECT_EQ(torch::empty({1}, "shadow").device(), kOther);
  torch::accelerator::set_device_index(0);
  EXPECT_TRUE(at::detail::getPrivateUse1Hooks().hasPrimaryContext(0));
}

TEST(ShadowOperators, AreItsOwnOrTheCpus) {
  const Tensor a = torch::randn({3, 4}), b = torch::randn({4, 2});
  const Tensor x = a.to(kShadow), y = b.to(kShadow);
  shadow::Counts before = shadow::counts();
  const Tensor product = torch::mm(x, y).add(torch::tensor(1.f)).relu();
  EXPECT_EQ(shadow::counts().on_cpu, before.on_cpu);
  EXPECT_GE(shadow::counts().own, before.own + 3);
  EXPECT_TRUE(torch::equal(product.cpu(), torch::mm(a, b).add(1).relu()));
  before = shadow::counts();
  const auto [sorted, order] = torch::sort(x, 1);
  EXPECT_EQ(shadow::counts().on_cpu, before.on_cpu + 1);
  EXPECT_EQ(order.device(), kShadow);
  EXPECT_TRUE(torch::equal(sorted.cpu(), std::get<0>(torch::sort(a, 1))));
  Tensor out = torch::empty({0}, kShadow);
  torch::cumsum_out(out, x, 0);
  EXPECT_TRUE(torch::equal(out.cpu(), torch::cumsum(a, 0)));
  Tensor in_place = x.clone();
  in_place.clamp_(-0.5, 0.5);
  EXPECT_TRUE(torch::equal(in_place.cpu(), a.clamp(-0.5, 0.5)));
  EXPECT_TRUE(torch::equal(torch::arange(5, torch::TensorOptions(kShadow)).cpu(), torch::arange(5)));
  EXPECT_EQ(torch::randperm(9, torch::TensorOptions(kShadow)).device(), kShadow);
}

TEST(ShadowOperators, CountWhatTheyWrite) {
  Tensor x = torch::ones({3}, torch::TensorOptions(kShadow).requires_grad(true)).mul(2), y = x.detach();
  const Tensor square = x.mul(x);
  const int64_t version = x._version();
  y.fill_(3);                                           // its own kernel
  torch::add_out(y, y, y);                              // the CPU's
  at::_foreach_zero_(std::vector<Tensor>{y});           // on a list, one by one
  y.select(0, 1).normal_();                             // into a view
  EXPECT_EQ(x._version(), version + 4);
  EXPECT_NE(message_of([&] { square.sum().backward(); }).find("has been modified by an inplace operation"), std::string::npos);
}

TEST(ShadowOperators, RefuseTensorsOfTwoDevices) {
  const Tensor x = torch::ones({3}, kShadow), host = torch::ones({3}), other = torch::ones({3}, kOther);
  const std::string text = "Expected all tensors to be on the same device, but found at least two devices, ";
  EXPECT_EQ(message_of([&] { x.add(host); }), text + "shadow:0 and cpu!");
  EXPECT_EQ(message_of([&] { x.add(other); }), text + "shadow:0 and shadow:1!");
  EXPECT_EQ(message_of([&] { torch::atan2(x, host); }), text + "shadow:0 and cpu!");  // on the CPU, but for a shadow tensor
  EXPECT_EQ(message_of([&] { torch::stack({x, host}); }), text + "shadow:0 and cpu!");
  EXPECT_EQ(message_of([&] { torch::empty({3}, torch::kMeta).mul(host); }), text + "meta and cpu!");
  EXPECT_TRUE(torch::equal(x.add(torch::tensor(2.0)).cpu(), torch::full({3}, 3.f)));  // a number goes with any device
}

TEST(ShadowTensors, PrintIndexAndGiveNumbers) {
  const Tensor x = values(6).view({2, 3}).to(kShadow);
  std::ostringstream text, expected;
  text << x;
  expected << x.cpu();
  const std::string body = expected.str();
  EXPECT_EQ(text.str(), body.substr(0, body.rfind("[ CPU")) + "[ PrivateUse1FloatType{2,3} ]");
  EXPECT_EQ(x[1][2].item<float>(), 5);
  EXPECT_TRUE(torch::equal(x.index({torch::indexing::Slice(), torch::tensor({2, 0})}).cpu(), torch::tensor({{2.f, 0.f}, {5.f, 3.f}})));
  Tensor y = x.clone();
  y.index_put_({1, torch::indexing::Slice(1)}, 9);
  EXPECT_TRUE(torch::equal(y.cpu(), torch::tensor({{0.f, 1.f, 2.f}, {3.f, 9.f, 9.f}})));
  EXPECT_TRUE(torch::equal(x.masked_select(x > 2).cpu(), torch::tensor({3.f, 4.f, 5.f})));
}

TEST(ShadowTensors, AreSavedAndLoaded) {
  const Tensor x = torch::randn({3, 2}, kShadow);
  std::stringstream file;
  torch::save(x, file);
  Tensor on_cpu, on_other;
  torch::load(on_cpu, file);
  file.clear();
  file.seekg(0);
  torch::load(on_other, file, kOther);
  EXPECT_EQ(on_other.device(), kOther);
  EXPECT_TRUE(torch::equal(on_cpu.cpu(), x.cpu()));
  EXPECT_TRUE(torch::equal(on_other.cpu(), x.cpu()));
}

// A small network: the losses of eight steps are those of the CPU, bit for bit.
std::vector<float> train(const Device& device) {
  torch::manual_seed(3);
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)), torch::nn::ReLU(), torch::nn::MaxPool2d(2),
                            torch::nn::Flatten(), torch::nn::Linear(36, 10));
  const Tensor images = torch::randn({16, 1, 8, 8}).to(device), labels = torch::randint(0, 10, {16}).to(device);
  net->to(device);
  std::vector<float> losses;
  for (int step = 0; step < 8; ++step) {
    net->zero_grad();
    const Tensor loss = torch::nll_loss(torch::log_softmax(net->forward(images), 1), labels);
    loss.backward();
    torch::NoGradGuard no_grad;
    for (Tensor& p : net->parameters()) p.add_(p.grad(), -0.1);
    losses.push_back(loss.item<float>());
  }
  return losses;
}

TEST(ShadowTraining, GivesTheLossesOfTheCpu) {
  const std::vector<float> expected = train(torch::kCPU), got = train(kShadow);
  EXPECT_EQ(got, expected);
  EXPECT_LT(got.back(), got.front());
}

// What `part` gives on a stream of its own, which waits for the current one before and is waited for after.
template <class Part>
Tensor on_stream(const c10::Stream& stream, const Part& part) {
  const c10::Stream outer = torch::accelerator::current_stream(stream.device_index());
  const auto wait = [](const c10::Stream& waiting, const c10::Stream& first) {
    c10::Event done(c10::kPrivateUse1);
    done.record(first);
    waiting.wait(done);
  };
  wait(stream, outer);
  Tensor result;
  {
    const c10::StreamGuard guard(stream);
    result = part();
  }
  wait(outer, stream);
  return result;
}

// Two branches on streams of their own, the second on the other device; `first` and `second` are ignored on the CPU.
Tensor two_branches(const Tensor& x, const Tensor& w, const c10::Stream* first, const c10::Stream* second) {
  const auto left = [&] {
    Tensor y = x * w;
    for (int i = 0; i < 6; ++i) y = (y * x + w).tanh();
    return y;
  };
  const auto right = [&] {
    Tensor y = first != nullptr ? x.to(kOther) : x;
    const Tensor v = first != nullptr ? w.to(kOther) : w;
    for (int i = 0; i < 6; ++i) y = (y * v).sin() + v;
    return first != nullptr ? y.to(kShadow) : y;
  };
  if (first == nullptr) return (left() * right()).sum();
  const Tensor a = on_stream(*first, left), b = on_stream(*second, right);
  return (a * b).sum();
}

TEST(ShadowAutograd, RunsOnTheStreamsOfForward) {
  const c10::impl::VirtualGuardImpl impl(c10::kPrivateUse1);
  const c10::Stream first = impl.getNewStream(kShadow), second = impl.getNewStream(kShadow);
  torch::manual_seed(11);
  const Tensor x = torch::randn({16}), w = torch::randn({16});
  const auto gradients = [&](const Device& device, const c10::Stream* a, const c10::Stream* b) {
    const Tensor u = x.to(device).detach().requires_grad_(), v = w.to(device).detach().requires_grad_();
    two_branches(u, v, a, b).backward();
    // The current stream comes after the gradients: nothing is synchronised here.
    return std::vector<Tensor>{(u.grad() * 1).cpu(), (v.grad() * 1).cpu()};
  };
  const std::vector<Tensor> expected = gradients(torch::kCPU, nullptr, nullptr);
  for (int attempt = 0; attempt < 40; ++attempt) {
    const std::vector<Tensor> got = gradients(kShadow, &first, &second);
    for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(torch::allclose(got[i], expected[i], 1e-5, 1e-6)) << attempt;
  }
}

TEST(ShadowAutograd, CheckpointsKeepTheGeneratorsOfTheirInputsDevices) {
  const auto block = [](const torch::autograd::variable_list& in) {
    Tensor y = in[0];
    for (int i = 0; i < 3; ++i) y = torch::dropout(torch::tanh(y * in[0]), 0.5, true);
    return torch::autograd::variable_list{y + torch::dropout(in[1], 0.5, true).to(kShadow)};
  };
  const auto gradients = [&](const auto& run) {
    torch::manual_seed(9);
    std::vector<Tensor> inputs;
    for (const Device& device : {kShadow, kOther}) {
      inputs.push_back(torch::full({32}, 0.7f, torch::TensorOptions(device)).requires_grad_());
    }
    const Tensor y = run(inputs)[0];
    // Draws of the program between forward and backward go on after backward as if that had drawn nothing.
    std::vector<Tensor> all;
    for (const Device& device : {kShadow, kOther, Device(torch::kCPU)}) all.push_back(torch::rand({3}, device).cpu());
    y.sum().backward();
    for (const Device& device : {kShadow, kOther, Device(torch::kCPU)}) all.push_back(torch::rand({3}, device).cpu());
    for (const Tensor& input : inputs) all.push_back(input.grad().cpu());
    return all;
  };
  const std::vector<Tensor> plain = gradients(block);
  for (const bool reentrant : {false, true}) {
    const auto options = torch::utils::checkpoint::CheckpointOptions().use_reentrant(reentrant);
    const std::vector<Tensor> got = gradients(
        [&](const std::vector<Tensor>& inputs) { return torch::utils::checkpoint::checkpoint(block, inputs, options); });
    ASSERT_EQ(got.size(), plain.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(torch::equal(got[i], plain[i])) << reentrant << " " << i;
  }
}

TEST(ShadowGenerator, IsTheContextsDefault) {
  const at::Generator& generator = at::globalContext().defaultGenerator(kOther);
  EXPECT_EQ(generator.device(), kOther);
  torch::manual_seed(12);
  EXPECT_EQ(generator.current_seed(), 12u);
  EXPECT_EQ(at::globalContext().defaultGenerator(torch::kCPU), at::detail::getDefaultCPUGenerator());
}

}  // namespace
