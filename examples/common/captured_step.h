// A training step that is recorded once and then replayed: a CUDA graph. Only in programs that are built with
// --config=cuda.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>

namespace examples {

class CapturedStep {
 public:
  // Whether the program can capture at all.
  static bool is_available();

  // Records what `step` puts on a CUDA device. It must have run before, so that optimizer states are there,
  // and may not wait for the device. Nothing runs yet. Throws c10::Error for what cannot be captured, and where
  // is_available() is not so.
  CapturedStep(torch::Device device, const std::function<void()>& step);
  ~CapturedStep();

  // Runs the step with what now stands in the tensors that it read.
  void replay();

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace examples
