#include "distributed/rpc/types.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <ostream>

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
  TORCH_CHECK_VALUE(std::isfinite(rpcTimeoutSeconds) && rpcTimeoutSeconds >= 0,
                    "init_rpc: rpcTimeoutSeconds must be 0 or more, but got ", rpcTimeoutSeconds);
  TORCH_CHECK_VALUE(num_worker_threads >= 1 && num_worker_threads <= 4096,
                    "init_rpc: num_worker_threads must be of 1 to 4096, but got ", num_worker_threads);
  TORCH_CHECK_VALUE(max_message_bytes > 0 && max_message_bytes <= std::numeric_limits<int32_t>::max(),
                    "init_rpc: max_message_bytes must be of 1 to ", std::numeric_limits<int32_t>::max(), ", but got ",
                    max_message_bytes);
  TORCH_CHECK_VALUE(std::isfinite(lease) && lease > 0, "init_rpc: lease must be more than 0 seconds, but got ", lease);
}

std::ostream& operator<<(std::ostream& out, const WorkerInfo& worker) {
  return out << "WorkerInfo(id=" << worker.id_ << ", name=" << worker.name_ << ")";
}

c10::IValue GloballyUniqueId::toIValue() const {
  return c10::ivalue::Tuple::create({c10::IValue(static_cast<int64_t>(createdOn_)), c10::IValue(localId_)});
}

GloballyUniqueId GloballyUniqueId::fromIValue(const c10::IValue& value) {
  TORCH_CHECK_TYPE(value.isTuple() && value.toTupleRef().size() == 2 &&
                       value.toTupleRef().elementsArrayRef()[0].isInt() &&
                       value.toTupleRef().elementsArrayRef()[1].isInt(),
                   "GloballyUniqueId::fromIValue: expected a tuple of two numbers, but got ", value.tagKind());
  const auto parts = value.toTupleRef().elementsArrayRef();
  const int64_t worker = parts[0].toInt();
  TORCH_CHECK_VALUE(worker >= 0 && worker <= std::numeric_limits<worker_id_t>::max(),
                    "GloballyUniqueId::fromIValue: ", worker, " is no worker's rank");
  return {static_cast<worker_id_t>(worker), parts[1].toInt()};
}

std::ostream& operator<<(std::ostream& out, const GloballyUniqueId& id) {
  return out << to_string(id);
}

std::string to_string(const GloballyUniqueId& id) {
  return c10::str("GloballyUniqueId(created_on=", id.createdOn_, ", local_id=", id.localId_, ")");
}

}  // namespace torch::distributed::rpc
