#include "tests/conformance/case_values.h"

#include <cmath>
#include <map>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/dispatch/registry.h"

namespace conformance {
namespace {

using at::Tensor;
using c10::IValue;
using c10::ScalarType;
using c10::TypeKind;

const std::string& text(const Json& value) {
  if (!value.is_string()) throw BadSet("expected a string");
  return value.get_ref<const std::string&>();
}

template <class T>
T named(const std::map<std::string, T>& names, const Json& value, const char* what) {
  const auto found = names.find(text(value));
  if (found == names.end()) throw BadSet(std::string("unknown ") + what);
  return found->second;
}

IValue memory_format(const Json& value) {
  static const std::map<std::string, c10::MemoryFormat> formats = {{"contiguous_format", c10::MemoryFormat::Contiguous},
                                                                  {"preserve_format", c10::MemoryFormat::Preserve},
                                                                  {"channels_last", c10::MemoryFormat::ChannelsLast},
                                                                  {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}};
  return IValue(static_cast<int64_t>(named(formats, value, "memory format")));
}

c10::Layout layout_of(const Json& value) {
  static const std::map<std::string, c10::Layout> layouts = {{"strided", c10::kStrided},      {"coo", c10::kSparse},
                                                             {"sparse_coo", c10::kSparse},    {"csr", c10::kSparseCsr},
                                                             {"sparse_csr", c10::kSparseCsr}, {"csc", c10::kSparseCsc},
                                                             {"sparse_csc", c10::kSparseCsc}, {"bsr", c10::kSparseBsr},
                                                             {"sparse_bsr", c10::kSparseBsr}, {"bsc", c10::kSparseBsc},
                                                             {"sparse_bsc", c10::kSparseBsc}};
  return named(layouts, value, "layout");
}

const Json& array(const Json& value) {
  if (!value.is_array()) throw BadSet("expected a list");
  return value;
}

std::vector<int64_t> integers(const Json& value) {
  std::vector<int64_t> out;
  for (const Json& e : array(value)) out.push_back(integer(e));
  return out;
}

}  // namespace

ScalarType dtype_of(const Json& value) {
  static const std::map<std::string, ScalarType> types = {{"uint8", ScalarType::Byte},
                                                          {"int8", ScalarType::Char},
                                                          {"int16", ScalarType::Short},
                                                          {"int32", ScalarType::Int},
                                                          {"int64", ScalarType::Long},
                                                          {"float16", ScalarType::Half},
                                                          {"float32", ScalarType::Float},
                                                          {"float64", ScalarType::Double},
                                                          {"complex32", ScalarType::ComplexHalf},
                                                          {"complex64", ScalarType::ComplexFloat},
                                                          {"complex128", ScalarType::ComplexDouble},
                                                          {"bool", ScalarType::Bool},
                                                          {"bfloat16", ScalarType::BFloat16},
                                                          {"quint8", ScalarType::QUInt8},
                                                          {"qint8", ScalarType::QInt8},
                                                          {"qint32", ScalarType::QInt32},
                                                          {"uint16", ScalarType::UInt16},
                                                          {"uint32", ScalarType::UInt32},
                                                          {"uint64", ScalarType::UInt64},
                                                          {"float8_e5m2", ScalarType::Float8_e5m2},
                                                          {"float8_e4m3fn", ScalarType::Float8_e4m3fn},
                                                          {"float8_e8m0fnu", ScalarType::Float8_e8m0fnu}};
  return named(types, value, "dtype");
}

bool is_marked(const Json& value, const char* name) {
  const auto found = value.find(name);
  return found != value.end() && found->is_boolean() && found->get<bool>();
}

bool is_tensor(const Json& value) {
  return value.is_object() && (value.contains("tensor") || value.contains("nested") || value.contains("sparse") ||
                               value.contains("quantized"));
}

const Json& member(const Json& object, const char* name) {
  if (!object.is_object()) throw BadSet("expected an object");
  const auto found = object.find(name);
  if (found == object.end()) throw BadSet(std::string("\"") + name + "\" is missing");
  return *found;
}

int64_t integer(const Json& value) {
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})) {
    throw BadSet("expected an integer");
  }
  return value.get<int64_t>();
}

uint64_t seed(const Json& value) {
  if (!value.is_number_unsigned()) throw BadSet("expected a seed");
  return value.get<uint64_t>();
}

double number(const Json& value) {
  if (value.is_object() && value.contains("float")) {
    static const std::map<std::string, double> special = {{"inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}};
    return named(special, value.at("float"), "float");
  }
  if (!value.is_number()) throw BadSet("expected a number");
  return value.get<double>();
}

Tensor CaseValues::sparse_of(const Json& value, const std::function<Tensor(const char*)>& part) {
  const c10::Layout layout = layout_of(value.at("sparse"));
  const std::vector<int64_t> sizes = integers(member(value, "size"));
  const Tensor values = part("values");
  const at::NoGradGuard no_grad;
  try {
    if (layout == c10::kSparse) {
      const Tensor indices = part("indices");
      at::_validate_sparse_coo_tensor_args(indices, values, sizes, is_marked(value, "coalesced"));
      return at::_sparse_coo_tensor_unsafe(indices, values, sizes, {}, is_marked(value, "coalesced"));
    }
    const Tensor compressed = part("compressed"), plain = part("plain");
    // Not all that PyTorch gives is sorted in its lines.
    return at::_sparse_compressed_tensor_unsafe(compressed, plain, values, sizes, at::TensorOptions().layout(layout));
  } catch (const c10::Error& e) {
    throw BadSet(std::string("a sparse tensor whose parts do not fit: ") + e.what_without_backtrace());
  }
}

Tensor CaseValues::recorded(const Json& value) const {
  if (value.is_object() && value.contains("nested")) {
    std::vector<Tensor> parts;
    for (const Json& part : array(value.at("nested"))) {
      if (part.is_object() && part.contains("nested")) throw BadSet("a part of a nested tensor is nested");
      parts.push_back(recorded(part));
      if (parts.back().dim() != parts[0].dim()) throw BadSet("parts of a nested tensor have different ranks");
    }
    return at::_nested_tensor_from_tensor_list(parts);
  }
  if (value.is_object() && value.contains("sparse")) {
    return sparse_of(value, [&](const char* name) { return recorded(member(value, name)); });
  }
  if (value.is_object() && value.contains("quantized")) return quantized(value);
  const ScalarType dtype = dtype_of(member(value, "dtype"));
  const std::vector<int64_t> sizes = integers(member(value, "size"));
  const std::string& key = text(member(value, "tensor"));
  const bool complex = c10::isComplexType(dtype);
  if (!blobs_.contains(key)) throw BadSet("there is no blob \"" + key + "\"");
  const Tensor blob = blobs_.get(key);
  if (blob.dim() != 1) throw BadSet("blob \"" + key + "\" has more than one dimension");
  if (blob.scalar_type() != (complex ? c10::toRealValueType(dtype) : dtype)) throw BadSet("blob \"" + key + "\" has another dtype");
  int64_t numel = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMaxElements) throw BadSet("a size is negative or too large");
    if (__builtin_mul_overflow(numel, size, &numel)) throw BadSet("a tensor is too large");
  }
  if (numel > kMaxElements) throw BadSet("a tensor is too large");
  if (sizes.size() > 64) throw BadSet("a tensor has more than 64 dimensions");
  std::vector<int64_t> strides;
  if (value.contains("stride")) {
    strides = integers(value.at("stride"));
  } else {
    const at::DimVector dense = at::strides_of_format(sizes, at::MemoryFormat::Contiguous);
    strides.assign(dense.begin(), dense.end());
  }
  if (strides.size() != sizes.size()) throw BadSet("sizes and strides differ in length");
  const int64_t per_element = complex ? 2 : 1;
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t reach;
    if (strides[d] < 0) throw BadSet("a stride is negative or too large");
    if (numel == 0) continue;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last)) {
      throw BadSet("a stride is negative or too large");
    }
  }
  if (numel > 0 && last >= blob.numel() / per_element) throw BadSet("a tensor reaches beyond its blob");
  const at::NoGradGuard no_grad;
  Tensor storage = at::clone(blob);
  if (complex) storage = at::view_as_complex(at::view(storage, {storage.numel() / 2, 2}));
  if (numel == 0) return at::empty_with_strides(sizes, strides, dtype);
  Tensor t = at::as_strided(storage, sizes, strides);
  if (is_marked(value, "conj")) t = at::conj_physical(t);
  if (is_marked(value, "neg")) t = at::neg(t);
  return t;
}

Tensor CaseValues::quantized(const Json& value) const {
  const Json& integers = member(value, "ints");
  if (!integers.is_object() || !integers.contains("tensor")) {
    throw BadSet("the integers of a quantized tensor are no tensor");
  }
  const Tensor whole = recorded(integers);
  Tensor t;
  try {
    t = value.contains("scales") ? at::_make_per_channel_quantized_tensor(whole, recorded(member(value, "scales")),
                                                                          recorded(member(value, "zero_points")),
                                                                          integer(member(value, "axis")))
                                 : at::_make_per_tensor_quantized_tensor(whole, number(member(value, "scale")),
                                                                         integer(member(value, "zero_point")));
  } catch (const c10::Error& e) {
    throw BadSet(std::string("a quantized tensor: ") + e.what_without_backtrace());
  }
  if (t.scalar_type() != dtype_of(value.at("quantized"))) {
    throw BadSet("a quantized tensor of another dtype than its integers");
  }
  return t;
}

// What a call of an operator returns: something that each library makes in its own way.
IValue CaseValues::made(const Json& value) const {
  const std::string& name = text(value.at("call"));
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const auto op = c10::Dispatcher::singleton().findSchema(name.substr(0, dot), overload);
  if (!op) throw BadSet("there is no operator " + name);
  const Json &args = array(member(value, "args")), &kwargs = member(value, "kwargs");
  CaseValues values(blobs_, layout_, device_);
  c10::Stack stack;
  for (size_t i = 0; i < op->schema().arguments().size(); ++i) {
    const c10::Argument& argument = op->schema().arguments()[i];
    const Json* given = nullptr;
    if (i < args.size()) {
      given = &args[i];
    } else if (kwargs.is_object() && kwargs.contains(argument.name())) {
      given = &kwargs.at(argument.name());
    }
    if (given == nullptr && !argument.default_value()) {
      throw BadSet("argument '" + argument.name() + "' of " + name + " is missing");
    }
    stack.push_back(given != nullptr ? values.argument(*given, argument.shape(), true) : *argument.default_value());
  }
  const at::NoGradGuard no_grad;
  op->callBoxed(stack);
  if (stack.size() != 1) throw BadSet(name + " has not one result");
  return stack[0];
}

Tensor CaseValues::input(const Json& value, bool keep_layout) {
  const bool is_sparse = value.is_object() && value.contains("sparse");
  // The parts of a sparse tensor lie in one way or another, it itself does not.
  Tensor t = is_sparse ? sparse_of(value,
                                   [&](const char* name) {
                                     const Tensor part = recorded(member(value, name));
                                     return keep_layout ? part : laid_out(part);
                                   })
                       : recorded(value);
  const at::NoGradGuard no_grad;
  if (device_.type() == c10::DeviceType::Meta) {
    t = at::empty_with_strides(t.sizes(), t.strides(), t.scalar_type(), device_);
  } else if (device_.type() != c10::DeviceType::CPU) {
    t = at::to(t, t.options().device(device_));
  }
  if (!keep_layout) t = laid_out(t);
  if (is_marked(value, "requires_grad")) {
    if (!t.is_floating_point() && !t.is_complex()) throw BadSet("a gradient of an integer tensor");
    t = at::detach(t);
    t.set_requires_grad(true);
    differentiable_.push_back(t);
  }
  return t;
}

Tensor CaseValues::laid_out(const Tensor& t) const {
  if (layout_ == Layout::kRecorded || t.dim() == 0) return t;
  if (t.is_nested() || t.is_quantized() || t.layout() != c10::kStrided) return t;
  if (layout_ == Layout::kTransposed && t.dim() < 2) return t;
  Tensor other = empty_like_in(t, layout_, t.device());
  if (layout_ == Layout::kStrided) {
    // Behind the start of its storage.
    const Tensor wide = at::empty_contiguous({t.numel() * 2 + 1}, t.scalar_type(), t.device());
    other = at::as_strided(wide, t.sizes(), other.strides(), 1);
  }
  at::copy_(other, t);
  return other;
}

Tensor empty_like_in(const Tensor& t, Layout layout, c10::Device device) {
  const at::DimVector sizes(t.sizes().begin(), t.sizes().end());
  if (layout == Layout::kRecorded || t.dim() == 0) return at::empty_with_strides(sizes, at::strides_like(t), t.scalar_type(), device);
  at::DimVector inner = sizes;
  if (layout == Layout::kTransposed) {
    std::swap(inner.front(), inner.back());
  } else {
    inner.back() *= 2;
  }
  at::DimVector strides = at::strides_of_format(inner, at::MemoryFormat::Contiguous);
  if (layout == Layout::kTransposed) {
    std::swap(strides.front(), strides.back());
  } else {
    strides.back() = 2;
  }
  return at::empty_with_strides(sizes, strides, t.scalar_type(), device);
}

IValue CaseValues::argument(const Json& value, const c10::ArgumentShape& type, bool keep_layout) {
  if (!type.list || value.is_null()) return element(value, type, keep_layout);
  // Python takes one number for each element of a list of fixed length.
  const size_t length = static_cast<size_t>(std::max<int64_t>(type.list_size, 1));
  return list(value.is_array() ? value : Json(Json::array_t(length, value)), type, keep_layout);
}

IValue CaseValues::list(const Json& value, c10::ArgumentShape type, bool keep_layout) {
  type.list = false;
  std::vector<IValue> elements;
  for (const Json& e : value) elements.push_back(element(e, type, keep_layout));
  // A list of numbers is one value to the operator.
  const auto convert = [&](auto get) {
    std::vector<decltype(get(elements[0]))> out;
    for (const IValue& e : elements) out.push_back(get(e));
    return IValue(std::move(out));
  };
  if (type.kind == TypeKind::IntType) return convert([](const IValue& e) { return e.toInt(); });
  if (type.kind == TypeKind::FloatType) return convert([](const IValue& e) { return e.toDouble(); });
  if (type.kind == TypeKind::BoolType) return convert([](const IValue& e) { return e.toBool(); });
  return IValue(std::move(elements));
}

IValue CaseValues::element(const Json& value, const c10::ArgumentShape& type, bool keep_layout) {
  if (value.is_null()) return IValue();
  if (value.is_object() && value.contains("call")) return made(value);
  if (is_tensor(value)) {
    if (type.kind == TypeKind::TensorType) return IValue(input(value, keep_layout));
    // Python passes a tensor of one element where a number is expected.
    const Tensor t = recorded(value);
    // Marked as one that requires a gradient it has none: the number is apart from it.
    if (is_marked(value, "requires_grad")) differentiable_.push_back(at::detach(t).set_requires_grad(true));
    if (t.numel() != 1) throw BadSet("a tensor where " + std::string(c10::typeKindToString(type.kind)) + " is expected");
    if (type.kind == TypeKind::IntType) return IValue(t.item().toLong());
    if (type.kind == TypeKind::FloatType) return IValue(t.item().toDouble());
    if (type.kind == TypeKind::BoolType) return IValue(t.item().toBool());
    return IValue(t.item());
  }
  if (type.kind == TypeKind::TensorType && (value.is_number() || value.is_boolean())) {
    // Python also passes a number where a tensor is expected.
    return IValue(at::wrapped_scalar_tensor(value.is_boolean()          ? c10::Scalar(value.get<bool>())
                                            : value.is_number_integer() ? c10::Scalar(integer(value))
                                                                        : c10::Scalar(value.get<double>())));
  }
  if (value.is_object()) {
    if (value.contains("float")) return IValue(number(value));
    if (value.contains("complex")) {
      const Json& parts = array(value.at("complex"));
      if (parts.size() != 2) throw BadSet("a complex number has two parts");
      return IValue(c10::complex<double>(number(parts[0]), number(parts[1])));
    }
    if (value.contains("dtype")) return IValue(dtype_of(value.at("dtype")));
    if (value.contains("device")) {
      if (text(value.at("device")) != "cpu") throw BadSet("a device other than the CPU");
      return IValue(device_);
    }
    if (value.contains("layout")) {
      return IValue(static_cast<int64_t>(layout_of(value.at("layout"))));
    }
    if (value.contains("memory_format")) return memory_format(value.at("memory_format"));
    if (value.contains("generator")) {
      at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed(value.at("generator")));
      return IValue(IValue::Tag::Generator, generator.getIntrusivePtr());
    }
    throw BadSet("an unknown kind of value");
  }
  if (value.is_boolean()) return IValue(value.get<bool>());
  if (value.is_string() && type.kind == TypeKind::DeviceObjType) {
    if (text(value) != "cpu") throw BadSet("a device other than the CPU");
    return IValue(device_);
  }
  if (value.is_string()) return IValue(value.get<std::string>());
  if (value.is_number_integer()) {
    if (type.kind == TypeKind::FloatType) return IValue(value.get<double>());
    return IValue(integer(value));
  }
  if (value.is_number()) return IValue(value.get<double>());
  throw BadSet("an unknown kind of value");
}

}  // namespace conformance
