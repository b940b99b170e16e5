// Programs that tests of quantization make of functions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "export/exported_program.h"

namespace torch::quantization::testing {

/// Parameters and buffers by name; buffers are those whose names end in running_mean and running_var.
using State = std::vector<std::pair<std::string, at::Tensor>>;
using Function = std::function<at::Tensor(std::map<std::string, at::Tensor>& state, const std::vector<at::Tensor>& x)>;

/// What capture() makes of a function, for inputs like these.
ExportedProgram program_of(const Function& function, const State& state, const std::vector<at::Tensor>& inputs);

/// The only result.
at::Tensor run(const ExportedProgram& program, const std::vector<at::Tensor>& inputs);

/// Seeded normal numbers of these sizes, `count` times.
std::vector<at::Tensor> images(int count, at::IntArrayRef sizes, uint64_t seed);

/// |got - want| / |want|, Euclidean norms.
double relative_error(const at::Tensor& got, const at::Tensor& want);

/// How many nodes call an operator.
int64_t count(const ExportedProgram& program, const std::string& op);

/// A residual network of convolutions with batch norms, max pooling, and a linear layer: a stem, `blocks` blocks, of
/// which every second one halves the image. `training`: of its batch norms.
Function small_resnet(int blocks, bool training = false);
State small_resnet_state(int blocks, int64_t channels, int64_t classes, uint64_t seed);

}  // namespace torch::quantization::testing
