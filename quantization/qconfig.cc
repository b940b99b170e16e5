#include "quantization/qconfig.h"

#include <regex>

#include "c10/util/exception.h"

namespace torch::quantization {

using c10::ScalarType;

namespace {

ObserverOptions range(int64_t least, int64_t most) {
  return ObserverOptions().quant_min(least).quant_max(most);
}
ObserverOptions weight_options() {
  return ObserverOptions().dtype(ScalarType::QInt8).qscheme(c10::kPerTensorSymmetric);
}
ObserverOptions channel_weight_options() {
  return ObserverOptions().dtype(ScalarType::QInt8).qscheme(c10::kPerChannelSymmetric);
}
ObserverOptions narrow(ObserverOptions options) {
  return options.quant_min(-127).quant_max(127).eps(0x1p-12);
}
ObserverOptions embedding_options(ScalarType dtype) {
  return ObserverOptions().dtype(dtype).qscheme(c10::kPerChannelAffineFloatQParams);
}
ObserverFactory placeholder(ScalarType dtype) {
  return with_args<PlaceholderObserver>(ObserverOptions().dtype(dtype));
}
ObserverFactory fake(ObserverFactory observer) {
  return with_args<FakeQuantize>(std::move(observer));
}
ObserverFactory fused(ObserverFactory observer) {
  return with_args<FusedMovingAvgObsFakeQuantize>(std::move(observer));
}
ObserverFactory moving(const ObserverOptions& options) {
  return with_args<MovingAverageMinMaxObserver>(options);
}
ObserverFactory moving_channels(const ObserverOptions& options) {
  return with_args<MovingAveragePerChannelMinMaxObserver>(options);
}
ObserverFactory fixed(double scale, int64_t zero_point) {
  return [=] { return FixedQParamsObserver(scale, zero_point, ObserverOptions().quant_min(0).quant_max(255)).ptr(); };
}
ObserverFactory fixed_fake(double scale, int64_t zero_point) {
  return with_args<FixedQParamsFakeQuantize>(fixed(scale, zero_point));
}
// Which backends compute with 7 bits, and which have weights with one scale.
bool reduces(const std::string& backend) {
  return backend == "fbgemm" || backend == "x86";
}
void check_backend(const std::string& backend) {
  TORCH_CHECK(backend == "fbgemm" || backend == "x86" || backend == "qnnpack" || backend == "onednn",
              "backend: ", backend, " not supported. backend must be one of ['fbgemm', 'x86', 'qnnpack', 'onednn']");
}
ObserverOptions activation_options(bool reduced) {
  return ObserverOptions().reduce_range(reduced);
}

}  // namespace

ObserverFactory default_observer() {
  return with_args<MinMaxObserver>(range(0, 127));
}
ObserverFactory default_placeholder_observer() {
  return placeholder(ScalarType::Float);
}
ObserverFactory default_debug_observer() {
  return with_args<RecordingObserver>();
}
ObserverFactory default_weight_observer() {
  return with_args<MinMaxObserver>(weight_options());
}
ObserverFactory weight_observer_range_neg_127_to_127() {
  return with_args<MinMaxObserver>(narrow(weight_options()));
}
ObserverFactory default_histogram_observer() {
  return with_args<HistogramObserver>(range(0, 127));
}
ObserverFactory default_per_channel_weight_observer() {
  return with_args<PerChannelMinMaxObserver>(channel_weight_options());
}
ObserverFactory per_channel_weight_observer_range_neg_127_to_127() {
  return with_args<PerChannelMinMaxObserver>(narrow(channel_weight_options()));
}
ObserverFactory default_dynamic_quant_observer() {
  return with_args<PlaceholderObserver>(range(0, 255).is_dynamic(true));
}
ObserverFactory default_float_qparams_observer() {
  return with_args<PerChannelMinMaxObserver>(embedding_options(ScalarType::QUInt8));
}
ObserverFactory default_float_qparams_observer_4bit() {
  return with_args<PerChannelMinMaxObserver>(embedding_options(ScalarType::QUInt4x2));
}
ObserverFactory default_fixed_qparams_range_neg1to1_observer() {
  return fixed(2.0 / 256, 128);
}
ObserverFactory default_fixed_qparams_range_0to1_observer() {
  return fixed(1.0 / 256, 0);
}
ObserverFactory default_reuse_input_observer() {
  return with_args<ReuseInputObserver>();
}

ObserverFactory default_fake_quant() {
  return fake(moving(range(0, 255).reduce_range(true)));
}
ObserverFactory default_weight_fake_quant() {
  return fake(moving(weight_options().quant_min(-128).quant_max(127)));
}
ObserverFactory default_dynamic_fake_quant() {
  return fake(moving(range(0, 255).is_dynamic(true).averaging_constant(1)));
}
ObserverFactory default_fixed_qparams_range_neg1to1_fake_quant() {
  return fixed_fake(2.0 / 256, 128);
}
ObserverFactory default_fixed_qparams_range_0to1_fake_quant() {
  return fixed_fake(1.0 / 256, 0);
}
ObserverFactory default_per_channel_weight_fake_quant() {
  return fake(moving_channels(channel_weight_options().quant_min(-128).quant_max(127)));
}
ObserverFactory default_embedding_fake_quant() {
  return fake(moving_channels(embedding_options(ScalarType::QUInt8).quant_min(0).quant_max(255).averaging_constant(1)));
}
ObserverFactory default_embedding_fake_quant_4bit() {
  return fake(moving_channels(embedding_options(ScalarType::QUInt4x2).averaging_constant(1)));
}
ObserverFactory default_histogram_fake_quant() {
  return fake(with_args<HistogramObserver>(range(0, 255).reduce_range(true)));
}
ObserverFactory default_fused_act_fake_quant() {
  return fused(moving(range(0, 255)));
}
ObserverFactory default_fused_wt_fake_quant() {
  return fused(moving(weight_options().quant_min(-128).quant_max(127)));
}
ObserverFactory default_fused_per_channel_wt_fake_quant() {
  return fused(moving_channels(channel_weight_options().quant_min(-128).quant_max(127)));
}
ObserverFactory fused_wt_fake_quant_range_neg_127_to_127() {
  return fused(moving(narrow(weight_options())));
}
ObserverFactory fused_per_channel_wt_fake_quant_range_neg_127_to_127() {
  return fused(moving_channels(narrow(channel_weight_options())));
}

QConfig default_qconfig() {
  return {default_observer(), default_weight_observer()};
}
QConfig default_debug_qconfig() {
  return {default_debug_observer(), default_weight_observer()};
}
QConfig default_per_channel_qconfig() {
  return {default_observer(), default_per_channel_weight_observer()};
}
QConfig default_dynamic_qconfig() {
  return {default_dynamic_quant_observer(), default_weight_observer()};
}
QConfig float16_dynamic_qconfig() {
  return {with_args<PlaceholderObserver>(ObserverOptions().dtype(ScalarType::Half).is_dynamic(true)),
          placeholder(ScalarType::Half)};
}
QConfig float16_static_qconfig() {
  return {placeholder(ScalarType::Half), placeholder(ScalarType::Half)};
}
QConfig per_channel_dynamic_qconfig() {
  return {default_dynamic_quant_observer(), default_per_channel_weight_observer()};
}
QConfig float_qparams_weight_only_qconfig() {
  return {default_placeholder_observer(), default_float_qparams_observer()};
}
QConfig float_qparams_weight_only_qconfig_4bit() {
  return {default_placeholder_observer(), default_float_qparams_observer_4bit()};
}
QConfig default_qat_qconfig() {
  return {default_fake_quant(), default_weight_fake_quant()};
}
QConfig default_dynamic_qat_qconfig() {
  return {default_dynamic_fake_quant(), default_weight_fake_quant()};
}
QConfig default_weight_only_qconfig() {
  return {placeholder(ScalarType::Float), default_weight_fake_quant()};
}
QConfig default_activation_only_qconfig() {
  return {default_fake_quant(), placeholder(ScalarType::Float)};
}
QConfig default_qat_qconfig_v2() {
  return {default_fused_act_fake_quant(), default_fused_wt_fake_quant()};
}
QConfig default_reuse_input_qconfig() {
  return {default_reuse_input_observer(), with_args<NoopObserver>()};
}

namespace {
ObserverOptions symmetric_activation() {
  return ObserverOptions().dtype(ScalarType::QInt8).eps(0x1p-12);
}
}  // namespace

QConfig default_symmetric_qnnpack_qconfig() {
  return {with_args<HistogramObserver>(symmetric_activation()), weight_observer_range_neg_127_to_127()};
}
QConfig default_per_channel_symmetric_qnnpack_qconfig() {
  return {with_args<HistogramObserver>(symmetric_activation()), per_channel_weight_observer_range_neg_127_to_127()};
}
QConfig default_symmetric_qnnpack_qat_qconfig() {
  return {fused(moving(symmetric_activation().quant_min(-128).quant_max(127))),
          fused_wt_fake_quant_range_neg_127_to_127()};
}
QConfig default_per_channel_symmetric_qnnpack_qat_qconfig() {
  return {fused(moving(symmetric_activation().quant_min(-128).quant_max(127))),
          fused_per_channel_wt_fake_quant_range_neg_127_to_127()};
}
QConfig default_embedding_qat_qconfig() {
  return {placeholder(ScalarType::Float), default_embedding_fake_quant()};
}
QConfig default_embedding_qat_qconfig_4bit() {
  return {placeholder(ScalarType::Float), default_embedding_fake_quant_4bit()};
}

QConfig get_default_qconfig(const std::string& backend, int version) {
  check_backend(backend);
  TORCH_CHECK(version == 0, "Version number: ", version,
              " in get_default_qconfig is not supported. Version number must be 0");
  return {with_args<HistogramObserver>(activation_options(reduces(backend))),
          backend == "qnnpack" ? default_weight_observer() : default_per_channel_weight_observer()};
}

QConfig get_default_qat_qconfig(const std::string& backend, int version) {
  check_backend(backend);
  TORCH_CHECK(version == 0 || version == 1, "Version number: ", version,
              " in get_default_qat_qconfig is not supported. Version number must be 0 or 1");
  const ObserverFactory observer = moving(range(0, 255).reduce_range(reduces(backend)));
  const bool per_tensor = backend == "qnnpack";
  if (version == 0) {
    return {fake(observer), per_tensor ? default_weight_fake_quant() : default_per_channel_weight_fake_quant()};
  }
  return {fused(observer), per_tensor ? default_fused_wt_fake_quant() : default_fused_per_channel_wt_fake_quant()};
}

bool qconfig_equals(const std::optional<QConfig>& a, const std::optional<QConfig>& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value()) return true;
  const auto same = [](const ObserverFactory& x, const ObserverFactory& y) {
    if ((x == nullptr) != (y == nullptr)) return false;
    if (x == nullptr) return true;
    return same_observer(*x(), *y());
  };
  return same(a->activation, b->activation) && same(a->weight, b->weight);
}

// --- which configuration ---
QConfigMapping& QConfigMapping::set_global(Maybe qconfig) {
  global_ = std::move(qconfig);
  return *this;
}
QConfigMapping& QConfigMapping::set_object_type(const std::string& type, Maybe qconfig) {
  constexpr std::string_view kModules = "torch::nn::";
  types_[type.starts_with(kModules) ? type.substr(kModules.size()) : type] = std::move(qconfig);
  return *this;
}
QConfigMapping& QConfigMapping::set_module_name_regex(const std::string& regex, Maybe qconfig) {
  try {
    const std::regex checked(regex);
  } catch (const std::regex_error& error) {
    TORCH_CHECK_VALUE(false, "set_module_name_regex: '", regex, "' is no regular expression: ", error.what());
  }
  for (auto& [known, one] : regexes_) {
    if (known == regex) {
      one = std::move(qconfig);
      return *this;
    }
  }
  regexes_.emplace_back(regex, std::move(qconfig));
  return *this;
}
QConfigMapping& QConfigMapping::set_module_name(const std::string& name, Maybe qconfig) {
  names_[name] = std::move(qconfig);
  return *this;
}
QConfigMapping& QConfigMapping::set_module_name_object_type_order(const std::string& name, const std::string& type,
                                                                  int64_t index, Maybe qconfig) {
  ordered_.push_back({name, type, index, std::move(qconfig)});
  return *this;
}

QConfigMapping::Maybe QConfigMapping::get(const std::string& name, const std::string& type, int64_t index) const {
  for (auto one = ordered_.rbegin(); one != ordered_.rend(); ++one) {
    if (one->name == name && one->type == type && one->index == index) return one->qconfig;
  }
  for (std::string path = name;; path.resize(path.find_last_of('.'))) {
    const auto found = names_.find(path);
    if (found != names_.end()) return found->second;
    if (path.find('.') == std::string::npos) break;
  }
  for (const auto& [regex, qconfig] : regexes_) {
    if (std::regex_search(name, std::regex(regex), std::regex_constants::match_continuous)) return qconfig;
  }
  const auto found = types_.find(type);
  return found != types_.end() ? found->second : global_;
}

namespace {
QConfigMapping mapping_of(const QConfig& qconfig, bool qat) {
  QConfigMapping mapping;
  mapping.set_global(qconfig);
  const ObserverFactory unit =
      qat ? default_fixed_qparams_range_0to1_fake_quant() : default_fixed_qparams_range_0to1_observer();
  const ObserverFactory sign =
      qat ? default_fixed_qparams_range_neg1to1_fake_quant() : default_fixed_qparams_range_neg1to1_observer();
  for (const char* op : {"aten::sigmoid", "aten::hardsigmoid", "aten::softmax"}) {
    mapping.set_object_type(op, QConfig{unit, qconfig.weight});
  }
  mapping.set_object_type("aten::tanh", QConfig{sign, qconfig.weight});
  mapping.set_object_type("aten::layer_norm", QConfig{qconfig.activation, default_placeholder_observer()});
  return mapping;
}
}  // namespace

QConfigMapping get_default_qconfig_mapping(const std::string& backend, int version) {
  return mapping_of(get_default_qconfig(backend, version), false);
}
QConfigMapping get_default_qat_qconfig_mapping(const std::string& backend, int version) {
  return mapping_of(get_default_qat_qconfig(backend, version), true);
}

}  // namespace torch::quantization
