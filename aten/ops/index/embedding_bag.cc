// embedding_bag: rows of a table, summed, averaged or maximized over bags of indices; by composition where a gradient
// is recorded.
#include <algorithm>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/rows/pool.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

Tensor integers(int64_t n, int64_t value) {
  return at::full({n}, Scalar(value), TensorOptions().dtype(kLong));
}
bool is_index(const Tensor& t) {
  return t.scalar_type() == kLong || t.scalar_type() == kInt;
}

// The greatest element of each column of the rows named by `places`, the first of equal ones, and its row.
template <class T>
void take_greatest(const T* table, const int64_t* places, int64_t count, int64_t width, T* to, int64_t* best) {
  std::fill_n(to, width, T(0));
  for (int64_t i = 0; i < count; ++i) {
    const T* row = table + places[i] * width;
    for (int64_t k = 0; k < width; ++k) {
      const bool greater = i == 0 || row[k] > to[k];
      to[k] = greater ? row[k] : to[k];
      best[k] = greater ? places[i] : best[k];
    }
  }
}

// Rows at random places, which the processor does not see coming: as many of the next bag as the first-level cache holds
// beside those at work.
template <class T>
void ask_for_rows(const T* table, const int64_t* index, int64_t n, int64_t width) {
  constexpr int64_t kAheadBytes = 16384, kLine = 64;
  const int64_t bytes = width * static_cast<int64_t>(sizeof(T));
  n = std::min(n, kAheadBytes / std::max<int64_t>(bytes, 1));
  for (int64_t i = 0; i < n; ++i) {
    const char* const row = reinterpret_cast<const char*>(table + index[i] * width);
    for (int64_t k = 0; k < bytes; k += kLine) __builtin_prefetch(row + k);
  }
}

// The indices, the bag of each, how many of each bag count, and whether each does.
struct Bags {
  Tensor indices, bag_of, sizes, used;
};

// The result by composition; `best` has the rows with the greatest elements, where these are wanted.
std::tuple<Tensor, Tensor, Tensor, Tensor> composed(const Tensor& weight, const Bags& bags, const Tensor& best,
                                                    bool scale_grad_by_freq, int64_t mode, bool sparse,
                                                    const std::optional<Tensor>& per_sample_weights, int64_t padding) {
  const DimVector sizes = {bags.sizes.size(0), weight.size(1)};
  if (mode == kMax) {
    const Tensor taken = weight.size(0) == 0 ? at::zeros(sizes, weight.options()) : at::gather(weight, 0, best);
    const Tensor empty_bags = at::unsqueeze(at::eq(bags.sizes, Scalar(0)), 1);
    return {at::masked_fill(taken, empty_bags, Scalar(0)), bags.bag_of, bags.sizes, best};
  }
  // Without padding the sums of 16-bit numbers are rounded once, as PyTorch's are.
  const ScalarType type = weight.scalar_type();
  const ScalarType wide = isReducedFloatingType(type) && padding < 0 ? kFloat : type;
  Tensor values = at::to(at::embedding(weight, bags.indices, padding, scale_grad_by_freq, sparse), wide);
  if (per_sample_weights.has_value() && per_sample_weights->defined()) {
    values = at::mul(values, at::unsqueeze(at::to(*per_sample_weights, wide), 1));
  }
  if (padding >= 0) values = at::masked_fill(values, at::unsqueeze(at::eq(bags.used, Scalar(0)), 1), Scalar(0));
  Tensor result = at::to(at::index_add(at::zeros(sizes, values.options()), 0, bags.bag_of, values), type);
  if (mode == kMean) {
    result = at::div(result, at::to(at::unsqueeze(at::clamp_min(bags.sizes, Scalar(1)), 1), weight.scalar_type()));
  }
  return {result, bags.bag_of, bags.sizes, best};
}

}  // namespace

// The result, the bag of each index, the number of indices of each bag (padding does not count), and for kMax the rows
// that the result was taken from.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_padding(const Tensor& weight, const Tensor& indices,
                                                                 const Tensor& offsets, bool scale_grad_by_freq,
                                                                 int64_t mode, bool sparse,
                                                                 const std::optional<Tensor>& per_sample_weights,
                                                                 bool include_last_offset,
                                                                 std::optional<int64_t> padding_idx, bool on_cpu) {
  TORCH_CHECK(weight.device() == indices.device() && weight.device() == offsets.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ", weight.device(), " and ",
              indices.device() == weight.device() ? offsets.device() : indices.device(), "!");
  TORCH_CHECK(weight.dim() == 2, "embedding_bag: expected weight of 2 dimensions, but got ", weight.dim());
  TORCH_CHECK(is_index(indices) && is_index(offsets),
              "embedding_bag: expected indices and offsets of type Long or Int, but got ", indices.scalar_type(),
              " and ", offsets.scalar_type());
  TORCH_CHECK(indices.dim() == 1, "input has to be a 1D Tensor, but got Tensor of dimension ", indices.dim());
  TORCH_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension ", offsets.dim());
  TORCH_CHECK(mode == kSum || mode == kMean || mode == kMax,
              "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), but got ", mode);
  const bool weighted = per_sample_weights.has_value() && per_sample_weights->defined();
  if (weighted) {
    TORCH_CHECK(mode == kSum, "embedding_bag: per_sample_weights only supported with mode='sum'");
    TORCH_CHECK(per_sample_weights->dim() == 1 && per_sample_weights->numel() == indices.numel(),
                "expected per_sample_weights to have the same shape as indices");
    TORCH_CHECK(per_sample_weights->scalar_type() == weight.scalar_type(),
                "expected per_sample_weights to have the dtype of weight, ", weight.scalar_type(), ", but got ",
                per_sample_weights->scalar_type());
  }
  const int64_t rows = weight.size(0), width = weight.size(1), count = indices.numel();
  int64_t padding = -1;
  if (padding_idx.has_value()) {
    TORCH_CHECK(*padding_idx >= -rows && *padding_idx < rows, "padding_idx must be within the number of embeddings, -",
                rows, " through ", rows - 1, ", but got ", *padding_idx);
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  TORCH_CHECK(!include_last_offset || offsets.numel() >= 1,
              "include_last_offset: number of offsets should be at least 1");
  const int64_t bags = offsets.numel() - (include_last_offset ? 1 : 0);
  TORCH_CHECK(bags > 0 || count == 0, "embedding_bag: ", count, " indices and no bag for them");
  if (weight.is_meta()) {
    const auto unknown = [&](IntArrayRef sizes, ScalarType type) {
      return empty_contiguous(sizes, type, weight.device());
    };
    const Bags bags_of_meta{at::to(indices, kLong), unknown({count}, kLong), unknown({bags}, kLong),
                            unknown({count}, kBool)};
    const Tensor best = mode == kMax ? unknown({bags, width}, kLong) : unknown({0}, kLong);
    return composed(weight, bags_of_meta, best, scale_grad_by_freq, mode, sparse, per_sample_weights, padding);
  }
  // The bags are laid out on the CPU, for any device.
  const Tensor flat = dense(at::to(indices, Device(kCPU), kLong));
  const Tensor starts = dense(at::to(offsets, Device(kCPU), kLong));
  const auto here = [&](const Tensor& t) { return at::to(t, weight.device(), t.scalar_type()); };
  const int64_t* index = flat.data_ptr<int64_t>();
  const int64_t* start = starts.data_ptr<int64_t>();
  TORCH_CHECK(offsets.numel() == 0 || start[0] == 0,
              "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
              "However, got ",
              offsets.numel() == 0 ? 0 : start[0]);
  for (int64_t b = 1; b < offsets.numel(); ++b) {
    TORCH_CHECK(start[b] >= start[b - 1], "embedding_bag: offsets must not decrease, but got ", start[b], " after ",
                start[b - 1]);
  }
  TORCH_CHECK(offsets.numel() == 0 || start[offsets.numel() - 1] <= count,
              "offsets[-1] can not be greater than input's length(", count, "), but got offsets[-1] of ",
              offsets.numel() == 0 ? 0 : start[offsets.numel() - 1]);
  const Tensor bag_of = integers(count, 0), sizes = integers(bags, 0),
               used = at::ones({count}, TensorOptions().dtype(kBool));
  int64_t *bag = bag_of.data_ptr<int64_t>(), *size = sizes.data_ptr<int64_t>();
  bool* counts = used.data_ptr<bool>();
  const auto end_of = [&](int64_t b) { return b + 1 < offsets.numel() ? start[b + 1] : count; };
  for (int64_t b = 0; b < bags; ++b) {
    for (int64_t i = start[b], end = end_of(b); i < end; ++i) {
      TORCH_CHECK(index[i] >= 0 && index[i] < rows, "embedding_bag: index ", i, " of input is ", index[i],
                  ", which is out of the range [0, ", rows, ") of the rows");
      bag[i] = b;
      counts[i] = index[i] != padding;
      size[b] += counts[i] ? 1 : 0;
    }
  }
  Tensor max_indices = integers(0, 0);
  if (on_cpu && !weighted && (weight.scalar_type() == kFloat || weight.scalar_type() == kDouble)) {
    const Tensor table = dense(weight), result = empty_contiguous({bags, width}, weight.scalar_type());
    if (mode == kMax) max_indices = at::zeros({bags, width}, TensorOptions().dtype(kLong));
    cpu::visit_float_double(weight.scalar_type(), "embedding_bag", [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* to = result.data_ptr<T>();
      at::parallel_for(
          0, bags, 32768 / (width * (count / std::max<int64_t>(bags, 1) + 1) + 1) + 1, [&](int64_t begin, int64_t end) {
            std::vector<int64_t> places;
            for (int64_t b = begin; b < end; ++b) {
              const int64_t first = start[b], last = end_of(b);
              const int64_t* counted = index + first;
              if (size[b] != last - first) {
                places.clear();
                for (int64_t i = first; i < last; ++i)
                  if (counts[i]) places.push_back(index[i]);
                counted = places.data();
              }
              if (b + 1 < end) ask_for_rows(table.data_ptr<T>(), index + start[b + 1], end_of(b + 1) - start[b + 1], width);
              if (mode == kMax) {
                take_greatest(table.data_ptr<T>(), counted, size[b], width, to + b * width,
                              max_indices.data_ptr<int64_t>() + b * width);
              } else {
                const T divisor = static_cast<T>(mode == kMean ? std::max<int64_t>(size[b], 1) : 1);
                cpu::avg_pool_pixel<T>(table.data_ptr<T>(), counted, size[b], width, divisor, to + b * width);
              }
            }
          });
    });
    return {result, bag_of, sizes, max_indices};
  }
  if (mode == kMax) {
    // For every column of every bag the row with the greatest element, the first of equal ones.
    const Tensor table = dense(at::to(at::detach(weight), Device(kCPU), kDouble));
    const double* data = table.data_ptr<double>();
    max_indices = at::zeros({bags, width}, TensorOptions().dtype(kLong));
    std::vector<bool> seen(static_cast<size_t>(bags));
    for (int64_t i = 0; i < count; ++i) {
      if (!used.data_ptr<bool>()[i]) continue;
      const int64_t b = bag_of.data_ptr<int64_t>()[i];
      int64_t* best = max_indices.data_ptr<int64_t>() + b * width;
      for (int64_t k = 0; k < width; ++k) {
        if (!seen[static_cast<size_t>(b)] || data[index[i] * width + k] > data[best[k] * width + k]) best[k] = index[i];
      }
      seen[static_cast<size_t>(b)] = true;
    }
  }
  return composed(weight, {here(flat), here(bag_of), here(sizes), here(used)}, here(max_indices), scale_grad_by_freq,
                  mode, sparse, per_sample_weights, padding);
}
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                                                         bool sparse, const std::optional<Tensor>& per_sample_weights,
                                                         bool include_last_offset, bool on_cpu) {
  return embedding_bag_padding(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                               include_last_offset, std::nullopt, on_cpu);
}

}  // namespace at::native
