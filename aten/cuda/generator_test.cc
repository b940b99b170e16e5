#include "aten/cuda/generator.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "aten/cuda/graph_test_kernels.h"
#include "c10/core/accelerator.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/tensor_impl.h"
#include "c10/cuda/frontend.h"
#include "c10/cuda/memory.h"
#include "c10/cuda/philox.cuh"
#include "c10/cuda/testing.h"
#include "c10/testing/message_of.h"

namespace {

using at::CUDAGeneratorImpl;
using at::cuda::detail::createCUDAGenerator;
using at::cuda::detail::getDefaultCUDAGenerator;
using c10::cuda::testing::in_all_orders;
using c10::testing::message_of;
using Pair = std::pair<uint64_t, uint64_t>;

CUDAGeneratorImpl& impl(const at::Generator& generator) {
  return *generator.get<CUDAGeneratorImpl>();
}

at::Generator make(uint64_t seed) {
  at::Generator generator = createCUDAGenerator(0);
  generator.set_current_seed(seed);
  return generator;
}

TEST(Philox, WordsOfTheKeyAndCounterZero) {
  const c10::cuda::RandomWords words = c10::cuda::philox(0, 0, 0);
  EXPECT_EQ(words.x, 0x6627e8d5u);
  EXPECT_EQ(words.y, 0xe169c58du);
  EXPECT_EQ(words.z, 0xbc57ac4cu);
  EXPECT_EQ(words.w, 0x9b00dbd8u);
}

// All bits set, and the digits of pi: the known answers of the algorithm's authors.
TEST(Philox, KnownAnswers) {
  const c10::cuda::RandomWords ones = c10::cuda::philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0});
  EXPECT_EQ((std::array{ones.x, ones.y, ones.z, ones.w}),
            (std::array{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  const c10::cuda::RandomWords pi = c10::cuda::philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
  EXPECT_EQ((std::array{pi.x, pi.y, pi.z, pi.w}), (std::array{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, StreamBeginsAtItsOffset) {
  c10::cuda::PhiloxStream stream(7, 5, 12);
  EXPECT_EQ(stream.next().x, c10::cuda::philox(7, 5, 3).x);
  EXPECT_EQ(stream.next().w, c10::cuda::philox(7, 5, 4).w);
}

TEST(Philox, UniformNumbersLieAbove0AndReach1) {
  EXPECT_EQ(c10::cuda::uniform(0u), 0x1p-33f);
  EXPECT_EQ(c10::cuda::uniform(~0u), 1.0f);
  EXPECT_EQ(c10::cuda::uniform(0u, 0u), 0x1p-54);
  EXPECT_EQ(c10::cuda::uniform(~0u, ~0u), (0x1p53 - 1 - 0xffe00000) * 0x1p-53 + 0x1p-54);
  EXPECT_LE(c10::cuda::uniform(0x1fffff, ~0u), 1.0);
}

TEST(CUDAGenerator, CountsItsDrawsInFours) {
  in_all_orders([] {
    const at::Generator generator = make(5);
    EXPECT_EQ(impl(generator).philox_engine_inputs(1), Pair(5, 0));
    EXPECT_EQ(impl(generator).philox_engine_inputs(9), Pair(5, 4));
    EXPECT_EQ(generator.get_offset(), 16u);
    const at::PhiloxCudaState state = impl(generator).philox_cuda_state(4);
    EXPECT_FALSE(state.captured_);
    EXPECT_EQ(state.seed_.val, 5u);
    EXPECT_EQ(state.offset_.val, 16u);
    EXPECT_EQ(state.offset_intragraph_, 0u);
    EXPECT_EQ(generator.get_offset(), 20u);
    EXPECT_EQ(generator.current_seed(), 5u);
    at::Generator again = generator;
    again.set_current_seed(5);
    EXPECT_EQ(generator.get_offset(), 0u);
    again.set_offset(8);
    EXPECT_EQ(generator.get_offset(), 8u);
    EXPECT_EQ(message_of([&] { again.set_offset(6); }), "offset must be a multiple of 4, got 6");
    EXPECT_EQ(generator.get_offset(), 8u);
  });
}

TEST(CUDAGenerator, NewOnesHaveTheDefaultSeedAndTheirDevice) {
  in_all_orders([] {
    EXPECT_EQ(createCUDAGenerator().current_seed(), 67280421310721u);
    EXPECT_EQ(createCUDAGenerator(1).device(), c10::Device(c10::kCUDA, 1));
    EXPECT_EQ(message_of([] { createCUDAGenerator(7); }), "there is no CUDA device 7 among 2");
    EXPECT_EQ(at::make_generator_for(c10::Device("cuda:1")).device(), c10::Device(c10::kCUDA, 1));
    EXPECT_EQ(CUDAGeneratorImpl::device_type(), c10::kCUDA);
    const at::Generator generator = createCUDAGenerator();
    EXPECT_EQ(&impl(generator).mutex_, &generator.mutex());
    EXPECT_TRUE(impl(generator).reset_rnn_state());
    EXPECT_FALSE(impl(generator).reset_rnn_state());
  });
}

TEST(CUDAGenerator, DefaultsAreOneADeviceAndSeededTogether) {
  in_all_orders([] {
    const at::Generator& first = getDefaultCUDAGenerator();
    EXPECT_EQ(&first, &getDefaultCUDAGenerator(0));
    EXPECT_EQ(&getDefaultCUDAGenerator(1), &at::detail::getDefaultGenerator(c10::Device("cuda:1")));
    EXPECT_NE(&first, &getDefaultCUDAGenerator(1));
    at::manual_seed(11);
    EXPECT_EQ(first.current_seed(), 11u);
    EXPECT_EQ(getDefaultCUDAGenerator(1).current_seed(), 11u);
    torch::cuda::manual_seed(12);
    EXPECT_EQ(torch::cuda::initial_seed(), 12u);
    EXPECT_EQ(getDefaultCUDAGenerator(1).current_seed(), 11u);
    torch::cuda::manual_seed_all(13);
    EXPECT_EQ(getDefaultCUDAGenerator(1).current_seed(), 13u);
    torch::cuda::seed();
    EXPECT_NE(torch::cuda::initial_seed(), 13u);
    EXPECT_EQ(getDefaultCUDAGenerator(1).current_seed(), 13u);
    torch::cuda::seed_all();
    EXPECT_EQ(torch::cuda::initial_seed(), getDefaultCUDAGenerator(1).current_seed());
  });
}

TEST(CUDAGenerator, StateIsSeedAndOffset) {
  in_all_orders([] {
    const at::Generator generator = make(0x0102030405060708);
    impl(generator).set_offset(0x100);
    const auto state = impl(generator).get_state();
    ASSERT_EQ(state->numel(), 16);
    const auto* bytes = static_cast<const uint8_t*>(state->data());
    EXPECT_EQ(bytes[0], 8);
    EXPECT_EQ(bytes[7], 1);
    EXPECT_EQ(bytes[8], 0);
    EXPECT_EQ(bytes[9], 1);
    const at::Generator other = make(1);
    impl(other).set_state(*state);
    EXPECT_EQ(impl(other).philox_engine_inputs(4), Pair(0x0102030405060708, 0x100));

    const auto of_bytes = [](int64_t n, c10::ScalarType dtype = c10::ScalarType::Byte) {
      auto made = c10::TensorImpl::contiguous(c10::StorageImpl::allocate_cpu(static_cast<size_t>(n) * 8), dtype,
                                              c10::Device(c10::kCPU), n);
      std::memset(made->data(), 2, static_cast<size_t>(n));
      return made;
    };
    EXPECT_EQ(message_of([&] { impl(other).set_state(*of_bytes(15)); }),
              "RNG state is wrong size: expected 16 bytes in one dimension, got 15 in 1");
    EXPECT_EQ(message_of<c10::TypeError>([&] { impl(other).set_state(*of_bytes(16, c10::ScalarType::Char)); }),
              "RNG state must be a torch.ByteTensor");
    EXPECT_EQ(message_of([&] { impl(other).set_state(*of_bytes(16)); }),
              "offset must be a multiple of 4, got 144680345676153346");
    EXPECT_EQ(impl(other).philox_engine_inputs(0), Pair(0x0102030405060708, 0x104));
    impl(other).set_state(*of_bytes(8));
    EXPECT_EQ(impl(other).philox_engine_inputs(0), Pair(0x0202020202020202, 0));
  });
}

TEST(CUDAGenerator, ClonesHaveAStateOfTheirOwnAndGraphsafeOnesShareIt) {
  in_all_orders([] {
    const at::Generator generator = make(3);
    impl(generator).philox_engine_inputs(4);
    const at::Generator copy = generator.clone();
    EXPECT_EQ(copy.device(), generator.device());
    EXPECT_EQ(impl(copy).philox_engine_inputs(4), Pair(3, 4));
    EXPECT_EQ(generator.get_offset(), 4u);

    at::Generator shared = make(9);
    shared.graphsafe_set_state(generator.graphsafe_get_state());
    EXPECT_EQ(impl(shared).philox_engine_inputs(4), Pair(3, 4));
    EXPECT_EQ(generator.get_offset(), 8u);
    at::Generator elsewhere = createCUDAGenerator(1);
    EXPECT_EQ(message_of([&] { elsewhere.graphsafe_set_state(generator); }),
              "graphsafe_set_state: expected a generator of cuda:1, got one of cuda:0");
  });
}

TEST(CUDAGenerator, CallersAskForTheRightDevice) {
  in_all_orders([] {
    const std::optional<at::Generator> cpu = at::detail::createCPUGenerator(1);
    EXPECT_EQ(message_of([&] { at::get_generator_or_default<CUDAGeneratorImpl>(cpu, getDefaultCUDAGenerator()); }),
              "Expected a 'cuda' device type for generator but found 'cpu'");
    EXPECT_EQ(at::get_generator_or_default<CUDAGeneratorImpl>(std::nullopt, getDefaultCUDAGenerator()),
              getDefaultCUDAGenerator().get<CUDAGeneratorImpl>());
  });
}

TEST(CUDAGenerator, KernelsReadWhatItGives) {
  in_all_orders([] {
    const at::Generator generator = make(42);
    impl(generator).set_offset(40);
    auto* allocator = c10::cuda::CUDACachingAllocator::get();
    const c10::DataPtr out = allocator->allocate(16);
    const auto stream = c10::cuda::getCurrentCUDAStream();
    at::cuda::testing::show(impl(generator).philox_cuda_state(4), static_cast<uint64_t*>(out.get()), stream);
    uint64_t seen[2] = {};
    c10::cuda::memcpy_and_sync(seen, out.get(), sizeof(seen), cudaMemcpyDeviceToHost, stream);
    EXPECT_EQ(seen[0], 42u);
    EXPECT_EQ(seen[1], 40u);
  });
}

TEST(CUDAGenerator, ThreadsGetDifferentWords) {
  in_all_orders([] {
    const at::Generator generator = make(1);
    std::array<std::thread, 4> threads;
    std::atomic<uint64_t> sum = 0;
    for (auto& thread : threads) {
      thread = std::thread([&] {
        for (int i = 0; i < 100; ++i) {
          std::lock_guard lock(generator.mutex());
          sum += impl(generator).philox_engine_inputs(4).second;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(generator.get_offset(), 1600u);
    EXPECT_EQ(sum.load(), 4u * 399 * 400 / 2);
  });
}

}  // namespace
