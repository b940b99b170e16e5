// A training step of GPT-2 small without a clock: its launches, and the bytes that they move against the least that its
// operators must.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdio>
#include <map>
#include <string>

#include "examples/gpt/model.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/counts.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace {

using torch::Tensor;

// Its 12 layers; a twelfth of its width, and of its vocabulary and the tokens of a step what the executor runs in
// seconds. All bytes but a few are products of two of these sizes, and each such product's part has a ratio of its own,
// so that other proportions weigh the same ratios differently; attention's scores are never in memory.
struct Shape {
  int64_t layers = 12, heads = 2, width = 64, batch = 4, time = 64, vocabulary = 4096;
  int64_t tokens() const { return batch * time; }
};

// What the step's operators read and write, each operand once: of float tensors 4 bytes an element, with autocast of
// products' operands and results 2, and casts as it documents them. A linear layer's backward reads its gradient for
// each of its two products, and the bias' gradient is a sum that one of them makes on its way; layer_norm and cross
// entropy read their inputs once forward and once backward.
int64_t least_bytes(const Shape& s, bool autocast) {
  const int64_t f = 4, h = autocast ? 2 : 4, cast = autocast ? f + h : 0;
  const int64_t tokens = s.tokens() * s.width;  // elements of the residual stream
  const int64_t linear = 12 * s.width * s.width * s.layers + s.vocabulary * s.width;
  const int64_t tables = (s.vocabulary + s.time) * s.width;
  const int64_t vectors = (13 * s.layers + 2) * s.width;
  const int64_t parameters = linear + tables + vectors;
  const int64_t logits = s.tokens() * s.vocabulary;

  const int64_t norm = 2 * f, norm_backward = 3 * f, add = 2 * f + h, add_gradients = 3 * f;
  const auto product = [&](int64_t in, int64_t out) { return (in + out) * h; };
  const auto product_backward = [&](int64_t in, int64_t out) { return 2 * (in + out) * h; };
  const int64_t block = norm + cast + product(1, 3) + 4 * h + product(1, 1) + add  // attention
                        + norm + cast + product(1, 4) + 8 * h + product(4, 1) + add;
  const int64_t block_backward = cast + product_backward(4, 1) + 12 * h + product_backward(1, 4) + cast  //
                                 + norm_backward + add_gradients                                        //
                                 + cast + product_backward(1, 1) + 8 * h + product_backward(1, 3) + cast +
                                 norm_backward + add_gradients;
  const int64_t ends = norm + cast + norm_backward + cast  // the last norm
                       + 3 * h                              // what the head reads, twice, and its gradient
                       + 2 * f + 2 * f + 2 * f;             // both embeddings: gathered, added, gradients read
  // Logits: written, the loss reads them, its gradient reads and writes them, and two products read that.
  const int64_t head = 6 * h * logits;
  // Weights: cast, read by two products, the gradient written and cast; vectors: read and written.
  const int64_t weights = linear * (cast + 3 * h + cast) + vectors * 3 * f + tables * f;
  // The norm of gradients reads them, clipping reads and writes; the optimizer reads four tensors and writes three.
  const int64_t update = parameters * (1 + 2 + 7) * f;
  return tokens * (s.layers * (block + block_backward) + ends) + head + weights + update;
}

struct Step {
  Shape shape;
  bool autocast;
  gpt::Gpt model = nullptr;
  std::unique_ptr<torch::optim::AdamW> optimizer;
  Tensor tokens, targets, loss;

  Step(const Shape& s, bool casts) : shape(s), autocast(casts) {
    const torch::Device device(torch::kCUDA, 0);
    gpt::ModelOptions o;
    o.vocabulary = s.vocabulary;
    o.context = s.time;
    o.layers = s.layers;
    o.heads = s.heads;
    o.width = s.width;
    torch::manual_seed(1);
    model = gpt::Gpt(o);
    model->to(device);
    optimizer = std::make_unique<torch::optim::AdamW>(
        model->parameters(), torch::optim::AdamWOptions(1e-3).fused(true).capturable(true));
    const Tensor text = torch::randint(s.vocabulary, {s.batch, s.time + 1});
    tokens = text.narrow(1, 0, s.time).contiguous().to(device);
    targets = text.narrow(1, 1, s.time).contiguous().to(device);
  }

  void run(int64_t count) {
    {
      torch::autocast region(torch::kCUDA, torch::kBFloat16, autocast);
      loss = model->loss(tokens.narrow(0, 0, count), targets.narrow(0, 0, count));
    }
    optimizer->zero_grad();
    loss.backward();
    std::vector<Tensor> grads;
    for (const Tensor& p : model->parameters()) grads.push_back(p.grad());
    torch::nn::utils::clip_grads_with_norm_(model->parameters(), 1.0, torch::nn::utils::get_total_norm(grads));
    optimizer->step();
  }
};

struct Moved {
  int64_t launches = 0, bytes = 0;
};

// Of kernels what no cache has, of the libraries' calls their operands, of copies both sides.
std::map<std::string, Moved> moved_by(Step& step) {
  torch::cuda::synchronize();
  cuda_standin::clear_trace();
  simt::start_counting();
  step.run(step.shape.batch);
  torch::cuda::synchronize();
  std::map<std::string, Moved> all;
  for (const auto& [kernel, c] : simt::stop_counting()) {
    all[kernel].launches += c.launches;
    all[kernel].bytes += 32 * (c.loads.first_sectors + c.stores.first_sectors);
  }
  for (const cuda_standin::Executed& work : cuda_standin::trace()) {
    if (work.kind == cuda_standin::WorkKind::kKernel || work.kind == cuda_standin::WorkKind::kHostFunction) continue;
    const bool copies = work.kind == cuda_standin::WorkKind::kCopy;
    ++all[work.name].launches;
    all[work.name].bytes += static_cast<int64_t>(work.bytes) * (copies ? 2 : 1);
  }
  return all;
}

class StepTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __clang__
    GTEST_SKIP() << "only Clang reports accesses";
#endif
    if (!simt::options().watch) GTEST_SKIP() << "a sanitizer looks in the executor's stead";
  }

  static void check(bool autocast, int64_t most_launches) {
    Step step(Shape(), autocast);
    const int64_t least = least_bytes(step.shape, autocast);
    step.run(1);  // makes the optimizer's state
    Moved sum;
    for (const auto& [name, moved] : moved_by(step)) {
      std::printf("%-40s %5lld launches, %9.2f MB\n", name.c_str(), static_cast<long long>(moved.launches),
                  static_cast<double>(moved.bytes) / 1e6);
      sum.launches += moved.launches;
      sum.bytes += moved.bytes;
    }
    const double ratio = static_cast<double>(sum.bytes) / static_cast<double>(least);
    std::printf("all: %lld launches, %.2f MB, %.3f of the least\n", static_cast<long long>(sum.launches),
                static_cast<double>(sum.bytes) / 1e6, ratio);
    EXPECT_LE(ratio, 1.15);
    EXPECT_GE(ratio, 0.95) << "the least is not that";
    EXPECT_LE(sum.launches, most_launches);
    EXPECT_EQ(cuda_standin::misuse(), "");
  }
};

TEST_F(StepTest, Float32) {
  check(false, 700);
}
TEST_F(StepTest, BFloat16) {
  check(true, 970);
}

}  // namespace
