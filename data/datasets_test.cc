#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/chunk.h"
#include "data/datasets/combine.h"
#include "data/datasets/iterable.h"
#include "data/datasets/shared.h"
#include "data/datasets/tensor.h"
#include "data/transforms/transforms.h"
#include "utils/serialize/archive.h"

namespace torch::data::datasets {
namespace {

struct Numbers : Dataset<Numbers, int> {
  explicit Numbers(size_t n, int start = 0) : n(n), start(start) {}
  int get(size_t i) override { return start + static_cast<int>(i); }
  std::optional<size_t> size() const override { return n; }
  size_t n;
  int start;
};

template <class Loader>
std::vector<int> flat(Loader& loader) {
  std::vector<int> all;
  for (auto& batch : loader) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(TensorDatasets, GiveRows) {
  const at::Tensor x = at::reshape(at::arange(6), {3, 2}), y = at::arange(3);
  TensorDataset rows(x);
  EXPECT_EQ(rows.size(), 3u);
  EXPECT_TRUE(at::equal(rows.get(2).data, at::select(x, 0, 2)));
  EXPECT_TRUE(at::equal(TensorDataset(std::vector<at::Tensor>{y, y}).tensor, at::stack({y, y})));
  EXPECT_THROW(rows.get(3), c10::IndexError);
  TensorTupleDataset tuple({x, y, x});
  EXPECT_EQ(tuple.get(1).size(), 3u);
  EXPECT_EQ(tuple.get(1)[1].item<int64_t>(), 1);
  EXPECT_THROW(TensorTupleDataset({x, at::arange(2)}), c10::ValueError);
  TensorPairDataset pair(x, y);
  EXPECT_EQ(pair.get(2).target.item<int64_t>(), 2);
  EXPECT_THROW(TensorPairDataset(x, at::arange(4)), c10::ValueError);
}

TEST(Subset, HasItsIndices) {
  Subset<Numbers> some(Numbers(10), {7, 2, 2});
  EXPECT_EQ(some.size(), 3u);
  EXPECT_EQ(some.get(0), 7);
  EXPECT_EQ(some.get_batch({2, 0}), (std::vector<int>{2, 7}));
  EXPECT_THROW(some.get_batch({3}), c10::IndexError);
  Subset<Subset<Numbers>> nested(some, {1});
  EXPECT_EQ(nested.get(0), 2);
  auto doubled = some.map(transforms::Lambda<int>([](int x) { return 2 * x; }));
  EXPECT_EQ(doubled.get_batch({0}), (std::vector<int>{14}));
  Subset<decltype(doubled)> of_mapped(doubled, {2});
  EXPECT_EQ(of_mapped.get_batch({0}), (std::vector<int>{4}));
}

TEST(ConcatDataset, GoesThroughAll) {
  ConcatDataset<Numbers> both({Numbers(3), Numbers(0), Numbers(2, 10)});
  EXPECT_EQ(both.size(), 5u);
  EXPECT_EQ(both.cumulative_sizes(), (std::vector<size_t>{3, 3, 5}));
  EXPECT_EQ(both.get_batch({0, 1, 2, 3, 4, 0}), (std::vector<int>{0, 1, 2, 10, 11, 0}));
  EXPECT_EQ(both.get(4), 11);
  EXPECT_THROW(both.get(5), c10::IndexError);
  EXPECT_THROW(ConcatDataset<Numbers>({}), c10::ValueError);
  auto loader = make_data_loader<samplers::SequentialSampler>(both, DataLoaderOptions(2).workers(2));
  EXPECT_EQ(flat(*loader), (std::vector<int>{0, 1, 2, 10, 11}));
  // Of several types.
  using Any = AnyDataset<int>;
  ConcatDataset<Any> mixed({Any(Numbers(2)), Any(Subset<Numbers>(Numbers(9), {8}))});
  EXPECT_EQ(mixed.get_batch({2, 1}), (std::vector<int>{8, 1}));
}

TEST(StackDataset, GivesTuples) {
  StackDataset<Numbers, Numbers> stack(Numbers(3), Numbers(3, 5));
  EXPECT_EQ(stack.get(2), (std::tuple<int, int>{2, 7}));
  EXPECT_EQ(stack.size(), 3u);
  EXPECT_THROW((StackDataset<Numbers, Numbers>(Numbers(3), Numbers(2))), c10::ValueError);
}

TEST(RandomSplit, DealsOutAll) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  auto parts = random_split(Numbers(10), {0.7, 0.2, 0.1}, generator);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(*parts[0].size(), 7u);
  std::set<int> seen;
  for (auto& part : parts)
    for (size_t i = 0; i < *part.size(); ++i) seen.insert(part.get(i));
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(*data::random_split(make_shared_dataset<Numbers>(10), {4, 6})[1].size(), 6u);
  EXPECT_THROW(random_split(Numbers(5), {2, 2}), c10::ValueError);
  EXPECT_THROW(random_split(Numbers(5), {7, -2}), c10::ValueError);
  EXPECT_THROW(random_split(Numbers(5), {0.7, 0.7}), c10::ValueError);
  EXPECT_THROW(random_split(Numbers(5), {1.5, -0.5}), c10::ValueError);
}

struct Count : IterableDataset<Count, int> {
  explicit Count(int n = 7) : n(n) {}
  std::optional<int> next() override { return i < n ? std::optional(i++) : std::nullopt; }
  void restart() override { i = 0; }
  int n, i = 0;
};

TEST(IterableDataset, IsReadToItsEnd) {
  for (const size_t workers : {0, 3})
    for (const bool drop : {false, true}) {
      auto loader = make_data_loader(Count(), DataLoaderOptions(3).workers(workers).drop_last(drop));
      for (int pass = 0; pass < 2; ++pass) {
        std::vector<int> all = flat(*loader);
        std::sort(all.begin(), all.end());
        EXPECT_EQ(all, drop ? (std::vector<int>{0, 1, 2, 3, 4, 5}) : (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
      }
    }
  auto mapped = make_data_loader(Count().map(transforms::Lambda<int>([](int x) { return -x; })),
                                 DataLoaderOptions(3).drop_last(true));
  EXPECT_EQ(flat(*mapped), (std::vector<int>{0, -1, -2, -3, -4, -5}));
}

TEST(ChainDataset, GoesThroughAll) {
  auto loader = make_data_loader(ChainDataset<Count>({Count(2), Count(0), Count(3)}), DataLoaderOptions(4));
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(flat(*loader), (std::vector<int>{0, 1, 0, 1, 2}));
}

// Chunks of 10, 5 and 20 numbers.
struct Reader : ChunkDataReader<int> {
  std::vector<int> read_chunk(size_t i) override {
    if (i == bad) throw std::invalid_argument("chunk is bad");
    const std::vector<int> begin{0, 10, 15, 35};
    std::vector<int> numbers(static_cast<size_t>(begin[i + 1] - begin[i]));
    std::iota(numbers.begin(), numbers.end(), begin[i]);
    return numbers;
  }
  size_t chunk_count() override { return 3; }
  void reset() override {}
  size_t bad = 99;
};

using Sequential = samplers::SequentialSampler;
using InOrder = ChunkDataset<Reader, Sequential, Sequential>;

std::vector<int> to(int n) {
  std::vector<int> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(ChunkDataset, GivesEveryExampleOnce) {
  for (const size_t preloaders : {1, 2, 4})
    for (const size_t batch : {5, 7, 16})
      for (const size_t cache : {16, 2048})
        for (const size_t workers : {0, 2}) {
          auto set = make_shared_dataset<InOrder>(Reader(), Sequential(0), Sequential(0),
                                                  ChunkDatasetOptions(preloaders, batch, cache));
          auto loader = make_data_loader(set, DataLoaderOptions(batch).workers(workers));
          for (int pass = 0; pass < 2; ++pass) {
            std::vector<int> all = flat(*loader);
            if (preloaders > 1 || workers > 0) std::sort(all.begin(), all.end());
            EXPECT_EQ(all, to(35)) << preloaders << " preloaders, batches of " << batch << ", " << workers
                                   << " workers";
          }
        }
}

TEST(ChunkDataset, ShufflesInTwoLevels) {
  auto set = make_shared_dataset<ChunkDataset<Reader>>(Reader(), samplers::RandomSampler(0), samplers::RandomSampler(0),
                                                       ChunkDatasetOptions(1, 5, 40, 3));
  auto loader = make_data_loader(set, DataLoaderOptions(5));
  std::vector<int> all = flat(*loader);
  EXPECT_NE(all, to(35));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, to(35));
}

TEST(ChunkDataset, EndsInTheMiddleOfAPass) {
  for (int i = 0; i < 10; ++i) {
    auto set = make_shared_dataset<InOrder>(Reader(), Sequential(0), Sequential(0), ChunkDatasetOptions(2, 5, 5));
    auto loader = make_data_loader(set, DataLoaderOptions(5));
    auto it = loader->begin();
    if (i % 2) ++it;
  }
}

TEST(ChunkDataset, PassesOnWhatTheReaderThrows) {
  for (const size_t bad : {0, 1, 2}) {
    Reader reader;
    reader.bad = bad;
    InOrder set(reader, Sequential(0), Sequential(0), ChunkDatasetOptions(1, 4, 4));
    for (int pass = 0; pass < 2; ++pass) {
      set.reset();
      std::vector<int> all;
      int thrown = 0;
      while (true) {
        try {
          auto batch = set.get_batch();
          if (!batch) break;
          all.insert(all.end(), batch->begin(), batch->end());
        } catch (const WorkerException&) {
          ++thrown;
        }
      }
      EXPECT_EQ(thrown, 1);
      EXPECT_EQ(all.size(), 35u - (bad == 0 ? 10u : bad == 1 ? 5u : 20u));
    }
  }
}

TEST(ChunkDataset, RefusesBadSettingsAndCalls) {
  EXPECT_THROW(ChunkDatasetOptions(0, 1), c10::ValueError);
  EXPECT_THROW(ChunkDatasetOptions(1, 0), c10::ValueError);
  EXPECT_THROW(ChunkDatasetOptions(1, 1, 0), c10::ValueError);
  EXPECT_THROW(ChunkDatasetOptions(1, 10, 5), c10::ValueError);
  EXPECT_THROW(ChunkDatasetOptions(1, 10, 20, 0), c10::ValueError);
  InOrder set(Reader(), Sequential(0), Sequential(0), ChunkDatasetOptions(1, 5));
  EXPECT_THROW(set.get_batch(), c10::Error);
  set.reset();
  EXPECT_THROW(set.get_batch(6), c10::Error);
  EXPECT_EQ(*set.get_batch(5), to(5));
}

TEST(ChunkDataset, GoesOnAtASavedChunk) {
  Sequential sampler(3);
  sampler.next(2);
  serialize::OutputArchive out;
  out << sampler;
  const std::string bytes = out.to_bytes();
  serialize::InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  InOrder set(Reader(), Sequential(3), Sequential(0), ChunkDatasetOptions(1, 10));
  in >> set;
  set.reset();
  EXPECT_EQ(set.get_batch()->front(), 15);
  EXPECT_EQ(set.get_batch()->front(), 25);
  EXPECT_FALSE(set.get_batch());
  set.reset();
  EXPECT_EQ(set.get_batch()->front(), 0);
}

}  // namespace
}  // namespace torch::data::datasets
