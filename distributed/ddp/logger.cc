#include "distributed/ddp/logger.h"

#include <ostream>
#include <set>

#include "c10/util/exception.h"

namespace c10d {
namespace {

template <class Items>
std::string joined(const Items& items) {
  std::string text;
  for (const auto& item : items) text += c10::str(text.empty() ? "" : ", ", item);
  return text;
}

}  // namespace

Logger::Logger(std::shared_ptr<Reducer> reducer) : reducer_(reducer) {
  TORCH_CHECK(reducer != nullptr, "Logger: expected a reducer");
}

int64_t Logger::reducer_iterations() const {
  const auto reducer = reducer_.lock();
  return reducer == nullptr ? 0 : reducer->iterations_;
}

std::vector<int64_t> Logger::get_bucket_sizes() {
  std::vector<int64_t> sizes;
  const auto reducer = reducer_.lock();
  if (reducer == nullptr) return sizes;
  for (const auto& bucket : reducer->buckets_) {
    int64_t bytes = 0;
    for (const size_t i : bucket.variables) bytes += static_cast<int64_t>(reducer->params_[i].nbytes());
    sizes.push_back(bytes);
  }
  return sizes;
}

std::vector<std::vector<size_t>> Logger::get_per_bucket_variable_indices() {
  std::vector<std::vector<size_t>> indices;
  const auto reducer = reducer_.lock();
  if (reducer == nullptr) return indices;
  for (const auto& bucket : reducer->buckets_) indices.push_back(bucket.variables);
  return indices;
}

void Logger::set_parameter_stats() {
  const auto reducer = reducer_.lock();
  if (reducer == nullptr) return;
  int64_t bytes = 0;
  std::set<std::string> dtypes;
  for (const at::Tensor& p : reducer->params_) {
    bytes += static_cast<int64_t>(p.nbytes());
    dtypes.insert(c10::str(p.scalar_type()));
  }
  data_.ints_map["num_parameter_tensors"] = static_cast<int64_t>(reducer->params_.size());
  data_.ints_map["total_parameter_size_bytes"] = bytes;
  data_.strs_map["dtypes"] = joined(dtypes);
}

void Logger::set_buckets(const std::string& prefix) {
  data_.strs_map[prefix + "bucket_sizes"] = joined(get_bucket_sizes());
  std::string text;
  for (const auto& indices : get_per_bucket_variable_indices()) {
    std::string numbers;
    for (const size_t i : indices) numbers += c10::str(numbers.empty() ? "" : " ", i);
    text += (text.empty() ? "" : ", ") + numbers;
  }
  data_.strs_map[prefix + "per_bucket_param_indices"] = text;
}

void Logger::set_construction_data_and_log(const std::string& module_name, const std::vector<int>& device_ids,
                                           int output_device, bool broadcast_buffers, bool has_sync_bn,
                                           bool static_graph) {
  const auto reducer = reducer_.lock();
  TORCH_CHECK(reducer != nullptr, "Logger: the reducer is gone");
  data_.strs_map["module_name"] = module_name;
  data_.strs_map["device_ids"] = joined(device_ids);
  data_.strs_map["backend_name"] = reducer->group_->getBackendName();
  data_.ints_map["output_device"] = output_device;
  data_.ints_map["broadcast_buffers"] = broadcast_buffers;
  data_.ints_map["has_sync_bn"] = has_sync_bn;
  data_.ints_map["world_size"] = reducer->group_->getSize();
  data_.ints_map["rank"] = reducer->group_->getRank();
  data_.ints_map["bucket_cap_bytes"] = reducer->bucket_bytes_cap_;
  data_.ints_map["find_unused_parameters"] = reducer->find_unused_parameters_;
  data_.ints_map["gradient_as_bucket_view"] = reducer->gradient_as_bucket_view_;
  data_.ints_map["iteration"] = 0;
  set_parameter_stats();
  set_buckets("initial_");
  if (static_graph) set_static_graph();
}

void Logger::set_static_graph() {
  data_.ints_map["static_graph"] = 1;
}

void Logger::set_comm_hook(const std::string& hook) {
  data_.strs_map["comm_hook"] = hook;
}

void Logger::set_uneven_input_join() {
  data_.ints_map["join_uneven_inputs"] = 1;
}

void Logger::set_runtime_stats_and_log() {
  const auto reducer = reducer_.lock();
  if (reducer == nullptr) return;
  ++recorded_;
  const auto set = [&](const std::string& name, int64_t ns, int64_t& sum) {
    sum += ns;
    data_.ints_map[name] = ns;
    data_.ints_map["avg_" + name] = sum / recorded_;
  };
  set("forward_compute_time", reducer->forward_ns_, forward_ns_);
  set("backward_compute_time", reducer->backward_ns_, backward_ns_);
  set("backward_comm_time", reducer->comm_ns_, comm_ns_);
  data_.ints_map["iteration"] = reducer->iterations_;
  data_.ints_map["has_rebuilt_buckets"] = reducer->has_rebuilt_bucket_;
  if (reducer->has_rebuilt_bucket_ && data_.strs_map.count("rebuilt_bucket_sizes") == 0) set_buckets("rebuilt_");
}

std::ostream& operator<<(std::ostream& output, const Logger& logger) {
  for (const auto& [name, value] : logger.data_.strs_map) output << name << ": " << value << "\n";
  for (const auto& [name, value] : logger.data_.ints_map) output << name << ": " << value << "\n";
  return output;
}

}  // namespace c10d
