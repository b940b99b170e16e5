#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "c10/core/device.h"

// The threads that nodes of devices run in. Not for users.
namespace torch::autograd {

class Lane;

// Something with work for lanes.
class LaneWork {
 public:
  // Does one piece of the work that it put into `lane`, in the lane's thread.
  virtual void run_one(Lane& lane) = 0;

 protected:
  ~LaneWork() = default;
};

// A queue of work that one thread does: that of a device, or of a pass that runs nodes on devices for what it keeps.
class Lane {
 public:
  // That of a pass.
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void put(LaneWork& work);
  // Has serve() look whether it is done.
  void wake();
  // Does what is put here until `done()`. May be called by work that runs here: then that waits, and the lane does not.
  void serve(const std::function<bool()>& done);

  // That of a device; starts its thread the first time.
  static Lane& of(c10::Device device);
  // That of this thread, or null where it is no device's.
  static Lane* of_this_thread() noexcept;
  // Makes this thread the one that does the lane's work, in place of the one that waits for it; null: leaves it as it is.
  static void take_over(Lane* lane);

 private:
  explicit Lane(c10::Device device) : device_(device) {}

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LaneWork*> queue_;
  bool woken_ = false;
  const c10::Device device_{c10::DeviceType::CPU};
};

}  // namespace torch::autograd
