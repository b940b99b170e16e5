// Starts the workers of a job on this node, and again when one fails: torchrun's command line.
#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/launch/agent.h"
#include "distributed/launch/options.h"
#include "distributed/store/file_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"

namespace c10d::launch {
namespace {

std::atomic<Agent*> agent_of_signals{nullptr};

void pass_on(int signal) {
  if (Agent* const agent = agent_of_signals) agent->stop(signal);
}

// The address that packets to the host come from, as a connected datagram socket knows it: nothing is sent.
std::string address_towards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  std::string address;
  if (::getaddrinfo(host.c_str(), std::to_string(port == 0 ? 1 : port).c_str(), &hints, &found) != 0) return host;
  for (const addrinfo* at = found; at != nullptr && address.empty(); at = at->ai_next) {
    const int socket = ::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[256];
    if (socket >= 0 && ::connect(socket, at->ai_addr, at->ai_addrlen) == 0 &&
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
      address = text;
    }
    if (socket >= 0) ::close(socket);
  }
  ::freeaddrinfo(found);
  return address.empty() ? host : address;
}

// Whether the host's name or address is this machine's: then packets to it come from it.
bool is_this_machine(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  char text[256] = "";
  ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  return address_towards(text, 1) == text;
}

c10::intrusive_ptr<Store> connect(LaunchOptions& options) {
  if (options.store_kind == LaunchOptions::StoreKind::kFile) {
    return c10::make_intrusive<FileStore>(options.store_file, -1);
  }
  TCPStoreOptions at;
  at.port = options.endpoint_port;
  at.waitWorkers = false;
  at.timeout = options.agent.rendezvous.join_timeout;
  at.isServer = options.is_host.value_or(is_this_machine(options.endpoint_host));
  c10::intrusive_ptr<TCPStore> store;
  if (at.isServer) {
    try {
      store = c10::make_intrusive<TCPStore>(options.endpoint_host, at);
      options.agent.holds_store = true;
    } catch (const c10::DistNetworkError&) {
      // Another node of this machine was there before.
      if (options.is_host) throw;
      at.isServer = false;
    }
  }
  if (!store) store = c10::make_intrusive<TCPStore>(options.endpoint_host, at);
  options.endpoint_port = store->getPort();
  return store;
}

int run(const std::vector<std::string>& arguments) {
  LaunchOptions options = parse_options(arguments, Machine::this_one());
  if (options.wants_help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  const c10::intrusive_ptr<Store> store = connect(options);
  AgentOptions& agent_options = options.agent;
  agent_options.node.address = !options.local_address.empty() ? options.local_address
                               : options.store_kind == LaunchOptions::StoreKind::kFile
                                   ? Machine::this_one().host_name
                                   : address_towards(options.endpoint_host, options.endpoint_port);
  if (options.is_static && options.store_kind == LaunchOptions::StoreKind::kTcp) {
    agent_options.workers_store = {options.endpoint_host, options.endpoint_port};
  }
  Agent agent(agent_options, c10::make_intrusive<PrefixStore>("torch.rendezvous." + agent_options.run_id, store));
  agent_of_signals = &agent;
  for (const int signal : options.signals) {
    struct sigaction action{};
    action.sa_handler = pass_on;
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  const AgentResult result = agent.run();
  agent_of_signals = nullptr;
  if (result.end == AgentResult::End::kStopped) {
    std::fprintf(stderr, "torchrun: stopped by SIG%s\n", ::sigabbrev_np(result.signal));
    return 128 + result.signal;
  }
  if (result.end == AgentResult::End::kFailed) {
    std::fprintf(stderr, "torchrun: the job '%s' has failed\n%s\n", agent_options.run_id.c_str(),
                 result.report.c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace c10d::launch

int main(int argc, char** argv) {
  try {
    return c10d::launch::run({argv + 1, argv + argc});
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "%s\n", error.msg().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torchrun: %s\n", error.what());
  }
  return 2;
}
