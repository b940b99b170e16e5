// Options of AdaptiveLogSoftmaxWithLoss.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "c10/util/arg.h"

namespace torch::nn {

struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TORCH_ARG(int64_t, in_features);
  TORCH_ARG(int64_t, n_classes);
  // Where clusters of classes end: ascending, between 0 and n_classes.
  TORCH_ARG(std::vector<int64_t>, cutoffs);
  // By which each further cluster's features are fewer.
  TORCH_ARG(double, div_value) = 4.;
  TORCH_ARG(bool, head_bias) = false;
};

}  // namespace torch::nn
