#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "func/batched_tensor.h"
#include "func/reverse_level.h"

namespace torch::func::detail {

/// result[i][j]: the Jacobian of output i by input j, of the sizes of the output followed by those of the input, from batched
/// products with rows of the identity, `chunk_size` of them at a time (default: all). Throws Error for complex outputs.
std::vector<TensorList> jacobian_by_rows(const Pullback& pullback, const TensorList& outputs, const TensorList& inputs,
                                         std::optional<int64_t> chunk_size);

/// What a function returned: what is differentiated, and tensors that are returned beside that.
struct Called {
  TensorList outputs;
  std::vector<at::Tensor*> aux;
};

/// The same from batched tangents, which are columns of the identity. `function` maps tensors of the inputs' sizes to the outputs;
/// it is called once, inside of vmap, and what it returns beside them is replaced by that of the first tangent. Throws Error for complex inputs.
std::vector<TensorList> jacobian_by_columns(const std::function<Called(const TensorList& inputs)>& function,
                                            const TensorList& inputs, Randomness randomness);

}  // namespace torch::func::detail
