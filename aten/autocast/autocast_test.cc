// The state of autocast, its kernels, and the cache of casts. That each operator has PyTorch's policy is tested by
// //tests/recorded.
#include "aten/autocast/autocast.h"

#include <gtest/gtest.h>

#include <thread>

#include "aten/aten.h"
#include "aten/core/library.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "c10/util/warning.h"

namespace at::autocast {
namespace {

Tensor ones(ScalarType type = kFloat) {
  return at::ones({2, 2}, TensorOptions(type));
}

struct Warnings final : c10::WarningHandler {
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  std::vector<std::string> texts;
};

template <class F>
std::vector<std::string> warnings_of(const F& f) {
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  f();
  return warnings.texts;
}

TEST(Autocast, StateOfAThread) {
  EXPECT_FALSE(is_autocast_enabled(kCPU));
  EXPECT_EQ(get_autocast_dtype(kCPU), kBFloat16);
  EXPECT_EQ(get_autocast_dtype(kCUDA), kHalf);
  EXPECT_TRUE(is_autocast_cache_enabled());
  set_autocast_enabled(kCUDA, true);
  set_autocast_dtype(kCUDA, kBFloat16);
  EXPECT_TRUE(is_enabled());
  EXPECT_FALSE(is_cpu_enabled());
  EXPECT_EQ(get_autocast_gpu_dtype(), kBFloat16);
  EXPECT_EQ(get_lower_precision_fp_from_device_type(kCUDA), kBFloat16);
  std::thread([] {
    EXPECT_FALSE(is_enabled());
    EXPECT_EQ(get_autocast_gpu_dtype(), kHalf);
  }).join();
  const ThreadLocalState state;
  std::thread([&] {
    const ThreadLocalStateGuard guard(state);
    EXPECT_TRUE(is_enabled());
    EXPECT_EQ(get_autocast_gpu_dtype(), kBFloat16);
  }).join();
  set_autocast_gpu_dtype(kHalf);
  set_enabled(false);
  EXPECT_FALSE(is_autocast_enabled(kCUDA));
  EXPECT_EQ(increment_nesting(), 1);
  EXPECT_EQ(decrement_nesting(), 0);
  EXPECT_TRUE(is_autocast_available(kCPU));
  EXPECT_FALSE(is_autocast_available(kMeta));
  EXPECT_THROW(is_autocast_enabled(kMeta), c10::Error);
}

TEST(Autocast, CastsByPolicy) {
  const Tensor f = ones(), b = ones(kBFloat16);
  torch::autocast region(kCPU);
  EXPECT_EQ(at::mm(f, f).scalar_type(), kBFloat16);
  EXPECT_EQ(at::linear(f, f, f[0]).scalar_type(), kBFloat16);  // composed of others; an optional argument
  EXPECT_EQ(at::mse_loss(b, b).scalar_type(), kFloat);
  EXPECT_EQ(at::cat({f, b}).scalar_type(), kFloat);
  EXPECT_EQ(at::stack({b, b}).scalar_type(), kBFloat16);
  EXPECT_EQ(at::add(b, b).scalar_type(), kBFloat16);
  EXPECT_EQ(at::mm(f.to(kDouble), f.to(kDouble)).scalar_type(), kDouble);
  EXPECT_EQ(at::mm(f.to(kLong), f.to(kLong)).scalar_type(), kLong);
  Tensor out = ones();
  EXPECT_EQ(at::mm_out(out, f, f).scalar_type(), kFloat);
  EXPECT_EQ(out.addmm_(f, f).scalar_type(), kFloat);
  EXPECT_THROW(at::cat({b, ones(kHalf)}), c10::Error);
}

// Tensors of no device but sizes take no part.
TEST(Autocast, ActsOnItsDeviceOnly) {
  const Tensor meta = at::ones({2, 2}, TensorOptions(kMeta));
  torch::autocast region(kCPU);
  EXPECT_EQ(at::mm(meta, meta).scalar_type(), kFloat);
}

TEST(Autocast, RegionsNest) {
  const Tensor f = ones();
  {
    torch::autocast outer("cpu", kBFloat16);
    {
      torch::autocast off(kCPU, std::nullopt, /*enabled=*/false);
      EXPECT_FALSE(is_autocast_enabled(kCPU));
      EXPECT_EQ(at::mm(f, f).scalar_type(), kFloat);
      torch::amp::AutocastGuard inner(kCPU, kHalf, true, /*cache_enabled=*/false);
      EXPECT_EQ(at::mm(f, f).scalar_type(), kHalf);
      EXPECT_FALSE(is_autocast_cache_enabled());
    }
    EXPECT_TRUE(is_autocast_cache_enabled());
    EXPECT_EQ(get_autocast_dtype(kCPU), kBFloat16);
    EXPECT_EQ(at::mm(f, f).scalar_type(), kBFloat16);
  }
  EXPECT_EQ(at::mm(f, f).scalar_type(), kFloat);
  try {
    torch::autocast region(kCPU);
    at::mm(f, at::ones({3, 2}));
    FAIL();
  } catch (const c10::Error&) {
    EXPECT_FALSE(is_autocast_enabled(kCPU)) << "a region ends with an exception";
  }
}

TEST(Autocast, WhatItCannotDoIsSaid) {
  const auto disabled = warnings_of([] {
    torch::autocast region(kCPU, kInt);
    EXPECT_FALSE(is_autocast_enabled(kCPU));
  });
  ASSERT_EQ(disabled.size(), 1u);
  EXPECT_NE(disabled[0].find("the target dtype is not supported"), std::string::npos);
  EXPECT_TRUE(warnings_of([] { torch::autocast region(kCPU, kInt, false); }).empty());
  EXPECT_THROW(torch::autocast("nowhere"), c10::Error);
  EXPECT_THROW(torch::autocast("meta"), c10::Error);
  const Tensor p = ones();
  set_autocast_enabled(kCPU, true);
  EXPECT_NO_THROW(at::binary_cross_entropy(p, p));
  set_autocast_enabled(kCPU, false);
}

TEST(Autocast, GradientsHaveTheTypeOfTheWeight) {
  Tensor w = ones().set_requires_grad(true);
  Tensor y;
  {
    torch::autocast region(kCPU);
    y = at::mm(at::mm(ones(), w), w);
  }
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  y.sum().backward();
  ASSERT_TRUE(w.grad().defined());
  EXPECT_EQ(w.grad().scalar_type(), kFloat);
  EXPECT_TRUE(at::equal(w.grad(), at::full({2, 2}, 8.0)));
}

TEST(Autocast, CastsOfWeightsAreKept) {
  Tensor w = ones().set_requires_grad(true);
  Tensor kept;
  {
    torch::autocast region(kCPU);
    kept = cached_cast(kBFloat16, w, kCPU);
    EXPECT_TRUE(kept.is_same(cached_cast(kBFloat16, w, kCPU)));
    {
      torch::autocast inner(kCPU);
      EXPECT_TRUE(kept.is_same(cached_cast(kBFloat16, w, kCPU)));
    }
    EXPECT_TRUE(kept.is_same(cached_cast(kBFloat16, w, kCPU))) << "only the outermost region drops them";
    const Tensor other = ones();
    EXPECT_FALSE(cached_cast(kBFloat16, other, kCPU).is_same(cached_cast(kBFloat16, other, kCPU))) << "no gradient";
    const Tensor result = at::mul(w, 2);
    EXPECT_FALSE(cached_cast(kBFloat16, result, kCPU).is_same(cached_cast(kBFloat16, result, kCPU))) << "no leaf";
    torch::autocast uncached(kCPU, std::nullopt, true, false);
    EXPECT_FALSE(kept.is_same(cached_cast(kBFloat16, w, kCPU)));
  }
  torch::autocast region(kCPU);
  EXPECT_FALSE(kept.is_same(cached_cast(kBFloat16, w, kCPU)));
}

TEST(Autocast, AKeptCastIsNotOlderThanItsWeight) {
  Tensor w = ones().set_requires_grad(true);
  torch::autocast region(kCPU);
  EXPECT_EQ(at::mm(ones(), w)[0][0].item<float>(), 2);
  {
    c10::NoGradGuard no_grad;
    w.fill_(3);
    const Tensor y = at::mm(ones(), w);  // cast without a graph, not to be used with one
    EXPECT_EQ(y[0][0].item<float>(), 6);
  }
  at::mm(ones(), w).sum().backward();
  EXPECT_TRUE(w.grad().defined());
}

Tensor counted_mm(const Tensor& a, const Tensor& b);
int counted = 0;

// The layer's kernels are constants beside the operator's own functions; both may be replaced, and come back.
TEST(Autocast, RegisteredKernelsTakeThePlaceOfItsOwn) {
  const Tensor f = ones();
  torch::autocast region(kCPU);
  {
    torch::Library layer(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastCPU, __FILE__, __LINE__);
    layer.impl("mm", &counted_mm);
    EXPECT_EQ(at::mm(f, f).scalar_type(), kFloat);
    EXPECT_EQ(counted, 1);
    EXPECT_EQ(at::bmm(f.unsqueeze(0), f.unsqueeze(0)).scalar_type(), kBFloat16);
  }
  EXPECT_EQ(at::mm(f, f).scalar_type(), kBFloat16);
  {
    torch::Library backend(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
    backend.impl("mm", &counted_mm);
    EXPECT_EQ(at::mm(f, f).scalar_type(), kBFloat16) << "cast before the backend is called";
    EXPECT_EQ(counted, 2);
  }
  EXPECT_EQ(at::mm(f, f)[0][0].item<float>(), 2);
  EXPECT_EQ(counted, 2);
  const auto mm = c10::Dispatcher::singleton().findSchemaOrThrow("aten::mm", "");
  EXPECT_TRUE(mm.hasKernelForDispatchKey(c10::DispatchKey::AutocastCPU));
  EXPECT_TRUE(mm.hasKernelForDispatchKey(c10::DispatchKey::CPU));
  EXPECT_FALSE(mm.hasKernelForDispatchKey(c10::DispatchKey::AutocastPrivateUse1));
}

Tensor counted_mm(const Tensor& a, const Tensor& b) {
  ++counted;
  const c10::ExcludeDispatchKeyGuard below(c10::autocast_dispatch_keyset);
  return at::sum(at::mul(a.unsqueeze(2), b.unsqueeze(0)), 1);
}

TEST(Autocast, CachedCastOfOtherArguments) {
  EXPECT_EQ(cached_cast(kHalf, ones(kDouble), kCPU).scalar_type(), kDouble);
  EXPECT_EQ(cached_cast(kHalf, ones(), kCUDA).scalar_type(), kFloat);
  EXPECT_EQ(cached_cast(kHalf, int64_t{3}, kCPU), 3);
  EXPECT_FALSE(cached_cast(kHalf, std::optional<Tensor>(), kCPU).has_value());
  const std::vector<Tensor> list{ones(), ones(kLong)};
  EXPECT_EQ(cached_cast(kHalf, TensorList(list), kCPU)[0].scalar_type(), kHalf);
  EXPECT_EQ(cached_cast(kHalf, TensorList(list), kCPU)[1].scalar_type(), kLong);
}

}  // namespace
}  // namespace at::autocast
