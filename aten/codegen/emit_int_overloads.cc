#include <algorithm>
#include <string_view>

#include "aten/codegen/emit.h"

// Where one overload takes a bool and another a dimension in the same place, `x.var(1)` would make a bool of the 1
// without a word, or not compile. Such names get a form for exactly that call, which takes the dimension.
namespace kindling::codegen {
namespace {

// The forms of a name that a call without out= chooses from.
std::vector<const Variant*> overloads_of(const Table& table, std::string_view name) {
  std::vector<const Variant*> found;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      if (variant->form != Form::kOut && variant->schema.name() == name) found.push_back(variant);
    }
  }
  return found;
}

// Whether `self, x` is a whole call.
bool callable_with_two(const Variant& variant) {
  const std::vector<Param>& params = variant.signature.params;
  return params.size() >= 2 && params[0].name == "self" && params[0].carries_keys &&
         std::all_of(params.begin() + 2, params.end(), [](const Param& param) { return !param.default_value.empty(); });
}

bool takes_bool(const Variant& variant) {
  return callable_with_two(variant) && variant.signature.params[1].type == "bool";
}

bool takes_dimension(const Variant& variant) {
  if (!callable_with_two(variant) || variant.signature.params[1].name != "dim") return false;
  const c10::ArgumentShape type = variant.schema.arguments()[1].shape();
  return type.kind == c10::TypeKind::IntType && (!type.list || type.list_size == 1);
}

// Calls `each(overload that takes the dimension, whether as a list)` for every name that needs the forms.
template <class F>
void for_each_name(const Table& table, const F& each) {
  std::vector<std::string> seen;
  for (const Operator& op : table.operators) {
    const std::string& name = op.main.schema.name();
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    const std::vector<const Variant*> overloads = overloads_of(table, name);
    const auto dimension =
        std::find_if(overloads.begin(), overloads.end(), [](const Variant* v) { return takes_dimension(*v); });
    const bool confused =
        std::any_of(overloads.begin(), overloads.end(), [](const Variant* v) { return takes_bool(*v); });
    if (confused && dimension != overloads.end()) each(**dimension, (*dimension)->schema.arguments()[1].shape().list);
  }
}

std::string forms(const Variant& variant, bool list, const std::string& start, const std::string& self,
                  const std::string& end) {
  const std::string head = start + variant.signature.result + " " + variant.schema.name() + "(";
  const std::string call = "return " + variant.schema.name() + "(" + (end.empty() ? "self, " : "");
  std::string text;
  if (list) text += head + self + "int64_t dim)" + end + " { " + call + "IntArrayRef(dim)); }\n";
  return text + head + self + "int dim)" + end + " { " + call + "static_cast<int64_t>(dim)); }\n";
}

}  // namespace

std::string emit_int_functions(const Table& table) {
  std::string out;
  for_each_name(table, [&](const Variant& variant, bool list) {
    if (variant.function) out += forms(variant, list, "inline ", "const Tensor& self, ", "");
  });
  return out;
}

std::string emit_int_methods(const Table& table) {
  std::string out;
  for_each_name(table, [&](const Variant& variant, bool list) {
    if (variant.method) out += forms(variant, list, "", "", " const");
  });
  return out;
}

}  // namespace kindling::codegen
