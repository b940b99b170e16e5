#include "export/tree_spec.h"

#include <utility>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"

namespace torch {
namespace {

using c10::IValue;
using Kind = TreeSpec::Kind;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kTuple:
      return "a tuple";
    case Kind::kList:
      return "a list";
    case Kind::kDict:
      return "a dict";
    case Kind::kNamedTuple:
      return "a named tuple";
    default:
      return "a value";
  }
}

void flatten_into(const TreeSpec& spec, const IValue& value, const std::string& place, std::vector<IValue>& out) {
  if (spec.kind == Kind::kLeaf) {
    out.push_back(value);
    return;
  }
  const auto expected = [&](bool good, size_t count) {
    TORCH_CHECK_VALUE(good, place, ": expected ", kind_name(spec.kind), " of ", spec.children.size(), ", but got ",
                      count == 0 ? value.tagKind() : std::to_string(count) + " values");
  };
  if (spec.kind == Kind::kDict) {
    expected(value.isGenericDict(), 0);
    const c10::impl::GenericDict dict = value.toGenericDict();
    expected(dict.size() == spec.children.size(), dict.size());
    for (size_t i = 0; i < spec.children.size(); ++i) {
      const auto found = dict.find(spec.keys[i]);
      TORCH_CHECK_VALUE(
          found != dict.end(), place, ": expected a value for the key ",
          spec.keys[i].isString() ? spec.keys[i].toStringRef() : std::string("number ") + std::to_string(i));
      flatten_into(spec.children[i], (*found).value(), place + "[" + std::to_string(i) + "]", out);
    }
    return;
  }
  const bool is_list = spec.kind == Kind::kList;
  expected(is_list ? value.isList() : value.isTuple(), 0);
  const c10::ArrayRef<IValue> parts = is_list ? value.toListRef() : value.toTupleRef().elementsArrayRef();
  expected(parts.size() == spec.children.size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    flatten_into(spec.children[i], parts[i], place + "[" + std::to_string(i) + "]", out);
  }
}

IValue unflatten_from(const TreeSpec& spec, const IValue*& next) {
  if (spec.kind == Kind::kLeaf) return *next++;
  std::vector<IValue> parts;
  for (const TreeSpec& child : spec.children) parts.push_back(unflatten_from(child, next));
  switch (spec.kind) {
    case Kind::kDict: {
      const c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
      for (size_t i = 0; i < parts.size(); ++i) dict.insert_or_assign(spec.keys[i], parts[i]);
      return dict;
    }
    case Kind::kList: {
      const c10::impl::GenericList list(c10::AnyType::get());
      for (IValue& part : parts) list.push_back(std::move(part));
      return list;
    }
    default:
      return c10::ivalue::Tuple::create(std::move(parts));
  }
}

}  // namespace

size_t TreeSpec::leaves() const {
  if (kind == Kind::kLeaf) return 1;
  size_t count = 0;
  for (const TreeSpec& child : children) count += child.leaves();
  return count;
}
std::vector<IValue> TreeSpec::flatten(const IValue& value, std::string_view what) const {
  std::vector<IValue> out;
  flatten_into(*this, value, std::string(what), out);
  return out;
}
IValue TreeSpec::unflatten(c10::ArrayRef<IValue> values) const {
  TORCH_CHECK_VALUE(values.size() == leaves(), "expected ", leaves(), " values, but got ", values.size());
  const IValue* next = values.data();
  return unflatten_from(*this, next);
}

}  // namespace torch
