#include "compile/group/group.h"

#include <sstream>

namespace torch::compiler {

c10::ScalarType register_type(c10::ScalarType dtype) {
  using enum c10::ScalarType;
  switch (dtype) {
    case Float:
    case Half:
    case BFloat16:
      return Float;
    case Double:
      return Double;
    case Byte:
    case Char:
    case Short:
    case Int:
      return Int;
    case Long:
      return Long;
    case Bool:
      return Bool;
    default:
      return Undefined;
  }
}

c10::ScalarType Group::dtype_of(Ref ref) const {
  switch (ref.kind) {
    case Ref::Kind::kInput:
      return inputs.at(ref.index).info.dtype;
    case Ref::Kind::kConstant:
      return constants.at(ref.index).type;
    case Ref::Kind::kOperation:
      return operations.at(ref.index).dtype;
    case Ref::Kind::kRow:
      return row.value().dtype;
  }
  return c10::ScalarType::Undefined;
}

namespace {

void write(std::ostream& out, const Group& group, Ref ref) {
  switch (ref.kind) {
    case Ref::Kind::kInput:
      out << "input " << ref.index;
      return;
    case Ref::Kind::kConstant:
      out << group.constants.at(ref.index).value;
      return;
    case Ref::Kind::kOperation:
      out << "operation " << ref.index;
      return;
    case Ref::Kind::kRow:
      out << "row";
      return;
  }
}

void write_sizes(std::ostream& out, const std::vector<graph::IntExpr>& sizes) {
  out << '[';
  for (size_t d = 0; d < sizes.size(); ++d) out << (d == 0 ? "" : ", ") << sizes[d].str();
  out << ']';
}

const char* name_of(RowFunction function) {
  switch (function) {
    case RowFunction::kSoftmax:
      return "softmax";
    case RowFunction::kLogSoftmax:
      return "log_softmax";
    case RowFunction::kLayerNorm:
      return "layer_norm";
  }
  return "";
}

}  // namespace

std::string print(const Group& group) {
  std::ostringstream out;
  out << "sizes ";
  write_sizes(out, group.sizes);
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const GroupInput& input = group.inputs[i];
    out << "\ninput " << i << ": " << c10::toString(input.info.dtype) << ' ';
    write_sizes(out, input.info.sizes);
    if (!input.constant.isNone()) out << " constant";
  }
  const auto row = [&] {
    const RowOperation& r = *group.row;
    out << "\nrow: " << name_of(r.function) << '(';
    write(out, group, r.operand);
    for (const auto* part : {&r.weight, &r.bias}) {
      if (!part->has_value()) continue;
      out << ", ";
      write(out, group, **part);
    }
    out << ") of " << r.dims << " dimensions, " << c10::toString(r.dtype);
  };
  for (size_t i = 0; i < group.operations.size(); ++i) {
    if (group.row.has_value() && i == group.row_begin) row();
    const Operation& op = group.operations[i];
    out << "\noperation " << i << ": " << info_of(op.primitive).name << '(';
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (k > 0) out << ", ";
      write(out, group, op.operands[k]);
    }
    for (const c10::Scalar& p : op.parameters) out << "; " << p;
    out << "), " << c10::toString(op.type);
    if (op.dtype != op.type) out << " to " << c10::toString(op.dtype);
  }
  if (group.row.has_value() && group.row_begin == group.operations.size()) row();
  for (const GroupOutput& output : group.outputs) {
    out << "\noutput ";
    write(out, group, output.value);
  }
  out << '\n';
  return out.str();
}

}  // namespace torch::compiler
