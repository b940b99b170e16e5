// Functions whose forward and backward passes are replayed as CUDA graphs.
//
//   auto layer = torch::cuda::make_graphed_callables(function, {sample}, {weight, bias});
//   auto y = layer({x});   // replays
//   y[0].sum().backward(); // replays
#pragma once

#include <functional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cuda/graph.h"

namespace torch::cuda {

/// Takes and gives CUDA tensors of sizes that are always the same.
using Callable = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct GraphedCallablesOptions {
  /// Calls, with their gradients, before the captures.
  int num_warmup_iters = 3;
  /// Whether arguments and parameters may have no part in the results.
  bool allow_unused_input = false;
  at::cuda::MempoolId_t pool = {0, 0};
};

/// A function in the place of `callable`: it copies its arguments to the sample's memory and replays the graph that was
/// captured there; so does its gradient. `parameters` are the other tensors that get gradients. Results lie in memory
/// that the next call writes to, and have a gradient once, before the next call. Arguments must require gradients as
/// the samples do. Throws c10::Error for samples that are not CUDA tensors and, when called, for arguments that differ
/// from them in number, sizes, dtype or device, and for what cannot be captured.
Callable make_graphed_callables(const Callable& callable, const std::vector<at::Tensor>& sample_args,
                                const std::vector<at::Tensor>& parameters = {},
                                const GraphedCallablesOptions& options = {});

/// The same for several that are always called in this order, and whose gradients are taken in the reverse one: they
/// share memory. `parameters` has a list for each, or none.
std::vector<Callable> make_graphed_callables(const std::vector<Callable>& callables,
                                             const std::vector<std::vector<at::Tensor>>& sample_args,
                                             const std::vector<std::vector<at::Tensor>>& parameters = {},
                                             const GraphedCallablesOptions& options = {});

}  // namespace torch::cuda
