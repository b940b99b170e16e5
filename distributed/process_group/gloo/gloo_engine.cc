#include "distributed/process_group/gloo/gloo_engine.h"

#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/gloo/guarded_transport.h"
#include "distributed/process_group/reduce.h"

namespace c10d {
namespace {

using gloo::transport::UnboundBuffer;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Below it, latency decides, and reductions exchange all elements in the fewest steps.
constexpr size_t kSmallBytes = 128 << 10;
// Ours among Gloo's slots, which begin with 1 to 8.
constexpr uint64_t kSizeSlot = uint64_t{0x40} << 56, kDataSlot = uint64_t{0x41} << 56, kStepSlot = uint64_t{0x42} << 56,
                   kSmallSlot = uint64_t{0x43} << 56;

uint64_t slot(uint64_t kind, uint32_t tag, int step = 0) {
  return kind | uint64_t{tag} << 16 | static_cast<uint64_t>(step);
}
// Of messages that are on their way before ranks know that they call the same: those of another size do not meet.
uint64_t small_slot(uint32_t tag, int step, size_t bytes) {
  static_assert(kSmallBytes < size_t{1} << 18);
  return slot(kSmallSlot | uint64_t{bytes >> 10} << 48, tag, step | static_cast<int>(bytes % 1024) << 6);
}

// Under which a rank that cannot connect says so, and how often the others look.
constexpr const char* kFailed = "gloo/failed";
constexpr milliseconds kSlice(200), kPatience(500);

// Returns what the first rank that failed has said.
std::string say_failed(const c10::intrusive_ptr<Store>& store, const std::string& why) noexcept {
  try {
    const auto quick = store->clone();
    quick->setTimeout(kPatience);
    return quick->compareSet(kFailed, "", why);
  } catch (const std::exception&) {
    // The others have their deadline.
    return why;
  }
}

// Who has connected with all others says so: who waits for the rest may see only a rank that waits for them, too.
constexpr const char* kConnected = "gloo/connected/";

// "; rank 2 has not connected with all others", or "" where nobody is known to be behind.
std::string who_connects(const c10::intrusive_ptr<Store>& store, int size) noexcept {
  std::vector<int> behind;
  try {
    const auto quick = store->clone();
    quick->setTimeout(kPatience);
    for (int rank = 0; rank < size; ++rank) {
      if (!quick->check({kConnected + std::to_string(rank)})) behind.push_back(rank);
    }
  } catch (const std::exception&) {
    return "";
  }
  if (behind.empty()) return "";
  return c10::str("; rank", behind.size() == 1 ? " " : "s ", c10::Join(", ", behind),
                  behind.size() == 1 ? " has" : " have", " not connected with all others");
}

// Gloo's idea of a store: a part of ours.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(c10::intrusive_ptr<c10d::Store> store, std::string prefix, milliseconds timeout)
      : store_(std::move(store)), prefix_(std::move(prefix)), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    store_->set(prefix_ + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    wait({key}, timeout_);
    const std::string value = store_->get_to_str(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    whose_ = keys.empty() ? "" : keys.back().substr(keys.back().find_last_not_of("0123456789") + 1);
    std::vector<std::string> names;
    for (const std::string& key : keys) names.push_back(prefix_ + key);
    const auto until = Clock::now() + timeout;
    while (true) {
      const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
      if (left <= kSlice) return store_->wait(names, std::max(left, milliseconds(1)));
      try {
        return store_->wait(names, kSlice);
      } catch (const c10::DistStoreError&) {
        if (store_->check({kFailed})) TORCH_CHECK_WITH(DistBackendError, false, store_->get_to_str(kFailed));
      }
    }
  }
  // The rank whose address was asked for last, which is then connected with; "" before that.
  const std::string& whose() const { return whose_; }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string prefix_;
  const milliseconds timeout_;
  std::string whose_;
};

class GlooEngine final : public Engine {
 public:
  GlooEngine(int rank, int size, std::shared_ptr<gloo::rendezvous::Context> context,
             std::shared_ptr<gloo_transport::Waits> waits)
      : Engine(rank, size), context_(std::move(context)), waits_(std::move(waits)) {}
  const char* name() const override { return "gloo"; }
  bool agrees() const override { return true; }

  void send(const Call& call, const void* data, size_t bytes, int to) override {
    guarded(call, [&] {
      uint64_t size = bytes;
      const auto header = buffer(&size, sizeof size), body = buffer(data, bytes);
      header->send(to, slot(kSizeSlot, call.tag));
      if (bytes != 0) body->send(to, slot(kDataSlot, call.tag));
      header->waitSend();
      if (bytes != 0) body->waitSend();
    });
  }
  void receive(const Call& call, void* data, size_t bytes, int from) override {
    guarded(call, [&] { receive_from({from}, call, data, bytes); });
  }
  int receive_any(const Call& call, void* data, size_t bytes) override {
    std::vector<int> others;
    for (int other = 0; other < size(); ++other) {
      if (other != rank()) others.push_back(other);
    }
    int from = -1;
    guarded(call, [&] { from = receive_from(others, call, data, bytes); });
    return from;
  }
  void send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) override {
    guarded(call, [&] { exchange(slot(kStepSlot, call.tag), out, to, in, from, bytes); });
  }

  void barrier(const Call& call) override {
    collective(call, [&] {
      gloo::BarrierOptions options(context_);
      set(options, call);
      gloo::barrier(options);
    });
  }
  void broadcast(const Call& call, void* data, size_t bytes, int root) override {
    collective(call, [&] {
      gloo::BroadcastOptions options(context_);
      set(options, call);
      options.setOutput(static_cast<char*>(data), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }
  void all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) override {
    if (data.bytes() <= kSmallBytes) return guarded(call, [&] { double_recursively(call, data, op); });
    collective(call, [&] {
      gloo::AllreduceOptions options(context_);
      set(options, call);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      set_elements(data, [&]<class T>(T* elements) { options.setOutput(elements, data.count); });
      options.setReduceFunction(function_of(op, data.dtype));
      gloo::allreduce(options);
    });
  }
  void reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) override {
    if (data.bytes() <= kSmallBytes) return guarded(call, [&] { double_recursively(call, data, op); });
    collective(call, [&] {
      gloo::ReduceOptions options(context_);
      set(options, call);
      options.setRoot(root);
      set_elements(data, [&]<class T>(T* elements) { options.setOutput(elements, data.count); });
      options.setReduceFunction(function_of(op, data.dtype));
      gloo::reduce(options);
    });
  }
  void all_gather(const Call& call, const void* in, size_t bytes, void* out) override {
    all_gather_together(call, {{in, bytes, out}});
  }
  // Around the ring, each rank's blocks after those of its left. All places are ready from the beginning: a step takes
  // one message's time, however many blocks a rank has.
  void all_gather_together(const Call& call, const std::vector<Gathered>& parts) override {
    collective(call, [&] {
      std::vector<std::unique_ptr<UnboundBuffer>> buffers;
      for (const Gathered& part : parts) {
        char* const own = static_cast<char*>(part.out) + part.bytes * static_cast<size_t>(rank());
        if (own != part.in) std::memcpy(own, part.in, part.bytes);
        buffers.push_back(buffer(part.out, part.bytes * ranks()));
      }
      const auto each = [&](int step, int of_rank, const auto& start) {
        const auto block = static_cast<size_t>((of_rank + size() - step) % size());
        for (size_t i = 0; i < parts.size(); ++i) {
          start(*buffers[i], slot(kStepSlot, call.tag, step), block * parts[i].bytes, parts[i].bytes);
        }
      };
      for (int step = 0; step < size() - 1; ++step) {
        each(step, left(), [&](UnboundBuffer& to, auto... where) { to.recv(left(), where...); });
      }
      for (int step = 0; step < size() - 1; ++step) {
        each(step, rank(), [&](UnboundBuffer& from, auto... where) { from.send(right(), where...); });
        for (const auto& one : buffers) one->waitRecv();
      }
      for (int step = 0; step < size() - 1; ++step) {
        for (const auto& one : buffers) one->waitSend();
      }
    });
  }
  void gather(const Call& call, const void* in, size_t bytes, void* out, int root) override {
    collective(call, [&] {
      gloo::GatherOptions options(context_);
      set(options, call);
      options.setRoot(root);
      options.setInput(mutable_bytes(in), bytes);
      if (rank() == root) options.setOutput(static_cast<char*>(out), bytes * ranks());
      gloo::gather(options);
    });
  }
  void scatter(const Call& call, const void* in, void* out, size_t bytes, int root) override {
    collective(call, [&] {
      gloo::ScatterOptions options(context_);
      set(options, call);
      options.setRoot(root);
      if (rank() == root) {
        std::vector<char*> parts;
        for (size_t i = 0; i < ranks(); ++i) parts.push_back(mutable_bytes(in) + i * bytes);
        options.setInputs(parts, bytes);
      }
      options.setOutput(static_cast<char*>(out), bytes);
      gloo::scatter(options);
    });
  }
  void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) override {
    reduce_scatter_together(call, {{in, out}}, op);
  }
  // Around the ring: each part comes home with what all ranks added to it. Of three places for what travels one is
  // sent, one is received in, and one is ready for the next step.
  void reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts, ReduceOp::RedOpType op) override {
    collective(call, [&] {
      constexpr size_t kPlaces = 3;
      struct Travelling {
        std::vector<char> memory;
        std::vector<std::unique_ptr<UnboundBuffer>> places;
        std::unique_ptr<UnboundBuffer> first;
      };
      const auto part_of = [&](const Scattered& part, int of_rank) {
        return static_cast<char*>(part.in.data) + part.out.bytes() * static_cast<size_t>(of_rank);
      };
      std::vector<Travelling> travelling(parts.size());
      for (size_t i = 0; i < parts.size(); ++i) {
        const size_t bytes = parts[i].out.bytes();
        travelling[i].memory.resize(kPlaces * bytes);
        for (size_t place = 0; place < kPlaces; ++place) {
          travelling[i].places.push_back(buffer(travelling[i].memory.data() + place * bytes, bytes));
        }
        travelling[i].first = buffer(part_of(parts[i], left()), bytes);
      }
      const int steps = size() - 1;
      const auto place = [&](size_t i, int step) -> UnboundBuffer& {
        return step < 0 ? *travelling[i].first : *travelling[i].places[static_cast<size_t>(step) % kPlaces];
      };
      const auto make_ready = [&](int step) {
        for (size_t i = 0; step < steps && i < parts.size(); ++i) {
          place(i, step).recv(left(), slot(kStepSlot, call.tag, step));
        }
      };
      make_ready(0);
      make_ready(1);
      for (int step = 0; step < steps; ++step) {
        for (size_t i = 0; i < parts.size(); ++i) place(i, step - 1).send(right(), slot(kStepSlot, call.tag, step));
        const int taken = (rank() + 2 * size() - 2 - step) % size();
        for (size_t i = 0; i < parts.size(); ++i) {
          place(i, step).waitRecv();
          void* const sum = place(i, step).ptr;
          reduce_into(op, parts[i].out.dtype, sum, sum, part_of(parts[i], taken), parts[i].out.count);
        }
        for (size_t i = 0; i < parts.size(); ++i) place(i, step - 1).waitSend();
        make_ready(step + 2);
      }
      for (size_t i = 0; i < parts.size(); ++i) {
        std::memcpy(parts[i].out.data, steps == 0 ? parts[i].in.data : place(i, steps - 1).ptr, parts[i].out.bytes());
      }
    });
  }
  void all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                  const std::vector<size_t>& out_bytes) override {
    collective(call, [&] {
      // A message of another size than its place would end the process.
      std::vector<uint64_t> sent(in_bytes.begin(), in_bytes.end()), comes(ranks());
      {
        gloo::AlltoallOptions options(context_);
        set(options, call);
        options.setInput(sent.data(), ranks());
        options.setOutput(comes.data(), ranks());
        gloo::alltoall(options);
      }
      for (size_t other = 0; other < ranks(); ++other) {
        TORCH_CHECK_WITH(DistBackendError, comes[other] == out_bytes[other], "rank ", other, " sends ", comes[other],
                         " bytes, but rank ", rank(), " receives ", out_bytes[other]);
      }
      gloo::AlltoallvOptions options(context_);
      set(options, call);
      options.setInput(mutable_bytes(in), {in_bytes.begin(), in_bytes.end()});
      options.setOutput(static_cast<char*>(out), {out_bytes.begin(), out_bytes.end()});
      gloo::alltoallv(options);
    });
  }

  void abort(const std::string& why) noexcept override {
    waits_->abort(why);
    try {
      context_->closeConnections();  // which wakes the others
    } catch (const std::exception&) {
      // They are closed already.
    }
  }

 private:
  size_t ranks() const { return static_cast<size_t>(size()); }
  int right() const { return (rank() + 1) % size(); }
  int left() const { return (rank() + size() - 1) % size(); }
  static char* mutable_bytes(const void* data) { return static_cast<char*>(const_cast<void*>(data)); }
  std::unique_ptr<UnboundBuffer> buffer(const void* data, size_t bytes) {
    return context_->createUnboundBuffer(const_cast<void*>(data), bytes);
  }

  template <class Body>
  void guarded(const Call& call, const Body& body) {
    const gloo_transport::DeadlineScope scope(call.deadline);
    try {
      body();
    } catch (const gloo_transport::WaitError& e) {
      throw LostRanksError(e.what(), e.ranks, e.is_lost);
    } catch (const gloo::Exception& e) {
      TORCH_CHECK_WITH(DistBackendError, false, e.what());
    }
  }

  template <class Body>
  void collective(const Call& call, const Body& body) {
    agree(call);
    guarded(call, body);
  }
  static void agree(const Call& call) {
    if (call.agree) call.agree();
  }

  template <class Options>
  static void set(Options& options, const Call& call) {
    options.setTag(call.tag);
    const auto left = std::chrono::duration_cast<milliseconds>(call.deadline - Clock::now());
    options.setTimeout(std::max(left, milliseconds(1)));
  }

  // As elements of any type of their size.
  template <class Set>
  static void set_elements(const Elements& data, const Set& set) {
    struct alignas(8) Sixteen {
      char bytes[16];
    };
    switch (c10::elementSize(data.dtype)) {
      case 1:
        return set(static_cast<uint8_t*>(data.data));
      case 2:
        return set(static_cast<uint16_t*>(data.data));
      case 4:
        return set(static_cast<uint32_t*>(data.data));
      case 8:
        return set(static_cast<uint64_t*>(data.data));
      default:
        return set(static_cast<Sixteen*>(data.data));
    }
  }
  static gloo::AllreduceOptions::Func function_of(ReduceOp::RedOpType op, c10::ScalarType dtype) {
    return [op, dtype](void* out, const void* a, const void* b, size_t n) { reduce_into(op, dtype, out, a, b, n); };
  }

  void exchange(uint64_t at, const void* out, int to, void* in, int from, size_t bytes) {
    const auto sent = buffer(out, bytes), received = buffer(in, bytes);
    received->recv(from, at);
    sent->send(to, at);
    received->waitRecv();
    sent->waitSend();
  }

  int receive_from(const std::vector<int>& sources, const Call& call, void* data, size_t bytes) {
    uint64_t comes = 0;
    int from = -1;
    const auto header = buffer(&comes, sizeof comes);
    // What may come from several ranks is not told when a connection ends, and would wait until its deadline.
    if (sources.size() == 1) {
      header->recv(sources[0], slot(kSizeSlot, call.tag));
    } else {
      header->recv(sources, slot(kSizeSlot, call.tag));
    }
    header->waitRecv(&from);
    TORCH_CHECK_WITH(DistBackendError, comes == bytes, "rank ", from, " sent ", comes, " bytes, but rank ", rank(),
                     " receives ", bytes);
    if (bytes == 0) return from;
    const auto body = buffer(data, bytes);
    body->recv(from, slot(kDataSlot, call.tag));
    body->waitRecv();
    return from;
  }

  // Ranks beyond the largest power of two give theirs to another one and get the result back; the others exchange all
  // elements with ever farther ones. Both of a pair add in the same order, so that all have the same bits. The ranks
  // agree while their first messages are on their way.
  void double_recursively(const Call& call, const Elements& data, ReduceOp::RedOpType op) {
    int power = 1;
    while (power * 2 <= size()) power *= 2;
    const int beyond = size() - power;
    std::vector<char> received(data.bytes());
    const auto elements = buffer(data.data, data.bytes()), theirs = buffer(received.data(), data.bytes());
    const auto at = [&](int step) { return small_slot(call.tag, step, data.bytes()); };
    int step = 0;
    if (rank() >= power) {
      elements->send(rank() - power, at(step));
      agree(call);
      elements->waitSend();
    } else if (rank() < beyond) {
      theirs->recv(rank() + power, at(step));
      agree(call);
      theirs->waitRecv();
      reduce_into(op, data.dtype, data.data, data.data, received.data(), data.count);
    }
    for (int distance = 1; distance < power && rank() < power; distance *= 2) {
      ++step;
      const int other = rank() ^ distance;
      theirs->recv(other, at(step));
      elements->send(other, at(step));
      agree(call);
      theirs->waitRecv();
      elements->waitSend();
      const bool is_first = rank() < other;
      reduce_into(op, data.dtype, data.data, is_first ? data.data : received.data(),
                  is_first ? received.data() : data.data, data.count);
    }
    if (rank() >= power) {
      elements->recv(rank() - power, at(kLastStep));
      elements->waitRecv();
    } else if (rank() < beyond) {
      elements->send(rank() + power, at(kLastStep));
      elements->waitSend();
    }
  }
  static constexpr int kLastStep = 63;

  const std::shared_ptr<gloo::rendezvous::Context> context_;
  const std::shared_ptr<gloo_transport::Waits> waits_;
};

std::shared_ptr<gloo::transport::Device> make_device(const GlooInterface& at) {
  gloo::transport::tcp::attr attr;
  attr.iface = at.name;
  attr.hostname = at.host;
  if (!attr.iface.empty() || !attr.hostname.empty()) return gloo::transport::tcp::CreateDevice(attr);
  char own[256] = {};
  if (::gethostname(own, sizeof own - 1) == 0) {
    attr.hostname = own;
    try {
      return gloo::transport::tcp::CreateDevice(attr);
    } catch (const std::exception&) {
      // The machine's name is no address of it.
    }
  }
  attr.hostname = "localhost";
  return gloo::transport::tcp::CreateDevice(attr);
}

}  // namespace

std::unique_ptr<Engine> make_gloo_engine(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                         const GlooInterface& at, milliseconds timeout) {
  std::string stage = "making the device";
  const gloo_transport::NoBrokenPipe quiet;  // in the device's thread, too
  GlooStore keys(store, "gloo/", timeout);
  bool is_connected = false;
  // Outlives what a failure says: the others are to hear that before they see their connections end.
  std::shared_ptr<gloo::rendezvous::Context> context;
  try {
    auto waits = std::make_shared<gloo_transport::Waits>();
    std::shared_ptr<gloo::transport::Device> device = gloo_transport::guarded(make_device(at), waits);
    stage = c10::str("connecting with the other ranks over ", device->str());
    context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->setTimeout(timeout);
    const gloo_transport::DeadlineScope scope(Clock::now() + timeout);
    context->connectFullMesh(keys, device);
    is_connected = true;
    store->set(kConnected + std::to_string(rank), "");
    // Nobody leaves while another still connects: Gloo ends a process whose peer is gone at that moment.
    gloo::BarrierOptions all_connected(context);
    all_connected.setTimeout(timeout);
    gloo::barrier(all_connected);
    return std::make_unique<GlooEngine>(rank, size, std::move(context), std::move(waits));
  } catch (const std::exception& e) {
    const auto* const known = dynamic_cast<const c10::Error*>(&e);
    std::string why =
        c10::str("Gloo: rank ", rank, " of ", size, " failed at ", stage,
                 at.name.empty() && at.host.empty() ? std::string() : c10::str(" (", at.name, at.host, ")"), ": ",
                 known != nullptr ? known->msg() : e.what());
    if (is_connected) {
      why += who_connects(store, size);
    } else if (!keys.whose().empty()) {
      why += c10::str("; it was connecting with rank ", keys.whose());
    }
    const std::string first = say_failed(store, why);
    if (!first.empty() && why.find(first) == std::string::npos) why += "; the first error: " + first;
    TORCH_CHECK_WITH(DistBackendError, false, why);
  }
}

}  // namespace c10d
