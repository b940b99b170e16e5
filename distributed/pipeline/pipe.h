// A model that is cut into stages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/pipeline/stage.h"
#include "nn/module/sequential.h"

namespace torch::distributed::pipelining {

/// Where a stage begins: before a module or behind it.
enum class SplitPoint : uint8_t { BEGINNING, END };

/// What build_stage() must know of a pipeline.
struct PipeInfo {
  int64_t num_stages = 0;
};

/// The stages of a model.
class Pipe {
 public:
  explicit Pipe(std::vector<nn::Sequential> stages) : stages_(std::move(stages)) {}

  int64_t num_stages() const { return static_cast<int64_t>(stages_.size()); }
  PipeInfo info() const { return {num_stages()}; }
  /// The modules of a stage, the model's own, under the names that they have there. Throws IndexError where there is no
  /// such stage.
  nn::Sequential get_stage_module(int64_t stage_index) const;
  PipelineStage build_stage(int64_t stage_index, c10::Device device = c10::DeviceType::CPU,
                            PipelineStageOptions options = {}) const;

 private:
  std::vector<nn::Sequential> stages_;
};

/// Cuts a model at modules of `split_spec`, by name:
///
///   torch::nn::Sequential model({{"embedding", ...}, {"layers", layers}, {"head", ...}});   // layers: a Sequential
///   Pipe pipe = pipeline(model, {{"layers.4", SplitPoint::BEGINNING}});
///   PipelineStage stage = pipe.build_stage(rank, torch::kCPU, {group});
///
/// C++ has no tracer that would see into any forward(), so what can be cut is a Sequential, and Sequentials within it,
/// at any depth: of these it is known that each module gets what the one before it gave. Parameters keep their names.
/// Throws ValueError where there is no such module, where it lies within something that is no Sequential, and where a
/// stage would have no modules.
Pipe pipeline(const nn::Sequential& module, const std::map<std::string, SplitPoint>& split_spec);

/// A stage of the pipeline with another module in the place of its own, such as a DistributedDataParallel around it.
template <class Module>
PipelineStage build_stage(const Module& stage_module, int64_t stage_index, const PipeInfo& info,
                          c10::Device device = c10::DeviceType::CPU, PipelineStageOptions options = {}) {
  return PipelineStage(stage_module, stage_index, info.num_stages, device, std::move(options));
}

}  // namespace torch::distributed::pipelining
