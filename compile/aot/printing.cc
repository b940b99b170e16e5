#include "compile/aot/printing.h"

#include <cmath>
#include <cstdio>

#include "c10/util/exception.h"

namespace torch::aot {

using graph::IntExpr;

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}
std::string braces(const std::vector<std::string>& parts) {
  return "{" + joined(parts, ", ") + "}";
}

std::string print(int64_t number) {
  // The least has no literal.
  if (number == INT64_MIN) return "INT64_MIN";
  const bool wide = number > INT32_MAX || number < INT32_MIN;
  return wide ? "INT64_C(" + std::to_string(number) + ")" : std::to_string(number);
}

std::string print(const IntExpr& expr) {
  const auto parts = [&](const char* separator) {
    std::vector<std::string> texts;
    for (const IntExpr& operand : expr.operands()) texts.push_back(print(operand));
    return joined(texts, separator);
  };
  switch (expr.kind()) {
    case IntExpr::Kind::kConstant:
      return print(expr.value());
    case IntExpr::Kind::kSymbol:
      return expr.name();
    case IntExpr::Kind::kSum:
      return "(" + parts(" + ") + ")";
    case IntExpr::Kind::kProduct:
      return "(" + parts(" * ") + ")";
    case IntExpr::Kind::kFloorDiv:
      return "torch::aot::floordiv(" + parts(", ") + ")";
    case IntExpr::Kind::kMod:
      return "torch::aot::mod(" + parts(", ") + ")";
    case IntExpr::Kind::kMin:
    case IntExpr::Kind::kMax: {
      const char* name = expr.kind() == IntExpr::Kind::kMin ? "least" : "greatest";
      std::string text = print(expr.operands()[0]);
      for (size_t i = 1; i < expr.operands().size(); ++i) {
        text = std::string("torch::aot::") + name + "(" + text + ", " + print(expr.operands()[i]) + ")";
      }
      return text;
    }
  }
  return "";
}

std::string print(const std::vector<IntExpr>& list) {
  std::vector<std::string> texts;
  for (const IntExpr& e : list) texts.push_back(print(e));
  return braces(texts);
}

std::string byte_offset(const std::string& base, const IntExpr& bytes) {
  return bytes == IntExpr(0) ? base : base + " + " + print(bytes);
}
IntExpr bytes_of(const graph::TensorInfo& info, size_t first_dim) {
  IntExpr bytes = static_cast<int64_t>(c10::elementSize(info.dtype));
  for (size_t d = first_dim; d < info.sizes.size(); ++d) bytes = bytes * info.sizes[d];
  return bytes;
}
std::string print_double(double number) {
  if (std::isnan(number)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(number)) return std::string(number < 0 ? "-" : "") + "std::numeric_limits<double>::infinity()";
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", number);
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      char octal[8];
      std::snprintf(octal, sizeof(octal), "\\%03o", static_cast<unsigned char>(c));
      result += octal;
      continue;
    }
    result += c;
  }
  return result + "\"";
}

const char* element_type(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Byte:
      return "uint8_t";
    case c10::ScalarType::Char:
      return "int8_t";
    case c10::ScalarType::Short:
      return "int16_t";
    case c10::ScalarType::Int:
      return "int32_t";
    case c10::ScalarType::Long:
      return "int64_t";
    case c10::ScalarType::UInt16:
      return "uint16_t";
    case c10::ScalarType::UInt32:
      return "uint32_t";
    case c10::ScalarType::UInt64:
      return "uint64_t";
    case c10::ScalarType::Float:
      return "float";
    case c10::ScalarType::Double:
      return "double";
    case c10::ScalarType::Bool:
      return "bool";
    // Their bits: a program's header brings no types of this library.
    case c10::ScalarType::Half:
    case c10::ScalarType::BFloat16:
      return "uint16_t";
    case c10::ScalarType::ComplexFloat:
      return "std::complex<float>";
    case c10::ScalarType::ComplexDouble:
      return "std::complex<double>";
    default:
      return "";
  }
}

std::string print(c10::ScalarType dtype) {
  return std::string("c10::ScalarType::") + c10::toString(dtype);
}

}  // namespace torch::aot
