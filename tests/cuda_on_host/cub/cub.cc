// aten/cuda/cub.h on the host: the same results by the standard library, as work of the stream, and the rules of the
// two calls checked.
#include "aten/cuda/cub.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/cuda_on_host/runtime/standin.h"

namespace at::cuda::cub {
namespace {

// Of what is asked for, so that a caller who gives less is found.
size_t wanted_bytes(int64_t n) {
  return 64 + static_cast<size_t>(n) * 4;
}

bool readable(const void* data, size_t bytes) {
  return bytes == 0 || cuda_standin::device_accessible(data, bytes);
}

struct Array {
  const void* data;
  size_t bytes;
};

// One call of a function: the answer to the first of the two, or the work of the second.
template <class Work>
cudaError_t call(const char* name, void* scratch, size_t& scratch_bytes, int64_t n, std::initializer_list<Array> arrays,
                 cudaStream_t stream, Work work) {
  if (n < 0) return cudaErrorInvalidValue;
  const size_t wanted = wanted_bytes(n);
  if (scratch == nullptr) {
    scratch_bytes = wanted;
    return cudaSuccess;
  }
  if (scratch_bytes < wanted) return cudaErrorInvalidValue;
  const auto report = [name](const char* what) { cuda_standin::report_misuse(std::string(name) + ": " + what); };
  if (!readable(scratch, wanted)) report("the scratch memory is not the device's");
  for (const Array& a : arrays) {
    if (!readable(a.data, a.bytes)) report("an array is not in the device's memory");
    const auto *begin = static_cast<const char*>(a.data), *other = static_cast<const char*>(scratch);
    if (begin < other + wanted && other < begin + a.bytes) report("an array overlaps the scratch memory");
  }
  uint64_t bytes = 0;
  for (const Array& a : arrays) bytes += a.bytes;
  const auto run = [=] {
    std::memset(scratch, 0xFF, wanted);
    work();
  };
  return cuda_standin::enqueue(stream, name, run, bytes);
}

template <class Key, class Value>
void sort_run(const Key* keys, Key* sorted_keys, const Value* values, Value* sorted_values, int64_t n, int bits) {
  const Key mask = bits >= static_cast<int>(8 * sizeof(Key)) ? ~Key{0} : (Key{1} << bits) - 1;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const Key x = keys[a] & mask, y = keys[b] & mask;
    return x < y || (x == y && a < b);
  });
  for (int64_t i = 0; i < n; ++i) {
    sorted_keys[i] = keys[order[static_cast<size_t>(i)]];
    sorted_values[i] = values[order[static_cast<size_t>(i)]];
  }
}

template <class Key, class Value>
cudaError_t sort_all(void* scratch, size_t& scratch_bytes, const Key* keys, Key* sorted_keys, const Value* values,
                     Value* sorted_values, int64_t n, int bits, cudaStream_t stream) {
  if (bits < 0 || bits > static_cast<int>(8 * sizeof(Key))) return cudaErrorInvalidValue;
  const size_t key_bytes = static_cast<size_t>(n) * sizeof(Key), value_bytes = static_cast<size_t>(n) * sizeof(Value);
  return call("cub::sort_pairs", scratch, scratch_bytes, n,
              {{keys, key_bytes}, {sorted_keys, key_bytes}, {values, value_bytes}, {sorted_values, value_bytes}},
              stream, [=] { sort_run(keys, sorted_keys, values, sorted_values, n, bits); });
}

template <class T>
cudaError_t scan(void* scratch, size_t& scratch_bytes, const T* elements, int64_t* sums, int64_t n, bool inclusive,
                 cudaStream_t stream) {
  return call("cub::sum_scan", scratch, scratch_bytes, n,
              {{elements, static_cast<size_t>(n) * sizeof(T)}, {sums, static_cast<size_t>(n) * sizeof(int64_t)}},
              stream, [=] {
                uint64_t sum = 0;
                for (int64_t i = 0; i < n; ++i) {
                  const uint64_t before = sum;
                  sum += static_cast<uint64_t>(elements[i]);
                  sums[i] = static_cast<int64_t>(inclusive ? sum : before);
                }
              });
}

}  // namespace

#define AT_CUB_SORT_PAIRS(Key, Value)                                                                                  \
  cudaError_t sort_pairs(void* scratch, size_t& scratch_bytes, const Key* keys, Key* sorted_keys, const Value* values, \
                         Value* sorted_values, int64_t n, int bits, cudaStream_t stream) {                             \
    return sort_all(scratch, scratch_bytes, keys, sorted_keys, values, sorted_values, n, bits, stream);                \
  }
AT_CUB_SORT_PAIRS(uint32_t, int32_t)
AT_CUB_SORT_PAIRS(uint64_t, int32_t)
AT_CUB_SORT_PAIRS(uint32_t, int64_t)
AT_CUB_SORT_PAIRS(uint64_t, int64_t)

cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const uint8_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream) {
  return scan(scratch, scratch_bytes, elements, sums, n, inclusive, stream);
}
cudaError_t sum_scan(void* scratch, size_t& scratch_bytes, const int64_t* elements, int64_t* sums, int64_t n,
                     bool inclusive, cudaStream_t stream) {
  return scan(scratch, scratch_bytes, elements, sums, n, inclusive, stream);
}

cudaError_t select_flagged(void* scratch, size_t& scratch_bytes, const uint8_t* flags, int64_t* selected,
                           int64_t* count, int64_t n, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(n);
  // Of `selected` only as many are written as there are: the memory may be shorter than n, as in CUB.
  return call("cub::select_flagged", scratch, scratch_bytes, n, {{flags, bytes}, {count, sizeof(int64_t)}}, stream,
              [=] {
                int64_t found = 0;
                for (int64_t i = 0; i < n; ++i) {
                  if (flags[i] != 0) selected[found++] = i;
                }
                *count = found;
              });
}

}  // namespace at::cuda::cub
