// Batches that are copied to a CUDA device while others are used, in all orders of streams; what missing waits would
// do.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/device_guard_impl.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/cuda/testing.h"
#include "data/dataloader/dataloader.h"
#include "data/dataloader/device_loader.h"
#include "data/datasets/base.h"
#include "data/transforms/transforms.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Tensor;
using namespace torch::data;

constexpr size_t kExamples = 24, kBatch = 2;
constexpr int64_t kWidth = 512;

struct Numbers : datasets::Dataset<Numbers> {
  Example<> get(size_t i) override { return {at::full({kWidth}, static_cast<double>(i + 1)), at::full({1}, 0.5)}; }
  std::optional<size_t> size() const override { return kExamples; }
};

// Whether every batch had its numbers when the device used it.
bool numbers_are_right(const DataLoaderOptions& options, size_t ahead,
                       const std::optional<c10::cuda::CUDAStream>& stream) {
  std::optional<c10::cuda::CUDAStreamGuard> on;
  if (stream) on.emplace(*stream);
  auto loader = make_data_loader<samplers::SequentialSampler>(Numbers().map(transforms::Stack<>()), options);
  std::vector<Tensor> products;
  for (Example<>& batch : to_device(*loader, at::Device(at::kCUDA, 0), ahead)) {
    EXPECT_TRUE(batch.data.is_cuda() && batch.target.is_cuda());
    Tensor product = at::mul(batch.data, batch.target);
    for (int i = 0; i < 3; ++i) product = at::add(product, batch.data);  // the batch is used for a while
    products.push_back(product);
  }
  EXPECT_EQ(products.size(), kExamples / kBatch);
  bool right = true;
  for (size_t b = 0; b < products.size(); ++b) {
    const Tensor product = at::to(products[b], at::kCPU, at::kFloat);
    const float* values = product.const_data_ptr<float>();
    for (int64_t i = 0; i < product.numel(); ++i)
      right &= values[i] == 3.5f * static_cast<float>(b * kBatch + static_cast<size_t>(i / kWidth) + 1);
  }
  return right;
}

TEST(DeviceLoader, GivesEveryBatchInAnyOrderOfStreams) {
  c10::cuda::testing::in_all_orders([] {
    for (const bool pin : {true, false}) {
      for (const size_t workers : {0, 1}) {
        const DataLoaderOptions options = DataLoaderOptions(kBatch).workers(workers).pin_memory(pin);
        EXPECT_TRUE(numbers_are_right(options, 1, std::nullopt));
        EXPECT_TRUE(numbers_are_right(options, 3, c10::cuda::getStreamFromPool()));
      }
    }
  });
}

// The backend, which forgets what the test says.
struct Forgetful final : c10::impl::DeviceGuardImplInterface {
  using Device = c10::Device;
  using Stream = c10::Stream;
  c10::DeviceType type() const override { return at::kCUDA; }
  Device exchangeDevice(Device device) const override { return real.exchangeDevice(device); }
  Device getDevice() const override { return real.getDevice(); }
  void setDevice(Device device) const override { real.setDevice(device); }
  void uncheckedSetDevice(Device device) const noexcept override { real.uncheckedSetDevice(device); }
  c10::DeviceIndex deviceCount() const noexcept override { return real.deviceCount(); }
  void synchronizeDevice(c10::DeviceIndex device) const override { real.synchronizeDevice(device); }
  Stream getStream(Device device) const override { return real.getStream(device); }
  Stream getDefaultStream(Device device) const override { return real.getDefaultStream(device); }
  Stream getNewStream(Device device, int priority) const override { return real.getNewStream(device, priority); }
  Stream exchangeStream(Stream stream) const override { return real.exchangeStream(stream); }
  bool queryStream(const Stream& stream) const override { return real.queryStream(stream); }
  void synchronizeStream(const Stream& stream) const override { real.synchronizeStream(stream); }
  void destroyEvent(void* event, c10::DeviceIndex device) const noexcept override { real.destroyEvent(event, device); }
  void record(void** event, const Stream& stream, c10::DeviceIndex device, c10::EventFlag flag) const override {
    real.record(event, stream, device, flag);
  }
  void block(void* event, const Stream& stream) const override {
    if (!forget_events) real.block(event, stream);
  }
  bool queryEvent(void* event) const override { return real.queryEvent(event); }
  void synchronizeEvent(void* event) const override { real.synchronizeEvent(event); }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& stream) const override {
    if (!forget_streams) real.recordDataPtrOnStream(data, stream);
  }

  const c10::impl::DeviceGuardImplInterface& real = *c10::impl::getDeviceGuardImpl(at::kCUDA);
  bool forget_events = false, forget_streams = false;
};

// In how many of some orders the numbers are wrong.
int wrong_orders(const Forgetful& backend) {
  c10::impl::registerDeviceGuardImpl(at::kCUDA, &backend);
  int wrong = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    cuda_standin::reset(
        {.execution = seed % 2 == 0 ? cuda_standin::Execution::kLazy : cuda_standin::Execution::kRandom, .seed = seed});
    wrong += !numbers_are_right(DataLoaderOptions(kBatch).pin_memory(true), 1, c10::cuda::getStreamFromPool());
    c10::cuda::testing::empty_caches();
  }
  return wrong;
}

TEST(DeviceLoader, AMissingEventOrARecordOfAStreamShows) {
  c10::cuda::testing::in_own_process([] { EXPECT_EQ(wrong_orders(*new Forgetful), 0); });
  c10::cuda::testing::in_own_process([] {
    auto* const backend = new Forgetful;
    backend->forget_events = true;
    EXPECT_GT(wrong_orders(*backend), 0);
  });
  c10::cuda::testing::in_own_process([] {
    auto* const backend = new Forgetful;
    backend->forget_streams = true;
    EXPECT_GT(wrong_orders(*backend), 0);
  });
}

TEST(DeviceLoader, EndsInTheMiddleOfAPassWithoutLeaks) {
  c10::cuda::testing::in_all_orders([] {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers().map(transforms::Stack<>()),
                                                                DataLoaderOptions(kBatch).workers(2).pin_memory(true));
    auto on_device = to_device(*loader, at::Device(at::kCUDA), 2);
    EXPECT_EQ(on_device.device(), at::Device(at::kCUDA, 0));
    auto it = on_device.begin();
    EXPECT_TRUE(it->data.is_cuda());
    ++it;
  });
}

TEST(DeviceLoader, EachCallOfCudaFails) {
  c10::cuda::testing::with_each_call_failing([] {
    auto loader = make_data_loader<samplers::SequentialSampler>(Numbers().map(transforms::Stack<>()),
                                                                DataLoaderOptions(16).pin_memory(true));
    size_t batches = 0;
    for (Example<>& batch : to_device(*loader, at::Device(at::kCUDA, 0))) batches += batch.data.is_cuda();
    EXPECT_EQ(batches, 2u);
  });
}

}  // namespace
