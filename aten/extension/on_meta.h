// Arguments of operators as tensors of the meta device: their sizes, strides and dtypes without data.
#pragma once

#include <optional>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "c10/value/list.h"

namespace at::meta::detail {

inline Tensor on_meta(const Tensor& t) {
  return t.defined() ? at::to(t, Device(DeviceType::Meta), t.scalar_type()) : t;
}
inline std::optional<Tensor> on_meta(const std::optional<Tensor>& t) {
  return t.has_value() ? std::optional<Tensor>(on_meta(*t)) : t;
}
inline std::vector<Tensor> on_meta(TensorList tensors) {
  std::vector<Tensor> all;
  for (const Tensor& t : tensors) all.push_back(on_meta(t));
  return all;
}
inline c10::List<std::optional<Tensor>> on_meta(const c10::List<std::optional<Tensor>>& tensors) {
  c10::List<std::optional<Tensor>> all;
  for (size_t i = 0; i < tensors.size(); ++i) all.push_back(on_meta(tensors.get(i)));
  return all;
}

}  // namespace at::meta::detail
