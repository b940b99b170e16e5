// What a rank did last: its operations, with their sizes and times, for when something goes wrong.
//
//   std::cout << c10d::FlightRecorder::get().dump();
//
// It is always on. Of the last 2,000 operations (TORCH_FR_BUFFER_SIZE; 0 for none) it holds what PyTorch's flight
// recorder does, and writes it as the same JSON. With TORCH_FR_DUMP_TEMP_FILE=PREFIX the first error of a group has the
// file PREFIX<rank> written, on every rank (TORCH_FR_DUMP_ON_TIMEOUT=0: not; =1 without a prefix: to
// /tmp/comm_lib_trace_rank_<rank>); the names with TORCH_NCCL_ in front are PyTorch's older ones. analyze_flights says
// from the files of all ranks who is behind.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/scalar_type.h"
#include "distributed/process_group/work.h"

namespace c10d {

/// Thread-safe. Recording an operation, its start and its end takes 100 ns each at most.
class FlightRecorder {
 public:
  /// The calling thread's rank's (rank_local.h).
  static const std::shared_ptr<FlightRecorder>& get();

  /// The environment says here where files are written, and when.
  explicit FlightRecorder(size_t capacity);

  /// A group, whose operations bear the number that this returns. `engine`: "gloo".
  uint32_t add_group(const std::string& name, const std::string& description, const std::string& engine, int rank,
                     const std::vector<uint64_t>& global_ranks, int size);

  /// An operation. `sequence`: its number among those of all ranks of the group, or, of messages, among the messages.
  /// `peer`: of a message, or -1. Returns what names it for start() and end(), which do nothing once it is forgotten.
  uint64_t record(uint32_t group, OpType type, uint64_t sequence, const std::vector<at::Tensor>& inputs,
                  const std::vector<at::Tensor>& outputs, std::chrono::milliseconds timeout, int peer = -1);
  void start(uint64_t id);
  void end(uint64_t id, bool has_failed = false);

  /// JSON, oldest first: "version", "pg_config", "pg_status" and "entries". Of tensors, the first four of each
  /// operation with up to six sizes each. `only_active`: without operations that are done.
  std::string dump(bool include_collectives = true, bool only_active = false) const;
  /// To the file that the environment said. Returns its path, "" where none is to be written; never throws.
  std::string dump_to_file(bool is_error) noexcept;
  /// Whether signals (dump_flights_on_signal) have come since the last call.
  bool was_signalled();

  size_t capacity() const { return capacity_; }
  /// How many operations it holds.
  size_t size() const;
  /// Forgets all operations.
  void reset();

 private:
  static constexpr size_t kTensors = 4, kSizes = 6;
  enum class State : uint8_t { SCHEDULED, STARTED, COMPLETED };
  struct Shape {
    std::array<int64_t, kSizes> sizes;
    uint8_t dim = 0;
    c10::ScalarType dtype = c10::ScalarType::Undefined;
  };
  struct Entry {
    uint64_t id, sequence;
    int64_t created_ns, started_ns, ended_ns, timeout_ms;
    uint32_t group;
    int32_t peer;
    OpType type;
    State state;
    bool has_failed;
    uint8_t inputs, outputs;  // how many of the shapes
    std::array<Shape, kTensors> shapes;
  };
  struct Status {
    int64_t enqueued = -1, started = -1, completed = -1;
  };
  struct Group {
    std::string name, description, engine;
    std::vector<uint64_t> ranks;
    Status status;
  };
  static void put(Entry& entry, uint8_t& count, const std::vector<at::Tensor>& tensors);
  void text_of(const Entry& entry, std::string& out) const;
  Entry* find(uint64_t id);

  const size_t capacity_;
  std::string prefix_;
  bool has_file_of_errors_ = false;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // a ring once it is full
  uint64_t next_ = 0;
  std::vector<Group> groups_;
  int rank_ = 0;
  std::mutex file_mutex_;
  std::atomic<int> signals_ = 0;  // that were seen
};

/// "all_reduce", "send", ...
const char* profiling_name(OpType type);

/// Has the recorders of all ranks of this process written to their files (or to /tmp/comm_lib_trace_rank_<rank>) within
/// a second of each such signal, as long as there are groups. init_process_group does it for SIGUSR2 where
/// TORCH_FR_DUMP_ON_SIGUSR2 is 1.
void dump_flights_on_signal(int signal);
/// What the files of the ranks of a job (dump()) say, a line each: of every group who is behind, whose calls differ
/// from the others', and of whom there is no file. Throws c10::ValueError for what is no such file.
std::string analyze_flights(const std::vector<std::string>& dumps);

}  // namespace c10d
