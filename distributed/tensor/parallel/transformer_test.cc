// A transformer trained in parallel in several ways, beside one that is not.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/tensor/parallel/context_parallel.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "distributed/tensor/parallel/style.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/testing/run_ranks.h"
#include "nn/nn.h"
#include "optim/adamw.h"

namespace torch::distributed::tensor::parallel {
namespace {

using at::Tensor;

constexpr int64_t kWords = 12, kWidth = 8, kHeads = 4, kLength = 8, kBatch = 4, kLayers = 2, kSteps = 50;

struct AttentionImpl : nn::Module {
  AttentionImpl() {
    for (auto [name, layer] : {std::pair("q", &q), std::pair("k", &k), std::pair("v", &v), std::pair("out", &out)}) {
      *layer = register_module(name, nn::Linear(kWidth, kWidth));
    }
  }
  // As many heads as there are in what the layers give.
  Tensor forward(const Tensor& x) {
    const auto heads = [&](nn::Linear& layer) {
      const Tensor y = layer(x);
      return y.view({y.size(0), y.size(1), -1, kWidth / kHeads}).transpose(1, 2);
    };
    const Tensor y = at::scaled_dot_product_attention(heads(q), heads(k), heads(v), {}, 0, true).transpose(1, 2);
    return out(y.reshape({y.size(0), y.size(1), -1}));
  }
  nn::Linear q{nullptr}, k{nullptr}, v{nullptr}, out{nullptr};
};
TORCH_MODULE(Attention);

struct LayerImpl : nn::Module {
  LayerImpl() {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    attention = register_module("attention", Attention());
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    up = register_module("up", nn::Linear(kWidth, 4 * kWidth));
    down = register_module("down", nn::Linear(4 * kWidth, kWidth));
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = x + attention(norm1(x));
    return y + down(at::gelu(up(norm2(y))));
  }
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  Attention attention{nullptr};
  nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(Layer);

struct TransformerImpl : nn::Module {
  TransformerImpl() {
    words = register_module("words", nn::Embedding(kWords, kWidth));
    places = register_module("places", nn::Embedding(kLength, kWidth));
    layers = register_module("layers", nn::Sequential());
    for (int64_t i = 0; i < kLayers; ++i) layers->push_back(Layer());
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    head = register_module("head", nn::Linear(nn::LinearOptions(kWidth, kWords).bias(false)));
    to(at::kDouble);
    const c10::NoGradGuard no_grad;
    double first = 0;
    for (Tensor& p : parameters()) {
      const Tensor values = at::sin(at::arange(p.numel(), at::kDouble).mul(1.7).add(first += 3)).view(p.sizes());
      p.copy_(values.mul(p.dim() > 1 ? 0.5 : 0.1).add(p.dim() > 1 ? 0 : 0.5));
    }
  }
  // The mean loss of `next` after `tokens`, both (batch, length); positions: (1, length).
  Tensor forward(const Tensor& tokens, const Tensor& positions, const Tensor& next) {
    const Tensor logits = head(norm(layers->forward(words(tokens) + places(positions))));
    return at::cross_entropy_loss(logits.flatten(0, 1), next.flatten());
  }
  nn::Embedding words{nullptr}, places{nullptr};
  nn::Sequential layers{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Transformer);

Tensor batch_of(int64_t step, int64_t shift) {
  return at::arange(kBatch * kLength).mul(3).add(step * step + shift).remainder(kWords).view({kBatch, kLength});
}

// The loss of some tokens, from which the backward pass gives gradients in `parameters`.
using LossOf = std::function<double(const Tensor& tokens, const Tensor& next)>;

std::vector<double> train(const std::vector<Tensor>& parameters, const LossOf& backward_of, int64_t steps = kSteps) {
  optim::AdamW optimizer(parameters, optim::AdamWOptions(0.01).weight_decay(0.1));
  std::vector<double> losses;
  for (int64_t step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    losses.push_back(backward_of(batch_of(step, 0), batch_of(step, 1)));
    optimizer.step();
  }
  return losses;
}

Tensor positions() {
  return at::arange(kLength).unsqueeze(0);
}

double backward(const Tensor& loss) {
  loss.backward();
  return DTensor::is(loss) ? DTensor(loss.detach()).full_tensor().item<double>() : loss.item<double>();
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, Tensor> parameters;
};

const Trained& on_one_device() {
  static const Trained trained = [] {
    Transformer model;
    auto losses = train(model->parameters(), [&](const Tensor& tokens, const Tensor& next) {
      return backward(model(tokens, positions(), next));
    });
    Trained result{losses, {}};
    for (const auto& item : model->named_parameters()) result.parameters[item.key()] = item.value().detach();
    return result;
  }();
  return trained;
}

void expect_as_on_one_device(const std::vector<double>& losses, const nn::Module& model, const std::string& way) {
  const Trained& expected = on_one_device();
  ASSERT_LT(expected.losses.back(), 0.7 * expected.losses.front());
  for (size_t i = 0; i < losses.size(); ++i) {
    ASSERT_NEAR(losses[i], expected.losses[i], 1e-9) << way << " step " << i;
  }
  if (losses.size() < expected.losses.size()) return;
  for (const auto& item : model.named_parameters()) {
    const Tensor t = item.value().detach();
    EXPECT_TRUE(
        at::allclose(DTensor::is(t) ? DTensor(t).full_tensor() : t, expected.parameters.at(item.key()), 1e-9, 1e-9))
        << way << " " << item.key();
  }
}

ParallelizePlan tensor_plan() {
  return {{"words", RowwiseParallel()},
          // The gradients of the three are added up before the ranks' are.
          {"layers.*.attention", PrepareModuleInput({Replicate()}, {Replicate()})},
          {"layers.*.attention.[qkv]", ColwiseParallel()},
          {"layers.*.attention.out", RowwiseParallel()},
          {"layers.*.up", ColwiseParallel()},
          {"layers.*.down", RowwiseParallel()},
          {"head", ColwiseParallel({.use_local_output = false})}};
}

// Between the layers that are cut by features, the sequence is.
ParallelizePlan sequence_plan() {
  const Placement sequence = Shard(1);
  return {{"words", RowwiseParallel({.output_layouts = sequence})},
          {"places", RowwiseParallel({.output_layouts = sequence})},
          {"layers.*.norm[12]", SequenceParallel()},
          {"layers.*.attention", PrepareModuleInput({sequence}, {Replicate()})},
          {"layers.*.attention.[qkv]", ColwiseParallel()},
          {"layers.*.attention.out", RowwiseParallel({.output_layouts = sequence})},
          {"layers.*.up", ColwiseParallel()},
          {"layers.*.down", RowwiseParallel({.output_layouts = sequence})},
          {"norm", SequenceParallel()},
          {"head", ColwiseParallel({.use_local_output = false})}};
}

TEST(ParallelTransformer, TensorsAndSequences) {
  on_one_device();
  for (const bool sequence : {false, true}) {
    for (const int64_t ranks : {2, 4}) {
      testing::run_mesh({ranks}, [&](const DeviceMesh& mesh) {
        Transformer model;
        parallelize_module(model, mesh, sequence ? sequence_plan() : tensor_plan());
        const auto guard = loss_parallel();
        const auto losses = train(
            model->parameters(),
            [&](const Tensor& tokens, const Tensor& next) { return backward(model(tokens, positions(), next)); },
            ranks == 2 ? kSteps : 8);
        expect_as_on_one_device(losses, *model, std::string(sequence ? "sequence" : "tensor") + std::to_string(ranks));
      });
    }
  }
}

// In each pass a sum for attention and one for the feed-forward part of a layer, or a gathering and a scattered sum;
// beside them words, head, loss, and the gradients of norms that saw a part of the sequence.
TEST(ParallelTransformer, SendsWhatItMust) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto counts = [&](const ParallelizePlan& plan) {
      Transformer model;
      parallelize_module(model, mesh, plan);
      const auto guard = loss_parallel();
      const CommDebugMode counted;
      backward(model(batch_of(0, 0), positions(), batch_of(0, 1)));
      return counted.get_comm_counts();
    };
    using Counts = std::map<std::string, int64_t>;
    EXPECT_EQ(counts(tensor_plan()), (Counts{{"all_reduce", 1 + 4 * kLayers + 1 + 2}}));
    EXPECT_EQ(counts(sequence_plan()), (Counts{{"all_gather", 4 * kLayers + 1 + 2},
                                               {"reduce_scatter", 4 * kLayers + 1 + 2},
                                               {"all_reduce", 2 + 2 * (2 * kLayers + 1)}}));
  });
}

TEST(ParallelTransformer, Contexts) {
  on_one_device();
  for (const char* method : {"allgather", "alltoall"}) {
    for (const bool balanced : {true, false}) {
      testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
        experimental::set_rotate_method(method);
        experimental::set_load_balance(balanced);
        Transformer model;
        // Gradients are means over the ranks, of equally many tokens each.
        nn::parallel::DistributedDataParallel<TransformerImpl> ddp(model, {mesh.get_group()});
        const auto losses = train(ddp->parameters(), [&](Tensor tokens, Tensor next) {
          Tensor places = positions();
          const auto guard =
              experimental::context_parallel(mesh, {tokens, next, places}, {1, 1, 1}, {tokens, next, places});
          const Tensor mean = at::full({1}, backward(ddp(tokens, places, next)), at::kDouble);
          std::vector<Tensor> all{mean};
          mesh.get_group()->allreduce(all, {.reduceOp = c10d::ReduceOp::AVG})->wait();
          return mean.item<double>();
        });
        expect_as_on_one_device(losses, *model, std::string("context ") + method);
      });
    }
  }
}

// Over a mesh whose other dimension is data-parallel, in parts of the batch or, by context_parallel(), of the sequence.
void train_on_grid(const char* other, const ParallelizePlan& plan, int64_t steps) {
  const Trained& expected = on_one_device();
  const bool of_sequence = std::string(other) == "cp";
  testing::run_mesh({2, 2},
                    [&](const DeviceMesh& mesh) {
                      Transformer model;
                      parallelize_module(model, mesh["tp"], plan);
                      localize_parameters(model);
                      nn::parallel::DistributedDataParallel<TransformerImpl> ddp(model, {mesh.get_group(other)});
                      const auto loss_guard = loss_parallel();
                      const auto losses = train(
                          ddp->parameters(),
                          [&](Tensor tokens, Tensor next) {
                            Tensor places = positions();
                            std::optional<experimental::ContextParallel> guard;
                            if (of_sequence) {
                              const std::vector<Tensor> buffers{tokens, next, places};
                              guard.emplace(mesh[other], buffers, std::vector<int64_t>{1, 1, 1}, buffers);
                            } else {
                              const int64_t rows = kBatch / 2, first = mesh.get_local_rank(other) * rows;
                              tokens = tokens.narrow(0, first, rows);
                              next = next.narrow(0, first, rows);
                            }
                            std::vector<Tensor> mean{at::full({1}, backward(ddp(tokens, places, next)), at::kDouble)};
                            mesh.get_group(other)->allreduce(mean, {.reduceOp = c10d::ReduceOp::AVG})->wait();
                            return mean[0].item<double>();
                          },
                          steps);
                      for (size_t i = 0; i < losses.size(); ++i) {
                        ASSERT_NEAR(losses[i], expected.losses[i], 1e-9) << other << " and tensors, step " << i;
                      }
                      if (steps < kSteps) return;
                      for (const auto& item : model->named_parameters()) {
                        const Tensor part = item.value().detach();
                        Tensor whole = expected.parameters.at(item.key());
                        for (int64_t d = 0; d < part.dim(); ++d) {
                          if (part.size(d) == whole.size(d)) continue;
                          whole = whole.narrow(d, mesh.get_local_rank("tp") * part.size(d), part.size(d));
                        }
                        EXPECT_TRUE(at::allclose(part, whole, 1e-9, 1e-9)) << other << " and tensors, " << item.key();
                      }
                    },
                    {other, "tp"});
}

TEST(ParallelTransformer, DataAndTensors) {
  train_on_grid("dp", tensor_plan(), kSteps);
  train_on_grid("dp", sequence_plan(), 8);
}

TEST(ParallelTransformer, ContextsAndTensors) {
  train_on_grid("cp", tensor_plan(), kSteps);
}

// Each half of the batch on two ranks, of which each has half of the sequence: `backward_of` these.
std::vector<double> train_parts(const DeviceMesh& mesh, const std::vector<Tensor>& parameters,
                                const std::function<double(const Tensor&, const Tensor&, const Tensor&)>& backward_of) {
  return train(parameters, [&](const Tensor& all, const Tensor& all_next) {
    const int64_t rows = kBatch / 2, first = mesh.get_local_rank("dp") * rows;
    Tensor tokens = all.narrow(0, first, rows).clone(), next = all_next.narrow(0, first, rows).clone();
    Tensor places = positions();
    const std::vector<Tensor> buffers{tokens, next, places};
    const auto guard = experimental::context_parallel(mesh["cp"], buffers, {1, 1, 1}, buffers);
    std::vector<Tensor> mean{at::full({1}, backward_of(tokens, places, next), at::kDouble)};
    for (const char* dim : {"dp", "cp"}) {
      mesh.get_group(dim)->allreduce(mean, {.reduceOp = c10d::ReduceOp::AVG})->wait();
    }
    return mean[0].item<double>();
  });
}

// Parameters sharded over the parts of the sequence, and of the batch, or over the first alone.
TEST(ParallelTransformer, ContextsAndShards) {
  on_one_device();
  for (const char* method : {"allgather", "alltoall"}) {
    testing::run_mesh({2, 2},
                      [&](const DeviceMesh& mesh) {
                        experimental::set_rotate_method(method);
                        Transformer model;
                        for (int64_t i = 0; i < kLayers; ++i)
                          fsdp::fully_shard(model->layers->ptr(static_cast<size_t>(i)), {mesh});
                        fsdp::fully_shard(model, {mesh});
                        const auto losses =
                            train_parts(mesh, model->parameters(),
                                        [&](const Tensor& tokens, const Tensor& places, const Tensor& next) {
                                          return backward(model(tokens, places, next));
                                        });
                        expect_as_on_one_device(losses, *model, std::string("contexts and shards, ") + method);
                      },
                      {"dp", "cp"});
  }
}

TEST(ParallelTransformer, ContextsAndData) {
  on_one_device();
  const auto store = c10::make_intrusive<c10d::HashStore>();
  c10d::testing::run_ranks(4, [&](int rank) {
    c10d::init_process_group("gloo",
                             {.timeout = std::chrono::seconds(20), .world_size = 4, .rank = rank, .store = store});
    {
      const DeviceMesh mesh = init_device_mesh(at::kCPU, {2, 2}, {"dp", "cp"});
      Transformer model;
      nn::parallel::DistributedDataParallel<TransformerImpl> ddp(model, {c10d::get_default_group()});
      const auto losses =
          train_parts(mesh, ddp->parameters(), [&](const Tensor& tokens, const Tensor& places, const Tensor& next) {
            return backward(ddp(tokens, places, next));
          });
      expect_as_on_one_device(losses, *model, "contexts and data");
    }
    c10d::destroy_process_group();
  });
}

}  // namespace
}  // namespace torch::distributed::tensor::parallel
