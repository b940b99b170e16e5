// Prints docs/scaling.md.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/simulator.h"
#include "distributed/scaling/llama.h"
#include "distributed/scaling/network.h"
#include "distributed/scaling/steps.h"

namespace {

using namespace torch::distributed::scaling;
namespace pipelining = torch::distributed::pipelining;

// torchtitan, benchmarks/llama3_h100_202412_torchtitan.md: Llama 3.1 8B with FSDP, tokens a second and GPU.
constexpr double kPublished8 = 5762, kPublished128 = 5605;
constexpr double kSequence = 8192, kSequences = 2;  // of a rank in a step
constexpr double kTokens = kSequence * kSequences;

// As many layers, whose matrices are just as large as those that are sent one by one.
constexpr LlamaSizes kSmall{.width = 1024, .hidden = 1024, .key_width = 128, .vocabulary = 1024};

struct Model {
  LlamaSizes sizes;
  std::vector<double> units, shares;  // embedding, layers, head
  double embedding = 0, layer = 0, head = 0;
  ShardedPlan sharded;
};

Model model_of(const LlamaSizes& sizes) {
  Model model;
  model.sizes = sizes;
  const Llama whole(sizes);
  model.embedding = static_cast<double>(whole->units.front()->elements());
  model.layer = static_cast<double>(whole->units[1]->elements());
  model.head = static_cast<double>(whole->units.back()->elements());
  model.sharded = sharded_plan(64, kSmall);
  const double computed = model.layer * static_cast<double>(sizes.layers) + model.head;
  model.units.push_back(model.embedding);
  model.shares.push_back(0);  // a look-up
  for (int64_t i = 0; i < sizes.layers; ++i) {
    model.units.push_back(model.layer);
    model.shares.push_back(model.layer / computed);
  }
  model.units.push_back(model.head);
  model.shares.push_back(model.head / computed);
  return model;
}

Compute compute_of(double seconds) {
  return {seconds / 3, seconds * 2 / 3};
}

// What makes the step of 8 ranks as long as it was measured.
Compute calibrated(const Model& model, const Network& network) {
  double low = 0, high = kTokens / kPublished8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (sharded_step(model.sharded, model.units, model.shares, compute_of(middle), network, 8) * kPublished8 < kTokens
         ? low
         : high) = middle;
  }
  return compute_of(low);
}

double three_ways(const Model& model, const Compute& compute, const Network& network, int64_t ranks,
                  std::function<pipelining::PipelineOrder(int64_t, int64_t)> order) {
  ThreeWays ways;
  ways.tensor = 2;
  ways.pipeline = 4;
  ways.data = ranks / 8;
  ways.microbatches = static_cast<int64_t>(kSequences) * 8;  // of one sequence
  ways.order = std::move(order);
  ways.activation_bytes = 2 * kSequence * static_cast<double>(model.sizes.width);
  ways.layer_forward = compute.forward / kSequences * model.shares[1];
  ways.head_forward = compute.forward / kSequences * model.shares.back();
  ways.layer_elements = model.layer;
  ways.embedding_elements = model.embedding;
  ways.head_elements = model.head;
  ways.layers = model.sizes.layers;
  return three_ways_step(ways, network);
}

std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 100 * part);
  return text;
}

}  // namespace

int main() {
  Network ring;
  ring.latency = 3e-6;
  ring.overhead = 5e-6;
  ring.within = 361e9;
  ring.across = 45e9;
  Network halving = ring;
  halving.is_ring = false;

  const Model model = model_of({});
  const Compute compute = calibrated(model, ring);
  const DataParallelPlan plan = data_parallel_plan(1024);
  double gradients = 0;
  for (const auto& bucket : plan.buckets) gradients += bucket.bytes;

  std::printf(R"(# Training on many ranks

What follows is computed, not measured: `bazel run //distributed/scaling` prints this page, and a test compares. It is a
Llama 3.1 8B (%.2f billion parameters) on nodes of 8 GPUs, %.0f sequences of %.0f tokens on each GPU in a step, whatever
the number of GPUs. Each column is the part of a step in which a GPU computes, in percent.

| GPUs | FSDP: ring | halving | DDP: ring | halving | 3D: 1F1B | interleaved | ZB-V | torchtitan's FSDP |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
)",
              gradients / 4e9, kSequences, kSequence);
  for (int64_t ranks = 8; ranks <= 1024; ranks *= 2) {
    const auto part = [&](double step) { return percent(compute.sum() / step); };
    const auto pipeline = [&](auto order) { return part(three_ways(model, compute, ring, ranks, order)); };
    const double published = ranks == 8 ? kPublished8 : ranks == 128 ? kPublished128 : 0;
    std::printf("| %lld | %s | %s | %s | %s | %s | %s | %s | %s |\n", static_cast<long long>(ranks),
                part(sharded_step(model.sharded, model.units, model.shares, compute, ring, ranks)).c_str(),
                part(sharded_step(model.sharded, model.units, model.shares, compute, halving, ranks)).c_str(),
                part(data_parallel_step(plan, compute, ring, ranks)).c_str(),
                part(data_parallel_step(plan, compute, halving, ranks)).c_str(),
                pipeline(pipelining::one_forward_one_backward_order).c_str(),
                pipeline([](int64_t p, int64_t n) { return pipelining::interleaved_1f1b_order(p, 2, n); }).c_str(),
                pipeline(pipelining::zbv_order).c_str(), published == 0 ? "" : part(kTokens / published).c_str());
  }

  const auto bubbles = [](const pipelining::PipelineOrder& order) {
    return 1 - pipelining::simulate(order).bubble_ratio();
  };
  const double plain = bubbles(pipelining::one_forward_one_backward_order(8, 32));
  std::printf(
      R"(
How long a GPU computes (%.2f s) is set such that FSDP on 8 GPUs is as fast as torchtitan published: %.0f tokens a
second and GPU (end of 2024, H100 of 500 W, no compilation, selective activation checkpointing). The model of 128 is then
a prediction: %.0f, where %.0f were published. What is missing in it is what no model of an undisturbed network has:
ranks that are late, and collectives that take computing units from products.

- **DDP**: buckets and their order are those of `DistributedDataParallel`, which is run for this page on a meta model in
  a group of 1,024 ranks (`FakeProcessGroup`): %zu buckets, %.1f GB. Each is reduced when it is full and the one before
  it is done. No GPU of 80 GB holds such a replica with its optimizer; the column is for comparison.
- **FSDP**: what `fully_shard` does for the embedding, each layer and the head, which stays between forward and
  backward: it is run for this page on layers of fewer rows, in groups of 64 ranks that note what is started and waited
  for (%zu collectives). The next unit is gathered (bf16) while one is computed with (`set_modules_to_forward_prefetch`,
  and in backward by itself), gradients (float32) are scattered behind. A unit takes one collective in each direction,
  to and from where its large parameters lie. (As a collective for each of them it was 775, and of 1,024 ranks on a
  ring each computed 31.4%% of the time.)
- **3D**: each node has a replica: 4 stages of 2 ranks, 16 microbatches of a sequence. The schedules are those that
  `PipelineSchedule` runs (`add_communication`), timed by `simulate`. Each layer gathers and scatters activations twice
  in each direction, and nothing is computed meanwhile. Gradients are reduced over the nodes during the last backward of
  a stage, which hides %.0f ms at most.

A collective of s steps takes s (2 latency + overhead) + bytes / bandwidth: %.0f us and %.0f us for a step, assumed;
%.0f GB/s within a node, measured by others (all-gather on 8 H200); %.0f GB/s for a GPU to other nodes, 90%% of the
400 Gb/s of torchtitan's machines. All GPUs of a node share what comes into it. A ring has as many steps as ranks, which
is what limits it from some hundred ranks on; halving and doubling has their logarithm.

Of the schedules alone, torchtitan published 100 and 128 tokens a second for 1F1B and interleaved 1F1B with 405 billion
parameters on 8 stages of 64 GPUs. With 32 microbatches (assumed) the simulator gives interleaved schedules %.0f%%,
%.0f%% and %.0f%% more than 1F1B for 2, 4 and 8 stages a rank, where all stages take the same time and messages none.
)",
      compute.sum(), kPublished8, kTokens / sharded_step(model.sharded, model.units, model.shares, compute, ring, 128),
      kPublished128, plan.buckets.size(), gradients / 1e9, model.sharded.collectives,
      1e3 * compute.backward / kSequences / 4 / 2, 2 * ring.latency * 1e6, ring.overhead * 1e6, ring.within / 1e9,
      ring.across / 1e9, 100 * (bubbles(pipelining::interleaved_1f1b_order(8, 2, 32)) / plain - 1),
      100 * (bubbles(pipelining::interleaved_1f1b_order(8, 4, 32)) / plain - 1),
      100 * (bubbles(pipelining::interleaved_1f1b_order(8, 8, 32)) / plain - 1));
  return 0;
}
