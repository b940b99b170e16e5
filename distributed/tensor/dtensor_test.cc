#include "distributed/tensor/dtensor.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/memory/cpu_allocator.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/process_group/functional.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"
#include "distributed/tensor/sharding.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;

Tensor sample(at::IntArrayRef sizes, double first = 1) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).add(first)).view(sizes);
}

void expect_near(const Tensor& actual, const Tensor& expected, const char* what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(at::allclose(actual, expected, 1e-12, 1e-12)) << what << ": " << actual << " expected " << expected;
}

TEST(DTensor, IsATensorWithoutStorage) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const DTensor t = distribute_tensor(sample({5, 4}), mesh, {Shard(0)});
    EXPECT_EQ(t.sizes(), at::IntArrayRef({5, 4}));
    EXPECT_EQ(t.stride(0), 4);
    EXPECT_EQ(t.to_local().size(0), mesh.get_rank() == 0 ? 3 : 2);
    EXPECT_EQ(t.scalar_type(), at::kDouble);
    EXPECT_THROW(t.data_ptr(), c10::Error);
    EXPECT_TRUE(DTensor::is(t));
    EXPECT_FALSE(DTensor::is(t.to_local()));
    EXPECT_THROW(DTensor(t.to_local()), c10::TypeError);
    EXPECT_TRUE(at::equal(t.full_tensor(), sample({5, 4})));
  });
}

TEST(DTensor, DistributesWhatOneRankHas) {
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const Tensor mine = at::full({4}, static_cast<double>(mesh.get_rank()));
    EXPECT_EQ(distribute_tensor(mine, mesh, {Shard(0), Replicate()}).full_tensor()[3].item<double>(), 0);
    EXPECT_EQ(distribute_tensor(mine, mesh, {Replicate(), Replicate()}, 1).full_tensor()[3].item<double>(), 3);
    const Tensor of_each = distribute_tensor(mine, mesh, {Replicate(), Replicate()}, std::nullopt).to_local();
    EXPECT_EQ(of_each[0].item<double>(), static_cast<double>(mesh.get_rank()));
    EXPECT_THROW(distribute_tensor(mine, mesh, {Partial(), Replicate()}), c10::ValueError);
    EXPECT_TRUE(distribute_tensor(at::ones({4}).requires_grad_(), mesh, {Shard(0), Replicate()}).requires_grad());
  });
}

TEST(DTensor, FromLocalAndBack) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor part = sample({2, 3}, static_cast<double>(mesh.get_rank()) * 6).requires_grad_();
    const DTensor t = DTensor::from_local(part, mesh, {Shard(0)});
    EXPECT_EQ(t.size(0), 4);
    const Tensor weights = distribute_tensor(sample({4, 3}, 50), mesh, {Shard(0)});
    at::sum(at::mul(t, weights)).backward();
    EXPECT_TRUE(at::equal(part.grad(), sample({4, 3}, 50).narrow(0, mesh.get_rank() * 2, 2)));
    // Of a sum of parts, each part's gradient is the sum's.
    const Tensor share = at::ones({3}).requires_grad_();
    const DTensor sum = DTensor::from_local(share, mesh, {Partial()});
    EXPECT_EQ(sum.full_tensor()[0].item<float>(), 2);
    at::sum(DTensor(at::mul(sum, 3)).full_tensor()).backward();
    EXPECT_EQ(share.grad()[0].item<float>(), 3);
    // Of what a collective has yet to write.
    const Tensor pending = c10d::all_gather_into_tensor(part.detach(), 2, mesh.get_group());
    EXPECT_TRUE(at::equal(DTensor::from_local(pending, mesh, {Shard(1)}).full_tensor().narrow(1, 3, 3), pending));
    FromLocalOptions uneven;
    uneven.shape = {{5, 3}};
    uneven.run_check = true;
    const Tensor rest = at::ones({mesh.get_rank() == 0 ? 3 : 2, 3});
    EXPECT_EQ(DTensor::from_local(rest, mesh, {Shard(0)}, uneven).size(0), 5);
    EXPECT_THROW(DTensor::from_local(rest, mesh, {Shard(2)}), c10::ValueError);
    if (mesh.get_rank() == 1) {
      EXPECT_THROW(DTensor::from_local(at::ones({4, 3}), mesh, {Shard(0)}, FromLocalOptions{false, {{5, 3}}, {}}),
                   c10::ValueError);
    }
  });
}

// A function of whole tensors gives the same on distributed ones, with the same gradients.
using Function = Tensor (*)(const std::vector<Tensor>& inputs);
struct Case {
  const char* name;
  Function function;
  std::vector<std::vector<int64_t>> sizes;
};

const Case kCases[] = {
    {"add", [](const std::vector<Tensor>& x) { return x[0] + x[1]; }, {{6, 4}, {4}}},
    {"mul", [](const std::vector<Tensor>& x) { return at::mul(x[0], x[1]); }, {{6, 4}, {6, 1}}},
    {"gelu", [](const std::vector<Tensor>& x) { return at::gelu(x[0]); }, {{6, 4}}},
    {"matmul", [](const std::vector<Tensor>& x) { return at::matmul(x[0], x[1]); }, {{6, 4}, {4, 8}}},
    {"matmul 3d", [](const std::vector<Tensor>& x) { return at::matmul(x[0], x[1]); }, {{2, 6, 4}, {4, 8}}},
    {"bmm", [](const std::vector<Tensor>& x) { return at::bmm(x[0], x[1]); }, {{4, 6, 4}, {4, 4, 8}}},
    {"linear", [](const std::vector<Tensor>& x) { return at::linear(x[0], x[1], x[2]); }, {{2, 6, 4}, {8, 4}, {8}}},
    {"addmm", [](const std::vector<Tensor>& x) { return at::addmm(x[0], x[1], x[2], 2, 0.5); }, {{8}, {6, 4}, {4, 8}}},
    {"sum", [](const std::vector<Tensor>& x) { return at::sum(x[0], {0}); }, {{6, 4}}},
    {"sum keepdim", [](const std::vector<Tensor>& x) { return at::sum(x[0], {1}, true) + x[1]; }, {{6, 4}, {6, 1}}},
    {"mean", [](const std::vector<Tensor>& x) { return at::mean(x[0]); }, {{6, 4}}},
    {"amax", [](const std::vector<Tensor>& x) { return at::amax(x[0], {-1}); }, {{6, 4}}},
    {"var", [](const std::vector<Tensor>& x) { return at::var(x[0], {0}); }, {{6, 4}}},
    {"softmax", [](const std::vector<Tensor>& x) { return at::softmax(x[0], 1); }, {{6, 4}}},
    {"log_softmax", [](const std::vector<Tensor>& x) { return at::log_softmax(x[0], 0); }, {{6, 4}}},
    {"layer_norm",
     [](const std::vector<Tensor>& x) { return at::layer_norm(x[0], {4}, x[1], x[2]); },
     {{6, 4}, {4}, {4}}},
    {"transpose", [](const std::vector<Tensor>& x) { return at::transpose(x[0], 0, 2) * 2; }, {{2, 6, 4}}},
    {"permute",
     [](const std::vector<Tensor>& x) {
       return at::permute(x[0], {2, 0, 1}) * 2;
     },
     {{2, 6, 4}}},
    {"view",
     [](const std::vector<Tensor>& x) {
       return at::reshape(x[0], {2, 6, 2, 2}) * 2;
     },
     {{2, 6, 4}}},
    {"flatten", [](const std::vector<Tensor>& x) { return at::flatten(x[0], 0, 1) * 2; }, {{2, 6, 4}}},
    {"split", [](const std::vector<Tensor>& x) { return at::split(x[0], 2, 1)[1] * 2; }, {{2, 6, 4}}},
    {"slice", [](const std::vector<Tensor>& x) { return at::slice(x[0], 1, 1, 5, 2) * 2; }, {{2, 6, 4}}},
    {"select", [](const std::vector<Tensor>& x) { return at::select(x[0], 0, 1) * 2; }, {{2, 6, 4}}},
    {"expand",
     [](const std::vector<Tensor>& x) {
       return at::expand(x[0], {3, 6, 4}) * 2;
     },
     {{6, 4}}},
    {"cat",
     [](const std::vector<Tensor>& x) {
       return at::cat({x[0], x[1]}, 1);
     },
     {{6, 4}, {6, 2}}},
    {"cat of equals",
     [](const std::vector<Tensor>& x) {
       return at::softmax(at::mul(at::cat({x[0], x[1]}, 1), 2), 1);
     },
     {{6, 4}, {6, 4}}},
    {"split of cat",
     [](const std::vector<Tensor>& x) {
       return at::mul(at::split(at::cat({x[0], x[1]}, 0), 6, 0)[1], x[0]);
     },
     {{6, 4}, {6, 4}}},
    {"stack",
     [](const std::vector<Tensor>& x) {
       return at::stack({x[0], x[1]}, 1);
     },
     {{6, 4}, {6, 4}}},
    {"squeeze", [](const std::vector<Tensor>& x) { return at::unsqueeze(at::squeeze(x[0], 1), 0) * 2; }, {{6, 1, 4}}},
    {"cumsum", [](const std::vector<Tensor>& x) { return at::cumsum(x[0], 0); }, {{6, 4}}},
    {"attention",
     [](const std::vector<Tensor>& x) { return at::scaled_dot_product_attention(x[0], x[1], x[2], {}, 0, true); },
     {{2, 4, 6, 4}, {2, 4, 6, 4}, {2, 4, 6, 4}}},
    {"conv2d",
     [](const std::vector<Tensor>& x) { return at::conv2d(x[0], x[1], x[2]); },
     {{4, 2, 6, 6}, {4, 2, 3, 3}, {4}}},
    {"max_pool2d",
     [](const std::vector<Tensor>& x) {
       return at::max_pool2d(x[0], {2, 2});
     },
     {{4, 2, 6, 6}}},
    {"mse_loss", [](const std::vector<Tensor>& x) { return at::mse_loss(x[0], x[1]); }, {{6, 4}, {6, 4}}},
    {"where", [](const std::vector<Tensor>& x) { return at::where(at::gt(x[0], 0), x[0], x[1]); }, {{6, 4}, {4}}},
    {"clone in place", [](const std::vector<Tensor>& x) { return at::clone(x[0]).mul_(x[1]).add_(1); }, {{6, 4}, {4}}},
    {"out",
     [](const std::vector<Tensor>& x) {
       const c10::NoGradGuard no_grad;
       Tensor out = at::empty_like(x[0]);
       at::add_out(out, x[0], x[1]);
       return out;
     },
     {{6, 4}, {6, 4}}},
    {"tril", [](const std::vector<Tensor>& x) { return at::tril(x[0]); }, {{2, 6, 4}}},
    {"norm", [](const std::vector<Tensor>& x) { return at::linalg_vector_norm(x[0]); }, {{6, 4}}},
};

std::vector<std::vector<Placement>> placements_for(int64_t ndim, size_t mesh_dims) {
  std::vector<Placement> one{Replicate(), Partial()};
  for (int64_t d = 0; d < ndim; ++d) one.push_back(Shard(d));
  if (mesh_dims == 1) {
    std::vector<std::vector<Placement>> all;
    for (const Placement& p : one) all.push_back({p});
    return all;
  }
  std::vector<std::vector<Placement>> all;
  for (const Placement& p : one) {
    for (const Placement& q : one) all.push_back({p, q});
  }
  return all;
}

// A leaf with such placements.
DTensor leaf(const Tensor& whole, const DeviceMesh& mesh, const std::vector<Placement>& placements) {
  const c10::NoGradGuard no_grad;
  const DTensor t = distribute_tensor(whole, mesh, std::vector<Placement>(placements.size())).redistribute(placements);
  return DTensor(t.detach().requires_grad_());
}

// Of a function that throws, the error names the case.
template <class F>
auto described_errors(const std::string& described, const F& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    throw std::runtime_error(described + ": " + error.what());
  }
}

void check(const Case& c, const DeviceMesh& mesh) {
  std::vector<Tensor> plain;
  for (size_t i = 0; i < c.sizes.size(); ++i)
    plain.push_back(sample(c.sizes[i], static_cast<double>(i) * 17).requires_grad_());
  const Tensor expected = c.function(plain);
  const Tensor weights = sample(expected.sizes(), 99);
  if (expected.requires_grad()) at::sum(at::mul(expected, weights)).backward();
  // Each input in every way, the others in a way that changes along.
  for (size_t varied = 0; varied < plain.size(); ++varied) {
    const auto ways = placements_for(plain[varied].dim(), static_cast<size_t>(mesh.ndim()));
    for (size_t w = 0; w < ways.size(); ++w) {
      std::vector<Tensor> inputs;
      std::string described = std::string(c.name) + ":";
      for (size_t i = 0; i < plain.size(); ++i) {
        const auto others = placements_for(plain[i].dim(), static_cast<size_t>(mesh.ndim()));
        const auto& placements = i == varied ? ways[w] : others[(w * 7 + i) % others.size()];
        inputs.push_back(leaf(plain[i].detach(), mesh, placements));
        described += " " + str(placements);
      }
      SCOPED_TRACE(described);
      const Tensor result = described_errors(described, [&] { return c.function(inputs); });
      ASSERT_TRUE(DTensor::is(result));
      expect_near(DTensor(result.detach()).full_tensor(), expected.detach(), "result");
      if (!expected.requires_grad()) continue;
      const Tensor whole_weights =
          distribute_tensor(weights, mesh, std::vector<Placement>(static_cast<size_t>(mesh.ndim())));
      described_errors(described, [&] { at::sum(at::mul(result, whole_weights)).backward(); });
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_TRUE(inputs[i].grad().defined());
        expect_near(DTensor(inputs[i].grad().detach()).full_tensor(), plain[i].grad(), "gradient");
      }
    }
  }
}

class Functions : public ::testing::TestWithParam<Case> {};

TEST_P(Functions, EqualThoseOfWholeTensors) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) { check(GetParam(), mesh); });
  testing::run_mesh({4}, [](const DeviceMesh& mesh) { check(GetParam(), mesh); });
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) { check(GetParam(), mesh); });
}

INSTANTIATE_TEST_SUITE_P(All, Functions, ::testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

TEST(DTensor, WritesToViewsChangeTheBase) {
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const auto written = [](const Tensor& t) {
      Tensor copy = at::clone(t);
      copy.select(0, 1).narrow(0, 1, 2).mul_(3);
      return copy;
    };
    Tensor plain = sample({6, 4}).requires_grad_();
    const Tensor expected = written(plain), weights = sample({6, 4}, 9);
    at::sum(at::mul(expected, weights)).backward();
    for (const auto& placements : placements_for(2, 2)) {
      const Tensor t = leaf(sample({6, 4}), mesh, placements);
      const bool cut = placements[0].is_shard() || placements[1].is_shard();
      if (cut) {
        // Some rank's view would have memory of its own.
        EXPECT_THROW(written(t), c10::Error) << str(placements);
        continue;
      }
      const Tensor result = written(t);
      expect_near(DTensor(result.detach()).full_tensor(), expected.detach(), "result");
      at::sum(at::mul(result, distribute_tensor(weights, mesh, {Replicate(), Replicate()}))).backward();
      expect_near(DTensor(t.grad().detach()).full_tensor(), plain.grad(), "gradient");
    }
  });
}

TEST(DTensor, RandomNumbersAreThoseOfOneDevice) {
  testing::run_mesh({2, 2}, [](const DeviceMesh& mesh) {
    const auto generator = [] { return at::make_generator<at::CPUGeneratorImpl>(uint64_t{5}); };
    Tensor whole = at::empty({6, 4});
    whole.normal_(0, 1, generator());
    Tensor parts = empty({6, 4}, mesh, {Shard(0), Shard(1)});
    parts.normal_(0, 1, generator());
    EXPECT_TRUE(at::equal(DTensor(parts).full_tensor(), whole));
  });
}

TEST(DTensor, Errors) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor t = distribute_tensor(at::ones({4}), mesh, {Shard(0)});
    const auto message = [](const auto& call) {
      try {
        call();
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string("no error");
    };
    EXPECT_NE(message([&] { at::add(t, at::ones({4})); }).find("got mixed torch.Tensor and DTensor"),
              std::string::npos);
    EXPECT_TRUE(at::equal(DTensor(at::add(t, at::scalar_tensor(2))).full_tensor(), at::full({4}, 3.0)));
    {
      const ImplicitReplication guard;
      EXPECT_TRUE(at::equal(DTensor(at::add(t, at::ones({4}))).full_tensor(), at::full({4}, 2.0)));
    }
    EXPECT_NE(
        message([&] { at::add(t, distribute_tensor(at::ones({3}), mesh, {Replicate()})); }).find("must match the size"),
        std::string::npos);
    const std::string unknown = message([&] { at::_philox_key_split(t, 2); });
    EXPECT_NE(unknown.find("aten::_philox_key_split does not have a sharding strategy registered"), std::string::npos)
        << unknown;
  });
}

TEST(DTensor, ProgramsRegisterRulesOfTheirOwn) {
  register_sharding("aten::trace", [](ShardedCall& call) { call.add({{Shard(1)}, {Partial()}}); });
  EXPECT_THROW(register_sharding("aten::trace", [](ShardedCall&) {}), c10::ValueError);
  EXPECT_THROW(parse_sharding("no_such_rule"), c10::ValueError);
  EXPECT_THROW(parse_sharding("along(dim"), c10::ValueError);
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const DTensor traced(at::trace(distribute_tensor(sample({4, 4}), mesh, {Shard(1)})));
    EXPECT_TRUE(traced.placements()[0].is_partial("sum"));
  });
}

TEST(DTensor, TablesByRowsAndColumns) {
  const Tensor table = sample({5, 4}), weights = sample({2, 3, 4}, 7);
  const Tensor places = at::arange(6).mul(3).remainder(5).view({2, 3});
  Tensor plain = table.clone().requires_grad_();
  at::sum(at::mul(at::embedding(plain, places), weights)).backward();
  testing::run_mesh({2, 2}, [&](const DeviceMesh& mesh) {
    for (const auto& of_table : placements_for(2, 2)) {
      for (const auto& of_places : placements_for(2, 2)) {
        if (of_places[0].is_partial() || of_places[1].is_partial()) continue;
        SCOPED_TRACE(str(of_table) + str(of_places));
        const Tensor t = leaf(table, mesh, of_table), p = distribute_tensor(places, mesh, of_places);
        const Tensor found = at::embedding(t, p);
        expect_near(DTensor(found.detach()).full_tensor(), at::embedding(table, places), "rows");
        at::sum(at::mul(found, distribute_tensor(weights, mesh, {Replicate(), Replicate()}))).backward();
        expect_near(DTensor(t.grad().detach()).full_tensor(), plain.grad(), "gradient");
      }
    }
  });
  testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    const Tensor t = distribute_tensor(table, mesh, {Shard(0)}), p = distribute_tensor(places, mesh, {Replicate()});
    const CommDebugMode counted;
    EXPECT_TRUE(DTensor(at::embedding(t, p)).placements()[0].is_partial("sum"));
    EXPECT_EQ(counted.get_total_counts(), 0);
  });
}

// Of one of eight ranks, by the allocator: the shard of the gradient, and the copy that becomes grad(). And padding,
// and frequencies.
TEST(DTensor, GradientsOfTablesByRowsAreMadeByRows) {
  constexpr int64_t kRows = 8192, kWidth = 64, kRanks = 8;
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, kRanks);
  group->setBackend(at::kCPU, c10d::ProcessGroup::CUSTOM, c10::make_intrusive<c10d::FakeProcessGroup>(0, kRanks));
  const DeviceMesh mesh = DeviceMesh::from_group(group, at::kCPU);
  const Tensor table =
      DTensor::from_local(at::ones({kRows / kRanks, kWidth}), mesh, {Shard(0)}).detach().requires_grad_();
  const Tensor places = distribute_tensor(at::arange(16).mul(500), mesh, {Replicate()});
  const auto allocated = [] { return static_cast<double>(c10::cpu_memory_stats().allocated_bytes); };
  const Tensor sum = at::sum(at::embedding(table, places));
  const double before = allocated();
  c10::reset_peak_cpu_memory_stats();
  sum.backward();
  const double shard = static_cast<double>(kRows * kWidth * 4) / kRanks;
  EXPECT_LE(static_cast<double>(c10::cpu_memory_stats().peak_allocated_bytes) - before, 2.1 * shard);
  EXPECT_EQ(DTensor(table.grad()).placements()[0], Shard(0));

  const Tensor values = sample({7, 3}), weights = sample({6, 3}, 7),
               some = at::tensor({1, 6, 6, 2, 5, 1}).to(at::kLong);
  for (const bool by_frequency : {false, true}) {
    for (const int64_t padding : {-1, 2, 6}) {
      Tensor plain = values.clone().requires_grad_();
      at::sum(at::mul(at::embedding(plain, some, padding, by_frequency), weights)).backward();
      testing::run_mesh({3}, [&](const DeviceMesh& three) {
        const Tensor t = leaf(values, three, {Shard(0)});
        const auto whole = [&](const Tensor& one) { return distribute_tensor(one, three, {Replicate()}); };
        at::sum(at::mul(at::embedding(t, whole(some), padding, by_frequency), whole(weights))).backward();
        EXPECT_EQ(DTensor(t.grad()).placements()[0], Shard(0));
        EXPECT_TRUE(at::equal(DTensor(t.grad().detach()).full_tensor(), plain.grad())) << padding << by_frequency;
      });
    }
  }
}

TEST(DTensor, LossesOfClasses) {
  const Tensor scores = sample({6, 4}), targets = at::arange(6).remainder(4), weight = sample({4}).abs();
  testing::run_mesh({2, 2}, [&](const DeviceMesh& mesh) {
    for (const int64_t reduction : {0, 1, 2}) {
      Tensor plain = scores.clone().requires_grad_();
      const Tensor expected = at::cross_entropy_loss(plain, targets, weight, reduction, 2);
      at::sum(expected).backward();
      for (const auto& placements : placements_for(2, 2)) {
        SCOPED_TRACE(str(placements));
        const std::vector<Placement> whole{Replicate(), Replicate()};
        const Tensor t = leaf(scores, mesh, placements);
        const Tensor loss = at::cross_entropy_loss(t, distribute_tensor(targets, mesh, whole),
                                                   distribute_tensor(weight, mesh, whole), reduction, 2);
        expect_near(DTensor(loss.detach()).full_tensor(), expected.detach(), "loss");
        at::sum(loss).backward();
        expect_near(DTensor(t.grad().detach()).full_tensor(), plain.grad(), "gradient");
      }
    }
  });
}

// Layers side by side, each of which is cut by itself.
TEST(DTensor, PiecesThatAreCutEach) {
  const Tensor x = sample({2, 3, 4}), w = sample({12, 4}, 20), b = sample({12}, 80), weights = sample({2, 3, 4}, 9);
  const auto function = [](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& factors,
                           bool by_sizes) {
    const Tensor y = at::linear(input, weight, bias);
    const std::vector<Tensor> parts = by_sizes ? at::split_with_sizes(y, {4, 4, 4}, -1) : at::split(y, int64_t{4}, -1);
    return at::sum(at::mul(at::sub(at::mul(parts[0], parts[1]), parts[2]), factors));
  };
  for (const bool by_sizes : {false, true}) {
    Tensor plain[] = {x.clone().requires_grad_(), w.clone().requires_grad_(), b.clone().requires_grad_()};
    const Tensor expected = function(plain[0], plain[1], plain[2], weights, by_sizes);
    expected.backward();
    testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
      const std::vector<Placement> cut{StridedShard(0, 3)};
      Tensor inputs[] = {leaf(x, mesh, {Replicate()}), leaf(w, mesh, cut), leaf(b, mesh, cut)};
      const CommDebugMode counted;
      const Tensor y =
          function(inputs[0], inputs[1], inputs[2], distribute_tensor(weights, mesh, {Replicate()}, {}), by_sizes);
      y.backward();
      EXPECT_EQ(counted.get_total_counts(), 0);
      EXPECT_EQ(DTensor(inputs[1].grad()).placements(), cut);
      EXPECT_EQ(DTensor(inputs[2].grad()).placements(), cut);
      expect_near(DTensor(y.detach()).full_tensor(), expected.detach(), "result");
      for (size_t i = 0; i < 3; ++i) {
        expect_near(DTensor(inputs[i].grad()).full_tensor(), plain[i].grad(), "gradient");
      }
    });
  }
}

// Gradients of parts along other dimensions stay sharded.
TEST(DTensor, GradientsOfPartsStayWhereTheyAre) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor t = sample({6, 4}), weights = sample({6}, 9);
    Tensor plain = t.clone().requires_grad_();
    at::sum(at::mul(at::mul(at::select(plain, 1, -1), at::slice(plain, 1, 1, 3).sum(1)), weights)).backward();
    const Tensor x = leaf(t, mesh, {Shard(0)}), w = distribute_tensor(weights, mesh, {Shard(0)});
    const CommDebugMode counted;
    at::sum(at::mul(at::mul(at::select(x, 1, -1), at::slice(x, 1, 1, 3).sum(1)), w)).backward();
    EXPECT_EQ(counted.get_total_counts(), 0);
    EXPECT_EQ(DTensor(x.grad()).placements()[0], Shard(0));
    expect_near(DTensor(x.grad()).full_tensor(), plain.grad(), "gradient");
  });
}

// What was found out about calls does not keep the mesh, nor its groups.
TEST(DTensor, AMeshEndsWithItsTensors) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto& group = mesh.get_group();
    const size_t before = group.use_count();
    {
      const DeviceMesh other = DeviceMesh::from_group(group, at::kCPU);
      const Tensor x = leaf(sample({4, 3}), other, {Shard(0)}), w = leaf(sample({3, 3}, 5), other, {Replicate()});
      at::sum(at::matmul(at::mul(x, x), w)).backward();
      EXPECT_GT(group.use_count(), before);
    }
    EXPECT_EQ(group.use_count(), before);
  });
}

TEST(DTensor, NeedsFewCollectives) {
  testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    // A feed-forward layer cut by columns and rows: one sum.
    const Tensor x = distribute_tensor(sample({6, 4}), mesh, {Replicate()});
    const Tensor up = distribute_tensor(sample({8, 4}), mesh, {Shard(0)}),
                 down = distribute_tensor(sample({4, 8}), mesh, {Shard(1)});
    const CommDebugMode counted;
    const DTensor y(at::linear(at::relu(at::linear(x, up)), down));
    EXPECT_EQ(counted.get_total_counts(), 0);
    EXPECT_TRUE(y.placements()[0].is_partial("sum"));
    y.redistribute({Replicate()});
    EXPECT_EQ(counted.get_comm_counts().at("all_reduce"), 1);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor
