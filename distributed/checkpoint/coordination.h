// What ranks that save or load together tell each other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/process_group.h"

namespace torch::distributed::checkpoint {

/// A step of save() or load() that failed on some ranks; every rank throws it. The text has each rank's error:
/// "save: write failed on 1 of 4 ranks. Rank 2: write failed for /a/data-2-1.safetensors: No space left on device
/// (errno 28)".
class CheckpointException : public c10::DistError {
 public:
  CheckpointException(const std::string& operation, const std::string& step, int ranks,
                      std::map<int, std::string> failures);
  /// What each rank threw that did, by rank of the group.
  const std::map<int, std::string>& failures() const { return failures_; }
  /// "plan", "write", "finish", "read" ...
  const std::string& step() const { return step_; }

 private:
  std::map<int, std::string> failures_;
  std::string step_;
};

namespace detail {

/// The ranks of a group (null: this one alone), rank 0 of which coordinates.
class Ranks {
 public:
  /// `operation`: "save" or "load", for messages.
  Ranks(const char* operation, c10::intrusive_ptr<c10d::ProcessGroup> group);
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_coordinator() const { return rank_ == 0; }

  /// Each rank does `local`; the coordinator makes of what they give, in the order of ranks, what each receives. Where
  /// a rank or the coordinator throws, all throw CheckpointException, of step `local_step` or `global_step`.
  std::string reduce_scatter(const char* local_step, const std::function<std::string()>& local, const char* global_step,
                             const std::function<std::vector<std::string>(std::vector<std::string>)>& global) const;
  /// The same where all receive the same.
  std::string all_reduce(const char* local_step, const std::function<std::string()>& local, const char* global_step,
                         const std::function<std::string(std::vector<std::string>)>& global) const;
  /// Each rank does `local`; where one throws, all do.
  void all(const char* step, const std::function<void()>& local) const;

 private:
  std::vector<std::string> gather(const std::string& own) const;
  std::string scatter(const std::vector<std::string>& texts) const;

  const char* const operation_;
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  const int rank_, size_;
};

}  // namespace detail
}  // namespace torch::distributed::checkpoint
