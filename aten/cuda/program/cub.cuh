// Sorting and running sums of arrays in device memory, by libtorch's names, on the current stream of the current
// device. Elements are of the dtypes that tensors have; they are the operators' sorts and sums.
#pragma once

#include <cstdint>
#include <limits>

#include "aten/core/from_blob.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "c10/cuda/device.h"

namespace at::cuda::cub {

namespace detail {

template <class T>
Tensor array_of(const T* elements, int64_t n) {
  const Device device(kCUDA, c10::cuda::current_device());
  return at::from_blob(const_cast<T*>(elements), {n},
                       TensorOptions().dtype(c10::CppTypeToScalarType<T>::value).device(device));
}

inline void check_count(int64_t n) {
  TORCH_CHECK(n >= 0 && n <= std::numeric_limits<int>::max(),
              "cub sort does not support sorting more than INT_MAX elements, but got ", n);
}

}  // namespace detail

/// Pairs by their keys, those of equal keys in the order given. Keys are compared whole, whatever the bits are that are
/// named. Throws c10::Error for more than INT_MAX pairs.
template <typename key_t, typename value_t>
void radix_sort_pairs(const key_t* keys_in, key_t* keys_out, const value_t* values_in, value_t* values_out, int64_t n,
                      bool descending = false, int64_t /*begin_bit*/ = 0, int64_t /*end_bit*/ = sizeof(key_t) * 8) {
  detail::check_count(n);
  const auto [keys, order] = at::sort(detail::array_of(keys_in, n), /*stable=*/true, 0, descending);
  const Tensor values = at::index_select(detail::array_of(values_in, n), 0, order);
  Tensor values_to = detail::array_of(values_out, n);
  at::copy_(values_to, values);
  if (keys_out == nullptr) return;
  Tensor keys_to = detail::array_of(keys_out, n);
  at::copy_(keys_to, keys);
}

template <typename key_t>
void radix_sort_keys(const key_t* keys_in, key_t* keys_out, int64_t n, bool descending = false,
                     int64_t /*begin_bit*/ = 0, int64_t /*end_bit*/ = sizeof(key_t) * 8) {
  detail::check_count(n);
  Tensor to = detail::array_of(keys_out, n);
  at::copy_(to, std::get<0>(at::sort(detail::array_of(keys_in, n), /*stable=*/true, 0, descending)));
}

/// output[i] = the sum of the elements up to i, in output_t.
template <typename input_t, typename output_t>
void inclusive_sum_truncating(const input_t* input, output_t* output, int64_t n) {
  Tensor to = detail::array_of(output, n);
  at::copy_(to, at::cumsum(detail::array_of(input, n), 0, to.scalar_type()));
}

/// output[i] = the sum of the elements before i, in output_t.
template <typename input_t, typename output_t>
void exclusive_sum_in_common_type(const input_t* input, output_t* output, int64_t n) {
  Tensor to = detail::array_of(output, n);
  const Tensor elements = at::to(detail::array_of(input, n), to.scalar_type());
  at::copy_(to, at::sub(at::cumsum(elements, 0), elements));
}

/// output[i] = how many of mask[0 .. i) are not 0.
inline void mask_exclusive_sum(const uint8_t* mask, int64_t* output, int64_t n) {
  Tensor to = detail::array_of(output, n);
  const Tensor counts = at::to(at::ne(detail::array_of(mask, n), 0), kLong);
  at::copy_(to, at::sub(at::cumsum(counts, 0), counts));
}

}  // namespace at::cuda::cub
