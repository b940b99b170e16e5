#include "distributed/process_group/mpi/mpi_engine.h"

#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/reduce.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How long ranks that see the same fault at about the same time have to say so.
constexpr milliseconds kMoment(150);
// How long, after an error, this process waits for the others at its end.
constexpr milliseconds kEndTime(3000);
// Who waits looks again at once for so long, and then sleeps: ranks may be more than cores. (Who yields instead comes
// last on a busy core, and waits longer.)
constexpr std::chrono::microseconds kSpinTime(30);
constexpr milliseconds kShortSleepTime(100);
constexpr size_t kLongestNotice = 4096;
constexpr uint32_t kMessages = 0x80000000u;  // tags with it are of messages between two ranks
constexpr int kHandshake = 29500;            // a tag of the world's

constexpr c10::ScalarType kTypes[] = {
    c10::ScalarType::Float, c10::ScalarType::Double, c10::ScalarType::Half,         c10::ScalarType::BFloat16,
    c10::ScalarType::Byte,  c10::ScalarType::Char,   c10::ScalarType::Short,        c10::ScalarType::Int,
    c10::ScalarType::Long,  c10::ScalarType::Bool,   c10::ScalarType::ComplexFloat, c10::ScalarType::ComplexDouble};
constexpr ReduceOp::RedOpType kOps[] = {ReduceOp::SUM,  ReduceOp::PRODUCT, ReduceOp::MIN, ReduceOp::MAX,
                                        ReduceOp::BAND, ReduceOp::BOR,     ReduceOp::BXOR};

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(code, text, &size);
  TORCH_CHECK_WITH(DistBackendError, false, what, ": ", text);
}

// Memory of an operation that MPI may read or write until the request is done. There is no way to call an operation
// back: what is not done when its caller gives up stays until the process ends.
struct Transfer {
  std::unique_ptr<char[]> in, out;
  std::vector<int> in_counts, in_places, out_counts, out_places;
  MPI_Request request = MPI_REQUEST_NULL;
};

class Pending {
 public:
  Pending() : transfer_(std::make_unique<Transfer>()) {}
  ~Pending() {
    if (transfer_->request == MPI_REQUEST_NULL) return;
    int done = 0;
    MPI_Test(&transfer_->request, &done, MPI_STATUS_IGNORE);
    if (!done) park(std::move(transfer_));
  }
  Pending(const Pending&) = delete;
  Transfer* operator->() const { return transfer_.get(); }

  static char* copy(std::unique_ptr<char[]>& to, const void* from, size_t bytes) {
    to.reset(new char[std::max<size_t>(bytes, 1)]);
    if (from != nullptr && bytes != 0) std::memcpy(to.get(), from, bytes);
    return to.get();
  }

 private:
  static void park(std::unique_ptr<Transfer> transfer) {
    static std::mutex mutex;
    static auto* const parked = new std::vector<std::unique_ptr<Transfer>>();
    const std::lock_guard<std::mutex> lock(mutex);
    std::erase_if(*parked, [](const auto& old) {
      int done = 0;
      MPI_Test(&old->request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    parked->push_back(std::move(transfer));
  }
  std::unique_ptr<Transfer> transfer_;
};

// Half and bfloat16 have no type in MPI, and its reductions have ideas of their own of NaN and bool: each dtype is so
// many bytes, and each reduction ours.
class Types {
 public:
  static const Types& get() {
    static const Types types;
    return types;
  }
  MPI_Datatype type(c10::ScalarType dtype) const {
    for (size_t i = 0; i < types_.size(); ++i) {
      if (kTypes[i] == dtype) return types_[i];
    }
    TORCH_CHECK_WITH(DistBackendError, false, "MPI: no reductions of ", c10::toString(dtype));
  }
  MPI_Op op(ReduceOp::RedOpType op) const {
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (kOps[i] == op) return ops_[i];
    }
    TORCH_CHECK_WITH(DistBackendError, false, "MPI: no such reduction");
  }

 private:
  Types() {
    for (size_t i = 0; i < types_.size(); ++i) {
      check(MPI_Type_contiguous(static_cast<int>(c10::elementSize(kTypes[i])), MPI_BYTE, &types_[i]),
            "MPI_Type_contiguous");
      check(MPI_Type_commit(&types_[i]), "MPI_Type_commit");
    }
    make_ops(std::make_index_sequence<std::size(kOps)>());
  }
  template <size_t... i>
  void make_ops(std::index_sequence<i...>) {
    (check(MPI_Op_create(&reduce<kOps[i]>, 1, &ops_[i]), "MPI_Op_create"), ...);
  }
  template <ReduceOp::RedOpType op>
  static void reduce(void* in, void* in_out, int* count, MPI_Datatype* type) {
    const Types& types = get();
    for (size_t i = 0; i < types.types_.size(); ++i) {
      if (types.types_[i] == *type) reduce_into(op, kTypes[i], in_out, in, in_out, static_cast<size_t>(*count));
    }
  }
  std::array<MPI_Datatype, std::size(kTypes)> types_;
  std::array<MPI_Op, std::size(kOps)> ops_;
};

int as_int(size_t count) {
  TORCH_CHECK_WITH(DistBackendError, count <= INT_MAX, "MPI: ", count, " is more than one operation can have, ",
                   INT_MAX);
  return static_cast<int>(count);
}

class Pauses {
 public:
  void pause() {
    const auto waited = Clock::now() - begin_;
    if (waited < kSpinTime) return;
    // Else a sleep is 50 microseconds longer.
    thread_local const int is_exact = ::prctl(PR_SET_TIMERSLACK, 1000);
    (void)is_exact;
    ::usleep(waited < kShortSleepTime ? 20 : 500);
  }

 private:
  const Clock::time_point begin_ = Clock::now();
};

std::atomic<bool> any_broken{false};

// As MPI_Finalize does, waits for all ranks, however long they take; but after an error some may never come.
void end_mpi() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over) return;
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  auto end = Clock::now() + kEndTime;
  for (int is_here = 0; !is_here; ::usleep(1000)) {
    MPI_Test(&all, &is_here, MPI_STATUS_IGNORE);
    if (!any_broken) end = Clock::now() + kEndTime;
    if (!is_here && Clock::now() >= end) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

class MpiEngine final : public Engine {
 public:
  MpiEngine(int rank, int size, MPI_Comm collectives)
      : Engine(rank, size), collectives_(collectives), said_(static_cast<size_t>(size)) {
    for (MPI_Comm* made : {&steps_, &messages_, &notices_}) check(MPI_Comm_dup(collectives, made), "MPI_Comm_dup");
    for (const MPI_Comm made : {collectives_, steps_, messages_, notices_}) {
      MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    }
    int is_known = 0;
    void* most = nullptr;
    MPI_Comm_get_attr(messages_, MPI_TAG_UB, &most, &is_known);
    if (is_known) most_tag_ = *static_cast<int*>(most);
  }
  const char* name() const override { return "mpi"; }

  void send(const Call& call, const void* data, size_t bytes, int to) override {
    Pending sent;
    start_send(call, sent, data, bytes, to);
    wait(call, sent, {to});
  }
  void receive(const Call& call, void* data, size_t bytes, int from) override { receive_from(call, data, bytes, from); }
  int receive_any(const Call& call, void* data, size_t bytes) override {
    return receive_from(call, data, bytes, MPI_ANY_SOURCE);
  }
  void send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) override {
    Pending sent;
    start_send(call, sent, out, bytes, to);
    receive_from(call, in, bytes, from);
    wait(call, sent, {to});
  }

  void barrier(const Call& call) override {
    Pending all;
    run(call, all, MPI_Ibarrier(collectives_, &all->request));
  }
  void broadcast(const Call& call, void* data, size_t bytes, int root) override {
    in_pieces(bytes, [&](size_t begin, size_t count) {
      Pending all;
      char* const place = static_cast<char*>(data) + begin;
      char* const memory = Pending::copy(all->out, place, count);
      run_together(call, all, MPI_Ibcast(memory, as_int(count), MPI_BYTE, root, collectives_, &all->request));
      std::memcpy(place, memory, count);
    });
  }
  void all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) override {
    const size_t size = c10::elementSize(data.dtype);
    in_pieces(data.count, [&](size_t begin, size_t count) {
      Pending all;
      char* const place = static_cast<char*>(data.data) + begin * size;
      char* const memory = Pending::copy(all->out, place, count * size);
      run(call, all,
          MPI_Iallreduce(MPI_IN_PLACE, memory, as_int(count), Types::get().type(data.dtype), Types::get().op(op),
                         collectives_, &all->request));
      std::memcpy(place, memory, count * size);
    });
  }
  void reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) override {
    const size_t size = c10::elementSize(data.dtype);
    in_pieces(data.count, [&](size_t begin, size_t count) {
      Pending all;
      char* const place = static_cast<char*>(data.data) + begin * size;
      char* const memory = Pending::copy(all->out, place, count * size);
      const bool is_root = rank() == root;
      run_together(call, all,
                   MPI_Ireduce(is_root ? MPI_IN_PLACE : memory, is_root ? memory : nullptr, as_int(count),
                               Types::get().type(data.dtype), Types::get().op(op), root, collectives_, &all->request));
      if (is_root) std::memcpy(place, memory, count * size);
    });
  }
  void all_gather(const Call& call, const void* in, size_t bytes, void* out) override {
    all_gather_together(call, {{in, bytes, out}});
  }
  void all_gather_together(const Call& call, const std::vector<Gathered>& parts) override {
    std::vector<Pending> all(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t bytes = parts[i].bytes;
      char* const from = Pending::copy(all[i]->in, parts[i].in, bytes);
      char* const to = Pending::copy(all[i]->out, nullptr, bytes * ranks());
      check(MPI_Iallgather(from, as_int(bytes), MPI_BYTE, to, as_int(bytes), MPI_BYTE, collectives_, &all[i]->request),
            "MPI_Iallgather");
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      wait(call, all[i], {});
      std::memcpy(parts[i].out, all[i]->out.get(), parts[i].bytes * ranks());
    }
  }
  void gather(const Call& call, const void* in, size_t bytes, void* out, int root) override {
    Pending all;
    const size_t gathered = rank() == root ? bytes * ranks() : 0;
    char* const from = Pending::copy(all->in, in, bytes);
    char* const to = Pending::copy(all->out, nullptr, gathered);
    run_together(
        call, all,
        MPI_Igather(from, as_int(bytes), MPI_BYTE, to, as_int(bytes), MPI_BYTE, root, collectives_, &all->request));
    if (gathered != 0) std::memcpy(out, to, gathered);
  }
  void scatter(const Call& call, const void* in, void* out, size_t bytes, int root) override {
    Pending all;
    char* const from = Pending::copy(all->in, in, rank() == root ? bytes * ranks() : 0);
    char* const to = Pending::copy(all->out, nullptr, bytes);
    run_together(
        call, all,
        MPI_Iscatter(from, as_int(bytes), MPI_BYTE, to, as_int(bytes), MPI_BYTE, root, collectives_, &all->request));
    std::memcpy(out, to, bytes);
  }
  void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) override {
    reduce_scatter_together(call, {{in, out}}, op);
  }
  void reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts, ReduceOp::RedOpType op) override {
    std::vector<Pending> all(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [in, out] = parts[i];
      char* const from = Pending::copy(all[i]->in, in.data, out.bytes() * ranks());
      char* const to = Pending::copy(all[i]->out, nullptr, out.bytes());
      check(MPI_Ireduce_scatter_block(from, to, as_int(out.count), Types::get().type(out.dtype), Types::get().op(op),
                                      collectives_, &all[i]->request),
            "MPI_Ireduce_scatter_block");
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      wait(call, all[i], {});
      std::memcpy(parts[i].out.data, all[i]->out.get(), parts[i].out.bytes());
    }
  }
  void all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                  const std::vector<size_t>& out_bytes) override {
    // MPI takes messages of another size than their place for what they are.
    {
      Pending sizes;
      const std::vector<uint64_t> sent(in_bytes.begin(), in_bytes.end());
      char* const from = Pending::copy(sizes->in, sent.data(), ranks() * sizeof(uint64_t));
      char* const to = Pending::copy(sizes->out, nullptr, ranks() * sizeof(uint64_t));
      run(call, sizes,
          MPI_Ialltoall(from, sizeof(uint64_t), MPI_BYTE, to, sizeof(uint64_t), MPI_BYTE, collectives_,
                        &sizes->request));
      for (size_t other = 0; other < ranks(); ++other) {
        uint64_t comes = 0;
        std::memcpy(&comes, to + other * sizeof comes, sizeof comes);
        TORCH_CHECK_WITH(DistBackendError, comes == out_bytes[other], "rank ", other, " sends ", comes,
                         " bytes, but rank ", rank(), " receives ", out_bytes[other]);
      }
    }
    Pending all;
    const auto places = [](const std::vector<size_t>& bytes, std::vector<int>& counts, std::vector<int>& at) {
      size_t sum = 0;
      for (const size_t part : bytes) {
        counts.push_back(as_int(part));
        at.push_back(as_int(sum));
        sum += part;
      }
      return sum;
    };
    const size_t sent = places(in_bytes, all->in_counts, all->in_places);
    const size_t received = places(out_bytes, all->out_counts, all->out_places);
    char* const from = Pending::copy(all->in, in, sent);
    char* const to = Pending::copy(all->out, nullptr, received);
    run(call, all,
        MPI_Ialltoallv(from, all->in_counts.data(), all->in_places.data(), MPI_BYTE, to, all->out_counts.data(),
                       all->out_places.data(), MPI_BYTE, collectives_, &all->request));
    if (received != 0) std::memcpy(out, to, received);
  }

  void abort(const std::string& why) noexcept override {
    try {
      const std::lock_guard<std::mutex> lock(mutex_);
      post(why);
      if (aborted_.empty()) aborted_ = why.empty() ? "aborted" : why;
    } catch (const std::exception&) {
      // Others see it by their deadlines.
    }
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 28;

  size_t ranks() const { return static_cast<size_t>(size()); }

  template <class Body>
  static void in_pieces(size_t count, const Body& body) {
    for (size_t begin = 0; begin < count; begin += kPiece) body(begin, std::min(kPiece, count - begin));
  }

  MPI_Comm communicator(const Call& call) const { return call.tag & kMessages ? messages_ : steps_; }
  int tag(const Call& call) const {
    const int tag = static_cast<int>(call.tag & ~kMessages);
    TORCH_CHECK_WITH(DistBackendError, tag <= most_tag_, "MPI: the tag ", tag, " is above the largest, ", most_tag_);
    return tag;
  }

  void run(const Call& call, Pending& pending, int started) {
    check(started, "MPI");
    wait(call, pending, {});
  }
  // Of what some ranks are done with before others have come: without this they would not hear that those did not, or
  // called something else.
  void run_together(const Call& call, Pending& pending, int started) {
    check(started, "MPI");
    Pending all;
    check(MPI_Ibarrier(collectives_, &all->request), "MPI_Ibarrier");
    wait(call, pending, {});
    wait(call, all, {});
  }

  void wait(const Call& call, Pending& pending, const std::vector<int>& others) {
    Pauses pauses;
    for (int done = 0;;) {
      check(MPI_Test(&pending->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done) return;
      look(call, others);
      pauses.pause();
    }
  }

  void start_send(const Call& call, Pending& pending, const void* data, size_t bytes, int to) {
    char* const memory = Pending::copy(pending->in, data, bytes);
    check(MPI_Isend(memory, as_int(bytes), MPI_BYTE, to, tag(call), communicator(call), &pending->request),
          "MPI_Isend");
  }

  // A message is taken when it is there: nothing has to be called back when none comes.
  int receive_from(const Call& call, void* data, size_t bytes, int from) {
    std::vector<int> others{from};
    if (from == MPI_ANY_SOURCE) others.clear();
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    Pauses pauses;
    for (int is_there = 0; !is_there;) {
      check(MPI_Improbe(from, tag(call), communicator(call), &is_there, &message, &status), "MPI_Improbe");
      if (is_there) break;
      look(call, others);
      pauses.pause();
    }
    int comes = 0;
    MPI_Get_count(&status, MPI_BYTE, &comes);
    Pending received;
    char* const memory = Pending::copy(received->out, nullptr, static_cast<size_t>(comes));
    check(MPI_Imrecv(memory, comes, MPI_BYTE, &message, &received->request), "MPI_Imrecv");
    wait(call, received, {status.MPI_SOURCE});
    TORCH_CHECK_WITH(DistBackendError, static_cast<size_t>(comes) == bytes, "rank ", status.MPI_SOURCE, " sent ", comes,
                     " bytes, but rank ", rank(), " receives ", bytes);
    std::memcpy(data, memory, bytes);
    return status.MPI_SOURCE;
  }

  // Throws where there is nothing to wait for any more: for no one, because of what another rank says, or too long.
  void look(const Call& call, const std::vector<int>& others) {
    std::string why;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      TORCH_CHECK_WITH(DistBackendError, aborted_.empty(), aborted_);
      take_notices();
      for (size_t other = 0; other < said_.size() && why.empty(); ++other) {
        if (!said_[other].empty()) why = c10::str("rank ", other, " says: ", said_[other]);
      }
      if (why.empty() && Clock::now() < call.deadline) return;
      if (why.empty()) {
        why = others.empty() ? std::string("timed out waiting for the other ranks")
                             : c10::str("timed out waiting for rank ", c10::Join(", ", others));
      }
      post(why);
    }
    // Who says nothing now is to blame.
    std::vector<int> silent;
    for (const auto end = Clock::now() + kMoment;; ::usleep(500)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      take_notices();
      silent.clear();
      for (int other = 0; other < size(); ++other) {
        if (other != rank() && said_[static_cast<size_t>(other)].empty()) silent.push_back(other);
      }
      if (silent.empty() || Clock::now() >= end) break;
    }
    if (!silent.empty()) why += c10::str("; no word from rank ", c10::Join(", ", silent));
    throw LostRanksError(why, silent);
  }

  // mutex_ is held.
  void take_notices() {
    for (;;) {
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      int is_there = 0;
      if (MPI_Improbe(MPI_ANY_SOURCE, 0, notices_, &is_there, &message, &status) != MPI_SUCCESS || !is_there) return;
      int comes = 0;
      MPI_Get_count(&status, MPI_BYTE, &comes);
      std::string text(static_cast<size_t>(comes), ' ');
      MPI_Mrecv(text.data(), comes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      said_[static_cast<size_t>(status.MPI_SOURCE)] = text;
    }
  }

  // mutex_ is held. Tells all others, once, that this rank cannot go on.
  void post(const std::string& why) {
    if (is_posted_) return;
    is_posted_ = true;
    any_broken = true;
    const std::string text = why.empty() ? "it has no more use of the group" : why.substr(0, kLongestNotice);
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      Pending sent;
      char* const memory = Pending::copy(sent->in, text.data(), text.size());
      MPI_Isend(memory, as_int(text.size()), MPI_BYTE, other, 0, notices_, &sent->request);
    }
  }

  // Each kind of traffic has one of its own. They are not given back: that takes all ranks.
  MPI_Comm collectives_, steps_ = MPI_COMM_NULL, messages_ = MPI_COMM_NULL, notices_ = MPI_COMM_NULL;
  int most_tag_ = 32767;
  std::mutex mutex_;
  std::vector<std::string> said_;  // why a rank cannot go on, as it says
  std::string aborted_;
  bool is_posted_ = false;
};

// Waits until all ranks of the group are there; making a communicator waits for ever.
void shake_hands(const std::vector<int>& ranks, int own, milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  const auto transfer = [&](int with, bool receives) {
    // A message of no bytes needs no memory.
    MPI_Request request = MPI_REQUEST_NULL;
    if (!receives) {
      check(MPI_Isend(nullptr, 0, MPI_BYTE, with, kHandshake, MPI_COMM_WORLD, &request), "MPI_Isend");
      MPI_Request_free(&request);
      return;
    }
    Pauses pauses;
    for (int is_there = 0;;) {
      MPI_Message message = MPI_MESSAGE_NULL;
      check(MPI_Improbe(with, kHandshake, MPI_COMM_WORLD, &is_there, &message, MPI_STATUS_IGNORE), "MPI_Improbe");
      if (is_there) {
        MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        return;
      }
      if (Clock::now() >= end) {
        throw LostRanksError(c10::str("rank ", with, " of the world did not come within ", timeout.count(), " ms"),
                             {with});
      }
      pauses.pause();
    }
  };
  if (own != ranks[0]) {
    transfer(ranks[0], false);
    transfer(ranks[0], true);
    return;
  }
  for (size_t i = 1; i < ranks.size(); ++i) transfer(ranks[i], true);
  for (size_t i = 1; i < ranks.size(); ++i) transfer(ranks[i], false);
}

}  // namespace

MpiWorld MpiWorld::get() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  int is_there = 0, is_over = 0;
  MPI_Initialized(&is_there);
  MPI_Finalized(&is_over);
  TORCH_CHECK_WITH(DistBackendError, !is_over, "MPI: it has ended in this process (MPI_Finalize)");
  int level = MPI_THREAD_SINGLE;
  if (is_there) {
    MPI_Query_thread(&level);
  } else {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    std::atexit(end_mpi);
  }
  TORCH_CHECK_WITH(DistBackendError, level >= MPI_THREAD_MULTIPLE,
                   "MPI: it was started for fewer threads than MPI_THREAD_MULTIPLE");
  MpiWorld world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  return world;
}

std::unique_ptr<Engine> make_mpi_engine(const std::vector<int>& ranks, milliseconds timeout) {
  const MpiWorld world = MpiWorld::get();
  const auto own = std::find(ranks.begin(), ranks.end(), world.rank);
  TORCH_CHECK_WITH(DistBackendError, own != ranks.end(), "MPI: rank ", world.rank, " of the world is not of the group");
  try {
    shake_hands(ranks, world.rank, timeout);
    MPI_Group all, some;
    check(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, as_int(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Comm_create_group(MPI_COMM_WORLD, some, kHandshake, &made), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return std::make_unique<MpiEngine>(static_cast<int>(own - ranks.begin()), as_int(ranks.size()), made);
  } catch (const c10::Error& error) {
    any_broken = true;
    TORCH_CHECK_WITH(DistBackendError, false, "MPI: rank ", world.rank, " of ", world.size,
                     " failed at making a group of ranks ", c10::Join(", ", ranks), ": ", error.msg());
  }
}

}  // namespace c10d
