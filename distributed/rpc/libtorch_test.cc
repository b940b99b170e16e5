// RPC by libtorch's paths and names.
#include <ATen/core/rref_interface.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/autograd/autograd.h>
#include <torch/csrc/distributed/autograd/context/container.h>
#include <torch/csrc/distributed/autograd/context/context.h>
#include <torch/csrc/distributed/autograd/engine/dist_engine.h>
#include <torch/csrc/distributed/rpc/message.h>
#include <torch/csrc/distributed/rpc/request_callback.h>
#include <torch/csrc/distributed/rpc/rpc_agent.h>
#include <torch/csrc/distributed/rpc/rref_context.h>
#include <torch/csrc/distributed/rpc/rref_impl.h>
#include <torch/csrc/distributed/rpc/types.h>

#include <sstream>
#include <unordered_set>

#include "aten/aten.h"
#include "c10/testing/message_of.h"
#include "distributed/rpc/rpc.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"

namespace torch::distributed {
namespace {

using autograd::DistAutogradContainer;
using autograd::DistEngine;
using c10::testing::message_of;

[[maybe_unused]] const bool functions_are_known = [] {
  rpc::register_function("libtorch.scale", [](at::Tensor x, double by) { return x * by; });
  return true;
}();

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void run_workers(const std::function<void(int)>& body) {
  rpc::RpcBackendOptions options(30.0f, "env://");
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(2, [&](int rank) {
    rpc::init_rpc("worker" + std::to_string(rank), rank, 2, options);
    try {
      body(rank);
    } catch (...) {
      rpc::shutdown(false);
      throw;
    }
    rpc::shutdown();
  });
}

TEST(RpcByLibtorchsNames, AgentsAndReferences) {
  EXPECT_FALSE(rpc::RpcAgent::isCurrentRpcAgentSet());
  run_workers([](int rank) {
    const std::shared_ptr<rpc::RpcAgent> agent = rpc::RpcAgent::getCurrentRpcAgent();
    EXPECT_EQ(agent->getRpcTimeout(), std::chrono::seconds(30));
    const rpc::WorkerInfo& other = agent->getWorkerInfo(static_cast<rpc::worker_id_t>(1 - rank));
    EXPECT_EQ(other.name_, "worker" + std::to_string(1 - rank));
    EXPECT_EQ(printed(agent->getWorkerInfo("worker1")), "WorkerInfo(id=1, name=worker1)");
    const auto infos = agent->getWorkerInfos();
    EXPECT_EQ(std::unordered_set<rpc::worker_id_t>({0, 1}).count(infos[1].id_), 1u);
    EXPECT_NE(std::hash<rpc::WorkerInfo>()(infos[0]), std::hash<rpc::WorkerInfo>()(infos[1]));

    rpc::RRefContext& context = rpc::RRefContext::getInstance();
    EXPECT_EQ(context.getWorkerId(), rank);
    EXPECT_EQ(context.getWorkerName(), "worker" + std::to_string(rank));
    EXPECT_EQ(context.agent(), agent);
    const rpc::GloballyUniqueId id = context.genGloballyUniqueId();
    EXPECT_NE(id, context.genGloballyUniqueId());
    EXPECT_EQ(rpc::GloballyUniqueId::fromIValue(id.toIValue()), id);
    EXPECT_NE(message_of([] { rpc::GloballyUniqueId::fromIValue(3); }), "");
    EXPECT_NE(message_of([] {
                rpc::GloballyUniqueId::fromIValue(c10::ivalue::Tuple::create({c10::IValue(-1), c10::IValue(0)}));
              }),
              "");

    const c10::intrusive_ptr<rpc::OwnerRRef> own = context.createOwnerRRef();
    EXPECT_FALSE(own->hasValue());
    own->setValue(at::ones({2}));
    EXPECT_EQ(own->getValue().toTensor().sum().item<float>(), 2);
    EXPECT_TRUE(own->getFuture()->completed());
    const c10::intrusive_ptr<c10::RRefInterface> held = rpc::fromOwnerRRef(own);
    EXPECT_TRUE(held->isOwner() && held->confirmedByOwner());
    EXPECT_EQ(held->owner(), rank);
    EXPECT_EQ(held->type()->str(), "Any");
    EXPECT_EQ(rpc::fromRRefInterface(held), own);

    const rpc::RRefPtr there = rpc::remote(other, "libtorch.scale", {at::ones({3}), 2.0});
    EXPECT_FALSE(there->isOwner());
    EXPECT_EQ(there->ownerName(), other.name_);
    EXPECT_EQ(there->ownerWorkerInfo(), other);
    const auto* const user = dynamic_cast<rpc::UserRRef*>(there.get());
    ASSERT_NE(user, nullptr);
    EXPECT_EQ(user->toHere().toTensor().sum().item<float>(), 6);
    EXPECT_TRUE(user->confirmedByOwner());
    EXPECT_NE(user->forkId(), user->rrefId());
    EXPECT_EQ(printed(*user), "UserRRef(" + rpc::to_string(user->rrefId()) + " of " + printed(other) + ")");
    EXPECT_NE(message_of([&] { rpc::fromRRefInterface(rpc::fromOwnerRRef(there)); }), "");
  });
}

TEST(RpcByLibtorchsNames, AutogradContexts) {
  EXPECT_EQ(DistAutogradContainer::currentContextId(), -1);
  run_workers([](int rank) {
    DistAutogradContainer& container = DistAutogradContainer::getInstance();
    EXPECT_EQ(container.getWorkerId(), rank);
    EXPECT_FALSE(container.hasValidContext());
    EXPECT_NE(message_of([&] { container.currentContext(); }), "");
    const autograd::ContextPtr context = container.newContext();
    const int64_t id = context->contextId();
    EXPECT_EQ(id >> rpc::GloballyUniqueId::kLocalIdBits, rank);
    EXPECT_EQ(DistAutogradContainer::currentContextId(), id);
    EXPECT_TRUE(container.hasValidContext());
    EXPECT_EQ(container.currentContext(), context);
    EXPECT_NE(message_of([&] { container.newContext(); }), "");
    EXPECT_NE(message_of([&] { DistAutogradContainer::setCurrentContextId(id); }), "");

    const at::Tensor x = at::ones({3}).requires_grad_();
    const at::Tensor y = rpc::rpc_sync<at::Tensor>(1 - rank, "libtorch.scale", {x, 4.0});
    DistEngine::getInstance().execute(id, {y.sum()}, /*retainGraph=*/false);
    EXPECT_EQ(container.retrieveContext(id)->getGradients().at(x).sum().item<float>(), 12);
    EXPECT_FALSE(x.grad().defined());
    EXPECT_EQ(context->getKnownWorkerIds().count(static_cast<rpc::worker_id_t>(1 - rank)), 1u);
    EXPECT_EQ(context->sendFunctions().size(), 1u);

    container.clearCurrentContext();
    EXPECT_FALSE(container.hasValidContext());
    DistAutogradContainer::forceCurrentContextId(id);
    EXPECT_EQ(container.currentContext(), context);
    container.releaseContext(id);
    EXPECT_EQ(DistAutogradContainer::currentContextId(), -1);
    EXPECT_NE(message_of([&] { container.isValidContext(id); }), "");
    EXPECT_NE(message_of([&] { container.releaseContext(id); }), "");
    container.releaseContextIfPresent(id);
  });
}

}  // namespace
}  // namespace torch::distributed
