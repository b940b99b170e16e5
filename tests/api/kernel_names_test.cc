// What kernels outside of this library are written with: kernels by device, draws, products in plain memory, mapped
// files, threads of a program's own, tensors that one backend can read.
#include <ATen/Backtrace.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/MapAllocator.h>
#include <ATen/OpaqueTensorImpl.h>
#include <ATen/ParallelFuture.h>
#include <ATen/StorageUtils.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/core/TransformationHelper.h>
#include <ATen/core/functional.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/Pool.h>
#include <ATen/native/cpu/utils.h>
#include <c10/core/DynamicCast.h>
#include <c10/core/OptionalRef.h>
#include <c10/core/RingBuffer.h>
#include <c10/core/alignment.h>
#include <c10/core/thread_pool.h>
#include <c10/util/AlignOf.h>
#include <c10/util/ApproximateClock.h>
#include <c10/util/SmallBuffer.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <c10/util/either.h>
#include <c10/util/llvmMathExtras.h>
#include <c10/util/numa.h>
#include <c10/util/thread_name.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/csrc/autograd/utils/error_messages.h>
#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/utils/warnings.h>
#include <torch/torch.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "c10/testing/message_of.h"

namespace at::native {

using scale_fn = double (*)(const at::Tensor&, double);
DECLARE_DISPATCH(scale_fn, scale_stub)
DECLARE_DISPATCH(scale_fn, missing_stub);
DEFINE_DISPATCH(scale_stub);
DEFINE_DISPATCH(missing_stub);

namespace {
double scaled_sum(const at::Tensor& t, double by) {
  return at::sum(t).item<double>() * by;
}
}  // namespace
REGISTER_DISPATCH(scale_stub, &scaled_sum)
REGISTER_NO_CPU_DISPATCH(missing_stub)

}  // namespace at::native

namespace {

using c10::testing::message_of;

TEST(KernelNames, DispatchStub) {
  const at::Tensor t = torch::ones({3});
  EXPECT_EQ(at::native::scale_stub(t.device().type(), t, 2), 6);
  EXPECT_TRUE(at::native::scale_stub.is_device_supported(torch::kCPU));
  EXPECT_FALSE(at::native::scale_stub.is_device_supported(torch::kCUDA));
  EXPECT_THROW(at::native::missing_stub(torch::kCPU, t, 2), c10::NotImplementedError);
  EXPECT_EQ(message_of([&] { at::native::scale_stub(torch::kCUDA, t, 2); }), "DispatchStub: missing kernel for cuda");
}

TEST(KernelNames, PlacesInBlocks) {
  int64_t n = -1, c = -1, w = -1, i = 0;
  at::native::data_index_init(int64_t{13}, n, int64_t{2}, c, int64_t{3}, w, int64_t{4});
  EXPECT_EQ(std::vector<int64_t>({n, c, w}), std::vector<int64_t>({1, 0, 1}));
  at::native::data_index_init(int64_t{0}, n, int64_t{2}, c, int64_t{3}, w, int64_t{4});
  do {
    EXPECT_EQ((n * 3 + c) * 4 + w, i++);
  } while (!at::native::data_index_step(n, int64_t{2}, c, int64_t{3}, w, int64_t{4}));
  EXPECT_EQ(i, 24);
}

TEST(KernelNames, WindowsFit) {
  for (const bool ceil_mode : {false, true}) {
    for (int64_t kernel = 1; kernel < 5; ++kernel) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        for (int64_t dilation = 1; dilation < 3; ++dilation) {
          const int64_t pad = kernel / 2;
          const at::Tensor pooled = at::max_pool1d(torch::zeros({1, 11}), kernel, stride, pad, dilation, ceil_mode);
          EXPECT_EQ(at::native::pooling_output_shape<int64_t>(11, kernel, pad, stride, dilation, ceil_mode),
                    pooled.size(1))
              << kernel << " " << stride << " " << dilation << " " << ceil_mode;
        }
      }
    }
  }
  EXPECT_EQ(message_of([] { at::native::pooling_output_shape<int64_t>(4, 2, 0, 0, 1, false); }),
            "stride should not be zero");
  EXPECT_EQ(message_of([] { at::native::pooling_output_shape<int64_t>(4, 2, -1, 1, 1, false); }),
            "pad must be non-negative, but got pad: -1");
  EXPECT_EQ((at::native::safe_downcast<int, int64_t>(7)), 7);
  EXPECT_EQ(message_of([] { at::native::safe_downcast<int, int64_t>(int64_t{1} << 40); }), "integer out of range");
}

template <class T>
void expect_gemm(at::native::TransposeType transa, at::native::TransposeType transb) {
  using at::native::TransposeType;
  const auto dtype = c10::CppTypeToScalarType<T>::value;
  const int64_t m = 3, n = 4, k = 5, ld = 7;
  const auto stored = [&](int64_t rows, int64_t columns) {  // column by column, with a gap after each
    return dtype == torch::kLong ? torch::randint(-9, 9, {columns, ld}, dtype).narrow(1, 0, rows)
                                 : torch::randn({columns, ld}, dtype).narrow(1, 0, rows);
  };
  const at::Tensor a = transa == TransposeType::NoTranspose ? stored(m, k) : stored(k, m);
  const at::Tensor b = transb == TransposeType::NoTranspose ? stored(k, n) : stored(n, k);
  const auto op = [](const at::Tensor& t, TransposeType transpose) {
    const at::Tensor matrix = t.t();
    return transpose == TransposeType::NoTranspose ? matrix
           : transpose == TransposeType::Transpose ? matrix.t()
                                                   : matrix.mH();
  };
  const at::Tensor c = stored(m, n);
  // In the type that the kernel adds in, rounded once.
  const auto wide = [](const at::Tensor& t) { return t.to(c10::CppTypeToScalarType<at::opmath_type<T>>::value); };
  const at::Tensor expected =
      at::add(at::mul(at::matmul(wide(op(a, transa)), wide(op(b, transb))), 2), at::mul(wide(c.t()), 3));
  at::native::cpublas::gemm<T>(transa, transb, m, n, k, 2, a.data_ptr<T>(), ld, b.data_ptr<T>(), ld, 3, c.data_ptr<T>(),
                               ld);
  EXPECT_TRUE(at::allclose(wide(c.t()), expected, 1e-2, 1e-4)) << c.t() << expected;
}

TEST(KernelNames, ProductsInPlainMemory) {
  using at::native::TransposeType;
  for (const auto a : {TransposeType::NoTranspose, TransposeType::Transpose, TransposeType::ConjTranspose}) {
    for (const auto b : {TransposeType::NoTranspose, TransposeType::Transpose}) {
      expect_gemm<float>(a, b);
      expect_gemm<double>(a, b);
      expect_gemm<c10::complex<double>>(a, b);
      expect_gemm<c10::BFloat16>(a, b);
      expect_gemm<int64_t>(a, b);
    }
  }
  std::vector<float> c(4, NAN), x = {1, 2, 3, 4};
  at::native::cpublas::gemm<float>(TransposeType::NoTranspose, TransposeType::NoTranspose, 2, 2, 2, 1, x.data(), 2,
                                   x.data(), 2, 0, c.data(), 2);  // what was in c is not read
  EXPECT_EQ(c, std::vector<float>({7, 10, 15, 22}));
  at::native::cpublas::axpy<float>(2, 2, x.data(), 2, c.data(), 1);
  EXPECT_EQ(c, std::vector<float>({9, 16, 15, 22}));
  at::native::cpublas::copy<float>(2, x.data() + 1, 2, c.data(), 3);
  EXPECT_EQ(c, std::vector<float>({2, 16, 15, 4}));
  EXPECT_EQ(message_of([&] {
              at::native::cpublas::gemm<float>(TransposeType::NoTranspose, TransposeType::NoTranspose, 2, 2, 2, 1,
                                               x.data(), 1, x.data(), 2, 0, c.data(), 2);
            }),
            "gemm: the leading dimension of a is 1, it has 2 rows");
}

TEST(KernelNames, DrawsAreTheOperators) {
  auto generator = at::detail::createCPUGenerator();
  auto* rng = at::check_generator<at::CPUGeneratorImpl>(generator);
  const auto same = [&](auto distribution, const at::Tensor& filled) {
    generator.set_current_seed(7);
    for (int64_t i = 0; i < filled.numel(); ++i) {
      EXPECT_DOUBLE_EQ(static_cast<double>(distribution(rng)), filled[i].item<double>()) << i;
    }
  };
  const auto fresh = [&](at::ScalarType dtype) {
    generator.set_current_seed(7);
    return torch::empty({5}, dtype);
  };
  same(at::uniform_real_distribution<float>(-1, 3), fresh(torch::kFloat).uniform_(-1, 3, generator));
  same(at::uniform_real_distribution<double>(-1, 3), fresh(torch::kDouble).uniform_(-1, 3, generator));
  same(at::normal_distribution<double>(1, 2), fresh(torch::kDouble).normal_(1, 2, generator));
  same(at::lognormal_distribution<double>(1, 0.5), fresh(torch::kDouble).log_normal_(1, 0.5, generator));
  same(at::exponential_distribution<double>(1.5), fresh(torch::kDouble).exponential_(1.5, generator));
  same(at::geometric_distribution<double>(0.2), fresh(torch::kDouble).geometric_(0.2, generator));
  same(at::cauchy_distribution<double>(1, 2), fresh(torch::kDouble).cauchy_(1, 2, generator));
  same(at::bernoulli_distribution<double>(0.3), fresh(torch::kDouble).bernoulli_(0.3, generator));
  same(at::uniform_int_distribution<int64_t>(), fresh(torch::kLong).random_(generator));
  same(at::uniform_int_distribution<int8_t>(), fresh(torch::kChar).random_(generator));
  same(at::uniform_int_distribution<float>(), fresh(torch::kFloat).random_(generator));
  same(at::uniform_int_from_to_distribution<int>(15, -5), fresh(torch::kInt).random_(-5, 10, generator));
  same(at::uniform_int_from_to_distribution<int64_t>(uint64_t{1} << 40, 3),
       fresh(torch::kLong).random_(3, (int64_t{1} << 40) + 3, generator));
  EXPECT_EQ(message_of([] { at::bernoulli_distribution<double>(1.5); }),
            "bernoulli_ expects p to be in [0, 1], but got p=1.5");
  EXPECT_TRUE((std::is_same_v<at::dist_acctype<c10::Half>, float>));
  EXPECT_EQ(at::transformation::uniform_int_from_to<int>(uint32_t{17}, 5, -2), 0);
}

TEST(KernelNames, StoragesInSharedMemory) {
  torch::Tensor counts = torch::arange(6).view({2, 3});
  const torch::Tensor row = counts[1];
  EXPECT_FALSE(at::is_shared(counts));
  counts.share_memory_();
  EXPECT_TRUE(at::is_shared(counts));
  EXPECT_TRUE(at::is_shared(row));  // its storage is the same
  EXPECT_TRUE(torch::equal(row, torch::tensor({3, 4, 5})));
  const void* data = counts.data_ptr();
  at::share_memory_(counts);
  EXPECT_EQ(counts.data_ptr(), data);
  EXPECT_EQ(message_of([&] { counts.resize_({100}); }), "Trying to resize storage that is not resizable");
  const pid_t child = fork();
  if (child == 0) {
    row.data_ptr<int64_t>()[2] = 70;
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counts[1][2].item<int64_t>(), 70);

  torch::Tensor none = torch::zeros({0});
  none.share_memory_();
  EXPECT_EQ(none.numel(), 0);
  torch::Tensor meta = torch::zeros({2}, torch::kMeta), undefined, sparse = torch::eye(2).to_sparse();
  EXPECT_EQ(message_of([&] { meta.share_memory_(); }),
            "share_memory_: tensors on meta cannot be moved to shared memory");
  EXPECT_EQ(message_of([&] { undefined.share_memory_(); }), "share_memory_: expected a defined tensor");
  EXPECT_EQ(message_of([&] { sparse.share_memory_(); }),
            "share_memory_: expected a tensor with a storage, but the layout is Sparse");

  c10::Storage storage(at::new_shm_fd_storage(16)), other(c10::Storage::use_byte_size_t(), 16);
  EXPECT_EQ(static_cast<const char*>(storage.data())[15], 0);
  EXPECT_FALSE(storage.resizable());
  std::memset(other.mutable_data(), 7, 16);
  at::storage_copy(storage, other);
  EXPECT_EQ(static_cast<const char*>(storage.data())[15], 7);
  c10::Storage small(c10::Storage::use_byte_size_t(), 8);
  EXPECT_EQ(message_of([&] { at::storage_copy(small, storage); }),
            "storage_copy: expected storages of the same size, but got 8 and 16 bytes");

  torch::nn::Sequential net(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
  net->forward(torch::ones({4, 2})).sum().backward();
  const torch::Tensor weight = net[0]->as<torch::nn::Linear>()->weight, before = weight.detach().clone();
  net->share_memory();
  for (const torch::Tensor& t : net->parameters()) EXPECT_TRUE(at::is_shared(t) && at::is_shared(t.grad()));
  for (const torch::Tensor& t : net->buffers()) EXPECT_TRUE(at::is_shared(t));
  EXPECT_TRUE(torch::equal(weight, before));
}

TEST(KernelNames, MappedFiles) {
  const std::string path = ::testing::TempDir() + "/mapped.bin";
  std::ofstream(path) << "0123456789";
  size_t mapped = 0;
  {
    auto data = at::MapAllocator::makeDataPtr(path, at::ALLOCATOR_MAPPED_NOCREATE, 0, &mapped);
    EXPECT_EQ(mapped, 10u);
    at::MapAllocator* mapping = at::MapAllocator::fromDataPtr(data);
    ASSERT_NE(mapping, nullptr);
    EXPECT_EQ(mapping->filename(), path);
    EXPECT_EQ(mapping->fd(), -1);
    static_cast<char*>(data.get())[0] = 'x';  // stays here
  }
  {
    const c10::Storage storage(c10::Storage::use_byte_size_t(), 12,
                               at::MapAllocator::makeDataPtr(path, at::ALLOCATOR_MAPPED_SHARED, 12, &mapped));
    EXPECT_EQ(std::string(static_cast<const char*>(storage.data()), 10), "0123456789");
    static_cast<char*>(storage.mutable_data())[11] = 'y';  // reaches the file, which is longer now
  }
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), std::string("0123456789\0y", 12));
  EXPECT_EQ(message_of([&] { at::MapAllocator(path, 0, 100); }),
            "MapAllocator: file <" + path + "> has 12 bytes, 100 are asked for");
  EXPECT_THROW(at::MapAllocator(path, at::ALLOCATOR_MAPPED_SHARED | at::ALLOCATOR_MAPPED_EXCLUSIVE, 1), c10::Error);
  EXPECT_THROW(at::MapAllocator(path, at::ALLOCATOR_MAPPED_NOCREATE | at::ALLOCATOR_MAPPED_EXCLUSIVE, 1),
               c10::ValueError);
  EXPECT_THROW(at::MapAllocator(path + ".none", 0, 0), c10::Error);

  const std::string name = at::NewProcessWideShmHandle();
  EXPECT_NE(name, at::NewProcessWideShmHandle());
  const int flags = at::ALLOCATOR_MAPPED_SHARED | at::ALLOCATOR_MAPPED_SHAREDMEM;
  at::MapAllocator first(name, flags | at::ALLOCATOR_MAPPED_EXCLUSIVE | at::ALLOCATOR_MAPPED_KEEPFD, 64);
  EXPECT_GE(first.fd(), 0);
  at::MapAllocator second(name, flags | at::ALLOCATOR_MAPPED_NOCREATE | at::ALLOCATOR_MAPPED_UNLINK, 64);
  static_cast<char*>(first.data())[63] = 'z';
  EXPECT_EQ(static_cast<char*>(second.data())[63], 'z');
  EXPECT_THROW(at::MapAllocator(name, flags | at::ALLOCATOR_MAPPED_NOCREATE, 64), c10::Error);  // the name is gone
}

TEST(KernelNames, OpaqueTensors) {
  using Impl = at::OpaqueTensorImpl<std::shared_ptr<int>>;
  auto handle = std::make_shared<int>(5);
  {
    const at::Tensor t(c10::make_intrusive<Impl>(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                                 caffe2::TypeMeta::Make<float>(), c10::Device(torch::kPrivateUse1, 0),
                                                 handle, c10::IntArrayRef({2, 3})));
    EXPECT_EQ(t.sizes(), at::IntArrayRef({2, 3}));
    EXPECT_EQ(t.dtype(), torch::kFloat);
    EXPECT_FALSE(t.has_storage());
    const auto copy = t.unsafeGetTensorImpl()->shallow_copy();
    EXPECT_EQ(static_cast<Impl&>(*copy).opaque_handle(), handle);
    EXPECT_EQ(handle.use_count(), 3);
  }
  EXPECT_EQ(handle.use_count(), 1);
}

TEST(KernelNames, ThreadsOfAProgram) {
  std::atomic<int> sum{0}, begun{0};
  {
    c10::ThreadPool pool(3, -1, [&] { ++begun; });
    EXPECT_EQ(pool.size(), 3u);
    EXPECT_FALSE(pool.inThreadPool());
    for (int i = 1; i <= 100; ++i) pool.run([&sum, &pool, i] { sum += pool.inThreadPool() ? i : 0; });
    pool.run([] { throw std::runtime_error("goes no further"); });
    pool.waitWorkComplete();
    EXPECT_EQ(sum, 5050);
    EXPECT_EQ(pool.numAvailable(), 3u);
  }
  EXPECT_EQ(begun, 3);
  EXPECT_EQ(message_of([] { c10::ThreadPool(0).run([] {}); }), "No threads to run a task");
  c10::TaskThreadPool named(1, -1, "reader");
  std::string name;
  named.run([&] { name = c10::getThreadName(); });
  named.waitWorkComplete();
  EXPECT_EQ(name, "reader");

  auto future = at::intraop_launch_future([&] { ++sum; });
  future->wait();
  EXPECT_EQ(sum, 5051);
  EXPECT_TRUE(at::intraop_launch_future([] { TORCH_CHECK(false, "no"); })->hasError());
}

struct Note : c10::DebugInfoBase {
  explicit Note(int n) : n(n) {}
  int n;
};

TEST(KernelNames, NotesOfThreads) {
  using c10::DebugInfoKind;
  const auto note = [](DebugInfoKind kind) {
    const auto* found = static_cast<Note*>(c10::ThreadLocalDebugInfo::get(kind));
    return found == nullptr ? 0 : found->n;
  };
  c10::DebugInfoGuard outer(DebugInfoKind::TEST_INFO, std::make_shared<Note>(1));
  {
    c10::DebugInfoGuard inner(DebugInfoKind::TEST_INFO, std::make_shared<Note>(2));
    c10::DebugInfoGuard other(DebugInfoKind::TEST_INFO_2, std::make_shared<Note>(3));
    EXPECT_EQ(note(DebugInfoKind::TEST_INFO), 2);
    EXPECT_EQ(note(DebugInfoKind::TEST_INFO_2), 3);
    int there = -1, without = -1;
    const at::ThreadLocalState state;
    std::thread([&] {
      without = note(DebugInfoKind::TEST_INFO);
      at::ThreadLocalStateGuard guard(state);
      there = note(DebugInfoKind::TEST_INFO);
    }).join();
    EXPECT_EQ(without, 0);
    EXPECT_EQ(there, 2);
    EXPECT_EQ(message_of([] { c10::ThreadLocalDebugInfo::_pop(DebugInfoKind::PROFILER_STATE); }),
              "Expected debug info of type 2");
  }
  EXPECT_EQ(note(DebugInfoKind::TEST_INFO), 1);
  EXPECT_EQ(note(DebugInfoKind::TEST_INFO_2), 0);
}

TEST(KernelNames, GraphHelpers) {
  using torch::autograd::variable_list;
  namespace utils = torch::autograd::utils;
  const at::Tensor x = torch::ones({2}, torch::requires_grad());
  const at::Tensor y = x * 3;
  size_t outputs_seen = 0;
  y.grad_fn()->add_post_hook(
      std::make_unique<utils::LambdaPostHook>([&](const variable_list& outputs, const variable_list&) {
        outputs_seen = outputs.size();
        return variable_list({outputs[0] * 2});
      }));
  y.sum().backward();
  EXPECT_EQ(outputs_seen, 1u);
  EXPECT_EQ(x.grad()[0].item<float>(), 6);

  const at::Tensor variable = torch::zeros({2, 3}).t();
  EXPECT_FALSE(utils::obeys_layout_contract(torch::zeros({3, 2}), variable));
  const at::Tensor gradient = torch::rand({3, 2});
  const at::Tensor copy = utils::clone_obey_contract(gradient, variable);
  EXPECT_TRUE(utils::obeys_layout_contract(copy, variable) && at::equal(copy, gradient));
  EXPECT_TRUE(utils::obeys_layout_contract(torch::zeros({3, 2}), torch::zeros({1}).expand({3, 2})));
  EXPECT_EQ(message_of([&] { y.requires_grad_(false); }), utils::requires_grad_leaf_error(false));

  struct Collect : c10::WarningHandler {
    using c10::WarningHandler::process;
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    std::vector<std::string> texts;
  } collect;
  utils::DelayWarningHandler delayed;
  std::thread([&] {
    c10::WarningUtils::WarningHandlerGuard guard(&delayed);
    TORCH_WARN("from afar");
  }).join();
  c10::WarningUtils::WarningHandlerGuard guard(&collect);
  EXPECT_TRUE(collect.texts.empty());
  delayed.replay_warnings();
  delayed.replay_warnings();
  EXPECT_EQ(collect.texts, std::vector<std::string>({"from afar"}));
}

TEST(KernelNames, SmallTypes) {
  EXPECT_EQ(c10::fmap(std::vector<int>{1, 2}, [](int x) { return x * 0.5; }), std::vector<double>({0.5, 1}));
  EXPECT_EQ(c10::fmap<c10::IValue>(std::vector<int64_t>{4})[0].toInt(), 4);
  EXPECT_EQ(c10::filter(std::vector<int>{1, -2, 3}, [](int x) { return x > 0; }), std::vector<int>({1, 3}));

  const auto left = c10::make_left<int, std::string>(3);
  const c10::either<int, std::string> right(std::string("abc"));
  EXPECT_TRUE(left.is_left() && right.is_right() && !(left == right));
  const auto size = [](const auto& e) {
    return e.template fold<size_t>([](int x) { return size_t(x) + 1; }, [](const std::string& s) { return s.size(); });
  };
  EXPECT_EQ(size(left), 4u);
  EXPECT_EQ(size(right), 3u);
  EXPECT_THROW(left.right(), c10::Error);

  const int16_t number = -3;
  EXPECT_EQ(c10::fetch_and_cast<double>(torch::kShort, &number), -3.0);
  c10::BFloat16 stored;
  c10::cast_and_store<double>(torch::kBFloat16, &stored, 1.5);
  EXPECT_EQ(static_cast<float>(stored), 1.5f);
  EXPECT_FALSE(c10::OptionalRef<int>().has_value());
  EXPECT_EQ(c10::OptionalRef<int16_t>(number).get(), -3);

  c10::RingBuffer<int> ring;
  ring.setMaxEntries(3);
  for (int i = 0; i < 5; ++i) ring.insertEntries(i);
  std::vector<int> entries;
  ring.getEntries(entries);
  EXPECT_EQ(entries, std::vector<int>({2, 3, 4}));

  c10::SmallBuffer<int, 2> here(2), apart(100);
  apart[99] = 7;
  EXPECT_EQ(*(apart.end() - 1), 7);
  EXPECT_EQ(here.size(), 2u);
  EXPECT_EQ(sizeof(c10::AlignedCharArrayUnion<double, char[9]>), 16u);
  EXPECT_FALSE(c10::IsNUMAEnabled());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(torch::empty({3}).data_ptr()) % c10::gAlignment, 0u);

  using namespace c10::llvm;
  EXPECT_EQ(countTrailingZeros(8u), 3u);
  EXPECT_EQ(countLeadingZeros(uint64_t{1}), 63u);
  EXPECT_EQ(findLastSet(uint32_t{40}), 5u);
  EXPECT_EQ(Log2_64_Ceil(33), 6u);
  EXPECT_EQ(NextPowerOf2(8), 16u);
  EXPECT_EQ(PowerOf2Ceil(8), 8u);
  EXPECT_EQ(alignTo(17, 8, 1), 17u);
  EXPECT_EQ(SignExtend64<8>(0xff), -1);
  EXPECT_TRUE(isInt<8>(-128) && !isInt<8>(128));

  c10::ApproximateClockToUnixTimeConverter clocks;
  const auto begin = c10::getApproximateTime();
  const int64_t now = c10::getTimeSinceEpoch();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(std::abs(clocks.makeConverter()(begin) - now), 10'000'000);
}

}  // namespace
