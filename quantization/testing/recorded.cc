#include "quantization/testing/recorded.h"

#include <fstream>
#include <stdexcept>

namespace torch::quantization::testing {

using c10::ScalarType;
using nlohmann::json;

namespace {

ScalarType dtype_named(const std::string& name) {
  if (name == "quint8") return ScalarType::QUInt8;
  if (name == "qint8") return ScalarType::QInt8;
  if (name == "uint8") return ScalarType::Byte;
  if (name == "int8") return ScalarType::Char;
  if (name == "int16") return ScalarType::Short;
  if (name == "uint16") return ScalarType::UInt16;
  if (name == "qint32") return ScalarType::QInt32;
  throw std::invalid_argument(name);
}
c10::QScheme scheme_named(const std::string& name) {
  for (const c10::QScheme scheme : {c10::kPerTensorAffine, c10::kPerTensorSymmetric, c10::kPerChannelAffine,
                                    c10::kPerChannelSymmetric, c10::kPerChannelAffineFloatQParams}) {
    if (name == qscheme_name(scheme)) return scheme;
  }
  throw std::invalid_argument(name);
}

}  // namespace

ObserverOptions options_of(const json& j, bool per_channel) {
  ObserverOptions options;
  if (per_channel) options.qscheme(c10::kPerChannelAffine);
  if (j.contains("dtype")) options.dtype(dtype_named(j["dtype"]));
  if (j.contains("qscheme")) options.qscheme(scheme_named(j["qscheme"]));
  if (j.contains("reduce_range")) options.reduce_range(j["reduce_range"].get<bool>());
  if (j.contains("quant_min")) options.quant_min(j["quant_min"].get<int64_t>());
  if (j.contains("quant_max")) options.quant_max(j["quant_max"].get<int64_t>());
  if (j.contains("eps")) options.eps(j["eps"].get<double>());
  if (j.contains("averaging_constant")) options.averaging_constant(j["averaging_constant"].get<double>());
  if (j.contains("ch_axis")) options.ch_axis(j["ch_axis"].get<int64_t>());
  if (j.contains("bins")) options.bins(j["bins"].get<int64_t>());
  return options;
}

std::shared_ptr<UniformQuantizationObserverBase> observer_named(const std::string& name,
                                                                const ObserverOptions& options) {
  if (name == "MinMaxObserver") return MinMaxObserver(options).ptr();
  if (name == "MovingAverageMinMaxObserver") return MovingAverageMinMaxObserver(options).ptr();
  if (name == "PerChannelMinMaxObserver") return PerChannelMinMaxObserver(options).ptr();
  if (name == "MovingAveragePerChannelMinMaxObserver") return MovingAveragePerChannelMinMaxObserver(options).ptr();
  if (name == "HistogramObserver") return HistogramObserver(options).ptr();
  throw std::invalid_argument(name);
}

Recorded::Recorded() {
  std::ifstream("quantization/testdata/qparams.json") >> cases;
}

}  // namespace torch::quantization::testing
