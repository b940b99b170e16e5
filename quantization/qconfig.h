// How layers are quantized: QConfig, and QConfigMapping, which says for what.
//
//   auto mapping = torch::quantization::get_default_qconfig_mapping("x86");
//   mapping.set_object_type("aten::linear", torch::quantization::default_dynamic_qconfig())
//          .set_module_name("layer1.0.conv1", std::nullopt);       // stays float
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quantization/observers/fake_quantize.h"
#include "quantization/observers/observer.h"

namespace torch::quantization {

/// What observes (or fake-quantizes) activations and weights.
struct QConfig {
  ObserverFactory activation;
  ObserverFactory weight;
};

// --- observers of the configurations below, under the names of torch.ao.quantization ---
ObserverFactory default_observer();                      ///< MinMaxObserver, quint8, 0 to 127
ObserverFactory default_placeholder_observer();          ///< PlaceholderObserver of dtype float
ObserverFactory default_debug_observer();                ///< RecordingObserver
ObserverFactory default_weight_observer();               ///< MinMaxObserver, qint8, symmetric
ObserverFactory weight_observer_range_neg_127_to_127();  ///< the same within -127 to 127, scale at least 2^-12
ObserverFactory default_histogram_observer();            ///< HistogramObserver, 0 to 127
ObserverFactory default_per_channel_weight_observer();   ///< PerChannelMinMaxObserver, qint8, symmetric
ObserverFactory per_channel_weight_observer_range_neg_127_to_127();
ObserverFactory default_dynamic_quant_observer();  ///< PlaceholderObserver, quint8, 0 to 255, dynamic
ObserverFactory default_float_qparams_observer();  ///< PerChannelMinMaxObserver, quint8, float zero points
ObserverFactory default_float_qparams_observer_4bit();
ObserverFactory default_fixed_qparams_range_neg1to1_observer();  ///< scale 2 / 256, zero point 128: tanh
ObserverFactory default_fixed_qparams_range_0to1_observer();     ///< scale 1 / 256, zero point 0: sigmoid
ObserverFactory default_reuse_input_observer();

// --- fake quantizers ---
ObserverFactory default_fake_quant();         ///< of moving averages, quint8, reduced range
ObserverFactory default_weight_fake_quant();  ///< of moving averages, qint8, symmetric
ObserverFactory default_dynamic_fake_quant();
ObserverFactory default_fixed_qparams_range_neg1to1_fake_quant();
ObserverFactory default_fixed_qparams_range_0to1_fake_quant();
ObserverFactory default_per_channel_weight_fake_quant();
ObserverFactory default_embedding_fake_quant();
ObserverFactory default_embedding_fake_quant_4bit();
ObserverFactory default_histogram_fake_quant();
ObserverFactory default_fused_act_fake_quant();
ObserverFactory default_fused_wt_fake_quant();
ObserverFactory default_fused_per_channel_wt_fake_quant();
ObserverFactory fused_wt_fake_quant_range_neg_127_to_127();
ObserverFactory fused_per_channel_wt_fake_quant_range_neg_127_to_127();

// --- configurations ---
QConfig default_qconfig();
QConfig default_debug_qconfig();
QConfig default_per_channel_qconfig();
QConfig default_dynamic_qconfig();
QConfig float16_dynamic_qconfig();
QConfig float16_static_qconfig();
QConfig per_channel_dynamic_qconfig();
QConfig float_qparams_weight_only_qconfig();
QConfig float_qparams_weight_only_qconfig_4bit();
QConfig default_qat_qconfig();
QConfig default_dynamic_qat_qconfig();
QConfig default_weight_only_qconfig();
QConfig default_activation_only_qconfig();
QConfig default_qat_qconfig_v2();
QConfig default_reuse_input_qconfig();
QConfig default_symmetric_qnnpack_qconfig();
QConfig default_per_channel_symmetric_qnnpack_qconfig();
QConfig default_symmetric_qnnpack_qat_qconfig();
QConfig default_per_channel_symmetric_qnnpack_qat_qconfig();
QConfig default_embedding_qat_qconfig();
QConfig default_embedding_qat_qconfig_4bit();

/// Of a backend: "x86", "fbgemm", "qnnpack" or "onednn". `version`: 0; of QAT 0 or 1, whose fake quantizers are fused.
/// Throws c10::Error for others.
QConfig get_default_qconfig(const std::string& backend = "x86", int version = 0);
QConfig get_default_qat_qconfig(const std::string& backend = "x86", int version = 1);

/// Whether what they make is of the same class, dtype, range, scheme and options.
bool qconfig_equals(const std::optional<QConfig>& a, const std::optional<QConfig>& b);

/// A QConfig, or none, by what a node is: what the nearest of these says counts, from last to first. None: it stays
/// float.
class QConfigMapping {
 public:
  using Maybe = std::optional<QConfig>;
  QConfigMapping& set_global(Maybe qconfig);
  /// By operator ("aten::linear") or by class of module ("Linear", "torch::nn::Linear").
  QConfigMapping& set_object_type(const std::string& type, Maybe qconfig);
  /// By path of the module, of which `regex` matches a beginning; the first that was set counts.
  QConfigMapping& set_module_name_regex(const std::string& regex, Maybe qconfig);
  /// By path of the module ("layer1.0"), for it and what is below.
  QConfigMapping& set_module_name(const std::string& name, Maybe qconfig);
  /// Of the module's calls of that operator, the one of that number.
  QConfigMapping& set_module_name_object_type_order(const std::string& name, const std::string& type, int64_t index,
                                                    Maybe qconfig);

  /// What counts for call number `index` of operator `type` by the module at `name`.
  Maybe get(const std::string& name, const std::string& type, int64_t index) const;

 private:
  struct Ordered {
    std::string name, type;
    int64_t index;
    Maybe qconfig;
  };
  Maybe global_;
  std::map<std::string, Maybe> types_;
  std::vector<std::pair<std::string, Maybe>> regexes_;
  std::map<std::string, Maybe> names_;
  std::vector<Ordered> ordered_;
};

/// The default configuration for all, with the fixed qparams of sigmoid, hardsigmoid, tanh and softmax, and none
/// for what has no quantized form.
QConfigMapping get_default_qconfig_mapping(const std::string& backend = "x86", int version = 0);
QConfigMapping get_default_qat_qconfig_mapping(const std::string& backend = "x86", int version = 1);

}  // namespace torch::quantization
