// Reductions, scans and functions of rows on a CUDA device of the host: against the CPU's, by layouts and sizes that
// take every way through the kernels, and the same bits in every order of blocks, warps and lanes.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "tests/cuda_on_host/as_on_cpu.h"

namespace at::testing {
namespace {

// Functions of a floating-point tensor of at least one dimension.
std::vector<Case> reductions_along(int64_t dim) {
  const DimVector dims{dim};
  return {
      {"sum", [=](const Tensor& x) { return Results{at::sum(x, dims)}; }},
      {"mean", [=](const Tensor& x) { return Results{at::mean(x, dims)}; }},
      {"nansum", [=](const Tensor& x) { return Results{at::nansum(x, dims)}; }},
      {"prod", [=](const Tensor& x) { return Results{at::prod(x, dim)}; }},
      {"amax", [=](const Tensor& x) { return Results{at::amax(x, dims)}; }},
      {"amin", [=](const Tensor& x) { return Results{at::amin(x, dims)}; }},
      {"max",
       [=](const Tensor& x) {
         const auto r = at::max(x, dim);
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"min",
       [=](const Tensor& x) {
         const auto r = at::min(x, dim);
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"aminmax",
       [=](const Tensor& x) {
         const auto r = at::aminmax(x, dim);
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"argmin", [=](const Tensor& x) { return Results{at::argmin(x, dim)}; }},
      {"all", [=](const Tensor& x) { return Results{at::all(x, dim)}; }},
      {"any", [=](const Tensor& x) { return Results{at::any(at::gt(x, Scalar(1)), dim)}; }},
      {"count_nonzero",
       [=](const Tensor& x) { return Results{at::count_nonzero(at::gt(x, Scalar(0)), std::optional<int64_t>(dim))}; }},
      {"var_mean",
       [=](const Tensor& x) {
         const auto r = at::var_mean(x, dims, Scalar(1));
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"norm1", [=](const Tensor& x) { return Results{at::norm(x, Scalar(1), dims)}; }},
      {"norm2", [=](const Tensor& x) { return Results{at::norm(x, Scalar(2), dims)}; }},
      {"norm3", [=](const Tensor& x) { return Results{at::norm(x, Scalar(3), dims)}; }},
      {"logsumexp", [=](const Tensor& x) { return Results{at::logsumexp(x, dims)}; }},
  };
}

std::vector<Case> rows_along(int64_t dim) {
  return {
      {"cumsum", [=](const Tensor& x) { return Results{at::cumsum(x, dim)}; }},
      {"cumprod", [=](const Tensor& x) { return Results{at::cumprod(x, dim)}; }},
      {"cummax",
       [=](const Tensor& x) {
         const auto r = at::cummax(x, dim);
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"cummin",
       [=](const Tensor& x) {
         const auto r = at::cummin(x, dim);
         return Results{std::get<0>(r), std::get<1>(r)};
       }},
      {"logcumsumexp", [=](const Tensor& x) { return Results{at::logcumsumexp(x, dim)}; }},
      {"softmax", [=](const Tensor& x) { return Results{at::softmax(x, dim)}; }},
      {"log_softmax", [=](const Tensor& x) { return Results{at::log_softmax(x, dim)}; }},
      {"softmax backward",
       [=](const Tensor& x) {
         return Results{at::_softmax_backward_data(x, at::softmax(x, dim), dim, x.scalar_type())};
       }},
      {"log_softmax backward",
       [=](const Tensor& x) {
         return Results{at::_log_softmax_backward_data(x, at::log_softmax(x, dim), dim, x.scalar_type())};
       }},
  };
}

// The loss of rows of logits, what is kept of it, and its gradient.
Case cross_entropy(int64_t reduction, int64_t ignored, ScalarType dtype) {
  return {"cross_entropy", [=](const Tensor& x) {
            const Tensor row = at::arange(x.size(0), at::TensorOptions(ScalarType::Long).device(x.device()));
            const Tensor targets = at::remainder(at::mul(row, Scalar(7)), Scalar(x.size(1)));
            const auto [loss, sums, total] = at::_fused_cross_entropy(x, targets, reduction, ignored, dtype);
            const Tensor grad = at::cos(loss);
            return Results{loss, sums, total,
                           at::_fused_cross_entropy_backward(grad, x, targets, reduction, ignored, sums, total),
                           at::cross_entropy_loss(x, targets, std::nullopt, reduction, ignored)};
          }};
}

// Of [batch, channels, ...].
std::vector<Case> normalisations() {
  return {
      {"layer_norm",
       [](const Tensor& x) {
         const auto [y, mean, rstd] = at::native_layer_norm(x, {x.size(-1)}, std::nullopt, std::nullopt, 1e-5);
         const Tensor first = at::select(at::reshape(x, {-1, x.size(-1)}), 0, 0), weight = at::cos(first);
         const auto [gx, gw, gb] =
             at::native_layer_norm_backward(at::sin(x), x, {x.size(-1)}, mean, rstd, weight, first, {true, true, true});
         return Results{y, mean, rstd, gx, gw, gb};
       }},
      {"batch_norm",
       [](const Tensor& x) {
         const auto [y, mean, invstd] =
             at::native_batch_norm(x, std::nullopt, std::nullopt, std::nullopt, std::nullopt, true, 0.1, 1e-5);
         const auto [gx, gw, gb] = at::native_batch_norm_backward(
             at::sin(x), x, std::nullopt, std::nullopt, std::nullopt, mean, invstd, true, 1e-5, {true, true, true});
         return Results{y, mean, invstd, gx, gw, gb};
       }},
      {"group_norm",
       [](const Tensor& x) {
         const int64_t positions = x.numel() / (x.size(0) * x.size(1));
         const auto [y, mean, rstd] =
             at::native_group_norm(x, std::nullopt, std::nullopt, x.size(0), x.size(1), positions, 2, 1e-5);
         const auto [gx, gw, gb] = at::native_group_norm_backward(at::sin(x), x, mean, rstd, std::nullopt, x.size(0),
                                                                  x.size(1), positions, 2, {true, true, true});
         return Results{y, mean, rstd, gx, gw, gb};
       }},
  };
}

TEST(Reductions, AreThoseOfTheCpuInEveryLayout) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double tolerance = dtype == ScalarType::Half ? 2e-3 : dtype == ScalarType::BFloat16 ? 1.6e-2 : 2e-5;
    for (const Tensor& x : layouts(sample({3, 16, 9}, dtype))) {
      for (const int64_t dim : {0, 1, 2}) {
        for (const Case& test : reductions_along(dim)) {
          SCOPED_TRACE(std::string(test.name) + " along " + std::to_string(dim) + " of " + c10::toString(dtype));
          expect_as_on_cpu(test, x, tolerance);
        }
      }
    }
  }
}

// Vectors along a row, with a rest; along outputs; single elements; a warp, a block and many blocks for an output.
TEST(Reductions, AreThoseOfTheCpuInEverySize) {
  const Tensor one = sample({70001});
  const Tensor rows = sample({5, 5003}), columns = sample({6000, 24}), few = sample({40, 8});
  const struct {
    Tensor x;
    int64_t dim;
  } shapes[] = {{one, 0},
                {at::slice(one, 0, 1), 0},
                {rows, 1},
                {rows, 0},
                {columns, 0},
                {columns, 1},
                {few, 1},
                {few, 0},
                {at::slice(rows, 1, 3, 5000, 3), 1},
                {at::slice(columns, 1, 1, 22), 0}};
  for (const auto& [x, dim] : shapes) {
    for (const Case& test : reductions_along(dim)) {
      if (std::strcmp(test.name, "prod") == 0 && x.size(dim) > 100) continue;
      SCOPED_TRACE(std::string(test.name) + " of " + std::to_string(x.size(0)) + " " + std::to_string(dim));
      expect_as_on_cpu(test, x, 2e-5);
    }
  }
}

TEST(Reductions, TakeAllDimensionsAndSomeAtOnce) {
  const Tensor x = at::permute(sample({4, 3, 10, 16}), {1, 3, 0, 2});
  for (const DimVector& dims : {DimVector{}, DimVector{0, 2}, DimVector{1, 3}, DimVector{0, 1, 3}}) {
    for (const Case& test :
         std::vector<Case>{{"sum", [&](const Tensor& t) { return Results{at::sum(t, dims)}; }},
                           {"amax", [&](const Tensor& t) { return Results{at::amax(t, dims, true)}; }},
                           {"std", [&](const Tensor& t) { return Results{at::std(t, dims, Scalar(0), false)}; }},
                           {"argmax", [](const Tensor& t) {
                              return Results{at::argmax(t), at::argmin(t)};
                            }}}) {
      SCOPED_TRACE(test.name);
      expect_as_on_cpu(test, x, 2e-5);
    }
  }
}

TEST(Reductions, OfIntegersBoolsAndComplexNumbers) {
  for (const ScalarType dtype :
       {ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long, ScalarType::Bool}) {
    const Tensor x = at::to(at::mul(sample({7, 70}), Scalar(3)), dtype);
    for (const int64_t dim : {0, 1}) {
      expect_as_on_cpu({"integers",
                        [=](const Tensor& t) {
                          return Results{at::sum(t, DimVector{dim}),
                                         at::prod(t, dim),
                                         at::amax(t, DimVector{dim}),
                                         at::all(t, dim),
                                         at::any(t, dim),
                                         at::count_nonzero(t, std::optional<int64_t>(dim)),
                                         at::cumsum(t, dim)};
                        }},
                       x, 0);
    }
  }
  const Tensor z = at::to(sample({6, 40}), ScalarType::ComplexFloat);
  const Tensor turned = at::mul(z, Scalar(c10::complex<double>(0.6, 0.8)));
  expect_as_on_cpu({"complex",
                    [](const Tensor& t) {
                      return Results{at::view_as_real(at::sum(t, DimVector{1})), at::norm(t, Scalar(2), DimVector{0}),
                                     at::view_as_real(at::cumsum(t, 1)), at::var(t, DimVector{1}, Scalar(1))};
                    }},
                   turned, 2e-5);
}

TEST(Reductions, OfNothingAreTheNeutralElement) {
  const Tensor x = sample({3, 0});
  expect_as_on_cpu({"nothing",
                    [](const Tensor& t) {
                      return Results{at::sum(t, DimVector{1}),
                                     at::prod(t, 1),
                                     at::all(t, 1),
                                     at::any(t, 1),
                                     at::norm(t, Scalar(2), DimVector{1}),
                                     at::logsumexp(t, DimVector{1}),
                                     at::sum(t, DimVector{0}),
                                     at::cumsum(t, 1),
                                     at::softmax(t, 1)};
                    }},
                   x, 0);
}

TEST(Reductions, NameTheFirstOfEqualElementsAndTheFirstNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> many(5000, 2.0);
  many[3] = many[4000] = 7.0;
  EXPECT_EQ(at::argmax(tensor_of(many, {5000})).item<int64_t>(), 3);
  many[4100] = many[1200] = nan;
  EXPECT_EQ(at::argmax(tensor_of(many, {5000})).item<int64_t>(), 1200);
  EXPECT_EQ(at::argmin(tensor_of(many, {5000})).item<int64_t>(), 1200);
  EXPECT_TRUE(std::isnan(at::max(tensor_of(many, {5000})).item<double>()));
}

TEST(Reductions, HaveTheSameBitsInEveryOrder) {
  const Tensor one = sample({70001}), rows = sample({5, 5003}), columns = sample({6000, 24});
  for (const Case& test : reductions_along(0)) {
    expect_same_in_all_orders(test, one);
    expect_same_in_all_orders(test, columns);
  }
  for (const Case& test : reductions_along(1)) expect_same_in_all_orders(test, rows);
}

TEST(Rows, AreThoseOfTheCpuInEveryLayout) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double tolerance = dtype == ScalarType::Half ? 4e-3 : dtype == ScalarType::BFloat16 ? 3e-2 : 2e-5;
    for (const Tensor& x : layouts(sample({3, 16, 9}, dtype))) {
      for (const int64_t dim : {0, 1, 2}) {
        for (const Case& test : rows_along(dim)) {
          SCOPED_TRACE(std::string(test.name) + " along " + std::to_string(dim) + " of " + c10::toString(dtype));
          expect_as_on_cpu(test, x, tolerance);
        }
      }
    }
  }
}

// A thread, a warp, a block and several blocks for a row.
TEST(Rows, AreThoseOfTheCpuInEverySize) {
  const struct {
    Tensor x;
    int64_t dim;
  } shapes[] = {{sample({20000}), 0},   {sample({3, 5003}), 1}, {sample({4, 4096}), 1},
                {sample({1000, 3}), 0}, {sample({6, 5000}), 0}, {sample({70, 40}), 1}};
  for (const auto& [x, dim] : shapes) {
    for (const Case& test : rows_along(dim)) {
      if (std::strcmp(test.name, "cumprod") == 0) continue;
      SCOPED_TRACE(std::string(test.name) + " of " + std::to_string(x.size(0)) + " along " + std::to_string(dim));
      expect_as_on_cpu(test, x, 5e-5);
    }
  }
}

TEST(Rows, HaveTheSameBitsInEveryOrder) {
  for (const Case& test : rows_along(0)) {
    expect_same_in_all_orders(test, sample({20000}));
    expect_same_in_all_orders(test, sample({300, 9}));
  }
  for (const Case& test : rows_along(1)) expect_same_in_all_orders(test, sample({5, 700}));
}

// In the registers of a warp and of a block, and read again; pieces of 16 bytes and single elements.
TEST(Rows, AreThoseOfTheCpuWhateverIsKept) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    const double tolerance = dtype == ScalarType::BFloat16 ? 3e-2 : 5e-5;
    for (const int64_t size : {40, 300, 768, 770, 1024, 2000, 9000}) {
      const Tensor x = sample({3, size}, dtype);
      for (const Case& test : rows_along(1)) {
        if (std::strstr(test.name, "softmax") == nullptr) continue;
        SCOPED_TRACE(std::string(test.name) + " of " + std::to_string(size) + " " + c10::toString(dtype));
        expect_as_on_cpu(test, x, tolerance);
        expect_as_on_cpu(test, at::slice(sample({3, size + 3}, dtype), 1, 3), tolerance);
      }
      SCOPED_TRACE("layer_norm of " + std::to_string(size) + " " + c10::toString(dtype));
      expect_as_on_cpu(normalisations()[0], at::reshape(sample({35, size}, dtype), {5, 7, size}), tolerance);
    }
  }
  for (const int64_t size : {768, 770, 2000}) expect_same_in_all_orders(normalisations()[0], sample({35, size}));
}

TEST(Losses, CrossEntropyIsThatOfTheCpu) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    const double tolerance = dtype == ScalarType::Half ? 4e-3 : dtype == ScalarType::BFloat16 ? 3e-2 : 2e-5;
    for (const DimVector& sizes : {DimVector{5, 3}, DimVector{9, 768}, DimVector{2, 9001}, DimVector{1, 1}}) {
      for (const int64_t reduction : {0, 1, 2}) {
        if (sizes[1] > 1000 && reduction != 1) continue;
        SCOPED_TRACE(std::to_string(sizes[1]) + " classes of " + c10::toString(dtype));
        const Tensor x = sample(sizes, dtype);
        expect_as_on_cpu(cross_entropy(reduction, 1, dtype), x, tolerance);
        if (x.element_size() == 2) expect_as_on_cpu(cross_entropy(reduction, -100, ScalarType::Float), x, tolerance);
      }
    }
  }
  expect_as_on_cpu(cross_entropy(1, 5, ScalarType::Float), at::transpose(sample({30, 11}), 0, 1), 2e-5);
  expect_as_on_cpu(cross_entropy(1, 0, ScalarType::Float), sample({1, 8}), 2e-5);  // nothing counts
  expect_same_in_all_orders(cross_entropy(1, 5, ScalarType::Float), sample({700, 33}));
}

TEST(Rows, SoftmaxOfInfinities) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor_of({0, -inf, 1, -inf, -inf, -inf, inf, 0, 1}, {3, 3});
  expect_as_on_cpu({"softmax",
                    [](const Tensor& t) {
                      return Results{at::softmax(t, 1), at::log_softmax(t, 1)};
                    }},
                   x, 1e-6);
}

std::vector<Case> selections_along(int64_t dim) {
  const auto two = [](const std::tuple<Tensor, Tensor>& r) { return Results{std::get<0>(r), std::get<1>(r)}; };
  return {
      {"median", [=](const Tensor& x) { return two(at::median(x, dim)); }},
      {"nanmedian", [=](const Tensor& x) { return two(at::nanmedian(x, dim)); }},
      {"mode", [=](const Tensor& x) { return two(at::mode(x, dim)); }},
      {"hash",
       [=](const Tensor& x) { return Results{at::view(at::hash_tensor(x, DimVector{dim}), ScalarType::Long)}; }},
  };
}

TEST(Selections, AreThoseOfTheCpuAndTheSameInEveryOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::Long}) {
    const Tensor wide = at::to(at::mul(sample({5, 300}), Scalar(4)), dtype);  // values come several times
    for (const int64_t dim : {0, 1}) {
      for (const Case& test : selections_along(dim)) {
        SCOPED_TRACE(std::string(test.name) + " of " + c10::toString(dtype));
        expect_as_on_cpu(test, wide, 0);
        expect_as_on_cpu(test, at::transpose(wide, 0, 1), 0);
        expect_same_in_all_orders(test, wide);
      }
    }
  }
  const Tensor some = tensor_of({1, nan, 2, -0.0, 0, 7, nan, nan, nan, nan, nan, nan}, {2, 6});
  for (const Case& test : selections_along(1)) {
    if (std::strcmp(test.name, "hash") != 0) expect_as_on_cpu(test, some, 0);
  }
}

TEST(Normalisations, AreThoseOfTheCpu) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    const double tolerance = dtype == ScalarType::BFloat16 ? 3e-2 : 5e-5;
    for (const Tensor& x : {sample({4, 6, 5, 7}, dtype), at::permute(sample({4, 5, 8, 6}, dtype), {0, 3, 1, 2}),
                            sample({40, 16}, dtype)}) {
      for (const Case& test : normalisations()) {
        SCOPED_TRACE(std::string(test.name) + " of " + c10::toString(dtype));
        expect_as_on_cpu(test, x, tolerance);
      }
    }
  }
}

TEST(Normalisations, HaveTheSameBitsInEveryOrder) {
  for (const Case& test : normalisations()) expect_same_in_all_orders(test, sample({6, 8, 300}));
}

TEST(Losses, HaveTheSameBitsInEveryOrder) {
  const Tensor x = sample({3000, 5});
  const Tensor target = at::to(at::mul(at::abs(at::sin(at::select(x, 1, 0))), Scalar(4.9)), ScalarType::Long);
  const Case test{"cross_entropy", [&](const Tensor& t) {
                    const Tensor to = t.is_cuda() ? target : on_cpu(target);
                    return Results{at::cross_entropy_loss(t, to), at::nll_loss(t, to, std::nullopt, 0)};
                  }};
  expect_as_on_cpu(test, x, 1e-5);
  expect_same_in_all_orders(test, x);
}

}  // namespace
}  // namespace at::testing
