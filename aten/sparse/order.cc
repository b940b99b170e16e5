#include "aten/sparse/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::sparse {
namespace {

// The bits of numbers in [0, range).
int bits_of(int64_t range) {
  return range <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<uint64_t>(range - 1)));
}

// Sorts by the bits [low, high), equal ones as they stand.
void sort_by_bits(std::vector<uint64_t>& x, int low, int high) {
  constexpr int kBits = 11;
  std::vector<uint64_t> other(x.size());
  std::array<int64_t, (1 << kBits) + 1> next;
  for (int shift = low; shift < high; shift += kBits) {
    const uint64_t mask = (uint64_t{1} << std::min(kBits, high - shift)) - 1;
    next.fill(0);
    for (const uint64_t v : x) ++next[(v >> shift & mask) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const uint64_t v : x) other[next[v >> shift & mask]++] = v;
    x.swap(other);
  }
}

// Groups of numbers that are in order.
template <class Same>
void find_groups(Order& order, const Same& same) {
  const int64_t n = static_cast<int64_t>(order.numbers.size());
  order.starts.reserve(order.numbers.size() + 1);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || !same(i - 1, i)) order.starts.push_back(i);
  }
  order.starts.push_back(n);
}

}  // namespace

Order order_of(const int64_t* keys, int64_t n, int64_t range) {
  Order order;
  order.numbers.resize(static_cast<size_t>(n));
  std::iota(order.numbers.begin(), order.numbers.end(), int64_t{0});
  if (std::is_sorted(keys, keys + n)) {
    find_groups(order, [&](int64_t i, int64_t j) { return keys[i] == keys[j]; });
    return order;
  }
  order.as_they_stand = false;
  const int low = bits_of(n), high = low + bits_of(range);
  constexpr int64_t kFew = 512;  // for which a pass by bits would cost more
  if (n < kFew || high > 64) {
    std::sort(order.numbers.begin(), order.numbers.end(),
              [&](int64_t i, int64_t j) { return keys[i] != keys[j] ? keys[i] < keys[j] : i < j; });
    find_groups(order, [&](int64_t i, int64_t j) { return keys[order.numbers[i]] == keys[order.numbers[j]]; });
    return order;
  }
  // A key and a number are one word.
  std::vector<uint64_t> words(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) words[i] = static_cast<uint64_t>(keys[i]) << low | static_cast<uint64_t>(i);
  sort_by_bits(words, low, high);
  const uint64_t mask = (uint64_t{1} << low) - 1;
  for (int64_t i = 0; i < n; ++i) order.numbers[i] = static_cast<int64_t>(words[i] & mask);
  find_groups(order, [&](int64_t i, int64_t j) { return words[i] >> low == words[j] >> low; });
  return order;
}

namespace {

// A key for each column of some lists of indices, by the range of each row. -1 where keys would not fit, else how many
// there may be.
int64_t keys_of(const std::vector<Tensor>& lists, const std::vector<int64_t*>& keys) {
  int64_t range = 1;
  for (size_t l = 0; l < lists.size(); ++l) std::fill_n(keys[l], lists[l].size(1), int64_t{0});
  for (int64_t d = 0; d < lists[0].size(0); ++d) {
    int64_t least = INT64_MAX, most = INT64_MIN, extent = 0;
    for (const Tensor& list : lists) {
      const int64_t* row = list.const_data_ptr<int64_t>() + d * list.size(1);
      for (int64_t i = 0; i < list.size(1); ++i) {
        least = std::min(least, row[i]);
        most = std::max(most, row[i]);
      }
    }
    if (least > most) return range;  // no columns
    if (__builtin_sub_overflow(most, least, &extent) || __builtin_add_overflow(extent, 1, &extent) ||
        __builtin_mul_overflow(range, extent, &range)) {
      return -1;
    }
    for (size_t l = 0; l < lists.size(); ++l) {
      const int64_t n = lists[l].size(1);
      const int64_t* row = lists[l].const_data_ptr<int64_t>() + d * n;
      for (int64_t i = 0; i < n; ++i) keys[l][i] = keys[l][i] * extent + (row[i] - least);
    }
  }
  return range;
}

// By comparing the columns of contiguous indices.
Order order_by_rows(const Tensor& indices) {
  const int64_t rows = indices.size(0), n = indices.size(1);
  const int64_t* data = indices.const_data_ptr<int64_t>();
  Order order;
  order.as_they_stand = false;
  order.numbers.resize(static_cast<size_t>(n));
  std::iota(order.numbers.begin(), order.numbers.end(), int64_t{0});
  const auto compare = [&](int64_t i, int64_t j) {
    for (int64_t d = 0; d < rows; ++d) {
      const int64_t x = data[d * n + i], y = data[d * n + j];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  };
  std::sort(order.numbers.begin(), order.numbers.end(), [&](int64_t i, int64_t j) {
    const int side = compare(i, j);
    return side != 0 ? side < 0 : i < j;
  });
  find_groups(order, [&](int64_t i, int64_t j) { return compare(order.numbers[i], order.numbers[j]) == 0; });
  return order;
}

}  // namespace

std::pair<Tensor, Tensor> common_keys(const Tensor& a, const Tensor& b) {
  const int64_t na = a.size(1), nb = b.size(1);
  const Tensor of_a = empty_contiguous({na}, ScalarType::Long), of_b = empty_contiguous({nb}, ScalarType::Long);
  int64_t *x = of_a.mutable_data_ptr<int64_t>(), *y = of_b.mutable_data_ptr<int64_t>();
  if (keys_of({native::dense(a), native::dense(b)}, {x, y}) >= 0) return {of_a, of_b};
  const std::vector<Tensor> both{a, b};
  const Order order = order_by_rows(at::cat(both, 1));
  for (int64_t g = 0; g < order.groups(); ++g) {
    for (int64_t i = order.starts[g]; i < order.starts[g + 1]; ++i) {
      const int64_t number = order.numbers[i];
      (number < na ? x[number] : y[number - na]) = g;
    }
  }
  return {of_a, of_b};
}

Order order_of(const Tensor& indices) {
  const Tensor whole = native::dense(indices);
  const int64_t n = indices.size(1);
  std::vector<int64_t> keys(static_cast<size_t>(n));
  const int64_t range = keys_of({whole}, {keys.data()});
  return range >= 0 ? order_of(keys.data(), n, range) : order_by_rows(whole);
}

namespace {

// One row; where its results end. Nothing is guessed about which list comes next: a processor would be wrong half of
// the time.
int64_t merge_all(int64_t i, int64_t end_a, const int64_t* a, int64_t j, int64_t end_b, const int64_t* b, int64_t* of_a,
                  int64_t* of_b) {
  int64_t n = 0;
  while (i < end_a && j < end_b) {
    const int64_t x = a[i], y = b[j];
    const int64_t take_a = x <= y, take_b = y <= x;
    of_a[n] = i | (take_a - 1);
    of_b[n++] = j | (take_b - 1);
    i += take_a;
    j += take_b;
  }
  for (; i < end_a; ++i) of_a[n] = i, of_b[n++] = -1;
  for (; j < end_b; ++j) of_a[n] = -1, of_b[n++] = j;
  return n;
}
int64_t merge_common(int64_t i, int64_t end_a, const int64_t* a, int64_t j, int64_t end_b, const int64_t* b,
                     int64_t* of_a, int64_t* of_b) {
  int64_t n = 0;
  while (i < end_a && j < end_b) {
    const int64_t x = a[i], y = b[j];
    of_a[n] = i;
    of_b[n] = j;
    n += x == y;
    i += x <= y;
    j += y <= x;
  }
  return n;
}

}  // namespace

Merged merge_rows(int64_t rows, const int64_t* begin_a, const int64_t* places_a, const int64_t* begin_b,
                  const int64_t* places_b, bool common) {
  const int64_t na = begin_a[rows], nb = begin_b[rows];
  // One element more, which the search for common places may write to.
  const int64_t most = (common ? std::min(na, nb) : na + nb) + 1;
  Merged result{empty_contiguous({rows + 1}, ScalarType::Long), empty_contiguous({most}, ScalarType::Long),
                empty_contiguous({most}, ScalarType::Long)};
  int64_t* pointers = result.pointers.mutable_data_ptr<int64_t>();
  int64_t *of_a = result.of_a.mutable_data_ptr<int64_t>(), *of_b = result.of_b.mutable_data_ptr<int64_t>();
  const auto merge = [&](int64_t row, int64_t* to_a, int64_t* to_b) {
    const int64_t i = begin_a[row], end_a = begin_a[row + 1], j = begin_b[row], end_b = begin_b[row + 1];
    return common ? merge_common(i, end_a, places_a, j, end_b, places_b, to_a, to_b)
                  : merge_all(i, end_a, places_a, j, end_b, places_b, to_a, to_b);
  };
  constexpr int64_t kGrain = 16384;
  const int64_t threads = std::min<int64_t>(get_num_threads(), std::max<int64_t>(rows, 1));
  const int64_t parts = std::clamp<int64_t>((na + nb + rows) / kGrain, 1, threads);
  const auto first_row = [&](int64_t part) { return rows / parts * part + std::min(part, rows % parts); };
  std::vector<int64_t> counts(static_cast<size_t>(parts));
  pointers[0] = 0;
  if (parts == 1) {
    for (int64_t row = 0; row < rows; ++row) {
      pointers[row + 1] = pointers[row] + merge(row, of_a + pointers[row], of_b + pointers[row]);
    }
  } else {
    std::vector<Tensor> own_a(counts.size()), own_b(counts.size());
    at::parallel_for(0, parts, 1, [&](int64_t from, int64_t to) {
      for (int64_t part = from; part < to; ++part) {
        const int64_t first = first_row(part), end = first_row(part + 1);
        const int64_t size_a = begin_a[end] - begin_a[first], size_b = begin_b[end] - begin_b[first];
        const int64_t size = (common ? std::min(size_a, size_b) : size_a + size_b) + 1;
        own_a[part] = empty_contiguous({size}, ScalarType::Long);
        own_b[part] = empty_contiguous({size}, ScalarType::Long);
        int64_t *to_a = own_a[part].mutable_data_ptr<int64_t>(), *to_b = own_b[part].mutable_data_ptr<int64_t>();
        for (int64_t row = first; row < end; ++row) {
          const int64_t n = merge(row, to_a + counts[part], to_b + counts[part]);
          pointers[row + 1] = n;
          counts[part] += n;
        }
      }
    });
    std::partial_sum(pointers, pointers + rows + 1, pointers);
    at::parallel_for(0, parts, 1, [&](int64_t from, int64_t to) {
      for (int64_t part = from; part < to; ++part) {
        const int64_t at = pointers[first_row(part)];
        std::copy_n(own_a[part].const_data_ptr<int64_t>(), counts[part], of_a + at);
        std::copy_n(own_b[part].const_data_ptr<int64_t>(), counts[part], of_b + at);
      }
    });
  }
  result.of_a = at::narrow(result.of_a, 0, 0, pointers[rows]);
  result.of_b = at::narrow(result.of_b, 0, 0, pointers[rows]);
  return result;
}

}  // namespace at::sparse
