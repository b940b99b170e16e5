// The numbers that .pt2 files have for dtypes, layouts and memory formats.
#pragma once

#include <cstdint>
#include <optional>

#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/scalar_type.h"

namespace torch::pt2 {

std::optional<c10::ScalarType> dtype_of(int64_t number);
std::optional<c10::Layout> layout_of(int64_t number);
std::optional<c10::MemoryFormat> memory_format_of(int64_t number);

/// Null for what these files have no number for.
std::optional<int64_t> number_of(c10::ScalarType dtype);
std::optional<int64_t> number_of(c10::Layout layout);
std::optional<int64_t> number_of(c10::MemoryFormat format);

}  // namespace torch::pt2
