#include "jit/compiler/constants.h"

#include <map>

#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/scalar_type.h"

namespace torch::jit::detail {

using c10::TypeKind;

std::optional<std::pair<c10::IValue, c10::TypePtr>> torch_constant(const std::string& name) {
  using c10::ScalarType;
  static const auto& integers = *new std::map<std::string, c10::IValue>{
      {"float32", ScalarType::Float},
      {"float", ScalarType::Float},
      {"float64", ScalarType::Double},
      {"double", ScalarType::Double},
      {"float16", ScalarType::Half},
      {"half", ScalarType::Half},
      {"bfloat16", ScalarType::BFloat16},
      {"int8", ScalarType::Char},
      {"int16", ScalarType::Short},
      {"short", ScalarType::Short},
      {"int32", ScalarType::Int},
      {"int", ScalarType::Int},
      {"int64", ScalarType::Long},
      {"long", ScalarType::Long},
      {"uint8", ScalarType::Byte},
      {"bool", ScalarType::Bool},
      {"complex32", ScalarType::ComplexHalf},
      {"complex64", ScalarType::ComplexFloat},
      {"cfloat", ScalarType::ComplexFloat},
      {"complex128", ScalarType::ComplexDouble},
      {"cdouble", ScalarType::ComplexDouble},
      {"qint8", ScalarType::QInt8},
      {"quint8", ScalarType::QUInt8},
      {"qint32", ScalarType::QInt32},
      {"strided", c10::Layout::Strided},
      {"sparse_coo", c10::Layout::Sparse},
      {"sparse_csr", c10::Layout::SparseCsr},
      {"contiguous_format", c10::MemoryFormat::Contiguous},
      {"preserve_format", c10::MemoryFormat::Preserve},
      {"channels_last", c10::MemoryFormat::ChannelsLast},
      {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d},
  };
  static const auto& numbers = *new std::map<std::string, double>{
      {"pi", 3.141592653589793}, {"e", 2.718281828459045}, {"inf", __builtin_huge_val()}, {"nan", __builtin_nan("")}};
  if (const auto found = integers.find(name); found != integers.end())
    return std::pair(found->second, c10::TypePtr(c10::IntType::get()));
  if (const auto found = numbers.find(name); found != numbers.end())
    return std::pair(c10::IValue(found->second), c10::TypePtr(c10::FloatType::get()));
  return std::nullopt;
}

std::string attribute_operator(TypeKind kind, const std::string& name) {
  static const auto& of_tensors = *new std::map<std::string, std::string>{{"dtype", "prim::dtype"},
                                                                          {"layout", "prim::layout"},
                                                                          {"device", "prim::device"},
                                                                          {"requires_grad", "prim::requires_grad"},
                                                                          {"is_cuda", "prim::is_cuda"},
                                                                          {"shape", "prim::shape"},
                                                                          {"ndim", "prim::ndim"},
                                                                          {"T", "aten::numpy_T"},
                                                                          {"mT", "aten::mT"},
                                                                          {"H", "aten::matrix_H"},
                                                                          {"mH", "aten::mH"},
                                                                          {"real", "aten::real"},
                                                                          {"imag", "aten::imag"},
                                                                          {"data", "aten::detach"},
                                                                          {"itemsize", "prim::itemsize"},
                                                                          {"nbytes", "prim::nbytes"},
                                                                          {"is_meta", "prim::is_meta"},
                                                                          {"is_sparse", "prim::is_sparse"},
                                                                          {"is_quantized", "prim::is_quantized"},
                                                                          {"is_nested", "prim::is_nested"}};
  if (kind == TypeKind::TensorType) {
    const auto found = of_tensors.find(name);
    return found == of_tensors.end() ? "" : found->second;
  }
  if (kind == TypeKind::DeviceObjType && (name == "type" || name == "index")) return "prim::" + name;
  return "";
}

std::string operator_of_symbol(const std::string& symbol, bool tensors) {
  static const auto& names = *new std::map<std::string, std::string>{
      {"+", "add"},       {"-", "sub"},         {"*", "mul"},         {"/", "div"},     {"//", "floordiv"},
      {"%", "remainder"}, {"**", "pow"},        {"@", "matmul"},      {"&", "__and__"}, {"|", "__or__"},
      {"^", "__xor__"},   {"<<", "__lshift__"}, {">>", "__rshift__"}, {"<", "lt"},      {">", "gt"},
      {"<=", "le"},       {">=", "ge"},         {"==", "eq"},         {"!=", "ne"}};
  const auto found = names.find(symbol);
  if (found == names.end()) return "";
  return tensors && symbol == "//" ? "aten::floor_divide" : "aten::" + found->second;
}

}  // namespace torch::jit::detail
