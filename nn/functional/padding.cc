#include "nn/functional/padding.h"

#include "aten/ops/padding/ops.h"

namespace torch::nn::functional {

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  if (std::holds_alternative<enumtype::kConstant>(options.mode())) {
    return at::pad(input, options.pad(), "constant", options.value());
  }
  const std::string_view mode = std::holds_alternative<enumtype::kReflect>(options.mode())     ? "reflect"
                                : std::holds_alternative<enumtype::kReplicate>(options.mode()) ? "replicate"
                                                                                               : "circular";
  TORCH_CHECK(options.value() == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  return at::pad(input, options.pad(), mode, std::nullopt);
}

}  // namespace torch::nn::functional
