// vmap itself: dimensions, structures, nesting, random numbers, chunks, and what it refuses. Operators under vmap are
// in tests/vmap and tests/recorded.
#include "func/vmap.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/aten.h"
#include "aten/autocast/autocast_mode.h"
#include "aten/core/library.h"
#include "autograd/autograd.h"

namespace torch::func {
namespace {

using at::Tensor;

Tensor cube(const Tensor& x) {
  return at::mul(at::mul(x, x), x);
}
Tensor first_and_last(const Tensor& x) {
  const double* data = x.contiguous().data_ptr<double>();
  return at::full({2}, data[0] + data[x.numel() - 1], x.options());
}
Tensor batched_only(const Tensor& x) {
  return at::full_like(x, batched_of(x) != nullptr ? 1 : 0);
}

TORCH_LIBRARY(vmapped, m) {
  m.def("cube(Tensor x) -> Tensor", &cube);
  m.def("first_and_last(Tensor x) -> Tensor");
  m.def("mine(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(vmapped, CPU, m) {
  m.impl("first_and_last", &first_and_last);
}
TORCH_LIBRARY_IMPL(vmapped, FuncTorchBatched, m) {
  m.impl("mine", &batched_only);
}

Tensor numbers(std::vector<int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return at::sin(at::arange(n, at::kDouble)).view(sizes);
}

TEST(Vmap, MapsOverDimensions) {
  const Tensor x = numbers({3, 4}), y = numbers({4, 3});
  const auto f = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.sizes(), at::IntArrayRef({4}));
    return at::add(at::mul(a, b), at::sum(a));
  };
  Tensor expected = at::add(at::mul(x, y.t()), at::sum(x, {1}, true));
  EXPECT_TRUE(at::allclose(vmap(f, {0, 1})(x, y), expected));
  EXPECT_TRUE(at::allclose(vmap(f, {0, -1}, 1)(x, y), expected.t()));
  expected = at::add(at::mul(x, x[1]), at::sum(x, {1}, true));
  EXPECT_TRUE(at::allclose(vmap(f, {0, std::nullopt}, -1)(x, x[1]), expected.t()));
}

TEST(Vmap, TakesStructures) {
  const Tensor x = numbers({3, 2}), y = numbers({2, 3});
  using Named = std::map<std::string, Tensor>;
  const auto f = [](const Named& named, const std::vector<Tensor>& list, double factor) {
    return std::make_pair(at::mul(named.at("a"), factor), std::vector<Tensor>{at::add(named.at("b"), list[0])});
  };
  const auto [first, second] =
      vmap(f, {{0, 1}, 0, std::nullopt}, {1, {0}})(Named{{"a", x}, {"b", y}}, std::vector<Tensor>{x}, 2.0);
  EXPECT_TRUE(at::equal(first, at::mul(x, 2).t()));
  EXPECT_TRUE(at::equal(second.at(0), at::add(y.t(), x)));
}

TEST(Vmap, Nests) {
  const Tensor x = numbers({3, 4}), y = numbers({5, 4});
  const auto products =
      vmap([&](const Tensor& a) { return vmap([&](const Tensor& b) { return at::sum(at::mul(a, b)); })(y); });
  EXPECT_TRUE(at::allclose(products(x), at::matmul(x, y.t())));
  // The inner one over what the outer one made.
  const auto inner = vmap([](const Tensor& a) {
    const Tensor squares = at::mul(a, a);
    return vmap([&](const Tensor& b) { return at::add(at::sum(squares), b); }, 0, 0)(a);
  });
  EXPECT_TRUE(at::allclose(inner(x), at::add(at::sum(at::mul(x, x), {1}, true), x)));
}

TEST(Vmap, GradientsPassThrough) {
  Tensor x = numbers({3, 4}).requires_grad_();
  const Tensor y = vmap([](const Tensor& a) { return at::sum(at::mul(at::sin(a), at::select(a, 0, 1))); })(x);
  at::sum(at::mul(y, at::arange(3))).backward();
  Tensor z = numbers({3, 4}).requires_grad_();
  at::sum(at::mul(at::mul(at::sin(z), at::slice(z, 1, 1, 2)).sum({1}), at::arange(3))).backward();
  EXPECT_TRUE(at::allclose(x.grad(), z.grad()));
}

TEST(Vmap, WritesInPlace) {
  const Tensor x = numbers({3, 4});
  const Tensor y = vmap([](const Tensor& a) {
    Tensor b = at::clone(a);
    at::select(b, 0, 2).mul_(10);
    b.add_(1);
    b.unsqueeze_(0);
    EXPECT_EQ(b.sizes(), at::IntArrayRef({1, 4}));
    return b;
  })(x);
  Tensor expected = at::clone(x);
  at::select(expected, 1, 2).mul_(10);
  EXPECT_TRUE(at::allclose(y, at::unsqueeze(at::add(expected, 1), 1)));
  EXPECT_THROW(vmap([](Tensor a, const Tensor& b) { return a.add_(b); }, {std::nullopt, 0})(at::zeros({}), x[0]),
               c10::Error);
}

TEST(Vmap, ComputesInChunks) {
  const Tensor x = numbers({7, 4});
  std::vector<int64_t> calls;
  const auto f = [&](const Tensor& a) {
    calls.push_back(physical_of(a).size(0));
    return std::make_tuple(at::sin(a), at::sum(a));
  };
  const auto [sines, sums] = vmap(f, 0, {1, 0}, "error", 3)(x);
  EXPECT_EQ(calls, (std::vector<int64_t>{3, 3, 1}));
  EXPECT_TRUE(at::allclose(sines, at::sin(x).t()));
  EXPECT_TRUE(at::allclose(sums, at::sum(x, {1})));
  EXPECT_THROW(vmap(f, 0, 0, "error", 0), c10::ValueError);
}

TEST(Vmap, RefusesWhatItCannotMap) {
  const Tensor x = numbers({3}), y = numbers({2});
  const auto add = [](const Tensor& a, const Tensor& b) { return at::add(a, b); };
  const auto sine = [](const Tensor& a) { return at::sin(a); };
  EXPECT_THROW(vmap(add)(x, y), c10::ValueError);
  EXPECT_THROW(vmap(add, {0})(x, x), c10::ValueError);
  EXPECT_THROW(vmap(sine, 1)(x), c10::ValueError);
  EXPECT_THROW(vmap(sine, std::nullopt)(x), c10::ValueError);
  EXPECT_THROW(vmap(sine, 0, 2)(x), c10::IndexError);
  EXPECT_THROW(vmap(sine, 0, std::nullopt)(x), c10::ValueError);
  EXPECT_THROW(vmap([](const Tensor& a, double b) { return at::mul(a, b); })(x, 2.0), c10::ValueError);
  EXPECT_THROW(vmap([](const Tensor&) { return 1.0; })(x), c10::ValueError);
  EXPECT_THROW(vmap([](const Tensor& a) { return at::mul(a, a.item<double>()); })(x), c10::Error);
  EXPECT_THROW(vmap(sine, 0, 0, "sometimes"), c10::Error);
  Tensor kept;
  vmap([&](const Tensor& a) { return kept = at::sin(a); })(x);
  EXPECT_THROW(at::add(kept, 1), c10::Error);
  // In another vmap and in lists as well, which then say so.
  const auto refuses = [](const auto& f) {
    try {
      f();
    } catch (const c10::Error& e) {
      return std::string(e.what()).find("used after that vmap has returned") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refuses([&] { at::cat({kept, kept}); }));
  EXPECT_TRUE(refuses([&] { vmap([&](const Tensor& a) { return at::add(a, at::sin(kept)); })(x); }));
  EXPECT_TRUE(refuses([&] { at::index_put(at::eye(3), {at::gt(x, 0), kept}, x); }));
  EXPECT_TRUE(refuses([&] { vmap([&](const Tensor& a) { return at::stack({a, kept}); })(x); }));
  EXPECT_TRUE(refuses([&] { vmap([&](const Tensor& a) { return at::add(a, at::stack({kept, kept})); })(x); }));
}

// What single calls refuse is refused where samples are computed by other operators, which take more.
TEST(Vmap, ChecksWhatSingleCallsCheck) {
  const Tensor x = numbers({3, 4}), two = at::arange(6).view({3, 2}), mask = at::gt(x, 0);
  const auto by_index = [&](const auto& f, const Tensor& index, const Tensor& source) {
    return vmap([&](const Tensor& a, const Tensor& i, const Tensor& s) { return f(a, i, s); })(x, index, source);
  };
  const auto add = [](const Tensor& a, const Tensor& i, const Tensor& s) { return at::index_add(a, 0, i, s); };
  const auto copy = [](const Tensor& a, const Tensor& i, const Tensor& s) { return at::index_copy(a, 0, i, s); };
  const auto product = [](const Tensor& a, const Tensor& i, const Tensor& s) {
    return at::index_reduce(a, 0, i, s, "prod");
  };
  const auto select = [](const Tensor& a, const Tensor& i, const Tensor&) { return at::index_select(a, 0, i); };
  const auto fill = [](const Tensor& a, const Tensor& i, const Tensor& s) { return at::index_fill(a, 0, i, s); };
  const Tensor places = at::remainder(two, 4), longer = numbers({3, 3}), fits = numbers({3, 2});
  EXPECT_TRUE(at::equal(by_index(add, places, fits)[1], add(x[1], places[1], fits[1])));
  EXPECT_THROW(by_index(add, places, longer), c10::Error);
  EXPECT_THROW(by_index(copy, places, longer), c10::Error);
  EXPECT_THROW(by_index(product, places, longer), c10::Error);
  EXPECT_THROW(by_index(add, places, fits.to(at::kFloat)), c10::Error);
  EXPECT_THROW(by_index(select, places.to(at::kDouble), fits), c10::Error);
  EXPECT_THROW(by_index(fill, places, fits), c10::Error);

  const auto put = [](const Tensor& a, const Tensor& m, const Tensor& v) { return at::index_put(a, {m}, v); };
  const Tensor one = at::ones({}, at::kDouble);
  const auto put_one = vmap(put, {0, 0, std::nullopt});
  EXPECT_TRUE(at::equal(put_one(x, mask, one)[2], put(x[2], mask[2], one)));
  EXPECT_THROW(put_one(x, mask.slice(1, 0, 1), one), c10::IndexError);
  EXPECT_THROW(put_one(x, at::unsqueeze(mask, 1), one), c10::IndexError);
  EXPECT_THROW(put_one(x, mask, one.to(at::kFloat)), c10::Error);
  EXPECT_THROW(vmap([&](const Tensor& a) { return at::index(a, {mask[0].slice(0, 0, 3)}); })(x), c10::IndexError);
  EXPECT_THROW(vmap([&](const Tensor& a, const Tensor& m) { return at::masked_scatter(a, m, at::ones({4})); })(x, mask),
               c10::Error);
  EXPECT_THROW(vmap([](const Tensor& a) { return at::view_as_complex(a); })(numbers({2})), c10::Error);
  EXPECT_THROW(vmap([](const Tensor& a) { return a.view(at::kFloat); })(numbers({2})), c10::Error);
  EXPECT_EQ(vmap([](const Tensor& a) { return a.view(at::kFloat); })(x).sizes(), at::IntArrayRef({3, 8}));
}

// Equal elements share what comes to a median, as in a single call.
TEST(Vmap, GradientsOfMedians) {
  const std::vector<double> values = {1, 1, 2, 3, 1, 1, -INFINITY, 2, 4};
  const auto gradients = [&](const auto& f) {
    Tensor x = at::clone(at::from_blob(const_cast<double*>(values.data()), {3, 3}, at::kDouble)).requires_grad_();
    at::sum(f(x)).backward();
    return x.grad();
  };
  const auto median = [](const Tensor& a) { return at::median(a); };
  const Tensor expected =
      gradients([&](const Tensor& x) { return at::stack({median(x[0]), median(x[1]), median(x[2])}); });
  EXPECT_EQ(expected[0][1].item<double>(), 0.5);
  EXPECT_TRUE(at::equal(gradients(vmap(median)), expected));
  EXPECT_TRUE(at::equal(gradients(vmap([](const Tensor& a) { return at::nanmedian(a); })), expected));
}

TEST(Vmap, RandomNumbersAsAsked) {
  const Tensor x = at::zeros({4, 3}, at::kDouble);
  const auto add_rand = [](const Tensor& a) { return at::add(a, at::rand({3}, a.options())); };
  EXPECT_THROW(vmap(add_rand)(x), c10::Error);
  EXPECT_THROW(vmap([](const Tensor& a) { return at::dropout(a, 0.5, true); })(x), c10::Error);
  at::manual_seed(3);
  const Tensor all = at::rand({4, 3}, x.options());
  at::manual_seed(3);
  const Tensor one = at::rand({3}, x.options());
  for (const auto& [randomness, expected] : {std::pair("different", all), std::pair("same", at::expand(one, {4, 3}))}) {
    at::manual_seed(3);
    EXPECT_TRUE(at::equal(vmap(add_rand, 0, 0, randomness)(x), expected)) << randomness;
    at::manual_seed(3);
    EXPECT_TRUE(at::equal(vmap([](const Tensor& a) { return at::rand_like(a); }, 0, 0, randomness)(x), expected))
        << randomness;
    at::manual_seed(3);
    EXPECT_TRUE(at::equal(vmap([](const Tensor& a) { return at::clone(a).uniform_(); }, 0, 0, randomness)(x), expected))
        << randomness;
  }
  // Chunks: other numbers in each, or the same in all.
  at::manual_seed(3);
  EXPECT_TRUE(at::equal(vmap(add_rand, 0, 0, "different", 2)(x), all));
  at::manual_seed(3);
  EXPECT_TRUE(at::equal(vmap(add_rand, 0, 0, "same", 2)(x), at::expand(one, {4, 3})));
  // Each level by its own.
  const auto nested = [&](const char* outer, const char* inner) {
    at::manual_seed(3);
    return vmap(vmap([](const Tensor& a) { return at::add(a, at::rand({}, a.options())); }, 0, 0, inner), 0, 0,
                outer)(x);
  };
  EXPECT_TRUE(at::equal(nested("different", "different"), all));
  const Tensor rows = nested("different", "same");
  EXPECT_TRUE(at::equal(rows, at::expand(rows.slice(1, 0, 1), {4, 3})));
  EXPECT_FALSE(at::equal(rows[0], rows[1]));
  const auto flip = [](const Tensor& p) { return at::bernoulli(p); };
  EXPECT_THROW(vmap(flip, 0, 0, "same")(at::full({4}, 0.5)), c10::Error);
  EXPECT_EQ(vmap(flip, 0, 0, "different")(at::full({4}, 0.5)).sizes(), at::IntArrayRef({4}));
}

// What grad inside vmap does: leaves of their own for every sample.
TEST(Vmap, GradientsOfEachSample) {
  const Tensor w = numbers({3}), x = numbers({4, 3});
  const auto gradients = vmap([&](const Tensor& sample) {
    const Tensor own = batched_everywhere(w);
    const Tensor leaf = physical_of(own).detach().requires_grad_();
    const Tensor loss = at::sum(at::sin(at::mul(batched_like(own, leaf), sample)));
    const Tensor root = physical_of(batched_everywhere(loss));
    return batched_like(own, torch::autograd::grad({root}, {leaf}, {at::ones_like(root)})[0]);
  })(x);
  EXPECT_TRUE(at::allclose(gradients, at::mul(at::cos(at::mul(w, x)), x)));
}

// What jacrev does: a backward pass with a gradient for each of its rows.
TEST(Vmap, BackwardPassesOfManyGradients) {
  const Tensor x = numbers({3}).requires_grad_(), m = numbers({4, 3});
  const Tensor y = at::sin(at::mv(m, x));
  const Tensor jacobian =
      vmap([&](const Tensor& v) { return torch::autograd::grad({y}, {x}, {v}, true)[0]; })(at::eye(4, at::kDouble));
  EXPECT_TRUE(at::allclose(jacobian, at::mul(at::unsqueeze(at::cos(at::mv(m, x)), 1), m)));
}

TEST(Vmap, OutForms) {
  const Tensor x = numbers({3, 4});
  const Tensor y = vmap([](const Tensor& a) {
    Tensor out = at::empty_like(a);
    at::mul_out(out, a, a);
    return out;
  })(x);
  EXPECT_TRUE(at::equal(y, at::mul(x, x)));
  EXPECT_THROW(vmap([](const Tensor& a) {
                 Tensor out = at::empty({4}, at::kDouble);
                 return at::mul_out(out, a, a);
               })(x),
               c10::Error);
}

// Composed ones need nothing, those with kernels of devices are called sample by sample, and one may have a kernel for
// batched tensors.
TEST(Vmap, OperatorsOfAProgram) {
  const auto call = [](const char* name) {
    return vmap([name](const Tensor& a) {
      c10::Stack stack{a};
      c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(stack);
      return stack.at(0).toTensor();
    });
  };
  const Tensor x = numbers({3, 4});
  EXPECT_TRUE(at::allclose(call("vmapped::cube")(x), at::pow(x, 3)));
  EXPECT_TRUE(at::allclose(call("vmapped::first_and_last")(x),
                           at::expand(at::add(x.slice(1, 0, 1), x.slice(1, 3, 4)), {3, 2})));
  EXPECT_TRUE(at::equal(call("vmapped::mine")(x), at::ones_like(x)));
}

TEST(Vmap, NoSamples) {
  const Tensor none = at::zeros({0, 4}, at::kDouble);
  EXPECT_EQ(vmap([](const Tensor& a) { return at::outer(at::sin(a), a); })(none).sizes(), at::IntArrayRef({0, 4, 4}));
  EXPECT_EQ(vmap([](const Tensor& a) { return at::sum(a); })(none).sizes(), at::IntArrayRef({0}));
}

TEST(Vmap, AutocastInside) {
  const Tensor x = numbers({3, 4, 5}).to(at::kFloat), y = numbers({5, 2}).to(at::kFloat);
  const auto f = vmap([](const Tensor& a, const Tensor& b) { return at::matmul(a, b); }, {0, std::nullopt});
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const Tensor low = f(x, y), expected = at::matmul(x, y);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(low.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(low, expected));
}

TEST(Vmap, WarnsOnceOfLoops) {
  struct Counting final : c10::WarningHandler {
    using c10::WarningHandler::process;
    void process(const c10::Warning& warning) override {
      count += warning.msg().find("performance drop") != std::string::npos;
    }
    int count = 0;
  } counting;
  const c10::WarningUtils::WarningHandlerGuard guard(&counting);
  const auto f = vmap([](const Tensor& a) { return at::histc(a, 3, -1, 1); });
  const Tensor x = numbers({2, 5});
  EXPECT_TRUE(at::equal(f(x), at::stack({at::histc(x[0], 3, -1, 1), at::histc(x[1], 3, -1, 1)})));
  f(x);
  EXPECT_EQ(counting.count, 1);
}

}  // namespace
}  // namespace torch::func
