#include "compile/layers/fusion.h"

#include <cmath>
#include <limits>

#include "aten/core/tensor.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "graph/passes/operands.h"
#include "graph/passes/tensor_info.h"

namespace torch::compiler {

using c10::IValue;
using graph::Graph;
using graph::is_constant_tensor;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

// The node that alone reads its only result; null where there is none in this block.
Node* only_reader(const Node& node) {
  const auto uses = node.result()->uses();
  for (size_t i = 1; i < node.result_count(); ++i) {
    if (!node.result(i)->uses().empty()) return nullptr;
  }
  if (uses.size() != 1 || uses[0].node->block() != node.block()) return nullptr;
  return uses[0].node->kind() == Node::Kind::kCall ? uses[0].node : nullptr;
}

bool same_layout(const Value* a, const Value* b) {
  const TensorInfo *x = a->info(), *y = b->info();
  return x != nullptr && y != nullptr && x->dtype == y->dtype && x->sizes == y->sizes && x->strides == y->strides;
}

// Whether it adds a tensor of the same layout to `value`.
bool adds_same_layout(const Node& node, const Value* value) {
  if (!node.calls("aten::add.Tensor") || !same_layout(node.result(), value)) return false;
  if (!is_one(node.argument("alpha"))) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (!node.operand(i).is_value() || !same_layout(node.operand(i).value(), value)) return false;
  }
  return !(node.operand(0).value() == value && node.operand(1).value() == value);
}

// Elements that a pointer reads.
bool is_in_memory(const at::Tensor& t) {
  return t.device().is_cpu() && t.layout() == c10::kStrided;
}

bool is_finite_number(const Operand& operand) {
  if (!operand.is_constant()) return false;
  const IValue& v = operand.constant();
  return v.isInt() || (v.isDouble() && std::isfinite(v.toDouble()));
}
bool limits(const Node& node) {
  return node.calls("aten::relu") || node.calls("aten::relu6") ||
         (node.calls("aten::hardtanh") && is_finite_number(node.operand(1)) && is_finite_number(node.operand(2)));
}

}  // namespace

bool is_packable_convolution(const Node& node) {
  if (!node.calls("aten::convolution") || !node.operand(0).is_value() || !is_constant_tensor(node.argument("weight")))
    return false;
  const Operand &bias = node.argument("bias"), &groups = node.argument("groups");
  const bool biased = !(bias.is_constant() && bias.constant().isNone());
  const at::Tensor weight = node.argument("weight").constant().toTensor();
  const TensorInfo* in = node.operand(0).value()->info();
  if (in == nullptr || in->sizes.size() != 4 || weight.dim() != 4 || in->dtype != c10::ScalarType::Float ||
      !in->device.is_cpu() || !is_in_memory(weight) || weight.scalar_type() != c10::ScalarType::Float ||
      !is_false(node.argument("transposed")) || (biased && !is_constant_tensor(bias)) || !groups.is_constant() ||
      !in->sizes[1].is_constant()) {
    return false;
  }
  for (const char* name : {"stride", "padding", "dilation"}) {
    const Operand& list = node.argument(name);
    if (!list.is_constant() || !list.constant().isIntList()) return false;
  }
  const int64_t count = groups.constant().toInt(), channels = in->sizes[1].value();
  return count == 1 || (count == channels && weight.size(0) == channels);
}

at::matrix::Convolution convolution_of(const Node& node, const std::function<int64_t(const graph::IntExpr&)>& size) {
  const TensorInfo &in = *node.operand(0).value()->info(), &out = *node.result()->info();
  const at::Tensor weight = node.argument("weight").constant().toTensor();
  at::matrix::Convolution c;
  c.channels_last = true;
  c.batch = size(in.sizes[0]);
  c.in_channels = in.sizes[1].value(), c.out_channels = weight.size(0);
  c.groups = node.argument("groups").constant().toInt();
  for (size_t d = 0; d < 2; ++d) {
    // Of a list of one number or two.
    const auto number = [&](const char* name) {
      const std::vector<int64_t> list = node.argument(name).constant().toIntVector();
      return d == 0 ? list.front() : list.back();
    };
    c.input[d + 1] = size(in.sizes[d + 2]), c.output[d + 1] = size(out.sizes[d + 2]);
    c.kernel[d + 1] = weight.size(static_cast<int64_t>(d) + 2);
    c.stride[d + 1] = number("stride"), c.padding[d + 1] = number("padding"), c.dilation[d + 1] = number("dilation");
  }
  return c;
}

ConvolutionForm form_of(const at::matrix::Convolution& c) {
  if (c.groups > 1) return ConvolutionForm::kDepthwise;
  bool is_product = true;
  for (int d = 1; d < 3; ++d) is_product = is_product && c.kernel[d] == 1 && c.stride[d] == 1 && c.padding[d] == 0;
  if (is_product) return ConvolutionForm::kProduct;
  using at::matrix::PackedWinograd;
  const bool by_winograd = PackedWinograd::refusal(c) == nullptr && PackedWinograd::is_worth(c);
  return by_winograd ? ConvolutionForm::kWinograd : ConvolutionForm::kDirect;
}

std::optional<ConstantProduct> constant_product(const Node& node) {
  std::optional<ConstantProduct> product;
  if (node.calls("aten::linear")) {
    const Operand& bias = node.operand(2);
    product = ConstantProduct{node.operand(0), node.operand(1), true, graph::is_none(bias) ? nullptr : &bias};
  } else if (node.calls("aten::mm")) {
    product = ConstantProduct{node.operand(0), node.operand(1), false, nullptr};
  } else if (node.calls("aten::addmm") && is_one(node.argument("beta")) && is_one(node.argument("alpha"))) {
    product = ConstantProduct{node.operand(1), node.operand(2), false, &node.operand(0)};
  }
  const TensorInfo* const out = product.has_value() ? node.result()->info() : nullptr;
  if (out == nullptr || !is_constant_tensor(product->weight) ||
      !(product->x.is_value() || is_constant_tensor(product->x)))
    return std::nullopt;
  const auto info = [](const Operand& operand) -> std::optional<TensorInfo> {
    if (is_constant_tensor(operand)) return graph::info_of(operand.constant().toTensor());
    if (!operand.is_value() || operand.value()->info() == nullptr) return std::nullopt;
    return *operand.value()->info();
  };
  const std::optional<TensorInfo> in = info(product->x);
  const at::Tensor weight = product->weight.constant().toTensor();
  const bool floating = out->dtype == c10::ScalarType::Float || out->dtype == c10::ScalarType::Double;
  if (!in.has_value() || weight.dim() != 2 || weight.numel() == 0 || !floating || in->dtype != out->dtype ||
      !in->device.is_cpu() || !is_in_memory(weight) || weight.scalar_type() != in->dtype || in->sizes.empty() ||
      !graph::is_row_major(*in) || !graph::is_row_major(*out))
    return std::nullopt;
  if (product->bias != nullptr) {
    const std::optional<TensorInfo> bias = info(*product->bias);
    if (!bias.has_value() || bias->sizes.size() != 1 ||
        !(bias->sizes[0] == graph::IntExpr(weight.size(product->transposed ? 0 : 1))) || !graph::is_row_major(*bias) ||
        bias->dtype != in->dtype)
      return std::nullopt;
  }
  return product;
}

bool is_packable_product(const Node& node) {
  const std::optional<ConstantProduct> product = constant_product(node);
  return product.has_value() && node.result()->info()->dtype == c10::ScalarType::Float &&
         (product->bias == nullptr || is_constant_tensor(*product->bias));
}

bool is_layer(const Node& node) {
  if (is_packable_product(node)) return constant_product(node)->x.is_value();
  const TensorInfo* const out = node.result_count() == 1 ? node.result()->info() : nullptr;
  return out != nullptr && is_packable_convolution(node) && graph::is_channels_last(*out);
}

Epilogue epilogue_of(const std::vector<const Node*>& group) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Epilogue epilogue{nullptr, -kInfinity, kInfinity};
  const Value* const sum = group.front()->result();
  const auto number = [](const Operand& operand) {
    const IValue& v = operand.constant();
    return v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble();
  };
  for (const Node* after : group) {
    if (after->calls("aten::add.Tensor")) {
      epilogue.add = after->operand(after->operand(0).value() == sum ? 1 : 0).value();
    } else if (after->calls("aten::relu")) {
      epilogue.low = 0;
    } else if (after->calls("aten::relu6")) {
      epilogue.low = 0, epilogue.high = 6;
    } else if (after->calls("aten::hardtanh")) {
      epilogue.low = number(after->operand(1)), epilogue.high = number(after->operand(2));
    }
  }
  return epilogue;
}

std::vector<Operand> inputs_of(const std::vector<const Node*>& group) {
  const Node& first = *group.front();
  std::vector<Operand> inputs{is_packable_convolution(first) ? first.operand(0) : constant_product(first)->x};
  if (const Value* add = epilogue_of(group).add) inputs.emplace_back(const_cast<Value*>(add));
  return inputs;
}

Fusions find_fusions(Graph& graph) {
  Fusions fusions;
  std::vector<Node*> nodes;
  for (Node* node : graph.block()) nodes.push_back(node);
  for (Node* node : nodes) {
    if (!is_layer(*node)) continue;
    const auto is_free = [&](const Node* one) {
      return one != nullptr && fusions.runs_with.count(one) == 0 && fusions.groups.count(one) == 0;
    };
    std::vector<Node*> group{node};
    Node* next = only_reader(*node);
    if (is_free(next) && adds_same_layout(*next, node->result())) {
      group.push_back(next);
      next = only_reader(*next);
    }
    if (is_free(next) && limits(*next) && same_layout(next->result(), node->result())) group.push_back(next);
    if (group.size() == 1) continue;
    // Each is read by the next alone: it may run as late as that.
    for (size_t i = group.size() - 1; i-- > 0;) group[i]->move_before(group[i + 1]);
    for (size_t i = 0; i + 1 < group.size(); ++i) fusions.runs_with[group[i]] = group.back();
    fusions.groups[group.back()].assign(group.begin(), group.end());
  }
  return fusions;
}

}  // namespace torch::compiler
