#include "nn/functional/embedding.h"

#include <utility>

#include "aten/ops/composite/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) {
  return at::one_hot(tensor, num_classes);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  int64_t padding_idx = -1;
  if (options.padding_idx().has_value()) {
    padding_idx = *options.padding_idx();
    const int64_t rows = weight.size(0);
    TORCH_CHECK(padding_idx < rows && padding_idx >= -rows, "Padding_idx must be within num_embeddings");
    if (padding_idx < 0) padding_idx += rows;
  }
  if (options.max_norm().has_value()) {
    c10::NoGradGuard no_grad;
    Tensor table = weight;
    at::embedding_renorm_(table, at::contiguous(input), *options.max_norm(), options.norm_type());
  }
  return at::embedding(weight, input, padding_idx, options.scale_grad_by_freq(), options.sparse());
}

namespace {

// The indices in one row and where the bags start.
std::pair<Tensor, Tensor> bags_of(const Tensor& input, const Tensor& offsets) {
  if (input.dim() == 2) {
    TORCH_CHECK_VALUE(!offsets.defined(),
                "If input is 2D, then offsets has to be null, as input is treated is a mini-batch of fixed length "
                "sequences. However, found offsets of type Tensor");
    // A step of 0 would never end; without columns all bags start at 0.
    const at::TensorOptions like(input.scalar_type());
    const Tensor starts = input.size(1) == 0 ? at::zeros({input.size(0)}, like.device(input.device()))
                                             : at::arange(0, input.numel(), input.size(1), like.device(input.device()));
    return {at::reshape(input, {-1}), starts};
  }
  TORCH_CHECK_VALUE(input.dim() == 1, "input has to be 1D or 2D Tensor, but got Tensor of dimension ", input.dim());
  TORCH_CHECK_VALUE(offsets.defined(), "offsets has to be a 1D Tensor but got null");
  TORCH_CHECK_VALUE(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  return {input, offsets};
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options) {
  Tensor samples = options.per_sample_weights();
  TORCH_CHECK_VALUE(!samples.defined() || input.sizes() == samples.sizes(),
                    "embedding_bag: If per_sample_weights (", samples.defined() ? samples.sizes() : c10::IntArrayRef(),
                    ") is not null, then it must have the same shape as the input (", input.sizes(), ")");
  const auto [indices, offsets] = bags_of(input, options.offsets());
  if (samples.defined() && samples.dim() == 2) samples = at::reshape(samples, {-1});
  int64_t mode = 0;
  if (std::holds_alternative<enumtype::kMean>(options.mode())) mode = 1;
  if (std::holds_alternative<enumtype::kMax>(options.mode())) {
    mode = 2;
    TORCH_CHECK_VALUE(!options.scale_grad_by_freq(), "max mode does not support scaling the gradient by the frequency");
    TORCH_CHECK_VALUE(!options.sparse(), "max mode does not support sparse weights");
  }
  TORCH_CHECK_NOT_IMPLEMENTED(!samples.defined() || mode == 0,
              "embedding_bag: per_sample_weights was not null. per_sample_weights is only supported for mode='kSum' "
              "(got mode='",
              enumtype::get_enum_name(options.mode()), "').");
  if (options.max_norm().has_value()) {
    c10::NoGradGuard no_grad;
    Tensor table = weight;
    at::embedding_renorm_(table, at::contiguous(indices), *options.max_norm(), options.norm_type());
  }
  return std::get<0>(at::embedding_bag(weight, indices, offsets, options.scale_grad_by_freq(), mode, options.sparse(),
                                       samples.defined() ? std::optional<Tensor>(samples) : std::nullopt,
                                       options.include_last_offset(), options.padding_idx()));
}

}  // namespace torch::nn::functional
