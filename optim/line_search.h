#pragma once

#include <cstdint>
#include <functional>

#include "aten/core/tensor.h"

namespace torch::optim {

/// A place on a line, in steps of its direction: the loss there, the gradient and its slope along the line.
struct LinePoint {
  double t = 0, loss = 0, slope = 0;
  at::Tensor grad;
};

/// A place that meets the strong Wolfe conditions, or the best of 25 (Nocedal and Wright, Numerical Optimization,
/// algorithms 3.5 and 3.6, with cubic interpolation). `from` is the place at 0, `t` the first one to try; `evaluations`
/// counts calls.
LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& from,
                       const at::Tensor& direction, double t, int64_t* evaluations);

}  // namespace torch::optim
