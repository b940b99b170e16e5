#include "distributed/process_group/nccl/nccl_engine.h"

#include <algorithm>
#include <optional>

#include "c10/cuda/device.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"
#include "distributed/process_group/reduce.h"

namespace c10d {
namespace {

using c10::ScalarType;

// How NCCL counts elements that are reduced: complex ones as two, bools as bytes.
struct Counted {
  ncclDataType_t type;
  size_t each = 1;
};
std::optional<Counted> counted(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return Counted{ncclFloat32};
    case ScalarType::Double:
      return Counted{ncclFloat64};
    case ScalarType::Half:
      return Counted{ncclFloat16};
    case ScalarType::BFloat16:
      return Counted{ncclBfloat16};
    case ScalarType::Byte:
    case ScalarType::Bool:
      return Counted{ncclUint8};
    case ScalarType::Char:
      return Counted{ncclInt8};
    case ScalarType::Int:
      return Counted{ncclInt32};
    case ScalarType::Long:
      return Counted{ncclInt64};
    case ScalarType::ComplexFloat:
      return Counted{ncclFloat32, 2};
    case ScalarType::ComplexDouble:
      return Counted{ncclFloat64, 2};
    default:
      return std::nullopt;
  }
}

// Bools are 0 or 1: their sum is the larger, their product the smaller.
ncclRedOp_t reduction(ReduceOp::RedOpType op, ScalarType dtype) {
  const bool of_bool = dtype == ScalarType::Bool;
  switch (op) {
    case ReduceOp::SUM:
      return of_bool ? ncclMax : ncclSum;
    case ReduceOp::PRODUCT:
      return of_bool ? ncclMin : ncclProd;
    case ReduceOp::MIN:
      return ncclMin;
    case ReduceOp::MAX:
      return ncclMax;
    case ReduceOp::AVG:
      return ncclAvg;
    default:
      TORCH_CHECK_VALUE(false, "NCCL has no ", name_of(op));
  }
}

cudaStream_t stream() {
  return c10::cuda::getCurrentCUDAStream();
}

}  // namespace

NcclEngine::NcclEngine(c10::intrusive_ptr<Store> store, int rank, int size, const ncclConfig_t& config)
    : Engine(rank, size), store_(std::move(store)), config_(config) {}

void NcclEngine::check_reduction(const char* operation, const ReduceOp& op, ScalarType dtype) const {
  Engine::check_reduction(operation, op, dtype);
  TORCH_CHECK_VALUE(op.op_ != ReduceOp::BAND && op.op_ != ReduceOp::BOR && op.op_ != ReduceOp::BXOR, operation,
                    ": Cannot use ReduceOp.", name_of(op.op_), " with NCCL");
  TORCH_CHECK_TYPE(counted(dtype).has_value(), operation, ": NCCL does not reduce elements of ", dtype);
  TORCH_CHECK_TYPE(!c10::isComplexType(dtype) || op.op_ != ReduceOp::PRODUCT, operation,
                   ": NCCL does not multiply elements of ", dtype);
}

// --- communicators ---

void NcclEngine::prepare(const Call& call, int peer) {
  const Key key(c10::cuda::current_device(), peer);
  if (has(key)) return;
  std::unique_ptr<NcclCommunicator> made;
  if (peer >= 0) {
    const int low = std::min(rank(), peer), high = std::max(rank(), peer);
    made = std::make_unique<NcclCommunicator>(*store_, c10::str("nccl/", low, ":", high), rank() == low ? 0 : 1, 2,
                                              config_, call.deadline);
  } else if (parent_ != nullptr && parent_->has(key)) {
    made = std::make_unique<NcclCommunicator>(parent_->communicator(), color_, rank(), config_, call.deadline);
  } else {
    made = std::make_unique<NcclCommunicator>(*store_, "nccl/all", rank(), size(), config_, call.deadline);
  }
  std::string aborted;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    aborted = aborted_;
    if (aborted.empty()) communicators_.emplace(key, std::move(made));
  }
  if (made) made->abort(aborted);
}

bool NcclEngine::has(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK_WITH(DistBackendError, aborted_.empty(), "the communicators were aborted: ", aborted_);
  return communicators_.contains(key);
}

void NcclEngine::split_from(NcclEngine& parent, int color) {
  parent_ = &parent;
  color_ = color;
}

void NcclEngine::split_off_nothing(const Call& call) {
  prepare(call);
  const NcclCommunicator none(communicator(), NCCL_SPLIT_NOCOLOR, 0, config_, call.deadline);
}

NcclCommunicator& NcclEngine::communicator(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return *communicators_.at(Key(c10::cuda::current_device(), peer));
}

std::string NcclEngine::error() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, communicator] : communicators_) {
    const ncclResult_t result = communicator->error();
    if (result != ncclSuccess) return c10::str("NCCL on device ", key.first, ": ", ncclGetErrorString(result));
  }
  return "";
}

void NcclEngine::abort(const std::string& why) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!aborted_.empty()) return;
  aborted_ = why.empty() ? "by this rank" : why;
  // NCCL may hang in it.
  for (const auto& [key, communicator] : communicators_) {
    aborting_.push_back(
        std::async(std::launch::async, [one = communicator.get(), why = aborted_] { one->abort(why); }));
  }
}

template <class Make>
void NcclEngine::call_one(const char* name, NcclCommunicator& communicator, const Call& call, const Make& make) {
  if (!in_group_) return communicator.call(name, make, call.deadline);
  communicator.call_in_group(name, make);
}

// `make(comm, rank)` has the peer's rank in the communicator.
template <class Make>
void NcclEngine::call_message(const char* name, int peer, const Call& call, const Make& make) {
  const int place = in_group_ ? peer : peer < rank() ? 0 : 1;
  call_one(name, communicator(in_group_ ? -1 : peer), call, [&](ncclComm_t comm) { return make(comm, place); });
}

// Several calls on the communicator of all ranks: `make(comm, do_one)` gives do_one() the result of each.
template <class Make>
void NcclEngine::call_group(const char* name, const Call& call, const Make& make) {
  call_one(name, communicator(), call, [&](ncclComm_t comm) {
    ncclResult_t first = ncclGroupStart();
    make(comm, [&](ncclResult_t result) {
      if (result != ncclSuccess && result != ncclInProgress && first == ncclSuccess) first = result;
    });
    const ncclResult_t end = ncclGroupEnd();
    return first != ncclSuccess ? first : end;
  });
}

void NcclEngine::in_group(const Call& call, const std::function<void()>& calls) {
  TORCH_CHECK_WITH(DistBackendError, ncclGroupStart() == ncclSuccess, "ncclGroupStart failed");
  in_group_ = true;
  try {
    calls();
  } catch (...) {
    // The thread's group would take in what it calls later.
    in_group_ = false;
    ncclGroupEnd();
    throw;
  }
  in_group_ = false;
  communicator().call(
      "ncclGroupEnd", [](ncclComm_t) { return ncclGroupEnd(); }, call.deadline);
}

// --- operations ---

void NcclEngine::send(const Call& call, const void* data, size_t bytes, int to) {
  call_message("ncclSend", to, call,
               [&](ncclComm_t comm, int place) { return ncclSend(data, bytes, ncclInt8, place, comm, stream()); });
}
void NcclEngine::receive(const Call& call, void* data, size_t bytes, int from) {
  call_message("ncclRecv", from, call,
               [&](ncclComm_t comm, int place) { return ncclRecv(data, bytes, ncclInt8, place, comm, stream()); });
}
int NcclEngine::receive_any(const Call&, void*, size_t) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "recvAnysource: NCCL receives from ranks that are named only");
}
void NcclEngine::send_receive(const Call& call, const void* out, int to, void* in, int from, size_t bytes) {
  call_group("ncclSend", call, [&](ncclComm_t comm, const auto& one) {
    one(ncclSend(out, bytes, ncclInt8, to, comm, stream()));
    one(ncclRecv(in, bytes, ncclInt8, from, comm, stream()));
  });
}

void NcclEngine::barrier(const Call& call) {
  const c10::DataPtr token = c10::GetAllocator(c10::kCUDA)->allocate(1);
  call_one("ncclAllReduce", communicator(), call, [&](ncclComm_t comm) {
    return ncclAllReduce(token.get(), token.get(), 1, ncclUint8, ncclMax, comm, stream());
  });
}

void NcclEngine::broadcast(const Call& call, void* data, size_t bytes, int root) {
  call_one("ncclBroadcast", communicator(), call,
           [&](ncclComm_t comm) { return ncclBroadcast(data, data, bytes, ncclInt8, root, comm, stream()); });
}

void NcclEngine::all_reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op) {
  const Counted as = *counted(data.dtype);
  call_one("ncclAllReduce", communicator(), call, [&](ncclComm_t comm) {
    return ncclAllReduce(data.data, data.data, data.count * as.each, as.type, reduction(op, data.dtype), comm,
                         stream());
  });
}

void NcclEngine::reduce(const Call& call, const Elements& data, ReduceOp::RedOpType op, int root) {
  const Counted as = *counted(data.dtype);
  call_one("ncclReduce", communicator(), call, [&](ncclComm_t comm) {
    return ncclReduce(data.data, data.data, data.count * as.each, as.type, reduction(op, data.dtype), root, comm,
                      stream());
  });
}

void NcclEngine::all_gather(const Call& call, const void* in, size_t bytes, void* out) {
  call_one("ncclAllGather", communicator(), call,
           [&](ncclComm_t comm) { return ncclAllGather(in, out, bytes, ncclInt8, comm, stream()); });
}

void NcclEngine::all_gather_together(const Call& call, const std::vector<Gathered>& parts) {
  call_group("ncclAllGather", call, [&](ncclComm_t comm, const auto& one) {
    for (const Gathered& part : parts) one(ncclAllGather(part.in, part.out, part.bytes, ncclInt8, comm, stream()));
  });
}

void NcclEngine::gather(const Call& call, const void* in, size_t bytes, void* out, int root) {
  call_group("ncclRecv", call, [&](ncclComm_t comm, const auto& one) {
    one(ncclSend(in, bytes, ncclInt8, root, comm, stream()));
    for (int from = 0; out != nullptr && from < size(); ++from) {
      one(ncclRecv(static_cast<char*>(out) + static_cast<size_t>(from) * bytes, bytes, ncclInt8, from, comm, stream()));
    }
  });
}

void NcclEngine::scatter(const Call& call, const void* in, void* out, size_t bytes, int root) {
  call_group("ncclSend", call, [&](ncclComm_t comm, const auto& one) {
    for (int to = 0; in != nullptr && to < size(); ++to) {
      one(ncclSend(static_cast<const char*>(in) + static_cast<size_t>(to) * bytes, bytes, ncclInt8, to, comm,
                   stream()));
    }
    one(ncclRecv(out, bytes, ncclInt8, root, comm, stream()));
  });
}

void NcclEngine::reduce_scatter(const Call& call, const Elements& in, const Elements& out, ReduceOp::RedOpType op) {
  const Counted as = *counted(out.dtype);
  call_one("ncclReduceScatter", communicator(), call, [&](ncclComm_t comm) {
    return ncclReduceScatter(in.data, out.data, out.count * as.each, as.type, reduction(op, out.dtype), comm, stream());
  });
}

void NcclEngine::reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts,
                                         ReduceOp::RedOpType op) {
  call_group("ncclReduceScatter", call, [&](ncclComm_t comm, const auto& one) {
    for (const auto& [in, out] : parts) {
      const Counted as = *counted(out.dtype);
      one(ncclReduceScatter(in.data, out.data, out.count * as.each, as.type, reduction(op, out.dtype), comm, stream()));
    }
  });
}

void NcclEngine::all_to_all(const Call& call, const void* in, const std::vector<size_t>& in_bytes, void* out,
                            const std::vector<size_t>& out_bytes) {
  call_group("ncclSend", call, [&](ncclComm_t comm, const auto& one) {
    const auto* from = static_cast<const char*>(in);
    auto* to = static_cast<char*>(out);
    for (int other = 0; other < size(); ++other) {
      const size_t sent = in_bytes[static_cast<size_t>(other)], received = out_bytes[static_cast<size_t>(other)];
      if (sent != 0) one(ncclSend(from, sent, ncclInt8, other, comm, stream()));
      if (received != 0) one(ncclRecv(to, received, ncclInt8, other, comm, stream()));
      from += sent;
      to += received;
    }
  });
}

}  // namespace c10d
