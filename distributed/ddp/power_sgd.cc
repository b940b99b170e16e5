#include "distributed/ddp/power_sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/type.h"
#include "distributed/ddp/default_comm_hooks.h"

namespace c10d {
namespace {

using at::Tensor;
using c10::ivalue::Future;

c10::intrusive_ptr<Work> all_reduce(ProcessGroup& group, const Tensor& t) {
  std::vector<Tensor> tensors{t};
  return group.allreduce(tensors);
}

Tensor joined(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) flat.push_back(at::reshape(t, {-1}));
  return at::cat(flat);
}
void split_into(const Tensor& all, const std::vector<Tensor>& tensors) {
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    t.copy_(at::view(at::narrow(all, 0, at, t.numel()), t.sizes()));
    at += t.numel();
  }
}

Tensor length_of(const Tensor& t) {
  return at::sqrt(at::sum(at::mul(t, t)));
}

double precision_of(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kDouble:
      return std::numeric_limits<double>::epsilon();
    case c10::kHalf:
      return 1.0 / 1024;
    case c10::kBFloat16:
      return 1.0 / 128;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

}  // namespace

void orthogonalize(const Tensor& matrix, double epsilon) {
  const c10::NoGradGuard no_grad;
  TORCH_CHECK(matrix.dim() == 2, "orthogonalize: expected a matrix, got ", matrix.dim(), " dimensions");
  const double precision = 16 * precision_of(matrix.scalar_type());
  for (int64_t i = 0; i < matrix.size(1); ++i) {
    const Tensor column = at::narrow(matrix, 1, i, 1);
    const Tensor before = at::narrow(matrix, 1, 0, i);
    const Tensor length = length_of(column);
    // Twice, since the first time leaves errors of rounding that are large where little is left.
    for (int times = 0; i > 0 && times < 2; ++times) {
      column.sub_(at::mm(before, at::mm(at::transpose(before, 0, 1), column)));
    }
    const Tensor left = length_of(column);
    const Tensor is_new = at::gt(left, at::mul(length, precision));
    column.mul_(is_new).div_(at::add(at::add(left, epsilon), at::logical_not(is_new)));
  }
}

PowerSGDState::PowerSGDState(c10::intrusive_ptr<ProcessGroup> group, PowerSGDOptions given)
    : process_group(std::move(group)),
      options(std::move(given)),
      generator_(at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(options.random_seed()))) {
  TORCH_CHECK(process_group, "PowerSGDState: expected a process group");
  TORCH_CHECK_VALUE(options.matrix_approximation_rank() >= 1,
                    "PowerSGDState: matrix_approximation_rank must be positive, but is ",
                    options.matrix_approximation_rank());
  TORCH_CHECK_VALUE(options.min_compression_rate() > 0, "PowerSGDState: min_compression_rate must be positive, but is ",
                    options.min_compression_rate());
  TORCH_CHECK_VALUE(options.orthogonalization_epsilon() >= 0,
                    "PowerSGDState: orthogonalization_epsilon must not be negative, but is ",
                    options.orthogonalization_epsilon());
  TORCH_CHECK_VALUE(
      options.start_powerSGD_iter() >= 2 || !(options.use_error_feedback() || options.warm_start()),
      "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can "
      "only be applied after the first two iterations in DDP.");
}

// A bucket on its way: 1 P and what is not compressed are added up, 2 Q is.
struct PowerSGDCommHook::Rounds {
  size_t index = 0;
  Tensor buffer;              // the result
  Tensor padded, with_error;  // batched: the square; what error feedback compares with
  std::vector<Tensor> rest, matrices, p, q;
  Tensor flat_rest, flat_p, flat_q;
  c10::intrusive_ptr<Work> rest_work, work;
  c10::intrusive_ptr<Future> result;
  int stage = 0;
};

PowerSGDCommHook::PowerSGDCommHook(std::shared_ptr<PowerSGDState> state, bool batched)
    : state_(std::move(state)), batched_(batched) {
  TORCH_CHECK(state_ != nullptr, "PowerSGDCommHook: expected a state");
}

c10::intrusive_ptr<Future> PowerSGDCommHook::runHook(GradBucket& bucket) {
  const c10::NoGradGuard no_grad;
  const bool is_late = state_->iter >= state_->options.start_powerSGD_iter();
  if (bucket.isLast()) ++state_->iter;
  advance_all();
  if (!is_late || bucket.getBuffer().layout() != c10::kStrided) {
    auto result = AllReduceCommHook(state_->process_group).runHook(bucket);
    if (bucket.isLast()) finishRounds();
    return result;
  }
  auto rounds = std::make_shared<Rounds>();
  rounds->index = bucket.getIndex();
  rounds->buffer = bucket.getBuffer();
  rounds->result = c10::make_intrusive<Future>(c10::TensorType::get());
  const auto& options = state_->options;
  if (options.use_error_feedback()) {
    Tensor& error = state_->errors_[rounds->index];
    if (error.defined() && error.numel() == rounds->buffer.numel()) rounds->buffer.add_(error);
    rounds->with_error = at::clone(rounds->buffer);
  }
  if (batched_) {
    const auto side = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(rounds->buffer.numel()))));
    rounds->padded = at::zeros({side * side}, rounds->buffer.options());
    at::narrow(rounds->padded, 0, 0, rounds->buffer.numel()).copy_(rounds->buffer);
    rounds->matrices.push_back(at::view(rounds->padded, {side, side}));
  } else {
    for (const Tensor& gradient : bucket.getGradients()) {
      const int64_t rows = gradient.dim() < 2 ? 0 : gradient.size(0);
      const int64_t columns = rows == 0 ? 0 : gradient.numel() / rows;
      const auto kept =
          static_cast<double>((rows + columns) * std::min({options.matrix_approximation_rank(), rows, columns}));
      // A matrix must be a view of the gradient.
      const bool is_matrix = rows > 0 && columns > 0 && gradient.is_contiguous();
      if (is_matrix && kept * options.min_compression_rate() < static_cast<double>(gradient.numel())) {
        rounds->matrices.push_back(at::view(gradient, {rows, columns}));
      } else {
        rounds->rest.push_back(gradient);
      }
    }
  }
  start(*rounds);
  running_.push_back(rounds);
  if (bucket.isLast()) finishRounds();
  return rounds->result;
}

void PowerSGDCommHook::start(Rounds& rounds) {
  const auto& options = state_->options;
  std::vector<Tensor>& warm = state_->warm_[rounds.index];
  const bool is_warm = options.warm_start() && warm.size() == rounds.matrices.size();
  state_->numel_before_compression += rounds.buffer.numel();
  for (size_t i = 0; i < rounds.matrices.size(); ++i) {
    const Tensor& m = rounds.matrices[i];
    const int64_t rank = std::min({options.matrix_approximation_rank(), m.size(0), m.size(1)});
    const bool fits = is_warm && warm[i].size(0) == m.size(1) && warm[i].size(1) == rank;
    // A Q that was averaged is none of orthonormal columns.
    Tensor q = fits ? warm[i]
                    : at::to(at::randn({m.size(1), rank}, state_->generator_, at::TensorOptions().dtype(at::kFloat)),
                             m.options());
    orthogonalize(q, options.orthogonalization_epsilon());
    rounds.q.push_back(q);
    rounds.p.push_back(at::mm(m, q));
    state_->numel_after_compression += q.numel() + rounds.p.back().numel();
  }
  if (!rounds.rest.empty()) {
    rounds.flat_rest = joined(rounds.rest);
    state_->numel_after_compression += rounds.flat_rest.numel();
    rounds.rest_work = all_reduce(*state_->process_group, rounds.flat_rest);
  }
  if (!rounds.matrices.empty()) {
    rounds.flat_p = joined(rounds.p);
    rounds.work = all_reduce(*state_->process_group, rounds.flat_p);
  }
  rounds.stage = 1;
}

void PowerSGDCommHook::advance(Rounds& rounds) {
  ProcessGroup& group = *state_->process_group;
  if (rounds.stage == 1) {
    if (!rounds.matrices.empty()) {
      rounds.work->wait();
      split_into(rounds.flat_p, rounds.p);
      for (size_t i = 0; i < rounds.matrices.size(); ++i) {
        orthogonalize(rounds.p[i], state_->options.orthogonalization_epsilon());
        rounds.q[i] = at::mm(at::transpose(rounds.matrices[i], 0, 1), rounds.p[i]);
      }
      rounds.flat_q = joined(rounds.q);
      rounds.work = all_reduce(group, rounds.flat_q);
    }
    rounds.stage = 2;
    return;
  }
  if (!rounds.matrices.empty()) {
    rounds.work->wait();
    rounds.flat_q.div_(group.getSize());
    split_into(rounds.flat_q, rounds.q);
    for (size_t i = 0; i < rounds.matrices.size(); ++i) {
      rounds.matrices[i].copy_(at::mm(rounds.p[i], at::transpose(rounds.q[i], 0, 1)));
    }
  }
  if (batched_) rounds.buffer.copy_(at::narrow(rounds.padded, 0, 0, rounds.buffer.numel()));
  if (state_->options.use_error_feedback()) {
    // Of what is not compressed there is no error.
    if (rounds.rest.empty()) {
      state_->errors_[rounds.index] = at::sub(rounds.with_error, rounds.buffer);
    } else {
      Tensor error = at::sub(rounds.with_error, rounds.buffer);
      for (const Tensor& t : rounds.rest) {
        at::as_strided(error, t.sizes(), t.strides(), t.storage_offset() - rounds.buffer.storage_offset()).zero_();
      }
      state_->errors_[rounds.index] = error;
    }
  }
  if (!rounds.rest.empty()) {
    rounds.rest_work->wait();
    rounds.flat_rest.div_(group.getSize());
    split_into(rounds.flat_rest, rounds.rest);
  }
  if (state_->options.warm_start()) state_->warm_[rounds.index] = rounds.q;
  rounds.stage = 3;
  rounds.result->markCompleted(rounds.buffer);
}

void PowerSGDCommHook::advance_all() {
  try {
    for (const auto& rounds : running_) advance(*rounds);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    for (const auto& rounds : running_) rounds->result->setErrorIfNeeded(error);
    running_.clear();
    throw;
  }
  while (!running_.empty() && running_.front()->stage == 3) running_.pop_front();
}

void PowerSGDCommHook::finishRounds() {
  const c10::NoGradGuard no_grad;
  while (!running_.empty()) advance_all();
}

}  // namespace c10d
