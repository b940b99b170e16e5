#include "distributed/testing/threads_engine.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/reduce.h"

namespace c10d::testing {
namespace {

using Bytes = std::vector<char>;

// Where threads meet.
struct Hub {
  explicit Hub(int size) : has_left(static_cast<size_t>(size)), waiting(static_cast<size_t>(size)) {}

  struct Meeting {
    std::vector<Bytes> given;
    std::vector<bool> is_here;
    int here = 0, left = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint32_t, Meeting> meetings;
  std::map<std::tuple<int, int, uint32_t>, std::deque<Bytes>> messages;  // from, to, tag
  std::string aborted;                                                   // why nobody waits any more
  std::vector<bool> has_left;                                            // by rank
  std::vector<int> waiting;                                              // how many threads of a rank wait for others
};

class ThreadsEngine final : public Engine {
 public:
  ThreadsEngine(std::shared_ptr<Hub> hub, int rank, int size) : Engine(rank, size), hub_(std::move(hub)) {}
  ~ThreadsEngine() override {
    const std::lock_guard<std::mutex> lock(hub_->mutex);
    hub_->has_left[to_size(rank())] = true;
    hub_->changed.notify_all();
  }
  const char* name() const override { return "threads"; }

  void send(const Call& call, const void* data, size_t bytes, int to) override {
    const char* const begin = static_cast<const char*>(data);
    const std::lock_guard<std::mutex> lock(hub_->mutex);
    check_alive();
    hub_->messages[{rank(), to, call.tag}].emplace_back(begin, begin + bytes);
    hub_->changed.notify_all();
  }
  void receive(const Call& call, void* data, size_t bytes, int from) override {
    receive_from({from}, call, data, bytes);
  }
  int receive_any(const Call& call, void* data, size_t bytes) override {
    std::vector<int> all;
    for (int other = 0; other < size(); ++other) all.push_back(other);
    return receive_from(all, call, data, bytes);
  }
  void send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) override {
    send(call, out, bytes, to);
    receive(call, in, bytes, from);
  }

  void barrier(const Call& call) override { meet(call, nullptr, 0); }
  void broadcast(const Call& call, void* data, size_t bytes, int root) override {
    const auto all = meet(call, data, rank() == root ? bytes : 0);
    take(all, root, data, bytes);
  }
  void all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) override {
    reduced(meet(call, data.data, data.bytes()), 0, data, op);
  }
  void reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) override {
    const auto all = meet(call, data.data, data.bytes());
    if (rank() == root) reduced(all, 0, data, op);
  }
  void all_gather(const Call& call, const void* in, size_t bytes, void* out) override {
    const auto all = meet(call, in, bytes);
    for (int other = 0; other < size(); ++other)
      take(all, other, static_cast<char*>(out) + bytes * to_size(other), bytes);
  }
  void gather(const Call& call, const void* in, size_t bytes, void* out, int root) override {
    const auto all = meet(call, in, bytes);
    if (rank() != root) return;
    for (int other = 0; other < size(); ++other)
      take(all, other, static_cast<char*>(out) + bytes * to_size(other), bytes);
  }
  void scatter(const Call& call, const void* in, void* out, size_t bytes, int root) override {
    const auto all = meet(call, in, rank() == root ? bytes * to_size(size()) : 0);
    const Bytes& parts = all[to_size(root)];
    TORCH_CHECK_WITH(DistBackendError, parts.size() == bytes * to_size(size()), "rank ", root, " scatters ",
                     parts.size(), " bytes");
    std::memcpy(out, parts.data() + bytes * to_size(rank()), bytes);
  }
  void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) override {
    reduced(meet(call, in.data, in.bytes()), out.bytes() * to_size(rank()), out, op);
  }
  void all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                  const std::vector<size_t>& out_bytes) override {
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    for (int other = 0; other < size(); ++other) {
      send(call, from, in_bytes[to_size(other)], other);
      from += in_bytes[to_size(other)];
    }
    for (int other = 0; other < size(); ++other) {
      receive(call, to, out_bytes[to_size(other)], other);
      to += out_bytes[to_size(other)];
    }
  }

  void abort(const std::string& why) noexcept override {
    const std::lock_guard<std::mutex> lock(hub_->mutex);
    if (hub_->aborted.empty()) hub_->aborted = why;
    hub_->changed.notify_all();
  }

 private:
  static size_t to_size(int n) { return static_cast<size_t>(n); }

  // The lock is held.
  void check_alive() const { TORCH_CHECK_WITH(DistBackendError, hub_->aborted.empty(), hub_->aborted); }

  static void take(const std::vector<Bytes>& all, int from, void* to, size_t bytes) {
    const Bytes& given = all[to_size(from)];
    TORCH_CHECK_WITH(DistBackendError, given.size() == bytes, "expected ", bytes, " bytes of rank ", from, ", but got ",
                     given.size());
    if (bytes != 0) std::memcpy(to, given.data(), bytes);
  }

  static void reduced(const std::vector<Bytes>& all, size_t offset, const Elements& out, ReduceOp::RedOpType op) {
    for (size_t other = 0; other < all.size(); ++other) {
      TORCH_CHECK_WITH(DistBackendError, all[other].size() >= offset + out.bytes(), "rank ", other, " gave ",
                       all[other].size(), " bytes");
      const char* const given = all[other].data() + offset;
      if (other == 0) {
        std::memcpy(out.data, given, out.bytes());
      } else {
        reduce_into(op, out.dtype, out.data, out.data, given, out.count);
      }
    }
  }

  // What all ranks bring, once all are here.
  std::vector<Bytes> meet(const Call& call, const void* data, size_t bytes) {
    const char* const begin = static_cast<const char*>(data);
    std::unique_lock<std::mutex> lock(hub_->mutex);
    // The tag's last meeting, until all have taken what they wanted from it.
    const auto is_in_last = [&] {
      const auto last = hub_->meetings.find(call.tag);
      return last != hub_->meetings.end() && !last->second.is_here.empty() && last->second.is_here[to_size(rank())];
    };
    hub_->changed.wait(lock, [&] { return !is_in_last() || !hub_->aborted.empty(); });
    check_alive();
    Hub::Meeting& meeting = hub_->meetings[call.tag];
    meeting.given.resize(to_size(size()));
    meeting.is_here.resize(to_size(size()));
    meeting.given[to_size(rank())].assign(begin, begin + bytes);
    meeting.is_here[to_size(rank())] = true;
    ++meeting.here;
    hub_->changed.notify_all();
    while (meeting.here < size()) {
      check_alive();
      std::vector<int> missing;
      bool has_left = false;
      for (int other = 0; other < size(); ++other) {
        if (meeting.is_here[to_size(other)]) continue;
        missing.push_back(other);
        has_left = has_left || hub_->has_left[to_size(other)];
      }
      wait(lock, call, missing, has_left);
    }
    std::vector<Bytes> all = meeting.given;
    if (++meeting.left == size()) {
      hub_->meetings.erase(call.tag);
      hub_->changed.notify_all();
    }
    return all;
  }

  int receive_from(const std::vector<int>& sources, const Call& call, void* data, size_t bytes) {
    std::unique_lock<std::mutex> lock(hub_->mutex);
    while (true) {
      for (const int from : sources) {
        const auto found = hub_->messages.find({from, rank(), call.tag});
        if (found == hub_->messages.end()) continue;
        const Bytes message = std::move(found->second.front());
        found->second.pop_front();
        if (found->second.empty()) hub_->messages.erase(found);
        TORCH_CHECK_WITH(DistBackendError, message.size() == bytes, "rank ", from, " sent ", message.size(),
                         " bytes, but rank ", rank(), " receives ", bytes);
        if (bytes != 0) std::memcpy(data, message.data(), bytes);
        return from;
      }
      check_alive();
      bool has_left = true;
      for (const int from : sources) has_left = has_left && (from == rank() || hub_->has_left[to_size(from)]);
      wait(lock, call, sources, has_left);
    }
  }

  // For something to change, which must be what some of these ranks do.
  void wait(std::unique_lock<std::mutex>& lock, const Call& call, const std::vector<int>& ranks, bool has_left) {
    // Who waits, too, is not to blame.
    std::vector<int> late;
    for (const int other : ranks) {
      if (hub_->waiting[to_size(other)] == 0) late.push_back(other);
    }
    if (late.empty()) late = ranks;
    const std::string names = c10::str(late.size() == 1 ? "rank " : "ranks ", c10::Join(", ", late));
    if (has_left) throw LostRanksError(names + " has left", late);
    if (std::chrono::steady_clock::now() >= call.deadline) throw LostRanksError("timed out waiting for " + names, late);
    ++hub_->waiting[to_size(rank())];
    hub_->changed.wait_until(lock, call.deadline);
    --hub_->waiting[to_size(rank())];
  }

  const std::shared_ptr<Hub> hub_;
};

}  // namespace

std::vector<std::unique_ptr<Engine>> threads_engines(int size) {
  const auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<Engine>> engines;
  for (int rank = 0; rank < size; ++rank) engines.push_back(std::make_unique<ThreadsEngine>(hub, rank, size));
  return engines;
}

}  // namespace c10d::testing
