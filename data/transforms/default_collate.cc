#include "data/transforms/default_collate.h"

#include <cstring>

#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "c10/value/ivalue.h"

namespace torch::data::detail {

using c10::IValue;

at::Tensor stacked(const std::vector<at::Tensor>& tensors) { return at::stack(tensors); }

at::Tensor tensor_of(const void* data, size_t size, c10::ScalarType dtype) {
  at::Tensor t = at::empty({static_cast<int64_t>(size)}, dtype);
  if (size > 0) std::memcpy(t.mutable_data_ptr(), data, size * c10::elementSize(dtype));
  return t;
}

void throw_unequal_sizes() {
  TORCH_CHECK(false, "default_collate: each element in list of batch should be of equal size");
}
void throw_missing_key(const std::string& key) {
  TORCH_CHECK_INDEX(false, "default_collate: the key '", key, "' of the first element is missing in another one");
}

namespace {

template <class T, class Get>
at::Tensor numbers(const std::vector<IValue>& batch, const Get& get) {
  std::vector<T> all;
  for (const IValue& v : batch) all.push_back(get(v));
  return tensor_of(all.data(), all.size(), std::is_same_v<T, uint8_t> ? at::kBool : c10::CppTypeToScalarType<T>::value);
}

// Elements of a tuple or a list.
std::vector<IValue> elements_of(const IValue& v) {
  const c10::ArrayRef<IValue> all = v.isTuple() ? v.toTupleRef().elementsArrayRef() : v.toListRef();
  return std::vector<IValue>(all.begin(), all.end());  // no braces: a pointer would become a bool
}

bool is_sequence(const IValue& v) { return v.isTuple() || v.isList(); }

IValue collate_sequences(const std::vector<IValue>& batch) {
  std::vector<std::vector<IValue>> rows;
  for (const IValue& v : batch) {
    rows.push_back(elements_of(v));
    if (rows.back().size() != rows[0].size()) throw_unequal_sizes();
  }
  std::vector<IValue> columns;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    std::vector<IValue> column;
    for (const std::vector<IValue>& row : rows) column.push_back(row[i]);
    columns.push_back(collate_values(column));
  }
  return IValue(std::move(columns));
}

IValue collate_dicts(const std::vector<IValue>& batch) {
  c10::Dict<IValue, IValue> result(batch[0].toGenericDict().keyType(), c10::AnyType::get());
  for (const auto& entry : batch[0].toGenericDict()) {
    std::vector<IValue> column;
    for (const IValue& v : batch) {
      const c10::Dict<IValue, IValue> dict = v.toGenericDict();
      const auto found = dict.find(entry.key());
      if (found == dict.end())
        throw_missing_key(entry.key().isString() ? entry.key().toStringRef() : "of another kind");
      column.push_back(found->value());
    }
    result.insert(entry.key(), collate_values(column));
  }
  return IValue(result);
}

}  // namespace

IValue collate_values(const std::vector<IValue>& batch) {
  TORCH_CHECK_VALUE(!batch.empty(), "default_collate: expected at least one element");
  const IValue& first = batch[0];
  for (const IValue& v : batch) {
    const bool same = is_sequence(first) ? is_sequence(v) : v.tagKind() == first.tagKind();
    TORCH_CHECK_TYPE(same, "default_collate: expected elements of one kind, but got ", first.tagKind(), " and ",
                     v.tagKind());
  }
  if (first.isTensor()) {
    std::vector<at::Tensor> tensors;
    for (const IValue& v : batch) tensors.push_back(v.toTensor());
    return at::stack(tensors);
  }
  if (first.isBool()) return numbers<uint8_t>(batch, [](const IValue& v) { return v.toBool(); });
  if (first.isInt()) return numbers<int64_t>(batch, [](const IValue& v) { return v.toInt(); });
  if (first.isDouble()) return numbers<double>(batch, [](const IValue& v) { return v.toDouble(); });
  if (first.isString()) return IValue(std::vector<IValue>(batch));
  if (is_sequence(first)) return collate_sequences(batch);
  if (first.isGenericDict()) return collate_dicts(batch);
  TORCH_CHECK_TYPE(false, "default_collate: batch must contain tensors, numbers, texts, dicts, tuples or lists; found ",
                   first.tagKind());
}

IValue convert_value(const IValue& value) {
  if (value.isIntList()) return numbers<int64_t>(elements_of(value), [](const IValue& v) { return v.toInt(); });
  if (value.isDoubleList()) return numbers<double>(elements_of(value), [](const IValue& v) { return v.toDouble(); });
  if (value.isBoolList()) return numbers<uint8_t>(elements_of(value), [](const IValue& v) { return v.toBool(); });
  if (is_sequence(value)) {
    std::vector<IValue> elements = elements_of(value);
    for (IValue& v : elements) v = convert_value(v);
    return value.isTuple() ? IValue(c10::ivalue::Tuple::create(std::move(elements))) : IValue(std::move(elements));
  }
  if (value.isGenericDict()) {
    c10::Dict<IValue, IValue> result(value.toGenericDict().keyType(), c10::AnyType::get());
    for (const auto& entry : value.toGenericDict()) result.insert(entry.key(), convert_value(entry.value()));
    return IValue(result);
  }
  return value;
}

}  // namespace torch::data::detail
