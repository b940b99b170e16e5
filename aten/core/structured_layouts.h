#pragma once

#include "aten/core/structured.h"

namespace at::structured {

/// Writes a result of any layout into `out`, also where the two share memory: a strided one as assign_out() does; of a
/// sparse or nested one `out`, which is of that layout, takes size, elements and structure in memory of its own, and
/// what it held is gone. Throws c10::Error before anything is written for an output of another layout, of another
/// device or of a dtype that the result's cannot be cast to.
Tensor& assign_out_of_any_layout(const char* op, Tensor& out, const Tensor& result);

}  // namespace at::structured
