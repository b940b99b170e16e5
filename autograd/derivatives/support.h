#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "autograd/engine/generic_node.h"
#include "autograd/engine/record.h"
#include "c10/util/small_vector.h"

// What the generated wrappers use beside autograd/engine/record.h: keeping arguments that are no tensors until backward, and
// list arguments.
namespace torch::autograd::generated {

using namespace at;

// keep() makes an owning copy of an argument, shown() gives it back with the argument's type.
template <class T>
T keep(const T& value) {
  return value;
}
inline DimVector keep(IntArrayRef value) { return DimVector(value.begin(), value.end()); }
inline std::optional<DimVector> keep(OptionalIntArrayRef value) {
  return value.has_value() ? std::optional<DimVector>(DimVector(value->begin(), value->end())) : std::nullopt;
}
inline std::string keep(std::string_view value) { return std::string(value); }
inline std::optional<std::string> keep(std::optional<std::string_view> value) {
  return value.has_value() ? std::optional<std::string>(*value) : std::nullopt;
}
template <class T>
  requires(!std::is_same_v<T, int64_t>)
std::vector<T> keep(ArrayRef<T> value) {
  return std::vector<T>(value.begin(), value.end());
}
template <class T>
std::optional<std::vector<T>> keep(std::optional<ArrayRef<T>> value) {
  return value.has_value() ? std::optional<std::vector<T>>(std::vector<T>(value->begin(), value->end())) : std::nullopt;
}

template <class T>
using Kept = decltype(keep(std::declval<T>()));

template <class T>
const T& shown(const T& kept) {
  return kept;
}
inline IntArrayRef shown(const DimVector& kept) { return kept; }
inline OptionalIntArrayRef shown(const std::optional<DimVector>& kept) {
  return kept.has_value() ? OptionalIntArrayRef(IntArrayRef(*kept)) : OptionalIntArrayRef(std::nullopt);
}
inline std::string_view shown(const std::string& kept) { return kept; }
inline std::optional<std::string_view> shown(const std::optional<std::string>& kept) {
  return kept.has_value() ? std::optional<std::string_view>(*kept) : std::nullopt;
}
template <class T>
  requires(!std::is_same_v<T, DimVector>)
ArrayRef<T> shown(const std::vector<T>& kept) {
  return kept;
}
template <class T>
std::optional<ArrayRef<T>> shown(const std::optional<std::vector<T>>& kept) {
  return kept.has_value() ? std::optional<ArrayRef<T>>(*kept) : std::nullopt;
}

// A tensor argument that may be absent, as a tensor that may be undefined.
inline const Tensor& or_undefined(const Tensor& t) { return t; }
inline const Tensor& or_undefined(const std::optional<Tensor>& t) {
  static const Tensor undefined;
  return t.has_value() ? *t : undefined;
}
// A property of a tensor argument; a default where it is absent.
template <class F>
auto property(const Tensor& t, F f) -> decltype(f(t)) {
  return t.defined() ? f(t) : decltype(f(t)){};
}
// The sizes of each tensor of a list.
inline std::vector<DimVector> keep_sizes(TensorList tensors) {
  std::vector<DimVector> sizes;
  sizes.reserve(tensors.size());
  for (const Tensor& t : tensors) sizes.push_back(keep(t.sizes()));
  return sizes;
}
inline std::vector<ScalarType> keep_dtypes(TensorList tensors) {
  std::vector<ScalarType> dtypes;
  for (const Tensor& t : tensors) dtypes.push_back(t.scalar_type());
  return dtypes;
}
inline int64_t size_at(IntArrayRef sizes, int64_t dim) {
  return sizes[maybe_wrap_dim(dim, static_cast<int64_t>(sizes.size()))];
}

// Lists of optional tensors, which only the derivatives of indexing need to know: c10/value/list.h is long.
template <class T>
concept OptionalTensorList = std::is_same_v<T, c10::List<std::optional<Tensor>>>;

inline void set_edges(GenericNode& node, size_t first, TensorList tensors) {
  for (const Tensor& t : tensors) node.set_edge(first++, t);
}
inline void save_list(GenericNode& node, size_t first, TensorList tensors) {
  for (const Tensor& t : tensors) node.save(first++, t);
}
template <OptionalTensorList Tensors>
void save_list(GenericNode& node, size_t first, const Tensors& tensors) {
  for (const std::optional<Tensor>& t : tensors) node.save(first++, or_undefined(t));
}
inline bool needs_any(const GenericNode& node, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    if (node.needs(i)) return true;
  }
  return false;
}

// The number of tensors in an argument, and their edges, for operators without a derivative.
inline uint32_t count_of(const Tensor&) { return 1; }
inline uint32_t count_of(const std::optional<Tensor>&) { return 1; }
inline uint32_t count_of(TensorList tensors) { return static_cast<uint32_t>(tensors.size()); }
template <OptionalTensorList Tensors>
uint32_t count_of(const Tensors& tensors) {
  return static_cast<uint32_t>(tensors.size());
}
inline void add_edges(GenericNode& node, uint32_t& next, const Tensor& t) { node.set_edge(next++, t); }
inline void add_edges(GenericNode& node, uint32_t& next, const std::optional<Tensor>& t) {
  node.set_edge(next++, or_undefined(t));
}
inline void add_edges(GenericNode& node, uint32_t& next, TensorList tensors) {
  for (const Tensor& t : tensors) node.set_edge(next++, t);
}
template <OptionalTensorList Tensors>
void add_edges(GenericNode& node, uint32_t& next, const Tensors& tensors) {
  for (const std::optional<Tensor>& t : tensors) node.set_edge(next++, or_undefined(t));
}

// The node of an operator that has no derivative: backward through it throws by name. Null where nothing requires one.
template <class... Inputs>
GenericNode::Ptr not_implemented_node(const char* name, uint32_t results, const Inputs&... inputs) {
  if (!any_requires_grad(inputs...)) return {};
  GenericNode::Ptr node = make_not_implemented_node(name, (uint32_t{0} + ... + count_of(inputs)), results);
  uint32_t next = 0;
  (add_edges(*node, next, inputs), ...);
  return node;
}

// Throws where an argument that has no derivative would need one.
template <class Input>
void check_no_gradient(const char* op, const char* argument, const Input& input) {
  TORCH_CHECK_NOT_IMPLEMENTED(!any_requires_grad(input), "the derivative for '", argument, "' of ", op, " is not implemented");
}

}  // namespace torch::autograd::generated
