// What is known about data-parallel training, as numbers and texts by name.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c10/util/string_util.h"
#include "distributed/ddp/reducer.h"

namespace c10 {
/// Texts and numbers by name; names are PyTorch's.
struct DDPLoggingData {
  std::map<std::string, std::string> strs_map;
  std::map<std::string, int64_t> ints_map;
};
}  // namespace c10
namespace at {
using c10::DDPLoggingData;
}

namespace c10d {

/// Collects what a Reducer does. Times are in nanoseconds: "forward_compute_time", "backward_compute_time" (from the
/// end of forward to the end of the last reduction) and "backward_comm_time" (from the start of the first bucket's
/// reduction to the end of the last one's) of the last iteration, and their means over all as "avg_...".
class Logger {
 public:
  explicit Logger(std::shared_ptr<Reducer> reducer);
  void set_construction_data_and_log(const std::string& module_name, const std::vector<int>& device_ids,
                                     int output_device, bool broadcast_buffers, bool has_sync_bn, bool static_graph);
  void set_static_graph();
  void set_comm_hook(const std::string& hook);
  void set_uneven_input_join();
  /// After each iteration.
  void set_runtime_stats_and_log();
  template <typename... Args>
  void set_error_and_log(const std::string& ddp_error, const Args&... args) {
    data_.ints_map["has_error"] = 1;
    data_.strs_map["error"] = c10::str(ddp_error, args...);
    data_.ints_map["iteration"] = reducer_iterations();
  }
  c10::DDPLoggingData get_ddp_logging_data() { return data_; }
  /// Bytes of each bucket.
  std::vector<int64_t> get_bucket_sizes();
  std::vector<std::vector<size_t>> get_per_bucket_variable_indices();

  friend std::ostream& operator<<(std::ostream& output, const Logger& logger);

 private:
  void set_parameter_stats();
  int64_t reducer_iterations() const;
  void set_buckets(const std::string& prefix);

  const std::weak_ptr<Reducer> reducer_;
  c10::DDPLoggingData data_;
  int64_t recorded_ = 0, forward_ns_ = 0, backward_ns_ = 0, comm_ns_ = 0;
};

}  // namespace c10d
