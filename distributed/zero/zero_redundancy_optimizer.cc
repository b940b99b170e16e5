#include "distributed/zero/zero_redundancy_optimizer.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "c10/value/type.h"
#include "utils/serialize/archive.h"

namespace torch::distributed::optim {
namespace {

using at::Tensor;
using c10::IValue;
using torch::distributed::algorithms::Join;
using torch::distributed::algorithms::JoinHook;
using torch::distributed::algorithms::JoinOptions;
using torch::optim::OptimizerParamGroup;
using torch::optim::StateDict;
using GenericDict = c10::Dict<IValue, IValue>;

constexpr int kStateTag = 17;

// The parameter's place in a flat tensor.
Tensor place_in(const Tensor& flat, const Tensor& param, int64_t at) {
  const c10::AutoDispatchBelowADInplaceOrView plain;
  const Tensor view = param.is_non_overlapping_and_dense()
                          ? at::as_strided(flat, param.sizes(), param.strides(), at)
                          : at::view(at::narrow(flat, 0, at, param.numel()), param.sizes());
  return at::empty({0}, flat.options()).set_(flat.storage(), view.storage_offset(), view.sizes(), view.strides());
}

int64_t numel_of(const IValue& value) {
  if (value.isTensor()) return value.toTensor().numel() > 1 ? value.toTensor().numel() : 0;
  int64_t sum = 0;
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) sum += numel_of(entry.value());
  }
  return sum;
}

ZeroRedundancyOptions with_group(ZeroRedundancyOptions options) {
  options.process_group(c10d::group_or_default(options.process_group(), "ZeroRedundancyOptimizer"));
  return options;
}

class ShadowStep final : public JoinHook {
 public:
  explicit ShadowStep(ZeroRedundancyOptimizerBase& zero) : zero_(zero) {}
  void main_hook() override { zero_.step(); }

 private:
  ZeroRedundancyOptimizerBase& zero_;
};

}  // namespace

ZeroRedundancyOptimizerBase::ZeroRedundancyOptimizerBase(const std::vector<OptimizerParamGroup>& param_groups,
                                                         std::unique_ptr<torch::optim::OptimizerOptions> defaults,
                                                         ZeroRedundancyOptions options, MakeOptimizer make)
    : Optimizer(param_groups, std::move(defaults)), zero_(with_group(std::move(options))), make_(std::move(make)) {
  TORCH_CHECK_VALUE(
      !zero_.overlap_with_ddp() || !zero_.parameters_as_bucket_view(),
      "ZeroRedundancyOptimizer: overlap_with_ddp sends parameters by buckets of gradients, and has no use for "
      "parameters_as_bucket_view");
  load_.resize(static_cast<size_t>(zero_.process_group()->getSize()));
  register_state_dict_pre_hook(
      [](Optimizer& self) { static_cast<ZeroRedundancyOptimizerBase&>(self).check_consolidated(); });
  register_state_dict_post_hook(
      [](Optimizer& self, StateDict& state) { static_cast<ZeroRedundancyOptimizerBase&>(self).put_states(state); });
  register_load_state_dict_pre_hook(
      [](Optimizer& self, StateDict& state) { static_cast<ZeroRedundancyOptimizerBase&>(self).take_states(state); });
  partition();
}

// --- who has what ---

void ZeroRedundancyOptimizerBase::partition() {
  const int rank = zero_.process_group()->getRank();
  int64_t number = 0;
  for (size_t g = 0; g < partitioned_; ++g) number += static_cast<int64_t>(param_groups_[g].params().size());
  const bool is_new = partitioned_ < param_groups_.size();
  for (; partitioned_ < param_groups_.size(); ++partitioned_) {
    const OptimizerParamGroup& group = param_groups_[partitioned_];
    std::vector<size_t> order(group.params().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Of equal ones the first first.
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const int64_t of_a = group.params()[a].numel(), of_b = group.params()[b].numel();
      return of_a != of_b ? of_a > of_b : a < b;
    });
    std::set<size_t> mine;
    for (const size_t i : order) {
      const Tensor& p = group.params()[i];
      TORCH_CHECK_VALUE(p.layout() == c10::kStrided, "ZeroRedundancyOptimizer: parameters must be dense");
      const auto least = std::min_element(load_.begin(), load_.end());
      *least += p.numel();
      const int owner = static_cast<int>(least - load_.begin());
      owners_[p.unsafeGetTensorImpl()] = owner;
      if (owner == rank) mine.insert(i);
    }
    const auto make_part = [&](const std::vector<size_t>& indices) {
      Part part;
      part.group = partitioned_;
      std::vector<Tensor> params;
      for (const size_t i : indices) {
        params.push_back(group.params()[i]);
        part.numbers.push_back(number + static_cast<int64_t>(i));
        if (zero_.overlap_with_ddp()) part_of_[params.back().unsafeGetTensorImpl()] = parts_.size();
      }
      part.optimizer = make_({OptimizerParamGroup(std::move(params), group.options().clone())});
      parts_.push_back(std::move(part));
    };
    if (zero_.overlap_with_ddp()) {
      for (const size_t i : mine) make_part({i});
    } else if (!mine.empty()) {
      make_part({mine.begin(), mine.end()});
    }
    number += static_cast<int64_t>(group.params().size());
  }
  if (!is_new) return;
  std::vector<Tensor> all;
  for (const OptimizerParamGroup& group : param_groups_)
    all.insert(all.end(), group.params().begin(), group.params().end());
  pieces_ = pieces_of(all);
  if (zero_.parameters_as_bucket_view()) make_flat();
}

std::vector<ZeroRedundancyOptimizerBase::Piece> ZeroRedundancyOptimizerBase::pieces_of(
    const std::vector<Tensor>& params) const {
  std::vector<Piece> pieces;
  for (const Tensor& p : params) {
    const auto found = owners_.find(p.unsafeGetTensorImpl());
    if (found == owners_.end()) continue;
    auto piece = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& other) {
      return other.owner == found->second && other.params[0].scalar_type() == p.scalar_type() &&
             other.params[0].device() == p.device();
    });
    if (piece == pieces.end()) piece = pieces.insert(pieces.end(), Piece{found->second, {}, {}});
    piece->params.push_back(p);
  }
  return pieces;
}

void ZeroRedundancyOptimizerBase::make_flat() {
  const c10::NoGradGuard no_grad;
  for (Piece& piece : pieces_) {
    int64_t count = 0;
    for (const Tensor& p : piece.params) count += p.numel();
    piece.flat = at::empty({count}, piece.params[0].options().requires_grad(false));
    int64_t at = 0;
    for (const Tensor& p : piece.params) {
      const Tensor place = place_in(piece.flat, p, at);
      place.copy_(p);
      p.set_data(place);
      at += p.numel();
    }
  }
}

int ZeroRedundancyOptimizerBase::owner_of(const Tensor& parameter) const {
  const auto found = owners_.find(parameter.unsafeGetTensorImpl());
  TORCH_CHECK(found != owners_.end(), "ZeroRedundancyOptimizer: the tensor is none of its parameters");
  return found->second;
}

int64_t ZeroRedundancyOptimizerBase::local_state_numel() const {
  return numel_of(local_states());
}

// --- steps ---

void ZeroRedundancyOptimizerBase::copy_options(Part& part) {
  part.optimizer->param_groups()[0].set_options(param_groups_[part.group].options().clone());
  part.optimizer->set_amp_scaling(grad_scale_, found_inf_);
}

// Starts sending, and returns what waits for it.
std::function<void()> ZeroRedundancyOptimizerBase::send(const Piece& piece) const {
  c10d::ProcessGroup& group = *zero_.process_group();
  const bool is_owner = piece.owner == group.getRank();
  Tensor flat = piece.flat;
  if (!flat.defined()) {
    int64_t count = 0;
    for (const Tensor& p : piece.params) count += p.numel();
    flat = at::empty({count}, piece.params[0].options().requires_grad(false));
    int64_t at = 0;
    for (const Tensor& p : piece.params) {
      if (is_owner) place_in(flat, p, at).copy_(p);
      at += p.numel();
    }
  }
  std::vector<Tensor> message{flat};
  c10d::BroadcastOptions options;
  options.rootRank = piece.owner;
  return [work = group.broadcast(message, options), piece, flat, is_owner] {
    work->wait();
    if (piece.flat.defined() || is_owner) return;
    const c10::NoGradGuard no_grad;
    int64_t at = 0;
    for (const Tensor& p : piece.params) {
      p.copy_(place_in(flat, p, at));
      at += p.numel();
    }
  };
}

Tensor ZeroRedundancyOptimizerBase::step(LossClosure closure) {
  partition();
  Join::notify_join_context(*this);
  if (zero_.overlap_with_ddp()) {
    TORCH_CHECK(!closure, "ZeroRedundancyOptimizer: overlap_with_ddp takes no closure");
    return Tensor();
  }
  consolidated_.clear();
  return run_whole_step([&] {
    Tensor loss;
    if (closure) {
      const c10::AutoGradMode with_grad(true);
      loss = closure();
    }
    for (Part& part : parts_) {
      copy_options(part);
      part.optimizer->step();
    }
    std::vector<std::function<void()>> sent;
    for (const Piece& piece : pieces_) sent.push_back(send(piece));
    for (const auto& wait : sent) wait();
    return loss;
  });
}

std::vector<std::function<void()>> ZeroRedundancyOptimizerBase::step_and_send(const std::vector<Tensor>& params,
                                                                              const std::vector<Tensor>& gradients) {
  const c10::NoGradGuard no_grad;
  partition();
  consolidated_.clear();
  for (size_t i = 0; i < params.size(); ++i) {
    const auto found = part_of_.find(params[i].unsafeGetTensorImpl());
    if (found == part_of_.end()) continue;
    Part& part = parts_[found->second];
    copy_options(part);
    const Tensor before = std::exchange(params[i].mutable_grad(), gradients[i]);
    part.optimizer->step();
    params[i].mutable_grad() = before;
  }
  std::vector<std::function<void()>> sent;
  for (const Piece& piece : pieces_of(params)) sent.push_back(send(piece));
  return sent;
}

std::unique_ptr<JoinHook> ZeroRedundancyOptimizerBase::join_hook(const JoinOptions& /*options*/) {
  TORCH_CHECK(!zero_.overlap_with_ddp(), "Join: a ZeroRedundancyOptimizer with overlap_with_ddp cannot be joined");
  return std::make_unique<ShadowStep>(*this);
}

// --- states ---

c10::IValue ZeroRedundancyOptimizerBase::local_states() const {
  GenericDict states;
  for (const Part& part : parts_) {
    IValue of_part;
    if (!torch::optim::find_part(part.optimizer->state_dict().tree(), "state", &of_part)) continue;
    for (const auto& entry : of_part.toGenericDict()) {
      states.insert_or_assign(IValue(part.numbers[static_cast<size_t>(entry.key().toInt())]), entry.value());
    }
  }
  return IValue(states);
}

void ZeroRedundancyOptimizerBase::consolidate_state_dict(int to) {
  partition();
  c10d::ProcessGroup& group = *zero_.process_group();
  TORCH_CHECK(to >= 0 && to < group.getSize(), "consolidate_state_dict: rank ", to, " is none of a group of ",
              group.getSize());
  const std::vector<char> bytes = torch::pickle_save(local_states());
  std::vector<Tensor> mine{at::full({1}, static_cast<int64_t>(bytes.size()), at::kLong)};
  std::vector<std::vector<Tensor>> sizes(1);
  for (int i = 0; i < group.getSize(); ++i) sizes[0].push_back(at::empty({1}, at::kLong));
  group.allgather(sizes, mine)->wait();
  consolidated_.clear();
  if (group.getRank() != to) {
    std::vector<Tensor> message{at::empty({static_cast<int64_t>(bytes.size())}, at::kByte)};
    std::memcpy(message[0].mutable_data_ptr(), bytes.data(), bytes.size());
    group.send(message, to, kStateTag)->wait();
    return;
  }
  std::vector<IValue> all;
  for (int from = 0; from < group.getSize(); ++from) {
    if (from == to) {
      all.push_back(local_states());
      continue;
    }
    std::vector<Tensor> message{at::empty({sizes[0][static_cast<size_t>(from)].item<int64_t>()}, at::kByte)};
    group.recv(message, from, kStateTag)->wait();
    const auto* const data = static_cast<const char*>(message[0].const_data_ptr());
    all.push_back(torch::pickle_load(std::vector<char>(data, data + message[0].numel())));
  }
  consolidated_ = std::move(all);
}

void ZeroRedundancyOptimizerBase::check_consolidated() const {
  TORCH_CHECK(!consolidated_.empty(),
              "Optimizer state has not been consolidated on this rank. Please call "
              "`consolidate_state_dict(to=",
              zero_.process_group()->getRank(), ")` on all ranks beforehand if you meant to save the global state.");
}

void ZeroRedundancyOptimizerBase::put_states(StateDict& state) const {
  std::map<int64_t, IValue> sorted;
  for (const IValue& of_rank : consolidated_) {
    for (const auto& entry : of_rank.toGenericDict()) sorted[entry.key().toInt()] = entry.value();
  }
  GenericDict states;
  for (const auto& [number, fields] : sorted) states.insert(IValue(number), fields);
  state.set("state", IValue(states));
}

// This rank's part goes to its optimizers; what is left are the groups' settings.
void ZeroRedundancyOptimizerBase::take_states(StateDict& state) {
  partition();
  for (Part& part : parts_) {
    GenericDict states, group;
    for (size_t i = 0; i < part.numbers.size(); ++i) {
      IValue fields;
      const std::string path = "state." + std::to_string(part.numbers[i]);
      if (state.contains(path)) states.insert(IValue(static_cast<int64_t>(i)), state.at(path));
    }
    for (const auto& entry : state.at("param_groups." + std::to_string(part.group)).toGenericDict()) {
      if (entry.key().toStringRef() != "param_names") group.insert(entry.key(), entry.value());
    }
    std::vector<int64_t> numbers(part.numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    group.insert_or_assign(IValue("params"), IValue(numbers));
    c10::List<IValue> groups;
    groups.push_back(IValue(group));
    StateDict of_part;
    of_part.set("state", IValue(states));
    of_part.set("param_groups", IValue(groups));
    part.optimizer->load_state_dict(of_part);
  }
  state.set("state", IValue(GenericDict()));
}

// --- in backward ---

namespace {

// The collectives of a bucket come when the next one does, in an order that is the same on all ranks.
class ZeroStepHook final : public c10d::CommHookInterface {
 public:
  ZeroStepHook(std::unique_ptr<c10d::CommHookInterface> hook, ZeroRedundancyOptimizerBase& zero)
      : hook_(std::move(hook)), zero_(zero) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    advance();
    auto future = hook_->runHook(bucket);
    waiting_.push_back({bucket, future});
    return future;
  }
  void finishRounds() override {
    hook_->finishRounds();
    advance();
    for (const auto& wait : std::exchange(sent_, {})) wait();
  }
  Tensor parseHookResult(const IValue& result) override { return hook_->parseHookResult(result); }

 private:
  struct Waiting {
    c10d::GradBucket bucket;
    c10::intrusive_ptr<c10::ivalue::Future> future;
  };
  void advance() {
    while (!waiting_.empty()) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      next.future->waitAndThrow();
      Tensor reduced = hook_->parseHookResult(next.future->value());
      next.bucket.setBuffer(reduced);
      for (auto& wait : zero_.step_and_send(next.bucket.getParameters(), next.bucket.getGradients())) {
        sent_.push_back(std::move(wait));
      }
    }
  }

  const std::unique_ptr<c10d::CommHookInterface> hook_;
  ZeroRedundancyOptimizerBase& zero_;
  std::deque<Waiting> waiting_;
  std::vector<std::function<void()>> sent_;
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> hook_with_zero_step(std::unique_ptr<c10d::CommHookInterface> hook,
                                                             torch::nn::parallel::DistributedDataParallelBase& ddp,
                                                             ZeroRedundancyOptimizerBase& zero) {
  TORCH_CHECK(hook != nullptr, "hook_with_zero_step: expected a hook");
  TORCH_CHECK_VALUE(zero.overlaps_with_ddp(), "hook_with_zero_step: the optimizer must have overlap_with_ddp");
  TORCH_CHECK_VALUE(zero.join_process_group() == ddp.process_group(),
                    "hook_with_zero_step: the optimizer and the module have different process groups");
  return std::make_unique<ZeroStepHook>(std::move(hook), zero);
}

}  // namespace torch::distributed::optim
