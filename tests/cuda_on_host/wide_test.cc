// Kernels that count in 64 bits where tensors have 2^31 elements and more, given few elements: they do what those that
// count in 32 bits do.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/index/accumulate_call.h"
#include "aten/cuda/select/select_call.h"
#include "aten/cuda/sort/sort_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/testing/testing.h"

namespace at {
namespace {

using cuda::AccumulateCall;
using cuda::Pick;
using cuda::PickCall;
using cuda::Reduction;
using cuda::Rows;

constexpr int64_t kOuter = 3, kSize = 41, kInner = 5;

const Device kCpu(DeviceType::CPU), kGpu(DeviceType::CUDA, 0);

Tensor fresh(int64_t n, ScalarType dtype) {
  return empty_contiguous({n}, dtype, kGpu);
}
std::string bytes_of(const Tensor& t) {
  const Tensor c = at::to(t, kCpu);
  return {static_cast<const char*>(c.const_data_ptr()), c.nbytes()};
}
// Values come several times.
Tensor numbers(IntArrayRef sizes, ScalarType dtype) {
  Tensor t = empty_contiguous(sizes, kLong);
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<int64_t>()[i] = i * 7919 % 29 - 14;
  return at::to(at::to(t, dtype), kGpu);
}

Rows rows_of(const Tensor& x, bool wide) {
  Rows rows{};
  rows.data = static_cast<const char*>(x.const_data_ptr());
  rows.dtype = x.scalar_type();
  rows.item = static_cast<int64_t>(x.itemsize());
  rows.outer = kOuter;
  rows.size = kSize;
  rows.inner = kInner;
  rows.wide = wide;
  if (!wide) {
    rows.size_divisor = cuda::FastDivisor(kSize);
    rows.inner_divisor = cuda::FastDivisor(kInner);
  }
  return rows;
}

template <class Key, class Position>
void sort_pairs(const Tensor& keys, const Tensor& positions, const Tensor& sorted_keys, const Tensor& sorted) {
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sort_pairs(
        scratch, bytes, static_cast<const Key*>(keys.const_data_ptr()),
        static_cast<Key*>(sorted_keys.mutable_data_ptr()), static_cast<const Position*>(positions.const_data_ptr()),
        static_cast<Position*>(sorted.mutable_data_ptr()), keys.numel(), 8 * sizeof(Key), stream);
  });
}

// Positions in the order of their elements, and the keys by which they were sorted.
std::pair<Tensor, Tensor> sorted_positions(const Rows& rows, bool descending, bool with_row, bool long_keys) {
  const int64_t n = rows.numel();
  const ScalarType key = long_keys ? kLong : kInt, position = rows.wide ? kLong : kInt;
  const Tensor keys = fresh(n, key), sorted_keys = fresh(n, key), positions = fresh(n, position),
               sorted = fresh(n, position);
  cuda::launch_sort_keys(rows, nullptr, kSize, descending, with_row, long_keys, keys.mutable_data_ptr(),
                         positions.mutable_data_ptr());
  if (long_keys && rows.wide)
    sort_pairs<uint64_t, int64_t>(keys, positions, sorted_keys, sorted);
  else if (long_keys)
    sort_pairs<uint64_t, int32_t>(keys, positions, sorted_keys, sorted);
  else if (rows.wide)
    sort_pairs<uint32_t, int64_t>(keys, positions, sorted_keys, sorted);
  else
    sort_pairs<uint32_t, int32_t>(keys, positions, sorted_keys, sorted);
  return {sorted, sorted_keys};
}

TEST(Wide, SortedRowsAreThoseOfTheCpu) {
  for (const ScalarType dtype : {kFloat, kShort, kByte}) {
    const Tensor x = numbers({kOuter, kSize, kInner}, dtype);
    const auto [values, indices] = at::sort(at::to(x, kCpu), true, 1, false);
    // Keys of 16 bits and less have room for the row.
    for (const bool long_keys : {true, false}) {
      if (!long_keys && dtype == kFloat) continue;
      for (const bool wide : {true, false}) {
        const Rows rows = rows_of(x, wide);
        const Tensor positions = sorted_positions(rows, false, true, long_keys).first;
        const Tensor got = empty_contiguous(x.sizes(), dtype, kGpu), places = empty_contiguous(x.sizes(), kLong, kGpu);
        PickCall call{};
        call.name = "sort";
        call.rows = rows;
        call.positions = positions.const_data_ptr();
        call.length = call.count = kSize;
        if (!wide) call.count_divisor = cuda::FastDivisor(kSize);
        call.pick = Pick::kRun;
        call.values = static_cast<char*>(got.mutable_data_ptr());
        call.indices = static_cast<int64_t*>(places.mutable_data_ptr());
        cuda::launch_pick(call);
        EXPECT_EQ(bytes_of(got), bytes_of(values)) << toString(dtype) << long_keys << wide;
        EXPECT_EQ(bytes_of(places), bytes_of(indices)) << toString(dtype) << long_keys << wide;
      }
    }
  }
}

// Keys of 64 bits have no room for the row's number, which is sorted by in a second pass.
TEST(Wide, RowsOfPositions) {
  const Tensor x = numbers({kOuter, kSize, kInner}, kLong);
  for (const bool descending : {false, true}) {
    const Rows rows = rows_of(x, true);
    const Tensor positions = sorted_positions(rows, descending, false, true).first;
    const Tensor keys = fresh(x.numel(), kInt);
    cuda::launch_row_keys(rows, positions.const_data_ptr(), x.numel(), static_cast<uint32_t*>(keys.mutable_data_ptr()));
    const Tensor got = at::to(keys, kCpu), from = at::to(positions, kCpu), elements = at::to(x, kCpu);
    const int64_t* const place = from.data_ptr<int64_t>();
    const auto element = [&](int64_t position) {
      const int64_t row = position / kSize, k = position % kSize;
      return elements.data_ptr<int64_t>()[(row / kInner * kSize + k) * kInner + row % kInner];
    };
    for (int64_t i = 0; i < x.numel(); ++i) {
      ASSERT_EQ(got.data_ptr<int32_t>()[i], place[i] / kSize);
      if (i == 0) continue;
      const int64_t before = element(place[i - 1]), own = element(place[i]);
      ASSERT_TRUE(descending ? before >= own : before <= own) << i;
      if (before == own) ASSERT_LT(place[i - 1], place[i]);
    }
  }
}

TEST(Wide, FirstElementsAndPicks) {
  const Tensor x = numbers({kOuter, kSize, kInner}, kDouble);
  for (const bool only_last : {false, true}) {
    const int64_t k = 7, n = kOuter * kInner * (only_last ? 1 : k);
    const Tensor narrow = fresh(n, kInt), wide = fresh(n, kLong);
    cuda::launch_select_first(rows_of(x, false), k, true, only_last, narrow.mutable_data_ptr());
    cuda::launch_select_first(rows_of(x, true), k, true, only_last, wide.mutable_data_ptr());
    EXPECT_EQ(bytes_of(at::to(narrow, kLong)), bytes_of(wide));
  }
  // Sorted rows one by one: every row's positions stand together.
  const Tensor one = numbers({1, kSize, 1}, kFloat);
  const auto middle = [&](bool wide, Pick which) {
    Rows rows = rows_of(one, wide);
    rows.outer = rows.inner = 1;
    rows.inner_divisor = cuda::FastDivisor(1);
    const Tensor positions = sorted_positions(rows, false, false, false).first;
    const Tensor values = fresh(1, kFloat), indices = fresh(1, kLong);
    PickCall call{};
    call.name = "median";
    call.rows = rows;
    call.positions = positions.const_data_ptr();
    call.length = kSize;
    call.count = 1;
    call.pick = which;
    call.values = static_cast<char*>(values.mutable_data_ptr());
    call.indices = static_cast<int64_t*>(indices.mutable_data_ptr());
    cuda::launch_pick(call);
    return bytes_of(values) + bytes_of(indices);
  };
  for (const Pick which : {Pick::kMedian, Pick::kNanMedian, Pick::kMode}) {
    EXPECT_EQ(middle(true, which), middle(false, which));
  }
}

// What is written to `rows` places by n slices, of which one place takes most.
std::string accumulated(Reduction reduction, ScalarType dtype, ScalarType compute, bool wide) {
  constexpr int64_t kRows = 9, kMany = 2 * cuda::kShortSegment + 7, kCount = kMany + kRows;
  const Tensor to = numbers({kOuter, kRows, kInner}, dtype), from = numbers({kOuter, kCount, kInner}, dtype);
  const ScalarType index = wide ? kLong : kInt;
  Tensor places = empty_contiguous({kCount}, kLong);
  for (int64_t i = 0; i < kCount; ++i) places.data_ptr<int64_t>()[i] = i < kMany ? 4 : i - kMany;
  const Tensor unsorted = at::to(at::to(places, index), kGpu), counted = fresh(kCount, index);
  cuda::launch_count_up(counted.mutable_data_ptr(), wide, kCount);
  const Tensor keys = fresh(kCount, index), origins = fresh(kCount, index);
  if (wide)
    sort_pairs<uint64_t, int64_t>(unsorted, counted, keys, origins);
  else
    sort_pairs<uint32_t, int32_t>(unsorted, counted, keys, origins);
  AccumulateCall call{};
  call.name = "accumulate";
  call.reduction = reduction;
  call.dtype = dtype;
  call.to = static_cast<char*>(to.mutable_data_ptr());
  call.from = static_cast<const char*>(from.const_data_ptr());
  call.include_self = true;
  call.wide = wide;
  call.keys = keys.const_data_ptr();
  call.origins = origins.const_data_ptr();
  call.n = call.count = kCount;
  call.rows = kRows;
  call.outer = kOuter;
  call.inner = kInner;
  call.skipped = 2;
  call.inner_divisor = cuda::FastDivisor(kInner);
  const std::string before = bytes_of(to);
  cuda::launch_accumulate(call, compute);
  cuda::launch_accumulate_long(call, compute);
  std::string after = bytes_of(to);
  EXPECT_NE(after, before);
  return after;
}

TEST(Wide, AccumulatedSlices) {
  for (const auto& [dtype, compute] :
       std::vector<std::pair<ScalarType, ScalarType>>{{kHalf, kFloat},
                                                      {kDouble, kDouble},
                                                      {kInt, kLong},
                                                      {kComplexFloat, kComplexFloat},
                                                      {kComplexDouble, kComplexDouble}}) {
    for (const Reduction reduction : {Reduction::kAssign, Reduction::kSum, Reduction::kMean, Reduction::kMax}) {
      EXPECT_EQ(accumulated(reduction, dtype, compute, true), accumulated(reduction, dtype, compute, false))
          << toString(dtype) << static_cast<int>(reduction);
    }
  }
}

TEST(Wide, Coordinates) {
  const std::vector<int64_t> sizes{3, 4, 5};
  Tensor positions = empty_contiguous({60}, kLong);
  for (int64_t i = 0; i < 60; ++i) positions.data_ptr<int64_t>()[i] = 59 - i;
  const Tensor from = at::to(positions, kGpu);
  for (const bool small : {true, false}) {
    const Tensor to = empty_contiguous({60, 3}, kLong, kGpu);
    cuda::CoordinatesCall call{};
    call.to = static_cast<int64_t*>(to.mutable_data_ptr());
    call.positions = static_cast<const int64_t*>(from.const_data_ptr());
    call.count = 60;
    call.rank = 3;
    call.small = small;
    for (size_t d = 0; d < 3; ++d) {
      call.sizes[d] = sizes[d];
      if (small) call.divisors[d] = cuda::FastDivisor(static_cast<uint32_t>(sizes[d]));
    }
    cuda::launch_coordinates(call);
    const Tensor got = at::to(to, kCpu);
    for (int64_t i = 0; i < 60; ++i) {
      const int64_t* const c = got.data_ptr<int64_t>() + 3 * i;
      ASSERT_EQ((c[0] * 4 + c[1]) * 5 + c[2], 59 - i) << small;
      ASSERT_TRUE(c[1] >= 0 && c[1] < 4 && c[2] >= 0 && c[2] < 5);
    }
  }
}

}  // namespace
}  // namespace at
