#include "distributed/process_group/functional.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/core/thread_state.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "distributed/process_group/group_registry.h"
#include "distributed/process_group/pending_tensor.h"

namespace c10d {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensors = std::vector<Tensor>;

ReduceOp to_reduce_op(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (int op = ReduceOp::SUM; op < ReduceOp::PREMUL_SUM; ++op) {
    if (upper == name_of(static_cast<ReduceOp::RedOpType>(op))) return ReduceOp(static_cast<ReduceOp::RedOpType>(op));
  }
  TORCH_CHECK_VALUE(false, "Unrecognized reduce_op: ", name);
}

// A linear (or other) function of all ranks' tensors. Its results are pending.
struct Step : c10::intrusive_ptr_target {
  enum Kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE };
  static const char* called(Kind kind) {
    constexpr const char* kNames[] = {
        "all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "broadcast", "reduce"};
    return kNames[kind];
  }

  Kind kind = ALL_REDUCE;
  c10::intrusive_ptr<ProcessGroup> group;
  ReduceOp op = ReduceOp::SUM;
  int64_t root = 0;
  std::vector<int64_t> out_rows, in_rows;
  double factor = 1;  // of the input

  Tensor run(const Tensor& input) const;
  c10::intrusive_ptr<Step> adjoint() const;
};
using StepPtr = c10::intrusive_ptr<Step>;

std::vector<int64_t> with_rows(const Tensor& t, int64_t rows) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes[0] = rows;
  return sizes;
}

Tensor Step::run(const Tensor& input) const {
  const Tensor plain = waited_tensor(input);
  Tensor in = factor != 1 ? at::mul(plain, factor) : plain;
  const auto copied = [&] { return factor != 1 ? in : at::clone(in, c10::MemoryFormat::Contiguous); };
  const auto of_rows = [&](int64_t rows) { return at::empty(with_rows(in, rows), in.options()); };
  Tensor out;
  Tensor read;  // what the operation reads, where it has no copy
  c10::intrusive_ptr<Work> work;
  switch (kind) {
    case ALL_REDUCE: {
      Tensors list{out = copied()};
      work = group->allreduce(list, {.reduceOp = op});
      break;
    }
    case ALL_GATHER:
      out = of_rows(in.size(0) * group->getSize());
      work = group->all_gather_single(out, read = in);
      break;
    case REDUCE_SCATTER:
      out = of_rows(in.size(0) / group->getSize());
      work = group->reduce_scatter_single(out, read = in, {.reduceOp = op});
      break;
    case ALL_TO_ALL: {
      int64_t rows = 0;
      for (const int64_t n : out_rows) rows += n;
      out = of_rows(out_rows.empty() ? in.size(0) : rows);
      std::vector<int64_t> to = out_rows, from = in_rows;
      work = group->all_to_all_single(out, read = in, to, from);
      break;
    }
    case BROADCAST: {
      Tensors list{out = copied()};
      work = group->broadcast(list, {.rootRank = root});
      break;
    }
    case REDUCE: {
      // Other ranks' results are zeros, whatever the operation leaves there.
      Tensors list{copied()};
      work = group->reduce(list, {.reduceOp = op, .rootRank = root});
      out = group->getRank() == root ? list[0] : at::zeros(in.sizes(), in.options());
      break;
    }
  }
  return pending_tensor(called(kind), out, std::move(work), read);
}

StepPtr Step::adjoint() const {
  TORCH_CHECK_NOT_IMPLEMENTED(op == ReduceOp::SUM || op == ReduceOp::AVG, "the gradient of a collective with ",
                              name_of(op.op_), " is not implemented");
  const auto made = c10::make_intrusive<Step>(*this);
  switch (kind) {
    case ALL_REDUCE:
      break;
    case ALL_GATHER:
      made->kind = REDUCE_SCATTER;
      break;
    case REDUCE_SCATTER:
      made->kind = ALL_GATHER;
      made->op = ReduceOp::SUM;
      if (op == ReduceOp::AVG) made->factor /= group->getSize();
      break;
    case ALL_TO_ALL:
      std::swap(made->out_rows, made->in_rows);
      break;
    case BROADCAST:
      made->kind = REDUCE;
      break;
    case REDUCE:
      made->kind = BROADCAST;
      break;
  }
  return made;
}

struct Collective : torch::autograd::Function<Collective> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const StepPtr& step) {
    ctx->saved_data["step"] = c10::IValue::make_capsule(step);
    ctx->saved_data["of_leaf"] = input.is_leaf();
    return step->run(input);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto capsule = ctx->saved_data["step"].toCapsule();
    const Tensor grad = apply(grads[0], static_cast<const Step*>(capsule.get())->adjoint());
    // grad() of a leaf is there when backward() returns, data_ptr() and all.
    return {ctx->saved_data["of_leaf"].toBool() ? wait_tensor(grad) : grad, Tensor()};
  }
};

struct Waiting : torch::autograd::Function<Waiting> {
  static Tensor forward(AutogradContext*, const Tensor& pending) { return waited_tensor(pending); }
  static variable_list backward(AutogradContext*, variable_list grads) { return grads; }
};

// Does an operation that writes to `tensor`, or what is behind it, and waits for it.
template <class F>
void run_in_place(const Tensor& tensor, const F& operation) {
  Tensor plain = waited_tensor(tensor);
  operation(plain)->wait();
  plain.unsafeGetTensorImpl()->bump_version();
}

void check_input(const char* name, const Tensor& input, const c10::intrusive_ptr<ProcessGroup>& group,
                 int64_t group_size) {
  TORCH_CHECK(input.defined() && input.dim() > 0, name, ": expected an input with rows");
  TORCH_CHECK_VALUE(group_size == group->getSize(), name, ": group_size is ", group_size, ", but the group has ",
                    group->getSize(), " ranks");
}

void check_in_place(const char* name, const Tensor& input) {
  TORCH_CHECK(!(c10::GradMode::is_enabled() && input.requires_grad()), name,
              ": the tensor requires a gradient, which the form without _ has");
}

StepPtr step(Step::Kind kind, const GroupOrName& group) {
  auto made = c10::make_intrusive<Step>();
  made->kind = kind;
  made->group = group.get();
  return made;
}

// While a program is recorded (graph/capture) calls are the operators', with the group's name, and their results are
// waited for by nodes: what loads the program need not know of pending tensors.
bool is_recorded() {
  const c10::ThreadState& state = c10::thread_state();
  return state.included.has(c10::DispatchKey::Tracer) && !state.excluded.has(c10::DispatchKey::Tracer);
}
const std::string& name_of_group(const GroupOrName& group) {
  return group.get()->getGroupName();
}
template <class... Arguments>
Tensor record(const char* name, const Arguments&... arguments) {
  const auto op = c10::Dispatcher::singleton().findSchema(c10::OperatorName(name, ""));
  TORCH_CHECK_NOT_IMPLEMENTED(op.has_value(), name, " is not linked, by which a program calls a collective: link ",
                              "//distributed/process_group:functional_operators");
  c10::Stack stack{c10::IValue(arguments)...};
  op->callBoxed(stack);
  return stack.at(0).toTensor();
}
template <class... Arguments>
Tensor record_and_wait(const char* name, const Arguments&... arguments) {
  return record("_c10d_functional::wait_tensor", record(name, arguments...));
}

template <class F>
Tensors each(const Tensors& inputs, const F& f) {
  Tensors outputs;
  for (const Tensor& input : inputs) outputs.push_back(f(input));
  return outputs;
}

}  // namespace

GroupOrName::GroupOrName(c10::intrusive_ptr<ProcessGroup> group) : group_(std::move(group)) {
  TORCH_CHECK_VALUE(group_, "a group that this rank is in is expected");
}
GroupOrName::GroupOrName(const std::string& name) : group_(resolve_process_group(name)) {}

Tensor all_reduce(const Tensor& input, const std::string& reduce_op, const GroupOrName& group) {
  if (is_recorded()) return record_and_wait("_c10d_functional::all_reduce", input, reduce_op, name_of_group(group));
  const StepPtr made = step(Step::ALL_REDUCE, group);
  made->op = to_reduce_op(reduce_op);
  return Collective::apply(input, made);
}
Tensor& all_reduce_(Tensor& input, const std::string& reduce_op, const GroupOrName& group) {
  check_in_place("all_reduce_", input);
  if (is_recorded()) {
    record_and_wait("_c10d_functional::all_reduce_", input, reduce_op, name_of_group(group));
    return input;
  }
  const ReduceOp op = to_reduce_op(reduce_op);
  run_in_place(input, [&](Tensor& plain) {
    Tensors list{plain};
    return group.get()->allreduce(list, {.reduceOp = op});
  });
  return input;
}
Tensors all_reduce_coalesced(const Tensors& inputs, const std::string& reduce_op, const GroupOrName& group) {
  return each(inputs, [&](const Tensor& input) { return all_reduce(input, reduce_op, group); });
}
Tensors all_reduce_coalesced_(Tensors inputs, const std::string& reduce_op, const GroupOrName& group) {
  for (Tensor& input : inputs) all_reduce_(input, reduce_op, group);
  return inputs;
}

Tensor all_gather_into_tensor(const Tensor& input, int64_t group_size, const GroupOrName& group) {
  check_input("all_gather_into_tensor", input, group.get(), group_size);
  if (is_recorded()) {
    return record_and_wait("_c10d_functional::all_gather_into_tensor", input, group_size, name_of_group(group));
  }
  return Collective::apply(input, step(Step::ALL_GATHER, group));
}
Tensors all_gather_into_tensor_coalesced(const Tensors& inputs, int64_t group_size, const GroupOrName& group) {
  return each(inputs, [&](const Tensor& input) { return all_gather_into_tensor(input, group_size, group); });
}
Tensor& all_gather_into_tensor_out(const Tensor& input, int64_t group_size, const GroupOrName& group, Tensor& output) {
  check_input("all_gather_into_tensor_out", input, group.get(), group_size);
  check_in_place("all_gather_into_tensor_out", input);
  check_in_place("all_gather_into_tensor_out", output);
  if (is_recorded()) {
    record_and_wait("_c10d_functional::all_gather_into_tensor_out", input, group_size, name_of_group(group), output);
    return output;
  }
  Tensor in = waited_tensor(input);
  run_in_place(output, [&](Tensor& plain) { return group.get()->all_gather_single(plain, in); });
  return output;
}

Tensor reduce_scatter_tensor(const Tensor& input, const std::string& reduce_op, int64_t group_size,
                             const GroupOrName& group) {
  check_input("reduce_scatter_tensor", input, group.get(), group_size);
  TORCH_CHECK_VALUE(input.size(0) % group_size == 0, "reduce_scatter_tensor: the ", input.size(0),
                    " rows cannot be divided among ", group_size, " ranks");
  if (is_recorded()) {
    return record_and_wait("_c10d_functional::reduce_scatter_tensor", input, reduce_op, group_size,
                           name_of_group(group));
  }
  const StepPtr made = step(Step::REDUCE_SCATTER, group);
  made->op = to_reduce_op(reduce_op);
  return Collective::apply(input, made);
}
Tensors reduce_scatter_tensor_coalesced(const Tensors& inputs, const std::string& reduce_op, int64_t group_size,
                                        const GroupOrName& group) {
  return each(inputs, [&](const Tensor& input) { return reduce_scatter_tensor(input, reduce_op, group_size, group); });
}

Tensor all_to_all_single(const Tensor& input, c10::IntArrayRef output_split_sizes, c10::IntArrayRef input_split_sizes,
                         const GroupOrName& group) {
  check_input("all_to_all_single", input, group.get(), group.get()->getSize());
  TORCH_CHECK_VALUE(output_split_sizes.empty() == input_split_sizes.empty(),
                    "all_to_all_single: both sizes are expected, or none");
  if (is_recorded()) {
    // PyTorch's operator takes no sizes for rows that are none.
    const int64_t ranks = group.get()->getSize();
    const std::vector<int64_t> equal(static_cast<size_t>(ranks), input.size(0) / ranks);
    return record_and_wait("_c10d_functional::all_to_all_single", input,
                           output_split_sizes.empty() ? c10::IntArrayRef(equal) : output_split_sizes,
                           input_split_sizes.empty() ? c10::IntArrayRef(equal) : input_split_sizes,
                           name_of_group(group));
  }
  const StepPtr made = step(Step::ALL_TO_ALL, group);
  made->out_rows = output_split_sizes.vec();
  made->in_rows = input_split_sizes.vec();
  return Collective::apply(input, made);
}

Tensor broadcast(const Tensor& input, int64_t src, const GroupOrName& group) {
  if (is_recorded()) return record_and_wait("_c10d_functional::broadcast", input, src, name_of_group(group));
  const StepPtr made = step(Step::BROADCAST, group);
  made->root = src;
  return Collective::apply(input, made);
}
Tensor& broadcast_(Tensor& input, int64_t src, const GroupOrName& group) {
  check_in_place("broadcast_", input);
  if (is_recorded()) {
    record_and_wait("_c10d_functional::broadcast_", input, src, name_of_group(group));
    return input;
  }
  run_in_place(input, [&](Tensor& plain) {
    Tensors list{plain};
    return group.get()->broadcast(list, {.rootRank = src});
  });
  return input;
}

Tensor wait_tensor(const Tensor& tensor) {
  if (at::wrapper_of<PendingTensor>(tensor) == nullptr) return tensor;
  if (is_recorded()) return record("_c10d_functional::wait_tensor", tensor);
  const Tensor plain = Waiting::apply(tensor);
  static_cast<PendingTensor&>(*tensor.unsafeGetTensorImpl()).attach_storage();
  return plain;
}

}  // namespace c10d
