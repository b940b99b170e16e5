#include "optim/adam.h"

#include "optim/adam_family-inl.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, Adam)

template struct AdamFamilyOptions<AdamOptions>;
template struct AdamFamilyParamState<AdamParamState>;
template class AdamFamily<AdamOptions, AdamParamState>;

}  // namespace torch::optim
