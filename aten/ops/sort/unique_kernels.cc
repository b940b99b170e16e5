// unique in its forms, isin, bincount, histc, searchsorted, bucketize.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/sort/sort.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/sort/kernels.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/type_promotion.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

Tensor long_tensor(IntArrayRef sizes) { return empty_contiguous(sizes, ScalarType::Long); }
int64_t* longs(const Tensor& t) { return static_cast<int64_t*>(t.mutable_data_ptr()); }

// Items in an order, equal neighbours made one: for each group its first item, its length, and for each item its group.
struct Groups {
  std::vector<int64_t> first, count, group_of;
};
template <class Equal>
Groups group(const std::vector<int64_t>& order, const Equal& equal) {
  Groups g;
  g.group_of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !equal(order[i - 1], order[i])) {
      g.first.push_back(order[i]);
      g.count.push_back(0);
    }
    ++g.count.back();
    g.group_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(g.first.size()) - 1;
  }
  return g;
}

Tensor to_tensor(const std::vector<int64_t>& v, IntArrayRef sizes) {
  Tensor t = long_tensor(sizes);
  std::copy(v.begin(), v.end(), longs(t));
  return t;
}
Tensor to_tensor(const std::vector<int64_t>& v) { return to_tensor(v, IntArrayRef(static_cast<int64_t>(v.size()))); }

using Triple = std::tuple<Tensor, Tensor, Tensor>;

// The type whose elements are equal where those of `type` are.
ScalarType type_of_bits(ScalarType type) {
  switch (type) {
    case ScalarType::UInt16:
      return ScalarType::Short;
    case ScalarType::UInt32:
      return ScalarType::Int;
    case ScalarType::UInt64:
      return ScalarType::Long;
    default:
      return type;
  }
}

// Of all elements. `order` lists them so that equal ones are neighbours.
Triple unique_elements(const Tensor& x, const std::vector<int64_t>& order, IntArrayRef inverse_sizes, bool inverse,
                       bool counts) {
  return cpu::visit_all(type_of_bits(x.scalar_type()), "unique", [&](auto tag) -> Triple {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(x.const_data_ptr());
    const Groups g = group(order, [&](int64_t a, int64_t b) { return p[a] == p[b]; });
    Tensor values = empty_contiguous({static_cast<int64_t>(g.first.size())}, x.scalar_type());
    T* to = static_cast<T*>(values.mutable_data_ptr());
    for (const int64_t first : g.first) *to++ = p[first];
    return {values, inverse ? to_tensor(g.group_of, inverse_sizes) : long_tensor({0}),
            counts ? to_tensor(g.count) : long_tensor({0})};
  });
}

// Of all elements in their own order.
Triple unique_neighbours(const Tensor& x, IntArrayRef inverse_sizes, bool inverse, bool counts) {
  return cpu::visit_all(type_of_bits(x.scalar_type()), "unique", [&](auto tag) -> Triple {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(x.const_data_ptr());
    const int64_t n = x.numel();
    Tensor values = empty_contiguous({n}, x.scalar_type());
    T* to = static_cast<T*>(values.mutable_data_ptr());
    int64_t groups = 0;
    for (int64_t i = 0; i + 1 < n; ++i) {
      to[groups] = p[i];
      groups += !(p[i] == p[i + 1]);
    }
    if (n > 0) to[groups++] = p[n - 1];
    Tensor group_of = long_tensor(inverse ? inverse_sizes : IntArrayRef{0}),
           length = long_tensor({counts ? groups : 0});
    if (inverse) {
      int64_t *places = longs(group_of), g = 0;
      for (int64_t i = 0; i < n; ++i) {
        places[i] = g;
        if (i + 1 < n) g += !(p[i] == p[i + 1]);
      }
    }
    if (counts) {
      int64_t *lengths = longs(length), first = 0;
      for (int64_t i = 1; i <= n; ++i) {
        if (i < n && p[i - 1] == p[i]) continue;
        *lengths++ = i - first;
        first = i;
      }
    }
    // Memory for many more elements than there are is given back.
    if (groups < n / 2) {
      Tensor few = empty_contiguous({groups}, x.scalar_type());
      std::copy(to, to + groups, static_cast<T*>(few.mutable_data_ptr()));
      values = few;
    } else if (groups < n) {
      resize_output(values, {groups});
    }
    return {values, group_of, length};
  });
}

// Of integers of a range that is not much longer than the tensor, counted one by one; no value else.
template <class T>
std::optional<Triple> unique_counted(const Tensor& x, IntArrayRef inverse_sizes, bool inverse, bool counts) {
  const T* p = static_cast<const T*>(x.const_data_ptr());
  const int64_t n = x.numel();
  const T least = cpu::integer_row_extreme(p, n, false), greatest = cpu::integer_row_extreme(p, n, true);
  const uint64_t range =
      static_cast<uint64_t>(static_cast<int64_t>(greatest)) - static_cast<uint64_t>(static_cast<int64_t>(least));
  if (range >= static_cast<uint64_t>(n)) return std::nullopt;
  const auto place = [least](T v) {
    return static_cast<uint64_t>(static_cast<int64_t>(v)) - static_cast<uint64_t>(static_cast<int64_t>(least));
  };
  std::vector<int64_t> count(static_cast<size_t>(range) + 1);
  if (counts) {
    for (int64_t i = 0; i < n; ++i) ++count[place(p[i])];
  } else {
    for (int64_t i = 0; i < n; ++i) count[place(p[i])] = 1;
  }
  int64_t groups = 0;
  for (const int64_t c : count) groups += c != 0;
  Tensor values = empty_contiguous({groups}, x.scalar_type()), length = long_tensor({counts ? groups : 0});
  T* numbers = static_cast<T*>(values.mutable_data_ptr());
  int64_t *lengths = longs(length), g = 0;
  for (size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    numbers[g] = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(least)) + i);
    if (counts) lengths[g] = count[i];
    count[i] = g++;
  }
  Tensor group_of = long_tensor(inverse ? inverse_sizes : IntArrayRef{0});
  if (inverse) {
    int64_t* to = longs(group_of);
    for (int64_t i = 0; i < n; ++i) to[i] = count[place(p[i])];
  }
  return Triple{values, group_of, length};
}

std::vector<int64_t> sorted_order(const Tensor& x) {
  std::vector<int64_t> order(static_cast<size_t>(x.numel()));
  cpu::SortScratch scratch;
  cpu::sort_row(x.scalar_type(), x.const_data_ptr(), 1, x.numel(), false, scratch, order.data());
  return order;
}

Triple unique_sorted(const Tensor& x, IntArrayRef inverse_sizes, bool inverse, bool counts) {
  const auto counted = [&]() -> std::optional<Triple> {
    if (x.numel() <= 256) return std::nullopt;
    switch (x.scalar_type()) {
      case ScalarType::Long: return unique_counted<int64_t>(x, inverse_sizes, inverse, counts);
      case ScalarType::Int: return unique_counted<int32_t>(x, inverse_sizes, inverse, counts);
      case ScalarType::Short: return unique_counted<int16_t>(x, inverse_sizes, inverse, counts);
      case ScalarType::Char: return unique_counted<int8_t>(x, inverse_sizes, inverse, counts);
      case ScalarType::Byte: return unique_counted<uint8_t>(x, inverse_sizes, inverse, counts);
      default: return std::nullopt;
    }
  };
  std::optional<Triple> result = counted();
  return result ? *std::move(result) : unique_elements(x, sorted_order(x), inverse_sizes, inverse, counts);
}

std::vector<int64_t> given_order(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
  return order;
}

// Of the slices along dim, which are compared element by element in their own order; the inverse and the counts are made in
// any case.
Triple unique_slices(const Tensor& self, int64_t dim, bool sort) {
  if (self.scalar_type() == ScalarType::UInt16 || self.scalar_type() == ScalarType::UInt32) {
    auto [values, inverse, counts] = unique_slices(at::to(self, ScalarType::UInt64), dim, sort);
    return {at::to(values, self.scalar_type()), inverse, counts};
  }
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor moved = dense(self.dim() == 0 ? at::reshape(self, IntArrayRef(1)) : at::movedim(self, dim, 0));
  const int64_t n = moved.size(0), width = n == 0 ? 0 : moved.numel() / n;
  TORCH_CHECK(
      n == 0 || width > 0 || moved.numel() > 0,
      "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  const auto unique = [&](auto tag) -> Triple {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(moved.const_data_ptr());
    std::vector<int64_t> order = given_order(n);
    // NaN comes last, or nothing would be an order.
    const auto part_less = [](auto a, auto b) { return a == a && (b != b || a < b); };
    const auto less = [&](T a, T b) {
      if constexpr (c10::is_complex_v<T>) {
        return part_less(a.real(), b.real()) || (!part_less(b.real(), a.real()) && part_less(a.imag(), b.imag()));
      } else {
        return part_less(a, b);
      }
    };
    if (sort) {
      std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const T *x = p + a * width, *y = p + b * width;
        if (std::lexicographical_compare(x, x + width, y, y + width, less)) return true;
        return !std::lexicographical_compare(y, y + width, x, x + width, less) && a < b;
      });
    }
    const Groups g = group(
        order, [&](int64_t a, int64_t b) { return std::equal(p + a * width, p + (a + 1) * width, p + b * width); });
    Tensor values = at::index_select(moved, 0, to_tensor(g.first));
    if (self.dim() > 0) values = at::movedim(values, 0, dim);
    return {values, to_tensor(g.group_of), to_tensor(g.count)};
  };
  return self.scalar_type() == ScalarType::UInt64 ? unique(cpu::TypeTag<uint64_t>{})
                                                  : cpu::visit_all(self.scalar_type(), "unique_dim", unique);
}

void check_real(const char* op, const Tensor& t) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isComplexType(t.scalar_type()), "\"", op, "\" not implemented for '", toString(t.scalar_type()), "'");
}

}  // namespace

std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool, bool return_inverse) {
  check_real("unique", self);
  const Tensor x = dense(self);
  auto [values, inverse, counts] = unique_sorted(x, self.sizes(), return_inverse, false);
  return {values, inverse};
}
Triple _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  check_real("unique", self);
  const Tensor x = dense(self);
  return unique_sorted(x, self.sizes(), return_inverse, return_counts);
}
Triple unique_dim(const Tensor& self, int64_t dim, bool, bool, bool) {
  return unique_slices(self, dim, true);
}
Triple unique_dim_consecutive(const Tensor& self, int64_t dim, bool, bool) {
  return unique_slices(self, dim, false);
}
Triple unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
  // Slices of a vector are its elements (with -1 all three results are made, as PyTorch does).
  if (dim && !(*dim == 0 && self.dim() == 1)) return unique_slices(self, *dim, false);
  const Tensor x = dense(self);
  return unique_neighbours(x, self.sizes(), return_inverse, return_counts);
}

namespace {

ScalarType common_type(const Tensor& a, const Tensor& b) {
  TypePromotion promotion;
  for (const Tensor* t : {&a, &b}) {
    promotion.add_tensor(t->scalar_type(), static_cast<int>(t->dim()), t->unsafeGetTensorImpl()->is_wrapped_number());
  }
  return promotion.result();
}

}  // namespace

TensorSpec isin_tensors_meta(const Tensor& elements, const Tensor& test_elements, bool, bool) {
  TORCH_CHECK_NOT_IMPLEMENTED(!elements.is_complex() && !test_elements.is_complex(), "\"isin\" not implemented for '",
                              toString(common_type(elements, test_elements)), "'");
  return {DimVector(elements.sizes().begin(), elements.sizes().end()), {}, ScalarType::Bool, elements.device()};
}
// Sorted test elements are searched.
void isin_tensors_cpu(const Tensor& elements, const Tensor& test_elements, bool, bool invert, Tensor& out) {
  const ScalarType type = common_type(elements, test_elements);
  const Tensor x = dense(elements, type), tests = dense(test_elements, type);
  DenseOut to_write(out);
  cpu::visit_real(type, "isin", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *p = static_cast<const T*>(x.const_data_ptr()), *q = static_cast<const T*>(tests.const_data_ptr());
    std::vector<T> sorted;
    for (int64_t i = 0; i < tests.numel(); ++i) {
      if (q[i] == q[i]) sorted.push_back(q[i]);
    }
    std::sort(sorted.begin(), sorted.end());
    bool* to = to_write.data<bool>();
    at::parallel_for(0, x.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = (p[i] == p[i] && std::binary_search(sorted.begin(), sorted.end(), p[i])) != invert;
      }
    });
  });
  to_write.commit();
}
TensorSpec isin_scalar_meta(const Tensor& elements, const Scalar& test_element, bool assume_unique, bool invert) {
  return isin_tensors_meta(elements, wrapped_scalar_tensor(test_element), assume_unique, invert);
}
void isin_scalar_cpu(const Tensor& elements, const Scalar& test_element, bool assume_unique, bool invert, Tensor& out) {
  isin_tensors_cpu(elements, wrapped_scalar_tensor(test_element), assume_unique, invert, out);
}
TensorSpec isin_of_scalar_meta(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert) {
  TensorSpec spec = isin_tensors_meta(wrapped_scalar_tensor(element), test_elements, assume_unique, invert);
  spec.device = test_elements.device();
  return spec;
}
void isin_of_scalar_cpu(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert,
                        Tensor& out) {
  isin_tensors_cpu(wrapped_scalar_tensor(element), test_elements, assume_unique, invert, out);
}

Tensor bincount_cpu(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCH_CHECK_NOT_IMPLEMENTED(isIntegralType(self.scalar_type(), false), "\"bincount\" not implemented for '",
                              toString(self.scalar_type()), "'");
  TORCH_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights && weights->defined();
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->size(0) == self.size(0)),
              "weights should be 1-d and have the same length as input");
  const Tensor x = dense(self, ScalarType::Long);
  const int64_t* p = longs(x);
  const int64_t n = x.numel();
  int64_t length = minlength;
  if (n > 0) {
    const int64_t least = cpu::integer_row_extreme(p, n, false), greatest = cpu::integer_row_extreme(p, n, true);
    TORCH_CHECK(least >= 0, "bincount only supports 1-d non-negative integral inputs.");
    TORCH_CHECK(greatest < std::numeric_limits<int64_t>::max() / 8, "bincount(): value ", greatest, " is too large");
    length = std::max(length, greatest + 1);
  }
  if (!weighted) {
    Tensor out = long_tensor({length});
    std::fill_n(longs(out), length, 0);
    // Two tables where they are small: the next number often is the same one.
    constexpr int64_t kSmall = 2048;
    int64_t* count = longs(out);
    if (length > kSmall || n < kSmall) {
      for (int64_t i = 0; i < n; ++i) ++count[p[i]];
      return out;
    }
    int64_t odd[kSmall] = {}, i = 0;
    for (; i + 2 <= n; i += 2) {
      ++count[p[i]];
      ++odd[p[i + 1]];
    }
    if (i < n) ++count[p[i]];
    for (int64_t k = 0; k < length; ++k) count[k] += odd[k];
    return out;
  }
  const ScalarType type = weights->scalar_type() == ScalarType::Float ? ScalarType::Float : ScalarType::Double;
  const Tensor w = dense(*weights, type);
  Tensor out = empty_contiguous({length}, type);
  cpu::visit_float_double(type, "bincount", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out.mutable_data_ptr());
    std::fill_n(to, length, T(0));
    const T* from = static_cast<const T*>(w.const_data_ptr());
    for (int64_t i = 0; i < n; ++i) to[p[i]] += from[i];
  });
  return out;
}

TensorSpec histc_meta(const Tensor& self, int64_t bins, const Scalar&, const Scalar&) {
  TORCH_CHECK(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(self.scalar_type()), "\"histogram_cpu\" not implemented for '", toString(self.scalar_type()), "'");
  return {{bins}, {}, self.scalar_type(), self.device()};
}
namespace {

constexpr int64_t kFewBins = 1 << 16;

// What histc counts where bins are few and no step of an element inside the range is infinite. The places of a block
// come first, so that they are vectors; elements outside go to a place behind the bins.
template <class T>
void count_few_bins(const T* x, int64_t n, double low, double high, int64_t bins, int64_t* counts) {
  constexpr int64_t kBlock = 256;
  const T first = static_cast<T>(low), width = static_cast<T>(high) - first, number = static_cast<T>(bins);
  const T infinity = std::numeric_limits<T>::infinity();
  const T least = static_cast<double>(first) < low ? std::nextafter(first, infinity) : first;
  const T last = static_cast<T>(high), most = static_cast<double>(last) > high ? std::nextafter(last, -infinity) : last;
  const auto outside = static_cast<int32_t>(bins);
  // Two tables, as neighbours are often alike.
  std::vector<int64_t> tables(static_cast<size_t>(2 * (bins + 1)));
  int64_t *even = tables.data(), *odd = even + bins + 1;
  alignas(64) int32_t place[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    for (int64_t k = 0; k < count; ++k) {
      const T v = x[i + k];
      const bool inside = v >= least && v <= most;
      const T scaled = ((inside ? v : first) - first) * number / width;
      const int32_t bin = std::min(std::max(static_cast<int32_t>(scaled), 0), outside - 1);
      place[k] = inside ? bin : outside;
    }
    int64_t k = 0;
    for (; k + 2 <= count; k += 2) ++even[place[k]], ++odd[place[k + 1]];
    if (k < count) ++even[place[k]];
  }
  for (int64_t b = 0; b < bins; ++b) counts[b] += even[b] + odd[b];
}

}  // namespace

// Equal bins between min and max (those of the data where both are 0); the last bin is closed.
void histc_cpu(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Tensor& out) {
  const Tensor x = dense(self);
  DenseOut to_write(out);
  cpu::visit_floating(self.scalar_type(), "histc", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* p = static_cast<const T*>(x.const_data_ptr());
    double low = min.toDouble(), high = max.toDouble();
    if (low == high && x.numel() > 0) {
      low = static_cast<double>(cpu::row_min(p, x.numel()));  // NaN where there is one, which is refused below
      high = static_cast<double>(cpu::row_max(p, x.numel()));
    }
    if (low == high) low -= 1, high += 1;
    TORCH_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high,
                "] is not finite");
    TORCH_CHECK(low < high, "torch.histc: max must be larger than min");
    // Every step is rounded to the dtype: that is what decides into which bin an element near an edge falls.
    const auto rounded = [](double v) { return static_cast<double>(static_cast<T>(v)); };
    const double first = rounded(low), width = rounded(rounded(high) - first),
                 number = rounded(static_cast<double>(bins));
    // A range that the dtype rounds to nothing or to infinity is measured in double.
    const bool measurable = width > 0 && std::isfinite(width) && std::isfinite(number);
    using Counts = std::vector<int64_t>;
    const Counts count = at::parallel_reduce(
        int64_t{0}, x.numel(), std::max(at::internal::GRAIN_SIZE, bins), Counts(static_cast<size_t>(bins)),
        [&](int64_t begin, int64_t end, Counts counts) {
          if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
            if (measurable && bins <= kFewBins && std::isfinite(2 * rounded(width * number))) {
              count_few_bins<T>(p + begin, end - begin, low, high, bins, counts.data());
              return counts;
            }
          }
          for (int64_t i = begin; i < end; ++i) {
            const double v = static_cast<double>(p[i]);
            if (!(v >= low && v <= high)) continue;
            const double scaled = rounded(rounded(v - first) * number);
            const double place = measurable && std::isfinite(scaled)
                                     ? rounded(scaled / width)
                                     : (v / 2 - low / 2) / (high / 2 - low / 2) * static_cast<double>(bins);
            const bool inside = place >= 0 && place < static_cast<double>(bins);
            ++counts[static_cast<size_t>(inside ? static_cast<int64_t>(place) : place < 0 ? 0 : bins - 1)];
          }
          return counts;
        },
        [](Counts a, const Counts& b) {
          for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
          return a;
        });
    T* to = to_write.data<T>();
    for (const int64_t n : count) *to++ = static_cast<T>(static_cast<float>(n));
  });
  to_write.commit();
}

namespace {

// The first place of `row` (n elements, read through `order` where there is one) whose element is not below v, or with
// `right` is above v. NaN is larger than all.
template <class T>
int64_t place_of(const T* row, const int64_t* order, int64_t n, T v, bool right) {
  if (n == 0) return 0;
  const auto before = [&](int64_t i) {
    const T m = row[order ? order[i] : i];
    return right ? !(m > v) : !(m >= v);
  };
  // No branch depends on an element, so that the processor has many searches under way.
  int64_t low = 0;
  for (int64_t length = n; length > 1;) {
    const int64_t half = length / 2;
    low += half & -static_cast<int64_t>(before(low + half - 1));
    length -= half;
  }
  return low + before(low);
}

// The places of a few values, step by step together: their searches do not wait for each other.
template <bool kRight, class T>
void places_of(const T* row, int64_t n, const T* values, int64_t count, int64_t* to) {
  constexpr int kTogether = 8;
  int64_t i = 0;
  for (; n > 0 && i + kTogether <= count; i += kTogether) {
    const T* low[kTogether];
    for (int k = 0; k < kTogether; ++k) low[k] = row;
    const auto moved = [&](int k, int64_t half, int64_t step) {
      const T m = low[k][half];
      const bool before = kRight ? !(m > values[i + k]) : !(m >= values[i + k]);
      low[k] += step & -static_cast<int64_t>(before);
    };
    for (int64_t length = n; length > 1; length -= length / 2) {
      for (int k = 0; k < kTogether; ++k) moved(k, length / 2 - 1, length / 2);
    }
    for (int k = 0; k < kTogether; ++k) {
      moved(k, 0, 1);
      to[i + k] = low[k] - row;
    }
  }
  for (; i < count; ++i) to[i] = place_of(row, nullptr, n, values[i], kRight);
}

bool right_side(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  TORCH_CHECK(*side == "left" || *side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ",
              *side);
  TORCH_CHECK(!(right && *side == "left"),
              "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
  return *side == "right";
}

}  // namespace

TensorSpec searchsorted_meta(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                             std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  right_side(right, side);
  const bool one_row = sorted_sequence.dim() == 1;
  TORCH_CHECK(sorted_sequence.dim() > 0,
              "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1");
  TORCH_CHECK(one_row || (self.dim() == sorted_sequence.dim() &&
                          self.sizes().slice(0, static_cast<size_t>(self.dim()) - 1) ==
                              sorted_sequence.sizes().slice(0, static_cast<size_t>(self.dim()) - 1)),
              "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
              "tensor and input value "
              "tensor must match, but we got boundaries tensor ",
              sorted_sequence.sizes(), " and input value tensor ", self.sizes());
  check_real("searchsorted", sorted_sequence);
  check_real("searchsorted", self);
  if (sorter && sorter->defined()) {
    TORCH_CHECK(sorter->sizes() == sorted_sequence.sizes(),
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
                sorted_sequence.sizes(), "and got sorter tensor ", sorter->sizes());
    TORCH_CHECK(sorter->scalar_type() == ScalarType::Long,
                "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
                toString(sorter->scalar_type()));
  }
  return {DimVector(self.sizes().begin(), self.sizes().end()),
          {},
          out_int32 ? ScalarType::Int : ScalarType::Long,
          sorted_sequence.device()};
}
void searchsorted_cpu(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                      std::optional<std::string_view> side, const std::optional<Tensor>& sorter, Tensor& out) {
  const bool from_right = right_side(right, side);
  const bool one_row = sorted_sequence.dim() == 1;
  const ScalarType common = common_type(sorted_sequence, self);
  Tensor order;
  const int64_t n = sorted_sequence.sizes().back();
  if (sorter && sorter->defined()) {
    order = dense(*sorter);
    for (int64_t i = 0; i < order.numel(); ++i) {
      TORCH_CHECK_INDEX(longs(order)[i] >= 0 && longs(order)[i] < n, "torch.searchsorted(): sorter index out of range");
    }
  }
  const Tensor rows = dense(sorted_sequence, common), x = dense(self, common);
  const int64_t width = one_row || self.dim() == 0 ? x.numel() : x.sizes().back();
  DenseOut places(out, ScalarType::Long);
  cpu::visit_real(rows.scalar_type(), "searchsorted", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *row = static_cast<const T*>(rows.const_data_ptr()), *v = static_cast<const T*>(x.const_data_ptr());
    int64_t* to = places.data<int64_t>();
    at::parallel_for(0, x.numel(), 2048, [&](int64_t begin, int64_t end) {
      if (one_row && !order.defined()) {
        return (from_right ? places_of<true, T> : places_of<false, T>)(row, n, v + begin, end - begin, to + begin);
      }
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = one_row ? 0 : i / width * n;
        to[i] = place_of(row + at, order.defined() ? longs(order) + at : nullptr, n, v[i], from_right);
      }
    });
  });
  places.commit();
}
TensorSpec searchsorted_scalar_meta(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                                    std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  return searchsorted_meta(sorted_sequence, wrapped_scalar_tensor(self), out_int32, right, side, sorter);
}
void searchsorted_scalar_cpu(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                             std::optional<std::string_view> side, const std::optional<Tensor>& sorter, Tensor& out) {
  searchsorted_cpu(sorted_sequence, wrapped_scalar_tensor(self), out_int32, right, side, sorter, out);
}
TensorSpec bucketize_meta(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return searchsorted_meta(boundaries, self, out_int32, right, std::nullopt, std::nullopt);
}
void bucketize_cpu(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  searchsorted_cpu(boundaries, self, out_int32, right, std::nullopt, std::nullopt, out);
}
TensorSpec bucketize_scalar_meta(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  return bucketize_meta(wrapped_scalar_tensor(self), boundaries, out_int32, right);
}
void bucketize_scalar_cpu(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  bucketize_cpu(wrapped_scalar_tensor(self), boundaries, out_int32, right, out);
}

}  // namespace at::native
