#include "jit/api/executor_settings.h"

#include <mutex>
#include <utility>

namespace torch::jit {
namespace {

std::mutex mutex;
FusionStrategy fusion_strategy = {{FusionBehavior::STATIC, 2}, {FusionBehavior::DYNAMIC, 10}};
std::atomic<bool> profiling_mode{true}, executor_mode{true}, optimize{true}, fuser_enabled{true};
std::atomic<size_t> profiled_runs{1}, bailout_depth{20};

}  // namespace

FusionStrategy getFusionStrategy() {
  const std::lock_guard lock(mutex);
  return fusion_strategy;
}
FusionStrategy setFusionStrategy(const FusionStrategy& strategy) {
  const std::lock_guard lock(mutex);
  return std::exchange(fusion_strategy, strategy);
}
std::atomic<bool>& getProfilingMode() {
  return profiling_mode;
}
std::atomic<bool>& getExecutorMode() {
  return executor_mode;
}
std::atomic<size_t>& getNumProfiledRuns() {
  return profiled_runs;
}
std::atomic<size_t>& getBailoutDepth() {
  return bailout_depth;
}
bool getGraphExecutorOptimize() {
  return optimize;
}
void setGraphExecutorOptimize(bool on) {
  optimize = on;
}
bool tensorExprFuserEnabled() {
  return fuser_enabled;
}
void setTensorExprFuserEnabled(bool on) {
  fuser_enabled = on;
}

}  // namespace torch::jit
