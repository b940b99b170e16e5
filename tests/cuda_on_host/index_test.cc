// What indexing, ordering and creating operators do on CUDA tensors beside what their families' tests say.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/core/context.h"
#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/cub.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace at {
namespace {

const Device kCpu(DeviceType::CPU), kGpu(DeviceType::CUDA, 0);

Tensor on_cpu(const Tensor& t) {
  return at::to(t, kCpu);
}
Tensor on_gpu(const Tensor& t) {
  return at::to(t, kGpu);
}

std::string bytes_of(const Tensor& t) {
  const Tensor c = at::clone(on_cpu(t), MemoryFormat::Contiguous);
  return {static_cast<const char*>(c.const_data_ptr()), c.nbytes()};
}

Tensor floats(int64_t n) {
  Tensor t = empty_contiguous({n}, kFloat);
  for (int64_t i = 0; i < n; ++i) t.data_ptr<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 37 - 11;
  return t;
}
Tensor indices(int64_t n, int64_t below) {
  Tensor t = empty_contiguous({n}, kLong);
  for (int64_t i = 0; i < n; ++i) t.data_ptr<int64_t>()[i] = i * i % below;
  return t;
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override { simt::options() = {}; }
  void TearDown() override {
    simt::options() = {};
    globalContext().setDeterministicAlgorithms(false);
  }

  // In every order of blocks, warps and lanes the same bits.
  static std::string in_all_orders(const std::function<Tensor()>& run) {
    std::string first;
    for (const auto& [order, seed] : {std::pair(simt::Order::kForward, 0), std::pair(simt::Order::kReverse, 0),
                                      std::pair(simt::Order::kRandom, 1), std::pair(simt::Order::kRandom, 2)}) {
      simt::options().order = order;
      simt::options().seed = static_cast<uint64_t>(seed);
      const std::string bytes = bytes_of(run());
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes == first, true) << "order " << static_cast<int>(order) << ", seed " << seed;
    }
    return first;
  }
};

TEST_F(OnDevice, SumsDoNotDependOnTheOrder) {
  // Few places: more elements a place than one thread sums.
  for (const int64_t places : {int64_t{3}, int64_t{500}}) {
    const Tensor index = on_gpu(indices(2000, places)), source = on_gpu(floats(2000));
    const Tensor zeros = at::zeros({places}, TensorOptions().device(kGpu));
    in_all_orders([&] { return at::scatter_add(zeros, 0, index, source); });
    in_all_orders([&] { return at::index_add(zeros, 0, index, source); });
    c10::List<std::optional<Tensor>> list;
    list.push_back(index);
    in_all_orders([&] { return at::index_put(zeros, list, source, true); });
    in_all_orders([&] {
      return at::embedding_dense_backward(at::view(source, {1000, 2}), at::narrow(index, 0, 0, 1000), places, 1, false);
    });
    in_all_orders([&] { return at::bincount(index, source); });
    in_all_orders([&] { return std::get<0>(at::histogram(source, places, std::nullopt, source)); });
  }
}

TEST_F(OnDevice, DeterministicWritesKeepTheLastElement) {
  globalContext().setDeterministicAlgorithms(true);
  const int64_t n = 1500, places = 4;
  const Tensor index = indices(n, places), source = floats(n), zeros = at::zeros({places});
  const Tensor expected = at::scatter(zeros, 0, index, source);
  const Tensor gpu_zeros = on_gpu(zeros), gpu_index = on_gpu(index), gpu_source = on_gpu(source);
  EXPECT_EQ(in_all_orders([&] { return at::scatter(gpu_zeros, 0, gpu_index, gpu_source); }), bytes_of(expected));
  EXPECT_EQ(in_all_orders([&] { return at::index_copy(gpu_zeros, 0, gpu_index, gpu_source); }), bytes_of(expected));
  EXPECT_EQ(in_all_orders([&] { return at::put(gpu_zeros, gpu_index, gpu_source); }), bytes_of(expected));
  c10::List<std::optional<Tensor>> list;
  list.push_back(gpu_index);
  EXPECT_EQ(in_all_orders([&] { return at::index_put(gpu_zeros, list, gpu_source); }), bytes_of(expected));
}

TEST_F(OnDevice, CreatesWhatTheCpuCreates) {
  const auto same = [](const std::function<Tensor(TensorOptions)>& make) {
    for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16, kInt, kLong, kByte}) {
      const Tensor cpu = make(TensorOptions().dtype(dtype)), gpu = make(TensorOptions().dtype(dtype).device(kGpu));
      EXPECT_EQ(gpu.device(), kGpu);
      EXPECT_EQ(bytes_of(gpu) == bytes_of(cpu), true) << dtype;
    }
  };
  same([](TensorOptions o) { return at::arange(3, 200, 7, o); });
  same([](TensorOptions o) { return at::arange(Scalar(0.5), Scalar(9), Scalar(0.25), o); });
  same([](TensorOptions o) { return at::linspace(2, 50, 301, o); });
  same([](TensorOptions o) { return at::linspace(1, 1, 1, o); });
  same([](TensorOptions o) { return at::logspace(0, 6, 7, 2, o); });
  same([](TensorOptions o) { return at::eye(5, 9, o); });
  same([](TensorOptions o) { return at::full({7, 3}, 5, o); });
  for (int64_t offset : {-20, -3, 0, 2, 20}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{7, 4}, std::pair<int64_t, int64_t>{4, 9}}) {
      const Tensor x = at::reshape(floats(3 * rows * columns), {3, rows, columns}), y = on_gpu(x);
      EXPECT_EQ(bytes_of(at::tril(y, offset)), bytes_of(at::tril(x, offset)));
      EXPECT_EQ(bytes_of(at::triu(y, offset)), bytes_of(at::triu(x, offset)));
      EXPECT_EQ(bytes_of(at::tril(at::transpose(y, 1, 2), offset)), bytes_of(at::tril(at::transpose(x, 1, 2), offset)));
      const TensorOptions here = TensorOptions().dtype(kLong), there = here.device(kGpu);
      EXPECT_EQ(bytes_of(at::tril_indices(rows, columns, offset, there)),
                bytes_of(at::tril_indices(rows, columns, offset, here)));
      EXPECT_EQ(bytes_of(at::triu_indices(rows, columns, offset, there)),
                bytes_of(at::triu_indices(rows, columns, offset, here)));
    }
  }
}

TEST_F(OnDevice, MediansAndModesAreTheCpus) {
  const Tensor x = at::reshape(at::floor_divide(floats(600), Scalar(4)), {20, 30}), y = on_gpu(x);
  for (int64_t dim : {0, 1}) {
    for (const auto& f : {+[](const Tensor&t, int64_t d) { return at::median(t, d); },
                          +[](const Tensor&t, int64_t d) { return at::nanmedian(t, d); },
                          +[](const Tensor&t, int64_t d) { return at::mode(t, d); }}) {
      const auto [values, places] = f(x, dim);
      const auto [gpu_values, gpu_places] = f(y, dim);
      EXPECT_EQ(bytes_of(gpu_values), bytes_of(values));
      EXPECT_EQ(bytes_of(gpu_places), bytes_of(places));
    }
  }
  EXPECT_EQ(bytes_of(at::median(y)), bytes_of(at::median(x)));
}

// Rows long enough that their first elements are found without a sort; equal ones and NaN among them.
TEST_F(OnDevice, FirstElementsOfLongRows) {
  Tensor x = at::reshape(at::floor_divide(floats(3 * 1500 * 2), Scalar(3)), {3, 1500, 2});
  for (int64_t i = 0; i < x.numel(); i += 71) x.data_ptr<float>()[i] = std::numeric_limits<float>::quiet_NaN();
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kShort, kByte}) {
    // A cast of NaN or of a negative number to an integer is not what is asked for here.
    const Tensor numbers = isIntegralType(dtype, false) ? at::abs(at::nan_to_num(x)) : x;
    const Tensor cpu = at::to(numbers, dtype), gpu = on_gpu(cpu);
    for (bool largest : {false, true}) {
      const auto [values, places] = at::topk(cpu, 300, 1, largest);
      const auto [gpu_values, gpu_places] = at::topk(gpu, 300, 1, largest);
      EXPECT_EQ(bytes_of(gpu_values), bytes_of(values)) << dtype;
      EXPECT_EQ(bytes_of(gpu_places), bytes_of(places)) << dtype;
    }
    EXPECT_EQ(bytes_of(std::get<1>(at::kthvalue(gpu, 200, 1))), bytes_of(std::get<1>(at::kthvalue(cpu, 200, 1))))
        << dtype;
  }
  const Tensor row = on_gpu(at::narrow(x, 0, 0, 1));
  in_all_orders([&] { return std::get<1>(at::topk(row, 300, 1)); });
}

TEST_F(OnDevice, RowsAreRenormalized) {
  Tensor weight = at::reshape(floats(60), {6, 10}), gpu = on_gpu(weight);
  const Tensor index = indices(9, 4);
  at::embedding_renorm_(weight, index, 5, 2);
  at::embedding_renorm_(gpu, on_gpu(index), 5, 2);
  const Tensor got = on_cpu(gpu);
  for (int64_t i = 0; i < 60; ++i) EXPECT_NEAR(got.data_ptr<float>()[i], weight.data_ptr<float>()[i], 1e-5);
}

// An index that is out of bounds ends the launch; what the device says from then on is that.
TEST_F(OnDevice, ABadIndexEndsTheDevicesWork) {
  const Tensor x = on_gpu(floats(8)), index = on_gpu(indices(3, 100)), bad = at::add(index, Scalar(8));
  try {
    on_cpu(at::index_select(x, 0, bad));
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string(e.what()).find("cudaErrorLaunchFailure"), std::string::npos) << e.what();
  }
  cuda_standin::reset();
}

TEST(Cub, ScratchMemoryIsAskedForAndGiven) {
  const int64_t n = 100;
  void *keys, *sorted_keys, *values, *sorted_values, *scratch;
  ASSERT_EQ(cudaMalloc(&keys, n * 4), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&sorted_keys, n * 4), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&values, n * 4), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&sorted_values, n * 4), cudaSuccess);
  const auto sort = [&](void* memory, size_t& bytes) {
    return cuda::cub::sort_pairs(memory, bytes, static_cast<const uint32_t*>(keys), static_cast<uint32_t*>(sorted_keys),
                                 static_cast<const int32_t*>(values), static_cast<int32_t*>(sorted_values), n, 32,
                                 nullptr);
  };
  size_t bytes = 0;
  ASSERT_EQ(sort(nullptr, bytes), cudaSuccess);
  ASSERT_GT(bytes, size_t{0});
  ASSERT_EQ(cudaMalloc(&scratch, bytes), cudaSuccess);
  size_t less = bytes - 1;
  EXPECT_EQ(sort(scratch, less), cudaErrorInvalidValue);
  std::vector<uint32_t> host_keys(n);
  std::vector<int32_t> host_values(n);
  for (int32_t i = 0; i < n; ++i) {
    host_keys[static_cast<size_t>(i)] = static_cast<uint32_t>(i * 37 % 10);
    host_values[static_cast<size_t>(i)] = i;
  }
  ASSERT_EQ(cudaMemcpy(keys, host_keys.data(), n * 4, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(values, host_values.data(), n * 4, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(sort(scratch, bytes), cudaSuccess);
  std::vector<int32_t> order(n);
  ASSERT_EQ(cudaMemcpy(order.data(), sorted_values, n * 4, cudaMemcpyDefault), cudaSuccess);
  for (size_t i = 1; i < order.size(); ++i) {
    const auto a = static_cast<size_t>(order[i - 1]), b = static_cast<size_t>(order[i]);
    EXPECT_TRUE(host_keys[a] < host_keys[b] || (host_keys[a] == host_keys[b] && a < b)) << i;
  }
  EXPECT_EQ(cuda_standin::misuse(), "");
  ASSERT_EQ(sort(keys, bytes), cudaSuccess);
  EXPECT_NE(cuda_standin::misuse(), "");
  for (void* memory : {keys, sorted_keys, values, sorted_values, scratch}) EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

}  // namespace
}  // namespace at
