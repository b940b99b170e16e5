#include "optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "optim/step_lists.h"

namespace torch::optim {

TORCH_OPTIM_CLASSES_OF(, LBFGS)
namespace {

LBFGSOptions with_max_eval(LBFGSOptions options) {
  if (!options.max_eval().has_value()) options.max_eval(options.max_iter() * 5 / 4);
  return options;
}

double value_of(const at::Tensor& t) {
  return at::item(t).toDouble();
}
double largest(const at::Tensor& t) {
  return t.numel() == 0 ? 0 : value_of(at::max(at::abs(t)));
}

// As the dtype of the vectors holds it: steps and slopes are numbers of that precision.
double in_dtype(const at::Tensor& like, double value) {
  return like.scalar_type() == at::kDouble ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace

void LBFGSOptions::visit(FieldVisitor& visitor) {
  visitor("lr", lr_);
  visitor("max_iter", max_iter_);
  visitor("max_eval", max_eval_);
  visitor("tolerance_grad", tolerance_grad_);
  visitor("tolerance_change", tolerance_change_);
  visitor("history_size", history_size_);
  visitor("line_search_fn", line_search_fn_);
  visitor("maximize", maximize_);
}

void LBFGSOptions::check() const {
  TORCH_CHECK_VALUE(lr_ >= 0, "Invalid learning rate: ", lr_);
}

void LBFGSParamState::visit(FieldVisitor& visitor) {
  visitor("func_evals", func_evals_);
  visitor("n_iter", n_iter_);
  visitor("d", d_, FieldVisitor::Kind::kTensor);
  visitor("t", t_);
  visitor("old_dirs", old_dirs_);
  visitor("old_stps", old_stps_);
  visitor("ro", ro_);
  visitor("H_diag", H_diag_, FieldVisitor::Kind::kTensor);
  visitor("prev_flat_grad", prev_flat_grad_, FieldVisitor::Kind::kTensor);
  visitor("prev_loss", prev_loss_);
  visitor("al", al_);
}

LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults)
    : Optimizer(param_groups, std::make_unique<LBFGSOptions>(with_max_eval(std::move(defaults)))) {
  TORCH_CHECK_VALUE(param_groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  LBFGSOptions& own = static_cast<LBFGSOptions&>(param_groups_[0].options());
  own = with_max_eval(own);
}

LBFGS::LBFGS(std::vector<at::Tensor> params, LBFGSOptions defaults)
    : LBFGS(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

at::Tensor LBFGS::step(LossClosure closure) {
  TORCH_CHECK(closure != nullptr, "LBFGS requires a closure function");
  TORCH_CHECK_VALUE(param_groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  if (has_row_gradients()) refuse_sparse_gradient("LBFGS");
  return run_whole_step([&] { return iterate(closure); });
}

at::Tensor LBFGS::gather_flat_grad() const {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& param : params()) {
    at::Tensor grad = param.grad().defined() ? param.grad() : at::zeros_like(param);
    if (grad.layout() != at::kStrided) refuse_sparse_gradient("LBFGS");
    if (grad.is_complex()) grad = at::view_as_real(grad);
    parts.push_back(at::reshape(grad, {-1}));
  }
  const at::Tensor flat = at::cat(parts);
  return options().maximize() ? at::neg(flat) : flat;
}

// The loss, which is to become small.
double LBFGS::call(const LossClosure& closure, at::Tensor* loss) const {
  c10::AutoGradMode with_grad(true);
  const at::Tensor result = closure();
  if (loss != nullptr) *loss = result;
  return options().maximize() ? -value_of(result) : value_of(result);
}

void LBFGS::add_direction(double t, const at::Tensor& direction) {
  int64_t offset = 0;
  for (const at::Tensor& param : params()) {
    at::Tensor real = param.is_complex() ? at::view_as_real(param) : param;
    const int64_t size = real.numel();
    at::add_(real, at::view(at::narrow(direction, 0, offset, size), real.sizes()), t);
    offset += size;
  }
}

LinePoint LBFGS::evaluate(const LossClosure& closure, const std::vector<at::Tensor>& start, const at::Tensor& direction,
                          double t) {
  LinePoint point;
  point.t = t;
  add_direction(t, direction);
  point.loss = call(closure);
  point.grad = gather_flat_grad();
  point.slope = value_of(at::dot(point.grad, direction));
  for (size_t i = 0; i < start.size(); ++i) {
    at::Tensor param = params()[i];
    at::copy_(param, start[i]);
  }
  return point;
}

void LBFGS::set_direction(LBFGSParamState& state, const at::Tensor& flat_grad) const {
  if (state.n_iter() == 1) {
    state.d(at::neg(flat_grad));
    state.old_dirs().clear();
    state.old_stps().clear();
    state.ro().clear();
    state.H_diag(at::ones({}, flat_grad.options()));
    return;
  }
  const at::Tensor y = at::sub(flat_grad, state.prev_flat_grad());
  const at::Tensor s = at::mul(state.d(), state.t());
  const at::Tensor ys = at::dot(y, s);
  if (value_of(ys) > 1e-10) {
    if (static_cast<int64_t>(state.old_dirs().size()) >= options().history_size() && !state.old_dirs().empty()) {
      state.old_dirs().pop_front();
      state.old_stps().pop_front();
      state.ro().pop_front();
    }
    state.old_dirs().push_back(y);
    state.old_stps().push_back(s);
    state.ro().push_back(at::reciprocal(ys));
    state.H_diag(at::div(ys, at::dot(y, y)));
  }
  // The product of the approximated inverse Hessian with -grad, from the changes that are kept.
  if (!state.al().has_value()) state.al().emplace(static_cast<size_t>(std::max<int64_t>(options().history_size(), 0)));
  std::vector<at::Tensor>& al = *state.al();
  if (al.size() < state.old_dirs().size()) al.resize(state.old_dirs().size());
  at::Tensor q = at::neg(flat_grad);
  for (size_t i = state.old_dirs().size(); i-- > 0;) {
    al[i] = at::mul(at::dot(state.old_stps()[i], q), state.ro()[i]);
    at::add_(q, state.old_dirs()[i], -value_of(al[i]));
  }
  at::Tensor r = at::mul(q, state.H_diag());
  for (size_t i = 0; i < state.old_dirs().size(); ++i) {
    const at::Tensor be = at::mul(at::dot(state.old_dirs()[i], r), state.ro()[i]);
    at::add_(r, state.old_stps()[i], value_of(at::sub(al[i], be)));
  }
  state.d(r);
}

at::Tensor LBFGS::iterate(const LossClosure& closure) {
  if (params().empty()) return closure();
  const LBFGSOptions& o = options();
  const int64_t max_eval = o.max_eval().value_or(o.max_iter() * 5 / 4);
  LBFGSParamState& state = state_of<LBFGSParamState>(params()[0]);
  at::Tensor first_loss;
  double loss = call(closure, &first_loss);
  int64_t evaluations = 1;
  state.func_evals(state.func_evals() + 1);
  at::Tensor flat_grad = gather_flat_grad();
  bool optimal = largest(flat_grad) <= o.tolerance_grad();
  if (optimal) return first_loss;
  for (int64_t n = 1; n <= o.max_iter(); ++n) {
    state.n_iter(state.n_iter() + 1);
    set_direction(state, flat_grad);
    state.prev_flat_grad(at::clone(flat_grad));
    state.prev_loss(loss);
    const at::Tensor& d = state.d();
    const double first_step = std::min(1.0, in_dtype(flat_grad, 1 / value_of(at::sum(at::abs(flat_grad)))));
    state.t(state.n_iter() == 1 ? (first_step == 1 ? o.lr() : in_dtype(flat_grad, first_step * o.lr())) : o.lr());
    const double slope = value_of(at::dot(flat_grad, d));
    if (slope > -o.tolerance_change()) break;
    int64_t here = 0;
    if (o.line_search_fn().has_value()) {
      TORCH_CHECK(*o.line_search_fn() == "strong_wolfe", "only 'strong_wolfe' is supported");
      std::vector<at::Tensor> start;
      for (const at::Tensor& param : params()) start.push_back(at::clone(param));
      const LinePoint from{0, loss, slope, flat_grad};
      const LinePoint found =
          strong_wolfe([&](double t) { return evaluate(closure, start, d, t); }, from, d, state.t(), &here);
      state.t(found.t);
      loss = found.loss;
      flat_grad = found.grad;
      add_direction(state.t(), d);
      optimal = largest(flat_grad) <= o.tolerance_grad();
    } else {
      add_direction(state.t(), d);
      // The last place of a step needs no loss: nobody asks for it.
      if (n != o.max_iter()) {
        loss = call(closure);
        flat_grad = gather_flat_grad();
        optimal = largest(flat_grad) <= o.tolerance_grad();
        here = 1;
      }
    }
    evaluations += here;
    state.func_evals(state.func_evals() + here);
    if (n == o.max_iter() || evaluations >= max_eval || optimal) break;
    if (largest(at::mul(d, state.t())) <= o.tolerance_change()) break;
    if (std::abs(loss - state.prev_loss()) < o.tolerance_change()) break;
  }
  return first_loss;
}

}  // namespace torch::optim
