// The operations of a graph, and how they are computed.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/cuda_on_host/cudnn/state.h"

namespace cudnn_standin {

enum class Part { kForward, kGradFilter, kGradData };

/// The names of a convolution's attributes.
struct ConvolutionNames {
  Part part;
  int x, w, y, description, alpha, beta;
};
ConvolutionNames names_of(cudnnBackendDescriptorType_t operation);

struct Operand {
  const Descriptor* tensor;
  bool writes;
};
/// Of a finalized operation; a convolution's are x, w and y.
std::vector<Operand> operands_of(const Descriptor& operation);

/// Runs the operations of a graph one after the other, `data` being the memory of each tensor that is not virtual;
/// `run`: how many ran before.
void compute(const Descriptor& graph, const Engine& engine, const std::map<int64_t, void*>& data, uint64_t run);

}  // namespace cudnn_standin
