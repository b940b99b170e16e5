// The states of models and optimizers: names, options, and training that goes on as if it had never stopped.
#include "distributed/checkpoint/state_dict.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/autograd.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/testing.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/run_mesh.h"
#include "nn/layers/activation.h"
#include "nn/layers/linear.h"
#include "nn/layers/normalization.h"
#include "nn/module/module_access.h"
#include "nn/module/sequential.h"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/sgd.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::testing::fill;
using c10d::testing::Group;
using c10d::testing::numbers;
using c10d::testing::run_group;
using tensor::DeviceMesh;
using tensor::distribute_tensor;
using tensor::DTensor;
using testing::error_of;
using testing::expect_has;
using testing::new_folder;

torch::nn::Sequential make_net(int seed) {
  torch::nn::Sequential net(torch::nn::Linear(6, 8), torch::nn::Tanh(), torch::nn::Linear(8, 4));
  fill(*net, seed);
  return net;
}

// The parameters become DTensors.
void shard(torch::nn::Module& model, const DeviceMesh& mesh, const std::vector<Placement>& placements) {
  for (const auto& item : model.named_modules()) {
    torch::nn::Module& module = *item.value();
    for (const auto& p : module.named_parameters(/*recurse=*/false)) {
      Tensor sharded = distribute_tensor(p.value().detach(), mesh, placements, std::nullopt).requires_grad_();
      if (Tensor* member = torch::nn::ModuleAccess::tensor_member(module, p.key())) *member = sharded;
      module.replace_parameter(p.key(), sharded);
    }
  }
}

Tensor whole_of(const Tensor& tensor) {
  return DTensor::is(tensor) ? DTensor(tensor.detach()).full_tensor() : tensor.detach();
}

void train(torch::nn::Sequential& net, torch::optim::Optimizer& optimizer, int from, int to,
           const DeviceMesh* mesh = nullptr) {
  for (int step = from; step < to; ++step) {
    Tensor x = numbers({5, 6}, step);
    if (mesh != nullptr) {
      x = distribute_tensor(x, *mesh, std::vector<Placement>(static_cast<size_t>(mesh->ndim())), std::nullopt);
    }
    optimizer.zero_grad();
    net->forward(x).pow(2).sum().backward();
    optimizer.step();
  }
}

std::vector<Tensor> wholes(const torch::nn::Module& net) {
  std::vector<Tensor> all;
  for (const auto& item : net.named_parameters()) all.push_back(whole_of(item.value()).clone());
  return all;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

template <class Optimizer>
void resume(const std::function<std::unique_ptr<Optimizer>(std::vector<Tensor>)>& make, int saved_after) {
  const std::string folder = new_folder();
  torch::nn::Sequential net = make_net(1);
  const auto optimizer = make(net->parameters());
  train(net, *optimizer, 0, saved_after);
  optimizer->param_groups()[0].options().set_lr(0.05);
  save({{"app", std::make_shared<AppState>(net.ptr(), Optimizers{optimizer.get()})}, {"step", saved_after}},
       {.checkpoint_id = folder});
  train(net, *optimizer, saved_after, saved_after + 5);
  torch::nn::Sequential other = make_net(20);
  const auto fresh = make(other->parameters());
  StateDict state{{"app", std::make_shared<AppState>(other.ptr(), Optimizers{fresh.get()})}, {"step", 0}};
  load(state, {.checkpoint_id = folder});
  EXPECT_EQ(state.at("step").toInt(), saved_after);
  EXPECT_EQ(fresh->param_groups()[0].options().get_lr(), 0.05);
  train(other, *fresh, saved_after, saved_after + 5);
  expect_same(wholes(*net), wholes(*other));
}

TEST(Resume, EqualsTrainingThatNeverStopped) {
  for (const int saved_after : {0, 3}) {
    resume<torch::optim::AdamW>(
        [](std::vector<Tensor> params) {
          return std::make_unique<torch::optim::AdamW>(std::move(params),
                                                       torch::optim::AdamWOptions(0.02).amsgrad(true));
        },
        saved_after);
    resume<torch::optim::SGD>(
        [](std::vector<Tensor> params) {
          return std::make_unique<torch::optim::SGD>(std::move(params), torch::optim::SGDOptions(0.02).momentum(0.9));
        },
        saved_after);
    resume<torch::optim::Adagrad>(
        [](std::vector<Tensor> params) {
          return std::make_unique<torch::optim::Adagrad>(std::move(params), torch::optim::AdagradOptions(0.02));
        },
        saved_after);
  }
}

TEST(Resume, ParametersThatHadNoGradientsYetGoOnWithoutState) {
  const std::string folder = new_folder();
  // Of the first steps the last layer has no part.
  const auto steps = [](torch::nn::Sequential& net, torch::optim::Optimizer& optimizer, int from, int to) {
    for (int step = from; step < to; ++step) {
      optimizer.zero_grad();
      const Tensor x = numbers({5, 6}, step);
      const Tensor y = step < 3 ? net[0]->as<torch::nn::Linear>()->forward(x) : net->forward(x);
      y.pow(2).sum().backward();
      optimizer.step();
    }
  };
  torch::nn::Sequential net = make_net(1), other = make_net(2);
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.02)),
      fresh(other->parameters(), torch::optim::AdamWOptions(1));
  steps(net, optimizer, 0, 3);
  EXPECT_EQ(optimizer.state().size(), 2u);
  save({{"app", std::make_shared<AppState>(net.ptr(), Optimizers{&optimizer})}}, {.checkpoint_id = folder});
  EXPECT_EQ(optimizer.state().size(), 2u);
  StateDict state{{"app", std::make_shared<AppState>(other.ptr(), Optimizers{&fresh})}};
  load(state, {.checkpoint_id = folder});
  EXPECT_EQ(fresh.state().size(), 2u);
  steps(net, optimizer, 3, 6);
  steps(other, fresh, 3, 6);
  expect_same(wholes(*net), wholes(*other));
}

TEST(Resume, OnAnyMeshGoesOnFromTheSameBits) {
  const std::string folder = new_folder();
  std::vector<Tensor> at_save, at_end, exp_avg;
  struct Way {
    std::vector<int64_t> mesh;
    std::vector<Placement> placements;
  };
  const auto optimizer_of = [](torch::nn::Sequential& net) {
    return std::make_unique<torch::optim::AdamW>(net->parameters(), torch::optim::AdamWOptions(0.02));
  };
  const auto averages_of = [](torch::nn::Sequential& net, torch::optim::Optimizer& optimizer) {
    std::vector<Tensor> all;
    for (const Tensor& p : net->parameters()) {
      auto& state = static_cast<torch::optim::AdamWParamState&>(*optimizer.state().at(p.unsafeGetTensorImpl()));
      EXPECT_EQ(DTensor(state.exp_avg()).placements(), DTensor(p).placements());
      all.push_back(whole_of(state.exp_avg()).clone());
    }
    return all;
  };
  const Way first{{2}, {Shard(0)}};
  tensor::testing::run_mesh(first.mesh, [&](const DeviceMesh& mesh) {
    torch::nn::Sequential net = make_net(1);
    shard(*net, mesh, first.placements);
    const auto optimizer = optimizer_of(net);
    train(net, *optimizer, 0, 3, &mesh);
    const auto [model_state, optimizer_state] = get_state_dict(*net, {optimizer.get()});
    save({{"model", model_state}, {"optimizer", optimizer_state}},
         {.checkpoint_id = folder, .process_group = mesh.get_group()});
    const std::vector<Tensor> saved = wholes(*net), averages = averages_of(net, *optimizer);
    train(net, *optimizer, 3, 6, &mesh);
    const std::vector<Tensor> end = wholes(*net);
    if (mesh.get_rank() == 0) at_save = saved, at_end = end, exp_avg = averages;
  });
  // The group for plans is that of the mesh where it has one dimension; else each row loads by itself.
  for (const Way& way : {first, Way{{3}, {Shard(0)}}, Way{{2}, {Replicate()}}, Way{{2, 2}, {Replicate(), Shard(0)}}}) {
    tensor::testing::run_mesh(way.mesh, [&](const DeviceMesh& mesh) {
      torch::nn::Sequential net = make_net(30);
      shard(*net, mesh, way.placements);
      const auto optimizer = optimizer_of(net);
      const auto app = std::make_shared<AppState>(net.ptr(), Optimizers{optimizer.get()});
      StateDict state = StateDict::of(app->state_dict());
      load(state, {.checkpoint_id = folder, .process_group = mesh.get_group(mesh.ndim() - 1)});
      set_state_dict(*net, {optimizer.get()}, model_state_of(state.at("model")),
                     torch::optim::StateDict(state.at("optimizer")));
      expect_same(wholes(*net), at_save);
      expect_same(averages_of(net, *optimizer), exp_avg);
      train(net, *optimizer, 3, 6, &mesh);
      const std::vector<Tensor> end = wholes(*net);
      if (way.mesh == first.mesh && way.placements == first.placements) expect_same(end, at_end);
      for (size_t i = 0; i < end.size(); ++i) EXPECT_TRUE(at::allclose(end[i], at_end[i], 1e-5, 1e-6)) << i;
    });
  }
}

TEST(Names, AreThoseOfTheModelWithoutItsWrapper) {
  run_group(2, [&](int, const Group& group) {
    torch::nn::Sequential net = make_net(1);
    for (const bool has_prefix : {false, true}) {
      torch::nn::parallel::DistributedDataParallel ddp(
          net, torch::nn::parallel::DistributedDataParallelOptions(group).state_dict_prefix(has_prefix));
      torch::optim::Adam optimizer(ddp->parameters(), torch::optim::AdamOptions(0.1));
      const auto [model_state, optimizer_state] = get_state_dict(*ddp, {&optimizer});
      EXPECT_TRUE(model_state.contains("0.weight"));
      EXPECT_EQ(model_state.size(), 4u);
      const auto states = optimizer_state.at("state").toGenericDict();
      EXPECT_TRUE(states.contains("2.bias"));
      EXPECT_TRUE(optimizer.state().empty());
      EXPECT_FALSE(net->parameters()[0].grad().defined());
      EXPECT_EQ(states.at("2.bias").toGenericDict().at("step").toTensor().item<float>(), 0);
      EXPECT_EQ(optimizer_state.at("param_groups.0.lr").toDouble(), 0.1);
      EXPECT_EQ(optimizer_state.at("param_groups.0.params").toListRef()[0].toStringRef(), "0.weight");
      const auto keys = set_model_state_dict(*ddp, model_state);
      EXPECT_TRUE(keys.missing_keys.empty() && keys.unexpected_keys.empty());
    }
  });
}

TEST(Options, FlatStatesGoBackToTheirGroups) {
  torch::nn::Sequential net = make_net(1);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{net->parameters()[0], net->parameters()[2]},
                      std::make_unique<torch::optim::AdamWOptions>(0.5));
  groups.emplace_back(std::vector<Tensor>{net->parameters()[1]}, std::make_unique<torch::optim::AdamWOptions>(0.25));
  torch::optim::AdamW optimizer(groups, torch::optim::AdamWOptions(0.1));
  torch::optim::SGD other({net->parameters()[3]}, torch::optim::SGDOptions(0.125).momentum(0.5));
  for (int i = 0; i < 2; ++i) {
    net->zero_grad();
    net->forward(numbers({5, 6}, i)).pow(2).sum().backward();
    optimizer.step();
    other.step();
  }
  StateDictOptions options;
  options.flatten_optimizer_state_dict = true;
  net->zero_grad();
  const torch::optim::StateDict flat = get_optimizer_state_dict(*net, {&optimizer, &other}, options);
  const auto dict = flat.tree().toGenericDict();
  EXPECT_EQ(dict.at("param_groups.0.weight.lr").toDouble(), 0.5);
  EXPECT_EQ(dict.at("param_groups.2.bias.lr").toDouble(), 0.125);
  EXPECT_TRUE(dict.contains("state.2.bias.momentum_buffer"));
  const std::string folder = new_folder();
  StateDict saved = StateDict::of(flat.tree());
  save(saved, {.checkpoint_id = folder});
  torch::nn::Sequential twin = make_net(1);
  {
    const c10::NoGradGuard no_grad;
    for (size_t i = 0; i < 4; ++i) twin->parameters()[i].copy_(net->parameters()[i]);
  }
  // In other groups.
  torch::optim::AdamW first({twin->parameters()[0], twin->parameters()[2]}, torch::optim::AdamWOptions(1));
  torch::optim::AdamW second({twin->parameters()[1]}, torch::optim::AdamWOptions(1));
  torch::optim::SGD third({twin->parameters()[3]}, torch::optim::SGDOptions(1).momentum(0.1));
  StateDict state = StateDict::of(get_optimizer_state_dict(*twin, {&first, &second, &third}, options).tree());
  load(state, {.checkpoint_id = folder});
  c10::Dict<IValue, IValue> loaded;
  for (const auto& [name, value] : state.items()) loaded.insert(name, value.value);
  set_optimizer_state_dict(*twin, {&first, &second, &third}, torch::optim::StateDict(IValue(loaded)), options);
  EXPECT_EQ(first.param_groups()[0].options().get_lr(), 0.5);
  EXPECT_EQ(second.param_groups()[0].options().get_lr(), 0.25);
  for (int i = 2; i < 4; ++i) {
    for (torch::nn::Sequential* n : {&net, &twin}) {
      (*n)->zero_grad();
      (*n)->forward(numbers({5, 6}, i)).pow(2).sum().backward();
    }
    optimizer.step();
    other.step();
    first.step();
    second.step();
    third.step();
  }
  expect_same(wholes(*net), wholes(*twin));
}

TEST(Options, FullStatesAreGatheredAndGivenByOneRank) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Group group = mesh.get_group();
    torch::nn::Sequential net = make_net(1);
    const std::vector<Tensor> before = wholes(*net);
    shard(*net, mesh, {Shard(0)});
    torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(0.02));
    train(net, optimizer, 0, 2, &mesh);
    StateDictOptions options;
    options.full_state_dict = true;
    options.process_group = group;
    const auto [everywhere, _] = get_state_dict(*net, {&optimizer}, options);
    EXPECT_EQ(everywhere.size(), 4u);
    EXPECT_FALSE(DTensor::is(everywhere["0.weight"]));
    options.cpu_offload = true;
    const auto [model_state, optimizer_state] = get_state_dict(*net, {&optimizer}, options);
    EXPECT_EQ(model_state.size(), mesh.get_rank() == 0 ? 4u : 0u);
    EXPECT_EQ(optimizer_state.tree().toGenericDict().empty(), mesh.get_rank() != 0);
    const std::vector<Tensor> trained = wholes(*net);

    torch::nn::Sequential other = make_net(50);
    shard(*other, mesh, {Shard(0)});
    torch::optim::AdamW fresh(other->parameters(), torch::optim::AdamWOptions(1));
    options.broadcast_from_rank0 = true;
    set_state_dict(*other, {&fresh}, model_state, optimizer_state, options);
    expect_same(wholes(*other), trained);
    EXPECT_TRUE(DTensor::is(other->parameters()[0]));
    train(net, optimizer, 2, 4, &mesh);
    train(other, fresh, 2, 4, &mesh);
    expect_same(wholes(*other), wholes(*net));

    options.full_state_dict = false;
    expect_has(error_of([&] { set_model_state_dict(*other, model_state, options); }), "expected full_state_dict, too");
    // Whole tensors that every rank has.
    set_model_state_dict(*other, everywhere);
    expect_same(wholes(*other), trained);
  });
}

TEST(Options, FrozenParametersAndOtherSubmodulesAreLeftOut) {
  torch::nn::Sequential net = make_net(1);
  net->parameters()[0].requires_grad_(false);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  StateDictOptions options;
  options.ignore_frozen_params = true;
  const auto [model_state, optimizer_state] = get_state_dict(*net, {&optimizer}, options);
  EXPECT_FALSE(model_state.contains("0.weight"));
  EXPECT_EQ(model_state.size(), 3u);
  EXPECT_EQ(optimizer_state.at("param_groups.0.params").toListRef().size(), 3u);
  const auto keys = set_model_state_dict(*net, model_state, options);
  EXPECT_TRUE(keys.missing_keys.empty());

  options = {};
  const torch::nn::Module* const last = net->children()[2].get();
  EXPECT_TRUE(get_model_state_dict(*net, options, {last}).contains("2.weight"));
  options.keep_submodule_prefixes = false;
  const torch::nn::StateDict below = get_model_state_dict(*net, options, {last});
  EXPECT_TRUE(below.contains("weight"));
  EXPECT_EQ(below.size(), 2u);
  const torch::nn::Linear stranger(2, 2);
  expect_has(error_of([&] { get_model_state_dict(*net, options, {stranger.get()}); }), "is not in the model");
  torch::optim::SGD of_stranger(stranger->parameters(), torch::optim::SGDOptions(0.1));
  expect_has(error_of([&] { get_optimizer_state_dict(*net, {&of_stranger}); }), "none of the model's");
  options = {};
  c10::Dict<IValue, IValue> empty;
  empty.insert("param_groups", IValue(std::vector<IValue>()));
  expect_has(error_of([&] { set_optimizer_state_dict(*net, {&optimizer}, torch::optim::StateDict(IValue(empty))); }),
             "no group of the state has the parameter '0.weight'");
}

}  // namespace
}  // namespace torch::distributed::checkpoint
