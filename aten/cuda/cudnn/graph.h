// Convolutions as cuDNN's operation graphs.
#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "aten/cuda/conv/convolution_call.h"
#include "aten/cuda/cudnn/descriptor.h"

namespace at::cuda::cudnn {

/// Numbers of the tensors of a convolution's graph, by which a call names their memory.
enum class TensorId : int64_t { kX = 1, kW, kY, kBias, kAdd, kFirstVirtual };

/// A convolution in two or three directions on dense tensors of one layout, by all that decides about the library's
/// choice.
struct ConvolutionProblem {
  ConvolutionPart part = ConvolutionPart::kForward;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dims = 4;                                                  // of each tensor
  std::array<int64_t, 5> x{}, w{}, y{};                          // sizes
  std::array<int64_t, 3> padding{}, stride{}, dilation{};        // in front and behind; in each direction
  bool channels_last = false;                                    // of all tensors
  int64_t x_alignment = 16, w_alignment = 16, y_alignment = 16;  // of addresses, in bytes
  int64_t bias_alignment = 16, add_alignment = 16;
  // Of kForward: sum + alpha * add, + bias, then 0 where that is less, each as it is asked for.
  bool has_bias = false, has_add = false, relu = false;
  double alpha = 1;
};

/// Whether the sizes are those of a convolution: with output_padding beyond the stride they are not.
bool is_consistent(const ConvolutionProblem& problem);

/// An operation graph and what it is made of.
struct Graph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

/// The graph, finalized; null where the library has not such operations. Without a handle it can be validated, but not
/// run.
std::optional<Graph> make_graph(const ConvolutionProblem& problem, cudnnHandle_t handle);

}  // namespace at::cuda::cudnn
