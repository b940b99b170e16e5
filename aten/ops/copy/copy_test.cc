#include "aten/ops/copy/ops.h"

#include <string>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/testing/testing.h"
#include "gtest/gtest.h"

namespace {

using at::ScalarType;
using at::Tensor;

constexpr ScalarType kTypes[] = {
    ScalarType::Byte, ScalarType::Char,  ScalarType::Short,  ScalarType::Int,          ScalarType::Long,          ScalarType::Half,
    ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::BFloat16};

Tensor range(std::vector<int64_t> sizes, ScalarType dtype = ScalarType::Float) {
  std::vector<double> numbers(static_cast<size_t>(c10::checked_numel(sizes)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 100);
  return at::testing::tensor_of(numbers, sizes, dtype);
}

double at_index(const Tensor& t, std::vector<int64_t> index) {
  int64_t offset = t.storage_offset();
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[d];
  const Tensor one = at::make_view(t, {}, {}, offset);
  return at::item(one).toComplexDouble().real();
}

// Every element of a and b, by index.
void expect_equal(const Tensor& first, const Tensor& second) {
  const Tensor a = at::testing::on_cpu(first), b = at::testing::on_cpu(second);
  ASSERT_EQ(a.sizes(), b.sizes());
  std::vector<int64_t> index(a.dim(), 0);
  for (int64_t n = 0; n < a.numel(); ++n) {
    ASSERT_EQ(at_index(a, index), at_index(b, index)) << "element " << n;
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < a.sizes()[d]) break;
      index[d] = 0;
    }
  }
}

TEST(Copy, EveryDtypeToEveryOther) {
  for (ScalarType from : kTypes) {
    for (ScalarType to : kTypes) {
      const Tensor a = range({3, 4}, from), b = at::to(a, to);
      EXPECT_EQ(b.scalar_type(), to);
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          const double value = static_cast<double>(i * 4 + j);
          const bool boolean = from == ScalarType::Bool || to == ScalarType::Bool;
          EXPECT_EQ(at_index(b, {i, j}), boolean ? value != 0 : value);
        }
      }
    }
  }
}

TEST(Copy, TransposedOfEverySizeAndDtype) {
  for (ScalarType type : kTypes) {
    for (int64_t rows : {1, 3, 8, 65, 130}) {
      for (int64_t columns : {1, 4, 9, 64, 70}) {
        const Tensor a = range({rows, columns}, type);
        const Tensor t = at::make_view(a, {columns, rows}, {1, columns}, 0);
        Tensor copy = at::clone(t, at::MemoryFormat::Contiguous);
        EXPECT_TRUE(copy.is_contiguous());
        expect_equal(copy, t);
      }
    }
  }
}

// Two to four rows or columns, of which tiles are long, and tiles' ends, for items of 1, 2, 4, 8 and 16 bytes; into
// rows with room between them, too.
TEST(Copy, TransposedOfShortSides) {
  for (const ScalarType type :
       {ScalarType::Byte, ScalarType::Short, ScalarType::Float, ScalarType::Double, ScalarType::ComplexDouble}) {
    for (const int64_t few : {2, 3, 4, 5}) {
      for (const int64_t many : {7, 16, 63, 1023, 1024, 1030, 2049}) {
        std::vector<double> numbers;
        for (int64_t i = 0; i < few * many; ++i) numbers.push_back(static_cast<double>(i * 7919 % 251));
        for (const auto& [rows, columns] : {std::pair{few, many}, {many, few}}) {
          const Tensor a = at::testing::tensor_of(numbers, {rows, columns}, type);
          const Tensor t = at::make_view(a, {columns, rows}, {1, columns}, 0);
          std::vector<double> want;
          for (int64_t c = 0; c < columns; ++c) {
            for (int64_t r = 0; r < rows; ++r) want.push_back(numbers[static_cast<size_t>(r * columns + c)]);
          }
          SCOPED_TRACE(std::string(toString(type)) + " " + std::to_string(rows) + " " + std::to_string(columns));
          ASSERT_EQ(at::testing::values(at::clone(t, at::MemoryFormat::Contiguous)), want);
          const Tensor wide = at::testing::tensor_of({-1}, {columns, rows + 3}, ScalarType::Double);
          Tensor all = at::to(wide, type), inner = at::make_view(all, {columns, rows}, {rows + 3, 1}, 1);
          at::copy_(inner, t);
          std::vector<double> around = at::testing::values(at::to(wide, type));
          for (int64_t i = 0; i < columns * rows; ++i)
            around[static_cast<size_t>(i / rows * (rows + 3) + 1 + i % rows)] = want[static_cast<size_t>(i)];
          ASSERT_EQ(at::testing::values(all), around);
        }
      }
    }
  }
}

TEST(Copy, BroadcastsAndRejects) {
  Tensor out = range({2, 3});
  at::copy_(out, range({3}));
  EXPECT_EQ(at_index(out, {1, 2}), 2);
  at::copy_(out, at::make_view(range({1}), {}, {}, 0));
  EXPECT_EQ(at_index(out, {1, 2}), 0);
  EXPECT_THROW(at::copy_(out, range({4})), c10::Error);
  EXPECT_THROW(at::copy_(out, range({2, 2, 3})), c10::Error);
  Tensor expanded = at::make_view(range({3}), {2, 3}, {0, 1}, 0);
  EXPECT_THROW(at::copy_(expanded, range({2, 3})), c10::Error);
}

TEST(Copy, OverlappingSourceIsReadFirst) {
  Tensor base = range({6});
  Tensor to = at::make_view(base, {5}, {1}, 1);
  at::copy_(to, at::make_view(base, {5}, {1}, 0));
  for (int64_t i = 1; i < 6; ++i) EXPECT_EQ(at_index(base, {i}), static_cast<double>(i - 1));
}

TEST(Copy, CloneKeepsDenseLayouts) {
  const Tensor base = range({2, 3, 4});
  const Tensor permuted = at::make_view(base, {4, 2, 3}, {1, 12, 4}, 0);
  EXPECT_EQ(at::clone(permuted).strides(), permuted.strides());
  EXPECT_TRUE(at::clone(permuted, at::MemoryFormat::Contiguous).is_contiguous());
  const Tensor image = range({2, 3, 4, 5});
  const Tensor last = at::clone(image, at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  expect_equal(last, image);
  expect_equal(at::clone(range({0, 3})), range({0, 3}));
}

TEST(Copy, ToReturnsSelfWhereNothingChanges) {
  const Tensor a = range({2});
  EXPECT_TRUE(at::to(a, ScalarType::Float).is_same(a));
  EXPECT_FALSE(at::to(a, ScalarType::Float, false, true).is_same(a));
  EXPECT_EQ(at::type_as(a, range({1}, ScalarType::Int)).scalar_type(), ScalarType::Int);
}

TEST(Fill, ScalarTensorZeroAndStrided) {
  for (ScalarType type : kTypes) {
    Tensor a = range({4, 5}, type);
    Tensor column = at::make_view(a, {4}, {5}, 2);
    at::fill_(column, 1);
    EXPECT_EQ(at_index(a, {3, 2}), 1);
    EXPECT_EQ(at_index(a, {0, 1}), 1);
    at::zero_(a);
    EXPECT_EQ(at_index(a, {3, 2}), 0);
  }
  Tensor a = range({3});
  at::fill_(a, at::make_view(range({5}), {}, {}, 4));
  EXPECT_EQ(at_index(a, {1}), 4);
  EXPECT_THROW(at::fill_(a, range({1})), c10::Error);
  Tensor bytes = range({3}, ScalarType::Char);
  EXPECT_THROW(at::fill_(bytes, 300), std::exception);
}

TEST(Fill, Diagonal) {
  for (const int64_t rows : {3, 4, 5, 6, 7, 8, 12, 13}) {
    Tensor a = range({rows, 3});
    at::zero_(a);
    at::fill_diagonal_(a, 5, true);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        EXPECT_EQ(at_index(a, {i, j}), i % 4 == j ? 5 : 0) << rows << ": " << i << "," << j;
      }
    }
  }
  // No loop over the rows.
  Tensor tall = at::empty_contiguous({int64_t{1} << 31, 3}, ScalarType::Float, at::Device(at::kMeta));
  at::fill_diagonal_(tall, 5, true);
}

TEST(Item, OfOneElementOnly) {
  EXPECT_EQ(at::item(range({1, 1})).toDouble(), 0);
  EXPECT_THROW(at::item(range({2})), c10::Error);
}

}  // namespace
