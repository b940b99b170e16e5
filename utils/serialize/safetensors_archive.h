// Archives as safetensors files. A nested archive "b" with a tensor "w" is the tensor "b.w", so that a saved module
// holds exactly the keys of its Python state_dict and Python's safetensors reads it. Values are metadata, "value.KEY" =
// kind, ':', text: numbers, texts, lists of numbers and None. Order, buffers and shared memory are not kept.
#pragma once

#include "utils/serialize/archive_format.h"

namespace torch::serialize {

const ArchiveFormat& safetensors_archive_format();

}  // namespace torch::serialize
