// Ranks as threads, with a process group each; models and twins of them, for tests of data-parallel training.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/process_group/process_group.h"
#include "nn/module/module.h"

namespace c10d::testing {

using Group = c10::intrusive_ptr<ProcessGroup>;
using GroupBody = std::function<void(int rank, const Group& group)>;

/// As run_ranks and errors_of_ranks; operations have the deadline `timeout`.
void run_group(int size, const GroupBody& body, std::chrono::milliseconds timeout = std::chrono::seconds(20));
std::vector<std::string> errors_of_group(int size, const GroupBody& body,
                                         std::chrono::milliseconds timeout = std::chrono::seconds(20));

/// Numbers between -1 and 1 that `seed` decides.
at::Tensor numbers(at::IntArrayRef sizes, int seed, c10::ScalarType dtype = c10::kFloat);
/// All floating parameters and buffers become numbers of a seed each.
void fill(torch::nn::Module& module, int seed);

/// Whether all elements are the same, bit for bit, or differ by at most `tolerance` relative to the largest.
void expect_equal(const at::Tensor& a, const at::Tensor& b, double tolerance, const std::string& what);
void expect_same_parameters(const torch::nn::Module& a, const torch::nn::Module& b, double tolerance,
                            bool gradients = false);

}  // namespace c10d::testing
