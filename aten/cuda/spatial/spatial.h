#pragma once

#include "aten/core/tensor.h"
#include "aten/cuda/spatial/spatial_call.h"

namespace at::cuda {

/// `t`, of `dims` dimensions behind batch and channels, or behind channels alone; an undefined tensor has no memory.
Volume volume_of(const TensorBase& t, int dims);
/// What a kernel that makes `t` goes through, in the order of its memory. Throws c10::Error where `t` or `other`, what
/// it is made of, has 2^31 elements or more a plane; `name` stands in the message.
SpatialSizes sizes_of(const char* name, const TensorBase& t, const TensorBase& other, int dims);

}  // namespace at::cuda
