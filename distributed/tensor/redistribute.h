// From one placement to another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/tensor/spec.h"

namespace torch::distributed::tensor {

/// This rank's part under `to` from its part under `from`: a call of all ranks of the mesh. Shards become whole by
/// all-gather, shards of other dimensions by all-to-all, partial values whole by all-reduce and shards by
/// reduce-scatter; whole tensors are cut, or become partial ones of which one rank has the value, without
/// communication. `local` itself, where nothing changes. Throws where a partial value would have to become one of
/// another reduction.
at::Tensor redistribute_local(const at::Tensor& local, const Spec& from, const std::vector<Placement>& to);

/// Seconds that a step from one placement to another takes along a dimension of `parts` ranks, for a tensor that has
/// `bytes` there: a constant for each message and the bytes over the bandwidth. A model, by which operators choose.
/// Infinite where there is no such step.
double transition_cost(const Placement& from, const Placement& to, double bytes, int64_t parts);

/// Adds one to what the thread's CommDebugModes have counted under that name.
void count_collective(const char* name);

/// Counts, by name ("all_gather", "all_reduce", "reduce_scatter", "all_to_all"), what distributed tensors do on this
/// thread while it lasts. Guards may be nested; each counts all.
///
///   CommDebugMode counted;
///   model->forward(x);
///   counted.get_comm_counts().at("all_reduce");
class CommDebugMode {
 public:
  CommDebugMode();
  ~CommDebugMode();
  CommDebugMode(const CommDebugMode&) = delete;
  CommDebugMode& operator=(const CommDebugMode&) = delete;
  const std::map<std::string, int64_t>& get_comm_counts() const { return counts_; }
  int64_t get_total_counts() const;

 private:
  friend void count_collective(const char* name);
  std::map<std::string, int64_t> counts_;
  CommDebugMode* outer_;
};

}  // namespace torch::distributed::tensor
