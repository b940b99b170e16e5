#pragma once
// What kernels of several families ask of their arguments.

#include <optional>

#include "aten/core/tensor.h"

namespace at::native {

inline bool given(const std::optional<Tensor>& t) { return t.has_value() && t->defined(); }

// A factor that changes nothing; true counts as one.
inline bool is_one(const Scalar& factor) { return factor.isBoolean() ? factor.toBool() : factor.equal(int64_t{1}); }

}  // namespace at::native
