#include "compile/aot/printer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "compile/aot/kernels.h"
#include "compile/aot/printing.h"
#include "compile/aot/steps.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {

using c10::IValue;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

namespace {

const ProgramGroup* find_group(const PreparedProgram& program, const Node& node) {
  for (const ProgramGroup& group : program.groups.groups) {
    if (node.kind() == Node::Kind::kInvoke && group.part.graph->name() == node.name()) return &group;
  }
  return nullptr;
}

graph::PlanOptions plan_options(const PreparedProgram& program, const std::map<std::string, int64_t>& largest) {
  graph::PlanOptions options;
  options.places = [](const Node&) { return true; };
  options.may_replace = [&program](const Node& node, size_t result, size_t operand) {
    const ProgramGroup* const group = find_group(program, node);
    if (group != nullptr) return may_replace(group->part.group, group->plan, result, operand);
    return operand == 0 && node.kind() == Node::Kind::kCall && may_compute_in_place(node) &&
           program.fusions.groups.count(&node) == 0;
  };
  options.runs_with = program.fusions.runs_with;
  options.alignment = Printer::kAlignment;
  options.outputs = false;
  options.symbols = largest;
  return options;
}

std::map<std::string, int64_t> largest_of(const graph::Graph& graph) {
  std::map<std::string, int64_t> all;
  for (const auto& [name, range] : graph.symbols()) all[name] = range.max;
  return all;
}

// Signed bytes, symmetric: scale[j] = max |w[j]| / 127, the nearest multiples of it.
std::pair<at::Tensor, at::Tensor> bytes_by_channel(const at::Tensor& weight) {
  const int64_t channels = weight.size(0), each = channels == 0 ? 0 : weight.numel() / channels;
  at::Tensor bytes = at::empty_contiguous(weight.sizes(), c10::ScalarType::Char),
             scale = at::empty_contiguous({channels}, c10::ScalarType::Float);
  const float* from = weight.const_data_ptr<float>();
  int8_t* to = bytes.mutable_data_ptr<int8_t>();
  for (int64_t j = 0; j < channels; ++j, from += each, to += each) {
    float largest = 0;
    for (int64_t i = 0; i < each; ++i) {
      TORCH_CHECK_VALUE(std::isfinite(from[i]), "weights that are not finite cannot be stored in bytes");
      largest = std::max(largest, std::fabs(from[i]));
    }
    const float step = largest / 127;
    scale.mutable_data_ptr<float>()[j] = step;
    for (int64_t i = 0; i < each; ++i) {
      to[i] = step == 0 ? 0 : static_cast<int8_t>(std::clamp(std::nearbyint(from[i] / step), -127.0f, 127.0f));
    }
  }
  return {bytes, scale};
}

}  // namespace

Printer::Printer(const PreparedProgram& program, const PrintOptions& options, GroupKernels* kernels,
                 std::string kernels_name)
    : program_(program),
      options_(options),
      options_of_plan_(plan_options(program, largest_of(*program.graph))),
      plan_(graph::plan_memory(*program.graph, options_of_plan_)),
      largest_(largest_of(*program.graph)),
      kernels_(kernels == nullptr ? own_kernels_ : *kernels),
      kernels_name_(std::move(kernels_name)) {
  place_states();
  for (const ProgramGroup& group : program.groups.groups) groups_[group.part.graph->name()] = &group;
}
Printer::Printer(const PreparedProgram& program, const PrintOptions& options)
    : Printer(program, options, nullptr, options.class_name + "Kernels") {}
Printer::Printer(const PreparedProgram& program, const PrintOptions& options, Printer& whole)
    : Printer(program, options, &whole.kernels_, whole.kernels_name_) {}

TensorInfo Printer::info(const Operand& operand) const {
  if (operand.is_constant()) return graph::info_of(operand.constant().toTensor());
  TORCH_INTERNAL_ASSERT(operand.is_value() && operand.value()->info() != nullptr);
  return *operand.value()->info();
}

int64_t Printer::weight(const at::Tensor& constant) {
  const auto known = weight_places_.find(constant.unsafeGetTensorImpl());
  if (known != weight_places_.end()) return known->second;
  held_.push_back(constant);
  const at::Tensor dense = at::contiguous(constant.detach(), c10::MemoryFormat::Contiguous);
  const int64_t place = add_weights(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  weight_places_[constant.unsafeGetTensorImpl()] = place;
  return place;
}
int64_t Printer::add_weights(const char* data, size_t bytes) {
  const int64_t place = aligned(static_cast<int64_t>(weights_.size()));
  weights_.resize(static_cast<size_t>(place));
  weights_.append(data, bytes);
  return place;
}

std::string Printer::stored_type() const {
  switch (options_.weight_type) {
    case c10::ScalarType::BFloat16:
      return "c10::BFloat16";
    case c10::ScalarType::Half:
      return "c10::Half";
    case c10::ScalarType::Char:
      return "int8_t";
    default:
      return "float";
  }
}

std::string Printer::stored(const at::Tensor& given) {
  const auto known = stored_.find(given.unsafeGetTensorImpl());
  if (known != stored_.end()) return known->second;
  held_.push_back(given);
  at::Tensor numbers = at::contiguous(given.detach(), c10::MemoryFormat::Contiguous), scale;
  if (options_.weight_type == c10::ScalarType::Char) {
    std::tie(numbers, scale) = bytes_by_channel(numbers);
  } else if (options_.weight_type != c10::ScalarType::Float) {
    numbers = numbers.to(options_.weight_type);
  } else {
    numbers = given;
  }
  const std::string text = "torch::aot::Stored<" + stored_type() + ">{" + byte_offset("w", weight(numbers)) + ", " +
                           (scale.defined() ? byte_offset("w", weight(scale)) : "nullptr") + "}";
  return stored_.emplace(given.unsafeGetTensorImpl(), text).first->second;
}

const Printer::Place& Printer::place(const Value* value) {
  const auto known = places_.find(value);
  if (known != places_.end()) return known->second;
  const std::vector<size_t>& buffers = plan_.buffers_of(value);
  Place found{Where::kArena};
  if (!buffers.empty()) {
    const auto output = output_buffers_.find(buffers[0]);
    const auto returned = returned_buffers_.find(buffers[0]);
    if (returned != returned_buffers_.end()) {
      found = {Where::kTensor, returned->second};
    } else if (output != output_buffers_.end()) {
      found = {Where::kOutput, output->second};
    } else {
      found.offset = plan_.layout.offsets[buffers[0]];
    }
  } else {
    // A view of an input or a constant: its memory is that of what it is a view of.
    const Node* node = value->node();
    TORCH_INTERNAL_ASSERT(node != nullptr && !node->operands().empty(), "a value without memory");
    const Operand& base = node->operand(0);
    if (base.is_constant()) {
      found = {Where::kWeights, 0, weight(base.constant().toTensor())};
    } else {
      found = place(base.value());
    }
  }
  return places_.emplace(value, found).first->second;
}

std::string Printer::input_place(size_t i) const {
  if (i < program_.inputs.size()) return "in_" + program_.inputs[i];
  return byte_offset("s", state_places_.at(i - program_.inputs.size()));
}
// Where an update is until the run ends, if not in the place of what it is an update of.
std::string Printer::output_place(size_t i) const {
  if (i < program_.outputs.size()) return "out_" + program_.outputs[i];
  const std::optional<int64_t> next = next_places_.at(i - program_.outputs.size());
  return next.has_value() ? byte_offset("s", *next) : input_place(program_.updates[i - program_.outputs.size()]);
}
bool Printer::is_users(const Place& at) const {
  if (at.where == Where::kInput) return at.number < program_.inputs.size();
  if (at.where != Where::kOutput) return false;
  if (at.number < program_.outputs.size()) return true;
  const size_t update = at.number - program_.outputs.size();
  return !next_places_[update].has_value() && program_.updates[update] < program_.inputs.size();
}

// Whether what gives the update may write it where the input lies: nothing reads that afterwards, nor meanwhile in
// another order.
bool Printer::may_update_in_place(const Value* input, const Node& update, size_t result) const {
  std::set<const Value*> same{input};  // and views of it
  bool behind = false;
  for (const Node* node : program_.graph->block()) {
    const auto reads = [&](const Node* one) {
      bool any = false;
      for (const Operand& operand : one->operands())
        operand.for_values([&](const Value* v) { any |= same.count(v) > 0; });
      return any;
    };
    const auto later = program_.fusions.runs_with.find(node);
    if (reads(node) && (behind || (later != program_.fusions.runs_with.end() && !later->second->is_before(&update)))) {
      return false;
    }
    if (graph::is_view(*node) && reads(node)) same.insert(node->result());
    if (node != &update) continue;
    behind = true;
    bool read = false, in_place = false;
    for (size_t k = 0; k < node->operands().size(); ++k) {
      bool here = false;
      node->operand(k).for_values([&](const Value* v) { here |= same.count(v) > 0; });
      if (!here) continue;
      // Views may lie in another way.
      if (!node->operand(k).is_value() || node->operand(k).value() != input) return false;
      read = true;
      in_place |= options_of_plan_.may_replace(*node, result, k);
    }
    if (read && !in_place) return false;
  }
  return behind;
}

// Memory of what lasts from run to run, and before it of updates that are computed elsewhere first.
void Printer::place_states() {
  const graph::Block& block = program_.graph->block();
  int64_t bytes = 0;
  const auto reserve = [&](const TensorInfo& info) {
    const int64_t place = bytes;
    bytes += aligned(largest(bytes_of(info)));
    return place;
  };
  for (size_t i = 0; i < program_.updates.size(); ++i) {
    const Value* const input = block.input(program_.updates[i]);
    const Value* const update = block.outputs()[program_.outputs.size() + i].value();
    const bool in_place = may_update_in_place(input, *update->node(), update->index());
    next_places_.push_back(in_place ? std::nullopt : std::optional<int64_t>(reserve(*input->info())));
  }
  next_bytes_ = bytes;
  for (size_t i = 0; i < program_.states.size(); ++i) {
    state_places_.push_back(reserve(*block.input(program_.inputs.size() + i)->info()));
  }
  state_bytes_ = bytes - next_bytes_;
}

// What a run leaves for the next, and what states begin as.
void Printer::keep_updates() {
  const graph::Block& block = program_.graph->block();
  for (size_t i = 0; i < program_.updates.size(); ++i) {
    if (!next_places_[i].has_value()) continue;
    include("cstring");
    line("std::memcpy(" + input_place(program_.updates[i]) + ", " + output_place(program_.outputs.size() + i) + ", " +
         print(bytes_of(*block.input(program_.updates[i])->info())) + ");");
  }
  for (size_t i = 0; i < program_.states.size(); ++i) {
    const at::Tensor& initial = program_.states[i].initial;
    const char* const data = static_cast<const char*>(initial.const_data_ptr());
    const std::string to = input_place(program_.inputs.size() + i), bytes = std::to_string(initial.nbytes());
    const bool zero = std::all_of(data, data + initial.nbytes(), [](char c) { return c == 0; });
    include("cstring");
    reset_ += zero ? "    std::memset(" + to + ", 0, " + bytes + ");\n"
                   : "    std::memcpy(" + to + ", " + byte_offset("w", weight(initial)) + ", " + bytes + ");\n";
  }
}

std::string Printer::pointer(const Value* value) {
  const Place& at = place(value);
  const TensorInfo& info = *value->info();
  const int64_t item = static_cast<int64_t>(c10::elementSize(info.dtype));
  switch (at.where) {
    case Where::kInput:
      return byte_offset(input_place(at.number), info.storage_offset * item);
    case Where::kOutput:
      return byte_offset(output_place(at.number), info.storage_offset * item);
    case Where::kArena:
      return byte_offset("m", info.storage_offset * item + at.offset);
    case Where::kWeights:
      return byte_offset("w", info.storage_offset * item + at.offset);
    case Where::kTensor:
      return byte_offset("static_cast<char*>(t[" + std::to_string(at.number) + "].data_ptr())",
                         info.storage_offset * item);
  }
  return "";
}
std::string Printer::pointer(const Operand& operand) {
  if (operand.is_constant()) return byte_offset("w", weight(operand.constant().toTensor()));
  return pointer(operand.value());
}

// A tensor object over `pointer`. `moves_with`: the input or output whose memory differs from run to run.
std::string Printer::new_tensor(const std::string& pointer, const TensorInfo& info, const std::string& moves_with) {
  include("compile/aot/runtime/tensors.h");
  const std::string name = "t[" + std::to_string(tensor_count_++) + "]";
  bool fixed = true;
  std::vector<IntExpr> sizes, strides;
  const auto evaluate = [&](const std::vector<IntExpr>& from, std::vector<IntExpr>& to) {
    for (const IntExpr& e : from) {
      fixed = fixed && e.is_constant();
      to.emplace_back(e.evaluate(largest_));
    }
  };
  evaluate(info.sizes, sizes);
  evaluate(info.strides, strides);
  const bool fixed_place = moves_with.empty() && info.storage_offset.is_constant();
  const std::string at = fixed_place ? pointer : "m";
  constructor_ += "    " + name + " = torch::aot::tensor_at(" + at + ", " + print(sizes) + ", " + print(strides) +
                  ", " + print(info.dtype) + ");\n";
  if (!moves_with.empty()) moves_ += "  torch::aot::move_to(" + name + ", " + pointer + ");\n";
  if (!info.storage_offset.is_constant() && moves_with.empty()) {
    resizes_ += "  torch::aot::move_to(" + name + ", " + pointer + ");\n";
  }
  if (!fixed) {
    resizes_ += "  torch::aot::set_sizes(" + name + ", " + print(info.sizes) + ", " + print(info.strides) + ");\n";
  }
  return name;
}

std::string Printer::tensor(const Value* value) {
  const auto known = tensors_.find(value);
  if (known != tensors_.end()) return "t[" + std::to_string(known->second) + "]";
  const Place& at = place(value);
  if (at.where == Where::kTensor) {
    // A view of what a kernel has returned, in this run.
    const std::string text = pointer(value);
    tensors_[value] = tensor_count_;
    const std::string view = new_tensor("m", *value->info(), "");
    line("torch::aot::move_to(" + view + ", " + text + ");");
    return view;
  }
  const bool moves = is_users(at);
  TensorInfo info = *value->info();
  const std::string text = pointer(value);
  tensors_[value] = tensor_count_;
  if (!moves && info.storage_offset.is_constant()) info.storage_offset = 0;
  return new_tensor(text, info, moves ? text : "");
}
std::string Printer::tensor(const Operand& operand) {
  if (operand.is_value()) return tensor(operand.value());
  const at::Tensor& t = operand.constant().toTensor();
  TensorInfo info = graph::info_of(at::contiguous(t, c10::MemoryFormat::Contiguous));
  info.storage_offset = 0;
  const std::string text = pointer(operand);
  std::string key = text + print(info.dtype) + print(info.sizes);
  const auto known = constant_tensors_.find(key);
  if (known != constant_tensors_.end()) return "t[" + std::to_string(known->second) + "]";
  constant_tensors_[std::move(key)] = tensor_count_;
  return new_tensor(text, info, "");
}

std::string Printer::add_shared(const std::string& type, const std::string& initialiser) {
  const std::string name = "p" + std::to_string(shared_count_++);
  members_ += "  " + type + " " + name + ";\n";
  initialisers_ += (initialisers_.empty() ? "" : ",\n        ") + name + "(" + initialiser + ")";
  return name;
}

namespace {

std::optional<std::string> print_scalar(const IValue& v) {
  if (v.isInt()) return "at::Scalar(" + std::string("int64_t{") + print(v.toInt()) + "})";
  if (v.isDouble()) return "at::Scalar(" + print_double(v.toDouble()) + ")";
  if (v.isBool()) return std::string("at::Scalar(") + (v.toBool() ? "true" : "false") + ")";
  return std::nullopt;
}

std::optional<std::string> print_constant(const IValue& v, c10::TypeKind kind) {
  using Kind = c10::TypeKind;
  switch (kind) {
    case Kind::NumberType:
      return print_scalar(v);
    case Kind::IntType:
    case Kind::SymIntType:
      return v.isInt() ? std::optional<std::string>(print(v.toInt())) : std::nullopt;
    case Kind::FloatType:
      if (v.isInt()) return print_double(static_cast<double>(v.toInt()));
      return v.isDouble() ? std::optional<std::string>(print_double(v.toDouble())) : std::nullopt;
    case Kind::BoolType:
      return v.isBool() ? std::optional<std::string>(v.toBool() ? "true" : "false") : std::nullopt;
    case Kind::StringType:
      return v.isString() ? std::optional<std::string>(quoted(v.toStringRef())) : std::nullopt;
    case Kind::ScalarTypeType:
      return v.isInt() ? std::optional<std::string>(print(static_cast<c10::ScalarType>(v.toInt()))) : std::nullopt;
    case Kind::LayoutType:
      return v.isInt() && v.toInt() == static_cast<int64_t>(c10::Layout::Strided)
                 ? std::optional<std::string>("at::Layout::Strided")
                 : std::nullopt;
    case Kind::MemoryFormatType:
      return v.isInt() ? std::optional<std::string>("static_cast<at::MemoryFormat>(" + print(v.toInt()) + ")")
                       : std::nullopt;
    case Kind::DeviceObjType:
      return v.isDevice() && v.toDevice().is_cpu() ? std::optional<std::string>("at::Device(at::DeviceType::CPU)")
                                                   : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

// As a kernel takes it (aten/codegen/signature.cc has the types); nothing for what has no text.
std::optional<std::string> Printer::argument(const Operand& operand, const c10::Argument& argument) {
  const c10::ArgumentShape shape = argument.shape();
  if (operand.is_constant() && operand.constant().isNone()) {
    if (shape.kind == c10::TypeKind::TensorType && !shape.list && !shape.optional) return "at::Tensor()";
    return "std::nullopt";
  }
  const auto number = [&](const Operand& one) -> std::optional<std::string> {
    if (one.is_expr()) {
      const std::string text = print(one.expr());
      return shape.kind == c10::TypeKind::NumberType  ? "at::Scalar(int64_t{" + text + "})"
             : shape.kind == c10::TypeKind::FloatType ? "static_cast<double>(" + text + ")"
                                                      : text;
    }
    if (one.is_value()) {
      if (one.value()->expr() == nullptr) return std::nullopt;
      const std::string text = print(*one.value()->expr());
      return shape.kind == c10::TypeKind::NumberType ? "at::Scalar(int64_t{" + text + "})" : text;
    }
    return one.is_constant() ? print_constant(one.constant(), shape.kind) : std::nullopt;
  };
  if (!shape.list) {
    if (shape.kind == c10::TypeKind::TensorType) return tensor(operand);
    return number(operand);
  }
  std::vector<Operand> parts;
  if (operand.is_list()) {
    parts = operand.list();
  } else if (operand.is_constant() && operand.constant().isList()) {
    for (const IValue& part : operand.constant().toListRef()) parts.emplace_back(part);
  } else if (operand.is_constant() && shape.list_size > 0) {
    parts.assign(static_cast<size_t>(shape.list_size), operand);
  } else if (operand.is_value() && operand.value()->node() != nullptr &&
             operand.value()->node()->kind() == Node::Kind::kList) {
    const auto operands = operand.value()->node()->operands();
    parts.assign(operands.begin(), operands.end());
  } else {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const Operand& part : parts) {
    std::optional<std::string> text;
    if (shape.kind != c10::TypeKind::TensorType) {
      text = number(part);
    } else if (part.is_constant() && part.constant().isNone()) {
      text = shape.element_optional ? "std::nullopt" : "at::Tensor()";
    } else {
      text = tensor(part);
    }
    if (!text.has_value()) return std::nullopt;
    texts.push_back(*text);
  }
  if (shape.element_optional) {
    include("c10/value/list.h");
    return "c10::List<std::optional<at::Tensor>>(" + braces(texts) + ")";
  }
  switch (shape.kind) {
    case c10::TypeKind::TensorType:
      return "at::TensorList(" + braces(texts) + ")";
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return "at::IntArrayRef(" + braces(texts) + ")";
    case c10::TypeKind::BoolType:
      if (shape.list_size > 0) return "std::array<bool, " + std::to_string(shape.list_size) + ">" + braces(texts);
      return "at::ArrayRef<bool>(" + braces(texts) + ")";
    case c10::TypeKind::FloatType:
      return "at::ArrayRef<double>(" + braces(texts) + ")";
    case c10::TypeKind::NumberType:
      return "at::ArrayRef<at::Scalar>(" + braces(texts) + ")";
    default:
      return std::nullopt;
  }
}

// Those from `first` on; nothing where one has no text, and why.
std::optional<std::vector<std::string>> Printer::arguments(const Node& node, size_t first, std::string& why) {
  std::vector<std::string> texts;
  const auto& arguments = node.callable().schema().arguments();
  for (size_t i = first; i < arguments.size(); ++i) {
    // dtype, layout, device and pin_memory are one argument in C++.
    if (i + 3 < arguments.size() && arguments[i].name() == "dtype" && arguments[i + 1].name() == "layout" &&
        arguments[i + 2].name() == "device" && arguments[i + 3].name() == "pin_memory") {
      const auto dtype = argument(node.operand(i), arguments[i]);
      if (!dtype.has_value()) {
        why = "a dtype that is no constant";
        return std::nullopt;
      }
      texts.push_back("at::TensorOptions().dtype(std::optional<at::ScalarType>(" + *dtype + "))");
      i += 3;
      continue;
    }
    const auto text = argument(node.operand(i), arguments[i]);
    if (!text.has_value()) {
      why = "argument '" + arguments[i].name() + "' has no text";
      return std::nullopt;
    }
    texts.push_back(*text);
  }
  return texts;
}

std::string Printer::function(const kindling::KernelName& kernel) {
  include("aten/ops/" + std::string(kernel.family) + "/kernels.h");
  families_.insert(kernel.family);
  return std::string("at::native::") + kernel.function;
}

// What changes some elements does so in the place of the result, which is that of the operand or a copy of it.
bool Printer::changing_call(const Node& node, std::string& why) {
  const kindling::KernelName* const kernel = find_changing_kernel(node);
  const kindling::KernelName* const plain = find_kernel(functional_name(node));
  if (kernel == nullptr) return false;
  const bool fills = plain != nullptr && plain->call == kindling::KernelCall::kFills;
  if (fills && pointer(node.result()) != pointer(node.operand(0))) return false;
  const auto texts = arguments(node, 1, why);
  if (!texts.has_value()) return false;
  copy_first(*this, node);
  line(function(*kernel) + "(" + tensor(node.result()) + ", " + joined(*texts, ", ") + ");");
  return true;
}

bool Printer::kernel_call(const Node& node, std::string& why) {
  const kindling::KernelName* kernel = find_kernel(functional_name(node));
  if (kernel == nullptr) {
    why = "no kernel for it";
    return false;
  }
  auto given = arguments(node, 0, why);
  if (!given.has_value()) return false;
  std::vector<std::string>& texts = *given;
  const std::string function = this->function(*kernel);
  if (kernel->call == kindling::KernelCall::kFills) {
    for (size_t i = 0; i < node.result_count(); ++i) texts.push_back(tensor(node.result(i)));
    line(function + "(" + joined(texts, ", ") + ");");
    return true;
  }
  if (const kindling::KernelName* filling = find_filling_kernel(functional_name(node))) {
    texts.push_back(tensor(node.result()));
    line("{");
    line("  at::Tensor none;");
    line(std::string("  at::native::") + filling->function + "(" + joined(texts, ", ") + ", none);");
    line("}");
    return true;
  }
  if (kernel->call == kindling::KernelCall::kReturnsOnCpu) texts.push_back("true");
  allocating_.push_back(graph::print_node(node));
  std::vector<std::string> names;
  for (size_t i = 0; i < node.result_count(); ++i) {
    if (node.result(i)->type()->kind() != c10::TypeKind::TensorType) {
      why = "it returns a list";
      return false;
    }
    include("compile/aot/runtime/tensors.h");
    places_[node.result(i)] = {Where::kTensor, tensor_count_, 0};
    tensors_[node.result(i)] = tensor_count_;
    for (const size_t buffer : plan_.buffers_of(node.result(i))) {
      if (output_buffers_.count(buffer) == 0) returned_buffers_[buffer] = tensor_count_;
    }
    names.push_back("t[" + std::to_string(tensor_count_++) + "]");
  }
  const std::string call = function + "(" + joined(texts, ", ") + ");";
  line(names.size() == 1 ? names[0] + " = " + call : "std::tie(" + joined(names, ", ") + ") = " + call);
  // What the caller has memory for.
  for (size_t i = 0; i < node.result_count(); ++i) {
    const std::vector<size_t>& buffers = plan_.buffers_of(node.result(i));
    const auto output = buffers.empty() ? output_buffers_.end() : output_buffers_.find(buffers[0]);
    if (output == output_buffers_.end()) continue;
    const std::string bytes = names[i] + ".nbytes()";
    include("cstring");
    line("std::memcpy(" + output_place(output->second) + ", " + names[i] + ".const_data_ptr(), " + bytes + ");");
  }
  return true;
}

// Behind what is planned.
std::string Printer::scratch(int64_t bytes) {
  scratch_bytes_ = std::max(scratch_bytes_, bytes);
  return bytes == 0 ? "m" : byte_offset("m", planned_bytes());
}
int64_t Printer::planned_bytes() const {
  return aligned(plan_.layout.bytes);
}

std::vector<const Node*> Printer::group(const Node& node) const {
  const auto found = program_.fusions.groups.find(&node);
  return found == program_.fusions.groups.end() ? std::vector<const Node*>{&node} : found->second;
}

void Printer::node(const Node& node) {
  // A number where an operator wants a tensor.
  if (node.calls("torch::wrapped_number") && node.operand(0).is_constant()) {
    c10::Stack stack{node.operand(0).constant()};
    node.callable().call(stack);
    places_[node.result()] = {Where::kWeights, 0, weight(stack.at(0).toTensor())};
    return;
  }
  if (node.kind() == Node::Kind::kInvoke) {
    return program_.parts.count(node.name()) > 0 ? part_step(node) : group_step(node);
  }
  // Views are a matter of places, lists of what takes them.
  if (node.kind() != Node::Kind::kCall || graph::is_view(node)) return;
  const bool is_number = node.result_count() > 0 && node.result()->expr() != nullptr;
  if (is_number) return;
  if (program_.fusions.runs_with.count(&node) > 0) return;
  const std::vector<const Node*> nodes = group(node);
  const Step step = find_step(functional_name(*nodes.front()));
  operations_ = 0;
  std::string why = "the nodes that were joined have no step";
  for (const Node* one : nodes) line("// " + graph::print_node(*one));
  const bool done = (step != nullptr && step(*this, node)) ||
                    (nodes.size() == 1 && (changing_call(node, why) || kernel_call(node, why)));
  TORCH_CHECK_NOT_IMPLEMENTED(done, graph::print_node(node), ": ", why);
  report(nodes, node);
}

// What the step that was just printed does.
void Printer::report(const std::vector<const Node*>& nodes, const Node& last) {
  all_operations_ = all_operations_ + operations_;
  for (const Node* one : nodes) report_ += graph::print_node(*one) + "\n";
  report_ += "    ";
  for (size_t i = 0; i < last.result_count(); ++i) {
    if (last.result(i)->info() == nullptr) continue;
    report_ +=
        std::string(c10::toString(last.result(i)->info()->dtype)) + " " + print(last.result(i)->info()->sizes) + " ";
  }
  report_ += operations_ == IntExpr(0) ? "\n" : operations_.str() + " operations\n";
}

void Printer::print_steps() {
  const graph::Block& block = program_.graph->block();
  for (size_t i = 0; i < block.input_count(); ++i) places_[block.input(i)] = {Where::kInput, i};
  for (size_t i = 0; i < block.outputs().size(); ++i) {
    const std::vector<size_t>& buffers = plan_.buffers_of(block.outputs()[i].value());
    TORCH_INTERNAL_ASSERT(buffers.size() == 1);
    output_buffers_[buffers[0]] = i;
  }
  std::string missing;
  for (const Node* node : block) {
    try {
      this->node(*node);
    } catch (const c10::NotImplementedError& error) {
      missing += "\n  " + error.msg();
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(missing.empty(), "nothing computes these in a compiled program:", missing);
  keep_updates();
}

PrintedProgram Printer::run() {
  static const std::set<std::string> kMembers{"Inputs", "Outputs", "Buffers", "Sizes", "Shared", "State"};
  TORCH_CHECK_VALUE(kMembers.count(options_.class_name) == 0, "a program cannot be called ", options_.class_name,
                    ", which is what its class calls a part of it (class_name)");
  print_steps();
  PrintedProgram printed;
  printed.header = header_text();
  printed.source = source_text();
  printed.kernels = kernels_.source(options_.header.substr(0, options_.header.rfind(".h")) + "_kernels.cc",
                                    options_.name_space + "::" + kernels_name(), options_.targets);
  printed.report = report_text();
  printed.weights = std::move(weights_);
  printed.families = families_;
  printed.allocating = allocating_;
  return printed;
}

PrintedProgram print_program(const PreparedProgram& program, const PrintOptions& options) {
  return Printer(program, options).run();
}

}  // namespace torch::aot
