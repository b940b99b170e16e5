// Gradients through calls of other workers, against one process.
#include "distributed/rpc/autograd.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "distributed/rpc/autograd_context.h"
#include "distributed/rpc/optimizer.h"
#include "distributed/rpc/remote_module.h"
#include "distributed/rpc/rpc.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/rnn.h"
#include "optim/adam.h"
#include "optim/sgd.h"

namespace torch::distributed {
namespace {

using at::Tensor;
using optim::DistributedOptimizer;
using rpc::make_rref;
using rpc::remote;
using rpc::rpc_async;
using rpc::rpc_sync;
using rpc::RRefPtr;

std::string name_of(int rank) {
  return "worker" + std::to_string(rank);
}

void run_workers(int size, const std::function<void(int)>& body) {
  rpc::RpcBackendOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(size, [&](int rank) {
    rpc::init_rpc(name_of(rank), rank, size, options);
    try {
      body(rank);
    } catch (...) {
      rpc::shutdown(false);
      throw;
    }
    rpc::shutdown();
  });
}

template <class E>
std::string text_of_throw(const std::function<void()>& body) {
  try {
    body();
  } catch (const E& e) {
    EXPECT_EQ(typeid(e), typeid(E)) << e.what();
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// Rank `rank`'s parameter of the tests, of the size of all others.
Tensor parameter(int rank) {
  return (at::arange(4, at::kDouble) * 0.1 + 0.3 * rank + 0.2).set_requires_grad(true);
}
struct Parameter {
  Tensor value = parameter(rpc::get_worker_info().id_);
};
Tensor own_parameter() {
  return c10d::RankLocal<Parameter>::get().value;
}

struct TableImpl : torch::nn::Module {
  TableImpl() { embedding = register_module("embedding", torch::nn::Embedding(20, 6)); }
  Tensor forward(const Tensor& indices) { return embedding(indices); }
  torch::nn::Embedding embedding{nullptr};
};
struct DecoderImpl : torch::nn::Module {
  DecoderImpl() { linear = register_module("linear", torch::nn::Linear(8, 20)); }
  Tensor forward(const Tensor& x) { return linear(x); }
  torch::nn::Linear linear{nullptr};
};
template <class Module>
std::shared_ptr<Module> filled(std::shared_ptr<Module> module, int seed) {
  const c10::NoGradGuard off;
  for (const Tensor& p : module->parameters()) {
    const Tensor wave = at::sin(at::arange(p.numel(), at::kFloat) * 0.7 + seed++).view(p.sizes());
    p.copy_(wave * 0.3);
  }
  return module;
}
std::vector<RRefPtr> references(const torch::nn::Module& module) {
  std::vector<RRefPtr> all;
  for (const Tensor& p : module.parameters()) all.push_back(make_rref(p));
  return all;
}

struct Failing : torch::autograd::Function<Failing> {
  static Tensor forward(torch::autograd::AutogradContext*, Tensor x) { return x * 1; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list) {
    TORCH_CHECK_INDEX(false, "a node that fails");
  }
};

[[maybe_unused]] const bool functions_are_known = [] {
  rpc::register_function("times_parameter", [](Tensor x) { return x * own_parameter(); });
  // Goes on to the next worker, and back, until `left` is 0.
  rpc::register_function("chain", [](Tensor x, int64_t left, int64_t workers) -> Tensor {
    const Tensor y = at::tanh(x * own_parameter());
    if (left == 0) return y;
    const int64_t next = (rpc::get_worker_info().id_ + 1) % workers;
    return rpc_sync<Tensor>(next, "chain", {y, left - 1, workers}) + y * own_parameter();
  });
  rpc::register_function("sum", [](Tensor x) { return x.sum(); });
  rpc::register_function("parameter", [] { return own_parameter(); });
  rpc::register_function("fail_backward", [](Tensor x) { return Failing::apply(x); });
  rpc::register_function("contexts", [] {
    return static_cast<int64_t>(autograd::DistAutogradContainer::current()->numAutogradContexts());
  });
  rpc::register_function("gradient_here",
                         [](int64_t context) { return autograd::get_gradients(context).at(own_parameter()); });
  rpc::register_function("make_table", [] { return filled(std::make_shared<TableImpl>(), 1); });
  rpc::register_function("rows",
                         [](std::shared_ptr<TableImpl> table, Tensor indices) { return table->forward(indices); });
  rpc::register_function("table_parameters", [](std::shared_ptr<TableImpl> table) { return references(*table); });
  rpc::register_function("make_decoder", [] { return filled(std::make_shared<DecoderImpl>(), 2); });
  rpc::register_function("decode", [](std::shared_ptr<DecoderImpl> decoder, Tensor x) { return decoder->forward(x); });
  rpc::register_function("decoder_parameters",
                         [](std::shared_ptr<DecoderImpl> decoder) { return references(*decoder); });
  return true;
}();

TEST(DistributedAutograd, GradientsOfOneCallEqualTheLocalOnes) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const Tensor x = parameter(7);
    const Tensor there = parameter(1);
    autograd::context context;
    const Tensor y = rpc_sync<Tensor>(1, "times_parameter", {x * 2});
    EXPECT_TRUE(y.requires_grad() && !y.is_leaf());
    autograd::backward(context.id(), {(y * y).sum()});

    const Tensor local = parameter(7);
    const Tensor z = local * 2 * there;
    (z * z).sum().backward();
    const auto grads = autograd::get_gradients(context.id());
    EXPECT_EQ(grads.size(), 1u);
    EXPECT_TRUE(at::equal(grads.at(x), local.grad()));
    EXPECT_FALSE(x.grad().defined());
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1, "gradient_here", {context.id()}), there.grad()));
  });
}

// Bit for bit: what is summed is the same, in the same order, where each worker uses its parameter a few times.
TEST(DistributedAutograd, ChainsThroughAllWorkersAndBack) {
  constexpr int kWorkers = 3;
  run_workers(kWorkers, [=](int rank) {
    if (rank != 0) return;
    const int64_t steps = 9;
    const Tensor x = parameter(7);
    autograd::context context;
    autograd::backward(context.id(), {rpc_sync<Tensor>(1, "chain", {x, steps, kWorkers}).sum()});

    const Tensor local = parameter(7);
    std::vector<Tensor> parameters;
    for (int i = 0; i < kWorkers; ++i) parameters.push_back(parameter(i));
    const std::function<Tensor(Tensor, int64_t, int)> chain = [&](Tensor v, int64_t left, int at) -> Tensor {
      const Tensor y = at::tanh(v * parameters[at]);
      return left == 0 ? y : chain(y, left - 1, (at + 1) % kWorkers) + y * parameters[at];
    };
    chain(local, steps, 1).sum().backward();
    EXPECT_TRUE(at::allclose(autograd::get_gradients(context.id()).at(x), local.grad(), 1e-12, 0));
    for (int i = 0; i < kWorkers; ++i) {
      const Tensor there = i == 0 ? autograd::get_gradients(context.id()).at(own_parameter())
                                  : rpc_sync<Tensor>(i, "gradient_here", {context.id()});
      EXPECT_TRUE(at::allclose(there, parameters[i].grad(), 1e-12, 0)) << i;
    }
  });
}

TEST(DistributedAutograd, ReferencesCarryGradients) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const Tensor x = parameter(7);
    autograd::context context;
    // A value that is made there, fetched, used there again and by this worker.
    const RRefPtr y = remote(1, "times_parameter", {x});
    const Tensor fetched = y->to_here<Tensor>();
    const Tensor z = y->rpc_sync<Tensor>("times_parameter");
    const Tensor p = remote(1, "parameter")->to_here<Tensor>();
    autograd::backward(context.id(), {(fetched * z * p).sum()});

    const Tensor local = parameter(7), there = parameter(1);
    const Tensor w = local * there;
    (w * (w * there) * there).sum().backward();
    EXPECT_TRUE(at::allclose(autograd::get_gradients(context.id()).at(x), local.grad(), 1e-12, 0));
    EXPECT_TRUE(at::allclose(rpc_sync<Tensor>(1, "gradient_here", {context.id()}), there.grad(), 1e-12, 0));
  });
}

TEST(DistributedAutograd, BackwardFromAReference) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const Tensor x = parameter(7);
    autograd::context context;
    const RRefPtr y = remote(1, "times_parameter", {x});
    const RRefPtr loss = y->remote("sum");
    loss->backward(context.id());
    const Tensor there = parameter(1).detach();
    EXPECT_TRUE(at::equal(autograd::get_gradients(context.id()).at(x), there));
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1, "gradient_here", {context.id()}), x.detach()));
    text_of_throw<c10::ValueError>([&] { loss->backward(); });
    text_of_throw<c10::ValueError>([&] { y->backward(context.id()); });  // no scalar
    make_rref((x * 3).sum())->backward();
    EXPECT_TRUE(at::equal(x.grad(), at::full({4}, 3.0, at::kDouble)));
  });
}

TEST(DistributedAutograd, HooksRunOnceWithTheWholeGradient) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const Tensor x = parameter(7);
    int on_leaf = 0, on_result = 0;
    x.register_hook([&](Tensor grad) { return ++on_leaf, grad * 2; });
    autograd::context context;
    Tensor h = x * 3;
    h.register_hook([&](Tensor grad) { return ++on_result, grad * 10; });
    h.retain_grad();
    // h is sent twice, and used here.
    const Tensor a = rpc_sync<Tensor>(1, "times_parameter", {h}), b = rpc_sync<Tensor>(1, "times_parameter", {h});
    autograd::backward(context.id(), {(a + b + h).sum()});
    EXPECT_EQ(on_leaf, 1);
    EXPECT_EQ(on_result, 1);
    const Tensor of_h = parameter(1).detach() * 2 + 1;
    EXPECT_TRUE(at::allclose(h.grad(), of_h * 10, 1e-12, 0));
    EXPECT_TRUE(at::allclose(autograd::get_gradients(context.id()).at(x), of_h * 60, 1e-12, 0));
  });
}

TEST(DistributedAutograd, SeveralPassesAndContexts) {
  run_workers(2, [](int rank) {
    // Both workers at once, each with contexts of two threads.
    const auto work = [&](int seed) {
      const Tensor x = parameter(seed);
      autograd::context context;
      const Tensor y = rpc_sync<Tensor>(1 - rank, "times_parameter", {x});
      const Tensor loss = (y * y).sum();
      autograd::backward(context.id(), {loss}, true);
      const Tensor once = autograd::get_gradients(context.id()).at(x);
      autograd::backward(context.id(), {loss});
      EXPECT_TRUE(at::allclose(autograd::get_gradients(context.id()).at(x), once * 2, 1e-12, 0));
      const Tensor there = parameter(1 - rank).detach();
      EXPECT_TRUE(at::allclose(once, 2 * x.detach() * there * there, 1e-12, 0));
      text_of_throw<c10::Error>([&] { autograd::backward(context.id(), {loss}); });
    };
    const c10d::RankContextPtr own = c10d::current_rank();
    std::thread second([&] {
      const c10d::RankScope scope(own);
      for (int i = 0; i < 5; ++i) work(20 + i);
    });
    for (int i = 0; i < 5; ++i) work(i);
    second.join();
  });
}

TEST(DistributedAutograd, ContextsEndEverywhere) {
  run_workers(3, [](int rank) {
    if (rank != 0) return;
    {
      autograd::context context;
      text_of_throw<c10::Error>([] { autograd::context nested; });
      rpc_sync<Tensor>(1, "chain", {parameter(7), 3, 3});
      EXPECT_EQ(rpc_sync<int64_t>(2, "contexts"), 1);
    }
    for (int i = 0; i < 3; ++i) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (rpc_sync<int64_t>(i, "contexts") != 0) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    text_of_throw<c10::Error>([] { autograd::get_gradients(12345); });
    text_of_throw<c10::Error>([] { autograd::backward(12345, {parameter(0).sum()}); });
  });
}

TEST(DistributedAutograd, Errors) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    autograd::context context;
    const Tensor x = parameter(7);
    text_of_throw<c10::ValueError>([&] { autograd::backward(context.id(), {}); });
    text_of_throw<c10::ValueError>([&] { autograd::backward(context.id(), {x * 2}); });
    text_of_throw<c10::ValueError>([&] { autograd::backward(context.id(), {at::ones({})}); });
    const Tensor y = rpc_sync<Tensor>(1, "fail_backward", {x});
    const std::string text = text_of_throw<c10::IndexError>([&] { autograd::backward(context.id(), {y.sum()}); });
    EXPECT_NE(text.find("on worker \"worker1\" (rank 1): a node that fails"), std::string::npos) << text;
    EXPECT_NE(text_of_throw<c10::Error>([&] { y.sum().backward(); }).find("came from worker 1"), std::string::npos);
  });
}

// A gradient of which a part would come through a tensor that is not used is no gradient.
TEST(DistributedAutograd, GradientsThatAreNotWholeAreErrors) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const Tensor x = parameter(7);
    autograd::context context;
    const Tensor used = rpc_sync<Tensor>(1, "times_parameter", {x});
    rpc_sync<Tensor>(1, "times_parameter", {x});
    const std::string text = text_of_throw<c10::Error>([&] { autograd::backward(context.id(), {used.sum()}); });
    EXPECT_NE(text.find("AccumulateGrad are not whole"), std::string::npos) << text;
    text_of_throw<c10::Error>([&] { autograd::get_gradients(context.id()); });
    EXPECT_NE(
        text_of_throw<c10::Error>([&] { rpc_sync(1, "gradient_here", {context.id()}); }).find("on worker \"worker1\""),
        std::string::npos);
  });
}

TEST(RemoteModule, TrainsAsTheModuleItIs) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    at::manual_seed(3);
    nn::RemoteModule<torch::nn::LinearImpl> far("worker1/cpu", int64_t{4}, int64_t{3});
    const std::vector<RRefPtr> parameters = far.remote_parameters();
    ASSERT_EQ(parameters.size(), 2u);
    EXPECT_EQ(parameters[0]->owner(), 1);
    torch::nn::Linear near(4, 3);
    {
      const c10::NoGradGuard off;
      near->weight.copy_(parameters[0]->to_here<Tensor>());
      near->bias.copy_(parameters[1]->to_here<Tensor>());
    }
    torch::optim::SGD sgd(near->parameters(), 0.1);
    DistributedOptimizer<torch::optim::SGD> far_sgd(parameters, 0.1);
    const Tensor x = at::arange(8, at::kFloat).view({2, 4});
    for (int step = 0; step < 5; ++step) {
      autograd::context context;
      autograd::backward(context.id(), {far.forward({x}).pow(2).sum()});
      far_sgd.step(context.id());
      sgd.zero_grad();
      near(x).pow(2).sum().backward();
      sgd.step();
      const rpc::FuturePtr later = far.forward_async({x});
      later->waitAndThrow();
      EXPECT_TRUE(at::equal(later->value().toTensor(), near(x)));
    }
    EXPECT_EQ(nn::RemoteModule<torch::nn::LinearImpl>("rank:1", int64_t{4}, int64_t{3}).get_module_rref()->owner(), 1);
    using Remote = nn::RemoteModule<torch::nn::LinearImpl>;
    for (const char* where : {"", "/cpu", "worker1/cuda", "rank:x", "rank:9", "nobody/cpu"})
      text_of_throw<c10::ValueError>([&] { Remote(where, int64_t{4}, int64_t{3}); });
    text_of_throw<c10::Error>([] { Remote("worker1", int64_t{-4}, int64_t{3}).forward({at::ones({1})}); });
  });
}

// An embedding on one server, a decoder on another, the recurrent layer between them here.
template <class Optimizer, class Options>
void train_language_model(Options options) {
  constexpr int kSteps = 12;
  const auto indices = [](int step) { return (at::arange(15) * (step + 3) % 20).view({5, 3}); };
  const auto targets = [](int step) { return (at::arange(15) * (step + 5) % 20).view({15}); };
  const auto loss_of = [](const Tensor& logits, const Tensor& target) {
    return at::nll_loss(at::log_softmax(logits.view({15, 20}), 1), target);
  };

  // One process.
  auto table = filled(std::make_shared<TableImpl>(), 1);
  auto decoder = filled(std::make_shared<DecoderImpl>(), 2);
  auto lstm = filled(torch::nn::LSTM(6, 8).ptr(), 3);
  std::vector<Tensor> parameters = table->parameters();
  for (const auto& more : {lstm->parameters(), decoder->parameters()})
    parameters.insert(parameters.end(), more.begin(), more.end());
  Optimizer local(parameters, options);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    local.zero_grad();
    const Tensor loss =
        loss_of(decoder->forward(std::get<0>(lstm->forward(table->forward(indices(step))))), targets(step));
    loss.backward();
    local.step();
    losses.push_back(loss.item<double>());
  }
  EXPECT_LT(losses.back(), losses.front());

  run_workers(3, [&](int rank) {
    if (rank != 0) return;
    const RRefPtr far_table = remote(1, "make_table"), far_decoder = remote(2, "make_decoder");
    auto own = filled(torch::nn::LSTM(6, 8).ptr(), 3);
    std::vector<RRefPtr> all = far_table->rpc_sync<std::vector<RRefPtr>>("table_parameters");
    for (const auto& more : {references(*own), far_decoder->rpc_sync<std::vector<RRefPtr>>("decoder_parameters")})
      all.insert(all.end(), more.begin(), more.end());
    DistributedOptimizer<Optimizer> optimizer(all, options);
    for (int step = 0; step < kSteps; ++step) {
      autograd::context context;
      const Tensor rows = far_table->rpc_sync<Tensor>("rows", {indices(step)});
      const Tensor logits = far_decoder->rpc_sync<Tensor>("decode", {std::get<0>(own->forward(rows))});
      const Tensor loss = loss_of(logits, targets(step));
      autograd::backward(context.id(), {loss});
      optimizer.step(context.id());
      EXPECT_EQ(loss.item<double>(), losses[step]) << step;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(at::equal(all[i]->to_here<Tensor>(), parameters[i])) << i;
    }
  });
}

TEST(DistributedOptimizer, LanguageModelOnParameterServersEqualsTheLocalOneWithSgd) {
  train_language_model<torch::optim::SGD>(torch::optim::SGDOptions(0.5).momentum(0.9).weight_decay(0.01));
}
TEST(DistributedOptimizer, LanguageModelOnParameterServersEqualsTheLocalOneWithAdam) {
  train_language_model<torch::optim::Adam>(torch::optim::AdamOptions(0.01).betas({0.8, 0.9}));
}

TEST(DistributedOptimizer, Errors) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    using Sgd = DistributedOptimizer<torch::optim::SGD>;
    text_of_throw<c10::ValueError>([] { Sgd({}, 0.1); });
    text_of_throw<c10::ValueError>([] { Sgd({RRefPtr()}, 0.1); });
    text_of_throw<c10::ValueError>([] { Sgd({make_rref(parameter(1))}, -1.0); });
    text_of_throw<c10::TypeError>([] { Sgd({make_rref("no tensor")}, 0.1); });
    Sgd optimizer({remote(1, "parameter"), make_rref(own_parameter())}, 0.1);
    EXPECT_EQ(optimizer.remote_optimizers().size(), 2u);
    // A parameter without a gradient stays as it is.
    autograd::context context;
    optimizer.step(context.id());
    EXPECT_TRUE(at::equal(own_parameter(), parameter(0)));
  });
}

TEST(DistributedOptimizer, StepsOfTwoTrainersFollowEachOther) {
  constexpr int kSteps = 20;
  std::atomic<int> done{0};
  run_workers(3, [&](int rank) {
    if (rank == 0) {
      while (done != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // Gradients of 1.
      const Tensor all = parameter(0).detach() - 2 * kSteps * 0.25;
      EXPECT_TRUE(at::allclose(own_parameter().detach(), all, 1e-12, 0));
      EXPECT_FALSE(own_parameter().grad().defined());
      return;
    }
    DistributedOptimizer<torch::optim::SGD> optimizer({remote(0, "parameter")}, 0.25);
    for (int i = 0; i < kSteps; ++i) {
      autograd::context context;
      autograd::backward(context.id(), {rpc_sync<Tensor>(0, "parameter").sum()});
      optimizer.step(context.id());
    }
    ++done;
  });
}

}  // namespace
}  // namespace torch::distributed
