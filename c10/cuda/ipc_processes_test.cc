// Device memory between processes: one that has it, others that use it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/ipc.h"
#include "c10/cuda/launch_test_kernel.h"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace c10::cuda {
namespace {

constexpr int64_t kFloats = 3000;

// What two processes say to each other.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  template <class T>
  void put(const T& value) const {
    EXPECT_EQ(::write(ends_[1], &value, sizeof(T)), static_cast<ssize_t>(sizeof(T)));
  }
  template <class T = char>
  T get() const {
    T value{};
    for (size_t done = 0; done < sizeof(T);) {
      const ssize_t part = ::read(ends_[0], reinterpret_cast<char*>(&value) + done, sizeof(T) - done);
      if (part <= 0) std::_Exit(9);  // the other has ended
      done += static_cast<size_t>(part);
    }
    return value;
  }

 private:
  int ends_[2] = {-1, -1};
};

// A process whose failures are the test's. `order` says how work runs on the host.
class Process {
 public:
  Process(int order, const std::function<void()>& body) {
    std::fflush(stdout);
    process_ = ::fork();
    if (process_ != 0) return;
    try {
#ifdef KD_CUDA_ON_HOST
      using cuda_standin::Execution;
      const Execution all[] = {Execution::kEager, Execution::kLazy, Execution::kRandom};
      cuda_standin::reset({.execution = all[order], .seed = static_cast<uint64_t>(::getpid())});
#else
      (void)order;
      if (device_count() == 0) ::_exit(0);
#endif
      body();
      testing::empty_caches();
#ifdef KD_CUDA_ON_HOST
      EXPECT_EQ(cuda_standin::misuse(), "");
      EXPECT_EQ(testing::leaks_but_streams(), "");
      EXPECT_EQ(cuda_standin::live().mappings, 0u);
#endif
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
    std::fflush(stdout);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  void end() {
    int status = 0;
    ASSERT_EQ(::waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a process ended with status " << status;
  }

 private:
  pid_t process_ = -1;
};

// Of the caching allocator, as tensors are; `fill` is put on the current stream.
struct Floats {
  explicit Floats(float fill) : data(CUDACachingAllocator::get()->allocate(kFloats * 4)) {
    // 0 + fill * 1, so that the work is a kernel.
    const CUDAStream stream = getCurrentCUDAStream();
    DataPtr ones = CUDACachingAllocator::get()->allocate(kFloats * 4);
    const std::vector<float> one(kFloats, 1.0f);
    C10_CUDA_CHECK(cudaMemcpyAsync(ones.get(), one.data(), kFloats * 4, cudaMemcpyHostToDevice, stream));
    C10_CUDA_CHECK(cudaMemsetAsync(data.get(), 0, kFloats * 4, stream));
    scale_and_add(fill, static_cast<float*>(ones.get()), static_cast<float*>(data.get()), kFloats, 64, stream);
  }
  DataPtr data;
};

ipc::MemoryHandle send(Floats floats, int receivers = 1) {
  void* const data = floats.data.get();
  size_t bytes = 0;
  void* const base = CUDACachingAllocator::getBaseAllocation(data, &bytes);
  return ipc::send(std::move(floats.data), base, kFloats * 4, getCurrentCUDAStream(), receivers);
}

bool all_are(const void* data, float value) {
  std::vector<float> found(kFloats);
  const CUDAStream stream = getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaMemcpyAsync(found.data(), data, kFloats * 4, cudaMemcpyDeviceToHost, stream));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  return std::all_of(found.begin(), found.end(), [&](float x) { return x == value; });
}

class IpcProcesses : public ::testing::TestWithParam<int> {};

TEST_P(IpcProcesses, AReceiverUsesTheMemoryInItsOrderAndTheSenderKeepsItSoLong) {
  const Pipe there, back;
  Process sender(GetParam(), [&] {
    const CUDAStreamGuard guard(getStreamFromPool());
    Floats floats(3);
    const void* const data = floats.data.get();
    there.put(send(std::move(floats)));  // the kernel may not have run
    EXPECT_EQ(ipc::collect(), 1u);
    back.get();  // it is changed
    EXPECT_TRUE(all_are(data, 7));
    EXPECT_EQ(ipc::collect(), 1u);
    there.put('g');
    back.get();  // it is let go
    EXPECT_EQ(ipc::collect(), 0u);
  });
  Process receiver(GetParam(), [&] {
    const CUDAStreamGuard guard(getStreamFromPool());
    DataPtr data = ipc::receive(there.get<ipc::MemoryHandle>());
    EXPECT_TRUE(all_are(data.get(), 3)) << "not before the sender's kernel";
    const Floats four(4);
    scale_and_add(1, static_cast<const float*>(four.data.get()), static_cast<float*>(data.get()), kFloats, 64,
                  getCurrentCUDAStream());
    getCurrentCUDAStream().synchronize();
    back.put('c');
    there.get();
    data.clear();
    back.put('d');
  });
  receiver.end();
  sender.end();
}

TEST_P(IpcProcesses, TheLastOfSeveralReceiversLetsGo) {
  const Pipe first, second, back;
  Process sender(GetParam(), [&] {
    const ipc::MemoryHandle handle = send(Floats(2), 2);
    first.put(handle);
    second.put(handle);
    back.get();
    EXPECT_EQ(ipc::collect(), 1u);
    second.put('g');
    back.get();
    EXPECT_EQ(ipc::collect(), 0u);
  });
  Process one(GetParam(), [&] {
    DataPtr data = ipc::receive(first.get<ipc::MemoryHandle>());
    EXPECT_TRUE(all_are(data.get(), 2));
    data.clear();
    back.put('1');
  });
  Process two(GetParam(), [&] {
    DataPtr data = ipc::receive(second.get<ipc::MemoryHandle>());
    second.get();
    EXPECT_TRUE(all_are(data.get(), 2));
    data.clear();
    back.put('2');
  });
  one.end();
  two.end();
  sender.end();
}

TEST_P(IpcProcesses, ManyPiecesOfOneAllocationAreOpenedOnce) {
  constexpr int kPieces = 20;
  const Pipe there, back;
  Process sender(GetParam(), [&] {
    for (int i = 0; i < kPieces; ++i) there.put(send(Floats(static_cast<float>(i))));
    EXPECT_EQ(ipc::pending(), static_cast<size_t>(kPieces));
    back.get();
    // What comes next takes what was let go along.
    there.put(send(Floats(100)));
    EXPECT_EQ(ipc::pending(), 1u);
    back.get();
    EXPECT_EQ(ipc::collect(), 0u);
  });
  Process receiver(GetParam(), [&] {
    std::vector<DataPtr> all;
    for (int i = 0; i < kPieces; ++i) all.push_back(ipc::receive(there.get<ipc::MemoryHandle>()));
    for (int i = 0; i < kPieces; ++i)
      EXPECT_TRUE(all_are(all[static_cast<size_t>(i)].get(), static_cast<float>(i))) << i;
#ifdef KD_CUDA_ON_HOST
    EXPECT_EQ(cuda_standin::live().mappings, 1u) << "pieces of 12,000 bytes lie in one segment";
#endif
    all.clear();
    back.put('d');
    EXPECT_TRUE(all_are(ipc::receive(there.get<ipc::MemoryHandle>()).get(), 100));
    back.put('d');
  });
  receiver.end();
  sender.end();
}

TEST_P(IpcProcesses, AReceiverThatDiesLeavesTheSenderItsMemory) {
  const Pipe there, back;
  Process receiver(GetParam(), [&] {
    const DataPtr data = ipc::receive(there.get<ipc::MemoryHandle>());
    EXPECT_TRUE(all_are(data.get(), 5));
    back.put('d');
    ::_exit(0);
  });
  Process sender(GetParam(), [&] {
    Floats floats(5);
    const void* const data = floats.data.get();
    there.put(send(std::move(floats)));
    back.get();
    EXPECT_EQ(ipc::collect(), 1u) << "nobody said that it is not used";
    EXPECT_TRUE(all_are(data, 5));
    std::fflush(stdout);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);  // with its memory
  });
  receiver.end();
  sender.end();
}

TEST_P(IpcProcesses, ASenderThatHasEndedLeavesNothingToReceive) {
  const Pipe there;
  Process sender(GetParam(), [&] {
    there.put(send(Floats(5)));
    std::fflush(stdout);
    std::exit(0);  // names of shared memory do not outlive it
  });
  sender.end();
  Process receiver(GetParam(), [&] {
    const ipc::MemoryHandle handle = there.get<ipc::MemoryHandle>();
    EXPECT_THROW(ipc::receive(handle), Error);
  });
  receiver.end();
}

#ifdef KD_CUDA_ON_HOST
TEST_P(IpcProcesses, MemoryShortageCollects) {
  const Pipe there, back;
  Process receiver(GetParam(), [&] {
    ipc::receive(there.get<ipc::MemoryHandle>()).clear();
    back.put('d');
  });
  Process sender(GetParam(), [&] {
    cuda_standin::reset({.memory_bytes = size_t{64} << 20});
    DataPtr large = CUDACachingAllocator::get()->allocate(size_t{40} << 20);
    void* const base = large.get();
    there.put(ipc::send(std::move(large), base, 16, getCurrentCUDAStream()));
    back.get();
    EXPECT_EQ(ipc::pending(), 1u);
    CUDACachingAllocator::get()->allocate(size_t{50} << 20);
    EXPECT_EQ(ipc::pending(), 0u);
  });
  receiver.end();
  sender.end();
}

TEST(IpcOnHost, FreeingWhatAnotherProcessHasOpenIsReported) {
  const Pipe there, back;
  Process receiver(1, [&] {
    const DataPtr data = ipc::receive(there.get<ipc::MemoryHandle>());
    back.put('d');
    there.get();
    ::_exit(0);
  });
  Process sender(1, [&] {
    void* data = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&data, 64));
    const Device device(kCUDA, 0);
    there.put(ipc::send(DataPtr(data, device), data, 64, getCurrentCUDAStream()));
    back.get();
    C10_CUDA_CHECK(cudaFree(data));
    EXPECT_EQ(cuda_standin::misuse(), "cudaFree: memory that another process has open\n");
    there.put('g');
    std::fflush(stdout);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  });
  receiver.end();
  sender.end();
}

TEST(IpcOnHost, EachCallOfTheReceiverFails) {
  const Pipe there, back;
  Process sender(1, [&] {
    there.put(send(Floats(6), 1'000'000));
    back.get();
    std::fflush(stdout);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  });
  const ipc::MemoryHandle handle = there.get<ipc::MemoryHandle>();
  testing::with_each_call_failing([&] {
    DataPtr data = ipc::receive(handle);
    EXPECT_TRUE(all_are(data.get(), 6));
    data.clear();
    EXPECT_EQ(cuda_standin::live().mappings, 0u);
  });
  back.put('d');
  sender.end();
}

INSTANTIATE_TEST_SUITE_P(Orders, IpcProcesses, ::testing::Values(0, 1, 2));
#else
INSTANTIATE_TEST_SUITE_P(Device, IpcProcesses, ::testing::Values(0));
#endif

}  // namespace
}  // namespace c10::cuda
