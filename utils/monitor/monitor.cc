#include "utils/monitor/monitor.h"

namespace torch::monitor {
namespace {

struct Handlers {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventHandler>> list;
};
Handlers& handlers() {
  static Handlers& instance = *new Handlers;
  return instance;
}

}  // namespace

void logEvent(const Event& event) {
  const std::lock_guard lock(handlers().mutex);
  for (const std::shared_ptr<EventHandler>& handler : handlers().list) handler->handle(event);
}

void registerEventHandler(std::shared_ptr<EventHandler> handler) {
  const std::lock_guard lock(handlers().mutex);
  handlers().list.push_back(std::move(handler));
}

void unregisterEventHandler(const std::shared_ptr<EventHandler>& handler) {
  const std::lock_guard lock(handlers().mutex);
  std::erase(handlers().list, handler);
}

const char* aggregationName(Aggregation aggregation) {
  constexpr const char* kNames[] = {"none", "value", "mean", "count", "sum", "max", "min"};
  return kNames[static_cast<size_t>(aggregation)];
}

}  // namespace torch::monitor
