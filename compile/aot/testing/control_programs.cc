// Programs with control flow: KINDLING_PROGRAM names a function below.
#include <tuple>
#include <vector>

#include "compile/aot/capture.h"
#include "export/capture/export.h"
#include "graph/capture/control_flow.h"
#include "torch/torch.h"

namespace torch {
namespace {

// Rows go one way or the other; both ways read weights and what lies in another order than its elements.
struct BranchesImpl : nn::Module {
  BranchesImpl()
      : wide(register_module("wide", nn::Linear(6, 40))), narrow(register_module("narrow", nn::Linear(40, 6))) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& x) {
    const Tensor turned = x.t(), mean = x.mean(0);
    const auto often = [&](const Tensor& rows) {
      const Tensor y = narrow(wide(rows).relu());
      return torch::cond((mean > 0.5).any(), [&](const Tensor& z) { return z.softmax(-1) + mean; },
                         [](const Tensor& z) { return z.tanh() * 2; }, y);
    };
    const auto seldom = [&](const Tensor& rows) { return rows * 3 + turned.sum(0).unsqueeze(1); };
    const Tensor y = torch::cond(x.sum() > 0, often, seldom, x);
    // A branch that gives what it was given.
    const Tensor z = torch::cond(
        x.min() < -2, [](const Tensor& rows) { return rows.t(); }, [](const Tensor& rows) { return rows.abs().t(); },
        x);
    return {y, z};
  }
  nn::Linear wide, narrow;
};
TORCH_MODULE(Branches);

ExportedProgram branches(double shift) {
  torch::manual_seed(3);
  const Branches net;
  ExportOptions options;
  options.argument_names = {"x"};
  options.dynamic_shapes = {{{0, Dim("n", 2, 9)}}};
  return export_(net, std::tuple(torch::randn({5, 6}) + shift), options);
}

// Turns until a number is reached, with a branch in each.
struct TurnsImpl : nn::Module {
  TurnsImpl() : weight(register_parameter("weight", torch::randn({8, 8}) * 0.2)) {}
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& most) {
    const auto goes_on = [&](const Tensor& i, const Tensor& state, const Tensor&) {
      return (i < most).logical_and(state.abs().max() < 50);
    };
    const auto turn = [&](const Tensor& i, const Tensor& state, const Tensor& sum) {
      const Tensor next = torch::cond(
          i % 2 == 0, [&](const Tensor& s) { return at::mm(s, weight) + x; },
          [&](const Tensor& s) { return s.softmax(-1) * x; }, state);
      return std::tuple(i + 1, next, sum + next.sum());
    };
    return torch::while_loop(goes_on, turn, std::tuple(torch::zeros({}, kLong), x, torch::zeros({})));
  }
  Tensor weight;
};
TORCH_MODULE(Turns);

ExportedProgram turns(int64_t most) {
  torch::manual_seed(4);
  const Turns net;
  ExportOptions options;
  options.argument_names = {"x", "most"};
  return export_(net, std::tuple(torch::randn({4, 8}), torch::full({}, most, kLong)), options);
}

// A recurrent cell along a sequence of any length, forwards and backwards, and what is done with each of its steps.
struct SequenceImpl : nn::Module {
  SequenceImpl()
      : of_input(register_module("of_input", nn::Linear(5, 7))),
        of_state(register_module("of_state", nn::Linear(7, 7))) {}
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& steps) {
    const auto cell = [&](const Tensor& state, const Tensor& step) {
      const Tensor next = (of_input(step) + of_state(state)).tanh();
      return std::tuple(next, std::tuple(next * 1, next.amax(-1)));
    };
    const Tensor start = torch::zeros({3, 7});
    const auto [last, outputs] = torch::scan(cell, start, steps);
    const auto [first, others] = torch::scan(cell, last, steps, 0, true);
    const Tensor mapped =
        torch::map([&](const Tensor& step, const Tensor& bias) { return step.t().contiguous().cumsum(1) + bias.sum(); },
                   std::get<0>(others), first);
    return {std::get<0>(outputs), std::get<1>(outputs), mapped};
  }
  nn::Linear of_input, of_state;
};
TORCH_MODULE(Sequence);

ExportedProgram sequence() {
  torch::manual_seed(5);
  const Sequence net;
  ExportOptions options;
  options.argument_names = {"steps"};
  options.dynamic_shapes = {{{0, Dim("length", 2, 12)}}};
  return export_(net, std::tuple(torch::randn({6, 3, 5})), options);
}

}  // namespace

ExportedProgram make_model() {
  return KINDLING_PROGRAM;
}

}  // namespace torch
