#include "distributed/process_group/fake/fake_process_group.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "c10/util/exception.h"

namespace c10d {

struct FakeProcessGroup::Log {
  mutable std::mutex mutex;
  std::vector<FakeCall> calls;
};

namespace {

class FakeEngine final : public Engine {
 public:
  FakeEngine(std::shared_ptr<FakeProcessGroup::Log> log, int rank, int size, bool fails)
      : Engine(rank, size), log_(std::move(log)), fails_(fails) {}
  const char* name() const override { return "fake"; }

  void send(const Call&, const void*, size_t bytes, int to) override { note(OpType::SEND, bytes, to); }
  void receive(const Call&, void*, size_t bytes, int from) override { note(OpType::RECV, bytes, from); }
  int receive_any(const Call&, void*, size_t bytes) override {
    note(OpType::RECVANYSOURCE, bytes);
    return (rank() + 1) % size();
  }
  void send_receive(const Call&, const void*, int, void*, int, size_t) override {}

  void barrier(const Call&) override { note(OpType::BARRIER, 0); }
  void broadcast(const Call&, void*, size_t bytes, int root) override { note(OpType::BROADCAST, bytes, root); }
  void all_reduce(const Call&, const Elements& data, ReduceOp::RedOpType) override {
    note(OpType::ALLREDUCE, data.bytes());
  }
  void reduce(const Call&, const Elements& data, ReduceOp::RedOpType, int root) override {
    note(OpType::REDUCE, data.bytes(), root);
  }
  void all_gather(const Call& call, const void* in, size_t bytes, void* out) override {
    all_gather_together(call, {{in, bytes, out}});
  }
  void all_gather_together(const Call&, const std::vector<Gathered>& parts) override {
    size_t bytes = 0;
    for (const Gathered& part : parts) {
      bytes += part.bytes;
      repeat(part.in, part.bytes, part.out);
    }
    note(OpType::ALLGATHER, bytes);
  }
  void gather(const Call&, const void* in, size_t bytes, void* out, int root) override {
    note(OpType::GATHER, bytes, root);
    if (out != nullptr) repeat(in, bytes, out);
  }
  void scatter(const Call&, const void* in, void* out, size_t bytes, int root) override {
    note(OpType::SCATTER, bytes, root);
    if (in != nullptr) std::memcpy(out, static_cast<const char*>(in) + bytes * static_cast<size_t>(rank()), bytes);
  }
  void reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) override {
    reduce_scatter_together(call, {{in, out}}, op);
  }
  void reduce_scatter_together(const Call&, const std::vector<Scattered>& parts, ReduceOp::RedOpType) override {
    size_t bytes = 0;
    for (const auto& [in, out] : parts) {
      bytes += in.bytes();
      std::memcpy(out.data, static_cast<const char*>(in.data) + out.bytes() * static_cast<size_t>(rank()), out.bytes());
    }
    note(OpType::REDUCE_SCATTER, bytes);
  }
  void all_to_all(const Call&, const void*, const std::vector<size_t>& in_bytes, void* out,
                  const std::vector<size_t>& out_bytes) override {
    size_t given = 0, taken = 0;
    for (const size_t bytes : in_bytes) given += bytes;
    for (const size_t bytes : out_bytes) taken += bytes;
    note(OpType::ALLTOALL, given);
    if (taken != 0) std::memset(out, 0, taken);
  }

  void abort(const std::string&) noexcept override {}

 private:
  void note(OpType type, size_t bytes, int peer = -1) {
    TORCH_CHECK_WITH(DistBackendError, !fails_, "FakeProcessGroup: error_on_collective is set");
    const std::lock_guard<std::mutex> lock(log_->mutex);
    log_->calls.push_back({type, bytes, peer});
  }
  void repeat(const void* in, size_t bytes, void* out) const {
    for (int rank = 0; rank < size(); ++rank)
      std::memcpy(static_cast<char*>(out) + bytes * static_cast<size_t>(rank), in, bytes);
  }

  const std::shared_ptr<FakeProcessGroup::Log> log_;
  const bool fails_;
};

}  // namespace

FakeProcessGroup::FakeProcessGroup(int rank, int size, c10::intrusive_ptr<Options> options)
    : FakeProcessGroup(std::make_shared<Log>(), rank, size, std::move(options)) {}

FakeProcessGroup::FakeProcessGroup(std::shared_ptr<Log> log, int rank, int size, c10::intrusive_ptr<Options> options)
    : HostBackend(std::make_unique<FakeEngine>(log, rank, size, options->error_on_collective), options),
      log_(std::move(log)) {}

std::vector<FakeCall> FakeProcessGroup::calls() const {
  const std::lock_guard<std::mutex> lock(log_->mutex);
  return log_->calls;
}

void FakeProcessGroup::clear_calls() {
  const std::lock_guard<std::mutex> lock(log_->mutex);
  log_->calls.clear();
}

}  // namespace c10d
