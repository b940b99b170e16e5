// Lists of CUDA tensors: the numbers are those of CPU tensors, and many tensors are few launches.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "aten/aten.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;
using Tensors = std::vector<Tensor>;

const at::Device kDevice(at::kCUDA, 0);

// Tensors of many sizes, around the ends of vectors and of what a block takes, one in turn on an address that is odd
// for vectors.
Tensors list_of(ScalarType dtype, int64_t count, double first) {
  const int64_t sizes[] = {1, 7, 0, 64, 129, 16384, 16385, 40001, 3, 255};
  Tensors list;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = i < 10 ? sizes[i] : sizes[i % 5];
    const Tensor x =
        at::add(at::mul(at::arange(n + 1, at::TensorOptions().dtype(at::kDouble)), 0.001), first + 0.01 * i);
    list.push_back(at::slice(at::to(x, dtype), 0, i % 3 == 1 ? 1 : 0, i % 3 == 1 ? n + 1 : n));
  }
  return list;
}
Tensors on_device(const Tensors& list) {
  Tensors moved;
  for (const Tensor& t : list) {
    // A copy that keeps its distance from an aligned address.
    const Tensor base = at::empty({t.numel() + 1}, at::TensorOptions().dtype(t.scalar_type()).device(kDevice));
    Tensor part = at::slice(base, 0, t.storage_offset(), t.storage_offset() + t.numel());
    at::copy_(part, t);
    moved.push_back(part);
  }
  return moved;
}
Tensors copies(const Tensors& list) {
  Tensors all;
  for (const Tensor& t : list) all.push_back(at::clone(t));
  return all;
}
void expect_same(const Tensors& got, const Tensors& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    const double tolerance = expected[i].scalar_type() == at::kDouble  ? 1e-12
                             : expected[i].scalar_type() == at::kFloat ? 2e-6
                             : expected[i].scalar_type() == at::kHalf  ? 2e-3
                                                                       : 1e-2;
    const Tensor a = at::to(at::to(got[i], at::Device(at::kCPU)), at::kDouble), b = at::to(expected[i], at::kDouble);
    EXPECT_TRUE(at::allclose(a, b, tolerance, tolerance)) << what << ", tensor " << i << " of " << b.numel();
  }
}

TEST(Lists, InPlaceFormsAreTheCpus) {
  const struct {
    const char* name;
    std::function<void(const Tensors&, const Tensors&, const Tensors&)> run;
  } forms[] = {
      {"add_scalar", [](const Tensors& x, const Tensors&, const Tensors&) { at::_foreach_add_(x, Scalar(0.5)); }},
      {"add_list", [](const Tensors& x, const Tensors& y, const Tensors&) { at::_foreach_add_(x, y, 2); }},
      {"sub_list", [](const Tensors& x, const Tensors& y, const Tensors&) { at::_foreach_sub_(x, y); }},
      {"mul_scalars",
       [](const Tensors& x, const Tensors&, const Tensors&) {
         std::vector<Scalar> numbers;
         for (size_t i = 0; i < x.size(); ++i) numbers.emplace_back(1.0 + static_cast<double>(i));
         at::_foreach_mul_(x, numbers);
       }},
      {"div_list", [](const Tensors& x, const Tensors& y, const Tensors&) { at::_foreach_div_(x, y); }},
      {"addcmul", [](const Tensors& x, const Tensors& y, const Tensors& z) { at::_foreach_addcmul_(x, y, z, 0.25); }},
      {"addcdiv", [](const Tensors& x, const Tensors& y, const Tensors& z) { at::_foreach_addcdiv_(x, y, z, 0.25); }},
      {"lerp", [](const Tensors& x, const Tensors& y, const Tensors&) { at::_foreach_lerp_(x, y, 0.3); }},
      {"sqrt", [](const Tensors& x, const Tensors&, const Tensors&) { at::_foreach_sqrt_(x); }},
  };
  for (const ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const Tensors x = list_of(dtype, 12, 1), y = list_of(dtype, 12, 2), z = list_of(dtype, 12, 3);
    for (const auto& form : forms) {
      const Tensors expected = copies(x), got = on_device(x);
      form.run(expected, y, z);
      form.run(got, on_device(y), on_device(z));
      expect_same(got, expected, form.name);
    }
    const Tensors moved = on_device(x);
    expect_same(at::_foreach_add(moved, on_device(y)), at::_foreach_add(x, y), "add");
    expect_same(moved, x, "what add leaves");
  }
}

TEST(Lists, ManyTensorsAreFewLaunches) {
  const Tensors x = on_device(list_of(at::kFloat, 130, 1));
  const uint64_t before = cuda_standin::calls();
  at::_foreach_mul_(x, Scalar(2));
  EXPECT_LT(cuda_standin::calls() - before, 40u);
  Tensors expected = list_of(at::kFloat, 130, 1);
  at::_foreach_mul_(expected, Scalar(2));
  expect_same(x, expected, "mul");
}

Tensor number_on(double value, at::Device device) {
  return at::full({}, value, at::TensorOptions().dtype(at::kFloat).device(device));
}

TEST(Lists, FusedStepsAreTheCpus) {
  for (const ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const bool other : {false, true}) {
      Tensors lists[2][5];
      for (int on_cuda = 0; on_cuda < 2; ++on_cuda) {
        Tensors* const l = lists[on_cuda];
        const at::Device device = on_cuda != 0 ? kDevice : at::Device(at::kCPU);
        for (int k = 0; k < 5; ++k) {
          const Tensors list = list_of(dtype, 70, 0.5 + k);
          l[k] = on_cuda != 0 ? on_device(list) : copies(list);
        }
        const Tensors counts(l[0].size(), number_on(3, device));
        const Tensor scale = number_on(2, device), good = number_on(0, device), bad = number_on(1, device);
        const uint64_t before = cuda_standin::calls();
        at::_fused_adam_(l[0], l[1], l[2], l[3], l[4], counts, number_on(0.01, device), 0.9, 0.99, 0.1, 1e-8, other,
                         other, scale, good);
        at::_fused_adamw_(l[0], l[1], l[2], l[3], l[4], counts, 0.01, 0.9, 0.99, 0.1, 1e-8, other, other);
        at::_fused_sgd_(l[0], l[1], l[2], 0.1, 0.9, 0.01, 0.2, other, other, false, scale, good);
        at::_fused_adagrad_(l[0], l[1], l[3], counts, 0.01, 0.1, 0.1, 1e-8, other);
        at::_fused_adagrad_(l[0], l[1], l[3], counts, 0.01, 0.1, 0.1, 1e-8, other, std::nullopt, bad);
        if (on_cuda != 0) {
          EXPECT_LT(cuda_standin::calls() - before, 150u);
        }
      }
      for (int k = 0; k < 5; ++k) expect_same(lists[1][k], lists[0][k], "step");
    }
  }
}

}  // namespace
