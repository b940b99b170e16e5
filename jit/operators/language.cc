// What statements and expressions of the language are made of: counted loops, enumerations, elements of tensors, values
// that come later, texts of values.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "aten/autocast/autocast.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_indexing.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/util/warning.h"
#include "c10/value/future.h"
#include "c10/value/list.h"
#include "jit/operators/operators.h"

namespace torch::jit::detail {
namespace {

using at::Tensor;
using at::indexing::TensorIndex;
using c10::IValue;
using c10::Stack;
using c10::impl::GenericList;

constexpr int64_t kMostListed = int64_t{1} << 27;

// --- loops ---

int64_t range_length(int64_t start, int64_t stop, int64_t step) {
  TORCH_CHECK_VALUE(step != 0, "range() arg 3 must not be zero");
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // In unsigned numbers, where no difference overflows.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  return static_cast<int64_t>(std::min<uint64_t>((distance - 1) / by + 1, INT64_MAX));
}
int64_t nth(int64_t i, int64_t start, int64_t step) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
}
void loop_length(Stack& s) {
  const int64_t step = pop(s).toInt(), stop = pop(s).toInt(), start = pop(s).toInt();
  s.emplace_back(range_length(start, stop, step));
}
void loop_index(Stack& s) {
  const int64_t step = pop(s).toInt(), start = pop(s).toInt(), i = pop(s).toInt();
  s.emplace_back(nth(i, start, step));
}
void list_range(Stack& s, int64_t start, int64_t stop, int64_t step) {
  const int64_t count = range_length(start, stop, step);
  TORCH_CHECK(count <= kMostListed, "a list of more than ", kMostListed, " elements");
  const c10::List<int64_t> all;
  all.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all.push_back(nth(i, start, step));
  s.emplace_back(all);
}
void range(Stack& s) {
  const int64_t step = pop(s).toInt(), stop = pop(s).toInt(), start = pop(s).toInt();
  list_range(s, start, stop, step);
}
void range_from_zero(Stack& s) {
  list_range(s, 0, pop(s).toInt(), 1);
}

c10::TypePtr element_type(const IValue& list) {
  return list.type()->containedType(0);
}
void enumerate(Stack& s) {
  int64_t i = pop(s).toInt();
  const IValue list = pop(s);
  const GenericList all(c10::TupleType::create({c10::IntType::get(), element_type(list)}));
  for (const IValue& one : list.toListRef()) all.push_back(c10::ivalue::Tuple::create({IValue(i++), one}));
  s.emplace_back(all);
}
void zip(Stack& s) {
  std::vector<c10::TypePtr> types;
  size_t count = static_cast<size_t>(-1);
  for (const IValue& list : s) {
    types.push_back(element_type(list));
    count = std::min(count, list.toListRef().size());
  }
  const GenericList all(c10::TupleType::create(std::move(types)));
  for (size_t i = 0; i < count && !s.empty(); ++i) {
    std::vector<IValue> parts;
    for (const IValue& list : s) parts.push_back(list.toListRef()[i]);
    all.push_back(c10::ivalue::Tuple::create(std::move(parts)));
  }
  s.clear();
  s.emplace_back(all);
}

// --- elements of tensors ---

std::vector<TensorIndex> indices(const IValue& tuple) {
  std::vector<TensorIndex> all;
  for (const IValue& one : tuple.toTupleRef().elements()) {
    if (one.isNone()) {
      all.emplace_back(at::indexing::None);
    } else if (one.isString()) {
      all.emplace_back(at::indexing::Ellipsis);
    } else if (one.isTuple()) {
      const auto& bounds = one.toTupleRef().elements();
      const auto bound = [&](size_t i) { return bounds[i].toOptional<int64_t>(); };
      all.emplace_back(at::indexing::Slice(bound(0), bound(1), bound(2)));
    } else if (one.isInt()) {
      all.emplace_back(one.toInt());
    } else if (one.isBool()) {
      all.emplace_back(one.toBool());
    } else {
      all.emplace_back(one.toTensor());
    }
  }
  return all;
}
void get_elements(Stack& s) {
  const IValue where = pop(s);
  const Tensor self = pop(s).toTensor();
  s.emplace_back(at::indexing::get_item(self, indices(where)));
}
void set_elements(Stack& s) {
  const IValue value = pop(s), where = pop(s);
  const Tensor self = pop(s).toTensor();
  if (value.isTensor()) {
    at::indexing::set_item(self, indices(where), value.toTensor());
  } else {
    at::indexing::set_item(self, indices(where), value.toScalar());
  }
}

// --- what is and what comes later ---

void enum_name(Stack& s) {
  s.back() = IValue(s.back().toEnumHolder()->name());
}
void enum_value(Stack& s) {
  s.back() = s.back().toEnumHolder()->value();
}
void completed(Stack& s) {
  IValue value = pop(s);
  auto future = c10::make_intrusive<c10::ivalue::Future>(value.type());
  future->markCompleted(std::move(value));
  s.emplace_back(std::move(future));
}
void wait(Stack& s) {
  const auto future = pop(s).toFuture();
  future->waitAndThrow();
  s.push_back(future->value());
}
void unwrap(Stack& s) {
  TORCH_CHECK(!s.back().isNone(), "Unwrapping null optional");
}
void always(Stack& s) {
  s.emplace_back(true);
}
void never(Stack& s) {
  s.emplace_back(false);
}
void cpu_autocast_enabled(Stack& s) {
  s.emplace_back(at::autocast::is_autocast_enabled(c10::DeviceType::CPU));
}
void autocast_enabled(Stack& s) {
  s.emplace_back(at::autocast::is_autocast_enabled(c10::DeviceType::CUDA));
}

// --- tensors ---

void to(Stack& s) {
  const bool copy = pop(s).toBool(), non_blocking = pop(s).toBool();
  const IValue dtype = pop(s), device = pop(s);
  const Tensor self = pop(s).toTensor();
  c10::TensorOptions options = self.options();
  if (!device.isNone()) options = options.device(device.toDevice());
  if (!dtype.isNone()) options = options.dtype(dtype.toScalarType());
  s.emplace_back(at::to(self, options, non_blocking, copy));
}
void to_dtype(Stack& s) {
  s.insert(s.begin() + 1, IValue());
  to(s);
}
void to_tensor(Stack& s) {
  s.back() = IValue(at::full({}, s.back().toScalar(), c10::TensorOptions().dtype(s.back().toScalar().type())));
}
void to_scalar(Stack& s) {
  s.back() = IValue(at::item(s.back().toTensor()));
}
void to_float(Stack& s) {
  s.back() = IValue(at::item(s.back().toTensor()).toDouble());
}
void to_int(Stack& s) {
  const c10::Scalar number = at::item(s.back().toTensor());
  TORCH_CHECK_TYPE(number.isIntegral(true), "Cannot input a tensor of type ", s.back().toTensor().dtype(),
                   " as an integral argument");
  s.back() = IValue(number.toLong());
}

// --- texts ---

void print(Stack& s) {
  std::string line;
  for (const IValue& value : s) line += (&value == s.data() ? "" : " ") + text_of(value);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  s.clear();
}
// Each {} stands for the next argument.
void format(Stack& s) {
  const std::string& pattern = s.at(0).toStringRef();
  std::string out;
  size_t next = 1, at = 0;
  for (size_t found; (found = pattern.find("{}", at)) != std::string::npos; at = found + 2) {
    TORCH_CHECK(next < s.size(), "Too few arguments for format string: ", pattern);
    out += pattern.substr(at, found - at) + text_of(s[next++]);
  }
  out += pattern.substr(at);
  s.clear();
  s.emplace_back(std::move(out));
}
// "%s of %d": %s, %d, %i, %f, %g, %e, %c, %x, %o and %%.
void percent_format(Stack& s) {
  const std::string pattern = s.at(0).toStringRef();
  std::vector<IValue> arguments(s.begin() + 1, s.end());
  if (arguments.size() == 1 && arguments[0].isTuple()) arguments = arguments[0].toTupleRef().elements().vec();
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    TORCH_CHECK(++i < pattern.size(), "Incomplete format specifier");
    if (pattern[i] == '%') {
      out += '%';
      continue;
    }
    TORCH_CHECK(next < arguments.size(), "Too few arguments for format string");
    const IValue& value = arguments[next++];
    const char kind = pattern[i];
    char number[400];
    if (kind == 's') {
      out += text_of(value);
    } else if (kind == 'd' || kind == 'i') {
      TORCH_CHECK(value.isScalar(), "%", std::string(1, kind), " requires a number for formatting, but got ",
                  value.tagKind());
      out += std::to_string(value.toScalar().isFloatingPoint() ? static_cast<int64_t>(std::trunc(value.toDouble()))
                                                               : value.toScalar().toLong());
    } else if (kind == 'f' || kind == 'F' || kind == 'g' || kind == 'e' || kind == 'E') {
      TORCH_CHECK(value.isScalar(), "%", std::string(1, kind), " requires a number for formatting, but got ",
                  value.tagKind());
      const char text[] = {'%', kind, '\0'};
      std::snprintf(number, sizeof number, text, value.toScalar().toDouble());
      out += number;
    } else if (kind == 'x' || kind == 'X' || kind == 'o') {
      TORCH_CHECK(value.isInt(), "%", std::string(1, kind), " requires an integer for formatting, but got ",
                  value.tagKind());
      const char text[] = {'%', 'l', kind, '\0'};
      std::snprintf(number, sizeof number, text, static_cast<unsigned long>(value.toInt()));
      out += number;
    } else if (kind == 'c') {
      out += value.isInt() ? std::string(1, static_cast<char>(value.toInt())) : text_of(value);
    } else {
      TORCH_CHECK(false, "The specifier %", std::string(1, kind), " is not supported in TorchScript format strings");
    }
  }
  TORCH_CHECK(next == arguments.size(), "Too many arguments for format string");
  s.clear();
  s.emplace_back(std::move(out));
}
void warn(Stack& s) {
  s.pop_back();
  const IValue message = pop(s);
  TORCH_WARN(message.toStringRef());
}

}  // namespace

void add_language_operators(BuiltinOperators& all) {
  const BuiltinOperator operators[] = {
      {"aten::__range_length(int lo, int hi, int step) -> int", loop_length},
      {"aten::__derive_index(int index, int start, int step) -> int", loop_index},
      {"prim::range(int start, int stop, int step) -> int[]", range},
      {"prim::rangelist(int n) -> int[]", range_from_zero},
      {"prim::enumerate(t[] list, int start=0) -> ((int, t)[])", enumerate},
      {"prim::zip(...) -> Any", zip},
      {"aten::__getitem__.Tensor(Tensor(a) self, Any index) -> Tensor(*)", get_elements},
      {"aten::_set_item.Tensor(Tensor(a!) self, Any index, Any value) -> ()", set_elements},
      {"prim::EnumName(AnyEnumType enum) -> str", enum_name},
      {"prim::EnumValue(AnyEnumType enum) -> Any", enum_value},
      {"prim::completed(t value) -> Future(t)", completed},
      {"aten::wait(Future(t) self) -> t", wait},
      {"aten::_unwrap_optional(t(a)? optional) -> t(a)", unwrap},
      {"prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", unwrap},
      {"aten::is_autocast_enabled() -> bool", autocast_enabled},
      {"aten::is_autocast_cpu_enabled() -> bool", cpu_autocast_enabled},
      {"aten::is_scripting() -> bool", always},
      {"aten::_is_tracing() -> bool", never},
      {"aten::_get_tracing_state() -> bool", never},
      {"aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool "
       "copy=False) -> Tensor(a|b)",
       to},
      {"aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(a|b)",
       to_dtype},
      {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", to_tensor},
      {"aten::ScalarImplicit(Tensor a) -> Scalar", to_scalar},
      {"aten::FloatImplicit(Tensor a) -> float", to_float},
      {"aten::IntImplicit(Tensor a) -> int", to_int},
      {"prim::Print(...) -> ()", print},
      {"aten::format(str self, ...) -> str", format},
      {"aten::percentFormat(str self, ...) -> str", percent_format},
      {"aten::warn(str message, int stacklevel=2) -> ()", warn},
  };
  all.insert(all.end(), std::begin(operators), std::end(operators));
}

}  // namespace torch::jit::detail
