// A capture under way: what capture() and capture_joint() share.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/capture/capture.h"
#include "graph/capture/recorder.h"

namespace torch::graph {

/// f(tensor) for each tensor in a value, in order.
void for_tensors(const c10::IValue& v, const std::function<void(const at::Tensor&)>& f);

class Capturing {
 public:
  Capturing(const CaptureOptions& options, const c10::Stack& inputs);

  Recorder& recorder() { return *recorder_; }
  /// The inputs so far, in order: state, and what is in the inputs.
  const std::vector<std::pair<at::Tensor, Value*>>& inputs() const { return inputs_; }
  /// Another input.
  Value* bind(const at::Tensor& tensor, std::string name);
  /// From now on a tensor that is not known, and more than a number, throws NotImplementedError with this text.
  void refuse_constants(std::string why) { refused_ = std::move(why); }
  /// The graph with these outputs.
  Captured finish(const c10::Stack& outputs);

 private:
  Operand constant(const at::Tensor& tensor);
  void before(const c10::OperatorHandle& op, const c10::Stack& arguments);

  const CaptureOptions& options_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Recorder> recorder_;
  Captured captured_;
  std::string refused_;
  std::vector<std::pair<at::Tensor, Value*>> inputs_;
  std::set<const c10::TensorImpl*> bound_;
  std::map<const void*, at::Tensor> state_;  // by storage
  std::vector<std::pair<at::Tensor, int64_t>> constants_;
  std::set<const void*> storages_;
};

}  // namespace torch::graph
