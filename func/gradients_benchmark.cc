// Gradients of each sample's loss by the weights of a small network, of a whole batch at once and in a loop; Jacobians
// and Hessians of a small network.
#include <string>
#include <tuple>

#include "aten/aten.h"
#include "func/transforms.h"
#include "func/vmap.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
using at::Tensor;
using Weights = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr int64_t kSamples = 256, kClasses = 10;

// Two convolutions with pooling in between and a layer, for images of 8 x 8 or 14 x 14.
Weights weights(int64_t side) {
  const int64_t features = side == 8 ? 16 : 64;
  return {at::randn({8, 1, 3, 3}).mul_(0.3),
          at::zeros({8}),
          at::randn({16, 8, 3, 3}).mul_(0.1),
          at::zeros({16}),
          at::randn({kClasses, features}).mul_(0.1),
          at::zeros({kClasses})};
}

Tensor loss(const Weights& w, const Tensor& image, const Tensor& label) {
  const auto& [w1, b1, w2, b2, w3, b3] = w;
  Tensor h = at::relu(at::conv2d(image.unsqueeze(0), w1, b1));
  h = at::relu(at::conv2d(at::max_pool2d(h, 2), w2, b2));
  if (h.size(2) > 1) h = at::max_pool2d(h, 2);
  return at::cross_entropy_loss(at::linear(h.flatten(1), w3, b3), label.unsqueeze(0));
}

void add_rows(bench::Program& p, int64_t side) {
  const auto inputs = [side] {
    return std::tuple(weights(side), at::randn({kSamples, 1, side, side}), at::randint(0, kClasses, {kSamples}));
  };
  const std::string of = "_of_" + std::to_string(side);
  p.row("per_sample_gradients_vmap" + of, {}, [=] {
    return [in = inputs()] {
      const auto& [w, x, y] = in;
      return torch::func::vmap(torch::func::grad(loss), {std::nullopt, 0, 0})(w, x, y);
    };
  });
  p.row("per_sample_gradients_loop" + of, {}, [=] {
    return [in = inputs()] {
      const auto& [w, x, y] = in;
      Weights last;
      for (int64_t i = 0; i < kSamples; ++i) last = torch::func::grad(loss)(w, x.select(0, i), y.select(0, i));
      return last;
    };
  });
}

// Of two layers, 32 -> 64 -> 32, by their input.
void add_jacobians(bench::Program& p) {
  const auto layers = [] {
    return [w1 = at::randn({64, 32}).mul_(0.2), b1 = at::randn({64}), w2 = at::randn({32, 64}).mul_(0.2),
            b2 = at::randn({32})](const Tensor& x) { return at::linear(at::tanh(at::linear(x, w1, b1)), w2, b2); };
  };
  p.call("jacrev", [=] { return [f = torch::func::jacrev(layers()), x = at::randn({32})] { return f(x); }; });
  p.call("jacfwd", [=] { return [f = torch::func::jacfwd(layers()), x = at::randn({32})] { return f(x); }; });
  p.call("hessian", [=] {
    const auto scalar = [f = layers()](const Tensor& x) { return at::sum(at::tanh(f(x))); };
    return [f = torch::func::hessian(scalar), x = at::randn({32})] { return f(x); };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("func");
  add_rows(program, 8);
  add_rows(program, 14);
  add_jacobians(program);
  return program.run(argc, argv);
}
