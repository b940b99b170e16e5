#include "edge/xnnpack/operators.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::edge {

using c10::IValue;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Whole numbers of an argument: a list, or one for all of `count`. Nothing where they are no constants.
std::optional<std::vector<int64_t>> whole_numbers(const Node& node, std::string_view name, size_t count) {
  std::vector<int64_t> out;
  const auto take = [&](const Operand& one) {
    if (one.is_constant() && one.constant().isInt()) {
      out.push_back(one.constant().toInt());
    } else if (one.is_expr() && one.expr().is_constant()) {
      out.push_back(one.expr().value());
    } else {
      return false;
    }
    return true;
  };
  const Operand& operand = node.argument(name);
  if (operand.is_list()) {
    for (const Operand& one : operand.list()) {
      if (!take(one)) return std::nullopt;
    }
  } else if (operand.is_constant() && operand.constant().isIntList()) {
    out = operand.constant().toIntVector();
  } else if (!take(operand)) {
    return std::nullopt;
  }
  if (out.size() == 1 && count > 1) out.resize(count, out[0]);
  return out;
}
int64_t whole_number(const Node& node, std::string_view name) {
  return whole_numbers(node, name, 1)->at(0);
}

bool is_none(const Node& node, std::string_view name) {
  const Operand& operand = node.argument(name);
  return operand.is_constant() && operand.constant().isNone();
}
std::optional<double> number(const Operand& operand) {
  if (!operand.is_constant()) return std::nullopt;
  const IValue& v = operand.constant();
  if (v.isInt()) return static_cast<double>(v.toInt());
  if (v.isDouble()) return v.toDouble();
  return std::nullopt;
}
std::optional<double> number(const Node& node, std::string_view name) {
  return number(node.argument(name));
}
bool flag(const Node& node, std::string_view name) {
  const Operand& operand = node.argument(name);
  return operand.is_constant() && operand.constant().isBool() && operand.constant().toBool();
}
std::optional<at::Tensor> constant_tensor(const Operand& operand) {
  if (!operand.is_constant() || !operand.constant().isTensor()) return std::nullopt;
  return operand.constant().toTensor();
}
std::optional<at::Tensor> constant_tensor(const Node& node, std::string_view name) {
  return constant_tensor(node.argument(name));
}
bool is_float(const at::Tensor& t) {
  return t.scalar_type() == at::kFloat && t.layout() == c10::Layout::Strided;
}

const TensorInfo* info_of(const Operand& operand) {
  return operand.is_value() ? operand.value()->info() : nullptr;
}
size_t rank_of(const Node& node) {
  return node.operand(0).value()->info()->sizes.size();
}

// Of activations, which are values.
std::string wrong_value(const Value& value, const char* what) {
  const TensorInfo* info = value.info();
  if (info == nullptr) return std::string(what) + " has unknown sizes";
  if (info->dtype != at::kFloat) return std::string(what) + " is no float32";
  if (info->layout != c10::Layout::Strided || !info->device.is_cpu()) return std::string(what) + " is no CPU tensor";
  if (info->sizes.empty() || info->sizes.size() > 4) return std::string(what) + " has no 1 to 4 dimensions";
  for (const graph::IntExpr& size : info->sizes) {
    if (size.is_constant() && size.value() == 0) return std::string(what) + " is empty";
  }
  return "";
}
std::string wrong_values(const Node& node) {
  if (!node.operand(0).is_value()) return "the input is a constant";
  std::string why = wrong_value(*node.operand(0).value(), "the input");
  return why.empty() ? wrong_value(*node.result(0), "the result") : why;
}
std::string wrong_bias(const Node& node, std::string_view name) {
  if (is_none(node, name)) return "";
  const auto bias = constant_tensor(node, name);
  if (!bias.has_value()) return "the bias is no constant";
  return is_float(*bias) && bias->dim() == 1 ? "" : "the bias is no float32 vector";
}

// Convolutions.

std::string why_not_convolution(const Node& node) {
  const bool general = node.calls("aten::convolution");
  const auto weight = constant_tensor(node, "weight");
  if (!weight.has_value()) return "the weight is no constant";
  if (!is_float(*weight)) return "the weight is no float32";
  if (weight->dim() != 4 || rank_of(node) != 4) return "it is no two-dimensional convolution of a batch";
  if (general && flag(node, "transposed")) return "it is transposed";
  for (const char* name : {"stride", "padding", "dilation"}) {
    const auto values = whole_numbers(node, name, 2);
    if (!values.has_value() || values->size() != 2) return std::string(name) + " is no constant pair";
  }
  return wrong_bias(node, "bias");
}
xnn_status define_convolution(Definition& d, const Node& node) {
  const at::Tensor weight = *constant_tensor(node, "weight");
  const auto bias = constant_tensor(node, "bias");
  const auto stride = *whole_numbers(node, "stride", 2), padding = *whole_numbers(node, "padding", 2),
             dilation = *whole_numbers(node, "dilation", 2);
  const int64_t groups = whole_number(node, "groups");
  const auto u = [](int64_t v) { return static_cast<uint32_t>(v); };
  const at::Tensor zeros = !bias.has_value() ? at::zeros({weight.size(0)}) : *bias;
  const uint32_t filter = d.constant(weight.permute({0, 2, 3, 1}));
  return xnn_define_convolution_2d(d.subgraph(), u(padding[0]), u(padding[1]), u(padding[0]), u(padding[1]),
                                   u(weight.size(2)), u(weight.size(3)), u(stride[0]), u(stride[1]), u(dilation[0]),
                                   u(dilation[1]), u(groups), static_cast<size_t>(weight.size(1)),
                                   static_cast<size_t>(weight.size(0) / groups), -kInfinity, kInfinity,
                                   d.id(node.operand(0)), filter, d.constant(zeros), d.id(*node.result(0)), 0);
}

// Products.

std::string why_not_linear(const Node& node) {
  const auto weight = constant_tensor(node, "weight");
  if (!weight.has_value()) return "the weight is no constant";
  if (!is_float(*weight) || weight->dim() != 2) return "the weight is no float32 matrix";
  if (rank_of(node) > 3 || rank_of(node) < 2) return "the input has no 2 or 3 dimensions";
  return wrong_bias(node, "bias");
}
xnn_status define_linear(Definition& d, const Node& node) {
  const auto bias = constant_tensor(node, "bias");
  const uint32_t weight = d.constant(*constant_tensor(node, "weight"));
  return xnn_define_fully_connected(d.subgraph(), -kInfinity, kInfinity, d.id(node.operand(0)), weight,
                                    !bias.has_value() ? XNN_INVALID_VALUE_ID : d.constant(*bias), d.id(*node.result(0)),
                                    0);
}

std::string why_not_addmm(const Node& node) {
  const auto weight = constant_tensor(node, "mat2");
  if (!weight.has_value()) return "mat2 is no constant";
  if (!is_float(*weight)) return "mat2 is no float32";
  if (is_none(node, "self")) return "self is no constant";
  if (!node.argument("mat1").is_value()) return "mat1 is a constant";
  if (number(node, "beta") != 1.0 || number(node, "alpha") != 1.0) return "beta or alpha is not 1";
  std::string why = wrong_value(*node.argument("mat1").value(), "mat1");
  if (why.empty()) why = wrong_value(*node.result(0), "the result");
  return why.empty() ? wrong_bias(node, "self") : why;
}
xnn_status define_addmm(Definition& d, const Node& node) {
  const uint32_t weight = d.constant(constant_tensor(node, "mat2")->t());
  const uint32_t bias = d.constant(*constant_tensor(node, "self"));
  return xnn_define_fully_connected(d.subgraph(), -kInfinity, kInfinity, d.id(node.argument("mat1")), weight, bias,
                                    d.id(*node.result(0)), 0);
}

// Pools.

std::string why_not_pool(const Node& node) {
  if (rank_of(node) != 4) return "the input is no batch of pictures";
  const auto size = whole_numbers(node, "kernel_size", 2);
  if (!size.has_value() || size->size() != 2) return "kernel_size is no constant";
  if (size->at(0) * size->at(1) == 1) return "kernel_size is 1";
  for (const char* name : {"stride", "padding"}) {
    const auto values = whole_numbers(node, name, 2);
    if (!values.has_value() || values->size() == 1) return std::string(name) + " is no constant";
  }
  if (flag(node, "ceil_mode")) return "ceil_mode is true";
  return "";
}
std::string why_not_max_pool(const Node& node) {
  std::string why = why_not_pool(node);
  if (!why.empty()) return why;
  if (!whole_numbers(node, "dilation", 2).has_value()) return "dilation is no constant";
  return node.result_count() > 1 && !node.result(1)->uses().empty() ? "its indices are read" : "";
}
std::string why_not_average_pool(const Node& node) {
  std::string why = why_not_pool(node);
  if (!why.empty()) return why;
  const auto padding = *whole_numbers(node, "padding", 2);
  const bool padded = std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; });
  if (padded && flag(node, "count_include_pad")) return "count_include_pad is true";
  return is_none(node, "divisor_override") ? "" : "divisor_override is given";
}
struct Pool {
  uint32_t size[2], stride[2], padding[2];
};
Pool pool_of(const Node& node) {
  const auto size = *whole_numbers(node, "kernel_size", 2), padding = *whole_numbers(node, "padding", 2);
  auto stride = *whole_numbers(node, "stride", 2);
  if (stride.empty()) stride = size;
  Pool out{};
  for (size_t i = 0; i < 2; ++i) {
    out.size[i] = static_cast<uint32_t>(size[i]);
    out.stride[i] = static_cast<uint32_t>(stride[i]);
    out.padding[i] = static_cast<uint32_t>(padding[i]);
  }
  return out;
}
xnn_status define_max_pool(Definition& d, const Node& node) {
  const Pool p = pool_of(node);
  const auto dilation = *whole_numbers(node, "dilation", 2);
  return xnn_define_max_pooling_2d(d.subgraph(), p.padding[0], p.padding[1], p.padding[0], p.padding[1], p.size[0],
                                   p.size[1], p.stride[0], p.stride[1], static_cast<uint32_t>(dilation[0]),
                                   static_cast<uint32_t>(dilation[1]), -kInfinity, kInfinity, d.id(node.operand(0)),
                                   d.id(*node.result(0)), 0);
}
xnn_status define_average_pool(Definition& d, const Node& node) {
  const Pool p = pool_of(node);
  return xnn_define_average_pooling_2d(d.subgraph(), p.padding[0], p.padding[1], p.padding[0], p.padding[1], p.size[0],
                                       p.size[1], p.stride[0], p.stride[1], -kInfinity, kInfinity,
                                       d.id(node.operand(0)), d.id(*node.result(0)), 0);
}

std::string why_not_adaptive_pool(const Node& node) {
  const auto size = whole_numbers(node, "output_size", 2);
  if (rank_of(node) != 4) return "the input is no batch of pictures";
  return size == std::vector<int64_t>{1, 1} ? "" : "the output is not one number a channel";
}
std::string why_not_mean(const Node& node) {
  if (rank_of(node) != 4) return "the input is no batch of pictures";
  auto dims = is_none(node, "dim") ? std::nullopt : whole_numbers(node, "dim", 1);
  if (!dims.has_value()) return "dim is no constant";
  for (int64_t& dim : *dims) dim = dim < 0 ? dim + 4 : dim;
  std::sort(dims->begin(), dims->end());
  if (*dims != std::vector<int64_t>{2, 3}) return "it is not over height and width";
  return is_none(node, "dtype") ? "" : "dtype is given";
}
xnn_status define_global_pool(Definition& d, const Node& node) {
  const Value& result = *node.result(0);
  if (sizes_of(result).size() == 4) {
    return xnn_define_global_average_pooling_2d(d.subgraph(), -kInfinity, kInfinity, d.id(node.operand(0)),
                                                d.id(result), 0);
  }
  const std::vector<int64_t> sizes = sizes_of(result);
  const uint32_t pooled = d.inner({sizes[0], sizes[1], 1, 1});
  const xnn_status status =
      xnn_define_global_average_pooling_2d(d.subgraph(), -kInfinity, kInfinity, d.id(node.operand(0)), pooled, 0);
  if (status != xnn_status_success) return status;
  const std::vector<size_t> own = own_sizes(sizes);
  return xnn_define_static_reshape(d.subgraph(), own.size(), own.data(), pooled, d.id(result), 0);
}

// What keeps the elements in their order also where pictures lie channels-last.
std::string why_not_reshape(const Node& node) {
  const auto plain = [](const std::vector<graph::IntExpr>& sizes) {
    return sizes.size() < 4 || (sizes[2] == graph::IntExpr(1) && sizes[3] == graph::IntExpr(1));
  };
  if (!plain(node.operand(0).value()->info()->sizes) || !plain(node.result(0)->info()->sizes)) {
    return "pictures lie channels-last";
  }
  return "";
}
xnn_status define_reshape(Definition& d, const Node& node) {
  const std::vector<size_t> own = own_sizes(sizes_of(*node.result(0)));
  return xnn_define_static_reshape(d.subgraph(), own.size(), own.data(), d.id(node.operand(0)), d.id(*node.result(0)),
                                   0);
}

std::string why_not_pad(const Node& node) {
  const auto pad = whole_numbers(node, "pad", 1);
  if (!pad.has_value()) return "pad is no constant";
  if (std::any_of(pad->begin(), pad->end(), [](int64_t p) { return p < 0; })) return "it cuts";
  return number(node, "value").has_value() ? "" : "value is no constant";
}
xnn_status define_pad(Definition& d, const Node& node) {
  const auto pad = *whole_numbers(node, "pad", 1);
  const size_t rank = rank_of(node);
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    before[rank - 1 - i / 2] = pad[i];
    after[rank - 1 - i / 2] = pad[i + 1];
  }
  return xnn_define_static_constant_pad(d.subgraph(), own_sizes(before).data(), own_sizes(after).data(),
                                        static_cast<float>(*number(node, "value")), d.id(node.operand(0)),
                                        d.id(*node.result(0)), 0);
}

std::string why_not_softmax(const Node& node) {
  const auto dim = whole_numbers(node, "dim", 1);
  if (!dim.has_value()) return "dim is no constant";
  const auto rank = static_cast<int64_t>(rank_of(node));
  const int64_t own = dim->at(0) < 0 ? dim->at(0) + rank : dim->at(0);
  return own == (rank == 4 ? 1 : rank - 1) ? "" : "it is over another dimension than the last, or the channels";
}
xnn_status define_softmax(Definition& d, const Node& node) {
  return xnn_define_softmax(d.subgraph(), d.id(node.operand(0)), d.id(*node.result(0)), 0);
}

std::string why_not_prelu(const Node& node) {
  const auto slope = constant_tensor(node, "weight");
  if (!slope.has_value() || !is_float(*slope)) return "the weight is no float32 constant";
  if (rank_of(node) != 4) return "the input is no batch of pictures";
  const graph::IntExpr& channels = node.operand(0).value()->info()->sizes[1];
  return channels == graph::IntExpr(slope->numel()) ? "" : "the weight has not one number a channel";
}
xnn_status define_prelu(Definition& d, const Node& node) {
  const uint32_t slope = d.constant(*constant_tensor(node, "weight"));
  return xnn_define_prelu(d.subgraph(), d.id(node.operand(0)), slope, d.id(*node.result(0)), 0);
}

// Element by element.

std::string why_not_binary(const Node& node) {
  if (node.callable().schema().argument_index("alpha").has_value() && number(node, "alpha") != 1.0) {
    return "alpha is not 1";
  }
  std::string why = wrong_value(*node.result(0), "the result");
  size_t values = 0;
  for (size_t i = 0; i < 2 && why.empty(); ++i) {
    const Operand& operand = node.operand(i);
    if (operand.is_value()) {
      ++values;
      why = wrong_value(*operand.value(), "an operand");
      // Broadcasting goes by the last dimensions, which are others where pictures lie channels-last.
      const bool picture = node.result(0)->info()->sizes.size() == 4;
      if (why.empty() && picture && info_of(operand)->sizes.size() != 4) why = "an operand has fewer dimensions";
    } else if (const auto tensor = constant_tensor(operand)) {
      if (!is_float(*tensor)) why = "an operand is no float32";
      if (tensor->dim() > 4 || tensor->numel() == 0) why = "an operand has more than 4 dimensions, or no elements";
    } else if (!number(operand).has_value()) {
      why = "an operand is no constant";
    }
  }
  return why.empty() && values == 0 ? "both operands are constants" : why;
}
uint32_t side(Definition& d, const Node& node, size_t i) {
  const Operand& operand = node.operand(i);
  if (const auto value = number(operand)) return d.number(*value);
  const auto tensor = constant_tensor(operand);
  if (!tensor.has_value()) return d.id(operand);
  at::Tensor t = *tensor;
  if (sizes_of(*node.result(0)).size() == 4) {
    while (t.dim() < 4) t = t.unsqueeze(0);
  }
  return d.constant(t.dim() == 4 ? t.permute({0, 2, 3, 1}) : t.dim() == 0 ? t.unsqueeze(0) : t);
}
using Clamped = xnn_status (*)(xnn_subgraph_t, float, float, uint32_t, uint32_t, uint32_t, uint32_t);
using Plain = xnn_status (*)(xnn_subgraph_t, uint32_t, uint32_t, uint32_t, uint32_t);
template <Clamped F>
xnn_status define_clamped(Definition& d, const Node& node) {
  const uint32_t a = side(d, node, 0), b = side(d, node, 1);
  return F(d.subgraph(), -kInfinity, kInfinity, a, b, d.id(*node.result(0)), 0);
}
template <Plain F>
xnn_status define_binary(Definition& d, const Node& node) {
  const uint32_t a = side(d, node, 0), b = side(d, node, 1);
  return F(d.subgraph(), a, b, d.id(*node.result(0)), 0);
}

using Unary = xnn_status (*)(xnn_subgraph_t, uint32_t, uint32_t, uint32_t);
std::string always(const Node&) {
  return "";
}
template <Unary F>
xnn_status define_unary(Definition& d, const Node& node) {
  return F(d.subgraph(), d.id(node.operand(0)), d.id(*node.result(0)), 0);
}
xnn_status clamp(Definition& d, const Node& node, double low, double high) {
  return xnn_define_clamp(d.subgraph(), static_cast<float>(low), static_cast<float>(high), d.id(node.operand(0)),
                          d.id(*node.result(0)), 0);
}
xnn_status define_relu(Definition& d, const Node& node) {
  return clamp(d, node, 0, kInfinity);
}
xnn_status define_relu6(Definition& d, const Node& node) {
  return clamp(d, node, 0, 6);
}
std::string why_not_ends(const Node& node, const char* low, const char* high) {
  for (const char* name : {low, high}) {
    if (!is_none(node, name) && !number(node, name).has_value()) return std::string(name) + " is no constant number";
  }
  return number(node, low).value_or(-kInfinity) < number(node, high).value_or(kInfinity) ? "" : "its range is empty";
}
std::string why_not_clamp(const Node& node) {
  return why_not_ends(node, "min", "max");
}
xnn_status define_clamp(Definition& d, const Node& node) {
  return clamp(d, node, number(node, "min").value_or(-kInfinity), number(node, "max").value_or(kInfinity));
}
std::string why_not_hardtanh(const Node& node) {
  return why_not_ends(node, "min_val", "max_val");
}
xnn_status define_hardtanh(Definition& d, const Node& node) {
  return clamp(d, node, *number(node, "min_val"), *number(node, "max_val"));
}
std::string why_not_dropout(const Node& node) {
  return flag(node, "train") ? "it trains" : "";
}
xnn_status define_copy(Definition& d, const Node& node) {
  return clamp(d, node, -kInfinity, kInfinity);
}
xnn_status define_silu(Definition& d, const Node& node) {
  const uint32_t gate = d.fresh_like(*node.result(0)), x = d.id(node.operand(0));
  const xnn_status status = xnn_define_sigmoid(d.subgraph(), x, gate, 0);
  return status != xnn_status_success
             ? status
             : xnn_define_multiply2(d.subgraph(), -kInfinity, kInfinity, x, gate, d.id(*node.result(0)), 0);
}
std::string why_not_leaky(const Node& node) {
  return number(node, "negative_slope").has_value() ? "" : "negative_slope is no constant";
}
xnn_status define_leaky(Definition& d, const Node& node) {
  return xnn_define_leaky_relu(d.subgraph(), static_cast<float>(*number(node, "negative_slope")), d.id(node.operand(0)),
                               d.id(*node.result(0)), 0);
}
std::string why_not_elu(const Node& node) {
  if (number(node, "scale") != 1.0 || number(node, "input_scale") != 1.0) return "its scale is not 1";
  const auto alpha = number(node, "alpha");
  return alpha.has_value() && *alpha > 0 ? "" : "alpha is no positive constant";
}
xnn_status define_elu(Definition& d, const Node& node) {
  return xnn_define_elu(d.subgraph(), static_cast<float>(*number(node, "alpha")), d.id(node.operand(0)),
                        d.id(*node.result(0)), 0);
}

struct Entry {
  const char* name;
  std::string (*why_not)(const Node&);
  xnn_status (*define)(Definition&, const Node&);
  bool first_is_input = true;  // operand 0 is an activation; else why_not looks at all
};
constexpr Entry kEntries[] = {
    {"aten::convolution", why_not_convolution, define_convolution},
    {"aten::conv2d", why_not_convolution, define_convolution},
    {"aten::linear", why_not_linear, define_linear},
    {"aten::addmm", why_not_addmm, define_addmm, false},
    {"aten::max_pool2d", why_not_max_pool, define_max_pool},
    {"aten::max_pool2d_with_indices", why_not_max_pool, define_max_pool},
    {"aten::avg_pool2d", why_not_average_pool, define_average_pool},
    {"aten::adaptive_avg_pool2d", why_not_adaptive_pool, define_global_pool},
    {"aten::_adaptive_avg_pool2d", why_not_adaptive_pool, define_global_pool},
    {"aten::mean.dim", why_not_mean, define_global_pool},
    {"aten::flatten.using_ints", why_not_reshape, define_reshape},
    {"aten::view", why_not_reshape, define_reshape},
    {"aten::reshape", why_not_reshape, define_reshape},
    {"aten::constant_pad_nd", why_not_pad, define_pad},
    {"aten::softmax.int", why_not_softmax, define_softmax},
    {"aten::_softmax", why_not_softmax, define_softmax},
    {"aten::prelu", why_not_prelu, define_prelu},
    {"aten::_prelu_kernel", why_not_prelu, define_prelu},
    {"aten::add.Tensor", why_not_binary, define_clamped<xnn_define_add2>, false},
    {"aten::add.Scalar", why_not_binary, define_clamped<xnn_define_add2>, false},
    {"aten::sub.Tensor", why_not_binary, define_clamped<xnn_define_subtract>, false},
    {"aten::sub.Scalar", why_not_binary, define_clamped<xnn_define_subtract>, false},
    {"aten::mul.Tensor", why_not_binary, define_clamped<xnn_define_multiply2>, false},
    {"aten::mul.Scalar", why_not_binary, define_clamped<xnn_define_multiply2>, false},
    {"aten::div.Tensor", why_not_binary, define_clamped<xnn_define_divide>, false},
    {"aten::div.Scalar", why_not_binary, define_clamped<xnn_define_divide>, false},
    {"aten::maximum", why_not_binary, define_binary<xnn_define_maximum2>, false},
    {"aten::minimum", why_not_binary, define_binary<xnn_define_minimum2>, false},
    {"aten::relu", always, define_relu},
    {"aten::relu6", always, define_relu6},
    {"aten::hardtanh", why_not_hardtanh, define_hardtanh},
    {"aten::clamp", why_not_clamp, define_clamp},
    {"aten::dropout", why_not_dropout, define_copy},
    {"aten::sigmoid", always, define_unary<xnn_define_sigmoid>},
    {"aten::hardswish", always, define_unary<xnn_define_hardswish>},
    {"aten::silu", always, define_silu},
    {"aten::leaky_relu", why_not_leaky, define_leaky},
    {"aten::elu", why_not_elu, define_elu},
    {"aten::abs", always, define_unary<xnn_define_abs>},
    {"aten::neg", always, define_unary<xnn_define_negate>},
    {"aten::floor", always, define_unary<xnn_define_floor>},
    {"aten::ceil", always, define_unary<xnn_define_ceiling>},
    {"aten::round", always, define_unary<xnn_define_bankers_rounding>},
    {"aten::sqrt", always, define_unary<xnn_define_square_root>},
    {"aten::square", always, define_unary<xnn_define_square>},
};

const Entry* entry_of(const Node& node) {
  for (const Entry& entry : kEntries) {
    if (node.calls(entry.name) && node.callable().schema().overload_name().empty() ==
                                      (std::string_view(entry.name).find('.') == std::string_view::npos)) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

std::string why_not_run(const Node& node) {
  const Entry* entry = entry_of(node);
  if (entry == nullptr) return "it has no such operator";
  bool numbers = false;
  for (const Operand& operand : node.operands()) {
    operand.for_values([&](const Value* v) { numbers = numbers || v->type()->kind() != c10::TypeKind::TensorType; });
  }
  if (numbers) return "it takes numbers that are computed";
  if (entry->first_is_input) {
    std::string why = wrong_values(node);
    if (!why.empty()) return why;
  }
  return entry->why_not(node);
}

xnn_status define(Definition& definition, const Node& node) {
  return entry_of(node)->define(definition, node);
}

}  // namespace torch::edge
