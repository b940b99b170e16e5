// Programs with collectives that are captured, saved, loaded and run by ranks that are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/functional.h"
#include "distributed/process_group/group_registry.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/threads_engine.h"
#include "export/capture/export.h"
#include "export/pt2/pt2.h"
#include "nn/layers/linear.h"

namespace c10d {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int kSize = 2;

// The group is "0", as that of all ranks is in PyTorch's programs.
void with_ranks(const std::function<void(int)>& body) {
  auto engines = testing::threads_engines(kSize);
  testing::run_ranks(kSize, [&](int rank) {
    const auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", std::chrono::seconds(20));
    const auto group = c10::make_intrusive<ProcessGroup>(rank, kSize);
    group->setBackend(at::kCPU, ProcessGroup::CUSTOM,
                      c10::make_intrusive<HostBackend>(std::move(engines[static_cast<size_t>(rank)]), options));
    group->setGroupName("0");
    register_process_group("0", group);
    body(rank);
    unregister_process_group("0");
  });
}

Tensor input_of(int rank) {
  return at::sin(at::arange(8, at::kFloat).view({2, 4}) * (rank + 1));
}

torch::ExportedProgram saved_and_loaded(const torch::ExportedProgram& program) {
  std::ostringstream stream;
  torch::save_exported(program, stream);
  // KINDLING_WRITE_PROGRAM=FILE: to look at, or for torch.export.load.
  if (const char* const file = std::getenv("KINDLING_WRITE_PROGRAM")) torch::save_exported(program, file);
  return torch::load_exported(std::make_shared<torch::serialize::FileBytes>(stream.str(), "written"));
}

struct AllImpl : torch::nn::Module {
  AllImpl() : up(register_module("up", torch::nn::Linear(4, 3))) {}
  std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> forward(const Tensor& x) {
    const Tensor y = all_reduce(up(x), "sum", "0");
    const Tensor gathered = all_gather_into_tensor(x, kSize, "0");
    Tensor sum = x * 3;
    all_reduce_(sum, "max", "0");
    return {at::relu(y),
            gathered,
            reduce_scatter_tensor(gathered * 2, "avg", kSize, "0"),
            broadcast(x + 1, 1, "0"),
            wait_tensor(all_to_all_single(gathered, {}, {}, "0")),
            sum};
  }
  torch::nn::Linear up;
};

TEST(ExportedPrograms, AreSavedLoadedAndRunByRanks) {
  with_ranks([](int rank) {
    const c10::NoGradGuard no_grad;
    const auto net = std::make_shared<AllImpl>();
    for (Tensor& p : net->parameters()) p.copy_(at::arange(p.numel(), at::kFloat).view(p.sizes()) / 8);
    const torch::ExportedProgram program = torch::export_(net, input_of(rank));
    const torch::ExportedProgram again = saved_and_loaded(program);
    for (const int step : {0, 5}) {  // of other values than those it was captured with
      const Tensor x = input_of(rank + step);
      const auto expected = net->forward(x);
      const c10::IValue result = again({x});
      const auto parts = result.toTupleRef().elementsArrayRef();
      ASSERT_EQ(parts.size(), 6u);
      const Tensors wanted = std::apply([](const auto&... one) { return Tensors{one...}; }, expected);
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(at::equal(parts[i].toTensor(), wanted[i])) << rank << " result " << i;
      }
    }
  });
}

// With gradients, and sizes that differ.
TEST(ExportedPrograms, HaveSizesThatDiffer) {
  with_ranks([](int rank) {
    const c10::NoGradGuard no_grad;
    const auto both = [](const Tensor& x) {
      return all_reduce(x * 2, "sum", "0") + all_gather_into_tensor(x, kSize, "0").sum();
    };
    torch::ExportOptions sizes;
    sizes.dynamic_shapes = {{{0, torch::Dim("rows")}}};
    const torch::ExportedProgram program = torch::export_(both, input_of(rank), sizes);
    const torch::ExportedProgram again = saved_and_loaded(program);
    const Tensor x = at::cat({input_of(rank), input_of(rank + 3), input_of(rank)});
    EXPECT_TRUE(at::equal(again({x}).toTensor(), both(x)));
  });
}

// Written by PyTorch 2.15 (torch.export.save) of torch.distributed._functional_collectives' functions.
TEST(ExportedPrograms, OfPyTorchAreRunByRanks) {
  with_ranks([](int rank) {
    const c10::NoGradGuard no_grad;
    const torch::ExportedProgram program =
        torch::load_exported("distributed/process_group/testdata/functional_collectives.export@2.15.0.pt2");
    const c10::IValue result = program({input_of(rank)});
    const auto parts = result.toTupleRef().elementsArrayRef();
    const Tensor weight = at::arange(12, at::kFloat).view({3, 4}) / 8, bias = at::arange(3, at::kFloat);
    const auto up = [&](int r) { return at::linear(input_of(r), weight, bias); };
    EXPECT_TRUE(at::equal(parts[0].toTensor(), at::relu(up(0) + up(1))));
    const Tensor all = at::cat({input_of(0), input_of(1)});
    EXPECT_TRUE(at::equal(parts[1].toTensor(), all));
    EXPECT_TRUE(at::equal(parts[2].toTensor(), all.narrow(0, 2 * rank, 2) * 2));
    EXPECT_TRUE(at::equal(parts[3].toTensor(), input_of(1) + 1));
    EXPECT_TRUE(at::equal(parts[4].toTensor(), at::cat({input_of(rank), input_of(rank)})));
  });
}

}  // namespace
}  // namespace c10d
