#include "distributed/process_group/rendezvous.h"

#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/store/file_store.h"
#include "distributed/store/prefix_store.h"
#include "distributed/store/tcp_store.h"

namespace c10d {
namespace {

struct Url {
  std::string scheme, host, path;
  std::optional<int> port;
  std::map<std::string, std::string> query;
};

int to_number(const std::string& what, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  TORCH_CHECK_VALUE(error == std::errc() && end == text.data() + text.size() && !text.empty(),
                    "init_process_group: expected a number for ", what, ", but got '", text, "'");
  return number;
}

// Takes off what stands before the separator, or all.
std::string take(std::string& text, const std::string& separator) {
  const size_t at = text.find(separator);
  std::string first = text.substr(0, at);
  text = at == std::string::npos ? "" : text.substr(at + separator.size());
  return first;
}

Url parse(const std::string& text) {
  Url url;
  std::string rest = text;
  TORCH_CHECK_VALUE(rest.find("://") != std::string::npos, "init_process_group: the init_method '", text,
                    "' is no URL such as env://, tcp://host:port or file:///path");
  url.scheme = take(rest, "://");
  std::string place = take(rest, "?");
  while (!rest.empty()) {
    std::string value = take(rest, "&");
    const std::string name = take(value, "=");
    url.query[name] = value;
  }
  url.host = take(place, "/");
  url.path = "/" + place;
  const size_t colon = url.host.rfind(':');
  if (colon != std::string::npos && url.host.back() != ']') {
    url.port = to_number("the port of " + text, url.host.substr(colon + 1));
    url.host.resize(colon);
  }
  if (url.host.size() > 2 && url.host.front() == '[') url.host = url.host.substr(1, url.host.size() - 2);
  return url;
}

// The first of the variables that is set.
std::optional<std::string> first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto value = rank_environment(name)) return value;
  }
  return std::nullopt;
}

[[noreturn]] void missing(const std::string& scheme, const std::string& what) {
  TORCH_CHECK_VALUE(false, "Error initializing torch.distributed using ", scheme, ":// rendezvous: ", what);
}

void check(const std::string& scheme, const Rendezvous& r) {
  TORCH_CHECK_VALUE(r.world_size > 0 && r.rank >= 0 && r.rank < r.world_size,
                    "Error initializing torch.distributed using ", scheme, ":// rendezvous: rank ", r.rank,
                    " is none of the ", r.world_size, " ranks");
}

std::string master_address(int world_size) {
  if (auto named = rank_environment("MASTER_ADDR")) return *named;
  if (auto nodes = first_of({"SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"}))
    return detail::first_host(*nodes);
  const auto local = rank_environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local && to_number("OMPI_COMM_WORLD_LOCAL_SIZE", *local) == world_size) return "127.0.0.1";
  missing("env", "environment variable MASTER_ADDR expected, but not set");
}

c10::intrusive_ptr<Store> over_tcp(const std::string& host, int port, const Rendezvous& r,
                                   std::chrono::milliseconds timeout) {
  TORCH_CHECK_VALUE(port >= 0 && port < 65536, "init_process_group: ", port, " is no port");
  TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.timeout = timeout;
  options.waitWorkers = false;  // the ranks of a group wait for each other anyway
  const bool has_agent = rank_environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  options.isServer = r.rank == 0 && !has_agent;
  options.multiTenant = options.isServer;
  auto store = c10::make_intrusive<TCPStore>(host, options);
  if (!has_agent) return store;
  return c10::make_intrusive<PrefixStore>(
      "/worker/attempt_" + rank_environment("TORCHELASTIC_RESTART_COUNT").value_or("0"), store);
}

}  // namespace

std::string detail::first_host(const std::string& node_list) {
  std::string host;
  for (size_t i = 0; i < node_list.size() && node_list[i] != ','; ++i) {
    if (node_list[i] != '[') {
      host += node_list[i];
      continue;
    }
    for (++i; i < node_list.size() && node_list[i] != ',' && node_list[i] != '-' && node_list[i] != ']'; ++i)
      host += node_list[i];
    while (i < node_list.size() && node_list[i] != ']') ++i;
  }
  return host;
}

Rendezvous rendezvous(const std::string& text, int rank, int world_size, std::chrono::milliseconds timeout) {
  const Url url = parse(text);
  const auto given = [&](const std::string& name, int otherwise) {
    const auto found = url.query.find(name);
    return found == url.query.end() ? otherwise : to_number(name, found->second);
  };
  Rendezvous r{.store = nullptr, .rank = given("rank", rank), .world_size = given("world_size", world_size)};
  if (url.scheme == "env") {
    if (r.rank < 0) {
      const auto found = first_of({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"});
      if (!found) missing("env", "environment variable RANK expected, but not set");
      r.rank = to_number("RANK", *found);
    }
    if (r.world_size < 0) {
      const auto found = first_of({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"});
      if (!found) missing("env", "environment variable WORLD_SIZE expected, but not set");
      r.world_size = to_number("WORLD_SIZE", *found);
    }
    check("env", r);
    const std::string address = master_address(r.world_size);
    const auto port = rank_environment("MASTER_PORT");
    if (!port && rank_environment("RANK")) missing("env", "environment variable MASTER_PORT expected, but not set");
    r.store = over_tcp(address, port ? to_number("MASTER_PORT", *port) : TCPStoreOptions::kDefaultPort, r, timeout);
    return r;
  }
  TORCH_CHECK_VALUE(url.scheme == "tcp" || url.scheme == "file", "No rendezvous handler for ", url.scheme,
                    ":// (there are env://, tcp:// and file://)");
  if (r.rank < 0) missing(url.scheme, "rank parameter missing");
  if (r.world_size < 0) missing(url.scheme, "world size parameter missing");
  check(url.scheme, r);
  if (url.scheme == "tcp") {
    if (url.host.empty()) missing("tcp", "host missing");
    if (!url.port) missing("tcp", "port number missing");
    r.store = over_tcp(url.host, *url.port, r, timeout);
  } else {
    if (url.path == "/") missing("file", "path missing");
    r.store = c10::make_intrusive<FileStore>(url.path, r.world_size);
    r.store->setTimeout(timeout);
  }
  return r;
}

}  // namespace c10d
