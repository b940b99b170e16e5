#include "distributed/testing/two_networks.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "c10/util/exception.h"

namespace c10d::testing {
namespace {

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// Without rights: as the master of users of its own.
bool enter_new_network() {
  if (::unshare(CLONE_NEWNET) == 0) return true;
  const auto user = ::getuid();
  const auto group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return true;
}

}  // namespace

TwoNetworks::TwoNetworks() : refusal_(make()) {}

TwoNetworks::~TwoNetworks() {
  if (holder_ <= 0) return;
  ::kill(holder_, SIGKILL);
  ::waitpid(holder_, nullptr, 0);
}

std::string TwoNetworks::make() {
  if (!run("ip -V")) return "there is no command `ip`";
  if (!enter_new_network()) return c10::str("a network is refused: ", std::strerror(errno));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  holder_ = ::fork();
  if (holder_ < 0) return "no process";
  if (holder_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char is_there = ::unshare(CLONE_NEWNET) == 0 ? 1 : 0;
    if (::write(ends[1], &is_there, 1) == 1) {
      for (;;) ::pause();
    }
    std::_Exit(1);
  }
  char is_there = 0;
  const bool is_read = ::read(ends[0], &is_there, 1) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  if (!is_read || is_there == 0) return "a second network is refused";
  const std::string second = c10::str("nsenter --net=/proc/", holder_, "/ns/net ip ");
  const std::string steps[] = {
      "ip link set lo up",
      c10::str("ip link add kd0 type veth peer name kd1 netns ", holder_),
      c10::str("ip address add ", kFirst, "/24 dev kd0"),
      "ip link set kd0 up",
      second + "link set lo up",
      second + c10::str("address add ", kSecond, "/24 dev kd1"),
      second + "link set kd1 up",
  };
  for (const std::string& step : steps) {
    if (!run(step)) return "this failed: " + step;
  }
  return "";
}

void TwoNetworks::enter_second() const {
  const int network = ::open(c10::str("/proc/", holder_, "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  TORCH_CHECK(network >= 0 && ::setns(network, CLONE_NEWNET) == 0,
              "TwoNetworks: the second network cannot be entered: ", std::strerror(errno));
  ::close(network);
}

void TwoNetworks::set_wire(bool up) const {
  TORCH_CHECK(run(up ? "ip link set kd0 up" : "ip link set kd0 down"), "TwoNetworks: the wire cannot be changed");
}

}  // namespace c10d::testing
