// The tensors in the arguments and results of a C++ callable, whatever holds them: what the transforms of torch::func
// know of structures.
//
// A tensor is a structure of one. Tuples, pairs, arrays, vectors, optionals and maps of structures are structures; a
// class of one's own is one where it has a member `template <typename F> void for_each_tensor(const F& f)` that calls
// f(tensor) for each of its tensors, as modules ask for it (nn/module/module_call.h). Everything else (numbers, text)
// holds none.
//
//   std::tuple<at::Tensor, std::vector<at::Tensor>> value = ...;
//   for (at::Tensor* t : torch::func::tensors_in(value)) *t = at::neg(*t);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::func {

/// A value as a tree: leaves are tensors and what holds none, the rest are structures. It points into the value.
struct Structure {
  enum class Kind { kTensor, kOther, kNode };
  Kind kind = Kind::kNode;
  at::Tensor* tensor = nullptr;          // of kTensor
  const std::type_info* type = nullptr;  // of kOther: what it is
  std::vector<Structure> children;       // of kNode, in order; of a map those of its values

  /// Calls f(tensor) for each, in order.
  void for_each(const std::function<void(at::Tensor&)>& f) const;
};

namespace detail {

template <typename T>
Structure structure_of(T& value) {
  using Value = std::remove_cv_t<T>;
  Structure result;
  const auto add = [&](auto& child) { result.children.push_back(structure_of(child)); };
  if constexpr (std::is_convertible_v<T*, at::Tensor*>) {
    result.kind = Structure::Kind::kTensor;
    result.tensor = &value;
  } else if constexpr (requires { value.for_each_tensor([](at::Tensor&) {}); }) {
    value.for_each_tensor([&](at::Tensor& t) { add(t); });
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    if (value.has_value()) add(*value);
  } else if constexpr (requires { typename Value::mapped_type; }) {
    for (auto& entry : value) add(entry.second);
  } else if constexpr (requires {
                         value.begin()->value();
                         value.begin()->key();
                       }) {
    for (auto& entry : value) add(entry.value());
  } else if constexpr (
      requires {
        typename Value::value_type;
        value.begin();
        value.end();
      } &&
      !requires { value.c_str(); }) {
    if constexpr (std::is_lvalue_reference_v<decltype(*value.begin())>) {
      for (auto& element : value) add(element);
    }
  } else if constexpr (requires { std::tuple_size<Value>::value; }) {
    std::apply([&](auto&... element) { (add(element), ...); }, value);
  } else {
    result.kind = Structure::Kind::kOther;
    result.type = &typeid(Value);
  }
  return result;
}

}  // namespace detail

/// The tree of a value, which has to stay where it is as long as the tree is used.
template <typename T>
Structure structure_of(T& value) {
  return detail::structure_of(value);
}

/// The tensors of a value in order, defined or not.
template <typename T>
std::vector<at::Tensor*> tensors_in(T& value) {
  std::vector<at::Tensor*> tensors;
  detail::structure_of(value).for_each([&](at::Tensor& t) { tensors.push_back(&t); });
  return tensors;
}

/// Replaces every tensor of a value by f(tensor).
template <typename T, typename F>
void transform_tensors(T& value, const F& f) {
  for (at::Tensor* t : tensors_in(value)) *t = f(std::as_const(*t));
}

/// Dimensions for the tensors of a structure: a number, nullopt (no dimension), or a list with one entry for each part.
/// A number or nullopt in the place of a structure stands for all of its tensors.
///
///   Dims d = 0;                            // of every tensor
///   Dims e = {0, std::nullopt, {1, -1}};   // of three arguments, the last of which holds two tensors
class Dims {
 public:
  Dims(int64_t dim) : dim_(dim) {}
  Dims(int dim) : dim_(dim) {}
  Dims(std::nullopt_t) {}
  Dims(std::optional<int64_t> dim) : dim_(dim) {}
  Dims(std::initializer_list<Dims> parts) : parts_(parts), list_(true) {}
  Dims(std::vector<Dims> parts) : parts_(std::move(parts)), list_(true) {}

  bool is_list() const { return list_; }
  const std::optional<int64_t>& dim() const { return dim_; }
  const std::vector<Dims>& parts() const { return parts_; }
  /// As Python writes it: "(0, None, (1, -1))".
  std::string str() const;

 private:
  std::optional<int64_t> dim_;
  std::vector<Dims> parts_;
  bool list_ = false;
};

/// One entry a leaf of the structure, in order: tensors and what holds none. Throws ValueError that begins with `what`
/// where a list has another number of entries than the structure has parts.
std::vector<std::optional<int64_t>> dims_of_leaves(const Dims& dims, const Structure& structure, const char* what);

/// The leaves of a structure in order.
std::vector<const Structure*> leaves_of(const Structure& structure);

}  // namespace torch::func
