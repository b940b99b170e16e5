// Settings of the process, tasks for other threads, tensors of other libraries.
#include <ATen/Context.h>
#include <ATen/DLConvertor.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/extension.h>
#include <torch/script.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <sstream>

#include "c10/testing/message_of.h"

namespace {

using c10::testing::message_of;

TEST(Context, KeepsWhatItIsTold) {
  at::Context& context = at::globalContext();
  EXPECT_TRUE(context.userEnabledCuDNN());
  context.setBenchmarkCuDNN(true);
  context.setDeterministicCuDNN(true);
  context.setUserEnabledCuDNN(false);
  context.setAllowTF32CuDNN(false);
  EXPECT_TRUE(context.benchmarkCuDNN() && context.deterministicCuDNN());
  EXPECT_FALSE(context.userEnabledCuDNN() || context.allowTF32CuDNN());
  EXPECT_FALSE(context.allowTF32CuBLAS());
  context.setAllowTF32CuBLAS(true);
  EXPECT_EQ(context.float32MatmulPrecision(), at::Float32MatmulPrecision::HIGH);
  context.setFloat32MatmulPrecision("highest");
  EXPECT_FALSE(context.allowTF32CuBLAS());
  {
    using at::Float32Backend, at::Float32Op, at::Float32Precision;
    const auto precision = [&] { return context.float32Precision(Float32Backend::MKLDNN, Float32Op::CONV); };
    EXPECT_EQ(precision(), Float32Precision::NONE);
    context.setFloat32Precision(Float32Backend::GENERIC, Float32Op::ALL, Float32Precision::TF32);
    EXPECT_EQ(precision(), Float32Precision::TF32);
    context.setFloat32Precision(Float32Backend::MKLDNN, Float32Op::CONV, Float32Precision::IEEE);
    EXPECT_EQ(precision(), Float32Precision::IEEE);
    torch::manual_seed(0);
    const auto image = torch::randn({1, 64, 56, 56}), weight = torch::randn({64, 64, 3, 3});
    const auto exact = torch::conv2d(image.to(torch::kDouble), weight.to(torch::kDouble), {}, 1, 1);
    const auto error = [&] {
      return (torch::conv2d(image, weight, {}, 1, 1).to(torch::kDouble) - exact).abs().max().item<double>();
    };
    const double plain = error();
    context.setFloat32Precision(Float32Backend::MKLDNN, Float32Op::CONV, Float32Precision::NONE);
    context.setFloat32Precision(Float32Backend::GENERIC, Float32Op::ALL, Float32Precision::NONE);
    EXPECT_LE(plain, error());
    // Of 200,000 sums of 576 products around 1, in any order.
    EXPECT_LT(plain, 2e-4);
  }
  EXPECT_EQ(context.qEngine(), at::kNoQEngine);
  EXPECT_EQ(context.supportedQEngines(), std::vector<at::QEngine>{at::kNoQEngine});
  EXPECT_EQ(message_of([&] { context.setQEngine(at::QEngine::FBGEMM); }), "quantized engine FBGEMM is not supported");
  {
    at::NoTF32Guard guard;
    EXPECT_TRUE(at::NoTF32Guard::should_disable_tf32());
  }
  EXPECT_FALSE(at::NoTF32Guard::should_disable_tf32());
}

TEST(Context, DeterministicAlgorithms) {
  at::Context& context = at::globalContext();
  context.alertNotDeterministic("scatter");
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  EXPECT_TRUE(context.deterministicAlgorithms());
  EXPECT_NE(message_of([&] { context.alertNotDeterministic("scatter"); })
                .find("scatter does not have a deterministic implementation"), std::string::npos);
  context.setDeterministicAlgorithms(false);
}

TEST(Context, FlushesSubnormalNumbers) {
#if defined(__SSE__)
  volatile float tiny = 1e-40f;
  ASSERT_TRUE(at::globalContext().setFlushDenormal(true));
  volatile float flushed = tiny * 0.5f;
  ASSERT_TRUE(at::globalContext().setFlushDenormal(false));
  volatile float kept = tiny * 0.5f;
  EXPECT_EQ(flushed, 0.0f);
  EXPECT_GT(kept, 0.0f);
#endif
}

TEST(Context, SaysWhatThereIs) {
  EXPECT_FALSE(at::hasMKL() || at::hasMPS() || at::hasXPU());
  EXPECT_EQ(at::hasCUDA(), at::getNumGPUs() > 0);
  // With CUDA there are all of its libraries but MAGMA.
  EXPECT_FALSE(at::hasMAGMA());
  const bool has_cuda = at::Context::hasCUDART();
  EXPECT_EQ(at::Context::versionCUDART() >= 13000, has_cuda);
  EXPECT_EQ(at::Context::versionCuDNN() >= 90000, has_cuda);
  EXPECT_TRUE(at::Context::hasCuDNN() == has_cuda && at::Context::hasCuSOLVER() == has_cuda &&
              at::Context::hasCuBLASLt() == has_cuda);
  EXPECT_EQ(torch::cuda::cudnn_is_available(), at::hasCUDA());
  EXPECT_EQ(at::show_config().find("CUDA Runtime") != std::string::npos, has_cuda);
  EXPECT_NE(at::show_config().find("CPU capability usage: " + at::get_cpu_capability()), std::string::npos);
  EXPECT_EQ(at::globalContext().defaultGenerator(torch::kCPU), at::detail::getDefaultCPUGenerator());
  at::globalContext().lazyInitDevice(torch::kCPU);
  EXPECT_THROW(at::globalContext().lazyInitDevice(torch::kXPU), c10::Error);
  int x = 0;
  EXPECT_FALSE(at::globalContext().isPinnedPtr(&x));
  EXPECT_EQ(at::globalContext().getDeviceFromPtr(&x, torch::kCPU), torch::Device("cpu"));
}

TEST(Interop, TasksRunWithTheStateOfTheirLauncher) {
  EXPECT_EQ(message_of([] { torch::set_num_interop_threads(0); }), "Expected positive number of threads");
  torch::set_num_interop_threads(2);
  EXPECT_EQ(torch::get_num_interop_threads(), 2u);
  EXPECT_EQ(
      message_of([] { torch::set_num_interop_threads(3); }),
      "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads called");
  std::mutex mutex;
  std::condition_variable changed;
  int with_grad = 0, without_grad = 0;
  const auto task = [&] {
    std::lock_guard<std::mutex> lock(mutex);
    ++(torch::GradMode::is_enabled() ? with_grad : without_grad);
    changed.notify_all();
  };
  {
    torch::NoGradGuard guard;
    for (int i = 0; i < 5; ++i) at::launch(task);
  }
  at::launch([] { TORCH_CHECK(false, "is written, and ends nothing"); });
  at::launch(task);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return with_grad + without_grad == 6; });
  EXPECT_EQ(without_grad, 5);
  lock.unlock();
  bool ran = false;
  at::intraop_launch([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_NE(at::get_parallel_info().find("at::get_num_interop_threads() : 2"), std::string::npos);
}

TEST(DLPack, ThereAndBack) {
  torch::Tensor x = torch::arange(6, torch::kDouble).reshape({2, 3}).t();
  DLManagedTensor* out = at::toDLPack(x);
  EXPECT_EQ(out->dl_tensor.ndim, 2);
  EXPECT_EQ(out->dl_tensor.dtype.code, kDLFloat);
  EXPECT_EQ(out->dl_tensor.dtype.bits, 64);
  EXPECT_EQ(out->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(out->dl_tensor.strides[0], 1);
  torch::Tensor y = at::fromDLPack(out);
  EXPECT_TRUE(torch::equal(x, y));
  EXPECT_EQ(x.data_ptr(), y.data_ptr());
  EXPECT_GT(x.use_count(), 1u);
  y = torch::Tensor();
  EXPECT_EQ(x.use_count(), 1u);

  DLManagedTensorVersioned* versioned = at::toDLPackVersioned(x.to(torch::kBFloat16));
  EXPECT_EQ(versioned->version.major, 1u);
  EXPECT_EQ(at::fromDLPackVersioned(versioned).scalar_type(), torch::kBFloat16);
  for (torch::ScalarType type : {torch::kByte, torch::kBool, torch::kHalf, torch::kComplexFloat, torch::kUInt32,
                                 torch::kFloat8_e4m3fn}) {
    EXPECT_EQ(at::toScalarType(at::getDLDataType(torch::zeros({1}).to(type))), type);
  }
}

TEST(DLPack, ForeignTensors) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 2};
  DLManagedTensor in{};
  in.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 2 * sizeof(float)};
  static int deleted = 0;
  in.deleter = [](DLManagedTensor*) { ++deleted; };
  torch::Tensor t = at::fromDLPack(&in);
  EXPECT_EQ(t[1][1].item<float>(), 5);
  t = torch::Tensor();
  EXPECT_EQ(deleted, 1);
  in.dl_tensor.dtype.lanes = 4;
  EXPECT_THROW(at::fromDLPack(&in), c10::BufferError);
  in.dl_tensor.dtype = {kDLFloat, 80, 1};
  EXPECT_EQ(message_of([&] { at::fromDLPack(&in); }), "Unsupported kFloat bits 80");
  in.dl_tensor.dtype = {kDLFloat, 32, 1};
  in.dl_tensor.device.device_type = kDLVulkan;
  EXPECT_EQ(message_of([&] { at::fromDLPack(&in); }), "Unsupported device_type: 7");
  in.dl_tensor.device.device_type = kDLCPU;
  shape[0] = -1;
  EXPECT_THROW(at::fromDLPack(&in), c10::Error);
  EXPECT_EQ(deleted, 1);
  shape[0] = 2;
  void* freed = nullptr;
  at::fromDLPack(&in, [&](void* p) { freed = p; });
  EXPECT_EQ(freed, data + 2);
  DLManagedTensorVersioned future{};
  future.version = {2, 0};
  EXPECT_THROW(at::fromDLPackVersioned(&future), c10::BufferError);
}

struct Counter : torch::CustomClassHolder {
  int64_t n = 0;
  int64_t next() { return ++n; }
};

TORCH_LIBRARY(context_test, m) {
  m.class_<Counter>("Counter").def(torch::init<>()).def("next", &Counter::next);
  m.def("twice(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x * 2; });
}

TEST(Script, ValuesListsDictsAndClasses) {
  torch::jit::IValue pair = c10::ivalue::Tuple::create({1.5, torch::ones({2})});
  EXPECT_EQ(pair.toTuple()->elements()[0].toDouble(), 1.5);
  c10::Dict<std::string, int64_t> sizes;
  sizes.insert("a", 2);
  torch::jit::script::IValue dict = sizes;
  EXPECT_EQ(dict.toGenericDict().at("a").toInt(), 2);
  torch::List<torch::Tensor> list({torch::zeros(1)});
  EXPECT_TRUE(c10::IValue(list).isTensorList());
  torch::jit::Stack stack;
  torch::jit::push(stack, c10::make_intrusive<Counter>(), 3);
  EXPECT_EQ(torch::jit::pop(stack).toInt(), 3);
  EXPECT_EQ(torch::jit::pop(stack).toCustomClass<Counter>()->next(), 1);
  std::ostringstream text;
  at::print(text, torch::ones({2}), 80);
  text << ' ' << torch::kFloat << ' ' << torch::Device("cuda:1") << ' ' << torch::ones({1}).dtype();
  EXPECT_EQ(text.str(), " 1\n 1\n[ CPUFloatType{2} ] Float cuda:1 float");
}

}  // namespace
