#include "optim/step_lists.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"

namespace torch::optim {
namespace {

// Counts up to here are exact in float32, which is what state_steps hold by convention.
constexpr int64_t kExactInFloat = int64_t{1} << 24;

}  // namespace

StepScratch::Step StepScratch::list(const std::vector<at::Tensor>& params) {
  clear();
  take(params);
  return Step(*this);
}

void StepScratch::take(const std::vector<at::Tensor>& params) {
  for (const at::Tensor& param : params) {
    const at::Tensor& grad = param.grad();
    if (!grad.defined()) continue;
    TORCH_CHECK(grad.device() == param.device(), "optimizer step: expected a gradient on ", param.device(),
                ", but got one on ", grad.device());
    TORCH_CHECK(grad.layout() == at::kStrided, "optimizer step: expected a dense gradient");
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

void StepScratch::add_count(StepLists& lists, int64_t& counter) {
  const at::Device device = lists.params[0].device();
  const int64_t count = next_count(counter);
  lists.counters.push_back(&counter);
  if (count == last_count_ && !lists.counts.empty()) {
    lists.counts.push_back(lists.counts.back());
    return;
  }
  last_count_ = count;
  const at::ScalarType dtype = count <= kExactInFloat ? at::kFloat : at::kDouble;
  if (used_counts_ == counts_.size()) counts_.emplace_back();
  at::Tensor& tensor = counts_[used_counts_++];
  if (!tensor.defined() || tensor.device() != device || tensor.scalar_type() != dtype) {
    tensor = at::empty({}, at::TensorOptions().dtype(dtype).device(device));
  }
  if (device.is_cpu() && dtype == at::kFloat) {
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

}  // namespace torch::optim
