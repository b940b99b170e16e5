#include <cstdint>
#include <type_traits>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/index/accumulate_call.h"

namespace at::cuda {
namespace {

template <class C>
KD_DEVICE C combine(Reduction reduction, C a, C b) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
      if constexpr (std::is_same_v<C, int64_t>)
        return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else
        return a + b;
    case Reduction::kProd:
      if constexpr (std::is_same_v<C, int64_t>)
        return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else
        return a * b;
    case Reduction::kMax:
      if constexpr (!kIsComplex<C>)
        return a != a || (b == b && a > b) ? a : b;
      else
        return b;
    case Reduction::kMin:
      if constexpr (!kIsComplex<C>)
        return a != a || (b == b && a < b) ? a : b;
      else
        return b;
    default:
      return b;
  }
}

// Integers are rounded down.
template <class C>
KD_DEVICE C mean_of(C sum, int64_t count) {
  if constexpr (std::is_same_v<C, int64_t>) {
    const C quotient = sum / count;
    return quotient * count > sum ? quotient - 1 : quotient;
  } else if constexpr (kIsComplex<C>) {
    using Part = decltype(sum.real());
    return C(sum.real() / static_cast<Part>(count), sum.imag() / static_cast<Part>(count));
  } else {
    return sum / static_cast<C>(count);
  }
}

template <class C>
struct Slices {
  const AccumulateCall& call;
  int64_t item;

  KD_DEVICE C from(int64_t outer, int64_t origin, int64_t k) const {
    const int64_t place = call.one_element ? 0 : (outer * call.n + origin) * call.inner + k;
    C value = load_as<C>(call.from + place * item, call.dtype);
    if (call.scales) value = combine(Reduction::kProd, *reinterpret_cast<const C*>(call.alpha), value);
    return value;
  }
  KD_DEVICE void finish(int64_t outer, int64_t key, int64_t k, C value, int64_t count) const {
    char* const to = call.to + ((outer * call.rows + key) * call.inner + k) * item;
    if (call.include_self && call.reduction != Reduction::kAssign) {
      value = combine(call.reduction, load_as<C>(to, call.dtype), value);
      ++count;
    }
    if (call.reduction == Reduction::kMean) value = mean_of(value, count);
    store_as(to, call.dtype, value);
  }
};

// One thread for an element of the places' slices.
template <class C, class Index>
__global__ void accumulate_short(const __grid_constant__ AccumulateCall call, int64_t item) {
  const Slices<C> slices{call, item};
  const auto* const keys = static_cast<const Index*>(call.keys);
  const auto* const origins = static_cast<const Index*>(call.origins);
  const uint32_t step = gridDim.x * blockDim.x, numel = call.count * call.inner_divisor.divisor;
  for (uint32_t t = blockIdx.x * blockDim.x + threadIdx.x; t < numel; t += step) {
    const uint32_t above = divide(t, call.inner_divisor), k = t - above * call.inner_divisor.divisor;
    const int64_t i = call.first + above;
    const Index key = keys[i];
    if ((i > 0 && keys[i - 1] == key) || key == call.skipped) continue;
    if (i + kShortSegment < call.n && keys[i + kShortSegment] == key) continue;
    int64_t end = i + 1;
    while (end < call.n && keys[end] == key) ++end;
    const int64_t begin = call.reduction == Reduction::kAssign ? end - 1 : i;
    for (int64_t outer = blockIdx.y; outer < call.outer; outer += gridDim.y) {
      C value = slices.from(outer, origins[begin], k);
      for (int64_t j = begin + 1; j < end; ++j)
        value = combine(call.reduction, value, slices.from(outer, origins[j], k));
      slices.finish(outer, key, k, value, end - i);
    }
  }
}

// A block for a place and up to 32 elements of its slices, `columns`, as rows of threads that take every so many-th
// slice each. A place of more than kShortSegment keys has one at a multiple of that.
template <class C, class Index>
__global__ void accumulate_long(const __grid_constant__ AccumulateCall call, int64_t item, int columns) {
  __shared__ __align__(16) char memory[kThreadsPerBlock * sizeof(C)];
  C* const partial = reinterpret_cast<C*>(memory);
  const Slices<C> slices{call, item};
  const auto* const keys = static_cast<const Index*>(call.keys);
  const auto* const origins = static_cast<const Index*>(call.origins);
  const int rows = static_cast<int>(blockDim.x) / columns, row = static_cast<int>(threadIdx.x) / columns;
  const int column = static_cast<int>(threadIdx.x) % columns;
  for (int64_t mark = int64_t{blockIdx.x} * kShortSegment; mark < call.n; mark += int64_t{gridDim.x} * kShortSegment) {
    const Index key = keys[mark];
    if ((mark >= kShortSegment && keys[mark - kShortSegment] == key) || key == call.skipped) continue;
    int64_t low = mark >= kShortSegment ? mark - kShortSegment : -1, head = mark;  // keys[low] < key == keys[head]
    while (head - low > 1) {
      const int64_t middle = (low + head) / 2;
      if (keys[middle] == key)
        head = middle;
      else
        low = middle;
    }
    int64_t last = mark, end = call.n;  // keys[last] == key, keys[end] > key
    while (end - last > 1) {
      const int64_t middle = (last + end) / 2;
      if (keys[middle] == key)
        last = middle;
      else
        end = middle;
    }
    if (end - head <= kShortSegment) continue;
    const int64_t tiles = (call.inner + columns - 1) / columns;
    for (int64_t tile = blockIdx.y; tile < tiles * call.outer; tile += gridDim.y) {
      const int64_t outer = tile / tiles, k = tile % tiles * columns + column;
      if (call.reduction == Reduction::kAssign) {
        if (row == 0 && k < call.inner) slices.finish(outer, key, k, slices.from(outer, origins[end - 1], k), 1);
        continue;
      }
      C value = C(0);
      if (k < call.inner) {
        value = slices.from(outer, origins[head + row], k);
        for (int64_t j = head + row + rows; j < end; j += rows)
          value = combine(call.reduction, value, slices.from(outer, origins[j], k));
      }
      partial[threadIdx.x] = value;
      __syncthreads();
      for (int half = rows / 2; half > 0; half /= 2) {
        if (row < half)
          partial[threadIdx.x] = combine(call.reduction, partial[threadIdx.x], partial[threadIdx.x + half * columns]);
        __syncthreads();
      }
      if (row == 0 && k < call.inner) slices.finish(outer, key, k, partial[threadIdx.x], end - head);
      __syncthreads();
    }
  }
}

template <class Index>
__global__ void count_up(Index* numbers, int64_t n) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) numbers[i] = static_cast<Index>(i);
}

template <class C>
void launch_short(const AccumulateCall& call) {
  const uint32_t numel = call.count * call.inner_divisor.divisor;
  c10::cuda::Launch shape = shape_for(numel, 1, c10::cuda::getCurrentCUDAStream());
  shape.grid.y = static_cast<unsigned>(std::min<int64_t>(call.outer, 65535));
  c10::cuda::launch_or_throw(call.name, call.wide ? accumulate_short<C, int64_t> : accumulate_short<C, int32_t>, shape,
                             call, static_cast<int64_t>(c10::elementSize(call.dtype)));
}

template <class C>
void launch_long(const AccumulateCall& call) {
  int columns = 1;
  while (columns < 32 && columns < call.inner) columns *= 2;
  const int64_t tiles = (call.inner + columns - 1) / columns * call.outer;
  const c10::cuda::Launch shape{
      .grid = dim3(static_cast<unsigned>(std::min<int64_t>((call.n - 1) / kShortSegment + 1, kMostBlocks)),
                   static_cast<unsigned>(std::min<int64_t>(tiles, 1024))),
      .block = kThreadsPerBlock,
      .stream = c10::cuda::getCurrentCUDAStream()};
  c10::cuda::launch_or_throw(call.name, call.wide ? accumulate_long<C, int64_t> : accumulate_long<C, int32_t>, shape,
                             call, static_cast<int64_t>(c10::elementSize(call.dtype)), columns);
}

}  // namespace

#define AT_BY_COMPUTE(function)                    \
  switch (compute) {                               \
    case ScalarType::Float:                        \
      return function<float>(call);                \
    case ScalarType::Double:                       \
      return function<double>(call);               \
    case ScalarType::ComplexFloat:                 \
      return function<c10::complex<float>>(call);  \
    case ScalarType::ComplexDouble:                \
      return function<c10::complex<double>>(call); \
    default:                                       \
      return function<int64_t>(call);              \
  }

void launch_accumulate(const AccumulateCall& call, ScalarType compute) {
  AT_BY_COMPUTE(launch_short)
}
void launch_accumulate_long(const AccumulateCall& call, ScalarType compute) {
  AT_BY_COMPUTE(launch_long)
}

void launch_count_up(void* numbers, bool wide, int64_t n) {
  const auto turns = static_cast<uint32_t>(std::min<int64_t>(n, INT32_MAX));
  const c10::cuda::Launch shape = shape_for(turns, 1, c10::cuda::getCurrentCUDAStream());
  if (wide)
    c10::cuda::launch_or_throw("count_up", count_up<int64_t>, shape, static_cast<int64_t*>(numbers), n);
  else
    c10::cuda::launch_or_throw("count_up", count_up<int32_t>, shape, static_cast<int32_t*>(numbers), n);
}

}  // namespace at::cuda
