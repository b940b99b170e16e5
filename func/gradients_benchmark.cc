// Gradients of each sample's loss by the weights of a small network, of a whole batch at once and in a loop.
#include <tuple>

#include "aten/aten.h"
#include "func/transforms.h"
#include "func/vmap.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
using at::Tensor;
using Weights = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr int64_t kSamples = 64, kSide = 14, kClasses = 10;

// Two convolutions with pooling and a layer, for images of 14 x 14.
Weights weights() {
  return {at::randn({8, 1, 3, 3}).mul_(0.3), at::zeros({8}),  at::randn({16, 8, 3, 3}).mul_(0.1), at::zeros({16}),
          at::randn({kClasses, 64}).mul_(0.1), at::zeros({kClasses})};
}

Tensor loss(const Weights& w, const Tensor& image, const Tensor& label) {
  const auto& [w1, b1, w2, b2, w3, b3] = w;
  Tensor h = at::relu(at::conv2d(image.unsqueeze(0), w1, b1));
  h = at::relu(at::conv2d(at::max_pool2d(h, 2), w2, b2));
  h = at::max_pool2d(h, 2).flatten(1);
  return at::cross_entropy_loss(at::linear(h, w3, b3), label.unsqueeze(0));
}

void add_rows(bench::Program& p) {
  const auto inputs = [] {
    return std::tuple(weights(), at::randn({kSamples, 1, kSide, kSide}), at::randint(0, kClasses, {kSamples}));
  };
  p.row("per_sample_gradients_vmap", {}, [=] {
    return [in = inputs()] {
      const auto& [w, x, y] = in;
      return torch::func::vmap(torch::func::grad(loss), {std::nullopt, 0, 0})(w, x, y);
    };
  });
  p.row("per_sample_gradients_loop", {}, [=] {
    return [in = inputs()] {
      const auto& [w, x, y] = in;
      Weights last;
      for (int64_t i = 0; i < kSamples; ++i) last = torch::func::grad(loss)(w, x.select(0, i), y.select(0, i));
      return last;
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("func");
  add_rows(program);
  return program.run(argc, argv);
}
