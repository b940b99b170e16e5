#include "distributed/rpc/remote_module.h"

#include <charconv>

#include "c10/core/device.h"
#include "c10/util/exception.h"

namespace torch::distributed::nn::detail {

rpc::WorkerRef worker_of(const std::string& remote_device) {
  const size_t slash = remote_device.find('/');
  const std::string worker = remote_device.substr(0, slash);
  const std::string device = slash == std::string::npos ? "cpu" : remote_device.substr(slash + 1);
  TORCH_CHECK_VALUE(!worker.empty() && c10::Device(device).type() == c10::DeviceType::CPU, "RemoteModule: \"",
                    remote_device, "\" is no worker and device, as \"worker1/cpu\" or \"rank:1/cpu\"");
  if (!worker.starts_with("rank:")) return worker;
  int rank = -1;
  const char* const end = worker.data() + worker.size();
  const auto [rest, error] = std::from_chars(worker.data() + 5, end, rank);
  TORCH_CHECK_VALUE(error == std::errc() && rest == end, "RemoteModule: \"", worker, "\" has no rank");
  return rank;
}

}  // namespace torch::distributed::nn::detail
