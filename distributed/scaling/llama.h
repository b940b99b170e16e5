// A model of 8 billion parameters, without their values.
#pragma once

#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "nn/module/module.h"
#include "nn/module/module_holder.h"

namespace torch::distributed::scaling {

/// The sizes of Llama 3.1 8B.
struct LlamaSizes {
  int64_t layers = 32, width = 4096, hidden = 14336, key_width = 1024, vocabulary = 128256;
};

/// Its parameters, on the meta device, used in the order in which the model uses them: what data parallelism goes by.
/// It does not attend: that has no parameters.
class LlamaImpl : public nn::Module {
 public:
  explicit LlamaImpl(const LlamaSizes& sizes = {});
  /// tokens: int64, any sizes, on the meta device. The sum of the logits.
  at::Tensor forward(const at::Tensor& tokens);
  /// Elements of the embedding, of one layer, and of the last norm and the head.
  std::vector<int64_t> units() const;

 private:
  struct Layer {
    at::Tensor attention_norm, query, key, value, output, norm, gate, up, down;
  };
  at::Tensor make(const std::string& name, at::IntArrayRef sizes);

  LlamaSizes sizes_;
  at::Tensor embedding_, norm_, head_;
  std::vector<Layer> layers_;
};
TORCH_MODULE(Llama);

/// What DistributedDataParallel does in an iteration on `ranks` ranks, from its second on: it is run, with gradients
/// that have no values.
struct DataParallelPlan {
  struct Bucket {
    double bytes = 0;
    double backward = 0;  // the part of the backward pass, by elements of parameters, after which it is full
  };
  std::vector<Bucket> buckets;  // in the order in which they are reduced
};
DataParallelPlan data_parallel_plan(int64_t ranks);

}  // namespace torch::distributed::scaling
