// Random programs under random nestings of transforms, against loops and reverse mode alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "aten/autocast/autocast_mode.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "func/functionalize.h"
#include "func/transforms.h"
#include "func/vmap.h"

namespace torch::func {
namespace {

using at::Tensor;
// Vectors of kSize numbers to such vectors.
using Function = std::function<Tensor(const Tensor&)>;
constexpr int64_t kSize = 3;

// Random numbers, the same on every machine.
class Draw {
 public:
  Draw(uint64_t seed, at::ScalarType dtype) : engine_(seed), dtype_(dtype) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  Tensor tensor(at::IntArrayRef sizes) {
    Tensor t = at::empty(sizes, at::kDouble);
    for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<double>()[i] = static_cast<double>(engine_() % 2001) / 1000 - 1;
    return t.to(dtype_);
  }

 private:
  std::mt19937_64 engine_;
  const at::ScalarType dtype_;
};

// --- programs ---

struct Step {
  const char* name;
  std::function<Tensor(const Tensor& x, const Tensor& before, const Tensor& vector, const Tensor& matrix)> compute;
  bool smooth = true;  // small errors of its argument stay small
};

const std::vector<Step>& steps() {
  static const std::vector<Step> all = {
      {"sin", [](auto& x, auto&, auto& v, auto&) { return at::sin(x + v); }},
      {"tanh", [](auto& x, auto&, auto& v, auto&) { return at::tanh(x * v); }},
      {"product", [](auto& x, auto& y, auto&, auto&) { return x * y; }},
      {"mv", [](auto& x, auto&, auto&, auto& m) { return at::matmul(m, x); }},
      {"vm", [](auto& x, auto& y, auto&, auto& m) { return at::matmul(x, m) + y; }},
      {"linear", [](auto& x, auto&, auto& v, auto& m) { return at::linear(x, m, v); }},
      {"softmax", [](auto& x, auto&, auto& v, auto&) { return at::softmax(x, 0) * v; }},
      {"cumsum", [](auto& x, auto&, auto&, auto&) { return at::cumsum(x, 0) * 0.5; }},
      {"flip", [](auto& x, auto& y, auto&, auto&) { return at::flip(x, {0}) * y; }},
      {"where", [](auto& x, auto& y, auto&, auto&) { return at::where(at::gt(x, 0), x * x, y * 0.5); }, false},
      {"quotient", [](auto& x, auto&, auto& v, auto&) { return v / (1 + x * x); }},
      {"roll",
       [](auto& x, auto&, auto&, auto&) {
         return at::cat({at::slice(x, 0, 1), at::slice(x, 0, 0, 1)});
       }},
      {"mean", [](auto& x, auto& y, auto&, auto&) { return x * at::mean(y); }},
      {"outer", [](auto& x, auto& y, auto& v, auto&) { return at::matmul(at::outer(x, y), v); }},
      {"select",
       [](auto& x, auto&, auto&, auto&) {
         return at::index_select(x, 0, at::tensor({2, 0, 2}));
       }},
      {"logsumexp", [](auto& x, auto& y, auto&, auto&) { return at::logsumexp(x, 0) + y; }},
      {"norm", [](auto& x, auto& y, auto&, auto&) { return y / (1 + at::linalg_vector_norm(x)); }, false},
      {"max", [](auto& x, auto& y, auto&, auto&) { return y * std::get<0>(at::max(x, 0)); }, false},
      {"sort", [](auto& x, auto&, auto& v, auto&) { return std::get<0>(at::sort(x)) * v; }, false},
      {"stack",
       [](auto& x, auto& y, auto&, auto& m) {
         return at::mm(at::stack({x, y, x}), m).sum({0});
       }},
      {"pad",
       [](auto& x, auto&, auto&, auto&) {
         return at::constant_pad_nd(x, {1, -1}, 1);
       }},
      {"gelu", [](auto& x, auto&, auto&, auto&) { return at::gelu(x); }},
      {"writes",
       [](auto& x, auto& y, auto& v, auto&) {
         Tensor z = at::clone(x);
         z.mul_(v);
         z.select(0, 1).add_(at::select(y, 0, 0));
         return z;
       }},
      {"fill",
       [](auto& x, auto& y, auto&, auto&) {
         Tensor z = at::zeros_like(x);
         z.copy_(y);
         z.slice(0, 1).add_(at::slice(x, 0, 1)).mul_(2);
         return z;
       }},
  };
  return all;
}

struct Program {
  std::vector<const Step*> steps;
  std::vector<Tensor> vectors, matrices;
  Tensor operator()(const Tensor& x) const {
    Tensor before = x, now = x;
    for (size_t i = 0; i < steps.size(); ++i) {
      Tensor next = steps[i]->compute(now, before, vectors[i], matrices[i]);
      before = now;
      now = next;
    }
    return now;
  }
};

// --- transforms: each makes another function of a function, and says how a loop does it ---

struct Transform {
  const char* name;
  std::function<Function(Function f, const Tensor&vector)> apply, by_loop;
};

Tensor scalar(const Function& f, const Tensor& x) {
  return f(x).sum();
}

Tensor plain_gradient(const std::function<Tensor(const Tensor&)>& of, const Tensor& x) {
  const c10::AutoGradMode record(true);
  const Tensor point = x.requires_grad() ? at::alias(x) : at::detach(x).set_requires_grad(true);
  const Tensor y = of(point);
  if (!y.requires_grad()) return at::zeros_like(x);
  const Tensor g = autograd::grad({y}, {point}, {}, true, true, true)[0];
  return g.defined() ? g : at::zeros_like(x);
}
Tensor plain_jacobian(const Function& f, const Tensor& x) {
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < kSize; ++i) {
    rows.push_back(plain_gradient([&](const Tensor& t) { return at::select(f(t), 0, i); }, x));
  }
  return at::stack(rows);
}
Tensor samples(const Tensor& x, const Tensor& v) {
  return at::stack({x, x * v, x + v, v});
}

// In a region of autocast, of which a function of Float numbers gives such again.
Function in_bfloat16(const Function& f) {
  return [f](const Tensor& x) {
    struct Region {
      Region() {
        at::autocast::set_autocast_enabled(at::kCPU, true);
        at::autocast::increment_nesting();
      }
      ~Region() {
        at::autocast::set_autocast_enabled(at::kCPU, was);
        if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
      }
      const bool was = at::autocast::is_autocast_enabled(at::kCPU);
    };
    const Region region;
    return f(x).to(at::kFloat);
  };
}

const std::vector<Transform>& transforms() {
  static const std::vector<Transform> all = {
      {"grad", [](Function f, const Tensor&) { return Function(grad([f](const Tensor& t) { return scalar(f, t); })); },
       [](Function f, const Tensor&) {
         return [f](const Tensor& x) { return plain_gradient([&](const Tensor& t) { return scalar(f, t); }, x); };
       }},
      // The direction depends on the point, too.
      {"jvp",
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return jvp(f, std::tuple(x), std::tuple(x.cos() * v)).second; };
       },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return at::matmul(plain_jacobian(f, x), x.cos() * v); };
       }},
      {"vjp",
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           const auto [y, vjp_fn] = vjp(f, x);
           return std::get<0>(vjp_fn(v * x)) + y;
         };
       },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return at::matmul(at::t(plain_jacobian(f, x)), v * x) + f(x); };
       }},
      {"linearize",
       [](Function f, const Tensor& v) { return [f, v](const Tensor& x) { return linearize(f, x).second(v + x); }; },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return at::matmul(plain_jacobian(f, x), v + x); };
       }},
      {"jacrev",
       [](Function f, const Tensor& v) { return [f, v](const Tensor& x) { return at::matmul(jacrev(f)(x), v); }; },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return at::matmul(plain_jacobian(f, x), v); };
       }},
      {"jacfwd",
       [](Function f, const Tensor& v) { return [f, v](const Tensor& x) { return at::matmul(jacfwd(f)(x), v); }; },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) { return at::matmul(plain_jacobian(f, x), v); };
       }},
      {"vmap",
       [](Function f, const Tensor& v) { return [f, v](const Tensor& x) { return vmap(f)(samples(x, v)).mean({0}); }; },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           std::vector<Tensor> all;
           for (const Tensor& sample : at::unbind(samples(x, v))) all.push_back(f(sample));
           return at::stack(all).mean({0});
         };
       }},
      // The function's argument is the same for all samples; what they differ in comes afterwards, along another
      // dimension.
      {"shared",
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           return vmap([&](const Tensor& t, const Tensor& s) { return f(t) * f(s); }, {std::nullopt, 1}, 1, "error", 3)(
                      x, at::t(samples(x, v)))
               .sum({1});
         };
       },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           Tensor sum;
           for (const Tensor& sample : at::unbind(samples(x, v))) {
             const Tensor one = f(x) * f(sample);
             sum = sum.defined() ? sum + one : one;
           }
           return sum;
         };
       }},
      // Gradients of each sample by what they share.
      {"per sample",
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           const auto loss = [f](const Tensor& t, const Tensor& s) { return (f(t) * s).sum(); };
           return vmap(grad(loss), {std::nullopt, 0})(x, samples(x, v)).prod(0);
         };
       },
       [](Function f, const Tensor& v) {
         return [f, v](const Tensor& x) {
           std::vector<Tensor> all;
           for (const Tensor& sample : at::unbind(samples(x, v))) {
             all.push_back(plain_gradient([&](const Tensor& t) { return (f(t) * sample).sum(); }, x));
           }
           return at::stack(all).prod(0);
         };
       }},
  };
  return all;
}

const std::vector<Transform>& transforms_of_regions() {
  static const std::vector<Transform> all = [] {
    std::vector<Transform> made = transforms();
    made.push_back({"autocast", [](Function f, const Tensor&) { return in_bfloat16(f); },
                    [](Function f, const Tensor&) { return in_bfloat16(f); }});
    made.push_back(made.back());
    made.push_back(made.back());
    return made;
  }();
  return all;
}

const std::vector<Transform>& transforms_of_checkpoints() {
  static const std::vector<Transform> all = [] {
    std::vector<Transform> made = transforms();
    made.push_back(
        {"checkpoint",
         [](Function f, const Tensor&) { return [f](const Tensor& x) { return utils::checkpoint::checkpoint(f, x); }; },
         [](Function f, const Tensor&) { return f; }});
    made.push_back(made.back());
    made.push_back(made.back());
    return made;
  }();
  return all;
}

struct Kind {
  const std::vector<Transform>& transforms;
  at::ScalarType dtype;
  double tolerance;
};

int setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

void compare(const Kind& kind, int count) {
  count = setting("NESTING_CASES", count);
  const int first = setting("NESTING_FIRST", 0);
  const bool exact = kind.dtype == at::kDouble;
  for (int seed = first; seed < first + count; ++seed) {
    Draw draw(static_cast<uint64_t>(seed), kind.dtype);
    Program program;
    std::string text;
    for (int i = 2 + draw.below(3); i > 0;) {
      const Step& step = steps()[static_cast<size_t>(draw.below(static_cast<int>(steps().size())))];
      if (!exact && !step.smooth) continue;
      --i;
      program.steps.push_back(&step);
      program.vectors.push_back(draw.tensor({kSize}));
      program.matrices.push_back(draw.tensor({kSize, kSize}));
      text += std::string(step.name) + ", ";
    }
    Function f = program, by_loop = program;
    for (int depth = 1 + draw.below(3); depth > 0;) {
      const Transform& t = kind.transforms[static_cast<size_t>(draw.below(static_cast<int>(kind.transforms.size())))];
      --depth;
      const Tensor v = draw.tensor({kSize});
      f = t.apply(f, v);
      by_loop = t.by_loop(by_loop, v);
      text = std::string(t.name) + "(" + text + ")";
    }
    const Tensor x = draw.tensor({kSize});
    try {
      const Tensor want = by_loop(x).to(at::kDouble), got = f(x);
      const double scale = 1 + want.abs().max().item<double>();
      EXPECT_LT((got.to(at::kDouble) - want).abs().max().item<double>(), kind.tolerance * scale)
          << seed << ": " << text;
      EXPECT_FALSE(got.requires_grad()) << seed << ": " << text;
    } catch (const std::exception& error) {
      ADD_FAILURE() << seed << ": " << text << ": " << error.what();
    }
  }
}

TEST(Nesting, AgreesWithLoops) {
  compare({transforms(), at::kDouble, 1e-9}, 150);
}
TEST(Nesting, AgreesWithLoopsInAutocast) {
  compare({transforms_of_regions(), at::kFloat, 0.05}, 75);
}
TEST(Nesting, AgreesWithLoopsUnderCheckpoints) {
  compare({transforms_of_checkpoints(), at::kDouble, 1e-9}, 75);
}

}  // namespace
}  // namespace torch::func
