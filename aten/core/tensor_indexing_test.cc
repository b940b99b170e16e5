#include "aten/core/tensor_indexing.h"

#include <gtest/gtest.h>

#include "aten/core/from_blob.h"
#include "aten/core/tensor_accessor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"

namespace at {
namespace {

using c10::testing::message_of;
using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;

Tensor counting(IntArrayRef sizes) { return at::view(at::arange(checked_numel(sizes)), sizes); }

std::vector<int64_t> values(const Tensor& t) {
  const Tensor flat = at::contiguous(t);
  const int64_t* data = flat.data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + flat.numel());
}

TEST(Indexing, SlicesAreViews) {
  const Tensor t = counting({4, 3});
  const Tensor part = t.index({Slice(1, None, 2), Slice(None, 2)});
  EXPECT_EQ(values(part), (std::vector<int64_t>{3, 4, 9, 10}));
  EXPECT_TRUE(part.is_alias_of(t));
  EXPECT_EQ(t.index({Ellipsis, 0}).sizes(), IntArrayRef({4}));
  EXPECT_EQ(t.index({"...", None}).sizes(), IntArrayRef({4, 3, 1}));
  EXPECT_EQ(values(t[-1]), (std::vector<int64_t>{9, 10, 11}));
}

TEST(Indexing, TensorsGather) {
  const Tensor t = counting({4, 3});
  Tensor rows = at::empty({2}, kLong);
  rows.data_ptr<int64_t>()[0] = 3;
  rows.data_ptr<int64_t>()[1] = -4;
  EXPECT_EQ(values(t.index({rows})), (std::vector<int64_t>{9, 10, 11, 0, 1, 2}));
  EXPECT_EQ(values(t.index({rows, 1})), (std::vector<int64_t>{10, 1}));
  EXPECT_EQ(values(t.index({at::gt(t, 8)})), (std::vector<int64_t>{9, 10, 11}));
  EXPECT_EQ(t.index({true}).sizes(), IntArrayRef({1, 4, 3}));
  EXPECT_EQ(t.index({false}).sizes(), IntArrayRef({0, 4, 3}));
}

TEST(Indexing, Assignment) {
  Tensor t = counting({3, 3});
  t.index_put_({Slice(), 1}, 7);
  t[0][0] = at::full({}, 5, kLong);
  t.index_put_({at::eq(t, 8)}, -1);
  EXPECT_EQ(values(t), (std::vector<int64_t>{5, 7, 2, 3, 7, 5, 6, 7, -1}));
  EXPECT_EQ(t._version(), 3);
}

TEST(Indexing, BadIndicesThrow) {
  const Tensor t = counting({2, 3});
  EXPECT_THROW(t.index({0, 0, 0}), IndexError);
  EXPECT_THROW(t.index({5}), IndexError);
  EXPECT_THROW(t[2], IndexError);
  EXPECT_THROW(at::full({}, 1)[0], IndexError);
  EXPECT_THROW(t.index({Ellipsis, Ellipsis}), IndexError);
  EXPECT_THROW(t.index({Slice(0, 2, -1)}), ValueError);
  EXPECT_THROW(Slice(0, 1, 0), ValueError);
  EXPECT_THROW(indexing::TensorIndex(".."), ValueError);
  EXPECT_EQ(message_of<Error>([&] { t.index(ArrayRef<indexing::TensorIndex>()); }),
            "Passing an empty index list to Tensor::index() is not valid syntax");
  EXPECT_EQ(message_of<Error>([&] { t.index_put_(ArrayRef<indexing::TensorIndex>(), 1); }),
            "Passing an empty index list to Tensor::index_put_() is not valid syntax");
  EXPECT_EQ(str(std::vector<indexing::TensorIndex>{None, 0, true}), "(None, 0, true)");
  const Tensor mask = at::full({3}, true, kBool);
  EXPECT_THROW(t.index({mask}), IndexError);
}

TEST(Indexing, NumbersInTensorsSelect) {
  const Tensor t = at::arange(6).reshape({2, 3});
  const Tensor zero = at::scalar_tensor(0, kLong), one = at::scalar_tensor(1, kLong);
  EXPECT_EQ(t.index({0, 1}).data_ptr(), t.index({zero, one}).data_ptr());
  EXPECT_EQ(t.index({1}).data_ptr(), t.index({one.to(kShort)}).data_ptr());
  EXPECT_EQ(message_of<IndexError>([&] { t.index({at::scalar_tensor(2, kLong)}); }),
            "index 2 is out of bounds for dimension 0 with size 2");
}

TEST(Indexing, MessagesCountTheDimensionsOfTheTensor) {
  const Tensor t = at::zeros({2, 5, 10});
  EXPECT_EQ(message_of<IndexError>([&] { t.index({0, 5}); }), "index 5 is out of bounds for dimension 1 with size 5");
  EXPECT_EQ(message_of<IndexError>([&] { t.index({None, "...", 12}); }),
            "index 12 is out of bounds for dimension 2 with size 10");
  EXPECT_EQ(message_of<IndexError>([] { at::zeros({}).index({0}); }),
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number");
}

TEST(Indexing, LeadingOnesOfAssignedValuesAreDropped) {
  Tensor t = at::zeros({1, 3}, kLong);
  t.index_put_({at::scalar_tensor(true, kBool)}, at::ones({1, 1, 1, 3}, kLong));
  EXPECT_EQ(values(t), (std::vector<int64_t>{1, 1, 1}));
  t.index_put_({None}, at::full({1, 1, 1, 3}, 2, kLong));
  EXPECT_EQ(values(t), (std::vector<int64_t>{2, 2, 2}));
}

TEST(FromBlob, SharesMemoryAndCallsTheDeleter) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int freed = 0;
  {
    const Tensor t = from_blob(data, {2, 3}, [&freed](void* p) { freed += p != nullptr; });
    data[4] = 40;
    EXPECT_EQ((t.accessor<float, 2>()[1][1]), 40);
    const Tensor row = t[1];
    EXPECT_EQ(freed, 0);
    EXPECT_THROW(t.resize_({100}), Error);
  }
  EXPECT_EQ(freed, 1);
  const Tensor columns = from_blob(data, {3}, IntArrayRef({2}));
  EXPECT_EQ((columns.accessor<float, 1>()[2]), 40);
  EXPECT_THROW(from_blob(nullptr, {1}), Error);
  EXPECT_THROW(from_blob(data, {-1}), Error);
}

}  // namespace
}  // namespace at
