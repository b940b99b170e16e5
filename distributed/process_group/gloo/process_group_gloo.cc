#include "distributed/process_group/gloo/process_group_gloo.h"

#include <memory>

#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/store_notice.h"

namespace c10d {
ProcessGroupGloo::ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : HostBackend(make_gloo_engine(store, rank, size,
                                   options->devices.empty() ? createDefaultDevice() : options->devices.front(),
                                   options->timeout),
                  options, std::make_unique<StoreNotice>(store, rank, size)) {}

GlooInterface ProcessGroupGloo::createDefaultDevice() {
  const auto names = rank_environment("GLOO_SOCKET_IFNAME");
  if (!names) return {};
  return createDeviceForInterface(names->substr(0, names->find(',')));
}

}  // namespace c10d
