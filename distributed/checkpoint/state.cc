#include "distributed/checkpoint/state.h"

#include <map>
#include <unordered_set>

#include "c10/util/exception.h"

namespace torch::distributed::checkpoint {
namespace {

using c10::IValue;
using GenericDict = c10::Dict<IValue, IValue>;

constexpr int kDeepest = 1000;

bool is_sequence(const IValue& value) {
  return value.isList() || value.isTuple();
}

std::vector<IValue> elements_of(const IValue& value) {
  return value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
}

// Whether a list or tuple is taken apart.
bool holds_tensors_or_dicts(const IValue& value, int depth) {
  TORCH_CHECK_VALUE(depth < kDeepest, "state_dict: more than ", kDeepest, " lists within one another");
  for (const IValue& element : elements_of(value)) {
    if (element.isTensor() || element.isGenericDict()) return true;
    if (is_sequence(element) && holds_tensors_or_dicts(element, depth + 1)) return true;
  }
  return false;
}

class Flattening {
 public:
  std::vector<Leaf> leaves;

  void add(const IValue& value, Path path, std::function<void(const IValue&)> replace) {
    TORCH_CHECK_VALUE(path.size() < kDeepest, "state_dict: more than ", kDeepest, " containers within one another");
    if (value.isGenericDict()) {
      const GenericDict dict = value.toGenericDict();
      if (!dict.empty()) return add_dict(dict, path);
    } else if (is_sequence(value) && holds_tensors_or_dicts(value, 0)) {
      return add_sequence(value, path);
    }
    std::string name;
    for (const PathItem& item : path) {
      if (!name.empty() || &item != path.data()) name += '.';
      if (const auto* text = std::get_if<std::string>(&item.key)) {
        name += *text;
      } else {
        name += std::to_string(std::get<int64_t>(item.key));
      }
    }
    TORCH_CHECK_VALUE(names_.insert(name).second, "state_dict: two values have the name '", name, "'");
    leaves.push_back({std::move(name), std::move(path), value, std::move(replace)});
  }

 private:
  void add_dict(const GenericDict& dict, const Path& path) {
    for (const auto& entry : dict) {
      const IValue key = entry.key();
      TORCH_CHECK_TYPE(key.isString() || key.isInt(), "state_dict: keys of dicts are texts or integers, but got ",
                       key.tag_name());
      Path below = path;
      below.push_back({key.isString() ? std::variant<std::string, int64_t>(key.toStringRef()) : key.toInt(), false});
      add(entry.value(), std::move(below), [dict, key](const IValue& value) { dict.insert_or_assign(key, value); });
    }
  }

  void add_sequence(const IValue& sequence, const Path& path) {
    const std::vector<IValue> elements = elements_of(sequence);
    for (size_t i = 0; i < elements.size(); ++i) {
      Path below = path;
      below.push_back({static_cast<int64_t>(i), true});
      add(elements[i], std::move(below), [sequence, i](const IValue& value) {
        if (sequence.isTuple()) return sequence.toTuple()->unsafeSetElement(i, value);
        sequence.toList().set(i, value);
      });
    }
  }

  std::unordered_set<std::string> names_;
};

// Containers that grow where values are put.
struct Node {
  IValue value;
  std::vector<std::pair<PathItem, std::unique_ptr<Node>>> parts;
  std::map<std::variant<std::string, int64_t>, Node*> by_key;

  Node& part(const PathItem& item, const std::string& name) {
    Node*& found = by_key[item.key];
    if (found == nullptr) {
      TORCH_CHECK_VALUE(parts.empty() || parts[0].first.is_element == item.is_element, "state_dict: '", name,
                        "' is in what is a dict and a list");
      parts.emplace_back(item, std::make_unique<Node>());
      found = parts.back().second.get();
    }
    return *found;
  }

  IValue build() const {
    if (parts.empty()) return value;
    int64_t next = 0;
    for (const auto& [key, node] : by_key) {
      const auto* number = std::get_if<int64_t>(&key);
      if (number != nullptr && *number == next) ++next;
    }
    // Numbers with gaps are keys: PyTorch does not say which they are.
    if (parts[0].first.is_element && next == static_cast<int64_t>(by_key.size())) {
      c10::List<IValue> list;
      for (const auto& [key, node] : by_key) list.push_back(node->build());
      return list;
    }
    GenericDict dict;
    for (const auto& [item, node] : parts) {
      const auto* text = std::get_if<std::string>(&item.key);
      dict.insert(text != nullptr ? IValue(*text) : IValue(std::get<int64_t>(item.key)), node->build());
    }
    return dict;
  }
};

}  // namespace

StateDict::Value::Value(const torch::nn::StateDict& state) {
  GenericDict dict;
  for (const auto& item : state) dict.insert(IValue(item.key()), IValue(item.value()));
  for (const auto& item : state.extra_state) dict.insert_or_assign(IValue(item.key()), item.value());
  value = dict;
}

StateDict::StateDict(std::initializer_list<Item> items) {
  for (const Item& item : items) {
    TORCH_CHECK_VALUE(!contains(item.first), "StateDict: two values have the name '", item.first, "'");
    set(item.first, item.second);
  }
}

StateDict StateDict::of(const IValue& dict) {
  StateDict state;
  for (const auto& entry : dict.toGenericDict()) {
    TORCH_CHECK_TYPE(entry.key().isString(), "StateDict: names are texts, but got ", entry.key().tag_name());
    state.set(entry.key().toStringRef(), entry.value());
  }
  return state;
}

const StateDict::Item* StateDict::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &items_[found->second];
}

void StateDict::set(const std::string& name, Value value) {
  const auto [place, is_new] = places_.emplace(name, items_.size());
  if (is_new) {
    items_.emplace_back(name, std::move(value));
  } else {
    items_[place->second].second = std::move(value);
  }
}

const IValue& StateDict::at(const std::string& name) const {
  const Item* item = find(name);
  TORCH_CHECK_VALUE(item != nullptr, "StateDict: there is no '", name, "'");
  return item->second.value;
}

std::vector<Leaf> flatten_state_dict(StateDict& state) {
  Flattening flattening;
  for (const auto& [name, value] : state.items()) {
    StateDict* const whole = &state;
    flattening.add(value.value, {{name, false}},
                   [whole, name = name](const IValue& replacement) { whole->set(name, replacement); });
  }
  return std::move(flattening.leaves);
}

IValue unflatten_state_dict(const std::vector<std::pair<std::string, IValue>>& values,
                            const std::map<std::string, Path>& paths) {
  Node root;
  for (const auto& [name, value] : values) {
    const auto found = paths.find(name);
    const Path path = found == paths.end() ? Path{{name, false}} : found->second;
    Node* node = &root;
    for (const PathItem& item : path) {
      TORCH_CHECK_VALUE(node->value.isNone(), "state_dict: '", name, "' is below another value");
      node = &node->part(item, name);
    }
    TORCH_CHECK_VALUE(node->value.isNone() && node->parts.empty(), "state_dict: two values stand where '", name,
                      "' does");
    node->value = value;
  }
  return root.parts.empty() ? IValue(GenericDict()) : root.build();
}

}  // namespace torch::distributed::checkpoint
