// Training where ranks have different numbers of batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::algorithms {

/// What joinables are told.
struct JoinOptions {
  /// Whether gradients of the iterations after the first rank has joined are divided by the number of all ranks, and
  /// not by the number of those that still have data.
  bool divide_by_initial_world_size = true;
  /// False: Join does nothing.
  bool enable = true;
  /// Whether all ranks throw as soon as one has no more data.
  bool throw_on_early_termination = false;
};

/// What a rank that has no more data does in the place of an object's collectives.
class JoinHook {
 public:
  virtual ~JoinHook() = default;
  /// Called once for each iteration of the other ranks: does all collectives that the object does in one.
  virtual void main_hook() {}
  /// Called once, on all ranks, when no rank has data any more. `is_last_joiner`: this rank was among the last.
  virtual void post_hook(bool /*is_last_joiner*/) {}
};

class Join;

/// An object that communicates in each iteration. It calls Join::notify_join_context(*this) once an iteration, before
/// its first collective.
class Joinable {
 public:
  Joinable() = default;
  Joinable(const Joinable&) = default;
  Joinable& operator=(const Joinable&) = default;
  virtual ~Joinable() = default;
  virtual std::unique_ptr<JoinHook> join_hook(const JoinOptions& options) = 0;
  virtual c10::Device join_device() const = 0;
  virtual c10::intrusive_ptr<c10d::ProcessGroup> join_process_group() const = 0;

 protected:
  /// Whether a Join that is enabled holds it, and with what.
  bool is_joined() const { return joined_; }
  const JoinOptions& join_options() const { return options_; }

 private:
  friend class Join;
  bool joined_ = false, is_first_ = false;
  JoinOptions options_;
};

/// Lets the ranks that still have data go on when others have none: those that have none take part in collectives with
/// nothing of their own.
///
///   {
///     torch::distributed::algorithms::Join join({&*ddp, &zero});
///     for (const auto& batch : loader) { ... }     // any number of batches
///   }                                               // here for the others; then all have the same model
///
/// All joinables are of one process group, which the first one's iterations are counted by. The destructor waits for
/// the other ranks, and throws their errors; it does nothing where it is reached by an exception (the others'
/// collectives then end by their deadline, or when this rank's group goes away). finish() does the same at a place of
/// one's choice.
class Join {
 public:
  explicit Join(std::vector<Joinable*> joinables, JoinOptions options = {});
  ~Join() noexcept(false);
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  void finish();

  /// Says that this rank goes through another iteration; only the first joinable's call does something. Returns the
  /// work whose result is the number of ranks that do, or null. Throws on all ranks where one has no more data and that
  /// was asked for.
  static c10::intrusive_ptr<c10d::Work> notify_join_context(Joinable& joinable);

 private:
  static at::Tensor count(const Joinable& first, int64_t mine);

  std::vector<Joinable*> joinables_;
  const JoinOptions options_;
  std::vector<std::unique_ptr<JoinHook>> hooks_;
  int exceptions_ = 0;
  bool is_finished_ = false;
};

}  // namespace torch::distributed::algorithms
