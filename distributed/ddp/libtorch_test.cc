// A program of libtorch's: header paths, names, order of arguments; and data-parallel training beside <torch/torch.h>.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/default_comm_hooks.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/ddp/testing/group.h"

namespace {

// A hook as programs write it: the mean of twice the gradients.
class Doubled : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  explicit Doubled(const c10::intrusive_ptr<c10d::ProcessGroup>& state)
      : c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>>(state) {}
  ~Doubled() override = default;
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::vector<at::Tensor> tensors = {bucket.getBufferRef()};
    return state_->allreduce(tensors)->getFuture()->then(
        [](c10::ivalue::Future& future) {
          const at::Tensor sum = c10d::detail::parseCppCommHookResult(future.value());
          return c10::IValue(sum);
        },
        c10::AnyType::get());
  }
};

TEST(Libtorch, AReducerByHand) {
  c10d::testing::run_group(2, [](int rank, const c10d::testing::Group& group) {
    torch::nn::Linear net(3, 2);
    c10d::testing::fill(*net, 1);
    std::vector<at::Tensor> params = net->parameters();
    c10d::verify_params_across_processes(group, params, {});
    c10d::broadcast_coalesced(group, params, size_t{250} << 20, 0);
    auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
        params,
        {static_cast<size_t>(c10d::kDefaultFirstBucketBytes), static_cast<size_t>(c10d::kDefaultBucketBytesCap)},
        {false, false}, {}, {});
    auto reducer = std::make_shared<c10d::Reducer>(params, std::move(buckets), group, std::vector<bool>{false, false},
                                                   c10d::kDefaultBucketBytesCap, false, true,
                                                   std::unordered_map<size_t, std::string>{{0, "weight"}, {1, "bias"}},
                                                   c10d::kDefaultFirstBucketBytes, false, false);
    auto logger = std::make_shared<c10d::Logger>(reducer);
    reducer->set_logger(logger);
    logger->set_construction_data_and_log("net", {}, -1, false, false, false);
    reducer->register_comm_hook(std::make_unique<Doubled>(group));
    for (int step = 0; step < 3; ++step) {
      net->zero_grad();
      reducer->prepare_for_forward();
      EXPECT_EQ(reducer->rebuild_buckets(), step == 1);
      const torch::Tensor y = net(torch::full({1, 3}, 1.0 + rank));
      reducer->prepare_for_backward({y});
      y.sum().backward();
      EXPECT_TRUE(torch::equal(net->weight.grad(), torch::full({2, 3}, 3.0)));
    }
    const at::DDPLoggingData data = logger->get_ddp_logging_data();
    EXPECT_EQ(data.ints_map.at("iteration"), 3);
    EXPECT_EQ(data.strs_map.at("module_name"), "net");
    EXPECT_EQ(reducer->get_grad_buckets().size(), 1u);
    EXPECT_EQ(reducer->get_backward_stats().size(), 2u);
    EXPECT_GT(reducer->get_backward_stats()[0], 0);
  });
}

TEST(Libtorch, ALimitForEachBucket) {
  c10d::testing::run_group(2, [](int, const c10d::testing::Group& group) {
    torch::nn::Linear net(3, 2);  // of 24 and 8 bytes
    for (const int64_t first : {int64_t{8}, int64_t{100}}) {
      const std::vector<at::Tensor> params = net->parameters();
      c10d::Reducer reducer(params, {{0, 1}}, group, {false, false}, c10d::kDefaultBucketBytesCap, false, true, {},
                            c10d::kDefaultFirstBucketBytes, false, false, {first, 1000});
      net->zero_grad();
      reducer.prepare_for_forward();
      reducer.prepare_for_backward({});
      net(torch::ones({1, 3})).sum().backward();
      EXPECT_TRUE(reducer.rebuild_buckets());
      EXPECT_EQ(reducer.get_grad_buckets().size(), first == 8 ? 2u : 1u);
    }
    EXPECT_THROW(c10d::Reducer(net->parameters(), {{0, 1}}, group, {}, 1, false, true, {}, 1, false, false, {0}),
                 c10::Error);
  });
}

TEST(Libtorch, TrainsASequential) {
  c10d::testing::run_group(2, [](int rank, const c10d::testing::Group& group) {
    torch::nn::Sequential net(torch::nn::Linear(3, 4), torch::nn::ReLU(), torch::nn::Linear(4, 2));
    torch::nn::parallel::DistributedDataParallel ddp(net, {group});
    torch::optim::SGD sgd(ddp->parameters(), 0.1);
    double first = 0, last = 0;
    for (int step = 0; step < 20; ++step) {
      const torch::Tensor loss = torch::mse_loss(ddp(torch::full({2, 3}, 0.1 * rank)), torch::full({2, 2}, 0.5 + rank));
      sgd.zero_grad();
      loss.backward();
      sgd.step();
      (step == 0 ? first : last) = loss.item<double>();
    }
    EXPECT_NE(first, last);
    for (const torch::Tensor& p : ddp->parameters()) {
      std::vector<torch::Tensor> root{p.detach().clone()};
      group->broadcast(root)->wait();
      EXPECT_TRUE(torch::equal(root[0], p));
    }
  });
}

}  // namespace
