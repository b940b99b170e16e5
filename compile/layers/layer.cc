#include "compile/layers/layer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "aten/core/tensor.h"
#include "aten/cpu/matrix/packed_convolution.h"
#include "aten/cpu/matrix/packed_depthwise.h"
#include "aten/cpu/matrix/packed_product.h"
#include "aten/cpu/matrix/packed_winograd.h"
#include "aten/cpu/support/scratch.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "compile/layers/fusion.h"
#include "graph/passes/operands.h"

namespace torch::compiler {

using at::matrix::PackedConvolution;
using at::matrix::PackedDepthwise;
using at::matrix::PackedProduct;
using at::matrix::PackedWinograd;
using graph::IntExpr;
using graph::Node;
using graph::Operand;

namespace {

// As row-major floats.
at::Tensor dense(const at::Tensor& t) {
  return at::contiguous(t, c10::MemoryFormat::Contiguous);
}
std::optional<at::Tensor> bias_of(const Operand* bias) {
  return bias == nullptr || graph::is_none(*bias) ? std::nullopt : std::optional(dense(bias->constant().toTensor()));
}
const float* floats(const std::optional<at::Tensor>& t) {
  return t.has_value() ? t->const_data_ptr<float>() : nullptr;
}

}  // namespace

struct Layer::Packed {
  using Form = std::variant<PackedProduct<float>, PackedConvolution, PackedDepthwise, PackedWinograd>;
  Form form;
  float low, high;
  size_t bytes;                     // of the weights
  int64_t rows = 0;                 // of a product
  at::matrix::Convolution call{};   // else
  int64_t scratch_floats = 0;
};

Layer::Layer(const std::vector<const Node*>& group) {
  const Node& first = *group.front();
  const Epilogue epilogue = epilogue_of(group);
  const auto low = static_cast<float>(epilogue.low), high = static_cast<float>(epilogue.high);
  const auto product = [&](int64_t rows, int64_t n, int64_t k, const at::Tensor& weight, const Operand* bias) {
    const std::optional<at::Tensor> b = bias_of(bias);
    return Packed{PackedProduct<float>(n, k, weight.const_data_ptr<float>(), nullptr, floats(b)), low, high,
                  weight.nbytes(), rows};
  };
  const auto packed = [&]() -> Packed {
    if (!is_packable_convolution(first)) {
      const std::optional<ConstantProduct> p = constant_product(first);
      TORCH_INTERNAL_ASSERT(p.has_value());
      inputs_.push_back(p->x.value());
      const at::Tensor weight = p->weight.constant().toTensor();
      int64_t rows = 1;
      const std::vector<IntExpr>& sizes = p->x.value()->info()->sizes;
      for (size_t d = 0; d + 1 < sizes.size(); ++d) rows *= sizes[d].evaluate({});
      const at::Tensor turned = dense(p->transposed ? weight : at::t(weight));
      return product(rows, turned.size(0), turned.size(1), turned, p->bias);
    }
    inputs_.push_back(first.operand(0).value());
    const at::matrix::Convolution c = convolution_of(first, [](const IntExpr& size) { return size.evaluate({}); });
    const at::Tensor weight = dense(first.argument("weight").constant().toTensor());
    const Operand& bias = first.argument("bias");
    const std::optional<at::Tensor> b = bias_of(&bias);
    const float* const w = weight.const_data_ptr<float>();
    switch (form_of(c)) {
      case ConvolutionForm::kProduct:
        return product(c.batch * c.input[1] * c.input[2], c.out_channels, c.in_channels, weight, &bias);
      case ConvolutionForm::kDepthwise:
        return {PackedDepthwise(c, w, floats(b)), low, high, weight.nbytes(), 0, c, 0};
      case ConvolutionForm::kWinograd:
        return {PackedWinograd(c, w, floats(b)), low, high, weight.nbytes() * 4, 0, c, PackedWinograd::scratch_floats(c)};
      default:
        return {PackedConvolution(c, w, floats(b)), low, high, weight.nbytes(), 0, c,
                PackedConvolution::scratch_floats(c)};
    }
  };
  packed_ = std::make_unique<const Packed>(packed());
  if (epilogue.add != nullptr) inputs_.push_back(const_cast<graph::Value*>(epilogue.add));
}
Layer::~Layer() = default;
Layer::Layer(Layer&&) noexcept = default;

void Layer::run(const float* input, const float* add, float* result) const {
  const Packed& p = *packed_;
  std::optional<at::cpu::Scratch> memory;
  if (p.scratch_floats > 0) memory.emplace(static_cast<size_t>(p.scratch_floats) * sizeof(float));
  float* const scratch = memory.has_value() ? memory->as<float>() : nullptr;
  std::visit(
      [&]<class F>(const F& form) {
        if constexpr (std::is_same_v<F, PackedProduct<float>>) {
          form.run(p.rows, input, add, p.low, p.high, result);
        } else if constexpr (std::is_same_v<F, PackedDepthwise>) {
          form.run(p.call, input, add, p.low, p.high, result);
        } else {
          form.run(p.call, input, add, p.low, p.high, result, scratch);
        }
      },
      p.form);
}
size_t Layer::bytes() const {
  return packed_->bytes;
}

}  // namespace torch::compiler
