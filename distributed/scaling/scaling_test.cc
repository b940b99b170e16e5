#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/pipeline/orders.h"
#include "distributed/scaling/llama.h"
#include "distributed/scaling/network.h"
#include "distributed/scaling/steps.h"

namespace torch::distributed::scaling {
namespace {

TEST(NetworkTest, CollectivesTakeWhatTheFormulaSays) {
  Network network;
  network.latency = 1;
  network.overhead = 0.5;
  network.within = 100;
  network.across = 10;
  network.ranks_per_node = 4;
  EXPECT_EQ(network.all_gather(400, 1), 0);
  EXPECT_DOUBLE_EQ(network.all_gather(400, 4), 3 * 2.5 + 300.0 / 100);
  // Half of the bytes come into each of two nodes, through four interfaces; seven eighths into each rank.
  EXPECT_DOUBLE_EQ(network.all_gather(800, 8), 7 * 2.5 + 400.0 / 40);
  network.within = 10;
  EXPECT_DOUBLE_EQ(network.all_gather(800, 8), 7 * 2.5 + 700.0 / 10);
  // One rank of each node.
  EXPECT_DOUBLE_EQ(network.all_gather(80, 8, 4), 7 * 2.5 + 70.0 / 10);
  EXPECT_DOUBLE_EQ(network.all_reduce(80, 8, 4), 2 * network.reduce_scatter(80, 8, 4));
  network.is_ring = false;
  EXPECT_DOUBLE_EQ(network.all_gather(80, 8, 4), 3 * 2.5 + 70.0 / 10);
  EXPECT_DOUBLE_EQ(network.all_gather(0, 5, 4), 3 * 2.5);
  EXPECT_THROW(network.all_gather(1, 0), c10::ValueError);
}

TEST(LlamaTest, HasEightBillionParametersThatDataParallelismReducesInOrder) {
  const DataParallelPlan plan = data_parallel_plan(1024);
  double bytes = 0, before = 0;
  for (const auto& bucket : plan.buckets) {
    bytes += bucket.bytes;
    EXPECT_GE(bucket.backward, before);
    before = bucket.backward;
  }
  EXPECT_EQ(bytes, 4.0 * 8030261248);
  EXPECT_EQ(before, 1);
  EXPECT_LT(plan.buckets.front().backward, 0.1);
  const Llama model;
  ASSERT_EQ(model->units.size(), 34u);
  EXPECT_EQ(model->units[0]->elements(), 525336576);
  EXPECT_EQ(model->units[1]->elements(), 218112000);
  EXPECT_EQ(model->units[33]->elements(), 525340672);
}

TEST(StepsTest, DataParallelWaitsForBucketsAndForEachOther) {
  DataParallelPlan plan;
  plan.buckets = {{100, 0.5}, {100, 0.6}, {100, 1}};
  Network network;
  network.within = 50;  // 100 bytes by 2 ranks: 2
  const Compute compute{10, 20};
  EXPECT_DOUBLE_EQ(network.all_reduce(100, 2), 2);
  EXPECT_DOUBLE_EQ(data_parallel_step(plan, compute, network, 1), 30);
  EXPECT_DOUBLE_EQ(data_parallel_step(plan, compute, network, 2), 32);  // the last one
  network.within = 10;                                                  // 10 each: from 20 on, one after the other
  EXPECT_DOUBLE_EQ(data_parallel_step(plan, compute, network, 2), 50);
}

using Kind = ShardedPlan::Kind;

// As letters: what is started, waited for and computed with, and its unit. Parts of a unit are one.
std::string text_of(const ShardedPlan& plan) {
  std::string text;
  std::vector<std::string> names(plan.collectives);
  for (const ShardedPlan::Event& event : plan.events) {
    std::string word;
    switch (event.kind) {
      case Kind::kGather:
        word = names[event.collective] = "g" + std::to_string(event.unit);
        break;
      case Kind::kScatter:
        word = names[event.collective] = "s" + std::to_string(event.unit);
        break;
      case Kind::kWait:
        word = "(" + names[event.collective] + ")";
        break;
      case Kind::kForward:
        word = "F" + std::to_string(event.unit);
        break;
      case Kind::kBackward:
        word = "B" + std::to_string(event.unit);
        break;
    }
    const bool again = text.size() > word.size() && text.compare(text.size() - word.size() - 1, word.size(), word) == 0;
    if (!again) text += word + " ";
  }
  return text;
}

// What fully_shard() does is run: each unit is gathered while the one before is computed with; gradients follow.
TEST(StepsTest, ShardedPlansAreThoseOfTheCode) {
  const ShardedPlan plan = sharded_plan(4, {.layers = 2, .width = 32, .hidden = 64, .key_width = 16, .vocabulary = 64});
  EXPECT_EQ(text_of(plan),
            "g0 (g0) g1 F0 (g1) g2 F1 (g2) g3 F2 (g3) F3 "
            "g2 B3 s3 (g2) g1 B2 (s3) s2 (g1) g0 B1 (s2) s1 (g0) B0 (s1) s0 (s0) ");
  std::vector<double> gathered(4, 0), scattered(4, 0);
  for (const ShardedPlan::Event& event : plan.events) {
    if (event.kind == Kind::kGather) gathered[event.unit] += event.part;
    if (event.kind == Kind::kScatter) scattered[event.unit] += event.part;
  }
  EXPECT_EQ(gathered, (std::vector<double>{2, 2, 2, 1}));
  EXPECT_EQ(scattered, (std::vector<double>{1, 1, 1, 1}));
}

TEST(StepsTest, ShardedUnitsTakeThePlansTime) {
  Network network;
  network.within = 1;  // 2 units of 3 elements: gathered in 3, gradients scattered in 6
  const std::vector<double> units{3, 3}, shares{0.5, 0.5};
  ShardedPlan plan;
  plan.collectives = 5;
  plan.events = {{Kind::kGather, 0, 0, 1},  {Kind::kWait, 0, 0}, {Kind::kGather, 1, 1, 1}, {Kind::kForward, 0},
                 {Kind::kWait, 0, 1},       {Kind::kForward, 1}, {Kind::kGather, 0, 2, 1}, {Kind::kBackward, 1},
                 {Kind::kScatter, 1, 3, 1}, {Kind::kWait, 0, 2}, {Kind::kBackward, 0},     {Kind::kWait, 0, 3},
                 {Kind::kScatter, 0, 4, 1}, {Kind::kWait, 0, 4}};
  EXPECT_DOUBLE_EQ(sharded_step(plan, units, shares, {20, 40}, network, 1), 60);
  // The first gather and the last scatter are waited for.
  EXPECT_DOUBLE_EQ(sharded_step(plan, units, shares, {20, 40}, network, 2), 3 + 60 + 6);
  // No computing: forwards two gathers, backwards one, and two scatters.
  EXPECT_DOUBLE_EQ(sharded_step(plan, units, shares, {0, 0}, network, 2), 3 * 3 + 2 * 6);
  EXPECT_THROW(sharded_step(plan, units, {1}, {1, 1}, network, 2), c10::ValueError);
}

TEST(StepsTest, LayersAreDealtSuchThatTheLongestStageIsShort) {
  EXPECT_EQ(deal_layers(8, 0, 4), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(deal_layers(32, 2.4, 4), (std::vector<int64_t>{9, 9, 8, 6}));
  EXPECT_EQ(deal_layers(32, 2.4, 1), (std::vector<int64_t>{32}));
  EXPECT_EQ(deal_layers(2, 5, 3), (std::vector<int64_t>{1, 1, 0}));
  EXPECT_THROW(deal_layers(2, 5, 0), c10::ValueError);
}

TEST(StepsTest, ThreeWaysAreThePipelinesTimeWithWhatItsRanksShare) {
  ThreeWays ways;
  ways.pipeline = 4;
  ways.microbatches = 8;
  ways.order = pipelining::one_forward_one_backward_order;
  ways.layers = 8;
  ways.layer_forward = 1;
  Network network;
  network.within = network.across = 1e12;
  EXPECT_DOUBLE_EQ(three_ways_step(ways, network), (8 + 3) * 6.0);
  // Half the time for each rank, and four collectives of a layer each way: 2 layers, 0.25 of a second.
  ways.tensor = 2;
  ways.activation_bytes = 1;
  network.within = 2;
  const double computing = (8 + 3) * (3.0 + 2 * 4 * 0.25 * 2), message = 0.5 / 2;
  EXPECT_GE(three_ways_step(ways, network), computing + 2 * 3 * message);  // down and up again, at least
  EXPECT_LE(three_ways_step(ways, network), computing + 2 * (8 + 3) * message);
  // Gradients that take longer than the last backward.
  ways.activation_bytes = 0;
  ways.layer_elements = 1e12;
  ways.data = 2;
  const double reducing = network.all_reduce(4 * 2e12 / 2, 2, 8);
  EXPECT_DOUBLE_EQ(three_ways_step(ways, network), (8 + 3) * 3.0 + reducing - 2);
}

}  // namespace
}  // namespace torch::distributed::scaling
