#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "data/samplers/samplers.h"
#include "utils/serialize/archive.h"

namespace torch::data::samplers {
namespace {

using Batch = std::vector<size_t>;

template <class S>
Batch rest(S& sampler, size_t batch_size) {
  Batch all;
  while (auto batch = sampler.next(batch_size)) all.insert(all.end(), batch->begin(), batch->end());
  return all;
}

TEST(RandomSampler, GivesTheOrderOfRandperm) {
  // torch.manual_seed(0); torch.randperm(10)
  at::manual_seed(0);
  RandomSampler sampler(10);
  EXPECT_EQ(rest(sampler, 4), (Batch{4, 1, 7, 5, 3, 9, 0, 8, 6, 2}));
  EXPECT_FALSE(sampler.next(1).has_value());
  sampler.reset();
  const Batch second = rest(sampler, 3);
  EXPECT_NE(second, (Batch{4, 1, 7, 5, 3, 9, 0, 8, 6, 2}));
  EXPECT_EQ(std::set<size_t>(second.begin(), second.end()).size(), 10u);
  sampler.reset(3);
  EXPECT_EQ(rest(sampler, 5).size(), 3u);
  EXPECT_THROW(RandomSampler(-1), c10::ValueError);
  EXPECT_THROW(RandomSampler(5, at::kFloat), c10::TypeError);
}

template <class S>
void expect_resumes(S& sampler, S& other) {
  sampler.next(3);
  serialize::OutputArchive out;
  sampler.save(out);
  const std::string bytes = out.to_bytes();
  serialize::InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  other.load(in);
  EXPECT_EQ(rest(sampler, 2), rest(other, 2));
}

TEST(Samplers, GoOnWhereTheyWereSaved) {
  RandomSampler a(10), b(4);
  expect_resumes(a, b);
  SequentialSampler c(10), d(10);
  expect_resumes(c, d);
  DistributedRandomSampler e(20, 2, 1), f(20, 2, 1);
  e.set_epoch(3);
  e.reset(std::nullopt);
  expect_resumes(e, f);
  EXPECT_EQ(f.epoch(), 3u);
  DistributedSequentialSampler g(20, 2, 1), h(20, 2, 1);
  expect_resumes(g, h);
}

TEST(Samplers, RefuseStatesThatCannotBe) {
  serialize::OutputArchive out;
  out.write("index", int64_t{-1});
  const std::string bytes = out.to_bytes();
  serialize::InputArchive in;
  in.load_from(bytes.data(), bytes.size());
  SequentialSampler sampler(10);
  EXPECT_THROW(sampler.load(in), c10::ValueError);
  RandomSampler random(10);
  EXPECT_THROW(random.load(in), c10::Error);
}

TEST(SequentialSampler, CountsUp) {
  SequentialSampler sampler(5);
  EXPECT_EQ(*sampler.next(2), (Batch{0, 1}));
  EXPECT_EQ(sampler.index(), 2u);
  EXPECT_EQ(*sampler.next(9), (Batch{2, 3, 4}));
  EXPECT_FALSE(sampler.next(1));
  sampler.reset(2);
  EXPECT_EQ(rest(sampler, 1), (Batch{0, 1}));
}

TEST(StreamSampler, AddsUpToTheEpoch) {
  StreamSampler sampler(5);
  EXPECT_EQ(sampler.next(3)->size(), 3u);
  EXPECT_EQ(sampler.next(3)->size(), 2u);
  EXPECT_FALSE(sampler.next(3));
  sampler.reset();
  EXPECT_EQ(sampler.next(9)->size(), 5u);
}

template <class S>
void expect_cover(size_t size, size_t replicas, bool duplicates) {
  std::multiset<size_t> seen;
  std::set<size_t> counts;
  for (size_t rank = 0; rank < replicas; ++rank) {
    S sampler(size, replicas, rank, duplicates);
    const Batch mine = rest(sampler, 4);
    counts.insert(mine.size());
    seen.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(counts.size(), 1u);
  EXPECT_EQ(seen.size(), (size + (duplicates ? replicas - 1 : 0)) / replicas * replicas);
  const size_t covered = duplicates ? size : size / replicas * replicas;
  for (size_t i = 0; i < covered; ++i) EXPECT_GE(seen.count(i), 1u) << i << " of " << size;
  for (const size_t i : seen) EXPECT_LT(i, covered);
}

TEST(DistributedSamplers, CoverTheDataset) {
  for (size_t size : {1, 7, 8, 100})
    for (size_t replicas : {1, 2, 3, 8})
      for (bool duplicates : {false, true}) {
        expect_cover<DistributedRandomSampler>(size, replicas, duplicates);
        expect_cover<DistributedSequentialSampler>(size, replicas, duplicates);
      }
}

// As libtorch's: see its order of 10 samples in epoch 3, of 7 for three ranks in epoch 0.
TEST(DistributedSamplers, TheOrderIsLibtorchs) {
  DistributedRandomSampler a(10, 2, 1), b(7, 3, 2), c(7, 3, 2, false), d(7, 3, 0, false);
  EXPECT_EQ(rest(a, 10), (Batch{8, 4, 7, 6, 3}));
  EXPECT_EQ(a.index(), 10u);
  a.set_epoch(3);
  a.reset(std::nullopt);
  EXPECT_EQ(a.index(), 5u);
  EXPECT_EQ(rest(a, 10), (Batch{6, 9, 7, 0, 4}));
  a.reset(7);
  EXPECT_EQ(rest(a, 10), (Batch{2, 6, 4, 0}));
  EXPECT_EQ(rest(b, 10), (Batch{1, 3, 0}));
  EXPECT_EQ(rest(c, 10), (Batch{3, 4}));
  EXPECT_EQ(rest(d, 10), (Batch{0, 2}));
}

TEST(DistributedSamplers, TheEpochDecidesTheOrder) {
  DistributedRandomSampler a(50, 2, 0), b(50, 2, 0);
  EXPECT_EQ(rest(a, 10), rest(b, 10));
  a.set_epoch(1);
  a.reset(std::nullopt);
  b.reset(std::nullopt);
  const Batch first = rest(a, 10);
  EXPECT_NE(first, rest(b, 10));
  b.set_epoch(1);
  b.reset(std::nullopt);
  EXPECT_EQ(first, rest(b, 10));
  DistributedSequentialSampler sequential(10, 3, 2);
  EXPECT_EQ(rest(sequential, 10), (Batch{8, 9, 0, 1}));
  EXPECT_THROW(DistributedRandomSampler(5, 0, 0), c10::ValueError);
  EXPECT_THROW(DistributedSequentialSampler(5, 2, 2), c10::ValueError);
}

}  // namespace
}  // namespace torch::data::samplers
