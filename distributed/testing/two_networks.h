// Two networks on one machine, for tests of ranks that do not share one.
#pragma once

#include <sys/types.h>

#include <string>

namespace c10d::testing {

/// This process goes into a network of its own, and there is a second one, with a wire (a pair of virtual devices)
/// between them: addresses kFirst and kSecond. As long as it lives; the process stays in its network. It must have one
/// thread, and wants the `ip` command and the right to make networks.
class TwoNetworks {
 public:
  static constexpr const char *kFirst = "10.77.0.1", *kSecond = "10.77.0.2";

  TwoNetworks();
  ~TwoNetworks();
  TwoNetworks(const TwoNetworks&) = delete;
  TwoNetworks& operator=(const TwoNetworks&) = delete;

  /// Why there are none; "" where there are.
  const std::string& refusal() const { return refusal_; }
  /// The calling process, which was forked from this one, goes into the second network.
  void enter_second() const;
  /// Takes the wire down, or up again.
  void set_wire(bool up) const;

 private:
  std::string make();

  pid_t holder_ = -1;  // a process that keeps the second network
  std::string refusal_;
};

}  // namespace c10d::testing
