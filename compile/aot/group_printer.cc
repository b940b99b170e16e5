#include "compile/aot/group_printer.h"

#include <algorithm>

#include "c10/util/exception.h"
#include "compile/aot/printing.h"

namespace torch::aot {

using c10::ScalarType;
using compiler::Form;
using compiler::Group;
using compiler::Operation;
using compiler::Primitive;
using compiler::Ref;
using graph::IntExpr;
using graph::TensorInfo;

namespace {

// The tag in at::cpu::op of what has vector code in the headers that printed files include; empty for others.
std::string tag_of(Primitive primitive) {
  switch (primitive) {
#define KD_TAG(Tag)       \
  case Primitive::k##Tag: \
    return #Tag;
    KD_TAG(Add)
    KD_TAG(AddScaled)
    KD_TAG(Sub)
    KD_TAG(Mul)
    KD_TAG(Div)
    KD_TAG(Maximum)
    KD_TAG(Minimum)
    KD_TAG(Fmax)
    KD_TAG(Fmin)
    KD_TAG(Clamp)
    KD_TAG(ClampMin)
    KD_TAG(ClampMax)
    KD_TAG(ClampTensor)
    KD_TAG(Addcmul)
    KD_TAG(Addcdiv)
    KD_TAG(Lerp)
    KD_TAG(LerpScalar)
    KD_TAG(Neg)
    KD_TAG(Abs)
    KD_TAG(Sign)
    KD_TAG(Ceil)
    KD_TAG(Floor)
    KD_TAG(Round)
    KD_TAG(Trunc)
    KD_TAG(Frac)
    KD_TAG(Reciprocal)
    KD_TAG(Square)
    KD_TAG(Cube)
    KD_TAG(InverseSquare)
    KD_TAG(Sqrt)
    KD_TAG(Rsqrt)
    KD_TAG(Copysign)
    KD_TAG(Exp)
    KD_TAG(Exp2)
    KD_TAG(Expm1)
    KD_TAG(Log)
    KD_TAG(Log2)
    KD_TAG(Log1p)
    KD_TAG(Sin)
    KD_TAG(Cos)
    KD_TAG(Tanh)
    KD_TAG(Sigmoid)
    KD_TAG(Erf)
    KD_TAG(Gelu)
    KD_TAG(GeluTanh)
    KD_TAG(Silu)
    KD_TAG(Mish)
    KD_TAG(Softplus)
    KD_TAG(Elu)
    KD_TAG(LeakyRelu)
    KD_TAG(Hardsigmoid)
    KD_TAG(Hardswish)
    KD_TAG(Threshold)
    KD_TAG(LogSigmoid)
#undef KD_TAG
    default: return "";
  }
}

// How it is written for numbers or truth values a and b; empty for others.
const char* comparison(Primitive primitive) {
  switch (primitive) {
    case Primitive::kEq: return "a == b";
    case Primitive::kNe: return "a != b";
    case Primitive::kLt: return "a < b";
    case Primitive::kLe: return "a <= b";
    case Primitive::kGt: return "a > b";
    case Primitive::kGe: return "a >= b";
    case Primitive::kIsNan: return "a != a";
    default: return "";
  }
}
const char* logic(Primitive primitive) {
  switch (primitive) {
    case Primitive::kLogicalAnd: return "a & b";
    case Primitive::kLogicalOr: return "a | b";
    case Primitive::kLogicalXor: return "(a & !b) | (!a & b)";
    case Primitive::kLogicalNot: return "!a";
    default: return "";
  }
}

bool is_number(ScalarType dtype) { return dtype == ScalarType::Float; }
bool is_taken(ScalarType dtype) { return is_number(dtype) || dtype == ScalarType::Bool; }

bool is_printable(const Group& group, const Operation& operation) {
  if (!is_taken(operation.type) || !is_taken(operation.dtype)) return false;
  if (operation.primitive == Primitive::kWhere) return operation.dtype == ScalarType::Float;
  if (operation.primitive == Primitive::kConvert) return is_taken(group.dtype_of(operation.operands[0]));
  if (operation.type == ScalarType::Bool) return logic(operation.primitive)[0] != '\0';
  return comparison(operation.primitive)[0] != '\0' || !tag_of(operation.primitive).empty();
}

// Dimensions with the strides of each operand in them, outermost first; as few as their strides allow.
struct Nest {
  std::vector<IntExpr> sizes;
  std::vector<std::vector<IntExpr>> strides;  // by dimension, then operand
};

Nest nest_of(const Group& group, const std::vector<const TensorInfo*>& operands) {
  Nest nest;
  for (size_t d = 0; d < group.sizes.size(); ++d) {
    const IntExpr& size = group.sizes[d];
    if (size == IntExpr(1)) continue;
    std::vector<IntExpr> strides;
    for (const TensorInfo* info : operands) {
      const size_t missing = group.sizes.size() - info->sizes.size();
      const bool repeated = d < missing || (info->sizes[d - missing] == IntExpr(1) && !(size == IntExpr(1)));
      strides.push_back(repeated ? IntExpr(0) : info->strides[d - missing]);
    }
    const bool joins = !nest.sizes.empty() && std::equal(strides.begin(), strides.end(), nest.strides.back().begin(),
                                                         [&](const IntExpr& inner, const IntExpr& outer) { return outer == inner * size; });
    if (joins) {
      nest.sizes.back() = nest.sizes.back() * size;
      nest.strides.back() = std::move(strides);
    } else {
      nest.sizes.push_back(size);
      nest.strides.push_back(std::move(strides));
    }
  }
  return nest;
}

class GroupPrinter {
 public:
  GroupPrinter(const Group& group, const std::string& name) : group_(group), name_(name) {
    for (const auto& output : group.outputs) operands_.push_back(&output.info);
    for (const auto& input : group.inputs) operands_.push_back(&input.info);
    nest_ = nest_of(group, operands_);
    if (nest_.sizes.empty()) {
      nest_.sizes.emplace_back(1);
      nest_.strides.emplace_back(operands_.size(), IntExpr(1));
    }
  }

  PrintedGroup print(const std::vector<std::string>& symbols) {
    PrintedGroup printed;
    const bool flat = nest_.sizes.size() == 1;
    if (flat) {
      printed.rows = nest_.sizes[0];
    } else {
      for (size_t d = 0; d + 1 < nest_.sizes.size(); ++d) printed.rows = printed.rows * nest_.sizes[d];
      printed.elements = nest_.sizes.back();
    }
    printed.code = body() + run();
    std::string& code = printed.code;
    code += "void " + name_ + "(char* const* data, [[maybe_unused]] const int64_t* symbols, int64_t begin, int64_t end) {\n";
    for (size_t i = 0; i < symbols.size(); ++i) {
      code += "  [[maybe_unused]] const int64_t " + symbols[i] + " = symbols[" + std::to_string(i) + "];\n";
    }
    for (size_t k = 0; k < operands_.size(); ++k) {
      code += "  " + pointer_type(k) + " " + operand(k) + " = reinterpret_cast<" + pointer_type(k) + ">(data[" + std::to_string(k) + "]);\n";
    }
    if (flat) {
      std::vector<std::string> arguments;
      for (size_t k = 0; k < operands_.size(); ++k) arguments.push_back(operand(k) + " + begin * " + aot::print(inner(k)));
      code += "  " + name_ + "_run(" + strides_argument() + "end - begin, " + joined(arguments, ", ") + ");\n}\n\n";
      return printed;
    }
    code += "  for (int64_t row = begin; row < end; ++row) {\n    [[maybe_unused]] int64_t rest = row;\n";
    std::vector<std::string> offsets(operands_.size());
    for (size_t d = nest_.sizes.size() - 1; d-- > 0;) {
      const std::string at = "i" + std::to_string(d), size = aot::print(nest_.sizes[d]);
      code += "    [[maybe_unused]] const int64_t " + at + (d == 0 ? " = rest;\n" : " = rest % " + size + ";\n    rest /= " + size + ";\n");
      for (size_t k = 0; k < operands_.size(); ++k) {
        if (!(nest_.strides[d][k] == IntExpr(0))) offsets[k] += " + " + at + " * " + aot::print(nest_.strides[d][k]);
      }
    }
    std::vector<std::string> arguments;
    for (size_t k = 0; k < operands_.size(); ++k) arguments.push_back(operand(k) + offsets[k]);
    code += "    " + name_ + "_run(" + strides_argument() + aot::print(nest_.sizes.back()) + ", " + joined(arguments, ", ") + ");\n  }\n}\n\n";
    return printed;
  }

 private:
  bool is_output(size_t k) const { return k < group_.outputs.size(); }
  const IntExpr& inner(size_t k) const { return nest_.strides.back()[k]; }
  std::string operand(size_t k) const { return (is_output(k) ? "o" : "a") + std::to_string(is_output(k) ? k : k - group_.outputs.size()); }
  std::string element(size_t k) const { return is_number(operands_[k]->dtype) ? "float" : "uint8_t"; }
  std::string pointer_type(size_t k) const { return (is_output(k) ? "" : "const ") + element(k) + "*"; }
  static std::string value_type(ScalarType dtype) { return is_number(dtype) ? "Numbers" : "Numbers::Mask"; }

  // Operands that are not dense within a row, nor the same for all of it, come with their step.
  bool is_strided(size_t k) const { return !(inner(k) == IntExpr(1)) && !(inner(k) == IntExpr(0)); }
  std::string strides_parameter() const {
    std::string text;
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (is_strided(k)) text += "int64_t step_" + operand(k) + ", ";
    }
    return text;
  }
  std::string strides_argument() const {
    std::string text;
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (is_strided(k)) text += aot::print(inner(k)) + ", ";
    }
    return text;
  }

  std::string ref(Ref r) const {
    switch (r.kind) {
      case Ref::Kind::kInput: return "x" + std::to_string(r.index);
      case Ref::Kind::kConstant: {
        const compiler::GroupConstant& constant = group_.constants[r.index];
        if (constant.type == ScalarType::Bool) return std::string("all_lanes(") + (constant.value.toBool() ? "true" : "false") + ")";
        return "Numbers(" + print_double(static_cast<float>(constant.value.toDouble())) + ")";
      }
      case Ref::Kind::kOperation: return "v" + std::to_string(r.index);
      case Ref::Kind::kRow: break;
    }
    TORCH_INTERNAL_ASSERT(false, "a group with rows");
  }

  std::string expression(const Operation& op) const {
    std::vector<std::string> operands;
    for (const Ref r : op.operands) operands.push_back(ref(r));
    if (op.primitive == Primitive::kWhere) return "pick(" + joined(operands, ", ") + ")";
    if (op.primitive == Primitive::kConvert) {
      const ScalarType from = group_.dtype_of(op.operands[0]);
      if (from == op.dtype) return operands[0];
      return is_number(op.dtype) ? "pick(" + operands[0] + ", Numbers(1.0), Numbers(0.0))" : operands[0] + " != Numbers(0.0)";
    }
    const char* text = op.type == ScalarType::Bool ? logic(op.primitive) : comparison(op.primitive);
    if (text[0] != '\0') {
      std::string result;
      for (const char* c = text; *c != '\0'; ++c) {
        result += *c == 'a' ? operands[0] : *c == 'b' ? operands[1] : std::string(1, *c);
      }
      return result;
    }
    std::vector<std::string> parameters;
    for (const c10::Scalar& p : op.parameters) parameters.push_back("static_cast<float>(" + print_double(p.toDouble()) + ")");
    const char* how = compiler::info_of(op.primitive).form == Form::kFormula ? "formula" : "vectors";
    return std::string(how) + "_of<at::cpu::op::" + tag_of(op.primitive) + ">(std::array<float, " + std::to_string(parameters.size()) + ">{" +
           joined(parameters, ", ") + "}, " + joined(operands, ", ") + ")";
  }

  // One step, from values to values.
  std::string body() const {
    std::vector<std::string> parameters;
    for (size_t i = 0; i < group_.inputs.size(); ++i) {
      parameters.push_back("[[maybe_unused]] " + value_type(group_.inputs[i].info.dtype) + " x" + std::to_string(i));
    }
    for (size_t i = 0; i < group_.outputs.size(); ++i) {
      parameters.push_back(value_type(group_.outputs[i].info.dtype) + "& r" + std::to_string(i));
    }
    std::string text = "HWY_INLINE void " + name_ + "_step(" + joined(parameters, ", ") + ") {\n";
    for (size_t i = 0; i < group_.operations.size(); ++i) {
      text += "  const auto v" + std::to_string(i) + " = " + expression(group_.operations[i]) + ";\n";
    }
    for (size_t i = 0; i < group_.outputs.size(); ++i) {
      text += "  r" + std::to_string(i) + " = " + ref(group_.outputs[i].value) + ";\n";
    }
    return text + "}\n";
  }

  // Behind an operand's pointer: where the step begins, and of what is not a whole step of dense elements, how they lie.
  std::string place(size_t k, const std::string& count) const {
    const std::string step = "step_" + operand(k);
    if (is_strided(k)) return " + i * " + step + ", " + step + ", " + (count.empty() ? "step()" : count);
    return count.empty() ? " + i" : " + i, 1, " + count;
  }

  std::string call(const std::string& count) const {
    std::vector<std::string> arguments;
    std::string text, after;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const std::string name = operand(k);
      const bool number = is_number(operands_[k]->dtype);
      if (is_output(k)) {
        text += "    " + value_type(operands_[k]->dtype) + " r" + name.substr(1) + ";\n";
        after += "    store(r" + name.substr(1) + ", " + name + place(k, count) + ");\n";
        continue;
      }
      arguments.push_back(inner(k) == IntExpr(0) ? "same_" + name
                                                 : std::string(number ? "load(" : "load_bools(") + name + place(k, count) + ")");
    }
    for (size_t i = 0; i < group_.outputs.size(); ++i) arguments.push_back("r" + std::to_string(i));
    return text + "    " + name_ + "_step(" + joined(arguments, ", ") + ");\n" + after;
  }

  // A row.
  std::string run() const {
    std::vector<std::string> parameters;
    for (size_t k = 0; k < operands_.size(); ++k) parameters.push_back("[[maybe_unused]] " + pointer_type(k) + " " + operand(k));
    std::string text = "HWY_NOINLINE void " + name_ + "_run(" + strides_parameter() + "int64_t n, " + joined(parameters, ", ") + ") {\n";
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (is_output(k) || !(inner(k) == IntExpr(0))) continue;
      text += "  const " + value_type(operands_[k]->dtype) + " same_" + operand(k) + " = " +
              (is_number(operands_[k]->dtype) ? "same(*" : "all_lanes(*") + operand(k) + (is_number(operands_[k]->dtype) ? ");\n" : " != 0);\n");
    }
    return text + "  int64_t i = 0;\n  for (; i + step() <= n; i += step()) {\n" + call("") + "  }\n  if (i < n) {\n" + call("n - i") + "  }\n}\n";
  }

  const Group& group_;
  const std::string& name_;
  std::vector<const TensorInfo*> operands_;
  Nest nest_;
};

}  // namespace

bool is_printable(const Group& group) {
  if (group.row.has_value() || group.outputs.empty()) return false;
  for (const auto& input : group.inputs) {
    if (!is_taken(input.info.dtype)) return false;
  }
  for (const auto& constant : group.constants) {
    if (!is_taken(constant.type)) return false;
  }
  return std::all_of(group.operations.begin(), group.operations.end(),
                     [&](const Operation& operation) { return is_printable(group, operation); });
}

PrintedGroup print_group(const Group& group, const std::string& name, const std::vector<std::string>& symbols) {
  return GroupPrinter(group, name).print(symbols);
}

}  // namespace torch::aot
