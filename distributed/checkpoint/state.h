// What is saved and loaded.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/value/ivalue.h"
#include "distributed/checkpoint/metadata.h"
#include "nn/module/state_dict.h"

namespace torch::distributed::checkpoint {

/// An object that gives its state to save(), and takes it from load().
class Stateful {
 public:
  virtual ~Stateful() = default;
  /// A dict, or another value. load() asks for it, too: it writes into the tensors, and replaces what is no tensor.
  virtual c10::IValue state_dict() = 0;
  virtual void load_state_dict(const c10::IValue& state) = 0;
};

/// Names with tensors, DTensors, numbers, texts, lists, tuples and dicts of them, and Stateful objects. Tensors and
/// containers are shared, not copied.
///
///   StateDict state{{"model", net->state_dict()}, {"optimizer", optimizer.state_dict()}, {"step", 7}};
///   state.at("step").toInt();
class StateDict {
 public:
  class Value {
   public:
    template <class T>
    requires(std::is_convertible_v<T, c10::IValue> && !std::is_convertible_v<T, std::shared_ptr<Stateful>>)
        Value(const T& value)
        : value(value) {}
    /// A dict of the tensors, and of what stands in extra_state.
    Value(const torch::nn::StateDict& state);
    Value(const OrderedDict<std::string, at::Tensor>& tensors) : Value(torch::nn::StateDict(tensors)) {}
    template <class T>
    requires std::is_convertible_v<T*, Stateful*> Value(std::shared_ptr<T> object) : object(std::move(object)) {}

    c10::IValue value;  // None where there is an object
    std::shared_ptr<Stateful> object;
  };
  using Item = std::pair<std::string, Value>;

  StateDict() = default;
  /// Throws ValueError for a name that comes twice.
  StateDict(std::initializer_list<Item> items);
  /// The parts of a dict with texts as keys.
  static StateDict of(const c10::IValue& dict);

  /// Adds, or replaces.
  void set(const std::string& name, Value value);
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  /// Of a Stateful object None. Throws ValueError where there is no such name.
  const c10::IValue& at(const std::string& name) const;
  size_t size() const { return items_.size(); }
  const std::vector<Item>& items() const { return items_; }

 private:
  const Item* find(const std::string& name) const;
  std::vector<Item> items_;
  std::unordered_map<std::string, size_t> places_;
};

/// A value of a state dict that is saved as one: a tensor, or a value without tensors. Dicts are taken apart, and lists
/// and tuples that hold tensors or dicts.
struct Leaf {
  std::string name;  // the parts of the path with dots between them
  Path path;
  c10::IValue value;
  /// Puts another value in its place.
  std::function<void(const c10::IValue&)> replace;
};
/// In the order of the dict, `state` without objects. Throws ValueError where two have one name, TypeError for a dict
/// with other keys than texts and integers.
std::vector<Leaf> flatten_state_dict(StateDict& state);
/// Dicts, lists and tuples of flat values that stand at their paths (a name without a path stands by itself).
c10::IValue unflatten_state_dict(const std::vector<std::pair<std::string, c10::IValue>>& values,
                                 const std::map<std::string, Path>& paths);

}  // namespace torch::distributed::checkpoint
