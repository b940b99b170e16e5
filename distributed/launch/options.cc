#include "distributed/launch/options.h"

#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d::launch {
namespace {

using std::chrono::milliseconds;

struct Option {
  const char* name;
  const char* value;  // what stands for it in the text of help; null for those without one
  const char* help;
};

constexpr Option kOptions[] = {
    {"nnodes", "N|MIN:MAX", "nodes, or the least and the most that the job runs on (1)"},
    {"nproc-per-node", "N|cpu|gpu|auto", "workers of this node (1)"},
    {"rdzv-backend", "static|c10d", "how nodes find each other (static; c10d where MIN differs from MAX)"},
    {"rdzv-endpoint", "HOST[:PORT]", "where the store of the rendezvous is (port 29400), or its file"},
    {"rdzv-id", "ID", "the job's name (none)"},
    {"rdzv-conf", "K=V,...",
     "join_timeout, last_call_timeout, close_timeout, keep_alive_interval (seconds), "
     "keep_alive_max_attempt, is_host, store_type (tcp, file)"},
    {"standalone", nullptr, "one node, and a store of its own on a free port"},
    {"max-restarts", "N", "how often all workers are started again after a failure (0)"},
    {"monitor-interval", "SECONDS", "how often workers are looked after, where the system does not tell (0.1)"},
    {"shutdown-timeout", "SECONDS", "between SIGTERM and SIGKILL (30)"},
    {"start-method", "spawn|fork|forkserver", "taken and not used: workers are programs"},
    {"role", "NAME", "of this node's workers (default)"},
    {"module", nullptr, "refused: name the interpreter, as in python3 -m MODULE"},
    {"no-python", nullptr, "taken and not used: workers are programs"},
    {"run-path", nullptr, "refused: name the interpreter"},
    {"log-dir", "FOLDER", "where logs and error files are written (a folder of /tmp)"},
    {"redirects", "0-3|R:0-3,...",
     "streams to files: 1 stdout, 2 stderr, 3 both; for all local ranks or one by one (0)"},
    {"tee", "0-3|R:0-3,...", "streams to files and the console (0)"},
    {"local-ranks-filter", "R,...", "whose output is shown on the console (all)"},
    {"log-line-prefix-template", "TEXT", "before lines of --tee ([${role_name}${rank}]:)"},
    {"node-rank", "R", "this node's, for static (0)"},
    {"master-addr", "HOST", "the first node, for static (127.0.0.1)"},
    {"master-port", "PORT", "of the store there, for static (29500; a free one where there is one node)"},
    {"local-addr", "ADDRESS", "under which others reach this node (the one that leads to the endpoint)"},
    {"signals-to-handle", "S,...", "signals passed on to the workers (SIGTERM,SIGINT,SIGHUP,SIGQUIT)"},
    {"cluster", "slurm|kubernetes", "nodes, node rank and first node as these say (this program's own option)"},
    {"help", nullptr, "this text"},
};

std::string canonical(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "nproc") name = "nproc-per-node";
  return name;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Given {
 public:
  Given(std::map<std::string, std::string> values, const Machine& machine)
      : values_(std::move(values)), machine_(machine) {}

  std::optional<std::string> text(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    std::string variable = "PET_";
    for (const char c : name) variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return machine_.variable(variable);
  }
  bool flag(const std::string& name) const {
    const auto given = text(name);
    if (!given || given->empty() || *given == "1") return given.has_value();
    TORCH_CHECK_VALUE(*given == "0", "torchrun: --", name, " must be 0 or 1, got '", *given, "'");
    return false;
  }
  int64_t integer(const std::string& name, int64_t otherwise, int64_t least, int64_t most) const {
    const auto given = text(name);
    if (!given) return otherwise;
    const auto value = number<int64_t>(*given);
    TORCH_CHECK_VALUE(value && *value >= least && *value <= most, "torchrun: --", name, " must be a number from ",
                      least, " to ", most, ", got '", *given, "'");
    return *value;
  }
  milliseconds seconds(const std::string& name, milliseconds otherwise) const {
    const auto given = text(name);
    return given ? seconds_of("--" + name, *given) : otherwise;
  }
  static milliseconds seconds_of(const std::string& what, const std::string& given) {
    const auto value = number<double>(given);
    TORCH_CHECK_VALUE(value && *value >= 0 && *value <= 1e8, "torchrun: ", what, " must be a number of seconds, got '",
                      given, "'");
    return milliseconds(static_cast<int64_t>(*value * 1000));
  }

 private:
  const std::map<std::string, std::string> values_;
  const Machine& machine_;
};

Streams streams_of(const std::string& name, const std::string& text) {
  const auto value = number<unsigned>(text);
  TORCH_CHECK_VALUE(value && *value <= kBoth, "torchrun: --", name,
                    " must be 0 to 3, or such numbers by local rank (0:3,1:1), got '", text, "'");
  return static_cast<Streams>(*value);
}

StreamsOfRanks streams_by_rank(const std::string& name, const std::string& text, int workers) {
  StreamsOfRanks streams;
  if (text.find(':') == std::string::npos) {
    streams.all = streams_of(name, text);
    return streams;
  }
  for (const std::string& part : split(text, ',')) {
    const size_t colon = part.find(':');
    const auto rank = number<int>(part.substr(0, colon));
    TORCH_CHECK_VALUE(rank && *rank >= 0 && *rank < workers && colon != std::string::npos, "torchrun: --", name,
                      " must name local ranks below ", workers, " (0:3,1:1), got '", text, "'");
    streams.each[*rank] = streams_of(name, part.substr(colon + 1));
  }
  return streams;
}

std::vector<int> signals_of(const std::string& text) {
  std::vector<int> signals;
  for (const std::string& name : split(text, ',')) {
    int found = 0;
    for (int number = 1; number < NSIG && found == 0; ++number) {
      const char* const known = ::sigabbrev_np(number);
      if (known != nullptr && name == c10::str("SIG", known)) found = number;
    }
    TORCH_CHECK_VALUE(found != 0 && found != SIGKILL && found != SIGSTOP, "torchrun: --signals-to-handle: '", name,
                      "' is no signal that can be handled");
    signals.push_back(found);
  }
  return signals;
}

int workers_of(const std::string& text, const Machine& machine) {
  if (text == "cpu") return machine.cpus;
  if (text == "gpu") {
    TORCH_CHECK_VALUE(machine.gpus > 0, "torchrun: --nproc-per-node=gpu, but this machine has no GPU");
    return machine.gpus;
  }
  if (text == "auto") return machine.gpus > 0 ? machine.gpus : machine.cpus;
  const auto value = number<int>(text);
  TORCH_CHECK_VALUE(value && *value >= 1 && *value <= 65536,
                    "torchrun: --nproc-per-node must be a number from 1, cpu, gpu or auto, got '", text, "'");
  return *value;
}

// "host:7", "[::1]:7", "host", "::1".
void set_endpoint(const std::string& text, uint16_t port, LaunchOptions& options) {
  std::string host = text;
  std::string rest;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    TORCH_CHECK_VALUE(close != std::string::npos, "torchrun: --rdzv-endpoint: no ']' in '", text, "'");
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    host = text.substr(0, text.find(':'));
    rest = text.substr(text.find(':'));
  }
  if (!rest.empty()) {
    const auto value = number<uint16_t>(rest.substr(1));
    TORCH_CHECK_VALUE(value && rest[0] == ':', "torchrun: --rdzv-endpoint must be host:port, got '", text, "'");
    port = *value;
  }
  TORCH_CHECK_VALUE(!host.empty(), "torchrun: --rdzv-endpoint must name a host, got '", text, "'");
  options.endpoint_host = host;
  options.endpoint_port = port;
}

struct Place {
  int nodes = 1, rank = 0;
  std::string first;
};

std::string needed(const Machine& machine, const std::string& cluster, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto value = machine.variable(name); value && !value->empty()) return *value;
  }
  TORCH_CHECK_VALUE(false, "torchrun: --cluster=", cluster, ": the environment has no ", *names.begin());
}

int whole(const std::string& name, const std::string& text) {
  const auto value = number<int>(text);
  TORCH_CHECK_VALUE(value && *value >= 0, "torchrun: ", name, " is no number: '", text, "'");
  return *value;
}

Place place_by_slurm(const Machine& machine) {
  const auto get = [&](std::initializer_list<const char*> names) { return needed(machine, "slurm", names); };
  Place place;
  place.nodes = whole("SLURM_NNODES", get({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}));
  place.rank = whole("SLURM_NODEID", get({"SLURM_NODEID"}));
  const std::vector<std::string> hosts = expand_host_list(get({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  TORCH_CHECK_VALUE(!hosts.empty(), "torchrun: SLURM_JOB_NODELIST names no host");
  place.first = hosts.front();
  return place;
}

// An indexed job's pod is called job-3.service..., a stateful set's set-3.service...
Place place_by_kubernetes(const Given& given, const Machine& machine) {
  Place place;
  const std::string host = machine.host_name.substr(0, machine.host_name.find('.'));
  const size_t dash = host.rfind('-');
  const auto ordinal = dash == std::string::npos ? std::nullopt : number<int>(host.substr(dash + 1));
  const auto index = machine.variable("JOB_COMPLETION_INDEX");
  TORCH_CHECK_VALUE(index || ordinal,
                    "torchrun: --cluster=kubernetes: there is no JOB_COMPLETION_INDEX, and the host's name '",
                    machine.host_name, "' does not end with a number");
  place.rank = index ? whole("JOB_COMPLETION_INDEX", *index) : *ordinal;
  TORCH_CHECK_VALUE(given.text("nnodes"), "torchrun: --cluster=kubernetes needs --nnodes");
  if (const auto first = machine.variable("MASTER_ADDR"); first && !first->empty()) {
    place.first = *first;
  } else {
    TORCH_CHECK_VALUE(
        ordinal,
        "torchrun: --cluster=kubernetes: neither --master-addr nor MASTER_ADDR is there, and the host's name '",
        machine.host_name, "' does not end with a number");
    place.first = host.substr(0, dash) + "-0" + machine.host_name.substr(host.size());
  }
  return place;
}

std::string random_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 16; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

void apply_conf(const std::string& text, LaunchOptions& options) {
  RendezvousOptions& rendezvous = options.agent.rendezvous;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    TORCH_CHECK_VALUE(equals != std::string::npos, "torchrun: --rdzv-conf must be key=value,..., got '", text, "'");
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    const auto seconds = [&] { return Given::seconds_of("--rdzv-conf " + key, value); };
    if (key == "timeout" || key == "join_timeout") {
      rendezvous.join_timeout = seconds();
    } else if (key == "last_call_timeout") {
      rendezvous.last_call_timeout = seconds();
    } else if (key == "close_timeout") {
      options.agent.close_timeout = seconds();
    } else if (key == "keep_alive_interval") {
      rendezvous.keep_alive_interval = seconds();
    } else if (key == "keep_alive_max_attempt") {
      rendezvous.keep_alive_max_attempt = whole("--rdzv-conf keep_alive_max_attempt", value);
    } else if (key == "is_host") {
      const bool yes = value == "1" || value == "true" || value == "True";
      TORCH_CHECK_VALUE(yes || value == "0" || value == "false" || value == "False",
                        "torchrun: --rdzv-conf is_host must be true or false, got '", value, "'");
      options.is_host = yes;
    } else if (key == "store_type") {
      TORCH_CHECK_VALUE(value == "tcp" || value == "file",
                        "torchrun: --rdzv-conf store_type must be tcp or file, got '", value, "'");
      if (value == "file") options.store_kind = LaunchOptions::StoreKind::kFile;
    } else {
      TORCH_CHECK_VALUE(key == "read_timeout" || key == "heartbeat_timeout", "torchrun: --rdzv-conf knows no '", key,
                        "'");
      seconds();
    }
  }
}

}  // namespace

Machine Machine::this_one() {
  Machine machine;
  machine.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  cpu_set_t cpus;
  machine.cpus = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  if (const auto visible = machine.variable("CUDA_VISIBLE_DEVICES")) {
    for (const std::string& device : split(*visible, ',')) {
      if (device[0] == '-') break;
      ++machine.gpus;
    }
  } else {
    while (std::filesystem::exists(c10::str("/dev/nvidia", machine.gpus))) ++machine.gpus;
  }
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  machine.host_name = name;
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name, nullptr, &hints, &found) == 0) {
    if (found->ai_canonname != nullptr && std::strncmp(found->ai_canonname, name, std::strlen(name)) == 0) {
      machine.host_name = found->ai_canonname;
    }
    ::freeaddrinfo(found);
  }
  return machine;
}

std::vector<std::string> expand_host_list(const std::string& list) {
  std::vector<std::string> hosts;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = begin, depth = 0;
    for (; end < list.size() && (list[end] != ',' || depth > 0); ++end) {
      if (list[end] == '[') ++depth;
      if (list[end] == ']' && depth > 0) --depth;
    }
    TORCH_CHECK_VALUE(depth == 0, "torchrun: no ']' in the list of hosts '", list, "'");
    std::vector<std::string> made{""};
    for (std::string rest = list.substr(begin, end - begin); !rest.empty();) {
      const size_t open = std::min(rest.find('['), rest.size());
      for (std::string& host : made) host += rest.substr(0, open);
      rest.erase(0, open);
      if (rest.empty()) break;
      const size_t close = rest.find(']');
      std::vector<std::string> extended;
      for (const std::string& host : made) {
        for (const std::string& part : split(rest.substr(1, close - 1), ',')) {
          const size_t dash = part.find('-');
          const std::string first = part.substr(0, dash),
                            last = dash == std::string::npos ? first : part.substr(dash + 1);
          const auto low = number<int>(first), high = number<int>(last);
          TORCH_CHECK_VALUE(low && high && *low <= *high && *high - *low < 65536, "torchrun: '", part,
                            "' is no range, in the list of hosts '", list, "'");
          for (int i = *low; i <= *high; ++i) {
            std::string digits = c10::str(i);
            digits.insert(0, first.size() > digits.size() ? first.size() - digits.size() : 0, '0');
            extended.push_back(host + digits);
          }
        }
      }
      made = std::move(extended);
      rest.erase(0, close + 1);
    }
    if (end > begin) hosts.insert(hosts.end(), made.begin(), made.end());
    begin = end + 1;
  }
  return hosts;
}

LaunchOptions parse_options(const std::vector<std::string>& arguments, const Machine& machine) {
  std::map<std::string, std::string> values;
  size_t next = 0;
  for (; next < arguments.size(); ++next) {
    std::string argument = arguments[next];
    if (argument == "-m") argument = "--module";
    if (argument == "-r" || argument == "-t") argument = argument == "-r" ? "--redirects" : "--tee";
    if (argument == "-h") argument = "--help";
    if (argument == "--") {
      ++next;
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') break;
    TORCH_CHECK_VALUE(argument.rfind("--", 0) == 0, "torchrun: there is no option ", argument);
    const size_t equals = argument.find('=');
    const std::string name = canonical(argument.substr(2, equals == std::string::npos ? equals : equals - 2));
    const auto* const known = std::find_if(std::begin(kOptions), std::end(kOptions),
                                           [&](const Option& option) { return name == option.name; });
    TORCH_CHECK_VALUE(known != std::end(kOptions), "torchrun: there is no option --", name);
    if (known->value == nullptr) {
      TORCH_CHECK_VALUE(equals == std::string::npos, "torchrun: --", name, " takes no value");
      values[name] = "1";
    } else if (equals != std::string::npos) {
      values[name] = argument.substr(equals + 1);
    } else {
      TORCH_CHECK_VALUE(next + 1 < arguments.size(), "torchrun: --", name, " needs a value");
      values[name] = arguments[++next];
    }
  }
  const Given given(std::move(values), machine);
  LaunchOptions options;
  if (given.flag("help")) {
    options.wants_help = true;
    return options;
  }
  AgentOptions& agent = options.agent;
  agent.command.assign(arguments.begin() + static_cast<ptrdiff_t>(next), arguments.end());
  TORCH_CHECK_VALUE(!given.flag("module") && !given.flag("run-path"),
                    "torchrun: workers are programs: instead of --module and --run-path name the interpreter, as in "
                    "'torchrun ... python3 -m MODULE'");
  TORCH_CHECK_VALUE(!agent.command.empty(), "torchrun: there is no program to run; --help says what can be given");

  Place place;
  bool has_place = false;
  if (const auto cluster = given.text("cluster")) {
    TORCH_CHECK_VALUE(*cluster == "slurm" || *cluster == "kubernetes",
                      "torchrun: --cluster must be slurm or kubernetes, got '", *cluster, "'");
    place = *cluster == "slurm" ? place_by_slurm(machine) : place_by_kubernetes(given, machine);
    has_place = true;
  }

  // Who takes part.
  RendezvousOptions& rendezvous = agent.rendezvous;
  const bool is_standalone = given.flag("standalone");
  const std::string nodes = is_standalone ? "1" : given.text("nnodes").value_or(c10::str(place.nodes));
  const size_t colon = nodes.find(':');
  const auto least = number<int>(nodes.substr(0, colon));
  const auto most = colon == std::string::npos ? least : number<int>(nodes.substr(colon + 1));
  TORCH_CHECK_VALUE(least && most && *least >= 1 && *least <= *most,
                    "torchrun: --nnodes must be a number from 1, or two as in 1:4, got '", nodes, "'");
  rendezvous.min_nodes = *least;
  rendezvous.max_nodes = *most;
  const std::string backend = given.text("rdzv-backend").value_or(*least == *most ? "static" : "c10d");
  TORCH_CHECK_VALUE(backend == "static" || backend == "c10d", "torchrun: --rdzv-backend must be static or c10d, got '",
                    backend, "'");
  options.is_static = backend == "static" && !is_standalone;
  TORCH_CHECK_VALUE(!options.is_static || *least == *most,
                    "torchrun: --rdzv-backend=static needs a fixed number of nodes, got '", nodes, "'");
  rendezvous.max_restarts = static_cast<int>(given.integer("max-restarts", 0, 0, 1 << 30));
  agent.node.workers = workers_of(given.text("nproc-per-node").value_or("1"), machine);
  agent.node.role = given.text("role").value_or("default");
  agent.run_id = is_standalone ? random_name() : given.text("rdzv-id").value_or("none");
  agent.node.id = c10::str(machine.host_name, "_", ::getpid(), "_", random_name().substr(0, 6));
  if (const auto conf = given.text("rdzv-conf")) apply_conf(*conf, options);

  // Where the store is.
  const auto endpoint = is_standalone ? std::nullopt : given.text("rdzv-endpoint");
  options.local_address = given.text("local-addr").value_or("");
  if (is_standalone) {
    options.is_host = true;
  } else if (options.store_kind == LaunchOptions::StoreKind::kFile) {
    TORCH_CHECK_VALUE(endpoint && !endpoint->empty(),
                      "torchrun: store_type=file needs a file's name as --rdzv-endpoint");
    options.store_file = *endpoint;
  } else if (options.is_static) {
    agent.node.fixed_rank = static_cast<int>(given.integer("node-rank", place.rank, 0, *most - 1));
    options.is_host = agent.node.fixed_rank == 0;
    const std::string first = given.text("master-addr").value_or(has_place ? place.first : "127.0.0.1");
    const bool has_port = given.text("master-port").has_value();
    set_endpoint(endpoint && !endpoint->empty() ? *endpoint : first, 29500, options);
    if (!endpoint || endpoint->empty()) {
      options.endpoint_host = first;
      options.endpoint_port =
          *most == 1 && !has_port ? 0 : static_cast<uint16_t>(given.integer("master-port", 29500, 1, 65535));
    }
  } else if (endpoint && !endpoint->empty()) {
    set_endpoint(*endpoint, 29400, options);
  } else if (has_place) {
    options.endpoint_host = place.first;
    options.endpoint_port = 29400;
    options.is_host = place.rank == 0;
  } else {
    TORCH_CHECK_VALUE(*most == 1, "torchrun: --rdzv-backend=c10d with more than one node needs --rdzv-endpoint");
    options.is_host = true;
  }

  agent.monitor_interval = std::max(given.seconds("monitor-interval", milliseconds(100)), milliseconds(1));
  agent.shutdown_timeout = given.seconds("shutdown-timeout", milliseconds(30000));
  rendezvous.return_timeout = agent.shutdown_timeout + milliseconds(10000);
  LogOptions& logs = agent.logs;
  logs.folder = given.text("log-dir").value_or("");
  logs.redirects = streams_by_rank("redirects", given.text("redirects").value_or("0"), agent.node.workers);
  logs.tees = streams_by_rank("tee", given.text("tee").value_or("0"), agent.node.workers);
  if (const auto filter = given.text("local-ranks-filter"); filter && !filter->empty()) {
    logs.console.emplace();
    for (const std::string& part : split(*filter, ',')) logs.console->insert(whole("--local-ranks-filter", part));
  }
  if (const auto prefix = machine.variable("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE")) logs.prefix = *prefix;
  if (const auto prefix = given.text("log-line-prefix-template")) logs.prefix = *prefix;
  options.signals = signals_of(given.text("signals-to-handle").value_or("SIGTERM,SIGINT,SIGHUP,SIGQUIT"));
  rendezvous.check();
  return options;
}

std::string usage() {
  std::string text =
      "usage: torchrun [options] program [arguments]\n\nEach option may also be set as PET_<NAME> in the "
      "environment.\n";
  for (const Option& option : kOptions) {
    std::string name =
        c10::str("  --", option.name, option.value == nullptr ? "" : "=", option.value == nullptr ? "" : option.value);
    name.resize(std::max<size_t>(name.size() + 2, 36), ' ');
    text += name + option.help + "\n";
  }
  return text;
}

}  // namespace c10d::launch
