// Results that are written past the caches are those of their parts.
#include <functional>
#include <string>

#include "aten/cpu/cast.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

struct Case {
  std::string name;
  std::vector<int64_t> sample_sizes;
  std::function<Tensor(const Tensor& x, const Tensor& g)> f;
};

std::vector<Case> cases() {
  const Tensor w = sample({515}), w6 = sample({6}), b6 = sample({6}, ScalarType::Float, 2);
  return {
      {"softmax of short rows", {7}, [](const Tensor& x, const Tensor&) { return at::softmax(x, 1); }},
      {"softmax", {515}, [](const Tensor& x, const Tensor&) { return at::softmax(x, 1); }},
      {"softmax of wide rows", {4099}, [](const Tensor& x, const Tensor&) { return at::softmax(x, 1); }},
      {"log_softmax", {515}, [](const Tensor& x, const Tensor&) { return at::log_softmax(x, 1); }},
      {"softmax backward",
       {515},
       [](const Tensor& x, const Tensor& g) { return at::_softmax_backward_data(g, x, 1, ScalarType::Float); }},
      {"log_softmax backward",
       {515},
       [](const Tensor& x, const Tensor& g) { return at::_log_softmax_backward_data(g, x, 1, ScalarType::Float); }},
      {"layer_norm", {515}, [=](const Tensor& x, const Tensor&) { return at::layer_norm(x, {515}, w); }},
      {"layer_norm backward",
       {515},
       [=](const Tensor& x, const Tensor& g) {
         const auto [y, mean, rstd] = at::_fused_layer_norm(x, {515}, w, {}, 1e-5);
         return std::get<0>(
             at::native_layer_norm_backward(g, x, {515}, mean, rstd, w, {}, {true, false, false}));
       }},
      {"group_norm", {6, 41, 9}, [=](const Tensor& x, const Tensor&) { return at::group_norm(x, 2, w6, b6); }},
      {"group_norm backward",
       {6, 41, 9},
       [=](const Tensor& x, const Tensor& g) {
         const auto [y, mean, rstd] = at::_fused_group_norm(x, w6, b6, 2, 1e-5);
         return std::get<0>(at::_fused_group_norm_backward(g, x, w6, mean, rstd, 2, {true, false, false}));
       }},
  };
}

TEST(LargeResults, AreThoseOfTheirParts) {
  for (const Case& c : cases()) {
    std::vector<int64_t> sizes = c.sample_sizes;
    int64_t bytes = 4;
    for (const int64_t size : sizes) bytes *= size;
    const int64_t count = cpu::stream_threshold_bytes() / bytes + 5;
    sizes.insert(sizes.begin(), count);
    const Tensor x = sample(sizes), g = sample(sizes, ScalarType::Float, 2), y = c.f(x, g);
    for (const int64_t first : {int64_t{0}, count / 2, count - 3}) {
      const Tensor part = c.f(at::narrow(x, 0, first, 3), at::narrow(g, 0, first, 3));
      EXPECT_TRUE(at::equal(at::narrow(y, 0, first, 3), part)) << c.name << " from " << first;
    }
  }
}

}  // namespace
}  // namespace at::testing
