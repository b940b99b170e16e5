// Embedding and EmbeddingBag of training: torch.ao.nn.qat's tables. prepare_qat() makes them where it is given
// get_embedding_qat_module_mappings() and default_embedding_qat_qconfig(), or its form of 4 bits; convert() makes
// nn::quantized::Embedding and EmbeddingBag of them.
#pragma once

#include <memory>

#include "nn/layers/embedding.h"
#include "quantization/eager/fused.h"

namespace torch::nn::qat {

/// A table whose rows are quantized by `weight_fake_quant` before they are looked up. It has the float table's own
/// weight, and its options; rows are scaled to max_norm after they were quantized, and stay as they are in the weight.
template <class Table>
class TrainedTable : public TrainedLayer {
 public:
  const auto& options() const { return table_->options; }

 protected:
  /// Throws ValueError where the QConfig's weight has no rows with float zero points
  /// (c10::kPerChannelAffineFloatQParams).
  TrainedTable(const Table& of, const quantization::QConfig& qconfig);
  TORCH_MODULE_TENSORS(weight)
  /// Registers a copy.
  void enroll_copy();
  template <class... Tensors>
  at::Tensor look_up(const Tensors&... in) {
    // It is the table's while it is called.
    struct Lent {
      Table& table;
      ~Lent() { table.weight = at::Tensor(); }
    } lent{*table_};
    table_->weight = weight_fake_quant->forward(weight);
    return table_->forward(in...);
  }

 private:
  // Of the float table's class, with its options and without tensors.
  std::shared_ptr<Table> table_;
};
extern template class TrainedTable<nn::EmbeddingImpl>;
extern template class TrainedTable<nn::EmbeddingBagImpl>;

/// Called as nn::Embedding is.
class EmbeddingImpl : public TrainedTable<nn::EmbeddingImpl>, public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(const nn::EmbeddingImpl& of, const quantization::QConfig& qconfig);
  EmbeddingImpl(const EmbeddingOptions& options, const quantization::QConfig& qconfig)
      : EmbeddingImpl(nn::EmbeddingImpl(options), qconfig) {}
  at::Tensor forward(const at::Tensor& indices) { return look_up(indices); }
  void reset() override { enroll_copy(); }
};
TORCH_MODULE(Embedding);

/// Called as nn::EmbeddingBag is.
class EmbeddingBagImpl : public TrainedTable<nn::EmbeddingBagImpl>, public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(const nn::EmbeddingBagImpl& of, const quantization::QConfig& qconfig);
  EmbeddingBagImpl(const EmbeddingBagOptions& options, const quantization::QConfig& qconfig)
      : EmbeddingBagImpl(nn::EmbeddingBagImpl(options), qconfig) {}
  at::Tensor forward(const at::Tensor& input, const at::Tensor& offsets = {},
                     const at::Tensor& per_sample_weights = {}) {
    return look_up(input, offsets, per_sample_weights);
  }
  void reset() override { enroll_copy(); }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(at::Tensor())}, {2, AnyValue(at::Tensor())})
};
TORCH_MODULE(EmbeddingBag);

}  // namespace torch::nn::qat
