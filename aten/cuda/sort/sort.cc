// sort, topk, kthvalue, median, mode, unique, searchsorted, isin, bincount, histc, repeat_interleave.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/index/accumulate.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/select/select.h"
#include "aten/cuda/sort/sort_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/kernels.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/cuda/capture_mode.h"

namespace at::native {
namespace {

using cuda::Pick;
using cuda::Rows;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

const char* bytes_at(const Tensor& t) {
  return static_cast<const char*>(t.const_data_ptr());
}
const int64_t* longs_at(const Tensor& t) {
  return static_cast<const int64_t*>(t.const_data_ptr());
}
int64_t* longs_in(const Tensor& t) {
  return static_cast<int64_t*>(t.mutable_data_ptr());
}
Tensor longs(IntArrayRef sizes, const Tensor& like) {
  return empty_contiguous(sizes, ScalarType::Long, like.device());
}

// A dense tensor along a dimension.
Rows rows_of(const Tensor& x, int64_t dim) {
  const DimSplit split = split_at_dim(x.sizes(), dim);
  Rows rows{};
  rows.data = bytes_at(x);
  rows.dtype = x.scalar_type();
  rows.item = static_cast<int64_t>(x.itemsize());
  rows.outer = split.outer;
  rows.size = split.size;
  rows.inner = split.inner;
  rows.wide = x.numel() >= int64_t{1} << 31;
  if (!rows.wide) {
    rows.size_divisor = cuda::FastDivisor(static_cast<uint32_t>(split.size));
    rows.inner_divisor = cuda::FastDivisor(static_cast<uint32_t>(split.inner));
  }
  return rows;
}

template <class Key, class Position>
void sort_pairs(const Tensor& keys, const Tensor& positions, const Tensor& sorted_keys, const Tensor& sorted,
                int bits) {
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sort_pairs(scratch, bytes, static_cast<const Key*>(keys.const_data_ptr()),
                                 static_cast<Key*>(sorted_keys.mutable_data_ptr()),
                                 static_cast<const Position*>(positions.const_data_ptr()),
                                 static_cast<Position*>(sorted.mutable_data_ptr()), keys.numel(), bits, stream);
  });
}

// Positions by the order of their elements within each row, stable; int32 or int64 as rows.wide says. Of all elements,
// or of `length` a row at `places`. All rows are sorted as one, with the row's number above the element's image: in a
// second pass where both together are longer than a key.
Tensor sorted_positions(const Rows& rows, const Tensor& like, bool descending, const Tensor& places, int64_t length) {
  const int64_t n = rows.rows() * length;
  const int bits = cuda::key_bits(rows.dtype);
  const int row_bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(rows.rows() - 1)));
  const bool together = bits + row_bits <= 64, long_keys = bits == 64 || (together && bits + row_bits > 32);
  const ScalarType key_type = long_keys ? ScalarType::Long : ScalarType::Int;
  const ScalarType position_type = rows.wide ? ScalarType::Long : ScalarType::Int;
  const auto fresh = [&](ScalarType dtype) { return empty_contiguous({n}, dtype, like.device()); };
  const Tensor keys = fresh(key_type), sorted_keys = fresh(key_type);
  const Tensor positions = fresh(position_type), sorted = fresh(position_type);
  cuda::launch_sort_keys(rows, places.defined() ? places.const_data_ptr() : nullptr, length, descending,
                         together && row_bits > 0, long_keys, keys.mutable_data_ptr(), positions.mutable_data_ptr());
  const auto sort = [&](bool of_longs, const Tensor& by, const Tensor& from, const Tensor& to_keys, const Tensor& to,
                        int used) {
    if (of_longs && rows.wide) {
      sort_pairs<uint64_t, int64_t>(by, from, to_keys, to, used);
    } else if (of_longs) {
      sort_pairs<uint64_t, int32_t>(by, from, to_keys, to, used);
    } else if (rows.wide) {
      sort_pairs<uint32_t, int64_t>(by, from, to_keys, to, used);
    } else {
      sort_pairs<uint32_t, int32_t>(by, from, to_keys, to, used);
    }
  };
  sort(long_keys, keys, positions, sorted_keys, sorted, together ? bits + row_bits : bits);
  if (together) return sorted;
  TORCH_CHECK(row_bits <= 32, "sort: CUDA tensors of more than 2^32 rows of 64-bit numbers are not supported");
  const Tensor by_row = fresh(ScalarType::Int), by_row_sorted = fresh(ScalarType::Int);
  cuda::launch_row_keys(rows, sorted.const_data_ptr(), n, static_cast<uint32_t*>(by_row.mutable_data_ptr()));
  sort(false, by_row, sorted, by_row_sorted, positions, row_bits);
  return positions;
}
Tensor sorted_positions(const Rows& rows, const Tensor& like) {
  return sorted_positions(rows, like, false, Tensor(), rows.size);
}

// Whether the first k elements of rows are found by a block for each row: not worth it in short rows, or in few long
// ones.
bool finds_first(const Rows& rows, int64_t k) {
  constexpr int64_t kShort = 1024, kLong = 1 << 17, kManyRows = 64;
  return rows.size > kShort && rows.size < int64_t{1} << 31 && k <= rows.size / 4 &&
         (rows.size < kLong || rows.rows() >= kManyRows);
}

Tensor first_places(const Rows& rows, const Tensor& like, int64_t k, bool descending, bool only_last) {
  const Tensor places = empty_contiguous({rows.rows() * (only_last ? 1 : k)},
                                         rows.wide ? ScalarType::Long : ScalarType::Int, like.device());
  cuda::launch_select_first(rows, k, descending, only_last, places.mutable_data_ptr());
  return places;
}

// What `which` says of each row along dim, or `count` elements in order from `first` on.
void pick(const char* name, const Tensor& self, int64_t dim, bool descending, Pick which, int64_t first, int64_t count,
          const Tensor& values, const Tensor& indices) {
  if (values.numel() == 0) return;
  const Tensor x = dense(self);
  const Rows rows = rows_of(x, maybe_wrap_dim(dim, self.dim()));
  int64_t length = rows.size;
  Tensor places;
  if (which == Pick::kRun && finds_first(rows, first + count)) {
    // The sort of one element a row makes its place a position.
    const bool only_last = first > 0 && count == 1;
    places = first_places(rows, x, first + count, descending, only_last);
    length = only_last ? 1 : first + count;
    if (only_last) first = 0;
  }
  const Tensor positions = sorted_positions(rows, x, descending, places, length);
  cuda::DenseInPlace to_values(values, false);
  cuda::PickCall call{};
  call.name = name;
  call.rows = rows;
  call.positions = positions.const_data_ptr();
  call.length = length;
  call.pick = which;
  call.first = first;
  call.count = count;
  if (!rows.wide) call.count_divisor = cuda::FastDivisor(static_cast<uint32_t>(count));
  call.values = static_cast<char*>(to_values.tensor().mutable_data_ptr());
  if (!indices.defined()) {
    cuda::launch_pick(call);
  } else {
    cuda::DenseInPlace to_indices(indices, false);
    call.indices = longs_in(to_indices.tensor());
    cuda::launch_pick(call);
    to_indices.commit();
  }
  to_values.commit();
}

int64_t size_at(const Tensor& t, int64_t dim) {
  return t.dim() == 0 ? 1 : t.size(dim);
}

// --- unique ---

// Of slices of `width` elements of a dense tensor, of which equal ones are neighbours in the order of `positions`
// (int64; undefined: their own order).
struct Groups {
  Tensor firsts;  // of each group, its first place in the order
  Tensor inverse, counts;
};
Groups group(const Tensor& x, int64_t n, int64_t width, const Tensor& positions, IntArrayRef inverse_sizes,
             bool inverse, bool counts) {
  Groups g{longs({0}, x), longs(inverse && n == 0 ? inverse_sizes : IntArrayRef({0}), x), longs({0}, x)};
  if (n == 0) return g;
  const Tensor flags = empty_contiguous({n}, ScalarType::Byte, x.device());
  const int64_t* const order = positions.defined() ? longs_at(positions) : nullptr;
  cuda::launch_differs(bytes_at(x), x.scalar_type(), static_cast<int64_t>(x.itemsize()), width, order, n,
                       static_cast<uint8_t*>(flags.mutable_data_ptr()));
  g.firsts = cuda::positions_of(flags);
  if (inverse) {
    const Tensor numbers = longs({n}, x);
    cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
      return cuda::cub::sum_scan(scratch, bytes, static_cast<const uint8_t*>(flags.const_data_ptr()), longs_in(numbers),
                                 n, true, stream);
    });
    g.inverse = longs(inverse_sizes, x);
    cuda::launch_invert(longs_at(numbers), order, n, longs_in(g.inverse));
  }
  if (counts) {
    g.counts = longs({g.firsts.numel()}, x);
    cuda::launch_lengths(longs_at(g.firsts), g.firsts.numel(), n, longs_in(g.counts));
  }
  return g;
}

Tensor long_positions(const Rows& rows, const Tensor& x) {
  const Tensor positions = sorted_positions(rows, x);
  return positions.scalar_type() == ScalarType::Long ? positions : at::to(positions, ScalarType::Long);
}

Triple unique_elements(const Tensor& self, bool sorted, bool inverse, bool counts) {
  const Tensor x = dense(self);
  const Tensor flat = at::view(x, {x.numel()});
  Tensor positions;
  if (sorted && x.numel() > 0) positions = long_positions(rows_of(flat, 0), x);
  const Groups g = group(x, x.numel(), 1, positions, self.sizes(), inverse, counts);
  const Tensor places = positions.defined() ? at::index_select(positions, 0, g.firsts) : g.firsts;
  return {at::index_select(flat, 0, places), g.inverse, g.counts};
}

// Of the slices along dim. Sorted by the last of their elements first: each sort keeps the order of equals.
Triple unique_slices(const Tensor& self, int64_t dim, bool sort) {
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor moved = dense(self.dim() == 0 ? at::reshape(self, IntArrayRef(1)) : at::movedim(self, dim, 0));
  const int64_t n = moved.size(0), width = n == 0 ? 0 : moved.numel() / n;
  TORCH_CHECK(n == 0 || moved.numel() > 0,
              "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  Tensor positions;
  if (sort && n > 0) {
    const Tensor parts =
        self.is_complex() ? dense(at::reshape(at::view_as_real(moved), {n, 2 * width})) : at::view(moved, {n, width});
    for (int64_t k = parts.size(1) - 1; k >= 0; --k) {
      Tensor column = at::select(parts, 1, k);
      column = positions.defined() ? at::index_select(column, 0, positions) : dense(column);
      const Tensor order = long_positions(rows_of(column, 0), column);
      positions = positions.defined() ? at::index_select(positions, 0, order) : order;
    }
  }
  const Groups g = group(moved, n, width, positions, {n}, true, true);
  Tensor values = at::index_select(moved, 0, positions.defined() ? at::index_select(positions, 0, g.firsts) : g.firsts);
  if (self.dim() > 0) values = at::movedim(values, 0, dim);
  return {values, g.inverse, g.counts};
}

void check_real(const char* op, const Tensor& t) {
  TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(t.scalar_type()), "\"", op, "\" not implemented for '",
                              toString(t.scalar_type()), "'");
}

ScalarType common_type(const Tensor& a, const Tensor& b) {
  TypePromotion promotion;
  for (const Tensor* t : {&a, &b}) {
    promotion.add_tensor(t->scalar_type(), static_cast<int>(t->dim()), t->unsafeGetTensorImpl()->is_wrapped_number());
  }
  return promotion.result();
}

// Of a dtype and contiguous, on a device.
Tensor dense_on(Device device, const Tensor& t, ScalarType dtype) {
  return dense(t.device() == device ? t : at::to(t, device), dtype);
}

// The least and the greatest element, as numbers; `integers` or `numbers` as the dtype says. Waits.
struct Extremes {
  double least = 0, greatest = 0;
  int64_t least_integer = 0, greatest_integer = 0;
};
double number_of(uint64_t image, bool is_double) {
  if (is_double) {
    return image == ~uint64_t{0} ? std::numeric_limits<double>::quiet_NaN()
                                 : std::bit_cast<double>(image >> 63 != 0 ? image ^ uint64_t{1} << 63 : ~image);
  }
  const auto bits = static_cast<uint32_t>(image);
  if (bits == ~uint32_t{0}) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(std::bit_cast<float>(bits >> 31 != 0 ? bits ^ uint32_t{1} << 31 : ~bits));
}
Extremes extremes_of(const Tensor& x) {
  const Tensor images = longs({2}, x);
  cuda::launch_extremes(bytes_at(x), x.scalar_type(), static_cast<int64_t>(x.itemsize()), x.numel(),
                        static_cast<uint64_t*>(images.mutable_data_ptr()));
  const Tensor read = at::to(images, Device(DeviceType::CPU));
  const auto least = static_cast<uint64_t>(longs_at(read)[0]), greatest = static_cast<uint64_t>(longs_at(read)[1]);
  if (isIntegralType(x.scalar_type(), true)) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    return {0, 0, static_cast<int64_t>(least ^ kSign), static_cast<int64_t>(greatest ^ kSign)};
  }
  const bool is_double = x.scalar_type() == ScalarType::Double;
  return {number_of(least, is_double), number_of(greatest, is_double)};
}

}  // namespace

void sort_cuda(const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  pick("sort", self, dim, descending, Pick::kRun, 0, size_at(self, dim), values, indices);
}
void sort_stable_cuda(const Tensor& self, std::optional<bool>, int64_t dim, bool descending, Tensor& values,
                      Tensor& indices) {
  sort_cuda(self, dim, descending, values, indices);
}
void topk_cuda(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, Tensor& values, Tensor& indices) {
  pick("topk", self, dim, largest, Pick::kRun, 0, self.dim() == 0 ? 1 : k, values, indices);
}
void kthvalue_cuda(const Tensor& self, int64_t k, int64_t dim, bool, Tensor& values, Tensor& indices) {
  pick("kthvalue", self, dim, false, Pick::kRun, k - 1, 1, values, indices);
}

void median_dim_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  pick("median", self, dim, false, Pick::kMedian, 0, 1, values, indices);
}
void nanmedian_dim_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  pick("nanmedian", self, dim, false, Pick::kNanMedian, 0, 1, values, indices);
}
void mode_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  pick("mode", self, dim, false, Pick::kMode, 0, 1, values, indices);
}

namespace {
// Of an empty tensor: NaN, or the smallest integer.
void median_all(const char* name, const Tensor& self, Pick which, Tensor& out) {
  if (self.numel() > 0) {
    pick(name, at::reshape(self, {self.numel()}), 0, false, which, 0, 1, out, Tensor());
    return;
  }
  const ScalarType dtype = self.scalar_type();
  if (!isIntegralType(dtype, true)) {
    at::fill_(out, Scalar(std::numeric_limits<double>::quiet_NaN()));
  } else {
    const int bits = 8 * static_cast<int>(elementSize(dtype)) - 1;
    at::fill_(out, Scalar(isSignedType(dtype) ? static_cast<int64_t>(~uint64_t{0} << bits) : int64_t{0}));
  }
}
}  // namespace
void median_cuda(const Tensor& self, Tensor& out) {
  median_all("median", self, Pick::kMedian, out);
}
void nanmedian_cuda(const Tensor& self, Tensor& out) {
  median_all("nanmedian", self, Pick::kNanMedian, out);
}

std::tuple<Tensor, Tensor> _unique_cuda(const Tensor& self, bool, bool return_inverse) {
  check_real("unique", self);
  auto [values, inverse, counts] = unique_elements(self, true, return_inverse, false);
  return {values, inverse};
}
Triple _unique2_cuda(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  check_real("unique", self);
  return unique_elements(self, true, return_inverse, return_counts);
}
Triple unique_dim_cuda(const Tensor& self, int64_t dim, bool, bool, bool) {
  return unique_slices(self, dim, true);
}
Triple unique_dim_consecutive_cuda(const Tensor& self, int64_t dim, bool, bool) {
  return unique_slices(self, dim, false);
}
Triple unique_consecutive_cuda(const Tensor& self, bool return_inverse, bool return_counts,
                               std::optional<int64_t> dim) {
  if (dim && !(*dim == 0 && self.dim() == 1)) return unique_slices(self, *dim, false);
  return unique_elements(self, false, return_inverse, return_counts);
}

void searchsorted_cuda(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                       std::optional<std::string_view> side, const std::optional<Tensor>& sorter, Tensor& out) {
  if (out.numel() == 0) return;
  const ScalarType common = common_type(sorted_sequence, self);
  const Tensor rows = dense_on(out.device(), sorted_sequence, common), x = dense_on(out.device(), self, common);
  const bool ordered = sorter && sorter->defined();
  const Tensor order = ordered ? dense(*sorter) : Tensor();
  // In a graph, where nothing waits, the kernel finds it.
  if (ordered && c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None) {
    const Tensor valid = at::logical_and(at::ge(order, Scalar(0)), at::lt(order, Scalar(rows.sizes().back())));
    TORCH_CHECK_INDEX(at::item(at::all(valid)).toBool(), "torch.searchsorted(): sorter index out of range");
  }
  const Tensor places = longs(out.sizes(), out);
  cuda::SearchCall call{};
  call.name = "searchsorted";
  call.rows = bytes_at(rows);
  call.values = bytes_at(x);
  call.dtype = common;
  call.item = static_cast<int64_t>(rows.itemsize());
  call.length = rows.sizes().back();
  call.n = x.numel();
  call.width = sorted_sequence.dim() == 1 || self.dim() == 0 ? 0 : x.sizes().back();
  call.sorter = ordered ? longs_at(order) : nullptr;
  call.right = side ? *side == "right" : right;
  call.to = static_cast<char*>(places.mutable_data_ptr());
  cuda::launch_search(call);
  at::copy_(out, places);
}
void searchsorted_scalar_cuda(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                              std::optional<std::string_view> side, const std::optional<Tensor>& sorter, Tensor& out) {
  searchsorted_cuda(sorted_sequence, wrapped_scalar_tensor(self), out_int32, right, side, sorter, out);
}
void bucketize_cuda(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  searchsorted_cuda(boundaries, self, out_int32, right, std::nullopt, std::nullopt, out);
}
void bucketize_scalar_cuda(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  bucketize_cuda(wrapped_scalar_tensor(self), boundaries, out_int32, right, out);
}

void isin_tensors_cuda(const Tensor& elements, const Tensor& test_elements, bool, bool invert, Tensor& out) {
  if (out.numel() == 0) return;
  const ScalarType type = common_type(elements, test_elements);
  const Tensor x = dense_on(out.device(), elements, type);
  Tensor tests = at::reshape(dense_on(out.device(), test_elements, type), IntArrayRef(-1));
  if (tests.numel() > 1) tests = std::get<0>(at::sort(tests, 0, false));
  cuda::DenseInPlace work(out, false);
  cuda::SearchCall call{};
  call.name = "isin";
  call.rows = bytes_at(tests);
  call.values = bytes_at(x);
  call.dtype = type;
  call.item = static_cast<int64_t>(x.itemsize());
  call.length = tests.numel();
  call.n = x.numel();
  call.to = static_cast<char*>(work.tensor().mutable_data_ptr());
  call.contains = true;
  call.invert = invert;
  cuda::launch_search(call);
  work.commit();
}
void isin_scalar_cuda(const Tensor& elements, const Scalar& test_element, bool assume_unique, bool invert,
                      Tensor& out) {
  isin_tensors_cuda(elements, wrapped_scalar_tensor(test_element), assume_unique, invert, out);
}
void isin_of_scalar_cuda(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert,
                         Tensor& out) {
  isin_tensors_cuda(wrapped_scalar_tensor(element), test_elements, assume_unique, invert, out);
}

Tensor bincount_cuda(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCH_CHECK_NOT_IMPLEMENTED(isIntegralType(self.scalar_type(), false), "\"bincount\" not implemented for '",
                              toString(self.scalar_type()), "'");
  TORCH_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights && weights->defined();
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  const Tensor x = dense(self, ScalarType::Long);
  int64_t length = minlength;
  if (x.numel() > 0) {
    const Extremes e = extremes_of(x);
    TORCH_CHECK(e.least_integer >= 0, "bincount only supports 1-d non-negative integral inputs.");
    TORCH_CHECK(e.greatest_integer < std::numeric_limits<int64_t>::max() / 8, "bincount(): value ", e.greatest_integer,
                " is too large");
    length = std::max(length, e.greatest_integer + 1);
  }
  const ScalarType type = !weighted                                     ? ScalarType::Long
                          : weights->scalar_type() == ScalarType::Float ? ScalarType::Float
                                                                        : ScalarType::Double;
  Tensor out = empty_contiguous({length}, type, self.device());
  at::zero_(out);
  if (x.numel() == 0) return out;
  if (weighted) {
    cuda::accumulate({.name = "bincount",
                      .reduction = cuda::Reduction::kSum,
                      .to = out,
                      .from = dense(*weights, type),
                      .places = x,
                      .rows = length});
  } else {
    cuda::launch_count(longs_at(x), x.numel(), length, longs_in(out));
  }
  return out;
}

void histc_cuda(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Tensor& out) {
  const Tensor x = dense(self);
  double low = min.toDouble(), high = max.toDouble();
  if (low == high && x.numel() > 0) {
    const Extremes e = extremes_of(x);
    // NaN is the greatest, and refused below.
    low = e.least;
    high = e.greatest;
  }
  if (low == high) low -= 1, high += 1;
  TORCH_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high, "] is not finite");
  TORCH_CHECK(low < high, "torch.histc: max must be larger than min");
  const auto rounded = [&](double value) {
    switch (self.scalar_type()) {
      case ScalarType::Half:
        return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
      case ScalarType::BFloat16:
        return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
      case ScalarType::Float:
        return static_cast<double>(static_cast<float>(value));
      default:
        return value;
    }
  };
  const Tensor counts = longs({bins}, x);
  Tensor cleared = counts;
  at::zero_(cleared);
  cuda::HistogramCall call{};
  call.data = bytes_at(x);
  call.dtype = x.scalar_type();
  call.item = static_cast<int64_t>(x.itemsize());
  call.n = x.numel();
  call.bins = bins;
  call.low = low;
  call.high = high;
  call.first = rounded(low);
  call.width = rounded(rounded(high) - call.first);
  call.number = rounded(static_cast<double>(bins));
  // A range that the dtype rounds to nothing or to infinity is measured in double.
  call.measurable = call.width > 0 && std::isfinite(call.width) && std::isfinite(call.number);
  call.counts = longs_in(counts);
  if (call.n > 0) cuda::launch_histogram(call);
  at::copy_(out, counts);
}

Tensor repeat_interleave_tensor_cuda(const Tensor& repeats, std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK_NOT_IMPLEMENTED(repeats.scalar_type() == ScalarType::Long || repeats.scalar_type() == ScalarType::Int,
                              "repeats has to be Long or Int tensor");
  const Tensor counts = dense(repeats, ScalarType::Long);
  const int64_t n = counts.numel();
  if (n == 0) return empty_contiguous({0}, repeats.scalar_type(), repeats.device());
  const Tensor sums = longs({n}, counts);
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sum_scan(scratch, bytes, longs_at(counts), longs_in(sums), n, true, stream);
  });
  // A size that is given is believed: nothing has to be waited for.
  int64_t total = output_size.value_or(0);
  if (!output_size.has_value()) {
    TORCH_CHECK(extremes_of(counts).least_integer >= 0, "repeats can not be negative");
    total = at::item(at::select(sums, 0, n - 1)).toLong();
  }
  Tensor result = empty_contiguous({total}, repeats.scalar_type(), repeats.device());
  if (total > 0) {
    cuda::launch_repeat(longs_at(sums), n, total, repeats.scalar_type() == ScalarType::Long, result.mutable_data_ptr());
  }
  return result;
}

}  // namespace at::native
