// Copies of a state that training may change while they are saved.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "aten/core/tensor.h"
#include "distributed/checkpoint/state.h"

namespace torch::distributed::checkpoint {

/// What async_save() asks for a copy of the state.
class AsyncStager {
 public:
  virtual ~AsyncStager() = default;
  /// `state_dict` has no Stateful objects. What is returned does not change with it.
  virtual StateDict stage(const StateDict& state_dict) = 0;
  /// Whether async_save() calls synchronize_staging() before it returns; else the caller does, before the state
  /// changes.
  virtual bool should_synchronize_after_execute() const { return true; }
  virtual void synchronize_staging() {}
};

/// Copies to the memory of the host, and returns when that is done.
class BlockingAsyncStager : public AsyncStager {
 public:
  /// With `cache_staged_state_dict` the memory of the copies is kept, and used for the next.
  explicit BlockingAsyncStager(bool cache_staged_state_dict = false) : cache_(cache_staged_state_dict) {}
  StateDict stage(const StateDict& state_dict) override;
  bool should_synchronize_after_execute() const override { return false; }

 private:
  at::Tensor copy_of(const std::string& name, const at::Tensor& tensor);
  c10::IValue copy_of(const std::string& name, const c10::IValue& value);

  const bool cache_;
  std::unordered_map<std::string, at::Tensor> kept_;
};

}  // namespace torch::distributed::checkpoint
