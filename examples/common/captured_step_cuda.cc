#include <ATen/cuda/CUDAGraph.h>

#include "examples/common/captured_step.h"

namespace examples {

struct CapturedStep::Graph {
  at::cuda::CUDAGraph graph;
};

bool CapturedStep::is_available() {
  return true;
}

CapturedStep::CapturedStep(torch::Device device, const std::function<void()>& step) : graph_(std::make_unique<Graph>()) {
  const c10::DeviceGuard guard(device);
  const torch::cuda::graph capture(graph_->graph);
  step();
}
CapturedStep::~CapturedStep() = default;

void CapturedStep::replay() {
  graph_->graph.replay();
}

}  // namespace examples
