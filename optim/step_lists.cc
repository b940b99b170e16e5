#include "optim/step_lists.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/hooks.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"

namespace torch::optim {
namespace {

// Counts up to here are exact in float32, which is what state_steps hold by convention.
constexpr int64_t kExactInFloat = int64_t{1} << 24;

}  // namespace

std::vector<double> StepLists::next_counts() const {
  std::vector<double> counts;
  counts.reserve(counters.size());
  for (const int64_t* counter : counters) counts.push_back(static_cast<double>(next_count(*counter)));
  return counts;
}

StepScratch::Step StepScratch::list(const std::vector<at::Tensor>& params, const char* optimizer) {
  clear();
  take(params, optimizer);
  return Step(*this);
}

void StepScratch::take(const std::vector<at::Tensor>& params, const char* optimizer) {
  for (const at::Tensor& param : params) {
    const at::Tensor& grad = param.grad();
    if (!grad.defined()) continue;
    TORCH_CHECK(grad.device() == param.device(), "optimizer step: expected a gradient on ", param.device(),
                ", but got one on ", grad.device());
    if (grad.layout() != at::kStrided) refuse_sparse_gradient(optimizer);
    StepLists& lists = lists_of(param.device());
    lists.params.push_back(param);
    lists.grads.push_back(grad);
  }
}

StepLists& StepScratch::lists_of(at::Device device) {
  for (size_t i = 0; i < used_lists_; ++i) {
    if (lists_[i].params[0].device() == device) return lists_[i];
  }
  if (used_lists_ == lists_.size()) lists_.emplace_back();
  return lists_[used_lists_++];
}

void StepScratch::list_counts(StepLists& lists) {
  for (const int64_t* counter : lists.counters) add_count(lists, next_count(*counter));
}

void StepScratch::add_count(StepLists& lists, int64_t count) {
  const at::Device device = lists.params[0].device();
  if (count == last_count_ && !lists.counts.empty()) {
    lists.counts.push_back(lists.counts.back());
    return;
  }
  last_count_ = count;
  const at::ScalarType dtype = count <= kExactInFloat ? at::kFloat : at::kDouble;
  if (used_counts_ == counts_.size()) counts_.emplace_back();
  at::Tensor& tensor = counts_[used_counts_++];
  // One without a storage is of a mode, which may have ended.
  if (!tensor.defined() || !tensor.has_storage() || tensor.device() != device || tensor.scalar_type() != dtype) {
    tensor = at::empty({}, at::TensorOptions().dtype(dtype).device(device));
  }
  if (device.is_cpu() && dtype == at::kFloat && tensor.has_storage()) {
    *tensor.data_ptr<float>() = static_cast<float>(count);
  } else {
    at::fill_(tensor, count);
  }
  lists.counts.push_back(tensor);
}

void StepScratch::clear() {
  for (size_t i = 0; i < used_lists_; ++i) {
    StepLists& lists = lists_[i];
    lists.params.clear();
    lists.grads.clear();
    for (std::vector<at::Tensor>& state : lists.state) state.clear();
    lists.counts.clear();
    lists.states.clear();
    lists.counters.clear();
  }
  used_lists_ = used_counts_ = 0;
  last_count_ = -1;
}

at::Tensor make_state_tensor(const at::Tensor& param, double value) {
  at::Tensor state = at::empty_like(param);
  at::fill_(state, param.is_complex() ? at::Scalar(c10::complex<double>(value, value)) : at::Scalar(value));
  return state;
}

std::vector<at::Tensor> as_reals(const std::vector<at::Tensor>& list) {
  std::vector<at::Tensor> reals;
  reals.reserve(list.size());
  for (const at::Tensor& t : list) reals.push_back(t.is_complex() ? at::view_as_real(t) : t);
  return reals;
}

std::vector<at::Tensor> step_gradients(const StepLists& lists, const std::vector<at::Tensor>& params, bool maximize,
                                       double weight_decay) {
  for (size_t i = 0; i < lists.params.size(); ++i) {
    const at::Tensor &param = lists.params[i], &grad = lists.grads[i];
    TORCH_CHECK(grad.sizes() == param.sizes(), "optimizer step: expected a gradient of size ", param.sizes(),
                ", but got ", grad.sizes());
    TORCH_CHECK(grad.scalar_type() == param.scalar_type(), "optimizer step: expected a gradient of type ",
                param.scalar_type(), ", but got ", grad.scalar_type());
  }
  std::vector<at::Tensor> grads = as_reals(lists.grads);
  if (maximize) grads = at::_foreach_neg(grads);
  if (weight_decay != 0) grads = at::_foreach_add(grads, params, weight_decay);
  return grads;
}

void check_not_captured(at::Device device, const char* optimizer) {
  if (!device.is_cuda()) return;
  const c10::cuda::CUDAHooks* hooks = c10::cuda::registered_hooks();
  TORCH_CHECK(hooks == nullptr || !hooks->isCurrentStreamCapturing(),
              "Attempting CUDA graph capture of step() for an instance of ", optimizer,
              " but param_groups' capturable is False.");
}

bool any_sparse_gradient(const std::vector<at::Tensor>& params) {
  for (const at::Tensor& param : params) {
    const at::Tensor& grad = param.grad();
    if (grad.defined() && grad.is_sparse()) return true;
  }
  return false;
}

void refuse_sparse_gradient(const char* optimizer) {
  // AdamW names Adam, as in PyTorch.
  const std::string_view name(optimizer);
  const bool adam = name == "Adam" || name == "AdamW";
  TORCH_CHECK(false, adam ? "Adam" : optimizer, " does not support sparse gradients",
              adam ? ", please consider SparseAdam instead" : "");
}

at::Tensor detail::copy_of(const at::Tensor& tensor) {
  return at::clone(tensor);
}

}  // namespace torch::optim
