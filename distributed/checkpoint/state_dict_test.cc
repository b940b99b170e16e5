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
using testing::error_of;
using testing::expect_has;
using testing::new_folder;
using tensor::DeviceMesh;
using tensor::distribute_tensor;
using tensor::DTensor;

nn::Sequential make_net(int seed) {
  nn::Sequential net(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 4));
  fill(*net, seed);
  return net;
}

// The parameters become DTensors.
void shard(nn::Module& model, const DeviceMesh& mesh, const std::vector<Placement>& placements) {
  for (const auto& item : model.named_modules()) {
    nn::Module& module = *item.value();
    for (const auto& p : module.named_parameters(/*recurse=*/false)) {
      Tensor sharded = distribute_tensor(p.value().detach(), mesh, placements, std::nullopt).requires_grad_();
      if (Tensor* member = nn::ModuleAccess::tensor_member(module, p.key())) *member = sharded;
      module.replace_parameter(p.key(), sharded);
    }
  }
}

Tensor whole_of(const Tensor& tensor) {
  return DTensor::is(tensor) ? DTensor(tensor.detach()).full_tensor() : tensor.detach();
}

void train(nn::Sequential& net, optim::Optimizer& optimizer, int from, int to, const DeviceMesh* mesh = nullptr) {
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

std::vector<Tensor> wholes(const nn::Module& net) {
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
  nn::Sequential net = make_net(1);
  const auto optimizer = make(net->parameters());
  train(net, *optimizer, 0, saved_after);
  optimizer->param_groups()[0].options().set_lr(0.05);
  save({{"app", std::make_shared<AppState>(net.ptr(), Optimizers{optimizer.get()})}, {"step", saved_after}},
       {.checkpoint_id = folder});
  train(net, *optimizer, saved_after, saved_after + 5);
  nn::Sequential other = make_net(20);
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
    resume<optim::AdamW>(
        [](std::vector<Tensor> params) {
          return std::make_unique<optim::AdamW>(std::move(params), optim::AdamWOptions(0.02).amsgrad(true));
        },
        saved_after);
    resume<optim::SGD>(
        [](std::vector<Tensor> params) {
          return std::make_unique<optim::SGD>(std::move(params), optim::SGDOptions(0.02).momentum(0.9));
        },
        saved_after);
    resume<optim::Adagrad>(
        [](std::vector<Tensor> params) {
          return std::make_unique<optim::Adagrad>(std::move(params), optim::AdagradOptions(0.02));
        },
        saved_after);
  }
}

TEST(Resume, OnAnotherMeshEqualsTheOtherMeshFromTheBeginning) {
  // Elements of the parameters are computed one by one, from gradients that all ranks have: any mesh gives the same
  // bits as one process.
  const std::string folder = new_folder();
  nn::Sequential single = make_net(1);
  optim::AdamW single_optimizer(single->parameters(), optim::AdamWOptions(0.02));
  train(single, single_optimizer, 0, 3);
  const std::vector<Tensor> after_3 = wholes(*single);
  train(single, single_optimizer, 3, 6);
  struct Way {
    std::vector<int64_t> mesh;
    std::vector<Placement> placements;
  };
  const Way ways[] = {{{2}, {Shard(0)}}, {{3}, {Shard(0)}}, {{2, 2}, {Replicate(), Shard(0)}}};
  // The group of all, for plans, is that of the mesh where it has one dimension; else each rank plans with its row.
  for (const Way& way : ways) {
    const bool saves = way.mesh.size() == 1 && way.mesh[0] == 2;
    tensor::testing::run_mesh(way.mesh, [&](const DeviceMesh& mesh) {
      nn::Sequential net = make_net(saves ? 1 : 30);
      shard(*net, mesh, way.placements);
      optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.02));
      const Group group = mesh.get_group(mesh.ndim() - 1);
      if (saves) {
        train(net, optimizer, 0, 3, &mesh);
        auto [model_state, optimizer_state] = get_state_dict(*net, {&optimizer});
        EXPECT_TRUE(DTensor::is(optimizer_state.at("state").toGenericDict().at("0.weight").toGenericDict()
                                    .at("exp_avg").toTensor()));
        save({{"model", model_state}, {"optimizer", optimizer_state}},
             {.checkpoint_id = folder, .process_group = group});
      } else {
        StateDict state{{"model", get_model_state_dict(*net)},
                        {"optimizer", get_optimizer_state_dict(*net, {&optimizer})}};
        load(state, {.checkpoint_id = folder, .process_group = group});
        set_state_dict(*net, {&optimizer}, model_state_of(state.at("model")),
                       optim::StateDict(state.at("optimizer")));
      }
      const std::vector<Tensor> loaded = wholes(*net);
      for (size_t i = 0; i < loaded.size(); ++i) EXPECT_TRUE(at::allclose(loaded[i], after_3[i], 1e-5, 1e-6)) << i;
      train(net, optimizer, 3, 6, &mesh);
      const std::vector<Tensor> got = wholes(*net), expected = wholes(*single);
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::allclose(got[i], expected[i], 1e-5, 1e-6)) << i;
    });
  }
}

TEST(Names, AreThoseOfTheModelWithoutItsWrapper) {
  run_group(2, [&](int, const Group& group) {
    nn::Sequential net = make_net(1);
    for (const bool has_prefix : {false, true}) {
      nn::parallel::DistributedDataParallel ddp(
          net, nn::parallel::DistributedDataParallelOptions(group).state_dict_prefix(has_prefix));
      optim::Adam optimizer(ddp->parameters(), optim::AdamOptions(0.1));
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
  nn::Sequential net = make_net(1);
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{net->parameters()[0], net->parameters()[2]},
                      std::make_unique<optim::AdamWOptions>(0.5));
  groups.emplace_back(std::vector<Tensor>{net->parameters()[1]}, std::make_unique<optim::AdamWOptions>(0.25));
  optim::AdamW optimizer(groups, optim::AdamWOptions(0.1));
  optim::SGD other({net->parameters()[3]}, optim::SGDOptions(0.125).momentum(0.5));
  for (int i = 0; i < 2; ++i) {
    net->zero_grad();
    net->forward(numbers({5, 6}, i)).pow(2).sum().backward();
    optimizer.step();
    other.step();
  }
  StateDictOptions options;
  options.flatten_optimizer_state_dict = true;
  net->zero_grad();
  const optim::StateDict flat = get_optimizer_state_dict(*net, {&optimizer, &other}, options);
  const auto dict = flat.tree().toGenericDict();
  EXPECT_EQ(dict.at("param_groups.0.weight.lr").toDouble(), 0.5);
  EXPECT_EQ(dict.at("param_groups.2.bias.lr").toDouble(), 0.125);
  EXPECT_TRUE(dict.contains("state.2.bias.momentum_buffer"));
  const std::string folder = new_folder();
  StateDict saved = StateDict::of(flat.tree());
  save(saved, {.checkpoint_id = folder});
  nn::Sequential twin = make_net(1);
  {
    const c10::NoGradGuard no_grad;
    for (size_t i = 0; i < 4; ++i) twin->parameters()[i].copy_(net->parameters()[i]);
  }
  // In other groups.
  optim::AdamW first({twin->parameters()[0], twin->parameters()[2]}, optim::AdamWOptions(1));
  optim::AdamW second({twin->parameters()[1]}, optim::AdamWOptions(1));
  optim::SGD third({twin->parameters()[3]}, optim::SGDOptions(1).momentum(0.1));
  StateDict state = StateDict::of(get_optimizer_state_dict(*twin, {&first, &second, &third}, options).tree());
  load(state, {.checkpoint_id = folder});
  c10::Dict<IValue, IValue> loaded;
  for (const auto& [name, value] : state.items()) loaded.insert(name, value.value);
  set_optimizer_state_dict(*twin, {&first, &second, &third}, optim::StateDict(IValue(loaded)), options);
  EXPECT_EQ(first.param_groups()[0].options().get_lr(), 0.5);
  EXPECT_EQ(second.param_groups()[0].options().get_lr(), 0.25);
  for (int i = 2; i < 4; ++i) {
    for (nn::Sequential* n : {&net, &twin}) {
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
    nn::Sequential net = make_net(1);
    const std::vector<Tensor> before = wholes(*net);
    shard(*net, mesh, {Shard(0)});
    optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.02));
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

    nn::Sequential other = make_net(50);
    shard(*other, mesh, {Shard(0)});
    optim::AdamW fresh(other->parameters(), optim::AdamWOptions(1));
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
  nn::Sequential net = make_net(1);
  net->parameters()[0].requires_grad_(false);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  StateDictOptions options;
  options.ignore_frozen_params = true;
  const auto [model_state, optimizer_state] = get_state_dict(*net, {&optimizer}, options);
  EXPECT_FALSE(model_state.contains("0.weight"));
  EXPECT_EQ(model_state.size(), 3u);
  EXPECT_EQ(optimizer_state.at("param_groups.0.params").toListRef().size(), 3u);
  const auto keys = set_model_state_dict(*net, model_state, options);
  EXPECT_TRUE(keys.missing_keys.empty());

  options = {};
  const nn::Module* const last = net->children()[2].get();
  EXPECT_TRUE(get_model_state_dict(*net, options, {last}).contains("2.weight"));
  options.keep_submodule_prefixes = false;
  const nn::StateDict below = get_model_state_dict(*net, options, {last});
  EXPECT_TRUE(below.contains("weight"));
  EXPECT_EQ(below.size(), 2u);
  const nn::Linear stranger(2, 2);
  expect_has(error_of([&] { get_model_state_dict(*net, options, {stranger.get()}); }), "is not in the model");
  optim::SGD of_stranger(stranger->parameters(), optim::SGDOptions(0.1));
  expect_has(error_of([&] { get_optimizer_state_dict(*net, {&of_stranger}); }), "none of the model's");
  options = {};
  c10::Dict<IValue, IValue> empty;
  empty.insert("param_groups", IValue(std::vector<IValue>()));
  expect_has(error_of([&] { set_optimizer_state_dict(*net, {&optimizer}, optim::StateDict(IValue(empty))); }),
             "no group of the state has the parameter '0.weight'");
}

}  // namespace
}  // namespace torch::distributed::checkpoint
