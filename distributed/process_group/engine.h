// What carries a backend's operations between the ranks of a group, on memory of the host: Gloo, MPI, or, in tests,
// threads of one process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "c10/util/exception.h"
#include "distributed/process_group/types.h"

namespace c10d {

/// `count` elements side by side.
struct Elements {
  void* data = nullptr;
  size_t count = 0;
  c10::ScalarType dtype = c10::ScalarType::Float;
  size_t bytes() const { return count * c10::elementSize(dtype); }
};

/// What engines throw where they know whom they waited for. `are_gone`: the connection with one of them has ended.
class LostRanksError : public c10::DistBackendError {
 public:
  LostRanksError(const std::string& text, std::vector<int> ranks, bool are_gone = false)
      : DistBackendError(c10::SourceLocation{__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text),
        ranks_(std::move(ranks)),
        are_gone_(are_gone) {}
  const std::vector<int>& ranks() const { return ranks_; }
  bool are_gone() const { return are_gone_; }

 private:
  std::vector<int> ranks_;
  bool are_gone_;
};

/// Blocking operations. Any number of threads may call, each for an operation of its own.
///
/// Every function throws DistBackendError when the deadline has passed, a peer is gone, or abort() was called; what is
/// in the memory given is then undefined, and the engine may be of no more use. LostRanksError says whom it waited for.
/// Reductions take SUM, PRODUCT, MIN, MAX, BAND, BOR and BXOR.
class Engine {
 public:
  /// Of an operation: its tag, the same on all ranks and no other's meanwhile (what follows it may have the same),
  /// until when it must be done, and what finds out whether all ranks call the same, and throws where they do not.
  struct Call {
    uint32_t tag = 0;
    std::chrono::steady_clock::time_point deadline;
    std::function<void()> agree;
  };

  Engine(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  virtual const char* name() const = 0;
  /// Whose memory it works on.
  virtual c10::DeviceType device_type() const { return c10::DeviceType::CPU; }
  /// Whether reductions take AVG, too.
  virtual bool averages() const { return false; }
  /// Whether the operations of all ranks call Call::agree: before they write results, and before anything that goes
  /// wrong where the ranks do not call the same. Otherwise who calls them has done that.
  virtual bool agrees() const { return false; }
  /// Throws c10::Error, naming `operation`, where elements of the dtype cannot be reduced like that.
  virtual void check_reduction(const char* operation, const ReduceOp& op, c10::ScalarType dtype) const;

  // Between two ranks. Messages of one tag from one rank to another arrive in order; both sides give the same number of
  // bytes.
  virtual void send(const Call& call, const void* data, size_t bytes, int to) = 0;
  virtual void receive(const Call& call, void* data, size_t bytes, int from) = 0;
  /// From whoever sends first. Returns who that is.
  virtual int receive_any(const Call& call, void* data, size_t bytes) = 0;
  /// Both at once.
  virtual void send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) = 0;

  // Of all ranks.
  virtual void barrier(const Call& call) = 0;
  virtual void broadcast(const Call& call, void* data, size_t bytes, int root) = 0;
  virtual void all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) = 0;
  /// On other ranks than `root` the elements may change, too.
  virtual void reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) = 0;
  /// `out`: size() times `bytes`, in the order of ranks.
  virtual void all_gather(const Call& call, const void* in, size_t bytes, void* out) = 0;
  /// Several at once, in no more steps than one takes where the engine can do that. One call after the other otherwise.
  struct Gathered {
    const void* in = nullptr;
    size_t bytes = 0;
    void* out = nullptr;
  };
  virtual void all_gather_together(const Call& call, const std::vector<Gathered>& parts);
  /// `out`: likewise, on the root; null elsewhere.
  virtual void gather(const Call& call, const void* in, size_t bytes, void* out, int root) = 0;
  /// `in`: size() times `bytes`, on the root; null elsewhere.
  virtual void scatter(const Call& call, const void* in, void* out, size_t bytes, int root) = 0;
  /// `in`: size() times out.count elements.
  virtual void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) = 0;
  /// Several at once, likewise.
  struct Scattered {
    Elements in, out;
  };
  virtual void reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts, ReduceOp::RedOpType op);
  /// To and from each rank, in the order of ranks, side by side.
  virtual void all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                          const std::vector<size_t>& out_bytes) = 0;

  /// Ends what runs with an error that has this text, and what is called later; on all other ranks what needs this one.
  /// Returns at once, from any thread.
  virtual void abort(const std::string& why) noexcept = 0;

 private:
  const int rank_, size_;
};

}  // namespace c10d
