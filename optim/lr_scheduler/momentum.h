#pragma once

#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace torch::optim {

/// Whether an optimizer's options have a `momentum`, or `betas`, the first of which is one.
bool has_momentum(OptimizerOptions& options, bool* is_beta = nullptr);
void set_momentum(OptimizerOptions& options, double value);

/// One number a group, from a list of one or of one a group; ValueError for another number of them.
std::vector<double> one_a_group(const char* name, const Optimizer& optimizer, const std::vector<double>& values);

/// Sets up the groups' momenta for a schedule that moves them between "base_momentum" and "max_momentum", where they
/// begin unless it is resumed. ValueError for an optimizer that has none.
void prepare_momenta(Optimizer& optimizer, const std::vector<double>& base, const std::vector<double>& most,
                     bool resumed);

/// A number among what else stands in a group.
double extra_number(const OptimizerParamGroup& group, const std::string& name);

}  // namespace torch::optim
