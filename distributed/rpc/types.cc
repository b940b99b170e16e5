#include "distributed/rpc/types.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "c10/util/exception.h"

namespace torch::distributed::rpc {

std::chrono::milliseconds to_milliseconds(float seconds) {
  constexpr double kMost = 1e12;  // 30 years
  const auto rounded = static_cast<int64_t>(std::round(std::min(static_cast<double>(seconds) * 1000, kMost)));
  return std::chrono::milliseconds(seconds > 0 ? std::max<int64_t>(rounded, 1) : 0);
}

WorkerInfo::WorkerInfo(std::string name, int64_t id) : name_(std::move(name)), id_(static_cast<worker_id_t>(id)) {
  TORCH_CHECK_VALUE(!name_.empty() && name_.size() <= MAX_NAME_LEN, "WorkerInfo: a name has 1 to ", MAX_NAME_LEN,
                    " characters, but \"", name_.substr(0, MAX_NAME_LEN), "\" has ", name_.size());
  for (const char c : name_) {
    TORCH_CHECK_VALUE(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':',
                      "WorkerInfo: a name has letters, digits, '-', '_' and ':' only, but got \"", name_, "\"");
  }
  TORCH_CHECK_VALUE(id >= 0 && id <= std::numeric_limits<worker_id_t>::max(), "WorkerInfo: the rank of \"", name_,
                    "\" is not of 0 to ", std::numeric_limits<worker_id_t>::max(), ": ", id);
}

void RpcBackendOptions::check() const {
  TORCH_CHECK_VALUE(std::isfinite(rpc_timeout) && rpc_timeout >= 0,
                    "init_rpc: rpc_timeout must be 0 or more seconds, but got ", rpc_timeout);
  TORCH_CHECK_VALUE(num_worker_threads >= 1 && num_worker_threads <= 4096,
                    "init_rpc: num_worker_threads must be of 1 to 4096, but got ", num_worker_threads);
  TORCH_CHECK_VALUE(max_message_bytes > 0 && max_message_bytes <= std::numeric_limits<int32_t>::max(),
                    "init_rpc: max_message_bytes must be of 1 to ", std::numeric_limits<int32_t>::max(), ", but got ",
                    max_message_bytes);
  TORCH_CHECK_VALUE(std::isfinite(lease) && lease > 0, "init_rpc: lease must be more than 0 seconds, but got ", lease);
}

std::string to_string(const GloballyUniqueId& id) {
  return c10::str("GloballyUniqueId(created_on=", id.createdOn_, ", local_id=", id.localId_, ")");
}

}  // namespace torch::distributed::rpc
