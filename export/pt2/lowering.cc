#include "export/pt2/lowering.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "c10/dispatch/function_schema.h"
#include "c10/util/exception.h"
#include "export/pt2/expr.h"
#include "export/pt2/scalar_operators.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using graph::Block;
using graph::Graph;
using graph::IntExpr;
using graph::IntRange;
using graph::Node;
using graph::Operand;
using graph::Value;

bool is_identifier(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}
// PyTorch knows the kinds of its symbols by their first letter.
bool is_symbol(const std::string& name) {
  return is_identifier(name) && ((name[0] != 'u' && name[0] != 'z') || is_unbacked(name) || is_float_symbol(name));
}

// f(node) for all nodes of a block, those of inner ones and the ends too.
template <class F>
void for_all(const Block& block, const F& f) {
  for (Node* node : block) {
    f(node);
    for (size_t i = 0; i < node->block_count(); ++i) for_all(node->block(i), f);
  }
  f(block.return_node());
}
template <class F>
void for_values(const Block& block, const F& f) {
  for (size_t i = 0; i < block.input_count(); ++i) f(block.input(i));
  for (const Node* node : block) {
    for (size_t i = 0; i < node->result_count(); ++i) f(node->result(i));
    for (size_t i = 0; i < node->block_count(); ++i) for_values(node->block(i), f);
  }
}

class Lowering {
 public:
  explicit Lowering(const ExportedProgram& program) : program_(program) {
    out_.graph = program.graph->clone();
    out_.signature = program.signature;
    out_.constants = program.constants;
    anchor_ = root().first();
  }

  Lowered run() {
    for (size_t i = 0; i < root().input_count(); ++i) describe_stored(root().input(i), out_.signature.inputs[i]);
    for_all(root(), [&](Node* node) {
      for (size_t i = 0; i < node->operands().size(); ++i) {
        if (is_plain(node->operand(i))) continue;
        node->set_operand(i, plain(node->operand(i)));
      }
    });
    rename_symbols();
    return std::move(out_);
  }

 private:
  Block& root() const { return out_.graph->block(); }

  void describe_stored(Value* input, const InputSpec& spec) const {
    if (input->info() != nullptr) return;
    for (const auto* tensors : {&program_.state_dict, &program_.constants}) {
      const auto found = tensors->find(spec.target);
      if (!spec.target.empty() && found != tensors->end()) return input->set_info(info_of(found->second));
    }
  }

  // Without expressions and tensors.
  static bool is_plain(const Operand& o) {
    if (o.is_expr()) return false;
    if (o.is_list())
      return std::all_of(o.list().begin(), o.list().end(), [](const Operand& part) { return is_plain(part); });
    return o.is_value() || is_plain(o.constant());
  }
  static bool is_plain(const IValue& constant) {
    if (constant.isTensor()) return false;
    if (!constant.isList()) return true;
    const auto parts = constant.toListRef();
    return std::all_of(parts.begin(), parts.end(), [](const IValue& v) { return is_plain(v); });
  }
  Operand plain(const Operand& o) {
    if (o.is_expr()) return number(o.expr());
    std::vector<Operand> parts;
    if (o.is_list()) {
      for (const Operand& part : o.list()) parts.push_back(plain(part));
      return parts;
    }
    if (!o.is_constant() || is_plain(o.constant())) return o;
    if (o.constant().isTensor()) return lifted(o.constant().toTensor());
    for (const IValue& part : o.constant().toListRef()) parts.push_back(plain(Operand(part)));
    return parts;
  }

  Operand lifted(const at::Tensor& tensor) {
    if (!tensor.defined()) return IValue();
    Value*& input = tensors_[tensor.unsafeGetTensorImpl()];
    if (input != nullptr) return input;
    std::string name;
    do {
      name = "lifted_tensor_" + std::to_string(next_tensor_++);
    } while (out_.constants.count(name) > 0 || program_.state_dict.count(name) > 0);
    out_.constants.emplace(name, tensor);
    InputSpec spec;
    spec.kind = InputSpec::Kind::kConstantTensor;
    spec.target = name;
    out_.signature.inputs.push_back(std::move(spec));
    input = root().add_input(c10::TensorType::get(), "c_" + name);
    input->set_info(info_of(tensor));
    return input;
  }

  Operand number(const IntExpr& e) {
    if (e.is_constant()) return IValue(e.value());
    const auto found = numbers_.find(e);
    if (found != numbers_.end()) return found->second;
    const auto joined = [&](const char* target) {
      Operand all = number(e.operands()[0]);
      for (size_t i = 1; i < e.operands().size(); ++i)
        all = called(*scalar_operator(target), {all, number(e.operands()[i])});
      return all;
    };
    Operand made = IValue();
    switch (e.kind()) {
      case IntExpr::Kind::kSymbol:
        made = symbol(e);
        break;
      case IntExpr::Kind::kSum:
        made = joined("_operator.add");
        break;
      case IntExpr::Kind::kProduct:
        made = joined("_operator.mul");
        break;
      case IntExpr::Kind::kFloorDiv:
        made = joined("_operator.floordiv");
        break;
      case IntExpr::Kind::kMod:
        made = joined("_operator.mod");
        break;
      case IntExpr::Kind::kMin:
        made = joined("torch.sym_min");
        break;
      default:
        made = joined("torch.sym_max");
        break;
    }
    made.value()->set_expr(e);
    numbers_.emplace(e, made);
    return made;
  }
  Operand symbol(const IntExpr& e) {
    for (size_t i = 0; i < root().input_count(); ++i) {
      Value* input = root().input(i);
      if (input->expr() != nullptr && *input->expr() == e) return input;
      if (input->info() == nullptr) continue;
      const std::vector<IntExpr>& sizes = input->info()->sizes;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == e) return called(sym_size(), {input, IValue(static_cast<int64_t>(d))});
      }
    }
    TORCH_CHECK_VALUE(false, "a number of the graph is in terms of ", e.str(), ", which is no size of an input");
    return IValue();
  }
  Operand called(const graph::Callable& callable, std::vector<Operand> operands) {
    std::unique_ptr<Node> made = out_.graph->call(callable, std::move(operands));
    Node* node = made.get();
    node->move_before(anchor_);
    static_cast<void>(made.release());
    node->result()->set_type(c10::IntType::get());
    return node->result();
  }

  void rename_symbols() {
    std::set<std::string> names;
    const auto collect = [&](const IntExpr& e) { e.collect_symbols(names); };
    for_values(root(), [&](const Value* v) {
      if (v->expr() != nullptr) collect(*v->expr());
      if (v->info() == nullptr) return;
      for (const IntExpr& e : v->info()->sizes) collect(e);
      for (const IntExpr& e : v->info()->strides) collect(e);
      collect(v->info()->storage_offset);
    });
    std::map<std::string, IntRange> ranges;
    std::vector<std::pair<IntExpr, IntRange>> known;
    for (const auto& [text, range] : out_.graph->symbols()) {
      known.emplace_back(is_identifier(text) ? IntExpr::symbol(text) : IntExpr::parse(text), range);
      collect(known.back().first);
    }
    std::map<std::string, IntExpr> renamed;
    int64_t next = 0;
    for (const std::string& name : names) {
      if (is_symbol(name)) continue;
      std::string other;
      do {
        other = "s" + std::to_string(next++);
      } while (names.count(other) > 0);
      renamed.emplace(name, IntExpr::symbol(other));
    }
    for (const auto& [e, range] : known) ranges.emplace(e.substitute(renamed).str(), range);
    out_.graph->symbols() = std::move(ranges);
    if (renamed.empty()) return;
    for_values(root(), [&](Value* v) {
      if (v->expr() != nullptr) v->set_expr(v->expr()->substitute(renamed));
      if (v->info() == nullptr) return;
      graph::TensorInfo info = *v->info();
      for (IntExpr& e : info.sizes) e = e.substitute(renamed);
      for (IntExpr& e : info.strides) e = e.substitute(renamed);
      info.storage_offset = info.storage_offset.substitute(renamed);
      v->set_info(std::move(info));
    });
  }

  const ExportedProgram& program_;
  Lowered out_;
  Node* anchor_;  // numbers are computed before it
  std::map<const c10::TensorImpl*, Value*> tensors_;
  std::map<IntExpr, Operand> numbers_;
  int64_t next_tensor_ = 0;
};

}  // namespace

Lowered lower(const ExportedProgram& program) {
  return Lowering(program).run();
}

graph::TensorInfo info_of(const at::Tensor& tensor) {
  graph::TensorInfo info;
  info.dtype = tensor.scalar_type();
  info.device = tensor.device();
  info.layout = tensor.layout();
  info.requires_grad = tensor.requires_grad();
  for (const int64_t size : tensor.sizes()) info.sizes.emplace_back(size);
  if (info.layout != c10::Layout::Strided) return info;
  for (const int64_t stride : tensor.strides()) info.strides.emplace_back(stride);
  info.storage_offset = tensor.storage_offset();
  return info;
}

std::string scalar_target(const Node& node) {
  if (node.kind() != Node::Kind::kCall || node.callable().handle() != nullptr) return "";
  std::string target = node.callable().schema().name();
  const size_t colons = target.find("::");
  if (colons == std::string::npos) return "";
  target.replace(colons, 2, ".");
  return scalar_operator(target).has_value() ? target : "";
}

graph::Callable sym_size() {
  static const c10::FunctionSchema schema = c10::parse_schema("aten::sym_size.int(Tensor self, int dim) -> int");
  return graph::Callable(schema, [](c10::Stack& s) { s = {s[0].toTensor().sizes().at(s[1].toInt())}; });
}

}  // namespace torch::pt2
