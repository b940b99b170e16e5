#pragma once
// Which elements of an input's dimension make up each element of the result's, and with what weights: all that the
// modes of interpolation differ in. They work dimension by dimension.

#include <cstdint>
#include <optional>
#include <vector>

#include "aten/cpu/resample/resample.h"
#include "aten/ops/upsample/axis_formulas.h"
#include "c10/util/array_ref.h"

namespace at::native {

// Element i of `out` elements is sum_k weight[k] * x[index[k]] over offset[i] <= k < offset[i + 1]; the indices of an
// element ascend, and so do those of one element after another. Indices at a border may occur twice.
struct AxisPlan {
  int64_t in = 1, out = 1;
  std::vector<int64_t> offset, index;
  std::vector<double> weight;

  // Whether nothing happens in this dimension.
  bool identity() const;
  // The most elements, one after the other, that one element reads from.
  int64_t span() const;
};

// `scale`, out over in as the caller gave it, decides where elements lie if it is there and positive, and not
// `align_corners`; else the sizes do. `op` is named in errors.
AxisPlan axis_plan(const char* op, Filter filter, int64_t in, int64_t out, bool align_corners,
                   std::optional<double> scale);
AxisPlan identity_plan(int64_t size);

// The adjoint: from elements of the result to those of the input.
AxisPlan transposed(const AxisPlan& plan);
// Each index once.
AxisPlan merged(const AxisPlan& plan);

// The place in the input of each element of the result in one dimension, for the filters kNearest and kNearestExact.
std::vector<int64_t> nearest_indices(Filter filter, int64_t in, int64_t out, std::optional<double> scale,
                                     NearestRule rule);

// A plan for the inner loops, in which each index stands for `channels` neighbouring elements.
template <class C>
class Taps {
 public:
  Taps(const AxisPlan& plan, int64_t channels);
  cpu::RowTaps<C> view() const;

 private:
  int64_t x_size_;
  std::vector<int64_t> offset_, index_;
  std::vector<C> weight_, weight_by_tap_;
  std::vector<int32_t> index_by_tap_;
  int uniform_ = 0;
};
// Weights of `shift` fractional bits.
class ByteTaps {
 public:
  ByteTaps(const AxisPlan& plan, int64_t channels);
  cpu::RowTaps<int16_t> view() const;
  int shift() const { return shift_; }

 private:
  std::vector<int64_t> offset_, index_;
  std::vector<int16_t> weight_;
  int shift_ = 1;
};

}  // namespace at::native
