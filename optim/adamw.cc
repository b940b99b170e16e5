#include "optim/adamw.h"

#include "optim/adam_family-inl.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, AdamW)

template struct AdamFamilyOptions<AdamWOptions>;
template struct AdamFamilyParamState<AdamWParamState>;
template class AdamFamily<AdamWOptions, AdamWParamState>;

}  // namespace torch::optim
