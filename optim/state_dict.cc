#include "optim/state_dict.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/default_dtype.h"
#include "c10/util/exception.h"

namespace torch::optim {
namespace {

using c10::IValue;
using GenericDict = c10::Dict<IValue, IValue>;

constexpr int64_t kMostCount = int64_t{1} << 53;
// Counts up to here are exact in float32, which is what Python holds them in.
constexpr int64_t kExactInFloat = int64_t{1} << 24;

bool number_of_name(std::string_view name, int64_t* number) {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *number);
  return error == std::errc() && end == name.data() + name.size() && !name.empty();
}

std::string name_of_key(const IValue& key) {
  return key.isInt() ? std::to_string(key.toInt()) : key.isString() ? key.toStringRef() : std::string();
}

// The key under which a dict has `name`.
bool key_of(const GenericDict& dict, std::string_view name, IValue* key) {
  int64_t number = 0;
  if (number_of_name(name, &number) && dict.contains(IValue(number))) {
    *key = IValue(number);
    return true;
  }
  *key = IValue(name);
  return dict.contains(*key);
}

// A scalar's value, also of a tensor of one element.
IValue plain(const IValue& value) {
  if (!value.isTensor()) return value;
  const at::Tensor tensor = value.toTensor();
  return tensor.numel() == 1 ? IValue(at::item(tensor)) : value;
}

template <class T>
IValue tensors_of(const T& list) {
  c10::List<IValue> out;
  for (const at::Tensor& t : list) out.push_back(IValue(t));
  return IValue(out);
}

template <class T>
void read_tensors(const IValue& value, std::string_view name, T& out) {
  T fresh;
  const std::vector<std::string> names = names_of_parts(value);
  for (size_t i = 0; i < names.size(); ++i) {
    IValue part;
    TORCH_CHECK_VALUE(find_part(value, std::to_string(i), &part) && (part.isTensor() || part.isNone()),
                      "load_state_dict: ", name, " is no list of tensors");
    fresh.push_back(part.isNone() ? at::Tensor() : part.toTensor());
  }
  out = std::move(fresh);
}

// The elements of a tuple that a file may hold as a list.
std::vector<IValue> parts_of(const IValue& value, std::string_view name, size_t count) {
  std::vector<IValue> parts;
  const size_t found = names_of_parts(value).size();
  TORCH_CHECK_VALUE(found == count, "load_state_dict: ", name, " holds ", found, " values, not ", count);
  for (size_t i = 0; i < count; ++i) find_part(value, std::to_string(i), &parts.emplace_back());
  return parts;
}

// Tensors of numbers that Python keeps in the default dtype.
at::Tensor scalar_tensor(double value, at::ScalarType dtype) {
  at::Tensor tensor = at::empty({}, at::TensorOptions().dtype(dtype).device(at::kCPU));
  if (dtype == at::kFloat) {
    *tensor.data_ptr<float>() = static_cast<float>(value);
  } else {
    *tensor.data_ptr<double>() = value;
  }
  return tensor;
}

at::ScalarType default_scalar_dtype() {
  return c10::get_default_dtype_as_scalartype() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

// --- StateDict ---

StateDict::StateDict() : tree_(GenericDict()) {}

StateDict::StateDict(IValue tree) : tree_(std::move(tree)) {
  TORCH_CHECK_VALUE(tree_.isGenericDict(), "a state dict is a dict, but got ", tree_.tag_name());
}

bool find_part(const IValue& whole, std::string_view name, IValue* part) {
  if (whole.isGenericDict()) {
    const GenericDict dict = whole.toGenericDict();
    IValue key;
    if (!key_of(dict, name, &key)) return false;
    *part = dict.at(key);
    return true;
  }
  int64_t number = 0;
  if ((!whole.isList() && !whole.isTuple()) || !number_of_name(name, &number) || number < 0) return false;
  const c10::ArrayRef<IValue> items = whole.isList() ? whole.toListRef() : whole.toTupleRef().elementsArrayRef();
  if (number >= static_cast<int64_t>(items.size())) return false;
  *part = items[static_cast<size_t>(number)];
  return true;
}

std::vector<std::string> names_of_parts(const IValue& whole) {
  std::vector<std::string> names;
  if (whole.isGenericDict()) {
    for (const auto& entry : whole.toGenericDict()) names.push_back(name_of_key(entry.key()));
    return names;
  }
  if (!whole.isList() && !whole.isTuple()) return names;
  const size_t count = whole.isList() ? whole.toListRef().size() : whole.toTupleRef().elementsArrayRef().size();
  for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

bool StateDict::find(std::string_view path, IValue* value) const {
  IValue at = tree_;
  while (true) {
    const size_t dot = path.find('.');
    IValue next;
    if (!find_part(at, path.substr(0, dot), &next)) return false;
    at = std::move(next);
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  if (value != nullptr) *value = std::move(at);
  return true;
}

IValue StateDict::at(std::string_view path) const {
  IValue value;
  TORCH_CHECK_VALUE(find(path, &value), "the state dict has no ", path);
  return value;
}

double StateDict::number(std::string_view path) const {
  return checked_number(at(path), path);
}

int64_t StateDict::integer(std::string_view path) const {
  const double value = number(path);
  TORCH_CHECK_VALUE(value == std::floor(value) && std::abs(value) <= static_cast<double>(kMostCount),
                    "the state dict's ", path, " is no integer: ", value);
  return static_cast<int64_t>(value);
}

void StateDict::set(std::string_view path, IValue value) {
  const size_t dot = path.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  const IValue parent = dot == std::string_view::npos ? tree_ : at(path.substr(0, dot));
  if (parent.isList()) {
    int64_t number = 0;
    TORCH_CHECK_VALUE(
        number_of_name(name, &number) && number >= 0 && number < static_cast<int64_t>(parent.toListRef().size()),
        "the state dict has no ", path);
    parent.toList().set(static_cast<size_t>(number), std::move(value));
    return;
  }
  TORCH_CHECK_VALUE(parent.isGenericDict(), "the state dict has no dict for ", path);
  IValue key;
  key_of(parent.toGenericDict(), name, &key);
  parent.toGenericDict().insert_or_assign(key, value);
}

bool StateDict::erase(std::string_view path) {
  const size_t dot = path.rfind('.');
  IValue parent = tree_, key;
  if (dot != std::string_view::npos && !find(path.substr(0, dot), &parent)) return false;
  if (!parent.isGenericDict() || !key_of(parent.toGenericDict(), path.substr(dot == path.npos ? 0 : dot + 1), &key)) {
    return false;
  }
  return parent.toGenericDict().erase(key) == 1;
}

StateDict StateDict::clone() const {
  return StateDict(tree_.deepcopy());
}

// --- numbers in files ---

double checked_number(const IValue& value, std::string_view name) {
  const IValue number = plain(value);
  if (number.isBool()) return number.toBool() ? 1 : 0;
  TORCH_CHECK_VALUE(number.isDouble() || number.isInt(), "load_state_dict: ", name, " is no number but ",
                    value.tag_name());
  return number.toScalar().toDouble();
}

int64_t checked_count(const IValue& value, std::string_view name) {
  const IValue number = plain(value);
  TORCH_CHECK_VALUE(number.isInt() || (value.isTensor() && number.isDouble()), "load_state_dict: ", name,
                    " is no integer");
  if (number.isInt()) {
    const int64_t count = number.toInt();
    TORCH_CHECK_VALUE(count >= 0 && count <= kMostCount, "load_state_dict: ", name, " is ", count,
                      "; expected a number from 0 to ", kMostCount);
    return count;
  }
  const double count = number.toDouble();
  TORCH_CHECK_VALUE(count >= 0 && count <= static_cast<double>(kMostCount) && count == std::floor(count),
                    "load_state_dict: ", name, " is ", count, "; expected a number from 0 to ", kMostCount);
  return static_cast<int64_t>(count);
}

// --- FieldVisitor ---

void FieldVisitor::operator()(const char* name, bool& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) value = checked_number(v, name) != 0;
}

void FieldVisitor::operator()(const char* name, double& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) value = checked_number(v, name);
}

void FieldVisitor::operator()(const char* name, int64_t& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) {
    v = plain(v);
    TORCH_CHECK_VALUE(v.isInt(), "load_state_dict: ", name, " is no integer but ", v.tag_name());
    value = v.toInt();
  }
}

void FieldVisitor::operator()(const char* name, std::string& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) {
    TORCH_CHECK_VALUE(v.isString(), "load_state_dict: ", name, " is no text but ", v.tag_name());
    value = v.toStringRef();
  }
}

void FieldVisitor::operator()(const char* name, std::optional<bool>& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) value = v.isNone() ? std::nullopt : std::optional(checked_number(v, name) != 0);
}

void FieldVisitor::operator()(const char* name, std::optional<int64_t>& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) value = v.isNone() ? std::nullopt : std::optional(checked_count(v, name));
}

void FieldVisitor::operator()(const char* name, std::optional<std::string>& value) {
  IValue v(value);
  if (field(name, Kind::kValue, v)) {
    TORCH_CHECK_VALUE(v.isNone() || v.isString(), "load_state_dict: ", name, " is no text but ", v.tag_name());
    value = v.isNone() ? std::nullopt : std::optional<std::string>(v.toStringRef());
  }
}

void FieldVisitor::operator()(const char* name, std::vector<double>& value) {
  IValue v(value);
  if (!field(name, Kind::kValue, v)) return;
  value.clear();
  const size_t count = names_of_parts(v).size();
  for (const IValue& part : parts_of(v, name, count)) value.push_back(checked_number(part, name));
}

void FieldVisitor::operator()(const char* name, std::vector<int64_t>& value) {
  IValue v(value);
  if (!field(name, Kind::kValue, v)) return;
  value.clear();
  const size_t count = names_of_parts(v).size();
  for (const IValue& part : parts_of(v, name, count)) value.push_back(checked_count(part, name));
}

void FieldVisitor::operator()(const char* name, Betas& value) {
  IValue v(value);
  if (!field(name, Kind::kValue, v)) return;
  const std::vector<IValue> parts = parts_of(v, name, 2);
  value = {checked_number(parts[0], name), checked_number(parts[1], name)};
}

void FieldVisitor::operator()(const char* name, Coefficients& value) {
  IValue v(value);
  if (!field(name, Kind::kValue, v)) return;
  const std::vector<IValue> parts = parts_of(v, name, 3);
  value = {checked_number(parts[0], name), checked_number(parts[1], name), checked_number(parts[2], name)};
}

void FieldVisitor::operator()(const char* name, Epsilons& value) {
  IValue v(value);
  if (!field(name, Kind::kValue, v)) return;
  const std::vector<IValue> parts = parts_of(v, name, 2);
  value = {parts[0].isNone() ? std::nullopt : std::optional(checked_number(parts[0], name)),
           checked_number(parts[1], name)};
}

void FieldVisitor::operator()(const char* name, at::Tensor& value, Kind kind) {
  IValue v(value);
  if (!field(name, kind, v)) return;
  TORCH_CHECK_VALUE(v.isNone() || v.isTensor() || (kind == Kind::kTensor && (v.isInt() || v.isDouble())),
                    "load_state_dict: ", name, " is no tensor but ", v.tag_name());
  value = v.isNone() ? at::Tensor() : v.isTensor() ? v.toTensor() : scalar_tensor(v.toScalar().toDouble(), default_scalar_dtype());
}

void FieldVisitor::operator()(const char* name, std::deque<at::Tensor>& value) {
  IValue v = tensors_of(value);
  if (field(name, Kind::kTensor, v)) read_tensors(v, name, value);
}

void FieldVisitor::operator()(const char* name, std::optional<std::vector<at::Tensor>>& value) {
  IValue v = value.has_value() ? tensors_of(*value) : IValue();
  if (!field(name, Kind::kTensor, v)) return;
  value.reset();
  if (!v.isNone()) read_tensors(v, name, value.emplace());
}

void FieldVisitor::step(const char* name, int64_t& value) {
  IValue v(scalar_tensor(static_cast<double>(value), value <= kExactInFloat ? default_scalar_dtype() : at::kDouble));
  if (field(name, Kind::kStep, v)) value = checked_count(v, name);
}

void FieldVisitor::tensor_number(const char* name, double& value) {
  IValue v(scalar_tensor(value, default_scalar_dtype()));
  if (field(name, Kind::kNumber, v)) value = checked_number(v, name);
}

}  // namespace torch::optim
