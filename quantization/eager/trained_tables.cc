#include "quantization/eager/trained_tables.h"

#include <type_traits>

#include "c10/util/exception.h"
#include "nn/module/module_access.h"
#include "quantization/eager/quantized_layer.h"

namespace torch::nn::qat {

template <class Table>
TrainedTable<Table>::TrainedTable(const Table& of, const quantization::QConfig& qconfig)
    : TrainedLayer(qconfig), table_(std::make_shared<Table>(of)) {
  weight_fake_quant = register_module("weight_fake_quant", qconfig_.weight());
  TORCH_CHECK_VALUE(weight_fake_quant->qscheme() == c10::kPerChannelAffineFloatQParams,
                    std::is_same_v<Table, nn::EmbeddingImpl> ? "Embedding" : "Embedding Bag",
                    " weights requires a qscheme of torch.per_channel_affine_float_qparams");
  ModuleAccess::parameters(*table_).clear();
  table_->weight = at::Tensor();
  table_->options._weight(at::Tensor());
  weight = register_parameter("weight", of.weight, of.weight.requires_grad());
}

template <class Table>
void TrainedTable<Table>::enroll_copy() {
  table_ = std::make_shared<Table>(*table_);
  weight = register_parameter("weight", quantized::detail::constant(weight), weight.requires_grad());
  weight_fake_quant = register_module("weight_fake_quant", qconfig_.weight());
}

template class TrainedTable<nn::EmbeddingImpl>;
template class TrainedTable<nn::EmbeddingBagImpl>;

EmbeddingImpl::EmbeddingImpl(const nn::EmbeddingImpl& of, const quantization::QConfig& qconfig)
    : Module("Embedding"), TrainedTable(of, qconfig) {
  train(of.is_training());
}
EmbeddingBagImpl::EmbeddingBagImpl(const nn::EmbeddingBagImpl& of, const quantization::QConfig& qconfig)
    : Module("EmbeddingBag"), TrainedTable(of, qconfig) {
  train(of.is_training());
}

}  // namespace torch::nn::qat
