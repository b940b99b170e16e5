#include "aten/ops/upsample/resample.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "aten/core/empty.h"
#include "aten/cpu/support/visit_dtype.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kGrain = 16384;     // elements worth a thread
constexpr int64_t kFewChannels = 16;  // below, pixels are not rows of their own
constexpr int64_t kChunk = 4096;      // elements of a row that are summed at once

template <class T>
using Compute = typename cpu::ComputeType<T>::type;

int64_t most_taps(const AxisPlan& plan) {
  int64_t most = 0;
  for (size_t i = 0; i + 1 < plan.offset.size(); ++i) most = std::max(most, plan.offset[i + 1] - plan.offset[i]);
  return most;
}

// A plan over rows: pointers to those that make up row i, and their weights.
template <class C>
class RowSums {
 public:
  explicit RowSums(const AxisPlan& plan)
      : plan_(plan), weight_(plan.weight.begin(), plan.weight.end()), most_(static_cast<size_t>(most_taps(plan))) {}

  // `row_of(j)` is the address of row j. `rows` has room for most() pointers.
  template <class From, class To, class RowOf>
  void sum(int64_t i, std::vector<const From*>& rows, const RowOf& row_of, To* y, int64_t n) const {
    const int64_t begin = plan_.offset[static_cast<size_t>(i)];
    const int64_t count = plan_.offset[static_cast<size_t>(i + 1)] - begin;
    for (int64_t k = 0; k < count; ++k)
      rows[static_cast<size_t>(k)] = row_of(plan_.index[static_cast<size_t>(begin + k)]);
    cpu::combine_rows<From, To>(rows.data(), weight_.data() + begin, count, y, n);
  }
  size_t most() const { return most_; }
  const AxisPlan& plan() const { return plan_; }

 private:
  const AxisPlan& plan_;
  std::vector<C> weight_;
  size_t most_;
};

// A plan along a row of pixels of `channels` elements.
template <class C>
class AlongRow {
 public:
  AlongRow(const AxisPlan& plan, int64_t channels) : pixels_(plan), channels_(channels) {
    if (channels < kFewChannels) taps_.emplace(plan, channels);
  }
  template <class From, class To>
  void run(const From* x, std::vector<const From*>& rows, To* y) const {
    if (taps_.has_value()) return cpu::resample_row<From, To>(x, taps_->view(), y);
    for (int64_t i = 0; i < pixels_.plan().out; ++i) {
      pixels_.sum(
          i, rows, [&](int64_t j) { return x + j * channels_; }, y + i * channels_, channels_);
    }
  }
  size_t most() const { return pixels_.most(); }

 private:
  RowSums<C> pixels_;
  int64_t channels_;
  std::optional<Taps<C>> taps_;
};

// The rows of a plane after the pass along them, of which the last few are kept: `span` neighbours never share a place.
template <class C>
class KeptRows {
 public:
  KeptRows(int64_t span, int64_t width)
      : width_(width), row_(static_cast<size_t>(span), -1), data_(static_cast<size_t>(span * width)) {}
  template <class Make>
  const C* get(int64_t row, const Make& make) {
    const size_t place = static_cast<size_t>(row) % row_.size();
    C* data = data_.data() + place * static_cast<size_t>(width_);
    if (row_[place] != row) {
      make(data);
      row_[place] = row;
    }
    return data;
  }
  void clear() { std::fill(row_.begin(), row_.end(), -1); }

 private:
  int64_t width_;
  std::vector<int64_t> row_;
  std::vector<C> data_;
};

// f(plane, row of the result, whether the plane is a new one), all rows of all planes in parallel pieces; `buffers`
// makes what a piece works with.
template <class Buffers, class F>
void for_each_row(int64_t planes, int64_t rows, int64_t work, const Buffers& buffers, const F& f) {
  at::parallel_for(0, planes * rows, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
    auto b = buffers();
    for (int64_t r = begin; r < end; ++r) f(b, r / rows, r % rows, r == begin || r % rows == 0);
  });
}

// `planes` times [height, width, channels], rows first where that leaves less to do along them.
template <class From, class To>
void resample_planes(const From* x, To* y, int64_t planes, int64_t channels, const AxisPlan& height,
                     const AxisPlan& width) {
  using C = Compute<From>;
  const RowSums<C> down(height);
  const AlongRow<C> along(width, channels);
  const int64_t in_width = width.in * channels, out_width = width.out * channels, work = std::max(in_width, out_width);
  const auto row_in = [&](int64_t plane, int64_t j) { return x + (plane * height.in + j) * in_width; };
  const auto row_out = [&](int64_t plane, int64_t i) { return y + (plane * height.out + i) * out_width; };
  const auto pointers = [&] { return std::vector<const From*>(std::max(down.most(), along.most())); };
  if constexpr (sizeof(From) > 2 || sizeof(To) > 2) {
    if (height.identity()) {
      return for_each_row(planes, height.out, work, pointers, [&](auto& rows, int64_t p, int64_t i, bool) {
        along.run(row_in(p, i), rows, row_out(p, i));
      });
    }
    if (width.identity()) {
      return for_each_row(planes, height.out, work, pointers, [&](auto& rows, int64_t p, int64_t i, bool) {
        down.sum(
            i, rows, [&](int64_t j) { return row_in(p, j); }, row_out(p, i), out_width);
      });
    }
  }
  struct Buffers {
    std::vector<const From*> from;
    std::vector<const C*> to;
    KeptRows<C> kept;
  };
  const bool down_first = height.out < height.in;
  const int64_t span = down_first ? 1 : height.span();
  const auto buffers = [&] {
    return Buffers{pointers(), std::vector<const C*>(std::max(down.most(), along.most())),
                   KeptRows<C>(span, down_first ? in_width : out_width)};
  };
  for_each_row(planes, height.out, work, buffers, [&](Buffers& b, int64_t p, int64_t i, bool fresh) {
    if (down_first || fresh) b.kept.clear();
    if (down_first) {
      const C* row = b.kept.get(i, [&](C* to) {
        down.sum(
            i, b.from, [&](int64_t j) { return row_in(p, j); }, to, in_width);
      });
      along.run(row, b.to, row_out(p, i));
    } else {
      const auto row_of = [&](int64_t j) { return b.kept.get(j, [&](C* to) { along.run(row_in(p, j), b.from, to); }); };
      down.sum(i, b.to, row_of, row_out(p, i), out_width);
    }
  });
}

// The outermost of three dimensions: `planes` times [depth, inner].
template <class From, class To>
void resample_depth(const From* x, To* y, int64_t planes, int64_t inner, const AxisPlan& depth) {
  const RowSums<Compute<From>> sums(depth);
  const int64_t chunks = (inner + kChunk - 1) / kChunk;
  const auto pointers = [&] { return std::vector<const From*>(sums.most()); };
  for_each_row(planes, depth.out * chunks, std::min(inner, kChunk), pointers,
               [&](auto& rows, int64_t p, int64_t i, bool) {
                 const int64_t z = i / chunks, first = i % chunks * kChunk, n = std::min(kChunk, inner - first);
                 sums.sum(
                     z, rows, [&](int64_t j) { return x + (p * depth.in + j) * inner + first; },
                     y + (p * depth.out + z) * inner + first, n);
               });
}

template <class T>
void resample_floats(const UpsampleGeometry& g, const std::array<AxisPlan, 3>& plans, const Tensor& x,
                     const Tensor& y) {
  using C = Compute<T>;
  const T* from = static_cast<const T*>(x.const_data_ptr());
  T* to = static_cast<T*>(y.mutable_data_ptr());
  const auto& [depth, height, width] = plans;
  if (depth.identity()) return resample_planes(from, to, g.planes * g.in[0], g.channels, height, width);
  const bool depth_first = g.out[0] < g.in[0];
  const int64_t before = g.in[1] * g.in[2] * g.channels, after = g.out[1] * g.out[2] * g.channels;
  const Tensor between = empty_contiguous({g.planes, depth_first ? g.out[0] * before : g.in[0] * after},
                                          std::is_same_v<C, double> ? kDouble : kFloat, x.device());
  C* values = static_cast<C*>(between.mutable_data_ptr());
  if (depth_first) {
    resample_depth(from, values, g.planes, before, depth);
    resample_planes<C, T>(values, to, g.planes * g.out[0], g.channels, height, width);
  } else {
    resample_planes(from, values, g.planes * g.in[0], g.channels, height, width);
    resample_depth<C, T>(values, to, g.planes, after, depth);
  }
}

// Along the rows first, each pass rounded, as images are resized.
void resample_bytes(const UpsampleGeometry& g, const AxisPlan& height, const AxisPlan& width, const Tensor& x,
                    const Tensor& y) {
  const ByteTaps along(width, g.channels), down(height, 1);
  const cpu::RowTaps<int16_t> across = along.view(), rows = down.view();
  const int64_t in_width = width.in * g.channels, out_width = width.out * g.channels, span = height.span();
  const uint8_t* from = static_cast<const uint8_t*>(x.const_data_ptr());
  uint8_t* to = static_cast<uint8_t*>(y.mutable_data_ptr());
  struct Buffers {
    std::vector<const uint8_t*> rows;
    KeptRows<uint8_t> kept;
  };
  const auto buffers = [&] {
    return Buffers{std::vector<const uint8_t*>(static_cast<size_t>(most_taps(height))),
                   KeptRows<uint8_t>(span, out_width)};
  };
  for_each_row(g.planes, height.out, std::max(in_width, out_width), buffers,
               [&](Buffers& b, int64_t p, int64_t i, bool fresh) {
                 if (fresh) b.kept.clear();
                 const int64_t begin = rows.offset[i], count = rows.offset[i + 1] - begin;
                 for (int64_t k = 0; k < count; ++k) {
                   const int64_t j = rows.index[begin + k];
                   b.rows[static_cast<size_t>(k)] = b.kept.get(j, [&](uint8_t* row) {
                     cpu::resample_byte_row(from + (p * height.in + j) * in_width, across, along.shift(), row);
                   });
                 }
                 cpu::combine_byte_rows(b.rows.data(), rows.weight + begin, count, down.shift(),
                                        to + (p * height.out + i) * out_width, out_width);
               });
}

}  // namespace

void resample(const char* op, const UpsampleGeometry& g, const std::array<AxisPlan, 3>& plans, const Tensor& x,
              const Tensor& y) {
  if (x.numel() == 0) return;
  if (x.scalar_type() == kByte) return resample_bytes(g, merged(plans[1]), merged(plans[2]), x, y);
  cpu::visit_floating(x.scalar_type(), op,
                      [&](auto tag) { resample_floats<typename decltype(tag)::type>(g, plans, x, y); });
}

}  // namespace at::native
