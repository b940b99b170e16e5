// Settings of libtorch's graph executor that programs make. There is one way to run a graph here, which asks for none
// of them: they are kept, and change nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace torch::jit {

enum class FusionBehavior { STATIC, DYNAMIC };
using FusionStrategy = std::vector<std::pair<FusionBehavior, size_t>>;

FusionStrategy getFusionStrategy();
/// Returns what it was.
FusionStrategy setFusionStrategy(const FusionStrategy& strategy);

std::atomic<bool>& getProfilingMode();
std::atomic<bool>& getExecutorMode();
std::atomic<size_t>& getNumProfiledRuns();
std::atomic<size_t>& getBailoutDepth();

bool getGraphExecutorOptimize();
void setGraphExecutorOptimize(bool on);
struct GraphOptimizerEnabledGuard {
  explicit GraphOptimizerEnabledGuard(bool on) : before_(getGraphExecutorOptimize()) { setGraphExecutorOptimize(on); }
  ~GraphOptimizerEnabledGuard() { setGraphExecutorOptimize(before_); }
  GraphOptimizerEnabledGuard(const GraphOptimizerEnabledGuard&) = delete;
  GraphOptimizerEnabledGuard& operator=(const GraphOptimizerEnabledGuard&) = delete;

 private:
  bool before_;
};

bool tensorExprFuserEnabled();
void setTensorExprFuserEnabled(bool on);

}  // namespace torch::jit
