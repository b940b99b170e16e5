#pragma once

namespace at::Reduction {

// How a loss combines its elements.
enum Reduction {
  None,  // keep them
  Mean,  // average, weighted where there are weights
  Sum,
  END,
};

}  // namespace at::Reduction
