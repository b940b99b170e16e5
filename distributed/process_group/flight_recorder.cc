#include "distributed/process_group/flight_recorder.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/rank_local.h"

namespace c10d {
namespace {

constexpr size_t kDefaultCapacity = 2000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The first of the two that is set.
std::optional<std::string> variable(const char* name, const char* older) {
  if (auto value = rank_environment(name)) return value;
  return rank_environment(older);
}

size_t capacity_of_environment() {
  const auto text = variable("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE");
  if (!text) return kDefaultCapacity;
  char* end = nullptr;
  const unsigned long long count = std::strtoull(text->c_str(), &end, 10);
  if (end != text->c_str() && *end == '\0' && count <= (1u << 24)) return count;
  TORCH_WARN("TORCH_FR_BUFFER_SIZE must be a number of operations, but is '", *text, "'");
  return kDefaultCapacity;
}

struct RecorderOfRank {
  std::shared_ptr<FlightRecorder> recorder = std::make_shared<FlightRecorder>(capacity_of_environment());
};

void add_text(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}
void add_key(std::string& out, const char* key) {
  if (out.back() != '{') out += ", ";
  out += '"';
  out += key;
  out += "\": ";
}
void add(std::string& out, const char* key, const std::string& text) {
  add_key(out, key);
  add_text(out, text);
}
void add(std::string& out, const char* key, int64_t number) {
  add_key(out, key);
  out += std::to_string(number);
}
void add_flag(std::string& out, const char* key, bool flag) {
  add_key(out, key);
  out += flag ? "true" : "false";
}
// A time; null for none.
void add_time(std::string& out, const char* key, int64_t ns) {
  add_key(out, key);
  out += ns == 0 ? "null" : std::to_string(ns);
}

std::atomic<int> signals = 0;
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

const std::shared_ptr<FlightRecorder>& FlightRecorder::get() {
  return RankLocal<RecorderOfRank>::get().recorder;
}

FlightRecorder::FlightRecorder(size_t capacity) : capacity_(capacity) {
  const auto prefix = variable("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
  const auto wish = variable("TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT");
  prefix_ = prefix.value_or("/tmp/comm_lib_trace_rank_");
  has_file_of_errors_ = wish ? *wish == "1" || *wish == "true" : prefix.has_value();
}

uint32_t FlightRecorder::add_group(const std::string& name, const std::string& description, const std::string& engine,
                                   int rank, const std::vector<uint64_t>& global_ranks, int size) {
  std::vector<uint64_t> ranks = global_ranks;
  for (int r = 0; ranks.size() < static_cast<size_t>(size); ++r) ranks.push_back(static_cast<uint64_t>(r));
  const std::lock_guard<std::mutex> lock(mutex_);
  rank_ = static_cast<int>(ranks[static_cast<size_t>(rank)]);
  groups_.push_back({name, description, engine, std::move(ranks), {}});
  return static_cast<uint32_t>(groups_.size() - 1);
}

void FlightRecorder::put(Entry& entry, uint8_t& count, const std::vector<at::Tensor>& tensors) {
  count = 0;
  for (const at::Tensor& t : tensors) {
    const size_t at = size_t{entry.inputs} + entry.outputs;
    if (at == kTensors || !t.defined()) return;
    Shape& shape = entry.shapes[at];
    const c10::IntArrayRef sizes = t.sizes();
    shape.dim = static_cast<uint8_t>(std::min(sizes.size(), kSizes));
    std::copy_n(sizes.begin(), shape.dim, shape.sizes.begin());
    shape.dtype = t.scalar_type();
    ++count;
  }
}

uint64_t FlightRecorder::record(uint32_t group, OpType type, uint64_t sequence, const std::vector<at::Tensor>& inputs,
                                const std::vector<at::Tensor>& outputs, std::chrono::milliseconds timeout, int peer) {
  if (capacity_ == 0) return 0;
  const int64_t now = now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t id = next_++;
  if (entries_.size() < capacity_) entries_.emplace_back();
  Entry& entry = entries_[id % capacity_];
  entry.id = id;
  entry.sequence = sequence;
  entry.created_ns = now;
  entry.started_ns = entry.ended_ns = 0;
  entry.timeout_ms = timeout.count();
  entry.group = group;
  entry.peer = peer;
  entry.type = type;
  entry.state = State::SCHEDULED;
  entry.has_failed = false;
  entry.inputs = entry.outputs = 0;
  put(entry, entry.inputs, inputs);
  put(entry, entry.outputs, outputs);
  if (!isP2POp(type)) groups_[group].status.enqueued = static_cast<int64_t>(sequence);
  return id;
}

FlightRecorder::Entry* FlightRecorder::find(uint64_t id) {
  if (entries_.empty()) return nullptr;
  Entry& entry = entries_[id % capacity_];
  return entry.id == id ? &entry : nullptr;
}

void FlightRecorder::start(uint64_t id) {
  const int64_t now = now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = find(id);
  if (entry == nullptr) return;
  entry->started_ns = now;
  entry->state = State::STARTED;
  if (!isP2POp(entry->type)) groups_[entry->group].status.started = static_cast<int64_t>(entry->sequence);
}

void FlightRecorder::end(uint64_t id, bool has_failed) {
  const int64_t now = now_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = find(id);
  if (entry == nullptr) return;
  entry->has_failed = has_failed;
  if (has_failed) return;  // it stays as far as it was
  entry->ended_ns = now;
  entry->state = State::COMPLETED;
  Status& status = groups_[entry->group].status;
  if (!isP2POp(entry->type)) status.completed = std::max(status.completed, static_cast<int64_t>(entry->sequence));
}

size_t FlightRecorder::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

void FlightRecorder::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.clear();
  next_ = (next_ + capacity_) / std::max<size_t>(capacity_, 1) * capacity_;
}

void FlightRecorder::text_of(const Entry& entry, std::string& out) const {
  const Group& group = groups_[entry.group];
  const bool is_message = isP2POp(entry.type);
  const auto shapes = [&](const char* sizes_key, const char* dtypes_key, size_t from, size_t count) {
    add_key(out, sizes_key);
    std::string dtypes;
    out += '[';
    for (size_t i = from; i < from + count; ++i) {
      const Shape& shape = entry.shapes[i];
      const c10::IntArrayRef sizes(shape.sizes.data(), shape.dim);
      out += c10::str(i == from ? "[" : ", [", c10::Join(", ", sizes), "]");
      dtypes += c10::str(i == from ? "\"" : ", \"", c10::toString(shape.dtype), "\"");
    }
    out += ']';
    add_key(out, dtypes_key);
    out += "[" + dtypes + "]";
  };
  out += '{';
  add_key(out, "frames");
  out += "[]";
  add(out, "record_id", static_cast<int64_t>(entry.id));
  add(out, "pg_id", static_cast<int64_t>(entry.group));
  add_key(out, "process_group");
  out += '[';
  add_text(out, group.name);
  out += ", ";
  add_text(out, group.description);
  out += ']';
  add(out, "collective_seq_id", is_message ? 0 : static_cast<int64_t>(entry.sequence));
  add(out, "p2p_seq_id", is_message ? static_cast<int64_t>(entry.sequence) : 0);
  add(out, "op_id", static_cast<int64_t>(entry.id));
  std::string name = group.engine + ":" + profiling_name(entry.type);
  if (is_message && entry.peer >= 0)
    name +=
        c10::str(" ", rank_, entry.type == OpType::SEND ? "->" : "<-", group.ranks[static_cast<size_t>(entry.peer)]);
  add(out, "profiling_name", name);
  add(out, "time_created_ns", entry.created_ns);
  if (entry.ended_ns != 0) {
    add_key(out, "duration_ms");
    out += c10::str(static_cast<double>(entry.ended_ns - entry.started_ns) / 1e6);
  }
  shapes("input_sizes", "input_dtypes", 0, entry.inputs);
  shapes("output_sizes", "output_dtypes", entry.inputs, entry.outputs);
  constexpr const char* kStates[] = {"scheduled", "started", "completed"};
  add(out, "state", std::string(kStates[static_cast<size_t>(entry.state)]));
  add_time(out, "time_discovered_started_ns", entry.started_ns);
  add_time(out, "time_discovered_completed_ns", entry.ended_ns);
  add_flag(out, "retired", entry.state == State::COMPLETED || entry.has_failed);
  add(out, "timeout_ms", entry.timeout_ms);
  add_flag(out, "is_p2p", is_message);
  out += '}';
}

std::string FlightRecorder::dump(bool include_collectives, bool only_active) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  std::string out = "{";
  add(out, "version", std::string("2.10"));
  add(out, "rank", rank_);
  add(out, "host_name", std::string(host));
  add_key(out, "pg_config");
  out += '{';
  for (size_t i = 0; i < groups_.size(); ++i) {
    add_key(out, std::to_string(i).c_str());
    out += '{';
    add(out, "name", groups_[i].name);
    add(out, "desc", groups_[i].description);
    add(out, "ranks", c10::str("[", c10::Join(", ", groups_[i].ranks), "]"));
    out += '}';
  }
  out += '}';
  add_key(out, "pg_status");
  out += '{';
  for (size_t i = 0; i < groups_.size(); ++i) {
    add_key(out, std::to_string(i).c_str());
    out += '{';
    add(out, "last_enqueued_collective", groups_[i].status.enqueued);
    add(out, "last_started_collective", groups_[i].status.started);
    add(out, "last_completed_collective", groups_[i].status.completed);
    out += '}';
  }
  out += '}';
  if (include_collectives) {
    add_key(out, "entries");
    out += '[';
    const size_t count = entries_.size();
    for (size_t i = 0; i < count; ++i) {
      const Entry& entry = entries_[(next_ - count + i) % capacity_];
      if (only_active && entry.state == State::COMPLETED) continue;
      if (out.back() != '[') out += ",\n";
      text_of(entry, out);
    }
    out += ']';
  }
  return out + "}\n";
}

std::string FlightRecorder::dump_to_file(bool is_error) noexcept {
  try {
    if (is_error && !has_file_of_errors_) return "";
    const std::lock_guard<std::mutex> writing(file_mutex_);
    std::string path;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      path = c10::str(prefix_, rank_);
    }
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << dump();
    file.close();
    TORCH_CHECK(file, "cannot write it");
    return path;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "The flight recorder's file was not written: %s\n", e.what());
    return "";
  }
}

bool FlightRecorder::was_signalled() {
  const int all = signals.load(std::memory_order_relaxed);
  return signals_.exchange(all) != all;
}

const char* profiling_name(OpType type) {
  switch (type) {
    case OpType::BROADCAST:
      return "broadcast";
    case OpType::ALLREDUCE:
      return "all_reduce";
    case OpType::ALLREDUCE_COALESCED:
      return "allreduce_coalesced";
    case OpType::REDUCE:
      return "reduce";
    case OpType::ALLGATHER:
      return "all_gather";
    case OpType::_ALLGATHER_BASE:
      return "_all_gather_base";
    case OpType::ALLGATHER_COALESCED:
      return "all_gather_into_tensor_coalesced";
    case OpType::GATHER:
      return "gather";
    case OpType::SCATTER:
      return "scatter";
    case OpType::REDUCE_SCATTER:
      return "reduce_scatter";
    case OpType::ALLTOALL_BASE:
    case OpType::ALLTOALL:
      return "all_to_all";
    case OpType::SEND:
      return "send";
    case OpType::RECV:
      return "recv";
    case OpType::RECVANYSOURCE:
      return "recvAnySource";
    case OpType::BARRIER:
      return "barrier";
    case OpType::_REDUCE_SCATTER_BASE:
      return "_reduce_scatter_base";
    case OpType::COALESCED:
      return "coalesced";
    case OpType::_ALLREDUCE_SPARSE:
      return "all_reduce_sparse";
    case OpType::UNKNOWN:
      break;
  }
  return "unknown";
}

void dump_flights_on_signal(int signal) {
  struct sigaction action = {};
  action.sa_handler = [](int) { signals.fetch_add(1, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART;
  TORCH_CHECK(::sigaction(signal, &action, nullptr) == 0, "dump_flights_on_signal: no signal ", signal);
}

}  // namespace c10d
