#include "nn/utils/convert_parameters.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::nn::utils {

at::Tensor parameters_to_vector(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> flat;
  flat.reserve(parameters.size());
  for (const at::Tensor& p : parameters) {
    TORCH_CHECK(p.device() == parameters[0].device(),
                "Found two parameters on different devices, this is currently not supported.");
    flat.push_back(at::reshape(p, {-1}));
  }
  return at::cat(flat);
}

void vector_to_parameters(const at::Tensor& vec, const std::vector<at::Tensor>& parameters) {
  int64_t total = 0;
  for (const at::Tensor& p : parameters) total += p.numel();
  TORCH_CHECK(vec.dim() == 1 && vec.numel() == total, "vector_to_parameters: expected a vector of ", total,
              " elements, but got a tensor of sizes ", vec.sizes());
  c10::NoGradGuard no_grad;
  int64_t start = 0;
  for (const at::Tensor& p : parameters) {
    at::Tensor target = p;
    at::copy_(target, at::view(at::narrow(vec, 0, start, p.numel()), p.sizes()));
    start += p.numel();
  }
}

}  // namespace torch::nn::utils
