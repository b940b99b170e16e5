// What stands before and behind a sort of keys.
#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/sort/order.cuh"
#include "aten/cuda/sort/sort_call.h"

namespace at::cuda {
namespace {

c10::cuda::Launch shape_of(int64_t n) {
  return shape_for(static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX)), 1, c10::cuda::getCurrentCUDAStream());
}

KD_DEVICE int64_t quotient(int64_t n, int64_t by, const FastDivisor& divisor, bool wide) {
  return wide ? n / by : static_cast<int64_t>(divide(static_cast<uint32_t>(n), divisor));
}

// Where element `place` of a row lies.
KD_DEVICE const char* element_at(const Rows& rows, int64_t row, int64_t place) {
  const int64_t outer = quotient(row, rows.inner, rows.inner_divisor, rows.wide), k = row - outer * rows.inner;
  return rows.data + ((outer * rows.size + place) * rows.inner + k) * rows.item;
}

template <class Key, class Position>
__global__ void sort_keys(const __grid_constant__ Rows rows, bool descending, int row_bit, Key* keys,
                          Position* positions) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, n = rows.numel();
  const int bits = bits_of_image(rows.dtype);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t row = quotient(i, rows.size, rows.size_divisor, rows.wide);
    uint64_t key = load_image(element_at(rows, row, i - row * rows.size), rows.dtype);
    if (descending) key = ~key & mask;
    if (row_bit > 0) key |= static_cast<uint64_t>(row) << row_bit;
    keys[i] = static_cast<Key>(key);
    positions[i] = static_cast<Position>(i);
  }
}

template <class Position>
__global__ void row_keys(const __grid_constant__ Rows rows, const Position* positions, uint32_t* keys) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x, n = rows.numel();
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    keys[i] = static_cast<uint32_t>(quotient(positions[i], rows.size, rows.size_divisor, rows.wide));
  }
}

KD_DEVICE void copy_element(char* to, const char* from, int64_t item) {
  switch (item) {
    case 1:
      *to = *from;
      return;
    case 2:
      *reinterpret_cast<uint16_t*>(to) = *reinterpret_cast<const uint16_t*>(from);
      return;
    case 4:
      *reinterpret_cast<uint32_t*>(to) = *reinterpret_cast<const uint32_t*>(from);
      return;
    default:
      *reinterpret_cast<uint64_t*>(to) = *reinterpret_cast<const uint64_t*>(from);
      return;
  }
}

// Which element in order.
template <class Position>
KD_DEVICE int64_t picked(const PickCall& call, const Position* positions, int64_t row) {
  const int64_t n = call.rows.size;
  const auto image = [&](int64_t i) {
    return load_image(element_at(call.rows, row, positions[row * n + i] - row * n), call.rows.dtype);
  };
  if (call.pick == Pick::kMode) {
    int64_t best = 0, best_count = 0, run = 0;
    uint64_t before = 0;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t own = image(i);
      run = i > 0 && own == before && !is_nan_image(own, call.rows.dtype) ? run + 1 : 1;
      before = own;
      if (run > best_count) {
        best_count = run;
        best = i;
      }
    }
    return best;
  }
  int64_t low = -1, high = n;  // NaNs come last: image(low) is none, image(high) is one
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (is_nan_image(image(middle), call.rows.dtype))
      high = middle;
    else
      low = middle;
  }
  if (high < n && call.pick == Pick::kMedian) return high;
  return high == 0 ? 0 : (high - 1) / 2;
}

template <class Position>
__global__ void pick(const __grid_constant__ PickCall call) {
  const auto* const positions = static_cast<const Position*>(call.positions);
  const Rows& rows = call.rows;
  const int64_t step = int64_t{gridDim.x} * blockDim.x, n = rows.outer * call.count * rows.inner;
  // In the order of the result.
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const int64_t line = quotient(i, rows.inner, rows.inner_divisor, rows.wide), k = i - line * rows.inner;
    const int64_t outer = line / call.count, j = line - outer * call.count, row = outer * rows.inner + k;
    const int64_t at = call.pick == Pick::kRun ? call.first + j : picked(call, positions, row);
    const int64_t place = positions[row * rows.size + at] - row * rows.size;
    if (call.indices != nullptr) call.indices[i] = place;
    if (call.values != nullptr) copy_element(call.values + i * rows.item, element_at(rows, row, place), rows.item);
  }
}

// As numbers are: -0 is 0, NaN is not NaN. Parts of complex numbers are compared one by one.
KD_DEVICE bool same_numbers(const char* a, const char* b, ScalarType dtype) {
  if (isComplexType(dtype)) {
    const auto x = load_as<c10::complex<double>>(a, dtype), y = load_as<c10::complex<double>>(b, dtype);
    return x.real() == y.real() && x.imag() == y.imag();
  }
  const uint64_t image = load_image(a, dtype);
  return image == load_image(b, dtype) && !is_nan_image(image, dtype);
}

__global__ void differs(const char* data, ScalarType dtype, int64_t item, int64_t width, const int64_t* positions,
                        int64_t n, uint8_t* flags) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    bool same = i > 0;
    if (same) {
      const char* const a = data + (positions != nullptr ? positions[i - 1] : i - 1) * width * item;
      const char* const b = data + (positions != nullptr ? positions[i] : i) * width * item;
      for (int64_t k = 0; same && k < width; ++k) same = same_numbers(a + k * item, b + k * item, dtype);
    }
    flags[i] = !same;
  }
}

__global__ void invert(const int64_t* from, const int64_t* positions, int64_t n, int64_t* to) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    to[positions != nullptr ? positions[i] : i] = from[i] - 1;
  }
}

__global__ void lengths_of(const int64_t* starts, int64_t count, int64_t n, int64_t* lengths) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    lengths[i] = (i + 1 < count ? starts[i + 1] : n) - starts[i];
  }
}

}  // namespace

int key_bits(ScalarType dtype) {
  return bits_of_image(dtype);
}

void launch_sort_keys(const Rows& rows, bool descending, bool with_row, bool long_keys, void* keys, void* positions) {
  const c10::cuda::Launch shape = shape_of(rows.numel());
  const int row_bit = with_row ? bits_of_image(rows.dtype) : 0;
  const auto launch = [&]<class Key, class Position>(Key* to, Position* places) {
    c10::cuda::launch_or_throw("sort_keys", sort_keys<Key, Position>, shape, rows, descending, row_bit, to, places);
  };
  if (long_keys && rows.wide)
    launch(static_cast<uint64_t*>(keys), static_cast<int64_t*>(positions));
  else if (long_keys)
    launch(static_cast<uint64_t*>(keys), static_cast<int32_t*>(positions));
  else if (rows.wide)
    launch(static_cast<uint32_t*>(keys), static_cast<int64_t*>(positions));
  else
    launch(static_cast<uint32_t*>(keys), static_cast<int32_t*>(positions));
}

void launch_row_keys(const Rows& rows, const void* positions, uint32_t* keys) {
  const c10::cuda::Launch shape = shape_of(rows.numel());
  if (rows.wide)
    c10::cuda::launch_or_throw("row_keys", row_keys<int64_t>, shape, rows, static_cast<const int64_t*>(positions),
                               keys);
  else
    c10::cuda::launch_or_throw("row_keys", row_keys<int32_t>, shape, rows, static_cast<const int32_t*>(positions),
                               keys);
}

void launch_pick(const PickCall& call) {
  const c10::cuda::Launch shape = shape_of(call.rows.rows() * call.count);
  c10::cuda::launch_or_throw(call.name, call.rows.wide ? pick<int64_t> : pick<int32_t>, shape, call);
}

void launch_differs(const char* data, ScalarType dtype, int64_t item, int64_t width, const int64_t* positions,
                    int64_t n, uint8_t* flags) {
  c10::cuda::launch_or_throw("unique", differs, shape_of(n), data, dtype, item, width, positions, n, flags);
}
void launch_invert(const int64_t* from, const int64_t* positions, int64_t n, int64_t* to) {
  c10::cuda::launch_or_throw("unique", invert, shape_of(n), from, positions, n, to);
}
void launch_lengths(const int64_t* starts, int64_t count, int64_t n, int64_t* lengths) {
  c10::cuda::launch_or_throw("unique", lengths_of, shape_of(count), starts, count, n, lengths);
}

}  // namespace at::cuda
