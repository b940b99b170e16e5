// Models of every format, behind one interface.
#pragma once

#include <string>
#include <vector>

#include "examples/serve/batcher.h"
#include "examples/serve/tensor_spec.h"

namespace serve {

struct ModelInfo {
  std::string format;  ///< "torch.export (.pt2)", "TorchScript" or "ONNX"
  std::string path;
  Signature signature;
  /// Those that are known before a run; `outputs_known` says whether these are all.
  std::vector<TensorSpec> outputs;
  bool outputs_known = false;
  /// Whether a run changes what the model holds: one at a time then.
  bool stateful = false;
  /// Why requests are not joined along dimension 0 of the inputs; empty: they may be.
  std::string not_batched;
  /// The most rows that a run takes.
  int64_t most_rows = INT64_MAX;
  /// A picture; empty where it would be too large.
  std::string graph_svg;
};

class Model {
 public:
  virtual ~Model() = default;
  const ModelInfo& info() const { return info_; }
  /// The outputs for inputs that fit the signature, one an input, undefined where it is left out. Throws Refused where
  /// they are at fault after all (an index out of range), std::bad_alloc, and std::exception where the model is. From
  /// several threads unless it is stateful.
  virtual std::vector<NamedTensor> run(std::vector<at::Tensor> inputs) = 0;

 protected:
  ModelInfo info_;
};

}  // namespace serve
