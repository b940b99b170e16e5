#include "graph/capture/control_flow.h"

#include <random>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "gmock/gmock.h"
#include "graph/capture/capture.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;
using c10::testing::message_of;
using ::testing::HasSubstr;
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

Captured captured(const Function& f, const std::vector<Tensor>& inputs) {
  CaptureOptions options;
  options.infos = true;
  Stack stack(inputs.begin(), inputs.end());
  return capture(
      [&](const Stack& in) {
        std::vector<Tensor> tensors;
        for (const IValue& v : in) tensors.push_back(v.toTensor());
        const std::vector<Tensor> out = f(tensors);
        return Stack(out.begin(), out.end());
      },
      stack, options);
}
// The graph does for all of `calls` what the function does, whichever way it was captured.
void expect_same(const Function& f, const std::vector<std::vector<Tensor>>& calls) {
  for (const std::vector<Tensor>& example : calls) {
    const Captured one = captured(f, example);
    verify(*one.graph);
    const Interpreter run(*one.graph);
    for (const std::vector<Tensor>& inputs : calls) {
      Stack got(inputs.begin(), inputs.end());
      run(got);
      const std::vector<Tensor> want = f(inputs);
      EXPECT_EQ(testing::difference(got, Stack(want.begin(), want.end())), "") << print(*one.graph);
    }
  }
}
Tensor leaf(at::IntArrayRef sizes) {
  return torch::randn(sizes).set_requires_grad(true);
}

TEST(Cond, BothWaysAreInTheGraph) {
  const Tensor w = torch::randn({3});
  const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor y = torch::cond(
        in[0].sum() > 0, [&](const Tensor& x) { return x.sin() + w; }, [](const Tensor& x) { return x.cos(); }, in[0]);
    return {y * 2};
  };
  const Tensor x = torch::rand({2, 3});
  expect_same(f, {{x}, {-x}});
  const Captured one = captured(f, {x});
  EXPECT_THAT(print(*one.graph), HasSubstr(R"(if(%2) {
    %4: Tensor<Float, cpu, [2, 3], [3, 1]> = aten::sin(%0)
    %5: Tensor<Float, cpu, [2, 3], [3, 1]> = aten::add.Tensor(%4, @, 1)
    yield %5
  } {
    %6: Tensor<Float, cpu, [2, 3], [3, 1]> = aten::cos(%0)
    yield %6
  })"));
}

TEST(Cond, PacksAndNesting) {
  const auto inner = [](const Tensor& a, const Tensor& b) {
    return torch::cond((a > b).any(),
                       [](const Tensor& p, const Tensor& q) {
                         return std::vector<Tensor>{p - q, p};
                       },
                       [](const Tensor& p, const Tensor& q) {
                         return std::vector<Tensor>{q - p, q + 1};
                       },
                       std::tuple(a, b));
  };
  const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const auto [p, q] = torch::cond(
        in[0].sum() > in[1].sum(),
        [&] {
          const std::vector<Tensor> both = inner(in[0], in[1]);
          return std::pair(both[0] * 2, both[1]);
        },
        [&] { return std::pair(in[0] + in[1], in[1] * 3); });
    return {p, q + p};
  };
  const Tensor x = torch::randn({4}), y = torch::randn({4});
  expect_same(f, {{x, y}, {y, x}, {x + 9, y}, {x - 9, y}});
}

// What a branch returns as it got it is a tensor of its own.
TEST(Cond, ResultsShareNoMemory) {
  const auto same = [](const Tensor& x) { return x; };
  const auto twice = [](const Tensor& x) { return x * 2; };
  const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    Tensor y = torch::cond(in[0].sum() > 0, same, twice, in[0]);
    y.add_(1);
    const Tensor z = torch::cond(
        in[0].sum() > 0, [](const Tensor& x) { return x.t(); }, [](const Tensor& x) { return x.t() + 1; }, in[0]);
    return {y, in[0] + 0, z.reshape({4})};
  };
  const Tensor x = torch::ones({2, 2});
  expect_same([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in)[0], f(in)[1]}; }, {{x}, {-x}});
  const Tensor y = torch::cond(torch::tensor(true), same, twice, x);
  EXPECT_FALSE(y.is_alias_of(x));
  // Other strides of the two ways: one form in the graph.
  const Captured one = captured(
      [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {torch::cond(
                    in[0].sum() > 0, [](const Tensor& p) { return (p + 1).t(); }, twice, in[0])
                    .view({4})};
      },
      {-x});
  Stack got{x};
  Interpreter (*one.graph)(got);
  EXPECT_EQ(testing::difference(got, {(x + 1).t().reshape({4})}), "");
}

TEST(Cond, Gradients) {
  const Tensor x = leaf({3});
  for (const bool way : {true, false}) {
    const Tensor y = torch::cond(
        torch::tensor(way), [](const Tensor& t) { return t.exp(); }, [](const Tensor& t) { return t * t; }, x);
    const Tensor want = way ? x.exp() : x * 2;
    EXPECT_TRUE(at::allclose(torch::autograd::grad({y.sum()}, {x})[0], want));
    EXPECT_EQ(torch::cond(
                  way, [&] { return 1; }, [&] { return 2; }),
              way ? 1 : 2);
  }
  // Replayed.
  const Captured one = captured(
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return {torch::cond(
            in[0].sum() > 0, [](const Tensor& t) { return t.exp(); }, [](const Tensor& t) { return t * t; }, in[0])};
      },
      {x});
  for (const double sign : {1.0, -1.0}) {
    const Tensor z = (torch::rand({3}) * sign).set_requires_grad(true);
    Stack got{z};
    Interpreter (*one.graph)(got);
    EXPECT_TRUE(at::allclose(torch::autograd::grad({got[0].toTensor().sum()}, {z})[0], sign > 0 ? z.exp() : z * 2));
  }
}

TEST(WhileLoop, Runs) {
  const Tensor w = torch::randn({3});
  const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const auto [n, x] =
        torch::while_loop([&](const Tensor& i, const Tensor&) { return i < in[0]; },
                          [&](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, t.sin() + w); },
                          std::tuple(torch::zeros({}, at::kLong), in[1]));
    return {n, x * 2, in[1] + 0};
  };
  const Tensor x = torch::randn({2, 3});
  expect_same(f, {{torch::tensor(3), x}, {torch::tensor(0), x}, {torch::tensor(1), x}});
  // One tensor; a carried value that stays.
  const Tensor y = torch::while_loop([](const Tensor& t) { return t.sum() < 100; },
                                     [](const Tensor& t) { return t * 2; }, torch::ones({4}));
  EXPECT_TRUE(at::equal(y, torch::full({4}, 32.0)));
  expect_same(
      [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        return torch::while_loop([](const Tensor& a, const Tensor&) { return a < 10; },
                                 [](const Tensor& a, const Tensor& b) {
                                   return std::array{a + b, b};
                                 },
                                 std::array{in[0], in[1]})[0]
            .unsqueeze(0)
            .unbind(0);
      },
      {{torch::tensor(1.0f), torch::tensor(3.0f)}, {torch::tensor(20.0f), torch::tensor(3.0f)}});
}

TEST(WhileLoop, Gradients) {
  const Tensor x = leaf({3});
  const Tensor y = std::get<1>(torch::while_loop(
      [](const Tensor& i, const Tensor&) { return i < 3; },
      [](const Tensor& i, const Tensor& t) { return std::pair(i + 1, t * t); }, std::pair(torch::tensor(0), x)));
  EXPECT_TRUE(at::allclose(torch::autograd::grad({y.sum()}, {x})[0], 8 * x.pow(7)));
}

TEST(Loops, MapScanAndAssociativeScan) {
  const Function f = [](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const auto [a, b] = torch::map([](const std::pair<Tensor, Tensor>& row,
                                      const Tensor& w) { return std::pair(row.first.dot(w), row.second * 2); },
                                   std::pair(in[0], in[1]), in[2]);
    const auto [last, sums] = torch::scan(
        [](const Tensor& c, const Tensor& x) { return std::pair(c * 0.5 + x, (c * x).sum()); }, in[2], in[0]);
    const auto [first, back] = torch::scan([](const Tensor& c, const Tensor& x) { return std::pair(c + x, c + x); },
                                           torch::zeros({in[0].size(0)}), in[0],
                                           /*dim=*/1, /*reverse=*/true);
    const Tensor products =
        torch::associative_scan([](const Tensor& p, const Tensor& q) { return p * q; }, in[0], 1, true, "generic");
    return {a, b, last, sums, first, back, products};
  };
  const Tensor w = torch::randn({3});
  expect_same(f, {{torch::randn({5, 3}), torch::randn({5, 2}), w}, {torch::randn({5, 3}), torch::randn({5, 2}), w}});
  const Tensor x = torch::randn({5, 3}, at::kDouble);
  const auto sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  EXPECT_TRUE(at::allclose(torch::associative_scan(sum, x, 0), x.cumsum(0)));
  EXPECT_TRUE(at::allclose(torch::associative_scan(sum, x, -1, true), x.flip(1).cumsum(1).flip(1)));
  EXPECT_TRUE(at::equal(torch::associative_scan(sum, x.slice(0, 0, 1), 0), x.slice(0, 0, 1)));
  const auto both = [](const Tensor& c, const Tensor& y) { return std::pair(c + y, c + y); };
  EXPECT_TRUE(at::allclose(torch::scan(both, torch::zeros({3}, at::kDouble), x).second, x.cumsum(0)));
  EXPECT_TRUE(at::allclose(torch::scan(both, torch::zeros({5}, at::kDouble), x, 1, true).second.t(),
                           x.flip(1).cumsum(1).flip(1)));
  const Tensor p = leaf({4, 3}), q = torch::randn({3});
  const Tensor mapped = torch::map([](const Tensor& row, const Tensor& v) { return row.dot(v); }, p, q);
  EXPECT_TRUE(at::allclose(mapped, p.mv(q)));
  EXPECT_TRUE(at::allclose(torch::autograd::grad({mapped.sum()}, {p})[0], q.expand({4, 3})));
}

TEST(ControlFlow, SaysWhatIsWrong) {
  const Tensor x = torch::ones({2, 3}), yes = torch::tensor(true);
  const auto twice = [](const Tensor& t) { return t * 2; };
  const auto rows = [](const Tensor& t) { return t.sum(0); };
  const auto record = [&](const auto& f) {
    return message_of<c10::ValueError>(
        [&] { captured([&](const std::vector<Tensor>& in) -> std::vector<Tensor> { return {f(in[0])}; }, {x}); });
  };
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::cond(x > 0, twice, rows, x); }),
              HasSubstr("cond: expected pred to be a tensor of one element, but got sizes [2, 3]"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::cond(yes, twice, rows, Tensor()); }), HasSubstr("undefined"));
  EXPECT_THAT(record([&](const Tensor& t) { return torch::cond(t.sum() > 0, twice, rows, t); }),
              HasSubstr("tensor 0 of true_fn is Float [2, 3] on cpu, and that of false_fn Float [3] on cpu"));
  EXPECT_THAT(record([&](const Tensor& t) {
                return torch::cond(
                    t.sum() > 0, twice, [](const Tensor& u) { return u.to(at::kDouble); }, t);
              }),
              HasSubstr("and that of false_fn Double"));
  // Writes to what comes from outside: before they happen in a capture.
  const auto writes = [](Tensor t) { return t.add_(1); };
  EXPECT_THAT(record([&](const Tensor& t) { return torch::cond(t.sum() > 0, writes, writes, t); }),
              HasSubstr("argument 'self' would be written, but was not made in false_fn of cond"));
  EXPECT_TRUE(at::equal(x, torch::ones({2, 3})));
  EXPECT_THAT(record([&](const Tensor& t) {
                return torch::cond(
                    t.sum() > 0, twice,
                    [](const Tensor& u) {
                      u[0].zero_();
                      return u * 2;
                    },
                    t);
              }),
              HasSubstr("not made in false_fn of cond"));
  const Tensor own = torch::ones({2});
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::cond(yes, writes, writes, own); }),
              HasSubstr("cond: true_fn has written to tensor 0 of those that it was given"));
  // A tensor that leaves its branch.
  EXPECT_THAT(record([&](const Tensor& t) {
                Tensor left;
                const auto keeps = [&](const Tensor& u) { return left = u + 1, left * 2; };
                return torch::cond(t.sum() > 0, keeps, twice, t) + left;
              }),
              HasSubstr("was made in a branch or a body of control flow, and is used outside of it"));

  const auto forever = [](const Tensor&) { return torch::tensor(true); };
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::while_loop(forever, rows, x); }),
              HasSubstr("while_loop: carried tensor 0 is Float [2, 3] on cpu, but body_fn gives Float [3] on cpu"));
  EXPECT_THAT(
      record([&](const Tensor& t) { return torch::while_loop([](const Tensor& u) { return u > 0; }, twice, t); }),
      HasSubstr("expected what cond_fn gives to be a tensor of one element"));
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::while_loop(forever, writes, own.clone()); }),
              HasSubstr("has written to tensor 0"));
  const std::vector<Tensor> none;
  EXPECT_THAT(message_of<c10::ValueError>([&] {
                torch::while_loop([](const std::vector<Tensor>&) { return torch::tensor(false); },
                                  [](const std::vector<Tensor>& v) { return v; }, none);
              }),
              HasSubstr("at least one carried tensor"));
  EXPECT_THAT(message_of<c10::ValueError>([&] {
                torch::map(twice, torch::ones({0, 2}));
              }),
              HasSubstr("map: expected at least one slice"));
  EXPECT_THAT(message_of<c10::IndexError>([&] { torch::map(twice, torch::tensor(1.0)); }),
              HasSubstr("have no dimension 0"));
  const auto step = [](const Tensor& c, const Tensor& y) { return std::pair(c.sum(), y); };
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::scan(step, torch::zeros({3}), x); }),
              HasSubstr("scan: carried tensor 0 is Float [3] on cpu, but combine_fn gives Float [] on cpu"));
  const auto pair = [](const std::pair<Tensor, Tensor>& p) { return p.first; };
  EXPECT_THAT(message_of<c10::ValueError>([&] { torch::map(pair, std::pair(x, torch::ones({3}))); }),
              HasSubstr("tensor 1 of xs has 3 and those before it 2"));
  EXPECT_THAT(message_of<c10::ValueError>([&] {
                torch::associative_scan([](const Tensor& a, const Tensor&) { return a; }, x, 0, false, "fast");
              }),
              HasSubstr("got 'fast'"));
  EXPECT_THAT(message_of<c10::IndexError>(
                  [&] { torch::associative_scan([](const Tensor& a, const Tensor&) { return a; }, x, 2); }),
              HasSubstr("no dimension 2"));
}

// A program may go on after such an error.
TEST(ControlFlow, GraphsAreWholeAfterErrors) {
  const Tensor x = torch::ones({2, 3});
  const auto twice = [](const Tensor& t) { return t * 2; };
  const auto rows = [](const Tensor& t) { return t.sum(0); };
  const Captured one = captured(
      [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
        for (const int which : {0, 1, 2, 3}) {
          try {
            if (which == 0) torch::cond(in[0].sum() > 0, twice, rows, in[0]);
            if (which == 1) torch::while_loop([](const Tensor& t) { return t.sum() > 0; }, rows, in[0]);
            if (which == 2) {
              torch::scan([](const Tensor& c, const Tensor& y) { return std::pair(c.sum(), y); }, in[0][0], in[0]);
            }
            if (which == 3) {
              torch::map(
                  [](const Tensor& row) -> Tensor {
                    TORCH_CHECK_VALUE(false, "no");
                    return row;
                  },
                  in[0]);
            }
            ADD_FAILURE() << which;
          } catch (const c10::ValueError&) {
          }
        }
        return {in[0] + 1};
      },
      {x});
  verify(*one.graph);
}

TEST(ControlFlow, RandomNumbersAreThoseOfTheWayTaken) {
  const auto draw = [](const Tensor& t) { return t + torch::rand({3}); };
  const auto draw_twice = [](const Tensor& t) { return t + torch::rand({3}) + torch::rand({3}); };
  const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
    const Tensor y = torch::cond(in[0].sum() > 0, draw, draw_twice, in[0]);
    const Tensor z = torch::map(draw, in[1]);
    return {y, z, torch::rand({2})};
  };
  const Tensor x = torch::ones({3}), rows = torch::ones({2, 3});
  for (const Tensor& in : {x, -x}) {
    at::manual_seed(3);
    const std::vector<Tensor> want = f({in, rows});
    at::manual_seed(3);
    std::vector<Tensor> seen;
    captured([&](const std::vector<Tensor>& given) { return seen = f(given); }, {in, rows});
    EXPECT_EQ(testing::difference(Stack(seen.begin(), seen.end()), Stack(want.begin(), want.end())), "");
  }
}

// Programs of branches and loops in each other.
TEST(ControlFlow, RandomPrograms) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::function<Tensor(const Tensor&, const Tensor&, std::mt19937, int)> program =
        [&](const Tensor& a, const Tensor& b, std::mt19937 random, int depth) -> Tensor {
      Tensor x = a;
      for (int i = 0; i < 3; ++i) {
        const unsigned kind = depth > 2 ? random() % 2 : random() % 6;
        const std::mt19937 left = random, right = std::mt19937(random());
        if (kind == 0) x = (x + b).tanh();
        if (kind == 1) x = x.flip(0) * 0.5;
        if (kind == 2) {
          x = torch::cond((x * b).sum() > 0, [&](const Tensor& t) { return program(t, b, left, depth + 1); },
                          [&](const Tensor& t) { return program(b, t, right, depth + 1); }, x);
        }
        if (kind == 3) {
          x = std::get<1>(torch::while_loop(
              [&](const Tensor& n, const Tensor& t) { return n * 2 < 4 + t.sum().sign(); },
              [&](const Tensor& n, const Tensor& t) { return std::tuple(n + 1, program(t, b, left, depth + 1)); },
              std::tuple(torch::tensor(0), x)));
        }
        if (kind == 4) {
          x = torch::scan([&](const Tensor& c,
                              const Tensor& row) { return std::pair(program(c, b, left, depth + 1), row + c); },
                          x, x.unsqueeze(0).repeat({3, 1}))
                  .second.sum(0);
        }
        if (kind == 5) {
          x = torch::map([&](const Tensor& row, const Tensor& c) { return program(row, c, right, depth + 1); },
                         at::stack({x, b, x - b}), b)
                  .mean(0);
        }
      }
      return x;
    };
    const Function f = [&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
      return {program(in[0], in[1], std::mt19937(seed), 0)};
    };
    expect_same(f, {{torch::randn({4}), torch::randn({4})}, {torch::randn({4}), torch::randn({4})}});
  }
}

}  // namespace
}  // namespace torch::graph
