// Distributions and transforms of recorded configurations.
#pragma once

#include <string>
#include <vector>

#include "distributions/distribution.h"
#include "distributions/transform.h"
#include "tests/recorded/recordings.h"

namespace recorded {

class DistributionValues {
 public:
  // `as_tensors`: plain numbers stand for tensors, as in the cases of invalid arguments.
  explicit DistributionValues(const Recordings& recordings, bool as_tensors = false)
      : recordings_(recordings), as_tensors_(as_tensors) {}

  // {"distribution": NAME, "config": ...}, {"transform": NAME, "config": ...}. Throws std::runtime_error for a name or
  // a setting that is not known, and what the constructor throws.
  torch::distributions::Distribution distribution(const Json& spec);
  torch::distributions::Distribution distribution(const std::string& name, const Json& config);
  torch::distributions::Transform transform(const Json& spec);

  // The floating-point tensors of all that was made, as leaves, in the order of PyTorch's arguments.
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  torch::distributions::Distribution made(const std::string& name, const Json& config);
  at::Tensor tensor(const Json& config, const char* key);
  torch::distributions::TensorOrNumber value(const Json& config, const char* key);
  std::vector<torch::distributions::Transform> transforms(const Json& list);

  const Recordings& recordings_;
  const bool as_tensors_;
  std::vector<at::Tensor> parameters_;
};

// That of a text of Python's, e.g. "greater_than(0.5)". Throws std::runtime_error for one that is not known.
torch::distributions::Constraint constraint_of(const std::string& text);

}  // namespace recorded
