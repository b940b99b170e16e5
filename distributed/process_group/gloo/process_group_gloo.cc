#include "distributed/process_group/gloo/process_group_gloo.h"

#include <cstdlib>
#include <memory>

namespace c10d {
namespace {

class StoreNotice final : public Notice {
 public:
  explicit StoreNotice(c10::intrusive_ptr<Store> store) : store_(std::move(store)) {}
  std::string post(const std::string& why) override { return store_->compareSet("aborted", "", why); }

 private:
  const c10::intrusive_ptr<Store> store_;
};

}  // namespace

ProcessGroupGloo::ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : HostBackend(make_gloo_engine(store, rank, size,
                                   options->devices.empty() ? createDefaultDevice() : options->devices.front(),
                                   options->timeout),
                  options, std::make_unique<StoreNotice>(store)) {}

GlooInterface ProcessGroupGloo::createDefaultDevice() {
  const char* const named = std::getenv("GLOO_SOCKET_IFNAME");
  if (named == nullptr) return {};
  const std::string names = named;
  return createDeviceForInterface(names.substr(0, names.find(',')));
}

}  // namespace c10d
