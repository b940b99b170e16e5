#pragma once

#include <string>

namespace conformance {

// An overload that has no answer for tensors on meta, in some cases or in all, because its result is not known without
// their elements.
struct NeedsElements {
  const char* name;  // "index@Tensor"
  bool always;
  const char* reason;
};

// The entry of that name, or null.
const NeedsElements* needs_elements(const std::string& name);

}  // namespace conformance
