#include "compile/layers/layer.h"

#include <algorithm>
#include <cstring>
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
// Of the bits of float32 numbers.
uint64_t hashed(const at::Tensor& t, uint64_t hash) {
  const auto* bytes = static_cast<const char*>(t.const_data_ptr());
  for (size_t left = t.nbytes(); left > 0;) {
    uint64_t word = 0;
    const size_t count = std::min(left, sizeof(word));
    std::memcpy(&word, bytes, count);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
    bytes += count, left -= count;
  }
  return hash;
}
const float* floats(const std::optional<at::Tensor>& t) {
  return t.has_value() ? t->const_data_ptr<float>() : nullptr;
}

}  // namespace

struct LayerWeights::Laid {
  std::variant<PackedProduct<float>, PackedConvolution, PackedDepthwise, PackedWinograd> form;
  size_t bytes;
};

LayerWeights::LayerWeights() = default;
LayerWeights::~LayerWeights() = default;

size_t LayerWeights::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t total = 0;
  for (const auto& [key, laid] : laid_) {
    if (const std::shared_ptr<const Laid> alive = laid.lock()) total += alive->bytes;
  }
  return total;
}
std::shared_ptr<const LayerWeights::Laid> LayerWeights::find(const Key& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = laid_.find(key);
  return found == laid_.end() ? nullptr : found->second.lock();
}
std::shared_ptr<const LayerWeights::Laid> LayerWeights::keep(const Key& key, Laid&& laid) {
  std::shared_ptr<const Laid> kept = std::make_shared<const Laid>(std::move(laid));
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(laid_, [](const auto& one) { return one.second.expired(); });
  laid_[key] = kept;
  return kept;
}

// Of a call, beside the weights.
struct Layer::Call {
  float low, high;
  int64_t rows = 0;                     // of a product
  at::matrix::Convolution convolution;  // else
  int64_t scratch_floats = 0;
};

Layer::Layer(const std::vector<const Node*>& group, LayerWeights& weights) {
  const Node& first = *group.front();
  const Epilogue epilogue = epilogue_of(group);
  Call call{static_cast<float>(epilogue.low), static_cast<float>(epilogue.high), 0, {}, 0};
  ConvolutionForm form = ConvolutionForm::kProduct;
  at::matrix::Convolution& c = call.convolution;
  at::Tensor weight;
  const Operand* bias = nullptr;
  if (is_packable_convolution(first)) {
    c = convolution_of(first, [](const IntExpr& size) { return size.evaluate({}); });
    form = form_of(c);
    call.rows = c.batch * c.input[1] * c.input[2];
    weight = dense(first.argument("weight").constant().toTensor());
    bias = &first.argument("bias");
  } else {
    const std::optional<ConstantProduct> product = constant_product(first);
    TORCH_INTERNAL_ASSERT(product.has_value());
    call.rows = 1;
    const std::vector<IntExpr>& sizes = product->x.value()->info()->sizes;
    for (size_t d = 0; d + 1 < sizes.size(); ++d) call.rows *= sizes[d].evaluate({});
    weight = product->weight.constant().toTensor();
    weight = dense(product->transposed ? weight : at::t(weight));
    bias = product->bias;
  }
  if (form == ConvolutionForm::kDirect) call.scratch_floats = PackedConvolution::scratch_floats(c);
  if (form == ConvolutionForm::kWinograd) call.scratch_floats = PackedWinograd::scratch_floats(c);
  call_ = std::make_unique<const Call>(call);

  const std::optional<at::Tensor> b = bias_of(bias);
  LayerWeights::Key key{static_cast<int64_t>(form)};
  key.insert(key.end(), weight.sizes().begin(), weight.sizes().end());
  for (const int64_t* numbers : {c.stride, c.padding, c.dilation}) key.insert(key.end(), numbers + 1, numbers + 3);
  for (const uint64_t seed : {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu}) {
    uint64_t hash = hashed(weight, seed);
    if (b.has_value()) hash = hashed(*b, ~hash);
    key.push_back(static_cast<int64_t>(hash));
  }
  weights_ = weights.find(key);
  if (weights_ != nullptr) return;
  const float* const w = weight.const_data_ptr<float>();
  const auto laid = [&]() -> LayerWeights::Laid {
    switch (form) {
      case ConvolutionForm::kProduct: {
        const int64_t n = weight.size(0);
        return {PackedProduct<float>(n, weight.numel() / n, w, nullptr, floats(b)), weight.nbytes()};
      }
      case ConvolutionForm::kDepthwise:
        return {PackedDepthwise(c, w, floats(b)), weight.nbytes()};
      case ConvolutionForm::kWinograd:
        return {PackedWinograd(c, w, floats(b)), 4 * weight.nbytes()};  // 6 x 6 numbers for 3 x 3
      default:
        return {PackedConvolution(c, w, floats(b)), weight.nbytes()};
    }
  };
  weights_ = weights.keep(key, laid());
}
Layer::~Layer() = default;
Layer::Layer(Layer&&) noexcept = default;

void Layer::run(const float* input, const float* add, float* result) const {
  const Call& c = *call_;
  std::optional<at::cpu::Scratch> memory;
  if (c.scratch_floats > 0) memory.emplace(static_cast<size_t>(c.scratch_floats) * sizeof(float));
  float* const scratch = memory.has_value() ? memory->as<float>() : nullptr;
  std::visit(
      [&]<class Form>(const Form& form) {
        if constexpr (std::is_same_v<Form, PackedProduct<float>>) {
          form.run(c.rows, input, add, c.low, c.high, result);
        } else if constexpr (std::is_same_v<Form, PackedDepthwise>) {
          form.run(c.convolution, input, add, c.low, c.high, result);
        } else {
          form.run(c.convolution, input, add, c.low, c.high, result, scratch);
        }
      },
      weights_->form);
}

}  // namespace torch::compiler
