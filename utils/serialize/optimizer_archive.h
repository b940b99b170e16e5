// Optimizers and schedules in archives: torch::save(optimizer, path), Optimizer::save, and their state dictionaries.
#pragma once

#include "optim/optimizer.h"
#include "optim/state_dict.h"
#include "utils/serialize/archive.h"

namespace torch::serialize {

// Tensors and numbers under their own names.
void write_state(OutputArchive& archive, const optim::StateDict& state);
// All tensors and numbers of the archive; tensors are views of the file.
optim::StateDict read_state(const InputArchive& archive);

// Loading checks everything before anything changes (Optimizer::load_state_dict).
OutputArchive& operator<<(OutputArchive& archive, const optim::Optimizer& optimizer);
InputArchive& operator>>(InputArchive& archive, optim::Optimizer& optimizer);

}  // namespace torch::serialize
