#include "optim/adam.h"

#include "optim/adam_family-inl.h"

namespace torch::optim {

template class AdamFamily<AdamOptions, AdamParamState>;

}  // namespace torch::optim
