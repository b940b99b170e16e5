// median, nanmedian, mode: a block for each row.
#include "aten/cuda/reduce/select.h"

#include "aten/cuda/launch_shape.h"
#include "aten/cuda/reduce/block.cuh"
#include "aten/cuda/reduce/load_elements.cuh"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kDigits = 256;

// Unsigned numbers in the order of the elements, equal where they are, with all bits set for NaN.
KD_DEVICE uint64_t order_of(int64_t v) {
  return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
}
KD_DEVICE uint64_t order_of(double v) {
  if (v != v) return ~uint64_t{0};
  uint64_t bits;
  const double positive_zero = v == 0 ? 0 : v;
  std::memcpy(&bits, &positive_zero, sizeof bits);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
KD_DEVICE uint32_t order_of(float v) {
  if (v != v) return ~uint32_t{0};
  uint32_t bits;
  const float positive_zero = v == 0 ? 0 : v;
  std::memcpy(&bits, &positive_zero, sizeof bits);
  return bits >> 31 ? ~bits : bits | uint32_t{1} << 31;
}

template <class T>
struct SelectedRow {
  const SelectCall& call;
  int64_t row;

  __device__ __forceinline__ int64_t place(int64_t k) const {
    return row / call.inner * call.size * call.inner + row % call.inner + k * call.inner;
  }
  __device__ __forceinline__ T load(int64_t k) const {
    T x[1] = {};
    visit_stored<T>(call.dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      x[0] = convert<T>(cuda::load<Stored>(call.in + place(k) * static_cast<int64_t>(sizeof(Stored))));
    });
    return x[0];
  }
  __device__ __forceinline__ void put(int64_t k) const {
    visit_stored<T>(call.dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      reinterpret_cast<Stored*>(call.values)[row] = reinterpret_cast<const Stored*>(call.in)[place(k)];
    });
    if (call.indices != nullptr) call.indices[row] = k;
  }
};

// Without initialisers, which shared memory does not take.
struct NanCount {
  int64_t count, first;
};

// What threads of a block tell each other.
struct Shared {
  int digits[kDigits];
  int counts[kWarps];
  NanCount nans[kWarps];
  int64_t rank;
  int digit;
};

// The digit of the element with the rank shared.rank, which becomes its rank among those of the digit. By the first
// warp.
__device__ __forceinline__ void choose_digit(Shared& shared, int lane) {
  constexpr int kEach = kDigits / 32;
  int own = 0;
  for (int i = 0; i < kEach; ++i) own += shared.digits[lane * kEach + i];
  int end = own;
  for (int delta = 1; delta < 32; delta *= 2) {
    const int other = __shfl_up_sync(kAllLanes, end, static_cast<unsigned>(delta));
    if (lane >= delta) end += other;
  }
  int64_t rank = shared.rank - (end - own);
  const bool here = rank >= 0 && rank < own;
  __syncwarp();
  if (!here) return;
  int digit = lane * kEach;
  while (rank >= shared.digits[digit]) rank -= shared.digits[digit++];
  shared.rank = rank;
  shared.digit = digit;
}

// The place of the shared.rank-th of the elements of order `wanted`.
template <class T, class Order>
__device__ __forceinline__ void put_nth(const SelectedRow<T>& row, Order wanted, Shared& shared) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  int64_t rank = shared.rank;
  for (int64_t first = 0; first < row.call.size; first += kThreads) {
    const int64_t k = first + thread;
    const bool same = k < row.call.size && order_of(row.load(k)) == wanted;
    const unsigned lanes = __ballot_sync(kAllLanes, same);
    if (lane == 0) shared.counts[warp] = __popc(lanes);
    __syncthreads();
    int before = __popc(lanes & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += shared.counts[w];
      all += shared.counts[w];
    }
    if (same && before == rank) row.put(k);
    __syncthreads();
    if (all > rank) return;
    rank -= all;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) median_rows(const __grid_constant__ SelectCall call) {
  using Order = decltype(order_of(T()));
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t r = blockIdx.x; r < call.rows; r += gridDim.x) {
    const SelectedRow<T> row{call, r};
    NanCount nans{0, INT64_MAX};
    for (int64_t k = thread; k < call.size; k += kThreads) {
      const T x = row.load(k);
      if (x == x) continue;
      ++nans.count;
      nans.first = nans.first < k ? nans.first : k;
    }
    join_block(nans, thread, kThreads, shared.nans, [](NanCount& into, const NanCount& from) {
      into.count += from.count;
      into.first = into.first < from.first ? into.first : from.first;
    });
    if (thread == 0) {
      const int64_t count = call.size - nans.count;
      const bool is_nan = nans.count > 0 && (!call.skip_nan || count == 0);
      shared.rank = is_nan ? -1 : (count - 1) / 2;
      if (is_nan) row.put(nans.first);
    }
    __syncthreads();
    const bool done = shared.rank < 0;
    Order known = 0, mask = 0;
    for (int shift = static_cast<int>(sizeof(Order)) * 8 - 8; !done && shift >= 0; shift -= 8) {
      shared.digits[thread] = 0;
      __syncthreads();
      for (int64_t k = thread; k < call.size; k += kThreads) {
        const Order order = order_of(row.load(k));
        if ((order & mask) == known) atomicAdd(&shared.digits[order >> shift & (kDigits - 1)], 1);
      }
      __syncthreads();
      if (thread < 32) choose_digit(shared, thread);
      __syncthreads();
      known |= static_cast<Order>(shared.digit) << shift;
      mask |= static_cast<Order>(kDigits - 1) << shift;
      __syncthreads();
    }
    if (!done) put_nth(row, known, shared);
    __syncthreads();
  }
}

struct Frequent {
  int64_t count;
  uint64_t order;
  int64_t place;
};

template <class T>
__global__ void __launch_bounds__(kThreads) mode_rows(const __grid_constant__ SelectCall call) {
  __shared__ Frequent scratch[kWarps];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t r = blockIdx.x; r < call.rows; r += gridDim.x) {
    const SelectedRow<T> row{call, r};
    // More often, then smaller, then the last of equal ones, of NaNs the first.
    const auto take = [](Frequent& into, const Frequent& from) {
      const bool is_nan = from.order == static_cast<decltype(order_of(T()))>(~uint64_t{0}) && !std::is_integral_v<T>;
      const bool better = from.count != into.count   ? from.count > into.count
                          : from.order != into.order ? from.order < into.order
                          : is_nan                   ? from.place < into.place
                                                     : from.place > into.place;
      if (better) into = from;
    };
    Frequent best{0, 0, 0};
    for (int64_t k = thread; k < call.size; k += kThreads) {
      const T x = row.load(k);
      Frequent own{0, 0, 0};
      own.order = order_of(x);
      own.place = k;
      for (int64_t j = 0; j < call.size; ++j) own.count += row.load(j) == x;
      if (own.count == 0) own.count = 1;
      take(best, own);
    }
    join_block(best, thread, kThreads, scratch, take);
    if (thread == 0) row.put(best.place);
    __syncthreads();
  }
}

template <class... Args>
void launch(const char* name, void (*of_float)(Args...), void (*of_double)(Args...), void (*of_integers)(Args...),
            const SelectCall& call) {
  const auto kernel = call.dtype == ScalarType::Double  ? of_double
                      : c10::isFloatingType(call.dtype) ? of_float
                                                        : of_integers;
  c10::cuda::launch_or_throw(name, kernel,
                             {.grid = static_cast<uint32_t>(std::min<int64_t>(call.rows, int64_t{1} << 30)),
                              .block = kThreads,
                              .stream = c10::cuda::getCurrentCUDAStream()},
                             call);
}

}  // namespace

void launch_median(const SelectCall& call) {
  launch("median", median_rows<float>, median_rows<double>, median_rows<int64_t>, call);
}
void launch_mode(const SelectCall& call) {
  launch("mode", mode_rows<float>, mode_rows<double>, mode_rows<int64_t>, call);
}

}  // namespace at::cuda
