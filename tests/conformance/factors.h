// Factorizations that are not unique: singular vectors and eigenvectors have a sign or a phase that nothing determines.
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

// What is wrong with the results of an operator `name` by their definition: "svd", "eigh". Values are the recorded
// ones, vectors are orthonormal, and together they make the argument.
std::optional<Mismatch> factors_difference(const std::string& rule, const std::string& name,
                                           const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected,
                                           const c10::Stack& args);

}  // namespace conformance
