#include "optim/adamw.h"

#include "optim/adam_family-inl.h"

namespace torch::optim {

template class AdamFamily<AdamWOptions, AdamWParamState>;

}  // namespace torch::optim
