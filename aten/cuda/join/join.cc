// cat, stack.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cuda/join/join_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/kernels.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

constexpr int64_t kMostChunks = (int64_t{1} << 31) - 1;

// What is joined by one launch.
struct Joined {
  const char* from;
  int64_t at, width;  // in bytes of a row
};

void launch(const char* name, const Tensor& out, int64_t outer, int64_t pitch, const std::vector<Joined>& parts) {
  for (size_t begin = 0; begin < parts.size(); begin += cuda::kMaxJoined) {
    const size_t end = std::min(parts.size(), begin + cuda::kMaxJoined);
    auto bits = reinterpret_cast<uintptr_t>(out.const_data_ptr()) | static_cast<uintptr_t>(pitch);
    for (size_t i = begin; i < end; ++i) {
      bits |= reinterpret_cast<uintptr_t>(parts[i].from) | static_cast<uintptr_t>(parts[i].at | parts[i].width);
    }
    cuda::JoinCall call{};
    call.name = name;
    call.to = static_cast<char*>(out.mutable_data_ptr());
    call.chunk = 16;
    while (bits % static_cast<uintptr_t>(call.chunk) != 0) call.chunk /= 2;
    call.pitch = pitch / call.chunk;
    call.outer = static_cast<uint32_t>(outer);
    for (size_t i = begin; i < end; ++i) {
      const auto width = static_cast<uint32_t>(parts[i].width / call.chunk);
      call.part[call.parts++] = {parts[i].from, parts[i].at / call.chunk, cuda::FastDivisor(width)};
      call.largest = std::max(call.largest, call.outer * width);
    }
    cuda::launch_join(call);
  }
}

// Tensors side by side along dim of `out`, each `size_of(tensor)` long there; `part_of` is the place of one.
template <class Size, class Part>
void join(const char* name, TensorList tensors, int64_t dim, const Tensor& out, const Size& size_of,
          const Part& part_of) {
  const auto item = static_cast<int64_t>(out.itemsize());
  const DimSplit whole = split_at_dim(out.sizes(), dim);
  std::vector<Joined> joined;
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    const int64_t size = size_of(t);
    if (size == 0 || t.numel() == 0) continue;
    const bool as_bytes = out.is_contiguous() && t.is_contiguous() && t.scalar_type() == out.scalar_type() &&
                          t.numel() * item <= kMostChunks;
    if (as_bytes) {
      joined.push_back(
          {static_cast<const char*>(t.const_data_ptr()), start * whole.inner * item, size * whole.inner * item});
    } else {
      Tensor part = part_of(start, size);
      at::copy_(part, t);
    }
    start += size;
  }
  launch(name, out, whole.outer, whole.size * whole.inner * item, joined);
}

}  // namespace

void cat_cuda(TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  dim = maybe_wrap_dim(dim, out.dim());
  join(
      "cat", tensors, dim, out, [&](const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0 ? 0 : t.sizes()[dim]; },
      [&](int64_t start, int64_t size) { return at::narrow(out, dim, start, size); });
}

void stack_cuda(TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  dim = maybe_wrap_dim(dim, out.dim());
  join(
      "stack", tensors, dim, out, [](const Tensor&) { return int64_t{1}; },
      [&](int64_t start, int64_t) { return at::select(out, dim, start); });
}

}  // namespace at::native
