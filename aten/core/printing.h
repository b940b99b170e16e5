#pragma once

#include <iosfwd>
#include <string>

#include "aten/core/tensor.h"

namespace at {

// A tensor as text: rows of a matrix line by line, slices of more dimensions headed "(1,.,.) = ", and last the kind with the
// sizes, "[ CPUFloatType{2,3} ]". Numbers that are all integral print without decimals, others with four, with a common
// scale ("1e-05 *") or in scientific notation where their range asks for it. `line_size`: characters a line may have;
// wider matrices come in groups of columns. Complex elements print as "1.0000+2.0000j".
std::string to_string(const Tensor& tensor, int64_t line_size = 80);

std::ostream& print(std::ostream& stream, const Tensor& tensor, int64_t line_size = 80);
// Writes one line to standard error: "[CPUFloatType [2, 3]]".
void print(const Tensor& tensor);
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace at
