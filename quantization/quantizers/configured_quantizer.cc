#include "quantization/quantizers/configured_quantizer.h"

#include "quantization/observers/fake_quantize.h"
#include "quantization/pt2e/program_parts.h"

namespace torch::quantization {

using graph::Node;

std::string module_of(const ExportedProgram& program, const Node& layer) {
  if (layer_kind(layer) == LayerKind::kNone || !layer.operand(1).is_value()) return {};
  if (state_of(program, layer.operand(1).value()) == nullptr) return {};
  const std::string& weight = state_name(program, layer.operand(1).value());
  const size_t dot = weight.rfind('.');
  return dot == std::string::npos ? std::string() : weight.substr(0, dot);
}

ConfiguredQuantizer::Config ConfiguredQuantizer::config_of(const ExportedProgram& program, const Node& node) const {
  for (std::string path = module_of(program, node); !path.empty();) {
    const auto found = modules_.find(path);
    if (found != modules_.end()) return found->second;
    const size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
  const auto found = operators_.find(node.callable().schema().name());
  return found != operators_.end() ? found->second : global_;
}

QuantizationSpec activation_spec(const ObserverOptions& options, bool is_qat, bool is_dynamic) {
  if (is_dynamic && is_qat) {
    return {with_args<FakeQuantize>(
        with_args<MovingAverageMinMaxObserver>(ObserverOptions(options).averaging_constant(1)))};
  }
  if (is_dynamic) return {with_args<PlaceholderObserver>(options)};
  if (is_qat) return {with_args<FusedMovingAvgObsFakeQuantize>(with_args<MovingAverageMinMaxObserver>(options))};
  return {with_args<HistogramObserver>(options)};
}

QuantizationSpec weight_spec(const ObserverOptions& options, bool is_qat) {
  const bool channels = is_per_channel(options.qscheme());
  if (is_qat) {
    return {with_args<FusedMovingAvgObsFakeQuantize>(channels
                                                         ? with_args<MovingAveragePerChannelMinMaxObserver>(options)
                                                         : with_args<MovingAverageMinMaxObserver>(options))};
  }
  return {channels ? with_args<PerChannelMinMaxObserver>(options) : with_args<MinMaxObserver>(options)};
}

}  // namespace torch::quantization
