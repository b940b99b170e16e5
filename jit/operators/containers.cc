// Lists and dictionaries.
#include <algorithm>

#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "jit/operators/operators.h"

namespace torch::jit::detail {
namespace {

using c10::IValue;
using c10::Stack;
using List = c10::impl::GenericList;
using Dict = c10::impl::GenericDict;

constexpr int64_t kMostElements = int64_t{1} << 27;

size_t checked(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  const int64_t from_start = index < 0 ? index + count : index;
  TORCH_CHECK_INDEX(from_start >= 0 && from_start < count, "list index out of range");
  return static_cast<size_t>(from_start);
}
size_t clamped(int64_t index, size_t size) {
  const auto count = static_cast<int64_t>(size);
  return static_cast<size_t>(std::clamp(index < 0 ? index + count : index, int64_t{0}, count));
}
bool equal(const IValue& a, const IValue& b) {
  return a.is(b) || a == b;
}

// --- lists ---

void list_len(Stack& s) {
  s.back() = IValue(static_cast<int64_t>(s.back().toListRef().size()));
}
void list_get(Stack& s) {
  const int64_t index = pop(s).toInt();
  const IValue list = pop(s);
  s.push_back(list.toListRef()[checked(index, list.toListRef().size())]);
}
void list_set(Stack& s) {
  const IValue value = pop(s);
  const int64_t index = pop(s).toInt();
  const List list = s.back().toList();
  list.set(checked(index, list.size()), value);
}
void list_delete(Stack& s) {
  const int64_t index = pop(s).toInt();
  const List list = pop(s).toList();
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(checked(index, list.size())));
}
void list_append(Stack& s) {
  const IValue value = pop(s);
  s.back().toList().push_back(value);
}
void list_extend(Stack& s) {
  const List other = pop(s).toList();
  s.back().toList().append(other);
}
void list_extend_without_result(Stack& s) {
  list_extend(s);
  s.pop_back();
}
void list_insert(Stack& s) {
  const IValue value = pop(s);
  const int64_t index = pop(s).toInt();
  const List list = pop(s).toList();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(clamped(index, list.size())), value);
}
void list_pop(Stack& s) {
  const int64_t index = pop(s).toInt();
  const List list = pop(s).toList();
  TORCH_CHECK_INDEX(!list.empty(), "pop from empty list");
  const size_t at = checked(index, list.size());
  s.push_back(list.extract(at));
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
}
void list_reverse(Stack& s) {
  const List list = pop(s).toList();
  for (size_t i = 0, j = list.size(); i + 1 < j; ++i) swap(list[i], list[--j]);
}
void list_copy(Stack& s) {
  s.back() = IValue(s.back().toList().copy());
}
void list_clear(Stack& s) {
  pop(s).toList().clear();
}
void list_add(Stack& s) {
  const List b = pop(s).toList();
  const List sum = pop(s).toList().copy();
  sum.append(b);
  s.emplace_back(sum);
}
void list_repeat(Stack& s) {
  IValue first = pop(s), second = pop(s);
  const int64_t times = std::max<int64_t>((first.isInt() ? first : second).toInt(), 0);
  const List list = (first.isInt() ? second : first).toList();
  TORCH_CHECK(list.empty() || times <= kMostElements / static_cast<int64_t>(list.size()), "a list of more than ",
              kMostElements, " elements");
  const List result(list.elementType());
  result.reserve(list.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) result.append(list);
  s.emplace_back(result);
}
void list_contains(Stack& s) {
  const IValue value = pop(s), list = pop(s);
  const auto elements = list.toListRef();
  s.emplace_back(std::any_of(elements.begin(), elements.end(), [&](const IValue& one) { return equal(one, value); }));
}
int64_t find(const List& list, const IValue& value) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (equal(list.get(i), value)) return static_cast<int64_t>(i);
  }
  return -1;
}
void list_index(Stack& s) {
  const IValue value = pop(s);
  const int64_t at = find(pop(s).toList(), value);
  TORCH_CHECK_VALUE(at >= 0, "'", text_of(value), "' is not in list");
  s.emplace_back(at);
}
void list_remove(Stack& s) {
  const IValue value = pop(s);
  const List list = pop(s).toList();
  const int64_t at = find(list, value);
  TORCH_CHECK_VALUE(at >= 0, "list.remove(x): x not in list");
  list.erase(list.begin() + at);
}
void list_count(Stack& s) {
  const IValue value = pop(s), list = pop(s);
  const auto elements = list.toListRef();
  s.emplace_back(static_cast<int64_t>(
      std::count_if(elements.begin(), elements.end(), [&](const IValue& one) { return equal(one, value); })));
}
void list_eq(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  const auto x = a.toListRef(), y = b.toListRef();
  s.emplace_back(std::equal(x.begin(), x.end(), y.begin(), y.end(), equal));
}
void list_ne(Stack& s) {
  list_eq(s);
  s.back() = IValue(!s.back().toBool());
}
void list_slice(Stack& s) {
  const int64_t step = pop(s).toInt();
  const IValue end = pop(s), start = pop(s);
  const List list = pop(s).toList();
  TORCH_CHECK_VALUE(step != 0, "slice step cannot be zero");
  const List result(list.elementType());
  const auto count = static_cast<int64_t>(list.size());
  const auto bound = [&](const IValue& v, int64_t otherwise) {
    if (v.isNone()) return otherwise;
    const int64_t at = v.toInt() < 0 ? std::max<int64_t>(v.toInt() + count, -1) : v.toInt();
    return step > 0 ? std::clamp<int64_t>(v.toInt() < 0 ? v.toInt() + count : at, 0, count) : std::min(at, count - 1);
  };
  const int64_t first = bound(start, step > 0 ? 0 : count - 1);
  const int64_t last = bound(end, step > 0 ? count : -1);
  if (step > 0) {
    for (int64_t i = first; i < last; i += std::min(step, count)) result.push_back(list.get(static_cast<size_t>(i)));
  } else {
    for (int64_t i = first; i > last; i += std::max(step, -count)) result.push_back(list.get(static_cast<size_t>(i)));
  }
  s.emplace_back(result);
}

bool less(const IValue& a, const IValue& b) {
  if (a.isString()) return a.toStringRef() < b.toStringRef();
  if (a.isBool()) return a.toBool() < b.toBool();
  return a.isInt() && b.isInt() ? a.toInt() < b.toInt() : a.toScalar().toDouble() < b.toScalar().toDouble();
}
List sorted_copy(const List& list, bool reverse) {
  std::vector<IValue> values = list.vec();
  // Not a number is less than nothing: such an order would not do for a sort.
  for (const IValue& v : values)
    TORCH_CHECK_VALUE(!v.isDouble() || v.toDouble() == v.toDouble(), "a list with nan cannot be sorted");
  std::stable_sort(values.begin(), values.end(),
                   [&](const IValue& a, const IValue& b) { return reverse ? less(b, a) : less(a, b); });
  const List result(list.elementType());
  for (IValue& v : values) result.push_back(v);
  return result;
}
void list_sort(Stack& s) {
  const bool reverse = pop(s).toBool();
  const List list = pop(s).toList();
  const List sorted = sorted_copy(list, reverse);
  for (size_t i = 0; i < list.size(); ++i) list.set(i, sorted.get(i));
}
void list_sorted(Stack& s) {
  s.back() = IValue(sorted_copy(s.back().toList(), false));
}
void list_extreme(Stack& s, bool largest, const char* name) {
  const IValue list = pop(s);
  const auto values = list.toListRef();
  TORCH_CHECK_VALUE(!values.empty(), name, "() arg is an empty sequence");
  s.push_back(largest ? *std::max_element(values.begin(), values.end(), less)
                      : *std::min_element(values.begin(), values.end(), less));
}
void list_min(Stack& s) {
  list_extreme(s, false, "min");
}
void list_max(Stack& s) {
  list_extreme(s, true, "max");
}
void sum_of_ints(Stack& s) {
  uint64_t sum = 0;
  for (const IValue& v : s.back().toListRef())
    sum += static_cast<uint64_t>(v.isBool() ? static_cast<int64_t>(v.toBool()) : v.toInt());
  s.back() = IValue(static_cast<int64_t>(sum));
}
void sum_of_floats(Stack& s) {
  double sum = 0;
  for (const IValue& v : s.back().toListRef()) sum += v.toDouble();
  s.back() = IValue(sum);
}
bool truth(const IValue& v) {
  return v.isBool() ? v.toBool() : v.isInt() ? v.toInt() != 0 : v.toDouble() != 0;
}
void list_any(Stack& s) {
  const IValue list = pop(s);
  const auto values = list.toListRef();
  s.emplace_back(std::any_of(values.begin(), values.end(), truth));
}
void list_all(Stack& s) {
  const IValue list = pop(s);
  const auto values = list.toListRef();
  s.emplace_back(std::all_of(values.begin(), values.end(), truth));
}

// --- dictionaries ---

void dict_len(Stack& s) {
  s.back() = IValue(static_cast<int64_t>(s.back().toGenericDict().size()));
}
IValue value_of(const Dict& dict, const IValue& key) {
  const auto found = dict.find(key);
  TORCH_CHECK(found != dict.end(), "KeyError: ", text_of(key));
  return found->value();
}
void dict_get_item(Stack& s) {
  const IValue key = pop(s);
  const Dict dict = pop(s).toGenericDict();
  s.push_back(value_of(dict, key));
}
void dict_set_item(Stack& s) {
  const IValue value = pop(s), key = pop(s);
  pop(s).toGenericDict().insert_or_assign(key, value);
}
void dict_delete(Stack& s) {
  const IValue key = pop(s);
  TORCH_CHECK(pop(s).toGenericDict().erase(key) == 1, "KeyError: ", text_of(key));
}
void dict_contains(Stack& s) {
  const IValue key = pop(s);
  s.back() = IValue(s.back().toGenericDict().contains(key));
}
void dict_get(Stack& s) {
  const IValue key = pop(s);
  const Dict dict = pop(s).toGenericDict();
  const auto found = dict.find(key);
  s.push_back(found == dict.end() ? IValue() : found->value());
}
void dict_get_or(Stack& s) {
  const IValue otherwise = pop(s);
  dict_get(s);
  if (s.back().isNone()) s.back() = otherwise;
}
void dict_set_default(Stack& s) {
  const IValue otherwise = pop(s), key = pop(s);
  const Dict dict = pop(s).toGenericDict();
  s.push_back(dict.insert(key, otherwise).first->value());
}
void dict_pop(Stack& s) {
  const IValue key = pop(s);
  const Dict dict = pop(s).toGenericDict();
  s.push_back(value_of(dict, key));
  dict.erase(key);
}
void dict_pop_or(Stack& s) {
  const IValue otherwise = pop(s), key = pop(s);
  const Dict dict = pop(s).toGenericDict();
  s.push_back(dict.contains(key) ? value_of(dict, key) : otherwise);
  dict.erase(key);
}
void dict_keys(Stack& s) {
  const Dict dict = pop(s).toGenericDict();
  const List keys(dict.keyType());
  for (const auto& entry : dict) keys.push_back(entry.key());
  s.emplace_back(keys);
}
void dict_values(Stack& s) {
  const Dict dict = pop(s).toGenericDict();
  const List values(dict.valueType());
  for (const auto& entry : dict) values.push_back(entry.value());
  s.emplace_back(values);
}
void dict_items(Stack& s) {
  const Dict dict = pop(s).toGenericDict();
  const List items(c10::TupleType::create({dict.keyType(), dict.valueType()}));
  for (const auto& entry : dict) items.push_back(c10::ivalue::Tuple::create({entry.key(), entry.value()}));
  s.emplace_back(items);
}
void dict_update(Stack& s) {
  const Dict other = pop(s).toGenericDict().copy();
  const Dict dict = pop(s).toGenericDict();
  for (const auto& entry : other) dict.insert_or_assign(entry.key(), entry.value());
}
void dict_copy(Stack& s) {
  s.back() = IValue(s.back().toGenericDict().copy());
}
void dict_clear(Stack& s) {
  pop(s).toGenericDict().clear();
}

}  // namespace

void add_container_operators(BuiltinOperators& all) {
  const BuiltinOperator operators[] = {
      {"aten::len.t(t[] a) -> int", list_len},
      {"aten::__getitem__.t(t[](a) list, int idx) -> t(*)", list_get},
      {"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", list_set},
      {"aten::Delete.t(t[](a!) self, int idx) -> ()", list_delete},
      {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", list_append},
      {"aten::extend.t(t[](a!) self, t[] other) -> ()", list_extend_without_result},
      {"aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", list_insert},
      {"aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", list_pop},
      {"aten::reverse.t(t[](a!) self) -> ()", list_reverse},
      {"aten::copy.t(t[](a) self) -> t[]", list_copy},
      {"aten::list.t(t[] l) -> t[]", list_copy},
      {"aten::clear.t(t[](a!) self) -> ()", list_clear},
      {"aten::add.t(t[] a, t[] b) -> t[]", list_add},
      {"aten::add_.t(t[](a!) self, t[] b) -> t[]", list_extend},
      {"aten::mul.left_t(t[] l, int n) -> t[]", list_repeat},
      {"aten::mul.right_(int n, t[] l) -> t[]", list_repeat},
      {"aten::__contains__.t(t[] l, t item) -> bool", list_contains},
      {"aten::index.t(t[] self, t el) -> int", list_index},
      {"aten::remove.t(t[](a!) self, t el) -> ()", list_remove},
      {"aten::count.t(t[] self, t el) -> int", list_count},
      {"aten::eq.t_list(t[] a, t[] b) -> bool", list_eq},
      {"aten::ne.t_list(t[] a, t[] b) -> bool", list_ne},
      {"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", list_slice},
      {"aten::sum.int(int[] self) -> int", sum_of_ints},
      {"aten::sum.bool(bool[] self) -> int", sum_of_ints},
      {"aten::sum.float(float[] self) -> float", sum_of_floats},
      {"aten::len.Dict(Dict(k, t) self) -> int", dict_len},
      {"aten::__getitem__.Dict(Dict(k, t) self, k key) -> t(*)", dict_get_item},
      {"aten::_set_item.Dict(Dict(k, t)(a!) l, k idx, t(b -> *) v) -> ()", dict_set_item},
      {"aten::Delete.Dict(Dict(k, t)(a!) self, k key) -> ()", dict_delete},
      {"aten::__contains__.Dict(Dict(k, t) dict, k key) -> bool", dict_contains},
      {"aten::get.Dict(Dict(k, t) self, k key) -> t(*)?", dict_get},
      {"aten::get.default(Dict(k, t) self, k key, t default_value) -> t(*)", dict_get_or},
      {"aten::setdefault.Dict(Dict(k, t)(a!) self, k key, t default_value) -> t(*)", dict_set_default},
      {"aten::pop.Dict(Dict(k, t)(a!) self, k key) -> t(*)", dict_pop},
      {"aten::pop.Dict_default(Dict(k, t)(a!) self, k key, t default_value) -> t(*)", dict_pop_or},
      {"aten::keys.Dict(Dict(k, t) self) -> k[]", dict_keys},
      {"aten::values.Dict(Dict(k, t) self) -> t[]", dict_values},
      {"aten::items.Dict(Dict(k, t) self) -> ((k, t)[])", dict_items},
      {"aten::update.Dict(Dict(k, t)(a!) self, Dict(k, t) to_add) -> ()", dict_update},
      {"aten::copy.Dict(Dict(k, t) self) -> Dict(k, t)", dict_copy},
      {"aten::clear.Dict(Dict(k, t)(a!) self) -> ()", dict_clear},
  };
  all.insert(all.end(), std::begin(operators), std::end(operators));
  for (const char* type : {"int", "float", "bool", "str"}) {
    all.push_back({c10::str("aten::sort.", type, "(", type, "[](a!) self, bool reverse=False) -> ()"), list_sort});
    all.push_back({c10::str("aten::sorted.", type, "(", type, "[](a) input) -> ", type, "[]"), list_sorted});
    if (std::string_view(type) == "str") continue;
    all.push_back({c10::str("prim::min.", type, "_list(", type, "[] self) -> ", type), list_min});
    all.push_back({c10::str("prim::max.", type, "_list(", type, "[] self) -> ", type), list_max});
    all.push_back({c10::str("aten::any.", type, "_list(", type, "[] self) -> bool"), list_any});
    all.push_back({c10::str("aten::all.", type, "_list(", type, "[] self) -> bool"), list_all});
  }
}

}  // namespace torch::jit::detail
