// torch.nn's classes by their Python names and constructor arguments, as recorded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/module/module.h"
#include "tests/recorded/fields.h"

namespace recorded {

using TensorOf = std::function<at::Tensor(const Json&)>;

// Named arguments: tensors are looked up by `tensor`.
struct Call {
  std::vector<at::Tensor> inputs;
  const Json* kwargs = nullptr;
  TensorOf tensor;
  // The recorded inputs, where they are not tensors alone.
  const Json* raw = nullptr;

  // Undefined where it is missing or null.
  at::Tensor named(const char* name) const;
  bool flag(const char* name, bool otherwise) const;
};

struct Built {
  std::shared_ptr<torch::nn::Module> module;
  std::function<std::vector<at::Tensor>(const Call&)> forward;
  // Whether construction draws as many random numbers as Python's.
  bool draws_as_python = true;
};

// {"function": NAME} of two tensors: "l1_distance" and "cosine_distance", or throws std::runtime_error.
std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> distance_function(const Json& function);

// Null module for a class that is not built here. `tensor` makes the tensors of a configuration.
Built build(const std::string& name, const Json& config, const TensorOf& tensor);

// Parts of it: layers that map tensors to tensors, and recurrent ones.
Built build_plain(const std::string& name, const Json& config, const TensorOf& tensor);
Built build_recurrent(const std::string& name, const Json& config);
// Lazy layers and SyncBatchNorm.
Built build_lazy(const std::string& name, const Json& config);
// The container of a case, by its id; null for one that is not known here.
std::shared_ptr<torch::nn::Module> build_container(const std::string& id);

}  // namespace recorded
