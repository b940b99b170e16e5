// A model of 8 billion parameters, without their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "nn/module/module.h"
#include "nn/module/module_holder.h"

namespace torch::distributed::scaling {

/// The sizes of Llama 3.1 8B.
struct LlamaSizes {
  int64_t layers = 32, width = 4096, hidden = 14336, key_width = 1024, vocabulary = 128256;
};

/// Parameters that are used together: the embedding, a layer, or the last norm and the head. They are on the meta
/// device, and used in the order in which the model uses them: what data parallelism goes by. A layer does not attend:
/// that has no parameters.
class LlamaUnitImpl : public nn::Module {
 public:
  enum class Kind : uint8_t { kEmbedding, kLayer, kHead };
  LlamaUnitImpl(Kind kind, const LlamaSizes& sizes);
  at::Tensor forward(const at::Tensor& x);
  int64_t elements() const;
  TORCH_MODULE_TENSORS(embedding, attention_norm, query, key, value, output, norm, gate, up, down, head)

 private:
  at::Tensor make(const std::string& name, at::IntArrayRef sizes);

  const Kind kind_;
  const int64_t repeats_;  // of keys and values
  at::Tensor embedding, attention_norm, query, key, value, output, norm, gate, up, down, head;
};
TORCH_MODULE(LlamaUnit);

class LlamaImpl : public nn::Module {
 public:
  explicit LlamaImpl(const LlamaSizes& sizes = {});
  /// tokens: int64, any sizes. The sum of the logits.
  at::Tensor forward(const at::Tensor& tokens);

  /// The embedding, the layers, the head.
  std::vector<LlamaUnit> units;
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

/// What a rank does in a step with fully_shard() for each unit, in order. It is run, with units of `sizes` that the
/// ranks divide, in bfloat16 with gradients reduced in float32; each unit is gathered while the one before it is
/// computed with, and the last one stays from forward to backward.
struct ShardedPlan {
  enum class Kind : uint8_t {
    kGather,   // a unit's parameters, or a part, are gathered from now on, as soon as what was started before is done
    kScatter,  // its gradients, or a part, are reduced
    kWait,     // what was started as number `collective` must be done
    kForward,  // the unit is computed with
    kBackward,
  };
  struct Event {
    Kind kind = Kind::kWait;
    size_t unit = 0, collective = 0;
    double part = 0;  // of the unit's elements
  };
  std::vector<Event> events;
  size_t collectives = 0;
};
ShardedPlan sharded_plan(int64_t ranks, const LlamaSizes& sizes);

}  // namespace torch::distributed::scaling
