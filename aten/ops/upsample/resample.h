#pragma once
// Interpolation in up to three dimensions by a plan for each of them.

#include <array>

#include "aten/core/tensor.h"
#include "aten/ops/upsample/axis_plan.h"
#include "aten/ops/upsample/upsample_geometry.h"

namespace at::native {

// x, dense in g.format and of floating dtype, or in two dimensions uint8, to y, dense in it too.
void resample(const char* op, const UpsampleGeometry& g, const std::array<AxisPlan, 3>& plans, const Tensor& x,
              const Tensor& y);

}  // namespace at::native
