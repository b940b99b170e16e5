#include "export/pt2/trees.h"

#include <string_view>
#include <utility>

namespace torch::pt2 {
namespace {

constexpr int kDeepest = 200;
constexpr std::string_view kReturnTypes = "torch.return_types.";

bool is_return_type(const std::string& name) {
  return name.compare(0, kReturnTypes.size(), kReturnTypes) == 0;
}

TreeSpec tree_of(const Document& doc, const json& j, const json* named, int depth) {
  if (depth > kDeepest) doc.fail("a tree of more than ", kDeepest, " levels");
  TreeSpec spec;
  const json& type = doc.at(j, "type");
  for (const json& child : doc.list(doc.at(j, "children_spec"), "children")) {
    spec.children.push_back(tree_of(doc, child, named, depth + 1));
  }
  if (type.is_null()) {
    if (!spec.children.empty()) doc.fail("a leaf with children");
    return spec;
  }
  const std::string name = doc.text(type, "a tree's type"), context = doc.text(doc.at(j, "context"), "a context");
  if (name == "builtins.tuple" || name == "torch.Size") {
    spec.kind = TreeSpec::Kind::kTuple;
    if (name != "builtins.tuple") spec.name = name;
  } else if (name == "builtins.list") {
    spec.kind = TreeSpec::Kind::kList;
  } else if (name == "builtins.dict" || name == "collections.OrderedDict") {
    spec.kind = TreeSpec::Kind::kDict;
    if (name != "builtins.dict") spec.name = name;
    const json keys = doc.parse(context);
    for (const json& key : doc.list(keys, "keys")) {
      if (key.is_string()) {
        spec.keys.emplace_back(key.get<std::string>());
      } else {
        spec.keys.emplace_back(doc.whole(key, "a key"));
      }
    }
    if (spec.keys.size() != spec.children.size())
      doc.fail("a dict of ", spec.keys.size(), " keys and another number of values");
  } else if (is_return_type(name)) {
    spec.kind = TreeSpec::Kind::kNamedTuple;
    spec.name = name;
  } else if (name == "collections.namedtuple") {
    spec.kind = TreeSpec::Kind::kNamedTuple;
    spec.name = context;
    const json* fields = named == nullptr ? nullptr : doc.find(*named, context.c_str());
    if (fields != nullptr) {
      for (const json& field : doc.list(doc.at(*fields, "field_names"), "names")) {
        spec.fields.push_back(doc.text(field, "a name"));
      }
    }
  } else {
    doc.fail("a tree of the unknown type '", name.substr(0, 100), "'");
  }
  return spec;
}

json json_of(const TreeSpec& spec, json& named, int depth) {
  TORCH_CHECK_VALUE(depth <= kDeepest, "a tree of more than ", kDeepest, " levels");
  json children = json::array();
  for (const TreeSpec& child : spec.children) children.push_back(json_of(child, named, depth + 1));
  std::string type, context = "null";
  const auto known = [&](const char* plain, const char* other) {
    TORCH_CHECK_VALUE(spec.name.empty() || spec.name == other, "a tree of the type '", spec.name,
                      "', which cannot be written");
    type = spec.name.empty() ? plain : spec.name;
  };
  switch (spec.kind) {
    case TreeSpec::Kind::kLeaf:
      TORCH_CHECK_VALUE(spec.children.empty(), "a leaf of a tree with ", spec.children.size(), " children");
      return {{"type", nullptr}, {"context", nullptr}, {"children_spec", std::move(children)}};
    case TreeSpec::Kind::kTuple:
      known("builtins.tuple", "torch.Size");
      break;
    case TreeSpec::Kind::kList:
      known("builtins.list", "builtins.list");
      break;
    case TreeSpec::Kind::kDict: {
      known("builtins.dict", "collections.OrderedDict");
      TORCH_CHECK_VALUE(spec.keys.size() == spec.children.size(), "a dict of ", spec.keys.size(), " keys and ",
                        spec.children.size(), " values in a tree");
      json keys = json::array();
      for (const c10::IValue& key : spec.keys) {
        TORCH_CHECK_VALUE(key.isString() || key.isInt(), "a key of type ", key.tagKind(),
                          " in a tree; texts and whole numbers can be written");
        keys.push_back(key.isString() ? json(key.toStringRef()) : json(key.toInt()));
      }
      context = keys.dump();
      break;
    }
    case TreeSpec::Kind::kNamedTuple:
      if (is_return_type(spec.name)) {
        type = spec.name;
        break;
      }
      type = "collections.namedtuple";
      context = spec.name;
      if (!spec.fields.empty()) {
        TORCH_CHECK_VALUE(spec.fields.size() == spec.children.size(), "a named tuple '", spec.name, "' of ",
                          spec.fields.size(), " fields and ", spec.children.size(), " values in a tree");
        named[spec.name] = {{"field_names", spec.fields}};
      }
      break;
  }
  return {{"type", type}, {"context", context}, {"children_spec", std::move(children)}};
}

}  // namespace

TreeSpec tree_of(const Document& doc, const std::string& text, const json* named) {
  const json j = doc.parse(text);
  if (!j.is_array() || j.size() != 2 || j[0] != 1) doc.fail("expected a tree of version 1");
  return tree_of(doc, j[1], named, 0);
}

std::string text_of(const TreeSpec& spec, json& named) {
  return json::array({1, json_of(spec, named, 0)}).dump();
}

}  // namespace torch::pt2
