// torch::testing::assert_close: tests that tensors agree within tolerances, with a message that says where they do not.
//
//   torch::testing::assert_close(actual, expected);
//   torch::testing::assert_close(actual, expected, {.rtol = 1e-3, .atol = 1e-5, .check_dtype = false});
//   torch::testing::assert_close({a, b}, {x, y});
//   torch::testing::assert_close(model->state_dict(), other->state_dict());
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/scalar.h"

namespace torch::testing {

struct AssertCloseOptions {
  /// |actual - expected| <= atol + rtol |expected|. Both are given or neither; those of the dtype are, as (rtol, atol),
  /// 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64,
  /// the same for complex numbers of these parts, and 0 for all others. Of two dtypes the larger ones count.
  std::optional<double> rtol = std::nullopt;
  std::optional<double> atol = std::nullopt;
  /// Whether two NaN are equal.
  bool equal_nan = false;
  /// What must be the same beside the sizes. What is not checked is converted: to the CPU, to the promoted dtype.
  bool check_device = true;
  bool check_dtype = true;
  bool check_layout = true;
  bool check_stride = false;
  /// Makes the message of the error from the usual one.
  std::function<std::string(const std::string&)> msg = nullptr;
};

/// Throws Error where `actual` and `expected` are not close: "Tensor-likes are not close!", with how many elements
/// differ, the greatest absolute and relative difference and where they are; or with the attribute that is not the
/// same. Of tensors without data (meta) only attributes are compared. Throws ValueError where one of rtol and atol is
/// given without the other, NotImplementedError for layouts other than strided.
void assert_close(const at::Tensor& actual, const at::Tensor& expected, const AssertCloseOptions& options = {});
/// Numbers of one kind (or of any, unless check_dtype).
void assert_close(const c10::Scalar& actual, const c10::Scalar& expected, const AssertCloseOptions& options = {});
/// Lists of one length; the message names the place: "The failure occurred for item [1]".
void assert_close(at::TensorList actual, at::TensorList expected, const AssertCloseOptions& options = {});

namespace detail {
using Items = std::vector<std::pair<std::string, at::Tensor>>;
void assert_close(const Items& actual, const Items& expected, const AssertCloseOptions& options);

template <class Dict>
Items items_of(const Dict& dict) {
  Items items;
  for (const auto& item : dict) {
    if constexpr (requires { item.first; }) {
      items.emplace_back(item.first, item.second);
    } else {
      items.emplace_back(item.key(), item.value());
    }
  }
  return items;
}
}  // namespace detail

/// Maps of tensors by text (std::map, OrderedDict and the like) with the same keys.
template <class Dict>
requires requires(const Dict& dict) {
  detail::items_of(dict);
  typename Dict::Item;
} || requires {
  typename Dict::mapped_type;
}
void assert_close(const Dict& actual, const Dict& expected, const AssertCloseOptions& options = {}) {
  detail::assert_close(detail::items_of(actual), detail::items_of(expected), options);
}

}  // namespace torch::testing
