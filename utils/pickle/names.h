// The names that PyTorch's pickles have for dtypes and storages.
#pragma once

#include <optional>
#include <string_view>

#include "c10/core/layout.h"
#include "c10/core/scalar_type.h"

namespace torch::pickle {

// "float32" of torch.float32, or nothing.
std::optional<c10::ScalarType> dtype_of_name(std::string_view name);
std::string_view name_of_dtype(c10::ScalarType dtype);
// "torch.sparse_coo" as a layout, or nothing.
std::optional<c10::Layout> layout_of_name(std::string_view name);
std::string_view name_of_layout(c10::Layout layout);
// Byte for "UntypedStorage".
std::optional<c10::ScalarType> dtype_of_storage_class(std::string_view name);
// Empty for a dtype that has no class of storages.
std::string_view storage_class_of(c10::ScalarType dtype);
bool is_quantized(c10::ScalarType dtype);

}  // namespace torch::pickle
