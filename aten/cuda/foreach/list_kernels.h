// Pointwise operators on lists of tensors in one launch: see list_call.h.
#pragma once

#include "c10/core/scalar_type.h"

namespace at::cuda {

struct ListCall;

void add_lists(c10::ScalarType dtype, const ListCall& call);
void add_scaled_lists(c10::ScalarType dtype, const ListCall& call);
void sub_lists(c10::ScalarType dtype, const ListCall& call);
void mul_lists(c10::ScalarType dtype, const ListCall& call);
void div_lists(c10::ScalarType dtype, const ListCall& call);
void addcmul_lists(c10::ScalarType dtype, const ListCall& call);
void addcdiv_lists(c10::ScalarType dtype, const ListCall& call);
void lerp_lists(c10::ScalarType dtype, const ListCall& call);
void lerp_scalar_lists(c10::ScalarType dtype, const ListCall& call);
void sqrt_lists(c10::ScalarType dtype, const ListCall& call);

}  // namespace at::cuda
