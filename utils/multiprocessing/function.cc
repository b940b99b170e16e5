#include "utils/multiprocessing/function.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "utils/multiprocessing/sharing.h"
#include "utils/multiprocessing/workers.h"

namespace torch::multiprocessing {
namespace {

using c10::IValue;

// "worker PARENT DAEMON RANK ENDED SOCKET" or "pool PARENT SOCKET".
constexpr char kVariable[] = "KINDLING_MULTIPROCESSING";

bool freeze_support_was_called = false;

// Function objects of several files fill it before main().
std::map<std::string, detail::Boxed>& functions() {
  static auto& table = *new std::map<std::string, detail::Boxed>;
  return table;
}

std::vector<IValue> list_of(const IValue& value) {
  const auto elements = value.toListRef();
  return std::vector<IValue>(elements.begin(), elements.end());
}

std::vector<IValue> with_rank(int rank, const std::vector<IValue>& args) {
  std::vector<IValue> all{IValue(static_cast<int64_t>(rank))};
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

}  // namespace

Argument::Argument(const Queue& queue)
    : descriptors_(detail::Descriptors::of(queue)), held_(std::make_shared<Queue>(queue)) {
  value_ = std::vector<int64_t>(descriptors_.begin(), descriptors_.end());
}
Argument::Argument(const Connection& end)
    : descriptors_(detail::Descriptors::of(end)), held_(std::make_shared<Connection>(end)) {
  value_ = std::vector<int64_t>(descriptors_.begin(), descriptors_.end());
}

void detail::register_function(const std::string& name, Boxed function) {
  TORCH_CHECK_VALUE(functions().emplace(name, std::move(function)).second,
                    "torch::multiprocessing::Function: there is a function of the name \"", name, "\" already");
}

const detail::Boxed& detail::find_function(const std::string& name) {
  const auto found = functions().find(name);
  TORCH_CHECK_VALUE(found != functions().end(), "torch::multiprocessing: this process has no function \"", name,
                    "\"; it is to be made at namespace scope");
  return found->second;
}

void freeze_support() {
  freeze_support_was_called = true;
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return;
  std::istringstream command(text);
  // Programs that this one starts are none of it.
  ::unsetenv(kVariable);
  std::string kind;
  pid_t parent = -1;
  command >> kind >> parent;
  if (kind == "pool") {
    int socket = -1;
    command >> socket;
    TORCH_CHECK(!command.fail(), kVariable, ": it is not of this library");
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    detail::run_pool_worker(socket, parent);
  }
  int daemon = 0, rank = -1, ended = -1, socket = -1;
  command >> daemon >> rank >> ended >> socket;
  TORCH_CHECK(kind == "worker" && !command.fail(), kVariable, ": it is not of this library");
  for (const int descriptor : {ended, socket}) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  detail::run_worker(
      [&](int) {
        const IValue message = receive(socket);
        ::close(socket);
        const auto& parts = message.toTupleRef().elementsArrayRef();
        detail::find_function(parts[0].toStringRef())(with_rank(rank, list_of(parts[1])));
      },
      rank, ended, daemon != 0, parent);
}

pid_t detail::spawn_process(const std::string& command, const std::vector<int>& kept) {
  TORCH_CHECK(freeze_support_was_called,
              "torch::multiprocessing: the start method \"spawn\" starts this program anew, whose main() must call "
              "torch::multiprocessing::freeze_support() first of all; it did not");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // A descriptor that becomes itself is not closed.
  for (const int descriptor : kept) ::posix_spawn_file_actions_adddup2(&actions, descriptor, descriptor);
  std::string variable = std::string(kVariable) + "=" + command, name;
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::getline(line, name, '\0');
  char* const arguments[] = {name.data(), nullptr};
  pid_t pid = -1;
  const int reason = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  errno = reason;
  return reason == 0 ? pid : -1;
}

ProcessContext start_processes(const Function& fn, const std::vector<Argument>& args, int nprocs, bool join,
                               bool daemon, const std::string& start_method) {
  TORCH_CHECK_VALUE(start_method == "spawn" || start_method == "fork",
                    "start_processes: the start methods are \"spawn\" and \"fork\", got \"", start_method, "\"");
  std::vector<IValue> values;
  std::vector<int> descriptors;
  for (const Argument& arg : args) {
    values.push_back(arg.value());
    descriptors.insert(descriptors.end(), arg.descriptors().begin(), arg.descriptors().end());
  }
  const pid_t parent = ::getpid();
  detail::Start start;
  if (start_method == "fork") {
    start = [&](int rank, int ended, const std::vector<int>& of_parent) {
      return detail::fork_process(of_parent, [&] {
        detail::run_worker([&](int) { detail::find_function(fn.name())(with_rank(rank, values)); }, rank, ended, daemon,
                           parent);
      });
    };
  } else {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const IValue& value : values) list.push_back(value);
    const IValue message = std::make_tuple(fn.name(), IValue(list));
    start = [&, message](int rank, int ended, const std::vector<int>&) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return pid_t{-1};
      const struct Ends {
        int *ends;
        ~Ends() {
          const int reason = errno;
          ::close(ends[0]);
          ::close(ends[1]);
          errno = reason;
        }
      } closed{ends};
      // The message waits in the socket.
      send(ends[0], message);
      std::vector<int> kept = descriptors;
      kept.push_back(ended);
      kept.push_back(ends[1]);
      const int is_daemon = daemon ? 1 : 0;
      return detail::spawn_process(c10::str("worker ", parent, " ", is_daemon, " ", rank, " ", ended, " ", ends[1]),
                                   kept);
    };
  }
  ProcessContext context = detail::start_all(nprocs, daemon, start);
  while (join && !context.join()) {
  }
  return context;
}

ProcessContext spawn(const Function& fn, const std::vector<Argument>& args, int nprocs, bool join, bool daemon,
                     const std::string& start_method) {
  return start_processes(fn, args, nprocs, join, daemon, start_method);
}

}  // namespace torch::multiprocessing
