#include <algorithm>
#include <set>

#include "aten/codegen/emit.h"

// The operators once more in other namespaces, as programs for libtorch name them.
namespace kindling::codegen {
namespace {

// What a header says first: the families it needs.
std::string start(const char* about, const std::set<std::string>& families) {
  std::string out = print("// Generated from the operator tables by aten/codegen: $about$.\n#pragma once\n\n", {{"about", about}});
  for (const std::string& family : families) out += "#include \"aten/ops/" + family + "/ops.h\"\n";
  return out;
}

std::string names(const Signature& signature, bool outs_first) {
  std::vector<std::string> all;
  for (const bool outs : {true, false}) {
    for (const Param& param : signature.params) {
      if ((outs_first && param.is_out) == outs) all.push_back(param.name);
    }
  }
  return joined(all);
}

// The functional forms that have a function, with the family of each.
template <class F>
void for_each_function(const std::vector<Table>& tables, const F& each) {
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      for (const Variant* variant : op.variants()) {
        if (variant->function) each(table.family, op, *variant);
      }
    }
  }
}

}  // namespace

std::string emit_group(const std::vector<Table>& tables, const std::string& group) {
  const std::string prefix = group + "_";
  std::set<std::string> families;
  std::string functions;
  for_each_function(tables, [&](const std::string& family, const Operator& op, const Variant& variant) {
    const bool out = variant.form == Form::kOut;
    const std::string name = (out ? op.main.schema.name() + "_out" : variant.schema.name());
    if (name.rfind(prefix, 0) != 0) return;
    families.insert(family);
    functions += print("inline $result$ $name$($declaration$) { return at::$full$($arguments$); }\n",
                       {{"result", variant.signature.result},
                        {"name", name.substr(prefix.size())},
                        {"declaration", variant.signature.declaration(out)},
                        {"full", name},
                        {"arguments", names(variant.signature, out)}});
  });
  return start(("the functions of torch." + group).c_str(), families) +
         print("\nnamespace torch::$group$ {\nusing at::IntArrayRef;\nusing at::OptionalIntArrayRef;\nusing at::Scalar;\nusing at::ScalarType;\nusing at::Tensor;\nusing at::TensorOptions;\n\n$functions$\n}  // namespace torch::$group$\n",
               {{"group", group}, {"functions", functions}});
}

std::string emit_meta_functions(const std::vector<Table>& tables) {
  std::set<std::string> families;
  std::string functions;
  for_each_function(tables, [&](const std::string& family, const Operator& op, const Variant& variant) {
    if (variant.form != Form::kFunctional || !op.has_kernel()) return;
    const std::vector<Param>& params = variant.signature.params;
    const bool factory = std::any_of(params.begin(), params.end(), [](const Param& p) { return p.is_options; });
    const bool tensors = std::any_of(params.begin(), params.end(), [](const Param& p) { return p.carries_keys; });
    const bool writes = std::any_of(params.begin(), params.end(), [](const Param& p) { return p.type == "Tensor&"; });
    if (factory || !tensors || writes) return;
    families.insert(family);
    std::vector<std::string> arguments;
    for (const Param& param : params)
      arguments.push_back(param.carries_keys ? "detail::on_meta(" + param.name + ")" : param.name);
    functions += print("inline $result$ $name$($declaration$) { return at::$name$($arguments$); }\n",
                       {{"result", variant.signature.result},
                        {"name", variant.schema.name()},
                        {"declaration", variant.signature.declaration(false)},
                        {"arguments", joined(arguments)}});
  });
  return start("at::meta::f(x) is f of tensors that have x's shape and no data", families) +
         print("#include \"aten/extension/on_meta.h\"\n\nnamespace at::meta {\n\n$functions$\n}  // namespace at::meta\n",
               {{"functions", functions}});
}

}  // namespace kindling::codegen
