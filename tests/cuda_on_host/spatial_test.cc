// Pooling, interpolation, sampling of grids and ctc_loss on a CUDA device of the host: against the CPU's, by layouts
// and sizes that take every way through the kernels, and the same bits in every order of blocks, warps and lanes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/upsample/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "tests/cuda_on_host/as_on_cpu.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace at::testing {
namespace {

constexpr std::optional<double> kNone;

// Whole numbers below `below`, of which many are equal.
Tensor scattered(const Tensor& places, int64_t below) {
  return at::remainder(at::mul(at::add(places, Scalar(7)), Scalar(31)), Scalar(below));
}

// Of images of floating-point numbers, [2, 3, 9, 11].
std::vector<Case> poolings() {
  return {
      {"max_pool2d",
       [](const Tensor& x) {
         const auto [y, places] = at::max_pool2d_with_indices(x, {3, 2}, {2, 1}, {1, 1}, {1, 2}, true);
         return Results{
             y, places,
             at::max_pool2d_with_indices_backward(at::sin(y), x, {3, 2}, {2, 1}, {1, 1}, {1, 2}, true, places)};
       }},
      {"max_pool2d, places anywhere",
       [](const Tensor& x) {
         const auto [y, places] = at::max_pool2d_with_indices(x, 2, 1);
         return Results{at::max_pool2d_with_indices_backward(at::sin(y), x, 2, 1, 0, 1, false, scattered(places, 23))};
       }},
      {"max_pool3d",
       [](const Tensor& x) {
         const auto [y, places] = at::max_pool3d_with_indices(x, {2, 3, 2}, {1, 2, 2}, {1, 1, 0});
         return Results{
             y, places,
             at::max_pool3d_with_indices_backward(at::sin(y), x, {2, 3, 2}, {1, 2, 2}, {1, 1, 0}, 1, false, places)};
       }},
      {"adaptive_max_pool2d",
       [](const Tensor& x) {
         const auto [y, places] = at::adaptive_max_pool2d(x, {4, 7});
         return Results{y, places, at::adaptive_max_pool2d_backward(at::sin(y), x, places)};
       }},
      {"fractional_max_pool2d",
       [](const Tensor& x) {
         const Tensor samples = at::remainder(at::slice(at::select(x, 2, 0), 2, 0, 2), Scalar(1));
         const auto [y, places] = at::fractional_max_pool2d(x, {2, 3}, {5, 4}, samples);
         return Results{y, places, at::fractional_max_pool2d_backward(at::sin(y), x, {2, 3}, {5, 4}, places)};
       }},
      {"avg_pool2d",
       [](const Tensor& x) {
         const Tensor y = at::avg_pool2d(x, {3, 2}, {2, 1}, {1, 1}, true, false),
                      z = at::avg_pool2d(x, 3, 2, 1, false, true, 5);
         return Results{y, z, at::avg_pool2d_backward(at::sin(y), x, {3, 2}, {2, 1}, {1, 1}, true, false, std::nullopt),
                        at::avg_pool2d_backward(at::sin(z), x, 3, 2, 1, false, true, 5)};
       }},
      {"adaptive_avg_pool2d",
       [](const Tensor& x) {
         const Tensor y = at::adaptive_avg_pool2d(x, {4, 7}), mean = at::adaptive_avg_pool2d(x, {1, 1});
         return Results{y, mean, at::avg_pool2d(x, {9, 11}), at::_adaptive_avg_pool2d_backward(at::sin(y), x),
                        at::_adaptive_avg_pool2d_backward(at::sin(mean), x)};
       }},
      {"max_unpool2d",
       [](const Tensor& x) {
         const Tensor places = std::get<1>(at::max_pool2d_with_indices(x, 3, 1, 1));
         return Results{at::max_unpool2d(x, scattered(places, 17), {5, 4})};
       }},
  };
}

// Of images [2, 3, 9, 11].
std::vector<Case> interpolations() {
  return {
      {"upsample_nearest2d",
       [](const Tensor& x) {
         const Tensor y = at::upsample_nearest2d(x, {5, 23});
         return Results{y, at::upsample_nearest2d_backward(at::sin(y), {5, 23}, x.sizes())};
       }},
      {"_upsample_nearest_exact2d",
       [](const Tensor& x) {
         const Tensor y = at::_upsample_nearest_exact2d(x, {90, 70}, 9.5, 6.0);
         return Results{y, at::_upsample_nearest_exact2d_backward(at::sin(y), {90, 70}, x.sizes(), 9.5, 6.0)};
       }},
      {"upsample_bilinear2d",
       [](const Tensor& x) {
         const Tensor y = at::upsample_bilinear2d(x, {13, 6}, false);
         return Results{y, at::upsample_bilinear2d_backward(at::sin(y), {13, 6}, x.sizes(), false)};
       }},
      // Most of the result lies beyond the last element.
      {"upsample_bilinear2d, scales that do not fit",
       [](const Tensor& x) {
         const Tensor y = at::upsample_bilinear2d(x, {40, 30}, false, 1.5, 0.5);
         return Results{y, at::upsample_bilinear2d_backward(at::sin(y), {40, 30}, x.sizes(), false, 1.5, 0.5)};
       }},
      {"upsample_bicubic2d",
       [](const Tensor& x) {
         const Tensor y = at::upsample_bicubic2d(x, {7, 30}, true);
         return Results{y, at::upsample_bicubic2d_backward(at::sin(y), {7, 30}, x.sizes(), true)};
       }},
      // Dimension by dimension, through numbers that results are computed in.
      {"_upsample_lanczos2d_aa",
       [](const Tensor& x) {
         const Tensor y = at::_upsample_lanczos2d_aa(x, {3, 40}, false);
         return Results{y, at::_upsample_lanczos2d_aa_backward(at::sin(y), {3, 40}, x.sizes(), false)};
       }},
      {"_upsample_bilinear2d_aa",
       [](const Tensor& x) {
         const Tensor y = at::_upsample_bilinear2d_aa(x, {9, 2}, false, kNone, 0.3);
         return Results{y, at::_upsample_bilinear2d_aa_backward(at::sin(y), {9, 2}, x.sizes(), false, kNone, 0.3)};
       }},
      {"upsample_trilinear3d",
       [](const Tensor& x) {
         const Tensor volume = at::unsqueeze(x, 0), y = at::upsample_trilinear3d(volume, {5, 7, 20}, false);
         return Results{y, at::upsample_trilinear3d_backward(at::sin(y), {5, 7, 20}, volume.sizes(), false)};
       }},
  };
}

// Of images [2, 3, 9, 11], by modes and padding.
std::vector<Case> samplings() {
  std::vector<Case> all;
  for (const int64_t mode : {0, 1, 2}) {
    for (const int64_t padding : {0, 1, 2}) {
      all.push_back(
          {"grid_sampler", [=](const Tensor& x) {
             const Tensor grid = at::reshape(at::slice(x, 1, 0, 2), {2, 6, 33, 1}),
                          places = at::cat({grid, at::sin(grid)}, -1);
             const Tensor y = at::grid_sampler_2d(x, places, mode, padding, false);
             const auto [to_x, to_grid] =
                 at::grid_sampler_2d_backward(at::sin(y), x, places, mode, padding, false, {true, true});
             const auto [a, b, c] = at::_grid_sampler_backward_grad(x, places, y, x, places, mode, padding, false);
             Results results{y, to_x, to_grid, a, b, c};
             if (mode == 2) return results;
             const Tensor volume = at::unsqueeze(x, 1), three = at::unsqueeze(at::cat({places, at::cos(grid)}, -1), 1);
             const Tensor z = at::grid_sampler_3d(volume, three, mode, padding, true);
             const auto [to_volume, to_three] =
                 at::grid_sampler_3d_backward(at::sin(z), volume, three, mode, padding, true, {true, true});
             results.insert(results.end(), {z, to_volume, to_three});
             return results;
           }});
    }
  }
  return all;
}

// More states than a block has threads, equal labels side by side and apart, one that is the blank; a target that is
// too long for its steps.
Results ctc(const Tensor& x) {
  const int64_t length = 130;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 2 * length; ++i) labels.push_back(i % 7 == 0 ? 5 : i % 11 == 0 ? 5 : i % 40 + 1);
  labels[100] = 0;
  const Tensor log_probs = at::log_softmax(x, 2), targets = at::to(indices_of(labels, {2, length}), x.device(), kLong);
  Results results;
  for (const bool zero : {false, true}) {
    const auto [loss, alpha] = at::_ctc_loss(log_probs, targets, {160, 150}, {length, 9}, 0, zero);
    const auto [lost, none] = at::_ctc_loss(log_probs, targets, {160, 0}, {length, length}, 0, zero);
    results.insert(results.end(), {loss, alpha, lost});
    results.push_back(
        at::_ctc_loss_backward(at::sin(loss), log_probs, targets, {160, 150}, {length, 9}, loss, alpha, 0, zero));
    results.push_back(at::_ctc_loss_backward(at::ones_like(lost), log_probs, targets, {160, 0}, {length, length}, lost,
                                             none, 0, zero));
  }
  return results;
}

void expect_all_as_on_cpu(const std::vector<Case>& cases, const std::vector<Tensor>& images, double tolerance) {
  for (const Case& test : cases) {
    for (const Tensor& x : images) {
      SCOPED_TRACE(std::string(test.name) + " of " + c10::toString(x.scalar_type()));
      expect_as_on_cpu(test, x, tolerance);
    }
  }
}

TEST(Spatial, PoolingIsThatOfTheCpu) {
  expect_all_as_on_cpu(poolings(), layouts(sample({2, 3, 9, 11})), 2e-6);
  expect_all_as_on_cpu(poolings(), {sample({2, 3, 9, 11}, kDouble)}, 1e-12);
  expect_all_as_on_cpu(poolings(), {sample({2, 3, 9, 11}, kHalf)}, 4e-3);
  expect_all_as_on_cpu(poolings(), {sample({2, 3, 9, 11}, kBFloat16)}, 3e-2);
}

TEST(Spatial, MorePlanesThanBlocks) {
  expect_as_on_cpu({"max_pool2d",
                    [](const Tensor& x) {
                      const auto [y, places] = at::max_pool2d_with_indices(x, {1, 2}, 1);
                      return Results{y, at::max_pool2d_with_indices_backward(at::sin(y), x, {1, 2}, 1, 0, 1, false,
                                                                             scattered(places, 3))};
                    }},
                   sample({1, 2200, 1, 3}), 2e-6);
}

TEST(Spatial, MaximaOfIntegers) {
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong}) {
    expect_as_on_cpu({"max_pool2d",
                      [](const Tensor& x) {
                        const auto [y, places] = at::max_pool2d_with_indices(x, 2, 3, 1, 2, true);
                        const Tensor grad = at::add(y, Scalar(1));
                        return Results{y, places,
                                       at::max_pool2d_with_indices_backward(grad, x, 2, 3, 1, 2, true, places),
                                       at::max_unpool2d(y, places, {9, 11})};
                      }},
                     sample({2, 3, 9, 11}, type), 0);
  }
}

TEST(Spatial, InterpolationIsThatOfTheCpu) {
  expect_all_as_on_cpu(interpolations(), layouts(sample({2, 3, 9, 11})), 2e-5);
  expect_all_as_on_cpu(interpolations(), {sample({2, 3, 9, 11}, kDouble)}, 1e-12);
  expect_all_as_on_cpu(interpolations(), {sample({2, 3, 9, 11}, kHalf)}, 2e-2);
  expect_all_as_on_cpu(interpolations(), {sample({2, 3, 9, 11}, kBFloat16)}, 0.15);
}

TEST(Spatial, BytesAreThoseOfTheCpu) {
  const Tensor x = at::to(at::mul(at::add(sample({2, 3, 9, 11}), Scalar(2)), Scalar(63)), kByte);
  for (const Tensor& bytes : layouts(x)) {
    expect_as_on_cpu({"bytes",
                      [](const Tensor& t) {
                        return Results{at::upsample_nearest2d(t, {5, 23}),
                                       at::upsample_bilinear2d(t, {13, 6}, false),
                                       at::upsample_bilinear2d(t, {9, 30}, true),
                                       at::upsample_bicubic2d(t, {20, 40}, false),
                                       at::_upsample_bilinear2d_aa(t, {4, 3}, false),
                                       at::_upsample_bicubic2d_aa(t, {3, 11}, false),
                                       at::_upsample_lanczos2d_aa(t, {20, 5}, false)};
                      }},
                     bytes, 0);
  }
}

TEST(Spatial, GridsAreSampledAsOnTheCpu) {
  expect_all_as_on_cpu(samplings(), layouts(sample({2, 3, 9, 11})), 1e-3);
  expect_all_as_on_cpu(samplings(), {sample({2, 9, 9, 11}, kDouble)}, 1e-11);
}

TEST(Spatial, CtcLossIsThatOfTheCpu) {
  expect_as_on_cpu({"ctc_loss", ctc}, sample({160, 2, 270}), 1e-4);
  expect_as_on_cpu({"ctc_loss", ctc}, sample({160, 2, 42}, kDouble), 1e-10);
}

TEST(Spatial, HasTheSameBitsInEveryOrder) {
  for (const Tensor& x : {sample({2, 3, 9, 11}), sample({2, 3, 9, 11}, kHalf)}) {
    for (const Case& test : poolings()) expect_same_in_all_orders(test, x);
    for (const Case& test : interpolations()) expect_same_in_all_orders(test, x);
    for (const Case& test : samplings()) expect_same_in_all_orders(test, x);
  }
  expect_same_in_all_orders({"ctc_loss", ctc}, sample({160, 2, 42}));
}

// An index beyond its plane ends the device's work; in a process of its own.
void expect_fault(const std::function<Tensor()>& f, const char* text) {
  EXPECT_EXIT(
      {
        try {
          on_cpu(f());
        } catch (const c10::Error& e) {
          std::fputs(cuda_standin::misuse().c_str(), stderr);
          std::exit(std::strstr(e.what(), "cudaErrorLaunchFailure") != nullptr ? 3 : 4);
        }
        std::exit(5);
      },
      ::testing::ExitedWithCode(3), text);
}

TEST(SpatialDeathTest, IndicesOutOfRange) {
  const Tensor x = sample({1, 2, 4, 4}), y = sample({1, 2, 2, 2});
  const Tensor places = indices_of({0, 2, 8, 10, 0, 2, 8, 16}, {1, 2, 2, 2});
  expect_fault([&] { return at::max_pool2d_with_indices_backward(y, x, 2, 2, 0, 1, false, places); }, "out of range");
  expect_fault([&] { return at::max_unpool2d(y, places, {4, 4}); }, "out of range");
  expect_fault(
      [&] {
        return std::get<0>(at::_ctc_loss(sample({4, 1, 3}), indices_of({3}, {1, 1}), {4}, {1}));
      },
      "not a class");
}

}  // namespace
}  // namespace at::testing
