#pragma once

#include <initializer_list>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/operator.h"

// Operators that compute each element of a result from those of its place, on nested tensors: what all operators whose
// table entry says `element_wise` do, by functions that are generated from it.
namespace at::nested {

/// The tensors of such a call: nested ones whose parts have the same sizes, or are jagged in the same way, and dense
/// ones that are broadcast to them. Dense ones beside strided nested tensors are 0-dim, or have the parts as their
/// first dimension and as many dimensions; beside jagged tensors they may also lack the first dimensions, and have size
/// 1 in the ragged one. Undefined tensors are passed on.
class ElementWise {
 public:
  /// Throws c10::Error where they do not go together.
  ElementWise(const char* op, std::initializer_list<const Tensor*> tensors);

  /// The elements of all parts lie at the same places of the buffers.
  bool at_once() const { return at_once_; }
  int64_t parts() const { return parts_; }
  /// What stands for a tensor in the call of all elements (i < 0), or of those of part i.
  Tensor of(const Tensor& t, int64_t i) const;
  std::optional<Tensor> of(const std::optional<Tensor>& t, int64_t i) const {
    return t.has_value() ? std::optional<Tensor>(of(*t, i)) : t;
  }
  template <class T>
  const T& of(const T& other, int64_t) const {
    return other;
  }
  /// The parts of `self`, below autograd, and whether they are all of its buffer.
  Tensor own(Tensor& self, int64_t i) const;
  bool fills(const Tensor& self) const;

  /// The nested tensor of a call's results.
  Tensor made(const Tensor& elements) const;
  Tensor made(const std::vector<Tensor>& parts) const;
  template <class... T>
  std::tuple<T...> made(const std::tuple<T...>& elements) const {
    return std::apply([&](const T&... each) { return std::tuple<T...>(made(each)...); }, elements);
  }
  template <class... T>
  std::tuple<T...> made(const std::vector<std::tuple<T...>>& parts) const {
    return made_each<std::tuple<T...>>(parts, std::index_sequence_for<T...>());
  }

 private:
  struct Argument {
    const c10::TensorImpl* tensor;
    Tensor elements;            // of all parts, where they are computed at once
    std::vector<Tensor> parts;  // else
  };

  void take_jagged(const char* op, std::initializer_list<const Tensor*> tensors);
  void take_strided(const char* op, std::initializer_list<const Tensor*> tensors);
  const Argument& argument(const Tensor& t) const;
  template <class R, size_t... kPlace>
  R made_each(const std::vector<R>& parts, std::index_sequence<kPlace...>) const {
    const auto column = [&](auto place) {
      std::vector<Tensor> all;
      for (const R& part : parts) all.push_back(std::get<decltype(place)::value>(part));
      return made(all);
    };
    return R(column(std::integral_constant<size_t, kPlace>())...);
  }

  Tensor like_;  // the first nested one
  int64_t parts_ = 0;
  bool at_once_ = true;
  std::vector<Argument> arguments_;
};

/// Throws c10::Error for a dense tensor that is to be changed by nested ones.
void check_nested(const Tensor& self);

namespace detail {

inline const Tensor* tensor_in(const Tensor& t) {
  return &t;
}
inline const Tensor* tensor_in(const std::optional<Tensor>& t) {
  return t.has_value() ? &*t : nullptr;
}
template <class T>
const Tensor* tensor_in(const T&) {
  return nullptr;
}

}  // namespace detail

/// f(arguments) with the elements of all parts, or with those of each, in the place of the nested tensors.
template <class F, class... A>
auto each_element(const char* op, const F& f, const A&... arguments) {
  const ElementWise call(op, {detail::tensor_in(arguments)...});
  if (call.at_once()) return call.made(f(call.of(arguments, -1)...));
  std::vector<decltype(f(call.of(arguments, 0)...))> results;
  for (int64_t i = 0; i < call.parts(); ++i) results.push_back(f(call.of(arguments, i)...));
  return call.made(results);
}

/// The operator on nested tensors, above autograd.
template <class R, class... A>
R element_wise(const c10::Operator<R(A...)>& op, std::type_identity_t<A>... arguments) {
  return each_element(op.name, op, arguments...);
}

/// Its form in place, below autograd.
template <class... A>
Tensor& element_wise_in_place(const c10::Operator<Tensor&(Tensor&, A...)>& op, Tensor& self,
                              std::type_identity_t<A>... arguments) {
  check_nested(self);
  const ElementWise call(op.name, {&self, detail::tensor_in(arguments)...});
  const bool whole = call.at_once() && call.fills(self);
  for (int64_t i = whole ? -1 : 0; i < (whole ? 0 : call.parts()); ++i) {
    Tensor elements = call.own(self, i);
    op(elements, call.of(arguments, i)...);
  }
  return self;
}

}  // namespace at::nested
