#include <torch/torch.h>

#include "examples/common/captured_step.h"

namespace examples {

struct CapturedStep::Graph {};

bool CapturedStep::is_available() {
  return false;
}

CapturedStep::CapturedStep(torch::Device, const std::function<void()>&) {
  TORCH_CHECK(false, "CUDA graphs need a program that is built with --config=cuda");
}
CapturedStep::~CapturedStep() = default;

void CapturedStep::replay() {}

}  // namespace examples
