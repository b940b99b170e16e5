#pragma once
#include <cstddef>

namespace kindling_highway_example {

// y[i] += a * x[i], and the name of the instruction set it ran with.
void Axpy(float a, const float* x, float* y, size_t n);
const char* ChosenTargetName();

}  // namespace kindling_highway_example
