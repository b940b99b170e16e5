#include "optim/lr_scheduler/sequential.h"

#include <algorithm>
#include <string>
#include <utility>

namespace torch::optim {
namespace {

using Schedulers = std::vector<std::shared_ptr<LRScheduler>>;

StateDict with_schedulers(StateDict dict, const Schedulers& schedulers) {
  c10::List<c10::IValue> parts;
  for (const auto& s : schedulers) parts.push_back(s->state_dict().tree());
  dict.set("_schedulers", c10::IValue(parts));
  return dict;
}

// All of them or none.
void load_schedulers(const StateDict& dict, const Schedulers& schedulers) {
  std::vector<StateDict> before, parts;
  const size_t count = dict.contains("_schedulers") ? names_of_parts(dict.at("_schedulers")).size() : 0;
  TORCH_CHECK_VALUE(count == schedulers.size(), "load_state_dict: the state is one of ", count, " schedules, not of ",
                    schedulers.size());
  for (size_t i = 0; i < count; ++i) {
    before.push_back(schedulers[i]->state_dict());
    parts.push_back(StateDict(dict.at("_schedulers." + std::to_string(i))));
  }
  size_t loaded = 0;
  try {
    for (; loaded < count; ++loaded) schedulers[loaded]->load_state_dict(parts[loaded]);
  } catch (...) {
    while (loaded-- > 0) schedulers[loaded]->load_state_dict(before[loaded]);
    throw;
  }
}

Optimizer& optimizer_of(const Schedulers& schedulers) {
  TORCH_CHECK_VALUE(!schedulers.empty(),
                    "ChainedScheduler expects at least one scheduler to be chained, but got no "
                    "scheduler.");
  TORCH_CHECK_VALUE(schedulers[0] != nullptr, "ChainedScheduler: a scheduler is null");
  return const_cast<Optimizer&>(schedulers[0]->optimizer());
}

void check_same_optimizer(const char* name, const Schedulers& schedulers, const Optimizer& optimizer) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    TORCH_CHECK_VALUE(schedulers[i] != nullptr, name, ": a scheduler is null");
    TORCH_CHECK_VALUE(&schedulers[i]->optimizer() == &optimizer, name,
                      " expects all schedulers to belong to the same optimizer, but got scheduler at index ", i,
                      " of another one");
  }
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& optimizer, Schedulers schedulers, std::vector<int64_t> milestones,
                           int64_t last_epoch)
    : LRScheduler(optimizer),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)),
      last_epoch_(next_count(last_epoch)) {
  TORCH_CHECK_VALUE(!schedulers_.empty(), "SequentialLR expects at least one scheduler, but got no scheduler.");
  check_same_optimizer("SequentialLR", schedulers_, optimizer);
  TORCH_CHECK_VALUE(milestones_.size() + 1 == schedulers_.size(),
                    "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                    "milestone points, but got number of schedulers ",
                    schedulers_.size(), " and the number of milestones to be equal to ", milestones_.size());
  TORCH_CHECK_VALUE(std::is_sorted(milestones_.begin(), milestones_.end()),
                    "SequentialLR: the milestones are not in order");
  // Each has made a first step already, when it was made.
  for (const auto& s : schedulers_) s->back_up();
  for (OptimizerParamGroup& group : optimizer.param_groups()) {
    if (const c10::IValue* initial = group.extra("initial_lr")) group.options().set_lr(initial->toScalar().toDouble());
  }
  schedulers_[0]->begin();
  last_lr_ = schedulers_[0]->get_last_lr();
}

void SequentialLR::step() {
  last_epoch_ = next_count(last_epoch_);
  const size_t i =
      static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin());
  if (i > 0 && milestones_[i - 1] == last_epoch_) {
    schedulers_[i]->restart();
  } else {
    schedulers_[i]->step();
  }
  last_lr_ = schedulers_[i]->get_last_lr();
}

void SequentialLR::begin() {
  last_epoch_ = 0;
  schedulers_[0]->begin();
  last_lr_ = schedulers_[0]->get_last_lr();
}

void SequentialLR::visit(FieldVisitor& visitor) {
  visitor("_milestones", milestones_);
  visitor("last_epoch", last_epoch_);
  visitor("_last_lr", last_lr_);
}

StateDict SequentialLR::state_dict() const {
  return with_schedulers(LRScheduler::state_dict(), schedulers_);
}

void SequentialLR::load_state_dict(const StateDict& dict) {
  const StateDict before = LRScheduler::state_dict();
  LRScheduler::load_state_dict(dict);
  try {
    TORCH_CHECK_VALUE(milestones_.size() + 1 == schedulers_.size(), "load_state_dict: the state has ",
                      milestones_.size(), " milestones for ", schedulers_.size(), " schedules");
    load_schedulers(dict, schedulers_);
  } catch (...) {
    LRScheduler::load_state_dict(before);
    throw;
  }
}

ChainedScheduler::ChainedScheduler(Schedulers schedulers) : ChainedScheduler(schedulers, optimizer_of(schedulers)) {}

ChainedScheduler::ChainedScheduler(Schedulers schedulers, Optimizer& optimizer)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)) {
  optimizer_of(schedulers_);  // there is one
  check_same_optimizer("ChainedScheduler", schedulers_, optimizer_);
  last_lr_ = get_current_lrs();
}

void ChainedScheduler::step() {
  for (const auto& s : schedulers_) s->step();
  last_lr_ = get_current_lrs();
}

void ChainedScheduler::begin() {
  for (const auto& s : schedulers_) s->begin();
  last_lr_ = get_current_lrs();
}

void ChainedScheduler::restart() {
  for (OptimizerParamGroup& group : optimizer_.param_groups()) {
    if (const c10::IValue* initial = group.extra("initial_lr")) group.options().set_lr(initial->toScalar().toDouble());
  }
  begin();
}

void ChainedScheduler::back_up() {
  for (const auto& s : schedulers_) s->back_up();
}

void ChainedScheduler::visit(FieldVisitor& visitor) {
  visitor("_last_lr", last_lr_);
}

StateDict ChainedScheduler::state_dict() const {
  return with_schedulers(LRScheduler::state_dict(), schedulers_);
}

void ChainedScheduler::load_state_dict(const StateDict& dict) {
  load_schedulers(dict, schedulers_);
  LRScheduler::load_state_dict(dict);
}

}  // namespace torch::optim
