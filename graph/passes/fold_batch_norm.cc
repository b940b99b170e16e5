#include "graph/passes/fold_batch_norm.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "graph/ir/text.h"
#include "graph/passes/matcher.h"

namespace torch::graph {
namespace {

using at::Tensor;
using c10::IValue;

// A layer with weights, its arguments as holes w, b and what follows, and one of the norms on it.
struct Layer {
  const char* name;
  const char* before;  // its arguments, as the schema has them
  const char* rest;
};
constexpr Layer kLayers[] = {
    {"aten::conv1d", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::conv1d.padding", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::conv2d", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::conv2d.padding", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::conv3d", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::conv3d.padding", "%x, %w, %b", ", %p0, %p1, %p2, %p3"},
    {"aten::convolution", "%x, %w, %b", ", %p0, %p1, %p2, False, %p3, %p4"},
    {"aten::linear", "%x, %w, %b", ""},
};
constexpr const char* kNorms[] = {
    "%1: Tensor = aten::batch_norm(%0, %gamma, %beta, %mean, %var, False, %momentum, %eps, %cudnn)",
    "%1: Tensor, %2: Tensor, %3: Tensor = aten::_native_batch_norm_legit_no_training(%0, %gamma, %beta, %mean, %var, "
    "%momentum, %eps)",
};

std::string pattern_of(const Layer& layer, const char* norm) {
  std::string text = "graph p(";
  for (const char* hole :
       {"x", "w", "b", "p0", "p1", "p2", "p3", "p4", "gamma", "beta", "mean", "var", "momentum", "eps", "cudnn"}) {
    text += (text.back() == '(' ? "%" : ", %") + std::string(hole) + ": Any";
  }
  return text + ") {\n  %0: Tensor = " + layer.name + "(" + layer.before + layer.rest + ")\n  " + norm +
         "\n  return %1\n}\n";
}

// A constant tensor; undefined for None. Nothing for what is no constant.
std::optional<Tensor> tensor(const Operand& operand) {
  if (!operand.is_constant()) return std::nullopt;
  if (operand.constant().isNone()) return Tensor();
  return operand.constant().isTensor() ? std::optional<Tensor>(operand.constant().toTensor()) : std::nullopt;
}

std::optional<Operand> folded(const Match& match, bool linear) {
  const std::optional<Tensor> w = tensor(match.hole("w")), b = tensor(match.hole("b")),
                              gamma = tensor(match.hole("gamma")), beta = tensor(match.hole("beta")),
                              mean = tensor(match.hole("mean")), var = tensor(match.hole("var"));
  for (const auto* one : {&w, &b, &gamma, &beta, &mean, &var}) {
    if (!one->has_value() || ((*one)->defined() && (*one)->requires_grad())) return std::nullopt;
  }
  if (!w->defined() || !mean->defined() || !var->defined() || w->dim() < 2) return std::nullopt;
  const Operand& eps = match.hole("eps");
  if (!eps.is_constant() || !eps.constant().isDouble()) return std::nullopt;
  const Node* layer = match.nodes().back();
  if (linear && (layer->result()->info() == nullptr || layer->result()->info()->sizes.size() != 2)) return std::nullopt;
  if (mean->numel() != w->size(0)) return std::nullopt;

  const c10::NoGradGuard no_grad;
  Tensor scale = at::rsqrt(at::add(*var, eps.constant().toDouble()));
  if (gamma->defined()) scale = at::mul(scale, *gamma);
  std::vector<int64_t> column(static_cast<size_t>(w->dim()), 1);
  column[0] = -1;
  const Tensor weight = at::to(at::mul(*w, at::reshape(scale, column)), w->scalar_type());
  Tensor bias = at::mul(b->defined() ? at::sub(*b, *mean) : at::neg(*mean), scale);
  if (beta->defined()) bias = at::add(bias, *beta);
  bias = at::to(bias, w->scalar_type());

  std::vector<Operand> operands(layer->operands().begin(), layer->operands().end());
  operands[1] = Operand(IValue(weight));
  operands[2] = Operand(IValue(bias));
  auto made = layer->graph().call(layer->callable(), std::move(operands));
  made->set_source(layer->source());
  Value* const result = made->result();
  made.release()->move_before(match.anchor());
  return Operand(result);
}

}  // namespace

void bind_input(Graph& graph, size_t input, const IValue& value) {
  Block& block = graph.block();
  TORCH_CHECK_INDEX(input < block.input_count(), "graph ", graph.name(), " has ", block.input_count(),
                    " inputs, and none of number ", input);
  block.input(input)->replace_all_uses_with(Operand(value));
  block.erase_input(input);
}

PassResult fold_batch_norm(Graph& graph) {
  PassResult result;
  const TextNames names = dispatcher_names();
  for (const Layer& layer : kLayers) {
    if (!names.callable(layer.name).has_value()) continue;
    const bool linear = std::string_view(layer.name) == "aten::linear";
    for (const char* norm : kNorms) {
      const auto pattern = parse_graph(pattern_of(layer, norm), names);
      result.changes += rewrite(graph, *pattern, [&](const Match& match) { return folded(match, linear); }).changes;
    }
  }
  return result;
}

}  // namespace torch::graph
