#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "c10/value/ivalue_class.h"
#include "data/example.h"
#include "data/transforms/base.h"
#include "data/transforms/transforms.h"

// Batches of nested examples: what Python calls torch.utils.data.default_collate and default_convert.

namespace torch::data {

namespace detail {

at::Tensor stacked(const std::vector<at::Tensor>& tensors);
/// One dimension; `data` is `size` numbers of the dtype.
at::Tensor tensor_of(const void* data, size_t size, c10::ScalarType dtype);
[[noreturn]] void throw_unequal_sizes();
[[noreturn]] void throw_missing_key(const std::string& key);
c10::IValue collate_values(const std::vector<c10::IValue>& batch);
c10::IValue convert_value(const c10::IValue& value);

// How a batch of T becomes one value.
template <typename T>
struct DefaultCollate {
  static_assert(std::is_arithmetic_v<T>,
                "default_collate: no rule for this type; use transforms::Collate with a function of your own");
  using Result = at::Tensor;
  static Result apply(std::vector<T> batch) {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> numbers(batch.begin(), batch.end());
    return tensor_of(numbers.data(), numbers.size(), c10::CppTypeToScalarType<T>::value);
  }
};
template <>
struct DefaultCollate<at::Tensor> {
  using Result = at::Tensor;
  static Result apply(std::vector<at::Tensor> batch) { return stacked(batch); }
};
template <>
struct DefaultCollate<std::string> {
  using Result = std::vector<std::string>;
  static Result apply(std::vector<std::string> batch) { return batch; }
};
template <>
struct DefaultCollate<c10::IValue> {
  using Result = c10::IValue;
  static Result apply(std::vector<c10::IValue> batch) { return collate_values(batch); }
};

// A field of each element.
template <typename Field, typename T, typename Get>
auto collate_field(std::vector<T>& batch, const Get& get) {
  std::vector<Field> fields;
  fields.reserve(batch.size());
  for (T& each : batch) fields.push_back(std::move(get(each)));
  return DefaultCollate<Field>::apply(std::move(fields));
}

template <typename D, typename T>
struct DefaultCollate<Example<D, T>> {
  using Result = Example<typename DefaultCollate<D>::Result, typename DefaultCollate<T>::Result>;
  static Result apply(std::vector<Example<D, T>> batch) {
    return {collate_field<D>(batch, [](auto& e) -> D& { return e.data; }),
            collate_field<T>(batch, [](auto& e) -> T& { return e.target; })};
  }
};
template <typename D>
struct DefaultCollate<Example<D, example::NoTarget>> {
  using Result = Example<typename DefaultCollate<D>::Result, example::NoTarget>;
  static Result apply(std::vector<Example<D, example::NoTarget>> batch) {
    return collate_field<D>(batch, [](auto& e) -> D& { return e.data; });
  }
};
template <typename A, typename B>
struct DefaultCollate<std::pair<A, B>> {
  using Result = std::pair<typename DefaultCollate<A>::Result, typename DefaultCollate<B>::Result>;
  static Result apply(std::vector<std::pair<A, B>> batch) {
    return {collate_field<A>(batch, [](auto& e) -> A& { return e.first; }),
            collate_field<B>(batch, [](auto& e) -> B& { return e.second; })};
  }
};
template <typename... Ts>
struct DefaultCollate<std::tuple<Ts...>> {
  using Result = std::tuple<typename DefaultCollate<Ts>::Result...>;
  static Result apply(std::vector<std::tuple<Ts...>> batch) { return fields(batch, std::index_sequence_for<Ts...>()); }

 private:
  template <size_t... I>
  static Result fields(std::vector<std::tuple<Ts...>>& batch, std::index_sequence<I...>) {
    return Result{collate_field<Ts>(batch, [](auto& e) -> Ts& { return std::get<I>(e); })...};
  }
};
template <typename T>
struct DefaultCollate<std::vector<T>> {
  using Result = std::vector<typename DefaultCollate<T>::Result>;
  static Result apply(std::vector<std::vector<T>> batch) {
    Result result;
    for (const std::vector<T>& each : batch)
      if (each.size() != batch[0].size()) throw_unequal_sizes();
    for (size_t i = 0; !batch.empty() && i < batch[0].size(); ++i)
      result.push_back(collate_field<T>(batch, [i](auto& e) -> decltype(auto) { return e[i]; }));
    return result;
  }
};
template <typename T>
struct DefaultCollate<std::map<std::string, T>> {
  using Result = std::map<std::string, typename DefaultCollate<T>::Result>;
  static Result apply(std::vector<std::map<std::string, T>> batch) {
    Result result;
    if (batch.empty()) return result;
    for (const auto& first : std::map<std::string, T>(batch[0])) {
      const std::string& key = first.first;
      for (const auto& each : batch)
        if (each.count(key) == 0) throw_missing_key(key);
      result.emplace(key, collate_field<T>(batch, [&](auto& e) -> T& { return e.at(key); }));
    }
    return result;
  }
};

}  // namespace detail

/// One value from a batch of equal kind: tensors are stacked, numbers become a tensor of their type, texts a list; of
/// tuples, pairs, lists, examples and maps with text keys each place is collated by itself.
///
///   default_collate(std::vector{std::pair(x0, 3), std::pair(x1, 5)})   // a tensor [2, ...] and an int tensor {3, 5}
///
/// c10::IValue is collated by what it holds: ints as int64, floats as float64; TypeError for kinds that have no rule.
/// Throws c10::Error for tensors and lists of different sizes, IndexError for a key that only the first map has.
template <typename T>
typename detail::DefaultCollate<T>::Result default_collate(std::vector<T> batch) {
  return detail::DefaultCollate<T>::apply(std::move(batch));
}

/// Numbers in lists as tensors, and the rest as it is, at any depth: for examples that are not batched.
inline c10::IValue default_convert(const c10::IValue& value) { return detail::convert_value(value); }
template <typename T>
  requires(std::is_arithmetic_v<T>)
at::Tensor default_convert(const std::vector<T>& numbers) {
  return detail::DefaultCollate<T>::apply(numbers);
}

namespace transforms {

/// default_collate as a transform.
///
///   dataset.map(transforms::DefaultCollate<Example<at::Tensor, int64_t>>())   // batches are Example<> of tensors
template <typename T = Example<>>
struct DefaultCollate : public Collation<typename data::detail::DefaultCollate<T>::Result, std::vector<T>> {
  typename data::detail::DefaultCollate<T>::Result apply_batch(std::vector<T> batch) override {
    return default_collate(std::move(batch));
  }
};

/// The example itself in place of a batch of one: what batch_size=None is in Python. ValueError for larger batches.
template <typename T = Example<>>
struct Unbatched : public Collation<T> {
  T apply_batch(std::vector<T> batch) override {
    TORCH_CHECK_VALUE(batch.size() == 1, "Unbatched: expected a batch of one example, but got ", batch.size());
    return std::move(batch[0]);
  }
};

}  // namespace transforms

}  // namespace torch::data
