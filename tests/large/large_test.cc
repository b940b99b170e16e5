// Every family on tensors whose elements, or bytes, are more than 31 or 32 bits count. What is looked at lies past that
// border, where an index that wrapped around would have read or written something else.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using torch::Tensor;

constexpr int64_t kMany = (int64_t{1} << 31) + 37;  // elements
constexpr int64_t kSide = 46349;                    // squared just above 2^31

// 0 but for the elements given.
Tensor marked(const std::vector<std::pair<int64_t, int>>& marks) {
  Tensor x = torch::zeros({kMany}, torch::kByte);
  for (const auto& [at, value] : marks) x[at] = value;
  return x;
}

int64_t number(const Tensor& x) {
  return x.item<int64_t>();
}

TEST(Large, ElementByElement) {
  Tensor x = marked({{kMany - 1, 7}, {kMany - 38, 5}, {0, 1}});
  Tensor y = x + 3;
  EXPECT_EQ(number(y[kMany - 1]), 10);
  EXPECT_EQ(number(y[kMany - 38]), 8);
  EXPECT_EQ(number(y[kMany / 2]), 3);
  y = Tensor();
  x.mul_(2);
  EXPECT_EQ(number(x[kMany - 1]), 14);
  EXPECT_EQ(number(x[0]), 2);
  const Tensor equal = x == 14;
  EXPECT_TRUE(equal[kMany - 1].item<bool>());
  EXPECT_FALSE(equal[kMany - 2].item<bool>());
  // Every second element, and one that is cast.
  const Tensor half = x.slice(0, 0, kMany, 2).add(1);
  EXPECT_EQ(number(half[half.numel() - 1]), 15);
  EXPECT_EQ(half.numel(), (kMany + 1) / 2);
  const Tensor wide = x.to(torch::kBFloat16);
  EXPECT_EQ(wide[kMany - 1].item<float>(), 14);
  EXPECT_EQ(wide.clone()[kMany - 38].item<float>(), 10);
}

TEST(Large, Broadcast) {
  const Tensor row = torch::arange(kSide, torch::kInt).to(torch::kByte);
  const Tensor sum = row.unsqueeze(1) + row;
  EXPECT_EQ(sum.numel(), kSide * kSide);
  for (const int64_t i : {int64_t{0}, kSide - 1}) {
    for (const int64_t j : {int64_t{3}, kSide - 2}) EXPECT_EQ(number(sum[i][j]), (i % 256 + j % 256) % 256);
  }
  // Row by row and column by column.
  const Tensor turned = sum.narrow(0, kSide - 9, 9).t().contiguous();
  EXPECT_EQ(number(turned[kSide - 1][8]), (2 * (kSide - 1)) % 256);
  const Tensor whole = sum.t().contiguous();
  EXPECT_EQ(number(whole[kSide - 1][7]), (kSide - 1 + 7) % 256);
}

TEST(Large, Reductions) {
  Tensor x = marked({{kMany - 2, 9}, {kMany - 38, 4}});
  EXPECT_EQ(number(x.sum()), 13);
  EXPECT_EQ(number(x.argmax()), kMany - 2);
  EXPECT_EQ(number(x.max()), 9);
  EXPECT_EQ(number(std::get<1>(x.max(0))), kMany - 2);
  EXPECT_TRUE(x.any().item<bool>());
  EXPECT_EQ(number(torch::count_nonzero(x)), 2);
  const Tensor rows = x.narrow(0, 0, kMany - 37).view({2, -1});
  const Tensor sums = rows.sum(1);
  EXPECT_EQ(number(sums[0]), 0);
  EXPECT_EQ(number(sums[1]), 4);
  EXPECT_EQ(number(rows.amax(0)[rows.size(1) - 1]), 4);
  x.fill_(1);
  EXPECT_EQ(number(x.sum()), kMany);
  EXPECT_EQ(number(torch::cumsum(x, 0, torch::kByte)[kMany - 1]), kMany % 256);
  EXPECT_EQ(number(x.view(torch::kBool).sum()), kMany);
}

TEST(Large, MeansOfManyAreExact) {
  Tensor x = torch::ones({kMany}, torch::kHalf);
  x.narrow(0, 0, kMany / 2).fill_(3);
  EXPECT_NEAR(x.mean(torch::kDouble).item<double>(), 2, 1e-6);
  EXPECT_NEAR(x.to(torch::kFloat).var().item<double>(), 1, 1e-6);
}

TEST(Large, Indexing) {
  Tensor x = marked({{kMany - 1, 3}, {kMany - 38, 6}});
  const Tensor at = torch::tensor({kMany - 38, int64_t{0}, kMany - 1});
  const std::vector<int64_t> expected = {6, 0, 3};
  for (const Tensor& got : {x.index_select(0, at), x.take(at), x.gather(0, at), x.index({at})}) {
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(number(got[i]), expected[static_cast<size_t>(i)]);
  }
  const Tensor places = x.nonzero();
  EXPECT_EQ(places.sizes(), torch::IntArrayRef({2, 1}));
  EXPECT_EQ(number(places[1][0]), kMany - 1);
  EXPECT_EQ(number(x.masked_select(x > 4)[0]), 6);
  x.index_put_({at}, torch::tensor({1, 2, 9}, torch::kByte));
  EXPECT_EQ(number(x[kMany - 1]), 9);
  x.scatter_(0, at, torch::tensor({11, 12, 13}, torch::kByte));
  EXPECT_EQ(number(x[kMany - 38]), 11);
  x.index_fill_(0, at.narrow(0, 2, 1), 21);
  EXPECT_EQ(number(x[kMany - 1]), 21);
  EXPECT_EQ(number(x.flip(0)[0]), 21);
  EXPECT_EQ(number(x.roll(5)[4]), 21);
  EXPECT_EQ(number(x.masked_fill_(x == 0, 2)[kMany - 2]), 2);
  EXPECT_EQ(number(torch::where(x == 21, x, x.narrow(0, 0, 1))[kMany - 1]), 21);
}

TEST(Large, JoinedAndSplit) {
  const Tensor x = marked({{kMany - 1, 3}});
  const Tensor both = torch::cat({x, torch::full({5}, 8, torch::kByte), x});
  EXPECT_EQ(both.numel(), 2 * kMany + 5);
  EXPECT_EQ(number(both[kMany + 4]), 8);
  EXPECT_EQ(number(both[2 * kMany + 4]), 3);
  const auto parts = both.split_with_sizes({kMany, 5, kMany});
  EXPECT_EQ(number(parts[2][kMany - 1]), 3);
  EXPECT_EQ(number(torch::constant_pad_nd(x, {2, 0}, 1)[kMany + 1]), 3);
}

TEST(Large, OrderAndSearch) {
  Tensor x = marked({{kMany - 1, 200}, {kMany - 3, 100}, {5, 150}});
  const auto [values, places] = x.topk(3);
  EXPECT_EQ(number(places[0]), kMany - 1);
  EXPECT_EQ(number(places[1]), 5);
  EXPECT_EQ(number(places[2]), kMany - 3);
  x.zero_();
  x.narrow(0, kMany - 4, 4).fill_(1);
  EXPECT_EQ(number(torch::searchsorted(x, torch::tensor({1}, torch::kByte))[0]), kMany - 4);
}

TEST(Large, ProductsOfMatrices) {
  const Tensor a = torch::arange(kSide, torch::kFloat).unsqueeze(1);
  {
    const Tensor outer = torch::mm(a, a.t());  // 8 GiB
    EXPECT_EQ(outer[kSide - 1][kSide - 1].item<float>(), float(kSide - 1) * float(kSide - 1));
    EXPECT_EQ(outer[kSide - 2][1].item<float>(), float(kSide - 2));
    const Tensor ones = torch::ones({kSide});
    EXPECT_NEAR(torch::mv(outer, ones)[kSide - 1].item<double>() / (double(kSide - 1) * kSide * (kSide - 1) / 2), 1,
                1e-5);
    EXPECT_NEAR(torch::mv(outer.t(), ones)[1].item<double>() / (double(kSide) * (kSide - 1) / 2), 1, 1e-4);
  }
  const Tensor x = torch::ones({kMany}, torch::kBFloat16);
  EXPECT_NEAR(torch::dot(x, x).item<double>() / kMany, 1, 1e-2);
}

TEST(Large, Layers) {
  Tensor image = torch::zeros({1, 1, kSide, kSide}, torch::kBFloat16);
  image.select(2, kSide - 1).fill_(2);
  image[0][0][kSide - 1][kSide - 2] = 5;
  EXPECT_EQ(torch::max_pool2d(image, 2, 2, 0, 1, true)[0][0][kSide / 2][kSide / 2 - 1].item<float>(), 5);
  EXPECT_EQ(torch::avg_pool2d(image, 3, 3)[0][0][kSide / 3 - 1][3].item<float>(), 0);
  EXPECT_EQ(torch::relu(image)[0][0][kSide - 1][kSide - 1].item<float>(), 2);
  const Tensor rows = image.view({kSide, kSide});
  EXPECT_NEAR(torch::softmax(rows, 1)[0][7].item<double>(), 1.0 / kSide, 1e-6);
  EXPECT_NEAR(torch::layer_norm(rows, {kSide})[kSide - 1][kSide - 2].item<double>(), 3 / std::sqrt(9.0 / kSide + 1e-5),
              1);
  image = Tensor();
  // A table of which rows begin beyond 2^31 elements.
  Tensor table = torch::zeros({kSide, kSide}, torch::kBFloat16);
  table[kSide - 1].fill_(3);
  const Tensor found = torch::embedding(table, torch::tensor({kSide - 1, int64_t{0}}));
  EXPECT_EQ(found[0][kSide - 1].item<float>(), 3);
  EXPECT_EQ(found[1][0].item<float>(), 0);
}

TEST(Large, RandomNumbers) {
  Tensor x = torch::empty({kMany}, torch::kByte);
  x.random_(0, 200);
  const Tensor end = x.narrow(0, kMany - 1000, 1000).to(torch::kDouble);
  EXPECT_NEAR(end.mean().item<double>(), 99.5, 10);
  EXPECT_LT(end.max().item<double>(), 200);
  x.bernoulli_(0.25);
  EXPECT_NEAR(double(number(x.sum())) / kMany, 0.25, 1e-4);
}

TEST(Large, Files) {
  const std::string path = testing::TempDir() + "/large.pt";
  {
    Tensor x = torch::zeros({(int64_t{1} << 32) + 5}, torch::kByte);
    x[x.numel() - 1] = 77;
    x[12] = 3;
    torch::save(std::vector<Tensor>{torch::ones({2}), x, torch::full({3}, 4)}, path);
  }
  std::vector<Tensor> read;
  torch::load(read, path);
  std::filesystem::remove(path);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(number(read[1][read[1].numel() - 1]), 77);
  EXPECT_EQ(number(read[1][12]), 3);
  EXPECT_EQ(number(read[2][2]), 4);
}

// What has no memory: sizes and strides whose products leave 64 bits are errors, not small numbers.
TEST(Large, ProductsOfSizesAreChecked) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THROW(torch::empty({huge, 4}), c10::Error);
  EXPECT_THROW(torch::zeros({huge}, torch::kDouble), c10::Error);
  EXPECT_THROW(torch::empty_strided({4, 2}, {huge, 1}), c10::Error);
  EXPECT_THROW(torch::zeros({2}).as_strided({4, 2}, {huge, 1}), c10::Error);
  EXPECT_THROW(torch::zeros({2}).expand({huge, huge, 2}), c10::Error);
  EXPECT_THROW(torch::arange(0.0, 1e19), c10::Error);
  EXPECT_THROW(torch::zeros({2}).repeat({huge, huge}), c10::Error);
  EXPECT_THROW(torch::constant_pad_nd(torch::zeros({2}), {huge, huge}), c10::Error);
  const Tensor many = torch::zeros({1}).expand({huge});
  EXPECT_EQ(many.numel(), huge);
  EXPECT_THROW(many.clone(), c10::Error);
  EXPECT_THROW(many + 1, c10::Error);
}

}  // namespace
