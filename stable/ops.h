#pragma once

// The operators that the stable interface has as functions; shapes, dtypes and errors are those of the operators of the same
// names (docs/operators.md). Each links that operator alone. Others are called by name:
//
//   std::array<StableIValue, 2> stack{torch::stable::detail::from(x), torch::stable::detail::from(std::vector<int64_t>{0})};
//   TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::flip", "", stack.data(), TORCH_ABI_VERSION));
//   auto y = torch::stable::detail::to<torch::stable::Tensor>(stack[0]);

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "aten/core/from_blob.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"
#include "stable/tensor.h"

namespace torch::stable {

using DeleterFnPtr = void (*)(void*);
using torch::headeronly::MemoryFormat;

namespace detail {

inline std::optional<c10::Device> device_of(const std::optional<Device>& device) {
  return device.has_value() ? std::optional<c10::Device>(*device) : std::nullopt;
}
inline at::TensorOptions options_of(std::optional<ScalarType> dtype, std::optional<Layout> layout,
                                    const std::optional<Device>& device, std::optional<bool> pin_memory) {
  return at::TensorOptions().dtype(dtype).layout(layout).device(device_of(device)).pinned_memory(pin_memory);
}

}  // namespace detail

// --- New tensors ---
inline Tensor empty(IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                    std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                    std::optional<bool> pin_memory = std::nullopt,
                    std::optional<MemoryFormat> memory_format = std::nullopt) {
  return Tensor(at::empty(size, detail::options_of(dtype, layout, device, pin_memory), memory_format));
}
inline Tensor full(IntHeaderOnlyArrayRef size, double fill_value, std::optional<ScalarType> dtype = std::nullopt,
                   std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                   std::optional<bool> pin_memory = std::nullopt) {
  return Tensor(at::full(size, fill_value, detail::options_of(dtype, layout, device, pin_memory)));
}
inline Tensor empty_like(const Tensor& self) { return Tensor(at::empty_like(detail::unwrap(self))); }
inline Tensor new_empty(const Tensor& self, IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
  return Tensor(at::new_empty(detail::unwrap(self), size, detail::options_of(dtype, layout, device, pin_memory)));
}
inline Tensor new_zeros(const Tensor& self, IntHeaderOnlyArrayRef size, std::optional<ScalarType> dtype = std::nullopt,
                        std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                        std::optional<bool> pin_memory = std::nullopt) {
  return Tensor(at::new_zeros(detail::unwrap(self), size, detail::options_of(dtype, layout, device, pin_memory)));
}
/// Over memory that stays the caller's; `deleter`, where there is one, is called with `data` after the last use.
inline Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides, Device device,
                        ScalarType dtype, const std::function<void(void*)>& deleter, int64_t storage_offset = 0,
                        Layout layout = Layout::Strided) {
  TORCH_CHECK(layout == Layout::Strided, "from_blob: expected the strided layout, but got ", layout);
  return Tensor(at::from_blob(data, sizes, strides, storage_offset, deleter,
                              at::TensorOptions(dtype).device(c10::Device(device)), c10::Device(device)));
}
inline Tensor from_blob(void* data, IntHeaderOnlyArrayRef sizes, IntHeaderOnlyArrayRef strides, Device device,
                        ScalarType dtype, int64_t storage_offset = 0, Layout layout = Layout::Strided) {
  return from_blob(data, sizes, strides, std::move(device), dtype, std::function<void(void*)>(), storage_offset, layout);
}

// --- Copies ---
inline Tensor clone(const Tensor& self) { return Tensor(at::clone(detail::unwrap(self))); }
inline Tensor contiguous(const Tensor& self, MemoryFormat memory_format = MemoryFormat::Contiguous) {
  return Tensor(at::contiguous(detail::unwrap(self), memory_format));
}
inline Tensor to(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt,
                 std::optional<Layout> layout = std::nullopt, std::optional<Device> device = std::nullopt,
                 std::optional<bool> pin_memory = std::nullopt, bool non_blocking = false, bool copy = false,
                 std::optional<MemoryFormat> memory_format = std::nullopt) {
  return Tensor(at::to(detail::unwrap(self), detail::options_of(dtype, layout, device, pin_memory), non_blocking, copy,
                       memory_format));
}
inline Tensor to(const Tensor& self, Device device, bool non_blocking = false, bool copy = false) {
  return Tensor(at::to(detail::unwrap(self), at::TensorOptions().device(c10::Device(device)), non_blocking, copy));
}
inline Tensor copy_(Tensor& self, const Tensor& src, std::optional<bool> non_blocking = false) {
  at::copy_(detail::unwrap(self), detail::unwrap(src), non_blocking.value_or(false));
  return self;
}
inline Tensor fill_(const Tensor& self, double value) {
  at::fill_(detail::unwrap(self), value);
  return self;
}
inline Tensor zero_(Tensor& self) {
  at::zero_(detail::unwrap(self));
  return self;
}
inline bool is_pinned(const Tensor& self) { return detail::unwrap(self).is_pinned(); }

// --- Views ---
inline Tensor view(const Tensor& self, IntHeaderOnlyArrayRef size) { return Tensor(at::view(detail::unwrap(self), size)); }
inline Tensor view(const Tensor& self, ScalarType dtype) { return Tensor(at::view(detail::unwrap(self), dtype)); }
inline Tensor reshape(const Tensor& self, IntHeaderOnlyArrayRef shape) {
  return Tensor(at::reshape(detail::unwrap(self), shape));
}
inline Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1) {
  return Tensor(at::flatten(detail::unwrap(self), start_dim, end_dim));
}
inline Tensor narrow(Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return Tensor(at::narrow(detail::unwrap(self), dim, start, length));
}
inline Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  return Tensor(at::select(detail::unwrap(self), dim, index));
}
inline Tensor permute(const Tensor& self, IntHeaderOnlyArrayRef dims) {
  return Tensor(at::permute(detail::unwrap(self), dims));
}
inline Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  return Tensor(at::transpose(detail::unwrap(self), dim0, dim1));
}
inline Tensor squeeze(const Tensor& self, int64_t dim) { return Tensor(at::squeeze(detail::unwrap(self), dim)); }
inline Tensor unsqueeze(const Tensor& self, int64_t dim) { return Tensor(at::unsqueeze(detail::unwrap(self), dim)); }

// --- Values ---
inline Tensor amax(const Tensor& self, IntHeaderOnlyArrayRef dims, bool keepdim = false) {
  return Tensor(at::amax(detail::unwrap(self), dims, keepdim));
}
inline Tensor amax(const Tensor& self, int64_t dim, bool keepdim = false) {
  return amax(self, IntHeaderOnlyArrayRef(dim), keepdim);
}
inline Tensor sum(const Tensor& self, std::optional<IntHeaderOnlyArrayRef> dim = std::nullopt, bool keepdim = false,
                  std::optional<ScalarType> dtype = std::nullopt) {
  return Tensor(at::sum(detail::unwrap(self), dim, keepdim, dtype));
}
inline Tensor& sum_out(Tensor& out, const Tensor& self, std::optional<IntHeaderOnlyArrayRef> dim = std::nullopt,
                       bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt) {
  at::sum_out(detail::unwrap(out), detail::unwrap(self), dim, keepdim, dtype);
  return out;
}
inline Tensor subtract(const Tensor& self, const Tensor& other, double alpha = 1.0) {
  return Tensor(at::subtract(detail::unwrap(self), detail::unwrap(other), alpha));
}
inline Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return Tensor(at::floor_divide(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor bitwise_and(const Tensor& self, const Tensor& other) {
  return Tensor(at::bitwise_and(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor bitwise_or(const Tensor& self, const Tensor& other) {
  return Tensor(at::bitwise_or(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor bitwise_left_shift(const Tensor& self, const Tensor& other) {
  return Tensor(at::bitwise_left_shift(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor bitwise_right_shift(const Tensor& self, const Tensor& other) {
  return Tensor(at::bitwise_right_shift(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor matmul(const Tensor& self, const Tensor& other) {
  return Tensor(at::matmul(detail::unwrap(self), detail::unwrap(other)));
}
inline Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  return Tensor(at::index_select(detail::unwrap(self), dim, detail::unwrap(index)));
}
inline Tensor pad(const Tensor& self, IntHeaderOnlyArrayRef pad, const std::string& mode = "constant",
                  double value = 0.0) {
  return Tensor(at::pad(detail::unwrap(self), pad, mode, value));
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& self, std::optional<bool> stable, int64_t dim = -1,
                                       bool descending = false) {
  auto [values, indices] = at::sort(detail::unwrap(self), stable, dim, descending);
  return {Tensor(std::move(values)), Tensor(std::move(indices))};
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1, bool descending = false) {
  return sort(self, std::optional<bool>(false), dim, descending);
}

// --- Threads ---
/// f(first, last) for parts of [begin, end) of at least `grain_size`, shared out over the threads.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  at::parallel_for(begin, end, grain_size, f);
}
inline uint32_t get_num_threads() { return static_cast<uint32_t>(at::get_num_threads()); }

}  // namespace torch::stable
