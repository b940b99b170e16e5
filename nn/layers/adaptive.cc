#include "nn/layers/adaptive.h"

#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "nn/module/sequential.h"

namespace torch::nn {

ASMoutput::ASMoutput(at::Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options_)
    : Module("torch::nn::AdaptiveLogSoftmaxWithLoss"), options(std::move(options_)) {
  reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  cutoffs = options.cutoffs();
  bool valid = !cutoffs.empty();
  for (size_t i = 0; i < cutoffs.size(); ++i)
    valid = valid && cutoffs[i] > (i == 0 ? 0 : cutoffs[i - 1]) && cutoffs[i] < options.n_classes();
  TORCH_CHECK_VALUE(valid,
                    "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                    "where each value is between 1 and n_classes-1, but got ",
                    c10::IntArrayRef(cutoffs));
  TORCH_CHECK_VALUE(options.div_value() > 0, "div_value must be positive, but got ", options.div_value());
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size()) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto features = static_cast<int64_t>(
        std::floor(static_cast<double>(options.in_features()) / std::pow(options.div_value(), i + 1)));
    const auto at = static_cast<size_t>(i);
    Linear down(LinearOptions(options.in_features(), features).bias(false));
    Linear out(LinearOptions(features, cutoffs[at + 1] - cutoffs[at]).bias(false));
    tail->push_back(Sequential(down, out));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (size_t i = 0; i < tail->size(); ++i) {
    auto& projection = tail->at<SequentialImpl>(i);
    projection.at<LinearImpl>(0).reset_parameters();
    projection.at<LinearImpl>(1).reset_parameters();
  }
}

at::Tensor AdaptiveLogSoftmaxWithLossImpl::cluster(int64_t i, const at::Tensor& input) {
  return at::log_softmax(tail->at<SequentialImpl>(static_cast<size_t>(i)).forward(input), 1);
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const at::Tensor& input, const at::Tensor& target) {
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  TORCH_CHECK(input.dim() == target.dim() + 1, "a ", target.dim() + 1, "D input tensor expected for a ", target.dim(),
              "D target tensor, but got ", input.dim(), "D");
  if (target.dim() == 0) {
    const ASMoutput one = forward(at::unsqueeze(input, 0), at::unsqueeze(target, 0));
    return ASMoutput(at::squeeze(one.output, 0), one.loss);
  }
  const int64_t batch = target.size(0);
  TORCH_CHECK(input.size(0) == batch, "Input and target should have the same size in the batch dimension.");

  // Where in the head each sample looks, and what its cluster adds.
  at::Tensor in_head = target;
  at::Tensor output = at::zeros({batch}, input.options());
  int64_t found = 0;
  for (int64_t i = -1; i < n_clusters; ++i) {
    const int64_t low = i < 0 ? 0 : cutoffs[static_cast<size_t>(i)];
    const int64_t high = cutoffs[static_cast<size_t>(i + 1)];
    const at::Tensor mask = at::logical_and(at::ge(target, low), at::lt(target, high));
    const at::Tensor rows = at::squeeze(at::nonzero(mask), 1);
    found += rows.size(0);
    if (i < 0 || rows.size(0) == 0) continue;
    in_head = at::index_fill(in_head, 0, rows, shortlist_size + i);
    const at::Tensor inside = at::unsqueeze(at::sub(at::index_select(target, 0, rows), low), 1);
    const at::Tensor log_probs = cluster(i, at::index_select(input, 0, rows));
    output = at::index_copy(output, 0, rows, at::squeeze(at::gather(log_probs, 1, inside), 1));
  }
  TORCH_CHECK(found == batch, "Target values should be in [0, ", options.n_classes() - 1, "], but values in range [",
              at::item(at::min(target)).toLong(), ", ", at::item(at::max(target)).toLong(), "] were found. ");
  const at::Tensor head_log_probs = at::log_softmax(head(input), 1);
  output = at::add(output, at::squeeze(at::gather(head_log_probs, 1, at::unsqueeze(in_head, 1)), 1));
  return ASMoutput(output, at::item(at::neg(at::mean(output))).toDouble());
}

at::Tensor AdaptiveLogSoftmaxWithLossImpl::_get_full_log_prob(const at::Tensor& input, const at::Tensor& head_output) {
  const at::Tensor head_log_probs = at::log_softmax(head_output, 1);
  std::vector<at::Tensor> parts{at::slice(head_log_probs, 1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i) {
    const at::Tensor of_cluster = at::slice(head_log_probs, 1, shortlist_size + i, shortlist_size + i + 1);
    parts.push_back(at::add(cluster(i, input), of_cluster));
  }
  return at::cat(parts, 1);
}

at::Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const at::Tensor& input) {
  return _get_full_log_prob(input, head(input));
}

at::Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const at::Tensor& input) {
  return at::argmax(log_prob(input), 1);
}

template class Cloneable<AdaptiveLogSoftmaxWithLossImpl>;

}  // namespace torch::nn
