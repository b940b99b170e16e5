// Functions of torch.nn.init and schedules of torch.optim by the names and arguments that they have in Python.
#pragma once

#include <memory>
#include <string>

#include "nn/init/init.h"
#include "optim/lr_scheduler/lr_scheduler.h"
#include "optim/lr_scheduler/reduce_on_plateau.h"
#include "tests/recorded/fields.h"

namespace recorded {

torch::nn::init::NonlinearityType nonlinearity_of(const std::string& name);
// Calls torch.nn.init's function `name` on `t`.
void initialize(const std::string& name, at::Tensor t, const Json& named);

// {"scheduler": class, "config": named arguments, "schedulers": its parts}. Null for a class that is not known here.
std::shared_ptr<torch::optim::LRScheduler> make_schedule(torch::optim::Optimizer& optimizer, const Json& schedule);
std::shared_ptr<torch::optim::ReduceLROnPlateauScheduler> make_plateau_schedule(torch::optim::Optimizer& optimizer,
                                                                                const Json& config);

}  // namespace recorded
