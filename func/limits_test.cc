// What transforms refuse, by the words that say so.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/test_support.h"
#include "c10/util/exception.h"
#include "func/transforms.h"
#include "func/vmap.h"

namespace torch::func {
namespace {

using at::Tensor;
using autograd::test::message_of;

Tensor numbers() {
  return at::arange(12, at::kDouble).view({3, 4});
}

template <typename E = c10::Error, typename F>
void expect_refused(const char* words, const F& call) {
  SCOPED_TRACE(words);
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "of another type: " << error.what();
  }
}
template <typename F>
auto mapped(const F& f) {
  return [f] { vmap(f)(numbers()); };
}

TEST(VmapLimits, ValuesOfSamples) {
  expect_refused("vmap: It looks like you're calling .item() on a Tensor",
                 mapped([](const Tensor& a) { return a * at::sum(a).item<double>(); }));
  const char* const control_flow =
      "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow";
  expect_refused(control_flow, mapped([](const Tensor& a) { return at::sum(a).is_nonzero() ? a : -a; }));
  expect_refused("aten::equal", mapped([](const Tensor& a) { return at::equal(a, a) ? a : -a; }));
  expect_refused("allclose", mapped([](const Tensor& a) { return at::allclose(a, a) ? a : -a; }));
  expect_refused("Cannot access data pointer of Tensor that doesn't have storage",
                 mapped([](const Tensor& a) { return a * *a.data_ptr<double>(); }));
}

TEST(VmapLimits, ShapesThatDependOnValues) {
  const auto dynamic = [](const char* name) {
    return "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over " +
           std::string(name);
  };
  expect_refused(dynamic("aten::nonzero").c_str(), mapped([](const Tensor& a) { return at::nonzero(a); }));
  expect_refused(dynamic("aten::_unique2").c_str(),
                 mapped([](const Tensor& a) { return std::get<0>(at::_unique2(a)); }));
  expect_refused(dynamic("aten::nonzero").c_str(), mapped([](const Tensor& a) { return at::where(a)[0]; }));
  expect_refused("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask)",
                 mapped([](const Tensor& a) { return at::masked_select(a, at::gt(a, 0)); }));
  expect_refused("Attempting to batch over indexing with a boolean mask",
                 mapped([](const Tensor& a) { return a.index({at::gt(a, 0)}); }));
  expect_refused("vmapping over the `repeats` tensor requires the `output_size` argument",
                 mapped([](const Tensor& a) { return at::repeat_interleave(a.to(at::kLong)); }));
  expect_refused("dynamic shape", mapped([](const Tensor& a) { return at::bincount(a.to(at::kLong)); }));
  expect_refused("dynamic shape", mapped([](const Tensor& a) { return at::argwhere(a); }));
}

TEST(VmapLimits, WritesToWhatAllSamplesShare) {
  const char* const words = "(self, *extra_args) is not possible because";
  expect_refused(words, mapped([](const Tensor& a) { return at::zeros({4}, at::kDouble).add_(a); }));
  expect_refused(words, mapped([](const Tensor& a) { return at::zeros({4}, at::kDouble).copy_(a); }));
  expect_refused(words, mapped([](const Tensor& a) { return at::zeros({4}, at::kDouble).fill_(at::sum(a)); }));
  expect_refused(words, mapped([](const Tensor& a) {
                   return at::zeros({4}, at::kDouble).index_put_({at::zeros({1}, at::kLong)}, a.slice(0, 0, 1));
                 }));
  // A tensor made like a sample is one for each.
  EXPECT_TRUE(at::equal(vmap([](const Tensor& a) { return at::zeros_like(a).add_(a); })(numbers()), numbers()));
  expect_refused("cannot take over", mapped([](const Tensor& a) {
                   Tensor out = at::empty({0}, at::kDouble);
                   return at::sin_out(out, a);
                 }));
}

TEST(VmapLimits, RandomNumbers) {
  const char* const words = "vmap: called random operation while in randomness error mode";
  expect_refused(words, mapped([](const Tensor& a) { return a + at::randn({4}); }));
  expect_refused(words, mapped([](const Tensor& a) { return at::dropout(a, 0.5, true); }));
  expect_refused("Cannot ask for different inplace randomness on an unbatched tensor", [] {
    vmap([](const Tensor& a) { return at::zeros({4}, at::kDouble).uniform_() + a; }, 0, 0, "different")(numbers());
  });
  expect_refused("does not currently support same randomness with a batched tensor input",
                 [] { vmap([](const Tensor& a) { return at::multinomial(a + 1, 1); }, 0, 0, "same")(numbers()); });
  expect_refused("Only allowed values for randomness are 'error', 'different', or 'same'. Got foo",
                 [] { vmap([](const Tensor& a) { return a; }, 0, 0, "foo"); });
}

TEST(VmapLimits, Dimensions) {
  const auto same = [](const Tensor& a) { return a; };
  const Tensor x = numbers();
  EXPECT_TRUE(at::equal(vmap(same, -1)(x), at::t(x)));
  EXPECT_TRUE(at::equal(vmap(same, 0, -1)(x), at::t(x)));
  EXPECT_TRUE(at::equal(vmap(same, 0, -1, "error", 2)(x), at::t(x)));
  expect_refused<c10::ValueError>(
      "in_dims=2, ...)(<inputs>): Got in_dim=2 for some input, but that input is a Tensor of dimensionality 2 so "
      "expected in_dim to satisfy -2 <= in_dim < 2.",
      [&] { vmap(same, 2)(x); });
  expect_refused<c10::ValueError>("Got in_dim=-3 for some input", [&] { vmap(same, -3)(x); });
  expect_refused<c10::ValueError>("Expected at least one Tensor to vmap over", [&] { vmap(same, {std::nullopt})(x); });
  expect_refused<c10::ValueError>("is not compatible with the structure", [&] { vmap(same, {0, 0})(x); });
  expect_refused<c10::ValueError>("is not compatible with the structure", [&] {
    vmap([](const Tensor& a, const Tensor&) { return a; }, {0, {0, 0}})(x, x);
  });
  expect_refused<c10::ValueError>(
      "Got in_dim=0 for an input but the input is of type float. We cannot vmap over non-Tensor arguments", [&] {
        vmap([](const Tensor& a, double) { return a; }, {0, 0})(x, 2.0);
      });
  expect_refused<c10::ValueError>(
      "Expected all tensors to have the same size in the mapped dimension, got sizes [3, 4]", [&] {
        vmap([](const Tensor& a, const Tensor&) { return a; }, {0, 1})(x, x);
      });
  expect_refused<c10::ValueError>("got no inputs. Maybe you forgot to add inputs", [&] { vmap([x] { return x; })(); });
  expect_refused<c10::ValueError>("dimensionality 0", [&] { vmap(same)(at::scalar_tensor(1)); });

  const auto two = [](const Tensor& a) { return std::tuple(a, at::sum(a)); };
  EXPECT_TRUE(at::equal(std::get<0>(vmap(two, 0, {1, 0})(x)), at::t(x)));
  EXPECT_TRUE(at::equal(std::get<0>(vmap(two, 0, {1, 0}, "error", 2)(x)), at::t(x)));
  expect_refused<c10::ValueError>("is not compatible with the structure", [&] { vmap(two, 0, {0})(x); });
  expect_refused<c10::IndexError>("Dimension out of range (expected to be in range of [-2, 1], but got 2)",
                                  [&] { vmap(same, 0, 2)(x); });
  expect_refused<c10::ValueError>("can not return a BatchedTensor when out_dim is",
                                  [&] { vmap(same, 0, std::nullopt)(x); });
  const auto ones = [](const Tensor&) { return at::ones({2}); };
  EXPECT_EQ(vmap(ones, 0, std::nullopt)(x).sizes(), at::IntArrayRef({2}));
  EXPECT_EQ(vmap(ones, 0, std::nullopt, "error", 2)(x).sizes(), at::IntArrayRef({2}));
  expect_refused<c10::ValueError>("must only return Tensors, got type int",
                                  [&] { vmap([](const Tensor&) { return 3; })(x); });
}

TEST(VmapLimits, Chunks) {
  const auto twice = [](const Tensor& a) { return a * 2; };
  const Tensor x = numbers();
  for (const int64_t chunk : {0, -1}) {
    expect_refused<c10::ValueError>("greater than 0. (got ", [&] { vmap(twice, 0, 0, "error", chunk); });
  }
  for (const int64_t chunk : {1, 2, 3, 5}) EXPECT_TRUE(at::equal(vmap(twice, 0, 0, "error", chunk)(x), x * 2));
  EXPECT_EQ(vmap(twice, 0, 0, "error", 2)(x.slice(0, 0, 0)).sizes(), at::IntArrayRef({0, 4}));
  // Structures in structures.
  using Nested = std::pair<std::vector<Tensor>, std::map<std::string, Tensor>>;
  const Nested nested{{x, x + 1}, {{"a", at::t(x)}}};
  const auto sum = [](const Nested& n) {
    return std::tuple(n.first[0] + n.first[1], std::vector<Tensor>{at::sum(n.second.at("a"))});
  };
  for (const std::optional<int64_t> chunk : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const auto [first, rest] = vmap(sum, {{{0, 0}, {1}}}, {1, {0}}, "error", chunk)(nested);
    EXPECT_TRUE(at::equal(first, at::t(x * 2 + 1)));
    EXPECT_TRUE(at::equal(rest[0], at::sum(x, {1})));
  }
}

TEST(VmapLimits, TensorsThatEscape) {
  Tensor kept;
  const auto keep = [&](const Tensor& a) { return kept = a; };
  vmap(keep)(numbers());
  expect_refused("a tensor from inside a vmap is used after that vmap has returned", [&] { at::add(kept, 1); });
  expect_refused("a tensor from inside a vmap is used after that vmap has returned",
                 mapped([&](const Tensor& a) { return a + kept; }));
}

TEST(GradLimits, WhatIsRefused) {
  const Tensor x = numbers();
  expect_refused("only Tensors of floating point dtype can require gradients",
                 [&] { grad([](const Tensor& a) { return at::sum(a); })(x.to(at::kLong)); });
  expect_refused(
      "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 2 dims. Maybe "
      "you wanted to use the vjp or jacrev APIs instead?",
      [&] { grad([](const Tensor& a) { return a * 2; })(x); });
  expect_refused("a leaf Variable that requires grad is being used in an in-place operation",
                 [&] { grad([](Tensor a) { return at::sum(a.mul_(2)); })(x); });
  expect_refused("Got argnum=1, but only 1 positional inputs",
                 [&] { grad([](const Tensor& a) { return at::sum(a); }, 1)(x); });
  expect_refused("argnums elements must be unique", [&] {
    grad([](const Tensor& a, const Tensor&) { return at::sum(a); }, std::vector<int64_t>{0, 0})(x, x);
  });
  expect_refused("Mismatch in shape: grad_output[0] has a shape of [4] and output[0] has a shape of [3, 4]",
                 [&] { vjp([](const Tensor& a) { return a * 2; }, x).second(x[0]); });
  expect_refused("Tensor is of size [3, 4] while the given forward gradient is of size [4]",
                 [&] { jvp([](const Tensor& a) { return a * 2; }, std::tuple(x), std::tuple(x[0])); });
  expect_refused("The output of f is independent of the inputs. This is not allowed with strict=True", [&] {
    jvp([](const Tensor&) { return at::ones({2}); }, std::tuple(x), std::tuple(x), /*strict=*/true);
  });
  expect_refused<c10::ValueError>("Expected primal to be floating point or complex, but got:",
                                  [&] { jacfwd([](const Tensor& a) { return a * 2; })(x.to(at::kLong)); });
  expect_refused<c10::ValueError>("jacrev: `chunk_size` should be greater than 0.", [&] {
    jacrev([](const Tensor& a) { return a * 2; }, argnums<0>, JacrevOptions{.chunk_size = 0})(x);
  });
  // Values may be asked for outside of vmap.
  const auto by_value = [](const Tensor& a) { return at::sum(a).item<double>() > 0 ? at::sum(a) * 3 : at::sum(a); };
  EXPECT_TRUE(at::equal(grad(by_value)(x), at::full_like(x, 3)));
  EXPECT_TRUE(at::equal(jvp(by_value, std::tuple(x), std::tuple(x)).second, at::sum(x) * 3));
}

// The functions of autograd inside of transforms: new leaves have gradients of their own there.
TEST(GradLimits, AutogradInside) {
  const Tensor x = numbers();
  const auto inner = [](const Tensor& a) {
    const Tensor leaf = a.detach().set_requires_grad(true);
    return at::sum(autograd::grad({at::sum(at::pow(leaf, 3))}, {leaf})[0] * a);
  };
  EXPECT_TRUE(at::allclose(grad(inner)(x), x * x * 3));
  expect_refused("You are attempting to call Tensor.requires_grad_()",
                 mapped([](const Tensor& a) { return a.clone().set_requires_grad(true); }));
  const char* const words = "does not require grad and does not have a grad_fn";
  expect_refused(words, mapped([](const Tensor& a) { return autograd::grad({at::sum(a)}, {a})[0]; }));
  expect_refused(words, mapped([](const Tensor& a) {
                   at::sum(a).backward();
                   return a;
                 }));
}

}  // namespace
}  // namespace torch::func
