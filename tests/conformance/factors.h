// Factorizations that are not unique: singular vectors and eigenvectors have a sign or a phase that nothing determines, and
// complex eigenvalues no order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"
#include "tests/conformance/compare.h"

namespace conformance {

// Whether the record's "compare" is a rule of factors_difference.
bool is_factors_rule(const std::string& rule);

// What is wrong with the results of an operator `name` by their definition: "svd", "eigh", "eig", "complex_set". Values are the
// recorded ones ("eig" and "complex_set": in any order), vectors are orthonormal ("eig": of length 1), and together they make the
// argument ("complex_set": there are no vectors). `free_choice` becomes true where the values are in another order: gradients, whose
// cotangents go by it, are not the recorded ones then.
std::optional<Mismatch> factors_difference(const std::string& rule, const std::string& name,
                                           const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected,
                                           const c10::Stack& args, bool& free_choice);

}  // namespace conformance
