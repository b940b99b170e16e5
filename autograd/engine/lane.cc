#include "autograd/engine/lane.h"

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "autograd/engine/fork.h"
#include "c10/core/device_guard_impl.h"

namespace torch::autograd {
namespace {

thread_local constinit Lane* own_lane = nullptr;

// The lanes of all devices. Neither they nor this are destroyed: their threads wait to the end of the process.
struct Lanes {
  std::map<std::pair<c10::DeviceType, c10::DeviceIndex>, Lane*> by_device;
  uint32_t generation = 0;
};

Lanes& lanes() {
  static Lanes* const all = new Lanes;
  return *all;
}

void run_lane(Lane* lane) {
  Lane::take_over(lane);
  lane->serve([] { return false; });
}

}  // namespace

void Lane::put(LaneWork& work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(&work);
  changed_.notify_one();
}

void Lane::wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void Lane::serve(const std::function<bool()>& done) {
  while (!done()) {
    LaneWork* work = nullptr;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return woken_ || !queue_.empty(); });
      woken_ = false;
      if (queue_.empty()) continue;
      work = queue_.front();
      queue_.pop_front();
    }
    work->run_one(*this);
  }
}

Lane& Lane::of(c10::Device device) {
  const std::lock_guard<std::mutex> lock(mutexes.lanes);
  Lanes& all = lanes();
  // A forked child has none of its parent's threads.
  if (const uint32_t generation = fork_generation.load(); all.generation != generation) {
    all.by_device.clear();
    all.generation = generation;
  }
  Lane*& lane = all.by_device[{device.type(), device.index()}];
  if (lane == nullptr) {
    std::unique_ptr<Lane> fresh(new Lane(device));
    std::thread(run_lane, fresh.get()).detach();
    lane = fresh.release();
  }
  return *lane;
}

Lane* Lane::of_this_thread() noexcept {
  return own_lane;
}

void Lane::take_over(Lane* lane) {
  if (lane == nullptr) return;
  own_lane = lane;
  c10::impl::getDeviceGuardImpl(lane->device_.type())->setDevice(lane->device_);
}

}  // namespace torch::autograd
