#include "compile/aot/group_printer.h"

#include <algorithm>
#include <optional>
#include <utility>

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

namespace {

// The tag in at::cpu::op; empty for what has none.
const char* tag_of(Primitive primitive) {
  switch (primitive) {
#define KD_TAG(Tag, loop, operands, parameters, form) \
  case Primitive::k##Tag:                             \
    return Form::form == Form::kLoop ? "" : #Tag;
    KD_PRIMITIVES(KD_TAG)
#undef KD_TAG
    default:
      return "";
  }
}

// What lies in memory.
const char* storage_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return "Boolean";
    case ScalarType::Half:
      return "F16";
    case ScalarType::BFloat16:
      return "BF16";
    default:
      return element_type(dtype);
  }
}

std::string number(ScalarType type, const c10::Scalar& value) {
  switch (type) {
    case ScalarType::Float:
      return "static_cast<float>(" + print_double(static_cast<double>(static_cast<float>(value.toDouble()))) + ")";
    case ScalarType::Double:
      return print_double(value.toDouble());
    case ScalarType::Bool:
      return value.toBool() ? "true" : "false";
    default: {
      const int64_t n = value.isFloatingPoint() ? static_cast<int64_t>(value.toDouble()) : value.toLong();
      return std::string(element_type(type)) + "{" + print(n) + "}";
    }
  }
}

class KernelPrinter {
 public:
  struct Written {
    Ref value;
    size_t operand;
    ScalarType dtype;
  };

  KernelPrinter(const ProgramGroup& group, std::vector<Written> written, bool to_row)
      : group_(group.part.group), plan_(group.plan), written_(std::move(written)) {
    std::vector<Ref> values;
    for (const Written& one : written_) values.push_back(one.value);
    needed_ = needed_by(group_, values, to_row);
  }

  std::string print() {
    for (const size_t i : needed_.inputs) read(group_.outputs.size() + i, "x" + std::to_string(i));
    if (needed_.row) {
      const ScalarType dtype = group_.row->dtype;
      const bool narrow = compiler::register_type(dtype) != dtype;
      read(plan_.target, narrow ? "wide_row" : "row");
      if (narrow) loads_ += std::string("      const auto row = convert<") + storage_of(dtype) + ">(wide_row);\n";
    }
    for (const size_t i : needed_.operations) {
      body_ += "      const auto v" + std::to_string(i) + " = " + expression(group_.operations[i]) + ";\n";
    }
    for (const Written& one : written_) write(one);
    // What is left behind whole steps is gone through as one more, on copies.
    return before_ +
           "  int64_t rest = 0;\n  for (;;) {\n    int64_t i = 0;\n    for (; i + kStep <= n; i += kStep) {\n" +
           loads_ + body_ + "    }\n    if (rest > 0) {\n" + end_ +
           "      return;\n    }\n    rest = n - i;\n    if (rest == 0) return;\n" + part_ + "    n = kStep;\n  }\n";
  }

 private:
  const IntExpr& step(size_t k) const { return plan_.nest.step(k); }
  bool is_strided(size_t k) const { return !(step(k) == IntExpr(1)) && !(step(k) == IntExpr(0)); }

  void read(size_t k, const std::string& name) {
    const std::string storage = storage_of(operand_info(group_, k).dtype), at = std::to_string(k);
    if (step(k) == IntExpr(0)) {
      before_ += "  const auto " + name + " = same<" + storage + ">(data[" + at + "]);\n";
      return;
    }
    const std::string in = "p" + at, place = in + " + i * " + size(k);
    before_ += "  const char* " + in + " = data[" + at + "];\n" + buffer("a", k, storage);
    loads_ += "      const auto " + name + " = load" + (is_strided(k) ? "_strided<" : "<") + storage + ">(" +
              (is_strided(k) ? "a" + at + ", " + place + ", s" + at : place) + ");\n";
    part_ += "    " + in + " = part<" + storage + ">(a" + at + ", " + place + ", " + size(k) + ", rest);\n" + dense(k);
  }

  void write(const Written& one) {
    const size_t k = one.operand;
    const std::string storage = storage_of(one.dtype), at = std::to_string(k), place = "q" + at + " + i * " + size(k);
    before_ += "  char* q" + at + " = data[" + at + "];\n  char* end" + at + " = nullptr;\n" + buffer("b", k, storage);
    body_ += "      store" + std::string(is_strided(k) ? "_strided<" : "<") + storage + ">(" + ref(one.value) + ", " +
             (is_strided(k) ? "b" + at + ", " + place + ", s" + at : place) + ");\n";
    part_ += "    end" + at + " = " + place + ";\n    q" + at + " = b" + at + ";\n" + dense(k);
    end_ += "      scatter(end" + at + ", " + (is_strided(k) ? "steps[" + at + "]" : size(k)) + ", b" + at +
            ", rest, kSize<" + storage + ">);\n";
  }

  // The bytes from an element to the next.
  std::string size(size_t k) const {
    return is_strided(k) ? "s" + std::to_string(k)
                         : "kSize<" + std::string(storage_of(operand_info(group_, k).dtype)) + ">";
  }
  std::string buffer(const char* name, size_t k, const std::string& storage) const {
    const std::string at = std::to_string(k);
    return (is_strided(k) ? "  int64_t s" + at + " = steps[" + at + "];\n" : "") + "  alignas(64) char " + name + at +
           "[kStep * kSize<" + storage + ">];\n";
  }
  // A buffer has no gaps.
  std::string dense(size_t k) const {
    if (!is_strided(k)) return "";
    return "    s" + std::to_string(k) + " = kSize<" + storage_of(operand_info(group_, k).dtype) + ">;\n";
  }

  std::string ref(Ref r) {
    switch (r.kind) {
      case Ref::Kind::kInput:
        return "x" + std::to_string(r.index);
      case Ref::Kind::kOperation:
        return "v" + std::to_string(r.index);
      case Ref::Kind::kRow:
        return "row";
      case Ref::Kind::kConstant:
        break;
    }
    const compiler::GroupConstant& constant = group_.constants[r.index];
    std::string name = "c" + std::to_string(r.index);
    const std::string type = constant.type == ScalarType::Bool ? "Boolean" : element_type(constant.type);
    if (constants_.insert(r.index).second) {
      before_ += "  const auto " + name + " = all<" + type + ">(" + number(constant.type, constant.value) + ");\n";
    }
    return name;
  }

  // What an operation gives in the type that it computes in.
  std::string computed(const Operation& op) {
    std::vector<std::string> operands;
    for (const Ref r : op.operands) operands.push_back(ref(r));
    const std::string all = joined(operands, ", "), tag = tag_of(op.primitive);
    if (op.primitive == Primitive::kWhere) return "where(" + all + ")";
    if (op.type == ScalarType::Bool) {
      switch (op.primitive) {
        case Primitive::kLogicalAnd:
          return joined(operands, " & ");
        case Primitive::kLogicalOr:
          return joined(operands, " | ");
        case Primitive::kLogicalNot:
          return "!" + all;
        case Primitive::kLogicalXor:
          return "exclusive(" + all + ")";
        default:
          TORCH_INTERNAL_ASSERT(false, "an operation on truth values");
      }
    }
    const compiler::PrimitiveInfo& info = compiler::info_of(op.primitive);
    if (info.form == Form::kPredicate) return "predicate<op::" + tag + ">(" + all + ")";
    const ScalarType type = compiler::takes_width(op.primitive) ? ScalarType::Int : op.type;
    std::vector<std::string> parameters;
    for (const c10::Scalar& p : op.parameters) parameters.push_back(number(type, p));
    const std::string given = std::string("Parameters<") + element_type(type) + ", " +
                              std::to_string(parameters.size()) + ">" + braces(parameters);
    const std::string function =
        info.form == Form::kLoop ? std::string("by_loop<") + element_type(op.type) : "apply<op::" + tag;
    return function + ">(loops::" + info.name + ", " + given + ", " + all + ")";
  }
  std::string expression(const Operation& op) {
    if (op.primitive == Primitive::kConvert) {
      return std::string("convert<") + storage_of(op.dtype) + ">(" + ref(op.operands[0]) + ")";
    }
    const bool is_truth = op.type == ScalarType::Bool || compiler::info_of(op.primitive).form == Form::kPredicate;
    const ScalarType type = is_truth && op.primitive != Primitive::kWhere ? ScalarType::Bool : op.type;
    std::string text = computed(op);
    return op.dtype == type ? text : std::string("convert<") + storage_of(op.dtype) + ">(" + text + ")";
  }

  const Group& group_;
  const GroupPlan& plan_;
  std::vector<Written> written_;
  Needed needed_;
  std::set<size_t> constants_;
  std::string before_, loads_, body_, part_, end_;
};

bool is_late(const Group& group, Ref value) {
  return value.kind == Ref::Kind::kRow || (value.kind == Ref::Kind::kOperation && value.index >= group.row_begin);
}

}  // namespace

std::string GroupKernels::named(std::string code) {
  const auto known = names_.find(code);
  if (known != names_.end()) return known->second;
  const std::string name = "kernel_" + std::to_string(codes_.size());
  names_[code] = name;
  codes_.push_back(std::move(code));
  return name;
}

std::string GroupKernels::of_elements(const ProgramGroup& group) {
  std::vector<KernelPrinter::Written> written;
  const auto& outputs = group.part.group.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) written.push_back({outputs[i].value, i, outputs[i].info.dtype});
  return named(KernelPrinter(group, std::move(written), false).print());
}

std::string GroupKernels::before_row(const ProgramGroup& one) {
  const Group& group = one.part.group;
  std::vector<KernelPrinter::Written> written;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    if (!is_late(group, group.outputs[i].value)) {
      written.push_back({group.outputs[i].value, i, group.outputs[i].info.dtype});
    }
  }
  if (!one.plan.source.has_value())
    written.push_back({group.row->operand, one.plan.target, compiler::register_type(group.row->dtype)});
  return written.empty() ? "" : named(KernelPrinter(one, std::move(written), false).print());
}

std::string GroupKernels::after_row(const ProgramGroup& one) {
  const Group& group = one.part.group;
  std::vector<KernelPrinter::Written> written;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const Ref value = group.outputs[i].value;
    const bool is_there = i == one.plan.target && value.kind == Ref::Kind::kRow;
    if (is_late(group, value) && !is_there) written.push_back({value, i, group.outputs[i].info.dtype});
  }
  return written.empty() ? "" : named(KernelPrinter(one, std::move(written), true).print());
}

std::string GroupKernels::declarations() const {
  std::string text;
  for (size_t i = 0; i < codes_.size(); ++i) {
    text += "extern const torch::aot::GroupTable kernel_" + std::to_string(i) + ";\n";
  }
  return text;
}

std::string GroupKernels::source(const std::string& path, const std::string& name_space,
                                 const std::vector<std::string>& targets) const {
  std::string text = "// Made from a model by kindling_program: its fused groups, compiled once an instruction set.\n";
  if (codes_.empty()) return text + "// It has none.\n";
  if (!targets.empty()) {
    std::string disabled = "HWY_SSSE3";
    for (const char* target : {"SSE4", "AVX2", "AVX3"}) {
      if (std::find(targets.begin(), targets.end(), target) == targets.end())
        disabled += std::string(" | HWY_") + target;
    }
    text += "#undef HWY_DISABLED_TARGETS\n#define HWY_DISABLED_TARGETS (" + disabled + ")\n";
  }
  // The baseline as single numbers, not as vectors that are emulated by those: less than half of the code.
  text += "#undef HWY_BROKEN_EMU128\n#define HWY_BROKEN_EMU128 1\n";
  text += "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE " + quoted(path) +
          "\n#include \"hwy/foreach_target.h\"\n// Behind it:\n#include \"hwy/highway.h\"\n\n#include "
          "\"compile/aot/runtime/group-inl.h\"\n\nHWY_BEFORE_NAMESPACE();\nnamespace " +
          name_space + " {\nnamespace HWY_NAMESPACE {\nnamespace {\n\nusing namespace torch::aot::HWY_NAMESPACE;\n\n";
  for (size_t i = 0; i < codes_.size(); ++i) {
    text += "void run_" + std::to_string(i) +
            "([[maybe_unused]] char* const* data, [[maybe_unused]] const int64_t* steps, int64_t n) {\n" + codes_[i] +
            "}\n\n";
  }
  text += "}  // namespace\n}  // namespace HWY_NAMESPACE\n}  // namespace " + name_space +
          "\nHWY_AFTER_NAMESPACE();\n\n#if HWY_ONCE\n\n#include \"aten/cpu/isa_table.h\"\n\nnamespace " + name_space +
          " {\n\n" + declarations() + "\n";
  for (size_t i = 0; i < codes_.size(); ++i) {
    const std::string number = std::to_string(i);
    text += "constinit const torch::aot::GroupTable kernel_" + number + " = AT_ISA_TABLE(run_" + number + ");\n";
  }
  return text + "\n}  // namespace " + name_space + "\n\n#endif  // HWY_ONCE\n";
}

}  // namespace torch::aot
