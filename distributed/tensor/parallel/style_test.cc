#include "distributed/tensor/parallel/style.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/distribute_module.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"
#include "nn/nn.h"

namespace torch::distributed::tensor::parallel {
namespace {

using at::Tensor;
using c10::testing::message_of;

Tensor sample(at::IntArrayRef sizes, double first = 1) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).mul(1.7).add(first)).view(sizes);
}

// The same numbers wherever the module is made.
template <class M>
M filled(M module) {
  module->to(at::kDouble);
  const c10::NoGradGuard no_grad;
  double first = 0;
  for (Tensor& p : module->parameters()) p.copy_(sample(p.sizes(), first += 3));
  return module;
}

Tensor whole(const Tensor& t) {
  return DTensor::is(t) ? DTensor(t.detach()).full_tensor() : t.detach();
}

void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(at::allclose(whole(actual), expected.detach(), 1e-12, 1e-12)) << what;
}

void expect_same_gradients(const nn::Module& parallel, const nn::Module& plain) {
  const auto expected = plain.named_parameters();
  for (const auto& item : parallel.named_parameters()) {
    expect_near(item.value().grad(), expected[item.key()].grad(), item.key());
  }
}

struct MlpImpl : nn::Module {
  MlpImpl() {
    up = register_module("up", nn::Linear(4, 8));
    down = register_module("down", nn::Linear(8, 4));
  }
  Tensor forward(const Tensor& x) { return down(at::gelu(up(x))); }
  nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(Mlp);

TEST(ParallelStyle, FeedForwardByColumnsAndRows) {
  const Tensor x = sample({2, 3, 4}, 50), weights = sample({2, 3, 4}, 90);
  Mlp plain = filled(Mlp());
  Tensor plain_x = x.clone().requires_grad_();
  const Tensor expected = plain(plain_x);
  at::sum(expected * weights).backward();
  for (const int64_t ranks : {2, 4, 3}) {  // three: parts of unequal sizes, as DTensors
    testing::run_mesh({ranks}, [&](const DeviceMesh& mesh) {
      SCOPED_TRACE(ranks);
      Mlp mlp = filled(Mlp());
      const bool local = ranks != 3;
      parallelize_module(mlp, mesh,
                         {{"up", ColwiseParallel({.use_local_output = local})}, {"down", RowwiseParallel()}});
      EXPECT_EQ(DTensor(mlp->up->weight).placements(), (std::vector<Placement>{Shard(0)}));
      EXPECT_EQ(DTensor(mlp->up->bias).placements(), (std::vector<Placement>{Shard(0)}));
      EXPECT_EQ(DTensor(mlp->down->weight).placements(), (std::vector<Placement>{Shard(1)}));
      EXPECT_EQ(DTensor(mlp->down->bias).placements(), (std::vector<Placement>{Replicate()}));
      EXPECT_TRUE(mlp->named_parameters()["up.weight"].is_same(mlp->up->weight));
      EXPECT_TRUE(mlp->up->weight.is_leaf() && mlp->up->weight.requires_grad());
      Tensor input = x.clone().requires_grad_();
      const CommDebugMode counted;
      const Tensor y = mlp(input);
      EXPECT_EQ(counted.get_total_counts(), 1);
      EXPECT_EQ(counted.get_comm_counts().at("all_reduce"), 1);
      EXPECT_FALSE(DTensor::is(y));
      expect_near(y, expected, "result");
      at::sum(y * weights).backward();
      EXPECT_EQ(counted.get_comm_counts().at("all_reduce"), 2);
      expect_near(input.grad(), plain_x.grad(), "gradient of the argument");
      expect_same_gradients(*mlp, *plain);
    });
  }
}

// Queries, keys and values of one layer.
struct FusedImpl : nn::Module {
  FusedImpl() {
    qkv = register_module("qkv", nn::Linear(8, 24));
    out = register_module("out", nn::Linear(8, 8));
  }
  // With heads that are counted, and with as many as there are.
  Tensor forward(const Tensor& x, int64_t heads) {
    std::vector<Tensor> parts = qkv(x).chunk(3, -1);
    for (Tensor& part : parts) part = part.view({2, 6, heads, 2}).transpose(1, 2);
    const Tensor y = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0, true);
    return out(y.transpose(1, 2).reshape({2, 6, heads * 2}));
  }
  nn::Linear qkv{nullptr}, out{nullptr};
};
TORCH_MODULE(Fused);

TEST(ParallelStyle, LayersSideBySide) {
  const Tensor x = sample({2, 6, 8}, 50), weights = sample({2, 6, 8}, 90);
  Fused plain = filled(Fused());
  const Tensor expected = plain(x, 4);
  at::sum(expected * weights).backward();
  for (const bool local : {false, true}) {
    testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
      Fused fused = filled(Fused());
      parallelize_module(fused, mesh,
                         {{"qkv", ColwiseParallel({.use_local_output = local}, 3)}, {"out", RowwiseParallel()}});
      const CommDebugMode counted;
      const Tensor y = fused(x, local ? 2 : 4);
      expect_near(y, expected, "result");
      at::sum(y * weights).backward();
      EXPECT_EQ(counted.get_total_counts(), 1);
      expect_same_gradients(*fused, *plain);
    });
  }
  EXPECT_THROW(ColwiseParallel({}, 0), c10::ValueError);
}

struct TablesImpl : nn::Module {
  TablesImpl() {
    rows = register_module("rows", nn::Embedding(7, 4));
    columns = register_module("columns", nn::Embedding(7, 4));
  }
  Tensor forward(const Tensor& words) { return at::cat({rows(words), columns(words)}, -1); }
  nn::Embedding rows{nullptr}, columns{nullptr};
};
TORCH_MODULE(Tables);

TEST(ParallelStyle, TablesByRowsAndColumns) {
  const Tensor words = at::arange(6).mul(5).remainder(7).view({2, 3}), weights = sample({2, 3, 8});
  Tables plain = filled(Tables());
  const Tensor expected = plain(words);
  at::sum(expected * weights).backward();
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    Tables tables = filled(Tables());
    parallelize_module(tables, mesh,
                       {{"rows", RowwiseParallel()}, {"columns", ColwiseParallel({.output_layouts = Replicate()})}});
    EXPECT_EQ(DTensor(tables->rows->weight).placements()[0], Shard(0));
    EXPECT_EQ(DTensor(tables->columns->weight).placements()[0], Shard(1));
    const Tensor found = tables(words);
    expect_near(found, expected, "rows");
    at::sum(found * weights).backward();
    expect_same_gradients(*tables, *plain);
    // Each rank keeps the gradient of what it has.
    EXPECT_EQ(DTensor(tables->rows->weight.grad()).placements()[0], Shard(0));
    EXPECT_EQ(DTensor(tables->columns->weight.grad()).placements()[0], Shard(1));
  });
}

// Norms and dropout over parts of a sequence, between layers that need all of it.
struct BlockImpl : nn::Module {
  BlockImpl() {
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({4})));
    square_norm = register_module("square_norm", nn::RMSNorm(nn::RMSNormOptions({4})));
    dropout = register_module("dropout", nn::Dropout(0.0));
    mlp = register_module("mlp", Mlp());
  }
  Tensor forward(const Tensor& x) { return dropout(mlp(square_norm(norm(x)))) + x; }
  nn::LayerNorm norm{nullptr};
  nn::RMSNorm square_norm{nullptr};
  nn::Dropout dropout{nullptr};
  Mlp mlp{nullptr};
};
TORCH_MODULE(Block);

TEST(ParallelStyle, SequencesOfWhichEachRankHasAPart) {
  const Tensor x = sample({2, 6, 4}, 50), weights = sample({2, 6, 4}, 90);
  Block plain = filled(Block());
  Tensor plain_x = x.clone().requires_grad_();
  const Tensor expected = plain(plain_x);
  at::sum(expected * weights).backward();
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    Block block = filled(Block());
    parallelize_module(block, mesh,
                       {{"*norm", SequenceParallel()},
                        {"mlp.up", ColwiseParallel({.input_layouts = Shard(1)})},
                        {"mlp.down", RowwiseParallel({.output_layouts = Shard(1)})},
                        {"dropout", SequenceParallel(1, /*use_local_output=*/true)}});
    const int64_t first = mesh.get_local_rank() * 3;
    Tensor part = x.narrow(1, first, 3).clone().requires_grad_();
    const CommDebugMode counted;
    const Tensor y = block(part);
    EXPECT_EQ(counted.get_comm_counts().at("all_gather"), 1);
    EXPECT_EQ(counted.get_comm_counts().at("reduce_scatter"), 1);
    EXPECT_EQ(counted.get_total_counts(), 2);
    expect_near(y, expected.narrow(1, first, 3), "result");
    at::sum(y * weights.narrow(1, first, 3)).backward();
    expect_near(part.grad(), plain_x.grad().narrow(1, first, 3), "gradient of the argument");
    expect_same_gradients(*block, *plain);
    EXPECT_EQ(DTensor(block->norm->weight.grad()).placements()[0], Replicate());
    // A DTensor that lies otherwise is redistributed.
    const Tensor whole_x = distribute_tensor(x, mesh, {Replicate()});
    EXPECT_EQ(DTensor(block->norm(whole_x)).placements()[0], Shard(1));
  });
}

struct PairImpl : nn::Module {
  std::pair<Tensor, Tensor> forward(const Tensor& a, double factor, const Tensor& b) {
    seen = {a, b};
    return {a * factor, b * factor};
  }
  std::vector<Tensor> seen;
};
TORCH_MODULE(Pair);

TEST(ParallelStyle, ArgumentsAndResultsThatAreConverted) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor part = sample({2, 4}, static_cast<double>(mesh.get_rank()) * 8), other = at::ones({2}, at::kDouble);
    Pair in;
    parallelize_module(
        in, mesh,
        PrepareModuleInput({Shard(0), std::nullopt, std::nullopt}, {Replicate(), std::nullopt, std::nullopt}));
    in(part, 2.0, other);
    EXPECT_EQ(DTensor(in->seen[0]).placements()[0], Replicate());
    EXPECT_EQ(in->seen[0].sizes(), at::IntArrayRef({4, 4}));
    EXPECT_FALSE(DTensor::is(in->seen[1]));

    Pair local;
    parallelize_module(
        local, mesh,
        PrepareModuleInput({Shard(0), std::nullopt, std::nullopt}, {Shard(1), std::nullopt, std::nullopt}, true));
    local(part, 2.0, other);
    EXPECT_FALSE(DTensor::is(local->seen[0]));
    EXPECT_EQ(local->seen[0].sizes(), at::IntArrayRef({4, 2}));

    Pair out;
    parallelize_module(out, mesh, PrepareModuleOutput({Shard(0), std::nullopt}, {Replicate(), std::nullopt}));
    EXPECT_EQ(out(part, 2.0, other).first.sizes(), at::IntArrayRef({4, 4}));

    Pair both;
    parallelize_module(
        both, mesh,
        PrepareModuleInputOutput({Shard(0), std::nullopt, std::nullopt}, {Replicate(), std::nullopt, std::nullopt},
                                 {Replicate(), std::nullopt}, {Shard(1), std::nullopt}));
    EXPECT_EQ(both(part, 2.0, other).first.sizes(), at::IntArrayRef({4, 2}));

    EXPECT_THROW(PrepareModuleInput({Shard(0)}, {}), c10::ValueError);
    Pair few;
    parallelize_module(few, mesh, PrepareModuleInput({Shard(0)}, {Replicate()}));
    EXPECT_THROW(few(part, 2.0, other), c10::ValueError);
  });
}

struct OwnStyle : ParallelStyle {
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override {
    distribute_parameter(module, "weight", mesh, {Shard(1)}, src_data_rank);
  }
};

// A class that does not say where its parameter is.
struct SecretiveImpl : nn::Module {
  SecretiveImpl() { weight = register_parameter("weight", at::ones({4})); }
  Tensor forward(const Tensor& x) { return x * weight; }
  Tensor weight;
};
TORCH_MODULE(Secretive);

TEST(ParallelizeModule, FindsModulesByPatterns) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    nn::ModuleList layers;
    for (int i = 0; i < 3; ++i) layers->push_back(filled(Block()));
    parallelize_module(layers, mesh, {{"[01].mlp.up", ColwiseParallel()}, {"2.m?p.*", OwnStyle()}});
    const auto of = [&](size_t i) { return layers->ptr<BlockImpl>(i)->mlp; };
    EXPECT_TRUE(DTensor::is(of(0)->up->weight) && DTensor::is(of(1)->up->weight));
    EXPECT_FALSE(DTensor::is(of(0)->down->weight));
    EXPECT_EQ(DTensor(of(2)->up->weight).placements()[0], Shard(1));
    EXPECT_EQ(DTensor(of(2)->down->weight).placements()[0], Shard(1));
    // The module itself.
    nn::Linear alone(4, 4);
    parallelize_module(alone, mesh, RowwiseParallel());
    EXPECT_EQ(DTensor(alone->weight).placements()[0], Shard(1));
  });
}

TEST(ParallelizeModule, TakesTheFirstRanksParameters) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    for (const bool own : {false, true}) {
      nn::Linear linear(2, 2);
      const c10::NoGradGuard no_grad;
      linear->weight.fill_(static_cast<double>(mesh.get_rank()));
      linear->bias.zero_();
      parallelize_module(linear, mesh, ColwiseParallel(), own ? std::nullopt : std::optional<int64_t>(0));
      EXPECT_EQ(whole(linear->weight)[1][0].item<double>(), own ? 1 : 0);
    }
  });
}

TEST(ParallelizeModule, SharedParametersStayShared) {
  struct TiedImpl : nn::Module {
    TiedImpl() {
      words = register_module("words", nn::Embedding(6, 4));
      head = register_module("head", nn::Linear(nn::LinearOptions(4, 6).bias(false)));
      head->weight = head->replace_parameter("weight", words->weight);
    }
    nn::Embedding words{nullptr};
    nn::Linear head{nullptr};
  };
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    TiedImpl both;
    parallelize_module(both, mesh, {{"words", RowwiseParallel()}, {"head", ColwiseParallel()}});
    EXPECT_TRUE(both.words->weight.is_same(both.head->weight));
    EXPECT_EQ(both.parameters().size(), 1);
    TiedImpl one;
    parallelize_module(one, mesh, {{"words", RowwiseParallel()}});
    EXPECT_TRUE(one.head->weight.is_same(one.words->weight) && DTensor::is(one.head->weight));
    TiedImpl contrary;
    EXPECT_THROW(parallelize_module(contrary, mesh, {{"words", ColwiseParallel()}, {"head", ColwiseParallel()}}),
                 c10::ValueError);
    EXPECT_FALSE(DTensor::is(contrary.words->weight));  // nothing was touched
  });
}

// A module in two places is made parallel once.
TEST(ParallelizeModule, SharedModules) {
  struct TwiceImpl : nn::Module {
    TwiceImpl() {
      a = register_module("a", nn::Linear(2, 4));
      register_module("b", a);
    }
    nn::Linear a{nullptr};
  };
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    struct Counting : ParallelStyle {
      explicit Counting(int& calls) : count(&calls) {}
      void apply(nn::Module&, const DeviceMesh&, std::optional<int64_t>) const override { ++*count; }
      int* count;
    };
    TwiceImpl twice;
    int count = 0;
    parallelize_module(twice, mesh, {{"*", Counting(count)}, {"b", Counting(count)}});
    EXPECT_EQ(count, 2);  // once for each entry of the plan
  });
}

TEST(ParallelizeModule, Errors) {
  testing::run_mesh({2, 1},
                    [](const DeviceMesh& mesh) {
                      const Mlp mlp = filled(Mlp());
                      EXPECT_NE(message_of([&] {
                                  parallelize_module(mlp, mesh, {{"up", ColwiseParallel()}});
                                }).find("mesh[\"tp\"]"),
                                std::string::npos);
                      const std::string nothing = message_of([&] {
                        parallelize_module(mlp, mesh["tp"], {{"up", ColwiseParallel()}, {"layers.*", OwnStyle()}});
                      });
                      EXPECT_NE(nothing.find("no module of Mlp has the path 'layers.*'"), std::string::npos) << nothing;
                      const std::string unfit = message_of([&] {
                        parallelize_module(mlp, mesh["tp"], {{"up", ColwiseParallel()}, {"", RowwiseParallel()}});
                      });
                      EXPECT_NE(unfit.find("RowwiseParallel is for Linear and Embedding"), std::string::npos) << unfit;
                      EXPECT_THROW(
                          parallelize_module(mlp, mesh["tp"], {{"up", std::shared_ptr<const ParallelStyle>()}}),
                          c10::ValueError);
                      EXPECT_FALSE(DTensor::is(mlp->up->weight));  // nothing was touched
                      parallelize_module(mlp, mesh["tp"], {{"up", std::make_shared<const ColwiseParallel>()}});
                      EXPECT_TRUE(DTensor::is(mlp->up->weight));
                      const std::string secretive =
                          message_of([&] { parallelize_module(Secretive(), mesh["tp"], SequenceParallel()); });
                      EXPECT_NE(secretive.find("Secretive"), std::string::npos) << secretive;
                      EXPECT_NE(secretive.find("TORCH_MODULE_TENSORS(weight"), std::string::npos) << secretive;
                    },
                    {"tp", "other"});
}

TEST(DistributeModule, PartitionsAndConverts) {
  const Tensor x = sample({6, 4}, 50);
  Mlp plain = filled(Mlp());
  const Tensor expected = plain(x);
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    Mlp mlp = filled(Mlp());
    std::vector<std::string> paths;
    distribute_module(
        mlp, mesh,
        [&](const std::string& path, nn::Module& module, const DeviceMesh& over) {
          paths.push_back(path);
          if (path == "up") distribute_parameter(module, "weight", over, {Shard(0)});
        },
        [](nn::Module&, const std::vector<Tensor>& inputs, const DeviceMesh& over) {
          return std::vector<Tensor>{distribute_tensor(inputs[0], over, {Shard(0)})};
        },
        [](nn::Module&, const std::vector<Tensor>& outputs, const DeviceMesh&) {
          return std::vector<Tensor>{DTensor(outputs[0]).full_tensor()};
        });
    EXPECT_EQ(paths, (std::vector<std::string>{"", "up", "down"}));
    EXPECT_EQ(DTensor(mlp->up->weight).placements()[0], Shard(0));
    EXPECT_EQ(DTensor(mlp->down->weight).placements()[0], Replicate());
    expect_near(mlp(x), expected, "result");
    EXPECT_THROW(distribute_module(mlp, mesh), c10::Error);
    EXPECT_THROW(distribute_module(Secretive(), mesh), c10::Error);
    EXPECT_THROW(distribute_parameter(plain, "no_such", mesh, {Shard(0)}), c10::ValueError);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor::parallel
