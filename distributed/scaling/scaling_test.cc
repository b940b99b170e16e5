#include <gtest/gtest.h>

#include <cstdint>
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
  EXPECT_EQ(Llama()->units(), (std::vector<int64_t>{525336576, 218112000, 525340672}));
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

TEST(StepsTest, ShardedUnitsAreGatheredAhead) {
  Network network;
  network.within = 1;  // 2 units of 3 elements: gathered in 3, gradients scattered in 6
  const std::vector<double> units{3, 3}, shares{0.5, 0.5};
  EXPECT_DOUBLE_EQ(sharded_step(units, shares, {20, 40}, network, 1), 60);
  // The first gather and the last scatter are waited for.
  EXPECT_DOUBLE_EQ(sharded_step(units, shares, {20, 40}, network, 2), 3 + 60 + 6);
  // No computing: forwards two gathers, backwards one, and two scatters.
  EXPECT_DOUBLE_EQ(sharded_step(units, shares, {0, 0}, network, 2), 3 * 3 + 2 * 6);
  EXPECT_THROW(sharded_step(units, {1}, {1, 1}, network, 2), c10::ValueError);
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
