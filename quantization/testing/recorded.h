// What PyTorch recorded (testdata/record_qparams.py).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "quantization/observers/observer.h"
#include "utils/serialize/safetensors.h"

namespace torch::quantization::testing {

ObserverOptions options_of(const nlohmann::json& options, bool per_channel);
std::shared_ptr<UniformQuantizationObserverBase> observer_named(const std::string& name,
                                                                const ObserverOptions& options);

struct Recorded {
  Recorded();
  at::Tensor tensor(const nlohmann::json& one, const char* key) const {
    return tensors.get(one.at(key).get<std::string>());
  }
  nlohmann::json cases;
  safetensors::File tensors{"quantization/testdata/qparams.safetensors"};
};

}  // namespace torch::quantization::testing
