#pragma once

#include <cstdint>

namespace at::native {

// The numbers that Sobol sequences begin with, packed as sobol_kernels.cc says: new-joe-kuo-6.21201 by Stephen Joe and
// Frances Y. Kuo, 2008, whose licence stands in LICENSE.sobol. The polynomials, which are all primitive ones in order,
// are left out.
extern const uint8_t kSobolDirections[];

}  // namespace at::native
