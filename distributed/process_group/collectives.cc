#include "distributed/process_group/collectives.h"

#include <utility>

#include "c10/util/exception.h"

namespace torch::distributed {
namespace {

using at::Tensor;
using c10d::ProcessGroup;
using Tensors = std::vector<Tensor>;

c10d::ProcessGroupPtr find(const GroupArg& group) {
  return group ? *group : c10d::get_default_group();
}

// Starts an operation where this rank is in the group, and waits for it where the caller does.
template <class Start>
WorkPtr run(const char* name, const GroupArg& group, bool async_op, const Start& start) {
  const c10d::ProcessGroupPtr in = find(group);
  if (!in) {
    TORCH_WARN_ONCE("Running ", name, " on a rank that does not belong to the given group.");
    return nullptr;
  }
  WorkPtr work = start(*in);
  if (!async_op) work->wait();
  return work;
}

int64_t rank_in(const GroupArg& group, int64_t rank) {
  return group ? c10d::get_group_rank(group, rank) : rank;
}

}  // namespace

WorkPtr all_reduce(const Tensor& tensor, const ReduceOp& op, const GroupArg& group, bool async_op) {
  return run("all_reduce", group, async_op, [&](ProcessGroup& in) {
    Tensors tensors{tensor};
    return in.allreduce(tensors, {.reduceOp = op, .asyncOp = async_op});
  });
}

WorkPtr all_reduce_coalesced(const Tensors& tensors, const ReduceOp& op, const GroupArg& group, bool async_op) {
  return run("all_reduce_coalesced", group, async_op, [&](ProcessGroup& in) {
    Tensors all = tensors;
    c10d::AllreduceCoalescedOptions options;
    options.reduceOp = op;
    options.asyncOp = async_op;
    return in.allreduce_coalesced(all, options);
  });
}

WorkPtr broadcast(const Tensor& tensor, int64_t src, const GroupArg& group, bool async_op) {
  return run("broadcast", group, async_op, [&](ProcessGroup& in) {
    Tensors tensors{tensor};
    return in.broadcast(tensors, {.rootRank = rank_in(group, src), .asyncOp = async_op});
  });
}

WorkPtr reduce(const Tensor& tensor, int64_t dst, const ReduceOp& op, const GroupArg& group, bool async_op) {
  return run("reduce", group, async_op, [&](ProcessGroup& in) {
    Tensors tensors{tensor};
    return in.reduce(tensors, {.reduceOp = op, .rootRank = rank_in(group, dst), .asyncOp = async_op});
  });
}

WorkPtr all_gather(const Tensors& outputs, const Tensor& input, const GroupArg& group, bool async_op) {
  return run("all_gather", group, async_op, [&](ProcessGroup& in) {
    std::vector<Tensors> lists{outputs};
    Tensors inputs{input};
    return in.allgather(lists, inputs, {.asyncOp = async_op});
  });
}

WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const GroupArg& group, bool async_op) {
  return run("all_gather_into_tensor", group, async_op, [&](ProcessGroup& in) {
    Tensor to = output, from = input;
    return in.all_gather_single(to, from, {.asyncOp = async_op});
  });
}

WorkPtr reduce_scatter(const Tensor& output, const Tensors& inputs, const ReduceOp& op, const GroupArg& group,
                       bool async_op) {
  return run("reduce_scatter", group, async_op, [&](ProcessGroup& in) {
    Tensors outputs{output};
    std::vector<Tensors> lists{inputs};
    return in.reduce_scatter(outputs, lists, {.reduceOp = op, .asyncOp = async_op});
  });
}

WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, const ReduceOp& op, const GroupArg& group,
                              bool async_op) {
  return run("reduce_scatter_tensor", group, async_op, [&](ProcessGroup& in) {
    Tensor to = output, from = input;
    return in.reduce_scatter_single(to, from, {.reduceOp = op, .asyncOp = async_op});
  });
}

WorkPtr all_to_all(const Tensors& outputs, const Tensors& inputs, const GroupArg& group, bool async_op) {
  return run("all_to_all", group, async_op, [&](ProcessGroup& in) {
    Tensors to = outputs, from = inputs;
    return in.alltoall(to, from, {.asyncOp = async_op});
  });
}

WorkPtr all_to_all_single(const Tensor& output, const Tensor& input, const std::vector<int64_t>& output_split_sizes,
                          const std::vector<int64_t>& input_split_sizes, const GroupArg& group, bool async_op) {
  return run("all_to_all_single", group, async_op, [&](ProcessGroup& in) {
    Tensor to = output, from = input;
    std::vector<int64_t> out_sizes = output_split_sizes, in_sizes = input_split_sizes;
    return in.all_to_all_single(to, from, out_sizes, in_sizes, {.asyncOp = async_op});
  });
}

WorkPtr gather(const Tensor& tensor, const Tensors& outputs, int64_t dst, const GroupArg& group, bool async_op) {
  return run("gather", group, async_op, [&](ProcessGroup& in) {
    std::vector<Tensors> lists;
    if (!outputs.empty()) lists.push_back(outputs);
    Tensors inputs{tensor};
    return in.gather(lists, inputs, {.rootRank = rank_in(group, dst), .asyncOp = async_op});
  });
}

WorkPtr scatter(const Tensor& tensor, const Tensors& inputs, int64_t src, const GroupArg& group, bool async_op) {
  return run("scatter", group, async_op, [&](ProcessGroup& in) {
    Tensors outputs{tensor};
    std::vector<Tensors> lists;
    if (!inputs.empty()) lists.push_back(inputs);
    return in.scatter(outputs, lists, {.rootRank = rank_in(group, src), .asyncOp = async_op});
  });
}

WorkPtr barrier(const GroupArg& group, bool async_op, const std::vector<int64_t>& device_ids) {
  return run("barrier", group, async_op, [&](ProcessGroup& in) {
    c10d::BarrierOptions options;
    options.device_ids = device_ids;
    options.asyncOp = async_op;
    return in.barrier(options);
  });
}

void monitored_barrier(const GroupArg& group, const std::optional<std::chrono::milliseconds>& timeout,
                       bool wait_all_ranks) {
  const c10d::ProcessGroupPtr in = find(group);
  if (!in) {
    TORCH_WARN_ONCE("Running monitored_barrier on a rank that does not belong to the given group.");
    return;
  }
  c10d::BarrierOptions options;
  options.timeout = timeout.value_or(c10d::kUnsetTimeout);
  in->monitoredBarrier(options, wait_all_ranks);
}

WorkPtr isend(const Tensor& tensor, int64_t dst, const GroupArg& group, int tag) {
  return run("isend", group, true, [&](ProcessGroup& in) {
    Tensors tensors{tensor};
    return in.send(tensors, static_cast<int>(rank_in(group, dst)), tag);
  });
}

WorkPtr irecv(const Tensor& tensor, std::optional<int64_t> src, const GroupArg& group, int tag) {
  return run("irecv", group, true, [&](ProcessGroup& in) {
    Tensors tensors{tensor};
    return src ? in.recv(tensors, static_cast<int>(rank_in(group, *src)), tag) : in.recvAnysource(tensors, tag);
  });
}

void send(const Tensor& tensor, int64_t dst, const GroupArg& group, int tag) {
  if (const WorkPtr work = isend(tensor, dst, group, tag)) work->wait();
}

int64_t recv(const Tensor& tensor, std::optional<int64_t> src, const GroupArg& group, int tag) {
  const WorkPtr work = irecv(tensor, src, group, tag);
  if (!work) return -1;
  work->wait();
  return group ? c10d::get_global_rank(group, work->sourceRank()) : work->sourceRank();
}

std::vector<WorkPtr> batch_isend_irecv(const std::vector<P2POp>& ops) {
  TORCH_CHECK_VALUE(!ops.empty(), "batch_isend_irecv: one operation or more is expected");
  for (const P2POp& op : ops)
    TORCH_CHECK_VALUE(find(op.group) == find(ops[0].group), "batch_isend_irecv: all operations must be of one group");
  // What a device carries out one after the other would wait for itself on two ranks that send first.
  const c10d::ProcessGroupPtr in = find(ops[0].group);
  const auto backend = in ? in->getBackend(ops[0].tensor.device().type()) : nullptr;
  const bool together = backend && backend->supportsCoalescing();
  if (together) backend->startCoalescing();
  std::vector<WorkPtr> works;
  try {
    for (const P2POp& op : ops) {
      works.push_back(op.op == P2POp::ISEND ? isend(op.tensor, op.peer, op.group, op.tag)
                                            : irecv(op.tensor, op.peer, op.group, op.tag));
    }
  } catch (...) {
    if (together) backend->endCoalescing();  // what was started before goes, as without
    throw;
  }
  if (together) works = {backend->endCoalescing()};
  return works;
}

}  // namespace torch::distributed
