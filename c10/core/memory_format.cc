#include "c10/core/memory_format.h"

#include "c10/util/exception.h"

namespace c10 {
namespace {

// Dimensions from the fastest varying to the slowest. With `batch`, the last one is the batch dimension 0.
template <typename Order>
DimVector strides_in_order(IntArrayRef sizes, const Order& order, size_t n) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t i = 0; i < n; ++i) {
    const auto d = static_cast<size_t>(order[i]);
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
  return strides;
}

// A tensor is in the order when each listed dimension's stride is at least the extent of the faster ones before it. The
// checks from the fastest to the slowest: the channel stride must exist, a repeated stride means a tie.
bool ordered(IntArrayRef sizes, IntArrayRef strides, const int* order, size_t n) {
  int64_t least = 0;
  if (strides[1] == 0) return false;  // an expanded channel says nothing
  for (size_t i = 0; i < n; ++i) {
    const auto d = static_cast<size_t>(order[i]);
    if (sizes[d] == 0) return false;
    if (strides[d] < least) return false;
    // N,1,H,W in contiguous order has equal strides of N and C; it counts as contiguous.
    if (d == 0 && least == strides[1]) return false;
    least = strides[d];
    if (sizes[d] > 1) least *= sizes[d];
  }
  return true;
}

constexpr int kOrder2d[] = {1, 3, 2, 0};
constexpr int kOrder3d[] = {1, 4, 3, 2, 0};

}  // namespace

DimVector contiguous_strides(IntArrayRef sizes) {
  DimVector strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    TORCH_CHECK(!__builtin_mul_overflow(step, sizes[d] > 1 ? sizes[d] : 1, &step), "the strides of a tensor of sizes ",
                sizes, " overflow int64");
  }
  return strides;
}

DimVector get_channels_last_strides_2d(IntArrayRef sizes) {
  if (sizes.size() == 3) {
    constexpr int kOrder[] = {0, 2, 1};
    return strides_in_order(sizes, kOrder, 3);
  }
  TORCH_CHECK(sizes.size() == 4, "required rank 4 tensor to use channels_last format, but got sizes ", sizes);
  return strides_in_order(sizes, kOrder2d, 4);
}

DimVector get_channels_last_strides_3d(IntArrayRef sizes) {
  if (sizes.size() == 4) {
    constexpr int kOrder[] = {0, 3, 2, 1};
    return strides_in_order(sizes, kOrder, 4);
  }
  TORCH_CHECK(sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format, but got sizes ", sizes);
  return strides_in_order(sizes, kOrder3d, 5);
}

DimVector strides_for_format(IntArrayRef sizes, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return contiguous_strides(sizes);
    case MemoryFormat::ChannelsLast:
      TORCH_CHECK(sizes.size() == 4, "required rank 4 tensor to use channels_last format");
      return get_channels_last_strides_2d(sizes);
    case MemoryFormat::ChannelsLast3d:
      TORCH_CHECK(sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format");
      return get_channels_last_strides_3d(sizes);
    default:
      TORCH_CHECK(false, "unsupported memory format ", format);
  }
}

bool is_channels_last_strides_2d(IntArrayRef sizes, IntArrayRef strides) {
  return sizes.size() == 4 && ordered(sizes, strides, kOrder2d, 4);
}

bool is_channels_last_strides_3d(IntArrayRef sizes, IntArrayRef strides) {
  return sizes.size() == 5 && ordered(sizes, strides, kOrder3d, 5);
}

}  // namespace c10
