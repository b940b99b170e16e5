#include "distributed/pipeline/schedules.h"

#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/core/grad_mode.h"
#include "c10/util/string_util.h"
#include "distributed/pipeline/orders.h"
#include "distributed/pipeline/split_backward.h"

namespace torch::distributed::pipelining {
namespace {

using at::Tensor;
using Type = ComputationType;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// What is known of a tensor before it is there.
struct Meta {
  std::vector<int64_t> sizes;
  c10::ScalarType dtype = c10::ScalarType::Float;
  bool operator==(const Meta&) const = default;
};
using Metas = std::vector<Meta>;

Metas metas_of(const Tensors& tensors) {
  Metas metas;
  for (const Tensor& t : tensors) metas.push_back({t.sizes().vec(), t.scalar_type()});
  return metas;
}

bool has_gradient(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

std::string describe(const Metas& metas) {
  std::string text;
  for (const Meta& meta : metas) {
    text += c10::str(text.empty() ? "" : ", ", "[", c10::Join(", ", meta.sizes), "] of ", c10::toString(meta.dtype));
  }
  return "(" + text + ")";
}

[[noreturn]] void throw_shapes(const std::string& text) {
  throw PipeliningShapeError(c10::SourceLocation{__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text);
}

// The message before a step's first of its kind: what all of them are like. Numbers: how many tensors, and for each its
// dtype, its number of dimensions and its sizes.
constexpr size_t kMostTensors = 16, kMostDims = 8;
constexpr int64_t kHeader = 1 + kMostTensors * (2 + kMostDims);

Tensor to_header(const Metas& metas) {
  std::vector<int64_t> numbers(static_cast<size_t>(kHeader));
  size_t at = 0;
  numbers[at++] = static_cast<int64_t>(metas.size());
  for (const Meta& meta : metas) {
    numbers[at] = static_cast<int64_t>(meta.dtype);
    numbers[at + 1] = static_cast<int64_t>(meta.sizes.size());
    std::copy(meta.sizes.begin(), meta.sizes.end(), numbers.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    at += 2 + kMostDims;
  }
  Tensor header = at::empty({kHeader}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), header.mutable_data_ptr<int64_t>());
  return header;
}

Metas from_header(const Tensor& header) {
  const int64_t* const numbers = header.const_data_ptr<int64_t>();
  const auto check = [](bool is_right) {
    TORCH_CHECK_WITH(DistBackendError, is_right, "pipeline: what came before the first message describes no tensors");
  };
  check(numbers[0] >= 0 && numbers[0] <= static_cast<int64_t>(kMostTensors));
  Metas metas(static_cast<size_t>(numbers[0]));
  const int64_t* next = numbers + 1;
  for (Meta& meta : metas) {
    check(next[0] >= 0 && next[0] < static_cast<int64_t>(c10::ScalarType::NumOptions));
    check(next[1] >= 0 && next[1] <= static_cast<int64_t>(kMostDims));
    meta.dtype = static_cast<c10::ScalarType>(next[0]);
    meta.sizes.assign(next + 2, next + 2 + next[1]);
    for (const int64_t size : meta.sizes) check(size >= 0);
    next += 2 + kMostDims;
  }
  return metas;
}

PipelineOrder with_messages(const PipelineOrder& order) {
  return shape_of(order).has_messages ? order : add_communication(order);
}

// Above the tags of programs that send by themselves.
constexpr int kTags = 1 << 24;
int tag_of(Type send, int64_t stage) {
  return kTags + static_cast<int>(stage) * 2 + (send == Type::SEND_B ? 1 : 0);
}

}  // namespace

// One call of step() or eval().
class PipelineSchedule::Step {
 public:
  Step(const PipelineSchedule& schedule, const PipelineOrder& order, bool trains, const StepOptions& options)
      : schedule_(schedule),
        order_(order),
        trains_(trains),
        n_(static_cast<size_t>(schedule.n_microbatches_)),
        options_(options),
        group_(schedule.stages_[0].group()) {
    for (const PipelineStage& stage : schedule.stages_) {
      parts_.try_emplace(stage.stage_index(), stage, n_);
    }
  }

  Tensors run(const Tensors& args) {
    guarded("taking its arguments", [&] { take_arguments(args); });
    if (trains_) {
      for (const auto& [index, part] : parts_) part.stage.before_backwards();
    }
    for (const Action& action : order_[static_cast<size_t>(group_->getRank())]) {
      guarded(action, [&] {
        act(action);
        let_go_of_sent();
      });
    }
    if (trains_) {
      guarded("reducing gradients", [&] {
        for (const auto& [index, part] : parts_) part.stage.after_backwards();
      });
    }
    guarded("the last sends", [&] {
      while (!sends_.empty()) {
        sends_.front().work->wait();
        sends_.pop_front();
      }
    });
    return results();
  }

 private:
  // What came or will come from another rank, for a microbatch.
  struct Receipt {
    Tensors tensors;
    std::vector<WorkPtr> works;
  };
  struct Microbatch {
    Tensors inputs, outputs;    // outputs until they have gone on
    autograd::edge_list edges;  // of the outputs, or of the loss
    Tensors gradients;          // of the outputs that have one, when they are there
    Tensors input_gradients;
    WeightBackward rest;
    Receipt forward, backward;
  };
  struct Part {
    Part(const PipelineStage& stage, size_t n) : stage(stage), microbatches(n) {}
    const PipelineStage& stage;
    std::vector<Microbatch> microbatches;
    std::optional<Metas> input_metas, output_metas;
    // Of the first inputs that come from another rank, and the microbatches that wait for it.
    Tensor header;
    WorkPtr header_work;
    std::vector<size_t> unposted;
    bool has_sent = false;
    size_t backwards_left = 0;
  };
  struct Sent {
    WorkPtr work;
    Tensor tensor;
  };

  void take_arguments(const Tensors& args) {
    const ScheduleOptions& options = schedule_.options_;
    const auto first = parts_.find(0);
    if (first != parts_.end()) {
      std::vector<Tensors> chunks = split_args_into_chunks(args, schedule_.n_microbatches_, options.args_chunk_spec());
      for (size_t m = 0; m < n_; ++m) {
        check_inputs(first->second, chunks[m], m);
        first->second.microbatches[m].inputs = std::move(chunks[m]);
      }
    }
    const auto last = parts_.find(schedule_.shape_.stages - 1);
    if (last == parts_.end() || !options.loss_fn() || (!trains_ && !options_.target.defined())) return;
    TORCH_CHECK_VALUE(options_.target.defined(), schedule_.name_,
                      ": the rank that has the last stage needs the target");
    for (Tensors& part : split_args_into_chunks({options_.target}, schedule_.n_microbatches_)) {
      targets_.push_back(std::move(part[0]));
    }
    losses_.resize(n_);
  }

  void act(const Action& action) {
    if (action.computation_type == Type::OVERLAP_F_B) {
      for (const Action& part : action.sub_actions) act(part);
      return;
    }
    Part& part = parts_.at(action.stage_index);
    const PipelineStageOptions& options = part.stage.options();
    const size_t m = static_cast<size_t>(action.microbatch_index.value_or(0));
    switch (action.computation_type) {
      case Type::FORWARD:
        return forward(part, m);
      case Type::FULL_BACKWARD:
        return backward(part, m);
      case Type::BACKWARD_INPUT:
        return backward_of_inputs(part, m);
      case Type::BACKWARD_WEIGHT:
        return backward_of_weights(part, m);
      case Type::SEND_F:
        return send_forward(part, m);
      case Type::RECV_F:
        return receive_forward(part, m);
      case Type::SEND_B:
        return send_backward(part, m);
      case Type::RECV_B:
        return receive_backward(part, m);
      case Type::UNSHARD:
        return call(options.unshard());
      case Type::RESHARD:
        return call(options.reshard());
      case Type::REDUCE_GRAD:
        return call(options.reduce_grad());
      case Type::OVERLAP_F_B:
        break;
    }
  }
  static void call(const std::function<void()>& function) {
    if (function) function();
  }

  // --- computing ---

  void forward(Part& part, size_t m) {
    Microbatch& own = part.microbatches[m];
    if (!part.stage.is_first() && own.inputs.empty()) own.inputs = received_inputs(part, m);
    if (!part.stage.is_first()) {
      check_inputs(part, own.inputs, m);
      for (Tensor& input : own.inputs) {
        if (trains_ && has_gradient(input.scalar_type())) input.requires_grad_(true);
      }
    }
    Tensors outputs = part.stage.forward(own.inputs);
    check_outputs(part, outputs, m);
    if (trains_) {
      for (const Tensor& output : outputs) own.edges.push_back(autograd::gradient_edge(output));
      if (part.backwards_left == 0) part.backwards_left = n_;
    } else {
      own.inputs.clear();
    }
    if (part.stage.is_last()) {
      compute_loss(own, outputs, m);
      if (options_.return_outputs) own.outputs = detached(outputs);
      return;
    }
    own.outputs = detached(outputs);
    const auto next = parts_.find(part.stage.stage_index() + 1);
    if (next != parts_.end()) next->second.microbatches[m].inputs = std::exchange(own.outputs, {});
  }

  static Tensors detached(const Tensors& tensors) {
    Tensors result;
    for (const Tensor& t : tensors) result.push_back(t.detach());
    return result;
  }

  void compute_loss(Microbatch& own, const Tensors& outputs, size_t m) {
    if (targets_.empty()) return;
    TORCH_CHECK_VALUE(outputs.size() == 1, schedule_.name_, ": a loss is of one output, but the last stage has ",
                      outputs.size());
    const Tensor loss = schedule_.options_.loss_fn()(outputs[0], targets_[m]);
    TORCH_CHECK_VALUE(loss.defined() && loss.numel() == 1, schedule_.name_,
                      ": loss_fn must give one element, but gave ",
                      loss.defined() ? c10::str("sizes ", loss.sizes()) : std::string("an undefined tensor"));
    losses_[m] = loss.detach();
    if (!trains_) return;
    own.edges = {autograd::gradient_edge(loss)};
    own.gradients = {at::full_like(loss.detach(), schedule_.options_.scale_grads() ? 1 / static_cast<double>(n_) : 1)};
  }

  // The gradients of the outputs, and the edges that they go to.
  std::pair<autograd::edge_list, Tensors> roots(Part& part, Microbatch& own) {
    if (!part.stage.is_last() && own.gradients.empty()) own.gradients = received_gradients(part, own);
    autograd::edge_list edges;
    Tensors gradients;
    for (size_t i = 0, next = 0; i < own.edges.size(); ++i) {
      const bool has_one = part.stage.is_last() || has_gradient((*part.output_metas)[i].dtype);
      if (!has_one) continue;
      const Tensor& gradient = own.gradients.at(next++);
      if (!own.edges[i].is_valid()) continue;
      edges.push_back(own.edges[i]);
      gradients.push_back(gradient);
    }
    own.edges.clear();
    own.gradients.clear();
    return {std::move(edges), std::move(gradients)};
  }

  // Inputs of another stage that have gradients.
  static Tensors differentiable(const Part& part, const Microbatch& own) {
    Tensors inputs;
    if (part.stage.is_first()) return inputs;
    for (const Tensor& input : own.inputs) {
      if (input.requires_grad()) inputs.push_back(input);
    }
    return inputs;
  }

  void backward(Part& part, size_t m) {
    Microbatch& own = part.microbatches[m];
    auto [edges, gradients] = roots(part, own);
    accumulate(part, {std::move(edges), std::move(gradients)});
    Tensors of_inputs;
    for (const Tensor& input : differentiable(part, own)) of_inputs.push_back(input.grad());
    pass_on(part, m, std::move(of_inputs));
  }

  void backward_of_inputs(Part& part, size_t m) {
    Microbatch& own = part.microbatches[m];
    auto [edges, gradients] = roots(part, own);
    Tensors of_inputs = differentiable(part, own);
    if (of_inputs.empty()) {
      own.rest = {std::move(edges), std::move(gradients)};
    } else {
      std::tie(of_inputs, own.rest) = backward_input(edges, gradients, of_inputs);
    }
    pass_on(part, m, std::move(of_inputs));
  }

  void backward_of_weights(Part& part, size_t m) {
    WeightBackward rest = std::exchange(part.microbatches[m].rest, {});
    if (rest.reads_parameters) part.stage.before_weight_backward();
    accumulate(part, std::move(rest));
  }

  void accumulate(Part& part, WeightBackward rest) {
    if (--part.backwards_left == 0) part.stage.before_last_backward();
    rest.run();
  }

  // To the stage that made the inputs. Those that nothing depended on get zeros: their owner waits for a message.
  void pass_on(Part& part, size_t m, Tensors gradients) {
    Microbatch& own = part.microbatches[m];
    const Tensors inputs = differentiable(part, own);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!gradients[i].defined()) gradients[i] = at::zeros_like(inputs[i].detach());
    }
    own.inputs.clear();
    if (part.stage.is_first()) return;
    const auto before = parts_.find(part.stage.stage_index() - 1);
    (before != parts_.end() ? before->second.microbatches[m].gradients : own.input_gradients) = std::move(gradients);
  }

  // --- messages ---

  int rank_of(int64_t stage) const {
    return static_cast<int>(schedule_.shape_.rank_of_stage[static_cast<size_t>(stage)]);
  }

  void send(const Tensor& tensor, int to, int tag) {
    std::vector<Tensor> message{tensor.detach().contiguous()};
    sends_.push_back({group_->send(message, to, tag), message[0]});
  }
  // Those that have been sent need no memory any more.
  void let_go_of_sent() {
    while (!sends_.empty() && sends_.front().work->isCompleted()) {
      sends_.front().work->wait();
      sends_.pop_front();
    }
  }
  WorkPtr receive(Tensor tensor, int from, int tag) {
    std::vector<Tensor> message{std::move(tensor)};
    return group_->recv(message, from, tag);
  }
  static void wait(Receipt& receipt) {
    for (const WorkPtr& work : receipt.works) work->wait();
    receipt.works.clear();
  }

  void send_forward(Part& part, size_t m) {
    const int64_t stage = part.stage.stage_index();
    const int to = rank_of(stage + 1), tag = tag_of(Type::SEND_F, stage);
    if (!std::exchange(part.has_sent, true)) {
      send(to_header(*part.output_metas).to(part.stage.device()), to, tag);
    }
    for (const Tensor& output : std::exchange(part.microbatches[m].outputs, {})) send(output, to, tag);
  }

  void receive_forward(Part& part, size_t m) {
    const int64_t from = part.stage.stage_index() - 1;
    if (!part.header.defined()) {
      part.header = at::empty({kHeader}, at::TensorOptions().dtype(at::kLong).device(part.stage.device()));
      part.header_work = receive(part.header, rank_of(from), tag_of(Type::SEND_F, from));
    }
    if (part.header_work) {
      part.unposted.push_back(m);
    } else {
      post_inputs(part, m);
    }
  }
  void post_inputs(Part& part, size_t m) {
    const int64_t from = part.stage.stage_index() - 1;
    Receipt& receipt = part.microbatches[m].forward;
    for (const Meta& meta : *part.input_metas) {
      receipt.tensors.push_back(
          at::empty(meta.sizes, at::TensorOptions().dtype(meta.dtype).device(part.stage.device())));
      receipt.works.push_back(receive(receipt.tensors.back(), rank_of(from), tag_of(Type::SEND_F, from)));
    }
  }
  Tensors received_inputs(Part& part, size_t m) {
    if (part.header_work) {
      part.header_work->wait();
      part.header_work.reset();
      part.input_metas = from_header(part.header.to(c10::kCPU));
      for (const size_t waiting : std::exchange(part.unposted, {})) post_inputs(part, waiting);
    }
    Receipt& receipt = part.microbatches[m].forward;
    wait(receipt);
    return std::move(receipt.tensors);
  }

  void send_backward(Part& part, size_t m) {
    const int64_t stage = part.stage.stage_index();
    for (const Tensor& gradient : std::exchange(part.microbatches[m].input_gradients, {})) {
      send(gradient, rank_of(stage - 1), tag_of(Type::SEND_B, stage));
    }
  }

  void receive_backward(Part& part, size_t m) {
    const int64_t from = part.stage.stage_index() + 1;
    Receipt& receipt = part.microbatches[m].backward;
    for (const Meta& meta : *part.output_metas) {
      if (!has_gradient(meta.dtype)) continue;
      receipt.tensors.push_back(
          at::empty(meta.sizes, at::TensorOptions().dtype(meta.dtype).device(part.stage.device())));
      receipt.works.push_back(receive(receipt.tensors.back(), rank_of(from), tag_of(Type::SEND_B, from)));
    }
  }
  static Tensors received_gradients(Part& part, Microbatch& own) {
    wait(own.backward);
    return std::move(own.backward.tensors);
  }

  // --- sizes ---

  void check_same(const Part& part, const char* what, std::optional<Metas>& known, const Tensors& said,
                  const Tensors& tensors, size_t m) {
    Metas metas = metas_of(tensors);
    const auto complain = [&](const char* why, const Metas& other) {
      throw_shapes(c10::str(schedule_.name_, ": microbatch ", m, " of stage ", part.stage.stage_index(), " has ", what,
                            " ", describe(metas), why, describe(other)));
    };
    if (!said.empty() && metas != metas_of(said)) complain(", but the stage was made for ", metas_of(said));
    if (known && metas != *known) complain(", but others of this step have ", *known);
    known = std::move(metas);
  }
  void check_inputs(Part& part, const Tensors& inputs, size_t m) {
    check_same(part, "inputs", part.input_metas, part.stage.options().input_args(), inputs, m);
  }
  void check_outputs(Part& part, const Tensors& outputs, size_t m) {
    for (const Tensor& output : outputs) {
      TORCH_CHECK_VALUE(output.defined(), schedule_.name_, ": stage ", part.stage.stage_index(),
                        " has an undefined output");
      TORCH_CHECK_VALUE(output.dim() <= static_cast<int64_t>(kMostDims), schedule_.name_, ": stage ",
                        part.stage.stage_index(), " has an output of ", output.dim(), " dimensions, of at most ",
                        kMostDims);
    }
    TORCH_CHECK_VALUE(!outputs.empty() && outputs.size() <= kMostTensors, schedule_.name_, ": stage ",
                      part.stage.stage_index(), " has ", outputs.size(), " outputs, of at least 1 and at most ",
                      kMostTensors);
    check_same(part, "outputs", part.output_metas, part.stage.options().output_args(), outputs, m);
  }

  // --- the end ---

  Tensors results() {
    const auto last = parts_.find(schedule_.shape_.stages - 1);
    if (last == parts_.end()) return {};
    if (options_.losses != nullptr) *options_.losses = losses_;
    if (!options_.return_outputs) return {};
    std::vector<Tensors> chunks;
    for (Microbatch& own : last->second.microbatches) chunks.push_back(std::move(own.outputs));
    return merge_chunks(chunks, schedule_.options_.output_merge_spec());
  }

  static std::string text_of(const char* where) { return where; }
  static std::string text_of(const Action& where) { return to_string(where); }

  // An exception says where it came from, and ends the step on all ranks: the others need not wait for this one until
  // their deadlines, and shall know why.
  template <class Where, class Body>
  void guarded(const Where& where, const Body& body) {
    try {
      body();
    } catch (c10::Error& e) {
      fail(text_of(where), e.msg());
      e.add_context(c10::str(schedule_.name_, ": in ", text_of(where), " on rank ", group_->getRank()));
      throw;
    } catch (const std::exception& e) {
      fail(text_of(where), e.what());
      throw;
    }
  }
  void fail(const std::string& where, const std::string& why) {
    const std::string text =
        c10::str(schedule_.name_, ": rank ", group_->getRank(), " of the pipeline failed in ", where, ": ", why);
    for (const auto& [index, part] : parts_) part.stage.abort(text);
  }

  const PipelineSchedule& schedule_;
  const PipelineOrder& order_;
  const bool trains_;
  const size_t n_;
  const StepOptions& options_;
  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::map<int64_t, Part> parts_;
  Tensors targets_, losses_;
  std::deque<Sent> sends_;
};

PipelineSchedule::PipelineSchedule(const std::string& name, std::vector<PipelineStage> stages, int64_t n_microbatches,
                                   ScheduleOptions options, const PipelineOrder& compute)
    : name_(name),
      stages_(std::move(stages)),
      n_microbatches_(n_microbatches),
      options_(std::move(options)),
      order_(with_messages(options_.loss_fn() ? compute : forward_only(compute))),
      forward_order_(add_communication(forward_only(compute))),
      shape_(shape_of(order_)) {
  TORCH_CHECK_VALUE(!stages_.empty(), name, ": no stages were given");
  TORCH_CHECK_VALUE(shape_.microbatches == n_microbatches, name, ": the schedule is of ", shape_.microbatches,
                    " microbatches, but n_microbatches is ", n_microbatches);
  const auto& group = stages_[0].group();
  TORCH_CHECK_VALUE(static_cast<int64_t>(order_.size()) == group->getSize(), name, ": the schedule is of ",
                    order_.size(), " ranks, but the group has ", group->getSize());
  for (const PipelineStage& stage : stages_) {
    const int64_t index = stage.stage_index();
    TORCH_CHECK_VALUE(stage.num_stages() == shape_.stages, name, ": the schedule is of ", shape_.stages,
                      " stages, but stage ", index, " is one of ", stage.num_stages());
    TORCH_CHECK_VALUE(stage.group().get() == group.get(), name, ": stages must be of one group");
    TORCH_CHECK_VALUE(shape_.rank_of_stage[static_cast<size_t>(index)] == group->getRank(), name, ": rank ",
                      group->getRank(), " was given stage ", index, ", which the schedule has on rank ",
                      shape_.rank_of_stage[static_cast<size_t>(index)]);
  }
  for (int64_t index = 0; index < shape_.stages; ++index) {
    int64_t given = 0;
    for (const PipelineStage& stage : stages_) given += stage.stage_index() == index;
    const bool is_here = shape_.rank_of_stage[static_cast<size_t>(index)] == group->getRank();
    TORCH_CHECK_VALUE(given == (is_here ? 1 : 0), name, ": rank ", group->getRank(), " must be given stage ", index,
                      " once, but was ", given, " times");
  }
  // A schedule that cannot go on is an error here, and not a step that hangs.
  simulate(order_);
}

Tensors PipelineSchedule::step(const Tensors& args, const StepOptions& options) {
  TORCH_CHECK(!shape_.has_backward || c10::GradMode::is_enabled(), name_,
              ": step() has backwards, but gradients are not recorded here; eval() only goes forwards");
  return Step(*this, order_, shape_.has_backward, options).run(args);
}

Tensors PipelineSchedule::eval(const Tensors& args, const StepOptions& options) {
  const c10::NoGradGuard no_grad;
  return Step(*this, forward_order_, /*trains=*/false, options).run(args);
}

namespace {

int64_t ranks_of(const PipelineStage& stage) {
  return stage.group()->getSize();
}
int64_t ranks_of(const char* name, const std::vector<PipelineStage>& stages) {
  TORCH_CHECK_VALUE(!stages.empty(), name, ": no stages were given");
  return ranks_of(stages[0]);
}
int64_t ranks_of_two(const char* name, const std::vector<PipelineStage>& stages) {
  TORCH_CHECK_VALUE(stages.size() == 2, name, ": expected 2 stages on each rank, but got ", stages.size());
  return ranks_of(stages[0]);
}
int64_t count_of(const std::vector<PipelineStage>& stages) {
  return static_cast<int64_t>(stages.size());
}

}  // namespace

PipelineScheduleSingle::PipelineScheduleSingle(const PipelineStage& stage, int64_t n_microbatches,
                                               ScheduleOptions options, const PipelineOrder& compute,
                                               const std::string& name)
    : PipelineSchedule(name, {stage}, n_microbatches, std::move(options), compute) {}

PipelineScheduleMulti::PipelineScheduleMulti(std::vector<PipelineStage> stages, int64_t n_microbatches,
                                             ScheduleOptions options, const PipelineOrder& compute,
                                             const std::string& name)
    : PipelineSchedule(name, std::move(stages), n_microbatches, std::move(options), compute) {}

ScheduleGPipe::ScheduleGPipe(const PipelineStage& stage, int64_t n, ScheduleOptions options)
    : PipelineScheduleSingle(stage, n, std::move(options), gpipe_order(ranks_of(stage), n), "ScheduleGPipe") {}

Schedule1F1B::Schedule1F1B(const PipelineStage& stage, int64_t n, ScheduleOptions options)
    : PipelineScheduleSingle(stage, n, std::move(options), one_forward_one_backward_order(ranks_of(stage), n),
                             "Schedule1F1B") {}

ScheduleInterleaved1F1B::ScheduleInterleaved1F1B(const std::vector<PipelineStage>& stages, int64_t n,
                                                 ScheduleOptions options)
    : PipelineScheduleMulti(stages, n, std::move(options),
                            interleaved_1f1b_order(ranks_of("ScheduleInterleaved1F1B", stages), count_of(stages), n),
                            "ScheduleInterleaved1F1B") {}

ScheduleLoopedBFS::ScheduleLoopedBFS(const std::vector<PipelineStage>& stages, int64_t n, ScheduleOptions options)
    : PipelineScheduleMulti(stages, n, std::move(options),
                            looped_bfs_order(ranks_of("ScheduleLoopedBFS", stages), count_of(stages), n),
                            "ScheduleLoopedBFS") {}

ScheduleInterleavedZeroBubble::ScheduleInterleavedZeroBubble(const std::vector<PipelineStage>& stages, int64_t n,
                                                             ScheduleOptions options)
    : PipelineScheduleMulti(
          stages, n, std::move(options),
          interleaved_zero_bubble_order(ranks_of("ScheduleInterleavedZeroBubble", stages), count_of(stages), n),
          "ScheduleInterleavedZeroBubble") {}

ScheduleZBVZeroBubble::ScheduleZBVZeroBubble(const std::vector<PipelineStage>& stages, int64_t n,
                                             ScheduleOptions options)
    : PipelineScheduleMulti(stages, n, std::move(options), zbv_order(ranks_of_two("ScheduleZBVZeroBubble", stages), n),
                            "ScheduleZBVZeroBubble") {}

ScheduleDualPipeV::ScheduleDualPipeV(const std::vector<PipelineStage>& stages, int64_t n, ScheduleOptions options)
    : PipelineScheduleMulti(stages, n, std::move(options),
                            dual_pipe_v_order(ranks_of_two("ScheduleDualPipeV", stages), n), "ScheduleDualPipeV") {}

}  // namespace torch::distributed::pipelining
