// Results of collectives that are waited for at their first use: in the hand of a test, and of ranks that are threads.
#include "distributed/process_group/pending_tensor.h"

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <sstream>
#include <thread>

#include "aten/aten.h"
#include "aten/core/printing.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/testing/message_of.h"
#include "c10/util/exception.h"
#include "distributed/process_group/flight_recorder.h"
#include "distributed/process_group/functional.h"
#include "distributed/process_group/group_registry.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/process_group/init.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/threads_engine.h"
#include "jit/api/compilation_unit.h"
#include "utils/serialize/archive.h"

namespace c10d {
namespace {

using at::Tensor;
using c10::testing::message_of;
using Tensors = std::vector<Tensor>;

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

bool is_pending(const Tensor& t) {
  return at::wrapper_of<PendingTensor>(t) != nullptr;
}

// --- an operation that ends when the test says so ---

struct Held : Work {
  Held() : Work(0, OpType::ALLREDUCE) {}
  using Work::finish;
};

struct Pending {
  explicit Pending(Tensor values) : memory(std::move(values)) {}
  Tensor memory;
  c10::intrusive_ptr<Held> work = c10::make_intrusive<Held>();
  Tensor tensor = pending_tensor("all_reduce", memory, work);

  void write(double value) {
    const c10::AutoDispatchBelowADInplaceOrView plain;
    memory.fill_(value);
    work->finish();
  }
};

TEST(PendingTensor, WhatNeedsNoValuesDoesNotWait) {
  Pending p(at::zeros({2, 3}));
  const Tensor& t = p.tensor;
  EXPECT_TRUE(is_pending(t));
  EXPECT_EQ(t.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(t.scalar_type(), at::kFloat);
  EXPECT_FALSE(t.requires_grad());
  const Tensor row = t[1], flat = t.reshape({6}), apart = t.detach(), turned = t.t();
  const Tensors halves = at::split(flat, 3);
  for (const Tensor& view : {row, flat, apart, turned, halves[1]}) EXPECT_TRUE(is_pending(view));
  EXPECT_TRUE(row.is_view());
  EXPECT_FALSE(p.work->isCompleted());
  p.write(2);
  EXPECT_TRUE(at::equal(row, at::full({3}, 2.0)));
  EXPECT_TRUE(at::equal(turned.contiguous(), at::full({3, 2}, 2.0)));
  EXPECT_EQ(halves[1].sum().item<float>(), 6);
  EXPECT_FALSE(is_pending(t + 1));
}

TEST(PendingTensor, TheFirstUseWaits) {
  const std::vector<std::function<double(const Tensor&)>> uses{
      [](const Tensor& t) { return at::add(t, 0).sum().item<double>(); },
      [](const Tensor& t) { return t.sum().item<double>(); },
      [](const Tensor& t) { return t.clone().data_ptr<double>()[0] * 2; },
      [](const Tensor& t) { return t.contiguous().select(0, 1).item<double>() * 2; },
      [](const Tensor& t) {
        return at::cat({at::zeros({1}, at::kDouble), t}).sum().item<double>();
      },
      [](const Tensor& t) { return at::zeros({2}, at::kDouble).add_(t).sum().item<double>(); },
      [](const Tensor& t) { return at::zeros({2}, at::kDouble).copy_(t).sum().item<double>(); },
      [](const Tensor& t) { return at::_foreach_add({t}, 0)[0].sum().item<double>(); },
      [](const Tensor& t) { return wait_tensor(t).data_ptr<double>()[1] * 2; },
      [](const Tensor& t) { return wait_tensor(t).data_ptr<double>() == t.data_ptr<double>() ? 6 : 0; },
      [](const Tensor& t) { return t.to(at::kFloat).sum().item<double>(); },
      [](const Tensor& t) {
        std::ostringstream out;
        out << t;
        return out.str().find("3\n 3") != std::string::npos ? 6 : 0;
      },
  };
  for (size_t i = 0; i < uses.size(); ++i) {
    Pending p(at::zeros({2}, at::kDouble));
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      p.write(3);
    });
    EXPECT_EQ(uses[i](p.tensor), 6) << i;
    writer.join();
  }
}

TEST(PendingTensor, ErrorsComeWithEveryUse) {
  Pending p(at::zeros({2}));
  const Tensor view = p.tensor[0];
  try {
    TORCH_CHECK_WITH(DistBackendError, false, "ALLREDUCE failed on rank 0");
  } catch (const c10::DistBackendError&) {
    p.work->finish(std::current_exception());
  }
  EXPECT_THROW(p.tensor + 1, c10::DistBackendError);
  EXPECT_THROW(view.item(), c10::DistBackendError);
  EXPECT_THROW(wait_tensor(p.tensor), c10::DistBackendError);
  EXPECT_THROW(p.tensor.add_(1), c10::DistBackendError);
  expect_contains(message_of([&] { p.tensor.data_ptr<float>(); }), "wait_tensor() has not been called");
}

TEST(PendingTensor, NoDataBeforeItIsWaitedFor) {
  Pending p(at::zeros({2}));
  p.write(1);
  expect_contains(message_of([&] { p.tensor.data_ptr<float>(); }), "wait_tensor() has not been called");
  EXPECT_TRUE(at::wrapper_of(wait_tensor(p.tensor)) == nullptr);
  EXPECT_EQ(p.tensor.data_ptr<float>(), p.memory.data_ptr<float>());
  EXPECT_EQ(p.tensor[1].data_ptr<float>(), p.memory.data_ptr<float>() + 1);
  EXPECT_EQ(p.tensor.detach().data_ptr<float>(), p.memory.data_ptr<float>());
  const Tensor plain = at::ones({1});
  EXPECT_TRUE(wait_tensor(plain).is_same(plain));
}

TEST(PendingTensor, WrittenInPlace) {
  Pending p(at::zeros({2, 3}));
  p.write(1);
  Tensor t = p.tensor;
  EXPECT_TRUE(t.add_(1).is_same(t));
  t[0].mul_(3);
  t.slice(1, 0, 1).zero_();
  at::add_out(t, t, t);
  EXPECT_TRUE(at::equal(p.memory, at::tensor({0.f, 12.f, 12.f, 0.f, 4.f, 4.f}).view({2, 3}))) << p.memory;
  EXPECT_GE(t._version(), 4);
  Tensor same = wait_tensor(t);
  const auto version = t._version();
  same.add_(1);
  EXPECT_GT(t._version(), version);
  EXPECT_EQ(t[0][0].item<float>(), 1);
  t.t_();
  EXPECT_EQ(t.sizes(), at::IntArrayRef({3, 2}));
  t.resize_({1, 2});
  EXPECT_EQ(t.sizes(), at::IntArrayRef({1, 2}));
  EXPECT_EQ(t.sum().item<float>(), wait_tensor(t).sum().item<float>());
}

TEST(PendingTensor, AutogradSeesWrites) {
  Pending p(at::zeros({2}, at::kDouble));
  p.write(2);
  Tensor w = at::ones({2}, at::kDouble).requires_grad_();
  Tensor product = p.tensor * w;  // keeps both
  p.tensor[0].add_(1);
  expect_contains(message_of([&] { product.sum().backward(); }), "modified by an inplace operation");
  // A view of one in a graph.
  Tensor x = at::ones({2}, at::kDouble).requires_grad_();
  Pending q(at::ones({2}, at::kDouble));
  q.work->finish();
  struct Double : torch::autograd::Function<Double> {
    static Tensor forward(torch::autograd::AutogradContext*, const Tensor&, const Tensor& result) {
      return result.detach();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list grads) {
      return {grads[0] * 2, Tensor()};
    }
  };
  Tensor r = Double::apply(x, q.tensor);
  ASSERT_TRUE(is_pending(r));
  r[1].mul_(5);
  r.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), at::tensor({2.0, 10.0}, at::kDouble))) << x.grad();
}

TEST(PendingTensor, TheInputMustStay) {
  Tensor input = at::ones({2});
  const auto work = c10::make_intrusive<Held>();
  work->finish();
  const Tensor early = pending_tensor("all_gather_into_tensor", at::ones({4}), work, input);
  EXPECT_EQ(early.sum().item<float>(), 4);
  const Tensor late = pending_tensor("all_gather_into_tensor", at::ones({4}), work, input);
  EXPECT_EQ(input.use_count(), 1u);  // its graph is not kept
  input[0].zero_();
  EXPECT_EQ(early.sum().item<float>(), 4);
  expect_contains(message_of([&] { at::sum(late); }),
                  "all_gather_into_tensor: the input was modified by an inplace operation");
}

TEST(PendingTensor, NothingIsLeftOfOneThatIsDropped) {
  const Tensor memory = at::ones({2}), input = at::ones({2});
  const auto work = c10::make_intrusive<Held>();
  const auto users = memory.storage().use_count();
  {
    const Tensor t = pending_tensor("all_reduce", memory, work, input), view = t[0], other = t.detach();
    EXPECT_GT(memory.storage().use_count(), users);
  }
  EXPECT_EQ(memory.storage().use_count(), users);
  EXPECT_EQ(work.use_count(), 1u);
  EXPECT_EQ(input.storage().use_count(), users);
  work->finish();
  const Tensor t = pending_tensor("all_reduce", memory, work, input);
  EXPECT_EQ(t.sum().item<float>(), 2);
  EXPECT_EQ(input.storage().use_count(), users);  // no longer read
}

TEST(PendingTensor, SeveralThreadsUseOne) {
  Pending p(at::zeros({1000}, at::kDouble));
  std::vector<double> sums(4);
  std::vector<std::thread> threads;
  for (double& sum : sums) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) sum += (p.tensor.view({10, 100})[i % 10] * 2).sum().item<double>();
    });
  }
  p.write(1);
  for (std::thread& thread : threads) thread.join();
  for (const double sum : sums) EXPECT_EQ(sum, 50 * 200);
}

TEST(PendingTensor, IsSavedOnceItIsWaitedFor) {
  Pending p(at::zeros({2}));
  p.write(4);
  std::stringstream file;
  expect_contains(message_of([&] { torch::save(p.tensor, file); }), "wait_tensor() has not been called");
  file.str("");
  torch::save(wait_tensor(p.tensor), file);
  Tensor loaded;
  torch::load(loaded, file);
  EXPECT_TRUE(at::equal(loaded, at::full({2}, 4.0)));
}

// --- ranks ---

constexpr int kSize = 3;

// The group is called "g".
void with_ranks(const std::function<void(int, const ProcessGroupPtr&)>& body) {
  auto engines = testing::threads_engines(kSize);
  testing::run_ranks(kSize, [&](int rank) {
    auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", std::chrono::seconds(20));
    options->group_name = "g";
    const auto group = c10::make_intrusive<ProcessGroup>(rank, kSize);
    group->setBackend(at::kCPU, ProcessGroup::CUSTOM,
                      c10::make_intrusive<HostBackend>(std::move(engines[static_cast<size_t>(rank)]), options));
    group->setGroupName("g");
    register_process_group("g", group);
    body(rank, group);
    unregister_process_group("g");
  });
}

Tensor input_of(int rank, int64_t rows = 6) {
  return at::sin(at::arange(rows * 2, at::kDouble).view({rows, 2}) * (rank + 1));
}

c10::IValue call(const char* name, c10::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
  return stack.at(0);
}

TEST(FunctionalOperators, AreWhatTheGroupDoes) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    const Tensor x = input_of(rank);
    Tensors list{x.clone()};
    group->allreduce(list)->wait();
    const c10::IValue inputs(Tensors{x, x * 2});
    EXPECT_TRUE(at::equal(call("_c10d_functional::all_reduce", {x, "sum", "g"}).toTensor(), list[0]));
    const Tensors two = call("_c10d_functional::all_reduce_coalesced", {inputs, "sum", "g"}).toTensorVector();
    EXPECT_TRUE(is_pending(two[0]) && is_pending(two[1]));
    EXPECT_TRUE(at::equal(two[0], list[0]));
    EXPECT_TRUE(at::equal(two[1], list[0] * 2));
    Tensor own = x.clone();
    EXPECT_TRUE(call("_c10d_functional::all_reduce_", {own, "sum", "g"}).toTensor().is_same(own));
    EXPECT_TRUE(at::equal(own, list[0]));
    EXPECT_EQ(own._version(), 1);
    own = x.clone();
    call("_c10d_functional::all_reduce_coalesced_", {c10::IValue(Tensors{own}), "sum", "g"});
    EXPECT_TRUE(at::equal(own, list[0]));

    Tensor in = x.clone(), all = at::empty({6 * kSize, 2}, at::kDouble), part = at::empty({2, 2}, at::kDouble);
    group->all_gather_single(all, in)->wait();
    EXPECT_TRUE(at::equal(call("_c10d_functional::all_gather_into_tensor", {x, kSize, "g"}).toTensor(), all));
    EXPECT_TRUE(at::equal(
        call("_c10d_functional::all_gather_into_tensor_coalesced", {inputs, kSize, "g"}).toTensorVector()[1], all * 2));
    const Tensor out = at::empty_like(all);
    EXPECT_TRUE(call("_c10d_functional::all_gather_into_tensor_out", {x, kSize, "g", out}).toTensor().is_same(out));
    EXPECT_TRUE(at::equal(out, all));
    group->reduce_scatter_single(part, in)->wait();
    EXPECT_TRUE(at::equal(call("_c10d_functional::reduce_scatter_tensor", {x, "sum", kSize, "g"}).toTensor(), part));
    EXPECT_TRUE(at::equal(
        call("_c10d_functional::reduce_scatter_tensor_coalesced", {inputs, "sum", kSize, "g"}).toTensorVector()[1],
        part * 2));

    Tensor leaf = x.clone().requires_grad_();
    call("_c10d_functional_autograd::reduce_scatter_tensor", {leaf, "sum", kSize, "g"}).toTensor().sum().backward();
    EXPECT_TRUE(at::equal(leaf.grad(), at::ones_like(x)));
    // Rank r gets r + 1 rows from each.
    std::vector<int64_t> from{1, 2, 3}, to(kSize, rank + 1);
    Tensor rows = at::empty({3 * (rank + 1), 2}, at::kDouble);
    group->all_to_all_single(rows, in, to, from)->wait();
    EXPECT_TRUE(at::equal(call("_c10d_functional::all_to_all_single", {x, to, from, "g"}).toTensor(), rows));

    Tensors sent{x.clone()};
    group->broadcast(sent, {.rootRank = 2})->wait();
    EXPECT_TRUE(at::equal(call("_c10d_functional::broadcast", {x, 2, "g"}).toTensor(), sent[0]));
    own = x.clone();
    EXPECT_TRUE(call("_c10d_functional::broadcast_", {own, 2, "g"}).toTensor().is_same(own));
    EXPECT_TRUE(at::equal(own, sent[0]));

    const Tensor pending = call("_c10d_functional::all_reduce", {x, "sum", "g"}).toTensor();
    EXPECT_FALSE(is_pending(call("_c10d_functional::wait_tensor", {pending}).toTensor()));
    EXPECT_EQ(pending.data_ptr<double>()[0], list[0].data_ptr<double>()[0]);
    // One of another, also in place.
    Tensor again = all_reduce(all_reduce(x, "sum", group), "sum", group);
    EXPECT_TRUE(at::equal(again, list[0] + list[0] + list[0]));
    all_reduce_(again, "max", group);
    EXPECT_TRUE(at::equal(again, list[0] + list[0] + list[0]));
    EXPECT_TRUE(at::equal(all_gather_into_tensor(again.t(), kSize, group)[2], again.t()[0]));
  });
}

TEST(FunctionalOperators, TwoAreInFlightBeforeTheFirstUse) {
  std::latch seen(1);
  with_ranks([&](int rank, const ProcessGroupPtr& group) {
    if (rank != 0) seen.wait();  // what rank 0 starts cannot be done before that
    const Tensor a = all_reduce(input_of(rank), "sum", group);
    const Tensor b = all_gather_into_tensor(input_of(rank), kSize, group);
    if (rank == 0) {
      const std::string active = FlightRecorder::get()->dump(true, /*only_active=*/true);
      expect_contains(active, "all_reduce");
      expect_contains(active, "all_gather");
      seen.count_down();
    }
    EXPECT_TRUE(at::allclose(a, input_of(0) + input_of(1) + input_of(2)));
    EXPECT_TRUE(at::equal(b.narrow(0, 6, 6), input_of(1)));
    const std::string active = FlightRecorder::get()->dump(true, /*only_active=*/true);
    EXPECT_EQ(active.find("all_reduce"), std::string::npos) << active;
  });
}

// Of X, which all ranks have: the rows of each are squared there and go through `middle`, and the results are joined.
// What is joined is the same on all ranks, and the gradient of X is X's.
Tensor whole_of(const Tensor& X, const ProcessGroupPtr& group, const std::function<Tensor(const Tensor&)>& middle) {
  const Tensor own = reduce_scatter_tensor(X, "avg", kSize, group);
  return all_gather_into_tensor(middle(own * own), kSize, group);
}

TEST(FunctionalOperators, GradientsAreThoseOfDifferences) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    const std::vector<std::function<Tensor(const Tensor&)>> middles{
        [](const Tensor& x) { return x; },
        [&](const Tensor& x) { return all_reduce(x, "sum", group); },
        [&](const Tensor& x) { return all_reduce(x, "avg", group); },
        [&](const Tensor& x) { return all_to_all_single(x, {}, {}, group); },
        [&](const Tensor& x) { return broadcast(x, 1, group); },
        [&](const Tensor& x) { return wait_tensor(all_gather_into_tensor(x, kSize, group)) * 2; },
    };
    for (size_t i = 0; i < middles.size(); ++i) {
      const auto function = [&](const torch::autograd::variable_list& v) -> torch::autograd::variable_list {
        return {wait_tensor(whole_of(v[0], group, middles[i]))};  // the check reads the memory
      };
      const auto gradient = [&](const torch::autograd::variable_list& v) -> torch::autograd::variable_list {
        const c10::AutoGradMode recording(true);  // the differences are taken without
        const Tensor X = v[0].requires_grad() ? v[0] : v[0].detach().requires_grad_();
        const Tensor y = whole_of(X, group, middles[i]);
        return {wait_tensor(torch::autograd::grad({at::sum(y * y)}, {X}, {}, true, true)[0])};
      };
      const Tensor X = (input_of(0, 9) + 2).requires_grad_();
      const auto first = torch::autograd::gradcheck(function, {X});
      EXPECT_TRUE(first.ok) << i << " on rank " << rank << ": " << first.message;
      if (i % 2 == 1) continue;
      const auto second = torch::autograd::gradcheck(gradient, {X}, {.atol = 1e-3});
      EXPECT_TRUE(second.ok) << i << " on rank " << rank << ": " << second.message;
    }
  });
}

TEST(FunctionalOperators, GradientsOfLeavesAreThere) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    Tensor x = input_of(rank).requires_grad_();
    Tensor seen;
    const Tensor between = x * 1;
    between.register_hook([&](const Tensor& grad) { seen = grad; });
    // The gradient comes expanded from sum().
    (all_gather_into_tensor(x, kSize, group).sum() + all_reduce(between, "sum", group).sum()).backward();
    EXPECT_TRUE(is_pending(seen));
    EXPECT_FALSE(is_pending(x.grad()));
    EXPECT_EQ(x.grad().data_ptr<double>()[3], 2 * kSize);
    Tensor leaf = input_of(rank).requires_grad_();
    all_reduce(leaf, "sum", group).sum().backward();
    EXPECT_EQ(leaf.grad().data_ptr<double>()[0], kSize);
  });
}

// Linear layers, the first with its columns and the second with its rows spread over the ranks.
TEST(FunctionalOperators, TrainsLikeOneProcess) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    const Tensor x = input_of(1, 4).t(), wanted = input_of(2, 2);
    Tensor v = (input_of(0, 4).view({4, 2}).repeat({1, 3}) / 2).requires_grad_(),
           w = (input_of(3, 6) / 2).requires_grad_();
    Tensor own_v = v.detach().narrow(1, 2 * rank, 2).clone().requires_grad_();
    Tensor own_w = w.detach().narrow(0, 2 * rank, 2).clone().requires_grad_();
    const auto step = [](const Tensors& parameters) {
      const c10::NoGradGuard no_grad;
      for (Tensor p : parameters) {
        p.sub_(p.grad() * 0.1);
        p.mutable_grad() = Tensor();
      }
    };
    for (int i = 0; i < 20; ++i) {
      const Tensor loss = (at::tanh(x.matmul(v)).matmul(w) - wanted).pow(2).mean();
      loss.backward();
      step({v, w});
      // Each rank gives its third of the gradient of the sum.
      const Tensor own_loss =
          (all_reduce(at::tanh(x.matmul(own_v)).matmul(own_w), "sum", group) - wanted).pow(2).mean() / kSize;
      own_loss.backward();
      step({own_v, own_w});
      EXPECT_TRUE(at::allclose(own_loss * kSize, loss, 1e-12, 1e-12)) << i;
    }
    EXPECT_TRUE(at::allclose(own_v, v.narrow(1, 2 * rank, 2), 1e-10, 1e-10));
  });
}

TEST(FunctionalOperators, InTorchScript) {
  with_ranks([](int rank, const ProcessGroupPtr&) {
    const auto unit = torch::jit::compile(
        "def f(x):\n"
        "  y = torch.ops._c10d_functional.all_reduce(x, 'sum', 'g')\n"
        "  return torch.ops._c10d_functional.wait_tensor(y) * x\n");
    Tensor x = input_of(rank).requires_grad_();
    const Tensor y = unit->run_method("f", x).toTensor();
    const Tensor sum = all_reduce(x, "sum", "g");
    EXPECT_TRUE(at::equal(y, sum * x));
    const Tensor expected = torch::autograd::grad({(sum * x).sum()}, {x})[0];
    EXPECT_TRUE(at::equal(torch::autograd::grad({y.sum()}, {x})[0], expected));
  });
}

TEST(FunctionalOperators, TheFirstUseThrowsTheErrorOfTheOperation) {
  std::latch started(1);
  const auto errors =
      testing::errors_of_ranks(kSize, [&, engines = std::make_shared<decltype(testing::threads_engines(kSize))>(
                                              testing::threads_engines(kSize))](int rank) {
        auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", std::chrono::seconds(20));
        const auto backend =
            c10::make_intrusive<HostBackend>(std::move((*engines)[static_cast<size_t>(rank)]), options);
        const auto group = c10::make_intrusive<ProcessGroup>(rank, kSize);
        group->setBackend(at::kCPU, ProcessGroup::CUSTOM, backend);
        if (rank == 0) {
          const Tensor y = all_reduce(at::ones({2}), "sum", group), unused = all_reduce(at::ones({2}), "sum", group);
          started.count_down();
          at::add(y, 1);
        } else {
          started.wait();
          group->abort("no more");
        }
      });
  expect_contains(errors[0], "ALLREDUCE");
  expect_contains(errors[0], "on rank 0");
}

TEST(FunctionalOperators, InferenceMode) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    const c10::InferenceMode inference;
    Tensor sum = all_reduce(input_of(rank), "sum", group);
    all_reduce_(sum, "max", group);
    EXPECT_TRUE(at::allclose(sum[1], (input_of(0) + input_of(1) + input_of(2))[1]));
  });
}

// They go to the group's own operations once they are waited for, and are refused before.
TEST(FunctionalOperators, ResultsAsArgumentsOfTheGroup) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    Tensors list{all_reduce(input_of(rank), "sum", group)};
    expect_contains(message_of([&] { group->allreduce(list); }), "wait_tensor() has not been called");
    wait_tensor(list[0]);
    group->allreduce(list)->wait();
    EXPECT_TRUE(at::allclose(list[0], (input_of(0) + input_of(1) + input_of(2)) * kSize));
  });
}

TEST(FunctionalOperators, UnusedResultsAndWrongArguments) {
  with_ranks([](int rank, const ProcessGroupPtr& group) {
    for (int i = 0; i < 20; ++i) {
      all_gather_into_tensor(input_of(rank), kSize, group);
      all_reduce(input_of(rank).requires_grad_(), "sum", group);
    }
    EXPECT_TRUE(at::allclose(all_reduce(input_of(rank), "sum", group), input_of(0) + input_of(1) + input_of(2)));
    EXPECT_THROW(call("_c10d_functional::all_reduce", {input_of(rank), "mean", "g"}), c10::ValueError);
    EXPECT_THROW(call("_c10d_functional::all_reduce", {input_of(rank), "sum", "none"}), c10::Error);
    EXPECT_THROW(call("_c10d_functional::all_gather_into_tensor", {input_of(rank), 2, "g"}), c10::ValueError);
    EXPECT_THROW(call("_c10d_functional::all_reduce", {input_of(rank), "sum"}), c10::TypeError);
    Tensor x = input_of(rank);
    const Tensor all = all_gather_into_tensor(x, kSize, group);
    x.zero_();
    expect_contains(message_of([&] { at::sum(all); }), "all_gather_into_tensor: the input was modified");
  });
}

}  // namespace
}  // namespace c10d
