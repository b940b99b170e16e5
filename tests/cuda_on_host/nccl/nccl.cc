#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "tests/cuda_on_host/nccl/standin.h"
#include "tests/cuda_on_host/runtime/standin.h"

// What NCCL's header declares without saying what it is.
struct ncclComm {
  int rank = 0, device = 0;
  bool blocking = true;
  std::shared_ptr<struct Clique> clique;  // once all ranks are there
  ncclResult_t error = ncclSuccess;
  int in_progress = 0;  // how often it still says so
  bool aborted = false, finalized = false;
  uint64_t operations = 0;  // of all ranks, that its streams have come to
  uint64_t splits = 0;
  std::vector<double> factors;  // of reductions made by ncclRedOpCreatePreMulSum
};
using Comm = ncclComm;

namespace nccl_standin {
namespace {

enum class Kind { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kSend, kReceive };
const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"ncclAllReduce",     "ncclBroadcast", "ncclReduce", "ncclAllGather",
                                    "ncclReduceScatter", "ncclSend",      "ncclRecv"};
  return kNames[static_cast<int>(kind)];
}

// What one rank gives to an operation.
struct Part {
  Kind kind;
  const void* in;
  void* out;
  size_t count;
  ncclDataType_t type;
  int reduction = ncclSum;
  int peer = 0;  // or the root
  double factor = 1;
};

struct Message {
  std::optional<Part> from, to;
  bool moved = false, broken = false;
};
using MessagePtr = std::shared_ptr<Message>;

// An operation of all ranks.
struct Meeting {
  std::vector<std::optional<Part>> parts;
  int arrived = 0;
  bool broken = false, done = false;  // broken: ranks that differ, or one that was aborted
};
using MeetingPtr = std::shared_ptr<Meeting>;

}  // namespace
}  // namespace nccl_standin

// The ranks of a communicator.
struct Clique {
  explicit Clique(int size) : ranks(static_cast<size_t>(size)) {}
  std::vector<Comm*> ranks;
  int joined = 0;
  std::map<uint64_t, nccl_standin::MeetingPtr> meetings;
  // By sender and receiver: those of which one side is there.
  std::map<std::pair<int, int>, std::deque<nccl_standin::MessagePtr>> sends, receives;
  struct Split {
    std::vector<std::tuple<int, int, int, Comm*>> asked;  // color, key, rank, the new one
  };
  std::map<uint64_t, Split> splits;
};

namespace nccl_standin {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable joined;
  Options options;
  uint64_t calls = 0, next_id = 1;
  std::map<uint64_t, std::shared_ptr<Clique>> gathering;  // by unique id
  std::map<Comm*, std::unique_ptr<Comm>> alive;
  std::map<int, ncclResult_t> failing;
};
State& state() {
  static State* const it = new State;  // threads may still be in a call when the process ends
  return *it;
}

// What a thread has put together since ncclGroupStart.
struct Pending {
  Comm* comm;
  cudaStream_t stream;
  Part part;
};
thread_local int group_depth = 0;
thread_local std::vector<Pending> grouped;

// A thread in a call. Work of streams takes this lock behind the runtime's own, so misuse is reported when it is free.
thread_local std::vector<std::string>* misuses_of_call = nullptr;
class Entered {
 public:
  Entered() : lock_(state().mutex) { misuses_of_call = &misuses_; }
  ~Entered() {
    misuses_of_call = nullptr;
    lock_.unlock();
    for (const std::string& text : misuses_) cuda_standin::report_misuse(text);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  template <class Done>
  void wait(const Done& done) {
    state().joined.wait(lock_, done);
  }

 private:
  std::unique_lock<std::mutex> lock_;
  std::vector<std::string> misuses_;
};

ncclResult_t refuse(const char* call, const std::string& why, ncclResult_t status = ncclInvalidArgument) {
  const std::string text = std::string(call) + ": " + why;
  misuses_of_call != nullptr ? misuses_of_call->push_back(text) : cuda_standin::report_misuse(text);
  return status;
}

bool counts_and_fails(State& s, ncclResult_t* with) {
  *with = s.options.fail_with;
  return static_cast<int64_t>(s.calls++) == s.options.fail_call;
}

bool is_alive(State& s, Comm* comm) {
  return comm != nullptr && s.alive.contains(comm);
}

size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

// --- what operations compute ---

template <class T, class Sum>
void reduce_as(const std::vector<const Part*>& parts, size_t offset, void* to, size_t count) {
  auto* const out = static_cast<T*>(to);
  const int reduction = parts[0]->reduction;
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i) {
    Sum sum{};
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      auto x = static_cast<Sum>(static_cast<const T*>(parts[rank]->in)[offset + i]);
      if (reduction >= ncclNumOps) x = static_cast<Sum>(static_cast<double>(x) * parts[rank]->factor);
      if (rank == 0)
        sum = x;
      else if (reduction == ncclProd)
        sum *= x;
      else if (reduction == ncclMax)
        sum = sum != sum || sum > x ? sum : x;
      else if (reduction == ncclMin)
        sum = sum != sum || sum < x ? sum : x;
      else
        sum += x;
    }
    if (reduction == ncclAvg) sum /= static_cast<Sum>(parts.size());
    result[i] = static_cast<T>(sum);
  }
  std::copy(result.begin(), result.end(), out);
}
void reduce(const std::vector<const Part*>& parts, size_t offset, void* out, size_t count) {
  switch (parts[0]->type) {
    case ncclInt8:
      return reduce_as<int8_t, int8_t>(parts, offset, out, count);
    case ncclUint8:
      return reduce_as<uint8_t, uint8_t>(parts, offset, out, count);
    case ncclInt32:
      return reduce_as<int32_t, int32_t>(parts, offset, out, count);
    case ncclUint32:
      return reduce_as<uint32_t, uint32_t>(parts, offset, out, count);
    case ncclInt64:
      return reduce_as<int64_t, int64_t>(parts, offset, out, count);
    case ncclUint64:
      return reduce_as<uint64_t, uint64_t>(parts, offset, out, count);
    case ncclFloat16:
      return reduce_as<c10::Half, float>(parts, offset, out, count);
    case ncclBfloat16:
      return reduce_as<c10::BFloat16, float>(parts, offset, out, count);
    case ncclFloat64:
      return reduce_as<double, double>(parts, offset, out, count);
    default:
      return reduce_as<float, float>(parts, offset, out, count);
  }
}

// An operation of all ranks is computed for all of them by the first whose turn it is. Inputs may be outputs of others.
void compute(const std::vector<const Part*>& parts) {
  const Part& first = *parts[0];
  const size_t size = parts.size(), bytes = first.count * bytes_of(first.type);
  switch (first.kind) {
    case Kind::kAllReduce: {
      std::vector<char> sum(bytes);
      reduce(parts, 0, sum.data(), first.count);
      for (const Part* part : parts) std::memcpy(part->out, sum.data(), bytes);
      return;
    }
    case Kind::kReduce: {
      std::vector<char> sum(bytes);
      reduce(parts, 0, sum.data(), first.count);
      std::memcpy(parts[static_cast<size_t>(first.peer)]->out, sum.data(), bytes);
      return;
    }
    case Kind::kReduceScatter: {
      std::vector<char> sum(bytes * size);
      reduce(parts, 0, sum.data(), first.count * size);
      for (size_t rank = 0; rank < size; ++rank) std::memcpy(parts[rank]->out, sum.data() + rank * bytes, bytes);
      return;
    }
    case Kind::kBroadcast: {
      const void* const from = parts[static_cast<size_t>(first.peer)]->in;
      for (const Part* part : parts) std::memmove(part->out, from, bytes);
      return;
    }
    case Kind::kAllGather: {
      std::vector<char> all(bytes * size);
      for (size_t rank = 0; rank < size; ++rank) std::memcpy(all.data() + rank * bytes, parts[rank]->in, bytes);
      for (const Part* part : parts) std::memcpy(part->out, all.data(), all.size());
      return;
    }
    default:
      return;
  }
}

bool is_message(Kind kind) {
  return kind == Kind::kSend || kind == Kind::kReceive;
}
bool agree(const Part& a, const Part& b) {
  return a.kind == b.kind && a.count == b.count && a.type == b.type && a.peer == b.peer &&
         std::min<int>(a.reduction, ncclNumOps) == std::min<int>(b.reduction, ncclNumOps);
}

// What one call, or one group of calls, puts on a stream for one communicator.
struct Piece {
  Comm* comm = nullptr;
  std::shared_ptr<Clique> clique;
  int rank = 0;
  std::vector<Part> parts;
  // Since the stream has come to it.
  bool has_arrived = false;
  std::vector<MeetingPtr> meetings;
  std::vector<MessagePtr> messages;

  bool is_aborted(State& s) const { return !s.alive.contains(comm) || comm->aborted; }

  void arrive() {
    has_arrived = true;
    for (const Part& part : parts) {
      if (is_message(part.kind)) {
        const bool sends = part.kind == Kind::kSend;
        const auto key = sends ? std::pair(rank, part.peer) : std::pair(part.peer, rank);
        auto& waiting = (sends ? clique->receives : clique->sends)[key];
        MessagePtr message;
        if (waiting.empty()) {
          message = std::make_shared<Message>();
          (sends ? clique->sends : clique->receives)[key].push_back(message);
        } else {
          message = waiting.front();
          waiting.pop_front();
        }
        (sends ? message->from : message->to) = part;
        messages.push_back(std::move(message));
        continue;
      }
      MeetingPtr& meeting = clique->meetings[comm->operations++];
      if (!meeting) {
        meeting = std::make_shared<Meeting>();
        meeting->parts.resize(clique->ranks.size());
      }
      meeting->parts[static_cast<size_t>(rank)] = part;
      ++meeting->arrived;
      for (const auto& other : meeting->parts) {
        if (!other || agree(*other, part) || meeting->broken) continue;
        meeting->broken = true;
        cuda_standin::report_misuse(std::string("NCCL: ranks that call ") + name_of(other->kind) + " and " +
                                    name_of(part.kind) + ", or with other counts, dtypes, roots or reductions");
      }
      meetings.push_back(meeting);
      if (meeting->arrived == static_cast<int>(clique->ranks.size())) clique->meetings.erase(comm->operations - 1);
    }
  }

  bool ready() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    if (is_aborted(s)) return true;
    if (!has_arrived) arrive();
    for (const MeetingPtr& meeting : meetings) {
      if (meeting->done) continue;
      if (meeting->broken || meeting->arrived < static_cast<int>(meeting->parts.size())) return false;
    }
    return std::all_of(messages.begin(), messages.end(),
                       [](const MessagePtr& m) { return m->moved || (m->from && m->to && !m->broken); });
  }

  void run() {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    const bool aborted = is_aborted(s);
    for (const MeetingPtr& meeting : meetings) {
      meeting->broken |= aborted;
      if (aborted || std::exchange(meeting->done, true)) continue;
      std::vector<const Part*> all;
      for (const auto& part : meeting->parts) all.push_back(&*part);
      compute(all);
    }
    for (const MessagePtr& message : messages) {
      message->broken |= aborted;
      if (aborted || std::exchange(message->moved, true)) continue;
      const size_t sent = message->from->count * bytes_of(message->from->type);
      const size_t room = message->to->count * bytes_of(message->to->type);
      if (sent != room) cuda_standin::report_misuse("ncclRecv: a message of another size");
      std::memcpy(message->to->out, message->from->in, std::min(sent, room));
    }
    has_arrived = false;  // a graph may come here again
    meetings.clear();
    messages.clear();
  }
};

size_t bytes_of(const std::vector<Part>& parts) {
  size_t bytes = 0;
  for (const Part& part : parts) bytes += 2 * part.count * bytes_of(part.type);
  return bytes;
}

// Each communicator's parts are one piece.
ncclResult_t submit(std::vector<Pending> pending) {
  State& s = state();
  while (!pending.empty()) {
    Comm* const comm = pending.front().comm;
    const cudaStream_t stream = pending.front().stream;
    auto piece = std::make_shared<Piece>();
    {
      const Entered entered;
      if (!is_alive(s, comm)) return refuse("NCCL", "a communicator that is none, or was given back");
      piece->comm = comm;
      piece->clique = comm->clique;
      piece->rank = comm->rank;
      comm->in_progress = comm->blocking ? 0 : s.options.in_progress;
    }
    std::erase_if(pending, [&](const Pending& p) {
      if (p.comm != comm) return false;
      piece->parts.push_back(p.part);
      return true;
    });
    const char* const name = piece->parts.size() == 1 ? name_of(piece->parts[0].kind) : "ncclGroup";
    if (cuda_standin::enqueue_together(
            stream, name, [piece] { return piece->ready(); }, [piece] { piece->run(); }, bytes_of(piece->parts)) !=
        cudaSuccess) {
      return ncclUnhandledCudaError;
    }
  }
  return ncclSuccess;
}

// What is wrong with a communicator.
ncclResult_t error_of(State& s, Comm* comm) {
  const auto failing = s.failing.find(comm->rank);
  if (failing != s.failing.end()) comm->error = failing->second;
  return comm->error;
}

ncclResult_t add(const char* call, Part part, Comm* comm, cudaStream_t stream) {
  State& s = state();
  bool blocking = true;
  {
    const Entered entered;
    ncclResult_t with;
    if (counts_and_fails(s, &with)) return with;
    if (!is_alive(s, comm)) return refuse(call, "a communicator that is none, or was given back");
    if (!comm->clique) return refuse(call, "the communicator is not ready yet", ncclInvalidUsage);
    if (error_of(s, comm) != ncclSuccess) return comm->error;
    const int size = static_cast<int>(comm->clique->ranks.size());
    if (part.peer < 0 || part.peer >= size) return refuse(call, "a rank that the communicator has not");
    if (is_message(part.kind) && part.peer == comm->rank && group_depth == 0)
      return refuse(call, "a message to itself, outside a group");
    if (part.reduction >= ncclNumOps) {
      const auto index = static_cast<size_t>(part.reduction - ncclNumOps);
      if (index >= comm->factors.size()) return refuse(call, "a reduction that the communicator has not");
      part.factor = comm->factors[index];
    }
    blocking = comm->blocking;
  }
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  const size_t size = comm->clique->ranks.size(), bytes = part.count * bytes_of(part.type);
  const size_t in = bytes * (part.kind == Kind::kReduceScatter ? size : 1);
  const size_t out = bytes * (part.kind == Kind::kAllGather ? size : 1);
  if (part.in != nullptr && in != 0 && !cuda_standin::device_accessible(part.in, in))
    return refuse(call, "what is sent is not in memory of the device");
  if (part.out != nullptr && out != 0 && !cuda_standin::device_accessible(part.out, out))
    return refuse(call, "what is received is not in memory of the device");
  if (group_depth > 0) {
    grouped.push_back({comm, stream, part});
    return ncclSuccess;
  }
  const ncclResult_t status = submit({{comm, stream, part}});
  return status == ncclSuccess && !blocking ? ncclInProgress : status;
}

// --- communicators ---

Comm* make(State& s, int rank, int device, bool blocking) {
  auto comm = std::make_unique<Comm>();
  Comm* const made = comm.get();
  made->rank = rank;
  made->blocking = blocking;
  made->in_progress = blocking ? 0 : s.options.in_progress;
  made->device = device;
  s.alive.emplace(made, std::move(comm));
  return made;
}

// `comm` is its rank of the clique, which is complete when all are.
void join(State& s, const std::shared_ptr<Clique>& clique, Comm* comm) {
  clique->ranks[static_cast<size_t>(comm->rank)] = comm;
  if (++clique->joined < static_cast<int>(clique->ranks.size())) return;
  for (Comm* rank : clique->ranks) {
    if (rank != nullptr) rank->clique = clique;
  }
  s.joined.notify_all();
}

ncclResult_t wait_where_it_blocks(Entered& entered, Comm* comm) {
  if (!comm->blocking) return ncclInProgress;
  entered.wait([&] { return comm->clique != nullptr || comm->aborted; });
  return comm->aborted ? ncclInternalError : ncclSuccess;
}

bool blocks(const ncclConfig_t* config) {
  return config == nullptr || config->blocking != 0;
}

ncclResult_t init_rank(ncclComm_t* comm, int size, ncclUniqueId id, int rank, const ncclConfig_t* config) {
  const char* const call = "ncclCommInitRankConfig";
  State& s = state();
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  Entered entered;
  ncclResult_t with;
  if (counts_and_fails(s, &with)) return with;
  if (comm == nullptr || size < 1 || rank < 0 || rank >= size) return refuse(call, "a rank that is none");
  uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  if (number == 0 || number >= s.next_id) return refuse(call, "an id that was not made by ncclGetUniqueId");
  auto& clique = s.gathering[number];
  if (!clique) clique = std::make_shared<Clique>(size);
  if (static_cast<int>(clique->ranks.size()) != size) return refuse(call, "ranks of several numbers of ranks");
  if (clique->ranks[static_cast<size_t>(rank)] != nullptr) return refuse(call, "a rank that is there already");
  *comm = make(s, rank, device, blocks(config));
  for (const Comm* other : clique->ranks) {
    if (other != nullptr && other->device == (*comm)->device) return refuse(call, "two ranks on one device");
  }
  join(s, clique, *comm);
  return wait_where_it_blocks(entered, *comm);
}

void forget(State& s, Comm* comm) {
  Comm* const none = nullptr;
  comm->aborted = true;
  for (auto& [id, clique] : s.gathering) std::replace(clique->ranks.begin(), clique->ranks.end(), comm, none);
  if (comm->clique) {
    auto& ranks = comm->clique->ranks;
    std::replace(ranks.begin(), ranks.end(), comm, none);
  }
  s.alive.erase(comm);
  s.joined.notify_all();
}

}  // namespace

void reset(const Options& options) {
  State& s = state();
  const Entered entered;
  s.options = options;
  s.calls = 0;
  s.failing.clear();
}
uint64_t calls() {
  const Entered entered;
  return state().calls;
}
void fail_later(int rank, ncclResult_t error) {
  const Entered entered;
  state().failing[rank] = error;
}
size_t live_communicators() {
  const Entered entered;
  return state().alive.size();
}

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}
const char* ncclGetLastError(ncclComm_t) {
  return "the stand-in says no more";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  State& s = state();
  const Entered entered;
  ncclResult_t with;
  if (counts_and_fails(s, &with)) return with;
  std::memset(id, 0, sizeof *id);
  const uint64_t number = s.next_id++;
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return init_rank(comm, size, id, rank, config);
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return init_rank(comm, size, id, rank, nullptr);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int ids, ncclUniqueId* id,
                                      ncclConfig_t* config) {
  if (ids < 1) return refuse("ncclCommInitRankScalable", "no id");
  return init_rank(comm, size, id[0], rank, config);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  State& s = state();
  Entered entered;
  ncclResult_t with;
  if (counts_and_fails(s, &with)) return with;
  if (!is_alive(s, comm) || !comm->clique) return refuse("ncclCommSplit", "a communicator that is none");
  const std::shared_ptr<Clique> parent = comm->clique;
  const uint64_t number = comm->splits++;
  auto& split = parent->splits[number];
  *made = color == NCCL_SPLIT_NOCOLOR ? nullptr : make(s, comm->rank, comm->device, blocks(config));
  comm->in_progress = comm->blocking ? 0 : s.options.in_progress;
  split.asked.emplace_back(color, key, comm->rank, *made);
  if (split.asked.size() == parent->ranks.size()) {
    auto asked = std::move(split.asked);
    parent->splits.erase(number);
    std::sort(asked.begin(), asked.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    for (size_t begin = 0; begin < asked.size();) {
      size_t end = begin;
      while (end < asked.size() && std::get<0>(asked[end]) == std::get<0>(asked[begin])) ++end;
      if (std::get<0>(asked[begin]) != NCCL_SPLIT_NOCOLOR) {
        const auto clique = std::make_shared<Clique>(static_cast<int>(end - begin));
        for (size_t i = begin; i < end; ++i) std::get<3>(asked[i])->rank = static_cast<int>(i - begin);
        for (size_t i = begin; i < end; ++i) join(s, clique, std::get<3>(asked[i]));
      }
      begin = end;
    }
  }
  return *made == nullptr ? ncclSuccess : wait_where_it_blocks(entered, *made);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  State& s = state();
  const Entered entered;
  if (!is_alive(s, comm)) return refuse("ncclCommGetAsyncError", "a communicator that is none");
  if (error_of(s, comm) != ncclSuccess)
    *error = comm->error;
  else if (!comm->clique || comm->in_progress > 0)
    *error = ncclInProgress;
  else
    *error = ncclSuccess;
  if (comm->clique && comm->in_progress > 0) --comm->in_progress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  State& s = state();
  const Entered entered;
  if (!is_alive(s, comm)) return refuse("ncclCommFinalize", "a communicator that is none");
  comm->finalized = true;
  return comm->blocking ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  State& s = state();
  const Entered entered;
  if (!is_alive(s, comm)) return refuse("ncclCommDestroy", "a communicator that is none");
  if (!comm->blocking && !comm->finalized) refuse("ncclCommDestroy", "a communicator that was not finalized");
  forget(s, comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  State& s = state();
  std::chrono::milliseconds takes;
  {
    const Entered entered;
    if (!is_alive(s, comm)) return refuse("ncclCommAbort", "a communicator that is none");
    comm->aborted = true;
    takes = s.options.abort_takes;
  }
  std::this_thread::sleep_for(takes);
  const Entered entered;
  forget(s, comm);
  return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t where,
                                      ncclComm_t comm) {
  State& s = state();
  const Entered entered;
  ncclResult_t with;
  if (counts_and_fails(s, &with)) return with;
  if (!is_alive(s, comm)) return refuse("ncclRedOpCreatePreMulSum", "a communicator that is none");
  if (where != ncclScalarHostImmediate) return refuse("ncclRedOpCreatePreMulSum", "a factor on the device");
  double factor = 0;
  switch (type) {
    case ncclFloat64:
      factor = *static_cast<const double*>(scalar);
      break;
    case ncclFloat32:
      factor = *static_cast<const float*>(scalar);
      break;
    case ncclFloat16:
      factor = static_cast<float>(*static_cast<const c10::Half*>(scalar));
      break;
    case ncclBfloat16:
      factor = static_cast<float>(*static_cast<const c10::BFloat16*>(scalar));
      break;
    default:
      return refuse("ncclRedOpCreatePreMulSum", "a factor of this type");
  }
  comm->factors.push_back(factor);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(comm->factors.size()) - 1);
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  State& s = state();
  const Entered entered;
  if (!is_alive(s, comm)) return refuse("ncclRedOpDestroy", "a communicator that is none");
  const int index = op - ncclNumOps;
  if (index < 0 || index >= static_cast<int>(comm->factors.size()))
    return refuse("ncclRedOpDestroy", "a reduction that is none");
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return refuse("ncclGroupEnd", "no group was started", ncclInvalidUsage);
  if (--group_depth > 0) return ncclSuccess;
  State& s = state();
  std::vector<Pending> all = std::exchange(grouped, {});
  bool blocking = true;
  {
    const Entered entered;
    ncclResult_t with;
    if (counts_and_fails(s, &with)) return with;
    for (const Pending& pending : all) blocking &= !is_alive(s, pending.comm) || pending.comm->blocking;
  }
  const ncclResult_t status = submit(std::move(all));
  return status == ncclSuccess && !blocking ? ncclInProgress : status;
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return add("ncclAllReduce", {Kind::kAllReduce, in, out, count, type, static_cast<int>(op)}, comm, stream);
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return add("ncclBroadcast", {Kind::kBroadcast, in, out, count, type, ncclSum, root}, comm, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return add("ncclReduce", {Kind::kReduce, in, out, count, type, static_cast<int>(op), root}, comm, stream);
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add("ncclAllGather", {Kind::kAllGather, in, out, count, type}, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return add("ncclReduceScatter", {Kind::kReduceScatter, in, out, count, type, static_cast<int>(op)}, comm, stream);
}
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add("ncclSend", {Kind::kSend, in, nullptr, count, type, ncclSum, peer}, comm, stream);
}
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add("ncclRecv", {Kind::kReceive, nullptr, out, count, type, ncclSum, peer}, comm, stream);
}

}  // extern "C"
}  // namespace nccl_standin
