// Programs that use devices, streams, events, graphs, memory and the toolkit's libraries by libtorch's names.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDADataType.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/CUDASparse.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/cuda/MemPool.h>
#include <ATen/cuda/PinnedMemoryAllocator.h>
#include <ATen/cudnn/Handle.h>
#include <ATen/cudnn/Types.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>
#include <torch/csrc/cuda/memory_snapshot.h>
#include <torch/torch.h>
#include <ATen/cuda/cub.cuh>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace {

using c10::cuda::testing::in_all_orders;
using c10::testing::message_of;
using torch::Tensor;

// A loader that uploads the next batch on a stream of its own while the current one is worked on.
class Prefetcher {
 public:
  explicit Prefetcher(std::vector<Tensor> batches)
      : batches_(std::move(batches)), copies_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)) {
    upload();
  }
  Tensor next() {
    if (!staged_.defined()) return {};
    at::cuda::CUDAStream current = at::cuda::getCurrentCUDAStream();
    ready_.block(current);
    Tensor batch = staged_;
    batch.record_stream(current);
    upload();
    return batch;
  }

 private:
  void upload() {
    staged_ = Tensor();
    if (begin_ == batches_.size()) return;
    const c10::cuda::CUDAStreamGuard guard(copies_);
    staged_ = batches_[begin_++].pin_memory().to(torch::kCUDA, /*non_blocking=*/true);
    ready_.record(copies_);
  }
  std::vector<Tensor> batches_;
  size_t begin_ = 0;
  c10::cuda::CUDAStream copies_;
  at::cuda::CUDAEvent ready_;
  Tensor staged_;
};

TEST(Programs, UploadsBesideWork) {
  in_all_orders([] {
    std::vector<Tensor> batches;
    for (int i = 0; i < 6; ++i) batches.push_back(torch::full({64, 8}, static_cast<float>(i)));
    Prefetcher prefetcher(batches);
    Tensor total = torch::zeros({64, 8}, torch::kCUDA);
    while (true) {
      Tensor batch = prefetcher.next();
      if (!batch.defined()) break;
      total += batch * batch;
    }
    EXPECT_TRUE(torch::equal(total.cpu(), torch::full({64, 8}, 55.f)));
  });
}

TEST(Programs, StreamsOfSeveralDevicesAndTimes) {
  in_all_orders([] {
    at::cuda::CUDAEvent start(cudaEventDefault), stop(cudaEventDefault);
    const std::vector<at::cuda::CUDAStream> streams{at::cuda::getStreamFromPool(false, 0),
                                                    at::cuda::getStreamFromPool(false, 1)};
    const Tensor x = torch::arange(10, torch::kFloat);
    Tensor a, b;
    {
      const c10::cuda::CUDAMultiStreamGuard guard(streams);
      EXPECT_EQ(at::cuda::getCurrentCUDAStream(1), streams[1]);
      a = x.to("cuda:0");
      start.record();
      for (int i = 0; i < 3; ++i) a = a * 2;
      stop.record();
      b = a.to("cuda:1") + 1;
    }
    EXPECT_EQ(at::cuda::getCurrentCUDAStream(0), at::cuda::getDefaultCUDAStream(0));
    streams[1].synchronize();
    EXPECT_TRUE(stop.query());
    stop.synchronize();
    EXPECT_GE(start.elapsed_time(stop), 0);
    EXPECT_TRUE(torch::equal(b.cpu(), x * 8 + 1));

    // A stream of the program's own, and a guard that changes device and stream.
    cudaStream_t raw = nullptr;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking));
    {
      at::cuda::CUDAStream external = at::cuda::getStreamFromExternal(raw, 0);
      at::cuda::CUDAStreamGuard guard(external);
      EXPECT_EQ(at::cuda::getCurrentCUDAStream().stream(), raw);
      guard.reset_stream(streams[1]);
      EXPECT_EQ(c10::cuda::current_device(), 1);
      EXPECT_EQ(guard.original_device(), c10::Device(c10::kCUDA, 0));
    }
    EXPECT_EQ(c10::cuda::current_device(), 0);
    C10_CUDA_CHECK(cudaStreamSynchronize(raw));
    C10_CUDA_CHECK(cudaStreamDestroy(raw));
    const at::cuda::OptionalCUDAGuard none;
    EXPECT_FALSE(none.current_device().has_value());
  });
}

TEST(Programs, EventsOfOtherProcesses) {
  in_all_orders([] {
    at::cuda::CUDAEvent event(cudaEventDisableTiming | cudaEventInterprocess);
    Tensor x = torch::zeros({8}, torch::kCUDA);
    event.record();
    {
      const at::cuda::CUDAStreamGuard guard(at::cuda::getStreamFromPool());
      event.block(at::cuda::getCurrentCUDAStream());
      x.add_(3);
      event.record();
    }
    cudaIpcEventHandle_t handle;
    event.ipc_handle(&handle);
    at::cuda::CUDAEvent opened(0, &handle);
    opened.block(at::cuda::getCurrentCUDAStream());
    EXPECT_EQ((x * 2)[7].item<float>(), 6);
  });
}

TEST(Programs, GraphsOfInference) {
  in_all_orders([] {
    torch::manual_seed(0);
    torch::nn::Sequential network(torch::nn::Linear(6, 12), torch::nn::ReLU(), torch::nn::Linear(12, 3));
    network->eval();
    torch::InferenceMode inference;
    const Tensor inputs = torch::randn({4, 2, 6});
    std::vector<Tensor> expected;
    for (const Tensor& x : inputs.unbind()) expected.push_back(network->forward(x));
    network->to(torch::kCUDA);
    Tensor static_input = torch::empty({2, 6}, torch::kCUDA), static_output;
    at::cuda::CUDAStream side = at::cuda::getStreamFromPool();
    at::cuda::CUDAGraph graph;
    {
      const at::cuda::CUDAStreamGuard guard(side);
      for (int i = 0; i < 2; ++i) network->forward(static_input.zero_());
      side.synchronize();
      graph.capture_begin();
      static_output = network->forward(static_input);
      graph.capture_end();
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      static_input.copy_(inputs[static_cast<int64_t>(i)], /*non_blocking=*/true);
      graph.replay();
      EXPECT_TRUE(torch::allclose(static_output.cpu(), expected[i], 1e-4, 1e-5)) << i;
    }
    network->to(torch::kCPU);
    graph.reset();
    at::cuda::clearCublasWorkspaces();
  });
}

TEST(Programs, MemoryOfTheAllocator) {
  in_all_orders([] {
    namespace allocator = c10::cuda::CUDACachingAllocator;
    const auto allocated = [] {
      return allocator::getDeviceStats(0).allocated_bytes[static_cast<size_t>(allocator::StatType::AGGREGATE)].current;
    };
    allocator::init(static_cast<int>(torch::cuda::device_count()));
    const int64_t before = allocated();
    void* raw = allocator::raw_alloc(1000);
    EXPECT_EQ(allocated() - before, 1024);
    cudaStream_t side = at::cuda::getStreamFromPool();
    void* of_stream = allocator::get()->raw_alloc_with_stream(2000, side);
    C10_CUDA_CHECK(cudaMemsetAsync(of_stream, 0, 2000, side));
    allocator::raw_delete(raw);
    allocator::raw_delete(of_stream);
    EXPECT_EQ(allocated(), before);
    EXPECT_EQ(allocator::get()->name(), "native");

    // Work areas as extensions have them: bytes of the allocator, used on another stream.
    {
      c10::DataPtr area = at::cuda::getCUDADeviceAllocator()->allocate(4096);
      C10_CUDA_CHECK(cudaMemsetAsync(area.get(), 1, 4096, side));
      allocator::recordStream(area, at::cuda::getStreamFromExternal(side, 0));
    }
    Tensor x = torch::empty({1024}, torch::kCUDA);
    allocator::recordStream(x.storage().data_ptr(), at::cuda::getStreamFromPool());
    const auto snapshot = allocator::snapshot();
    EXPECT_FALSE(snapshot.segments.empty());
    bool found = false;
    for (const auto& segment : snapshot.segments) {
      size_t address = segment.address;
      for (const auto& block : segment.blocks) {
        found |= address == reinterpret_cast<size_t>(x.data_ptr()) && block.allocated && block.requested_size == 4096;
        address += block.size;
      }
    }
    EXPECT_TRUE(found);
    size_t size = 0;
    EXPECT_NE(allocator::getBaseAllocation(x.data_ptr(), &size), nullptr);
    EXPECT_GE(size, 4096u);

    allocator::setMemoryFraction(0.01, 0);
    EXPECT_THROW(torch::empty({size_t{1} << 28}, torch::kCUDA), c10::OutOfMemoryError);
    allocator::setMemoryFraction(1, 0);
    x.reset();
    torch::cuda::synchronize();
    allocator::emptyCache();
    allocator::resetPeakStats(0);
    allocator::resetAccumulatedStats(0);

    at::cuda::MemPool pool;
    {
      allocator::beginAllocateToPool(0, pool.id(), [](cudaStream_t) { return true; });
      const Tensor in_pool = torch::zeros({100}, torch::kCUDA);
      allocator::endAllocateToPool(0, pool.id());
      allocator::releasePool(0, pool.id());
      EXPECT_EQ(pool.snapshot().size(), 1u);
    }
  });
}

TEST(Programs, PinnedAndForeignMemory) {
  in_all_orders([] {
    // Results into pinned memory, which is read behind an event.
    auto options = torch::TensorOptions().dtype(torch::kFloat).pinned_memory(true);
    Tensor landing = torch::empty({256}, options);
    EXPECT_TRUE(landing.is_pinned());
    const Tensor x = torch::arange(256, torch::device(torch::kCUDA).dtype(torch::kFloat));
    landing.copy_(x * 2, /*non_blocking=*/true);
    at::cuda::CUDAEvent done;
    done.record(at::cuda::getCurrentCUDAStream());
    done.synchronize();
    EXPECT_EQ(landing[255].item<float>(), 510);
    c10::DataPtr bytes = at::cuda::getPinnedMemoryAllocator()->allocate(64);
    EXPECT_TRUE(at::globalContext().isPinnedPtr(bytes.get()));

    // Memory of another library, given back when the last tensor is gone.
    float* foreign = nullptr;
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&foreign), 6 * sizeof(float)));
    const float host[] = {1, 2, 3, 4, 5, 6};
    C10_CUDA_CHECK(cudaMemcpy(foreign, host, sizeof host, cudaMemcpyHostToDevice));
    int freed = 0;
    {
      const Tensor y = torch::from_blob(
          foreign, {2, 3},
          [&freed](void* memory) {
            ++freed;
            C10_CUDA_CHECK(cudaFree(memory));
          },
          torch::device(torch::Device(torch::kCUDA, 0)).dtype(torch::kFloat));
      EXPECT_TRUE(y.is_cuda());
      EXPECT_EQ(y.t().sum(1)[2].item<float>(), 9);
    }
    EXPECT_EQ(freed, 1);
    // Without naming the device: it is that of the memory.
    C10_CUDA_CHECK(cudaSetDevice(1));
    C10_CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&foreign), 4));
    C10_CUDA_CHECK(cudaSetDevice(0));
    EXPECT_EQ(at::cuda::getDeviceFromPtr(foreign), torch::Device(torch::kCUDA, 1));
    EXPECT_EQ(torch::from_blob(foreign, {1}, torch::TensorOptions(torch::kCUDA)).get_device(), 1);
    C10_CUDA_CHECK(cudaFree(foreign));
    const at::TensorBase made =
        at::detail::empty_cuda({2, 3, 4, 5}, torch::kHalf, std::nullopt, at::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(made.is_contiguous(at::MemoryFormat::ChannelsLast));
  });
}

TEST(Programs, HandlesOfLibraries) {
  in_all_orders([] {
    const at::cuda::CUDAStreamGuard guard(at::cuda::getStreamFromPool());
    const Tensor a = torch::arange(6, torch::kFloat).reshape({2, 3}),
                 b = torch::arange(12, torch::kFloat).reshape({3, 4});
    const Tensor x = a.to(torch::kCUDA), y = b.to(torch::kCUDA), out = torch::zeros({2, 4}, torch::kCUDA);
    const float one = 1, zero = 0;
    cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
    cudaStream_t stream = nullptr;
    TORCH_CUDABLAS_CHECK(cublasGetStream(handle, &stream));
    EXPECT_EQ(stream, at::cuda::getCurrentCUDAStream().stream());
    // Row-major matrices are column-major ones, transposed.
    TORCH_CUDABLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 3, &one, y.data_ptr<float>(), 4,
                                     x.data_ptr<float>(), 3, &zero, out.data_ptr<float>(), 4));
    EXPECT_TRUE(torch::equal(out.cpu(), a.mm(b)));
    const auto type = at::cuda::getCudaDataType<float>();
    EXPECT_EQ(type, CUDA_R_32F);
    EXPECT_EQ(at::cuda::ScalarTypeToCudaDataType(torch::kBFloat16), CUDA_R_16BF);
    EXPECT_THROW(at::cuda::ScalarTypeToCudaDataType(torch::kBool), c10::Error);
    TORCH_CUDABLAS_CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 3, &one, y.data_ptr(), type, 4,
                                      x.data_ptr(), type, 3, &one, out.data_ptr(), type, 4, CUBLAS_COMPUTE_32F,
                                      CUBLAS_GEMM_DEFAULT));
    EXPECT_TRUE(torch::equal(out.cpu(), 2 * a.mm(b)));
    EXPECT_NE(at::cuda::getCurrentCUDABlasLtHandle(), nullptr);

    cusolverDnHandle_t solver = at::cuda::getCurrentCUDASolverDnHandle();
    TORCH_CUSOLVER_CHECK(cusolverDnGetStream(solver, &stream));
    EXPECT_EQ(stream, at::cuda::getCurrentCUDAStream().stream());
    cusparseHandle_t sparse = at::cuda::getCurrentCUDASparseHandle();
    TORCH_CUSPARSE_CHECK(cusparseGetStream(sparse, &stream));
    EXPECT_EQ(stream, at::cuda::getCurrentCUDAStream().stream());
    EXPECT_EQ(at::cuda::getCurrentCUDASparseHandle(), sparse);
    cudnnHandle_t cudnn = at::native::getCudnnHandle();
    AT_CUDNN_CHECK(cudnnGetStream(cudnn, &stream));
    EXPECT_EQ(stream, at::cuda::getCurrentCUDAStream().stream());
    EXPECT_EQ(at::native::getCudnnDataType(x), CUDNN_DATA_FLOAT);
    EXPECT_EQ(at::native::cudnn_version(), at::globalContext().versionCuDNN());
    // A failing call names its status.
    const std::string text = message_of([&] { TORCH_CUSPARSE_CHECK(CUSPARSE_STATUS_ALLOC_FAILED); });
    EXPECT_NE(text.find("cusparse error: "), std::string::npos) << text;
    EXPECT_NE(message_of([] { TORCH_CUDABLAS_CHECK(CUBLAS_STATUS_ALLOC_FAILED); }).find("CUBLAS_STATUS_ALLOC_FAILED"),
              std::string::npos);
    at::cuda::clearCublasWorkspaces();
  });
}

TEST(Programs, SortsAndSumsOfArrays) {
  in_all_orders([] {
    const Tensor keys = torch::tensor({5, 1, 4, 1, 3}, torch::kInt), values = torch::arange(5, torch::kLong);
    const Tensor k = keys.to(torch::kCUDA), v = values.to(torch::kCUDA), sorted = torch::empty_like(k),
                 order = torch::empty_like(v);
    at::cuda::cub::radix_sort_pairs(k.data_ptr<int>(), sorted.data_ptr<int>(), v.data_ptr<int64_t>(),
                                    order.data_ptr<int64_t>(), 5);
    EXPECT_TRUE(torch::equal(order.cpu(), torch::tensor({1, 3, 4, 2, 0}, torch::kLong)));
    EXPECT_TRUE(torch::equal(sorted.cpu(), torch::tensor({1, 1, 3, 4, 5}, torch::kInt)));
    at::cuda::cub::radix_sort_keys(k.data_ptr<int>(), sorted.data_ptr<int>(), 5, /*descending=*/true);
    EXPECT_TRUE(torch::equal(sorted.cpu(), torch::tensor({5, 4, 3, 1, 1}, torch::kInt)));
    const Tensor sums = torch::empty({5}, torch::device(torch::kCUDA).dtype(torch::kLong));
    at::cuda::cub::inclusive_sum_truncating(k.data_ptr<int>(), sums.data_ptr<int64_t>(), 5);
    EXPECT_TRUE(torch::equal(sums.cpu(), torch::tensor({5, 6, 10, 11, 14}, torch::kLong)));
    at::cuda::cub::exclusive_sum_in_common_type(k.data_ptr<int>(), sums.data_ptr<int64_t>(), 5);
    EXPECT_TRUE(torch::equal(sums.cpu(), torch::tensor({0, 5, 6, 10, 11}, torch::kLong)));
  });
}

TEST(Programs, Devices) {
  in_all_orders([] {
    ASSERT_TRUE(torch::cuda::is_available());
    EXPECT_TRUE(torch::cuda::cudnn_is_available());
    EXPECT_EQ(static_cast<int>(torch::cuda::device_count()), static_cast<int>(at::cuda::getNumGPUs()));
    const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
    EXPECT_EQ(properties, at::cuda::getDeviceProperties(c10::cuda::current_device()));
    EXPECT_GE(properties->major, 7);
    EXPECT_EQ(at::cuda::warp_size(), 32);
    EXPECT_TRUE(at::cuda::canDeviceAccessPeer(0, 1));
    const at::Context& context = at::globalContext();
    EXPECT_TRUE(context.hasCUDA() && context.hasCUDART() && context.hasCuDNN() && context.hasCuSOLVER() &&
                context.hasCuBLASLt() && !context.hasMAGMA() && !context.hasROCM());
    EXPECT_EQ(context.versionCUDART(), CUDART_VERSION);
    EXPECT_GE(context.versionCuDNN(), 90000);
    EXPECT_NE(at::show_config().find("CuDNN"), std::string::npos);
    at::globalContext().lazyInitDevice(torch::kCUDA);
    EXPECT_THROW(c10::cuda::set_device(99), c10::Error);
    // Another thread has a device and streams of its own.
    c10::cuda::set_device(1);
    std::thread([] { EXPECT_EQ(c10::cuda::current_device(), 0); }).join();
    c10::cuda::set_device(0);
    torch::cuda::manual_seed_all(3);
    for (int i = 0; i < at::cuda::getNumGPUs(); ++i) {
      EXPECT_EQ(at::cuda::detail::getDefaultCUDAGenerator(static_cast<c10::DeviceIndex>(i)).current_seed(), 3u);
    }
    torch::cuda::synchronize(1);
  });
}

TEST(Programs, AFailingCallNamesItself) {
  in_all_orders([] {
    const std::string text = message_of([] { C10_CUDA_CHECK(cudaErrorInvalidValue); });
    EXPECT_NE(text.find("CUDA error: invalid argument"), std::string::npos) << text;
    EXPECT_THROW(AT_CUDA_CHECK(cudaSetDevice(77)), c10::Error);
    C10_CUDA_CLEAR_ERROR();
    EXPECT_THROW(AT_CUDA_DRIVER_CHECK(CUDA_ERROR_INVALID_VALUE), c10::Error);
  });
}

}  // namespace
