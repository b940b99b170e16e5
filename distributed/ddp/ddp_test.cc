// DistributedDataParallel against one process that sees all of the batch.
#include "distributed/ddp/distributed_data_parallel.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "autograd/function/custom_function.h"
#include "c10/testing/message_of.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/layers.h"
#include "optim/adam.h"
#include "optim/sgd.h"

namespace c10d {
namespace {

using at::Tensor;
using c10::testing::message_of;
using testing::expect_equal;
using testing::expect_same_parameters;
using testing::fill;
using testing::Group;
using testing::numbers;
using torch::nn::parallel::DistributedDataParallel;
using torch::nn::parallel::DistributedDataParallelOptions;

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

// --- models: forward of the step, and which parameters there are ---

struct MlpImpl : torch::nn::Module {
  MlpImpl() {
    a = register_module("a", torch::nn::Linear(6, 16));
    b = register_module("b", torch::nn::Linear(16, 16));
    c = register_module("c", torch::nn::Linear(16, 3));
  }
  Tensor forward(const Tensor& x) { return c(at::tanh(b(at::relu(a(x))))); }
  torch::nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TORCH_MODULE(Mlp);

// One weight twice, one frozen, a number without a dimension, a parameter of other strides.
struct OddImpl : torch::nn::Module {
  OddImpl() {
    a = register_module("a", torch::nn::Linear(6, 6));
    b = register_module("b", torch::nn::Linear(6, 6));
    b->weight = b->replace_parameter("weight", a->weight);
    frozen = register_module("frozen", torch::nn::Linear(6, 6));
    frozen->requires_grad_(false);
    scale = register_parameter("scale", at::ones({}));
    across = register_parameter("across", at::zeros({3, 6}).t());
  }
  Tensor forward(const Tensor& x) { return at::matmul(at::sin(b(frozen(a(x))) * scale), across); }
  torch::nn::Linear a{nullptr}, b{nullptr}, frozen{nullptr};
  Tensor scale, across;
};
TORCH_MODULE(Odd);

// Parameters of several dtypes.
struct MixedImpl : torch::nn::Module {
  MixedImpl() {
    a = register_module("a", torch::nn::Linear(6, 8));
    b = register_module("b", torch::nn::Linear(8, 8));
    c = register_module("c", torch::nn::Linear(8, 3));
    b->to(at::kDouble);
    c->to(at::kBFloat16);
  }
  Tensor forward(const Tensor& x) { return at::to(c(at::to(b(at::to(a(x), at::kDouble)), at::kBFloat16)), at::kFloat); }
  torch::nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TORCH_MODULE(Mixed);

// Which branch is used depends on the input: rank 0 and rank 1 may differ; `never` is used by nobody.
struct BranchesImpl : torch::nn::Module {
  BranchesImpl() {
    never = register_module("never", torch::nn::Linear(6, 3));
    left = register_module("left", torch::nn::Linear(6, 3));
    right = register_module("right", torch::nn::Linear(6, 3));
    top = register_module("top", torch::nn::Linear(3, 3));
  }
  Tensor forward(const Tensor& x) { return top(at::tanh(x.sum().item<float>() > 0 ? left(x) : right(x))); }
  torch::nn::Linear never{nullptr}, left{nullptr}, right{nullptr}, top{nullptr};
};
TORCH_MODULE(Branches);

struct WordsImpl : torch::nn::Module {
  explicit WordsImpl(bool sparse) {
    words = register_module("words", torch::nn::Embedding(torch::nn::EmbeddingOptions(12, 5).sparse(sparse)));
    out = register_module("out", torch::nn::Linear(5, 3));
  }
  Tensor forward(const Tensor& x) { return out(words(at::to(at::abs(x * 11.9), at::kLong)).mean({1})); }
  torch::nn::Embedding words{nullptr};
  torch::nn::Linear out{nullptr};
};
TORCH_MODULE(Words);

Tensor batch(int step, int rank) {
  return numbers({5, 6}, 100 * step + rank);
}
Tensor targets(int step, int rank) {
  return numbers({5, 3}, 100 * step + 50 + rank);
}

std::unique_ptr<torch::optim::Optimizer> sgd(std::vector<Tensor> params) {
  return std::make_unique<torch::optim::SGD>(std::move(params), torch::optim::SGDOptions(0.1).momentum(0.9));
}
std::unique_ptr<torch::optim::Optimizer> plain_sgd(std::vector<Tensor> params) {
  return std::make_unique<torch::optim::SGD>(std::move(params), torch::optim::SGDOptions(0.1));
}
std::unique_ptr<torch::optim::Optimizer> adam(std::vector<Tensor> params) {
  return std::make_unique<torch::optim::Adam>(std::move(params), torch::optim::AdamOptions(0.01));
}
using MakeOptimizer = std::unique_ptr<torch::optim::Optimizer> (*)(std::vector<Tensor>);

struct Run {
  int ranks = 2;
  int steps = 4;
  int accumulated = 1;  // backward passes a step
  bool set_to_none = true;
  MakeOptimizer make_optimizer = sgd;
};

// The ranks' model after some steps, and gradients of the last, are those of one process that goes through the ranks'
// parts one after the other.
template <class MakeModel>
void expect_as_one_process(const Run& run, const MakeModel& make, const DistributedDataParallelOptions& options) {
  const double tolerance = run.ranks == 2 ? 0 : 2e-5;
  testing::run_group(run.ranks, [&](int rank, const Group& group) {
    auto model = make();
    fill(*model, 7 + rank);  // rank 0's counts
    auto of_rank = options;
    DistributedDataParallel ddp(model.ptr(), of_rank.process_group(group));
    auto twin = make();
    fill(*twin, 7);
    expect_same_parameters(*model, *twin, 0);
    auto optimizer = run.make_optimizer(ddp->parameters()), twins = run.make_optimizer(twin->parameters());
    for (int step = 0; step < run.steps; ++step) {
      optimizer->zero_grad(run.set_to_none);
      twins->zero_grad(run.set_to_none);
      for (int part = 0; part < run.accumulated; ++part) {
        const int number = step * run.accumulated + part;
        std::optional<torch::nn::parallel::DistributedDataParallelBase::NoSync> only_here;
        if (part + 1 < run.accumulated) only_here.emplace(ddp->no_sync());
        at::mse_loss(ddp(batch(number, rank)), targets(number, rank)).backward();
      }
      // One rank's part after the other, so that sums have the same order.
      std::vector<Tensor> sums;
      for (int of = 0; of < run.ranks; ++of) {
        auto part_of = make();
        {
          const c10::NoGradGuard no_grad;
          const auto from = twin->parameters(), to = part_of->parameters();
          for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
        }
        for (int part = 0; part < run.accumulated; ++part) {
          const int number = step * run.accumulated + part;
          at::mse_loss(part_of(batch(number, of)), targets(number, of)).backward();
        }
        const auto params = twin->parameters(), parts = part_of->parameters();
        for (size_t i = 0; i < params.size(); ++i) {
          if (!parts[i].grad().defined()) continue;
          const Tensor of_part = parts[i].grad();
          const Tensor grad = (of_part.is_sparse() ? of_part.coalesce() : of_part) / run.ranks;
          Tensor& sum = params[i].mutable_grad();
          sum = sum.defined() ? sum + grad : grad;
        }
      }
      expect_same_parameters(*model, *twin, tolerance, /*gradients=*/true);
      optimizer->step();
      twins->step();
      expect_same_parameters(*model, *twin, tolerance);
    }
  });
}

DistributedDataParallelOptions small_buckets(double mb = 0.0005) {
  return DistributedDataParallelOptions().bucket_cap_mb(mb);
}

TEST(DataParallel, EqualsOneProcess) {
  for (const MakeOptimizer optimizer : {sgd, adam}) {
    expect_as_one_process({.make_optimizer = optimizer}, [] { return Mlp(); }, {});
    expect_as_one_process(
        {.make_optimizer = optimizer}, [] { return Mlp(); }, small_buckets());
  }
  expect_as_one_process(
      {.ranks = 3}, [] { return Mlp(); }, small_buckets());
  expect_as_one_process(
      {.ranks = 1}, [] { return Mlp(); }, small_buckets());
}
TEST(DataParallel, SharedFrozenAndOddParameters) {
  expect_as_one_process(
      {}, [] { return Odd(); }, small_buckets(0.0001));
  expect_as_one_process({.make_optimizer = adam}, [] { return Odd(); }, {});
}
TEST(DataParallel, SeveralDtypes) {
  expect_as_one_process(
      {}, [] { return Mixed(); }, small_buckets());
}
TEST(DataParallel, SparseAndDenseEmbeddings) {
  expect_as_one_process({.make_optimizer = plain_sgd}, [] { return Words(false); }, {});
  expect_as_one_process({.make_optimizer = plain_sgd}, [] { return Words(true); }, {});
  expect_as_one_process({.ranks = 3, .make_optimizer = plain_sgd}, [] { return Words(true); }, {});
}
TEST(DataParallel, UnusedParameters) {
  for (const bool skip : {false, true}) {
    auto options = small_buckets(0.0001).find_unused_parameters(true);
    if (skip) options.skip_all_reduce_unused_params(false);
    expect_as_one_process(
        {.steps = 6}, [] { return Branches(); }, options);
    expect_as_one_process(
        {.ranks = 3, .steps = 6}, [] { return Branches(); }, options);
  }
}
TEST(DataParallel, AccumulatesBeforeItReduces) {
  expect_as_one_process(
      {.accumulated = 3}, [] { return Mlp(); }, small_buckets());
  expect_as_one_process(
      {.accumulated = 2, .set_to_none = false}, [] { return Mlp(); }, small_buckets());
  expect_as_one_process(
      {.accumulated = 2}, [] { return Branches(); }, small_buckets().find_unused_parameters(true));
}
TEST(DataParallel, GradientsApartFromBuckets) {
  expect_as_one_process(
      {.set_to_none = false}, [] { return Mlp(); }, small_buckets().gradient_as_bucket_view(false));
  expect_as_one_process(
      {.set_to_none = true}, [] { return Mlp(); }, small_buckets().gradient_as_bucket_view(false));
  expect_as_one_process(
      {.set_to_none = false}, [] { return Mlp(); }, small_buckets());
}
TEST(DataParallel, StaticGraph) {
  expect_as_one_process(
      {}, [] { return Mlp(); }, small_buckets().static_graph(true));
  expect_as_one_process(
      {.ranks = 3}, [] { return Odd(); }, small_buckets().static_graph(true));
}

// --- memory, order, overlap ---

TEST(DataParallel, GradientsLieInBuckets) {
  testing::run_group(2, [](int rank, const Group& group) {
    Mlp model;
    DistributedDataParallel ddp(model, {group});
    for (int step = 0; step < 2; ++step) {
      at::mse_loss(ddp(batch(0, rank)), targets(0, rank)).backward();
      for (const Tensor& p : ddp->parameters()) EXPECT_TRUE(p.grad().is_alias_of(model->a->weight.grad()));
    }
    EXPECT_FALSE(model->a->weight.grad().is_view());
  });
}

// What happens when, on one rank.
struct Events {
  void add(std::string event) {
    const std::lock_guard<std::mutex> lock(mutex);
    list.push_back(std::move(event));
  }
  size_t place(const std::string& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    return static_cast<size_t>(std::find(list.begin(), list.end(), event) - list.begin());
  }
  std::mutex mutex;
  std::vector<std::string> list;
};

class RecordingHook : public CppCommHookInterface<Events*> {
 public:
  RecordingHook(Events* events, Group group) : CppCommHookInterface(events), all_reduce_(group) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override {
    const std::string number = std::to_string(bucket.getIndex());
    state_->add("start " + number);
    return all_reduce_.runHook(bucket)->then(
        [events = state_, number](c10::ivalue::Future& future) {
          events->add("end " + number);
          return future.value();
        },
        c10::AnyType::get());
  }

 private:
  AllReduceCommHook all_reduce_;
};

// The last layers' gradients travel while those of the first are computed.
TEST(DataParallel, CommunicatesDuringBackward) {
  testing::run_group(2, [](int rank, const Group& group) {
    Mlp model;
    Events events;
    DistributedDataParallel ddp(model, small_buckets(0.00001).process_group(group));
    ddp->register_comm_hook(std::make_unique<RecordingHook>(&events, group));
    model->a->weight.register_hook([&](const Tensor& grad) {
      // Bucket 0 is on its way, and may even come back, before this gradient is there.
      EXPECT_LT(events.place("start 0"), events.list.size());
      for (int i = 0; i < 2000 && events.place("end 0") == events.list.size(); ++i) ::usleep(1000);
      events.add("gradient of the first layer");
      return grad;
    });
    at::mse_loss(ddp(batch(0, rank)), targets(0, rank)).backward();
    EXPECT_LT(events.place("end 0"), events.place("gradient of the first layer"));
    const auto buckets = ddp->logger()->get_per_bucket_variable_indices();
    EXPECT_EQ(buckets.size(), 6u);
    for (size_t i = 1; i < buckets.size(); ++i) {
      EXPECT_LT(events.place("start " + std::to_string(i - 1)), events.place("start " + std::to_string(i)));
    }
    EXPECT_LT(events.place("gradient of the first layer"), events.place("start 5"));
  });
}

// Registered in another order than used; which of two equal branches comes first differs between the ranks.
struct ReorderedImpl : torch::nn::Module {
  ReorderedImpl() {
    last = register_module("last", torch::nn::Linear(6, 3));
    first = register_module("first", torch::nn::Linear(6, 6));
  }
  Tensor forward(const Tensor& x) { return last(first(x)); }
  torch::nn::Linear last{nullptr}, first{nullptr};
};
TORCH_MODULE(Reordered);

TEST(DataParallel, BucketsTakeTheOrderOfArrival) {
  testing::run_group(2, [](int rank, const Group& group) {
    Reordered model;
    DistributedDataParallel ddp(model, small_buckets(0.00001).process_group(group));
    using Buckets = std::vector<std::vector<size_t>>;
    const auto buckets = [&] { return ddp->logger()->get_per_bucket_variable_indices(); };
    EXPECT_EQ(buckets(), (Buckets{{3}, {2}, {1}, {0}}));
    for (int step = 0; step < 3; ++step) at::mse_loss(ddp(batch(step, rank)), targets(step, rank)).backward();
    const Buckets now = buckets();
    EXPECT_EQ((std::set<size_t>{now[0][0], now[1][0]}), (std::set<size_t>{0, 1}));
    EXPECT_EQ(ddp->get_ddp_logging_data().ints_map["has_rebuilt_buckets"], 1);
  });
  expect_as_one_process(
      {}, [] { return Reordered(); }, small_buckets(0.00001));
}

TEST(DataParallel, BucketsAreFilledFromTheEnd) {
  const auto sizes = [](const std::vector<Tensor>& tensors, std::vector<size_t> limits, std::vector<bool> sparse = {},
                        std::vector<int64_t> indices = {}) {
    return std::get<0>(compute_bucket_assignment_by_size(tensors, limits, sparse, indices));
  };
  using Buckets = std::vector<std::vector<size_t>>;
  const auto f = [](int64_t n) { return at::zeros({n}); };
  const auto d = [](int64_t n) { return at::zeros({n}, at::kDouble); };
  EXPECT_EQ(sizes({f(25), f(25), f(25), f(25)}, {100}), (Buckets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(sizes({f(25), f(25), f(25), f(25)}, {100, 200}), (Buckets{{0}, {1, 2}, {3}}));
  EXPECT_EQ(sizes({f(10), d(10), f(10), d(10)}, {1000}), (Buckets{{0, 2}, {1, 3}}));
  EXPECT_EQ(sizes({f(10), f(10), f(10)}, {1000}, {false, true, false}), (Buckets{{0, 2}, {1}}));
  EXPECT_EQ(sizes({f(25), d(1), f(25)}, {1000}, {}, {2, 1, 0}), (Buckets{{1}, {2, 0}}));
  EXPECT_EQ(std::get<1>(compute_bucket_assignment_by_size({f(25), f(25), f(25)}, {100, 150})),
            (std::vector<size_t>{100, 150}));
  expect_contains(message_of([&] { sizes({f(1)}, {}); }), "expected one limit or more in bucket_size");
  expect_contains(message_of([&] { sizes({f(1)}, {1}, {true, false}); }), "2 entries for 1 tensors");
}

TEST(DataParallel, BroadcastsTensorsTogether) {
  testing::run_group(3, [](int rank, const Group& group) {
    std::vector<Tensor> tensors, expected;
    for (int i = 0; i < 9; ++i) {
      const auto dtype = i % 3 == 0 ? at::kDouble : at::kFloat;
      tensors.push_back(numbers({4, 1 + i}, 10 * i + rank, dtype));
      if (i == 4) tensors.back() = tensors.back().t();
      expected.push_back(numbers({4, 1 + i}, 10 * i + 2, dtype));
      if (i == 4) expected.back() = expected.back().t();
    }
    broadcast_coalesced(group, tensors, 100, 2);
    for (int i = 0; i < 9; ++i) expect_equal(tensors[i], expected[i], 0, "tensor " + std::to_string(i));
    EXPECT_THROW(broadcast_coalesced(group, tensors, 100, 3), c10::Error);
  });
}

// --- buffers and states ---

struct NormedImpl : torch::nn::Module {
  NormedImpl() {
    a = register_module("a", torch::nn::Linear(6, 3));
    bn = register_module("bn", torch::nn::BatchNorm1d(3));
  }
  Tensor forward(const Tensor& x) { return bn(a(x)); }
  torch::nn::Linear a{nullptr};
  torch::nn::BatchNorm1d bn{nullptr};
};
TORCH_MODULE(Normed);

TEST(DataParallel, BuffersAreThoseOfRank0) {
  for (const bool broadcasts : {true, false}) {
    testing::run_group(2, [&](int rank, const Group& group) {
      Normed model;
      fill(*model, rank);
      DistributedDataParallel ddp(model, DistributedDataParallelOptions(group).broadcast_buffers(broadcasts));
      Normed twin;
      fill(*twin, 0);
      for (int step = 0; step < 3; ++step) {
        at::mse_loss(ddp(batch(step, rank)), targets(step, rank)).backward();
        twin(batch(step, 0));  // parameters are not stepped
      }
      if (rank == 0) expect_equal(model->bn->running_mean, twin->bn->running_mean, 0, "running_mean");
      std::vector<Tensor> sum{model->bn->running_mean.clone()};
      group->allreduce(sum)->wait();
      // After the last forward the ranks' own last batch is in it: one step apart from rank 0's.
      ddp->eval();
      ddp(batch(9, 0));
      sum = {model->bn->running_mean.clone()};
      group->allreduce(sum)->wait();
      if (broadcasts) expect_equal(sum[0], model->bn->running_mean * 2, 0, "the ranks' running_mean");
      if (!broadcasts) EXPECT_FALSE(at::allclose(sum[0], model->bn->running_mean * 2));
    });
  }
}

TEST(DataParallel, StatesWithAndWithoutPrefix) {
  testing::run_group(2, [](int rank, const Group& group) {
    Normed model;
    DistributedDataParallel ddp(model, {group});
    DistributedDataParallel with(Normed().ptr(), DistributedDataParallelOptions(group).state_dict_prefix(true));
    const auto plain = ddp->state_dict(), prefixed = with->state_dict();
    EXPECT_EQ(plain.keys(), model->state_dict().keys());
    EXPECT_EQ(prefixed.keys()[0], "module.a.weight");
    for (const std::string& name : model->state_dict().versions.keys())
      EXPECT_TRUE(plain.versions.contains(name)) << name;
    ddp->load_state_dict(prefixed);
    expect_equal(model->a->weight, with->module->a->weight, 0, "loaded");
    fill(*model, 3);
    with->load_state_dict(ddp->state_dict());
    expect_equal(model->a->weight, with->module->a->weight, 0, "loaded");
    Normed bare;
    bare->load_state_dict(ddp->state_dict());
    expect_equal(model->a->weight, bare->a->weight, 0, "loaded");
    EXPECT_EQ(ddp->named_parameters().keys()[0], "module.a.weight");
    const auto data = ddp->get_ddp_logging_data();
    EXPECT_EQ(data.ints_map.at("world_size"), 2);
    EXPECT_EQ(data.ints_map.at("rank"), rank);
    EXPECT_EQ(data.ints_map.at("num_parameter_tensors"), 4);
    EXPECT_EQ(data.strs_map.at("dtypes"), "Float");
  });
}

// --- unused parameters ---

TEST(DataParallel, AParameterThatNobodyUsedKeepsItsGradient) {
  testing::run_group(3, [](int rank, const Group& group) {
    Branches model;
    fill(*model, 0);
    DistributedDataParallel ddp(model, small_buckets().process_group(group).find_unused_parameters(true));
    const Tensor positive = at::full({2, 6}, 1.0f), negative = at::full({2, 6}, -1.0f);
    ddp(positive).sum().backward();
    EXPECT_FALSE(model->never->weight.grad().defined());
    EXPECT_FALSE(model->right->weight.grad().defined());
    const Tensor left = model->left->weight.grad().clone();
    // In its bucket, and to stay bit for bit.
    ddp(negative).sum().backward();
    expect_equal(model->left->weight.grad(), left, 0, "left");
    EXPECT_TRUE(model->right->weight.grad().defined());
    // Used on one rank only: its part of the mean.
    ddp->zero_grad();
    ddp(rank == 1 ? positive : negative).sum().backward();
    expect_equal(model->left->weight.grad() * 3, left, 1e-6, "left");
  });
}

TEST(DataParallel, SkipsBucketsThatNobodyUses) {
  testing::run_group(2, [](int rank, const Group& group) {
    Branches model;
    Events events;
    DistributedDataParallel ddp(
        model,
        small_buckets(0.00001).process_group(group).find_unused_parameters(true).skip_all_reduce_unused_params(true));
    ddp->register_comm_hook(std::make_unique<RecordingHook>(&events, group));
    ddp(at::full({2, 6}, 1.0f + static_cast<float>(rank))).sum().backward();
    EXPECT_EQ(std::count_if(events.list.begin(), events.list.end(), [](const std::string& e) { return e[0] == 's'; }),
              4);
    EXPECT_TRUE(model->left->weight.grad().defined());
    EXPECT_FALSE(model->right->weight.grad().defined());
  });
}

TEST(DataParallel, UnusedParametersOfAStaticGraph) {
  testing::run_group(2, [](int rank, const Group& group) {
    Branches model, twin;
    fill(*model, 0);
    fill(*twin, 0);
    DistributedDataParallel ddp(model, small_buckets().process_group(group).static_graph(true));
    for (int step = 0; step < 3; ++step) {
      ddp->zero_grad();
      twin->zero_grad();
      ddp(at::full({2, 6}, 1.0f + static_cast<float>(rank))).sum().backward();
      for (const int of : {0, 1}) (twin(at::full({2, 6}, 1.0f + static_cast<float>(of))).sum() / 2).backward();
      expect_same_parameters(*model, *twin, 0, true);
    }
  });
}

// A function that says nothing about its argument's gradient.
struct Silent : torch::autograd::Function<Silent> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list) {
    return {Tensor()};
  }
};
struct QuietImpl : torch::nn::Module {
  QuietImpl() {
    quiet = register_parameter("quiet", at::ones({6}));
    loud = register_parameter("loud", at::ones({6}));
  }
  Tensor forward(const Tensor& x) { return x * loud + Silent::apply(quiet); }
  Tensor quiet, loud;
};
TORCH_MODULE(Quiet);

TEST(DataParallel, AGradientThatIsUndefinedIsZero) {
  testing::run_group(2, [](int rank, const Group& group) {
    Quiet model;
    DistributedDataParallel ddp(model, {group});
    for (int step = 0; step < 2; ++step) {
      ddp->zero_grad();
      ddp(batch(0, rank)).sum().backward();
      EXPECT_TRUE(model->loud.grad().defined());
      EXPECT_TRUE(at::equal(model->quiet.grad(), at::zeros({6})));
    }
  });
}

// --- checkpoints, several outputs, outputs of other types ---

struct CheckpointedImpl : torch::nn::Module {
  explicit CheckpointedImpl(bool reentrant, int times) : reentrant(reentrant), times(times) {
    a = register_module("a", torch::nn::Linear(6, 6));
    b = register_module("b", torch::nn::Linear(6, 6));
    c = register_module("c", torch::nn::Linear(6, 3));
  }
  Tensor forward(const Tensor& x) {
    Tensor y = a(x);
    for (int i = 0; i < times; ++i) {
      y = torch::utils::checkpoint::checkpoint([this](const Tensor& t) { return at::tanh(b(t)); }, y,
                                               torch::utils::checkpoint::CheckpointOptions().use_reentrant(reentrant));
    }
    return c(y);
  }
  torch::nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
  bool reentrant;
  int times;
};
TORCH_MODULE(Checkpointed);

TEST(DataParallel, Checkpoints) {
  expect_as_one_process(
      {}, [] { return Checkpointed(false, 2); }, small_buckets(0.0001));
  expect_as_one_process(
      {}, [] { return Checkpointed(true, 1); }, small_buckets(0.0001));
  expect_as_one_process(
      {}, [] { return Checkpointed(true, 1); }, small_buckets(0.0001).static_graph(true));
  expect_as_one_process(
      {}, [] { return Checkpointed(true, 3); }, small_buckets(0.0001).static_graph(true));
}

TEST(DataParallel, ReentrantCheckpointsOfSharedParametersNeedAStaticGraph) {
  const auto errors = testing::errors_of_group(2, [](int rank, const Group& group) {
    DistributedDataParallel ddp(Checkpointed(true, 2).ptr(), {group});
    at::mse_loss(ddp(batch(0, rank)), targets(0, rank)).backward();
  });
  for (const std::string& error : errors) {
    expect_contains(error, "Expected to mark a variable ready only once. Parameter at index ");
    expect_contains(error, " with name b.");
  }
}

struct TwoOutputsImpl : torch::nn::Module {
  TwoOutputsImpl() {
    a = register_module("a", torch::nn::Linear(6, 3));
    b = register_module("b", torch::nn::Linear(6, 3));
    unused = register_module("unused", torch::nn::Linear(6, 3));
  }
  std::pair<Tensor, std::vector<Tensor>> forward(const Tensor& x) { return {a(x), {b(x)}}; }
  torch::nn::Linear a{nullptr}, b{nullptr}, unused{nullptr};
};
TORCH_MODULE(TwoOutputs);

TEST(DataParallel, SeveralOutputsAndBackwardPasses) {
  testing::run_group(2, [](int rank, const Group& group) {
    TwoOutputs model;
    DistributedDataParallel ddp(model, DistributedDataParallelOptions(group).find_unused_parameters(true));
    for (int step = 0; step < 2; ++step) {
      auto [first, rest] = ddp(batch(0, rank));
      first.sum().backward();
      rest[0].sum().backward();
      EXPECT_TRUE(model->b->weight.grad().defined());
      EXPECT_FALSE(model->unused->weight.grad().defined());
    }
  });
}

}  // namespace
}  // namespace c10d
