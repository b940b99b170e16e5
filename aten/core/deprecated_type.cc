#include "aten/core/deprecated_type.h"

#include <vector>

namespace at {

std::string DeprecatedTypeProperties::toString() const {
  if (backend_ == Backend::Undefined || scalar_type_ == ScalarType::Undefined) return "UndefinedType";
  return str(c10::toString(backend_), c10::toString(scalar_type_), "Type");
}

DeprecatedTypeProperties& DeprecatedTypeProperties::toBackend(Backend backend) const {
  return getDeprecatedTypeProperties(backend, scalar_type_);
}

DeprecatedTypeProperties& DeprecatedTypeProperties::toScalarType(ScalarType scalar_type) const {
  return getDeprecatedTypeProperties(backend_, scalar_type);
}

TensorOptions DeprecatedTypeProperties::options(int16_t device_index) const {
  return options(Device(device_type(), static_cast<DeviceIndex>(device_index)));
}

TensorOptions DeprecatedTypeProperties::options(std::optional<Device> device) const {
  const TensorOptions options = TensorOptions().dtype(scalar_type_).layout(layout());
  return options.device(device.has_value() ? *device : Device(device_type()));
}

DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend backend, ScalarType scalar_type) {
  static std::vector<DeprecatedTypeProperties>& all = *[] {
    auto* table = new std::vector<DeprecatedTypeProperties>();
    for (int b = 0; b < static_cast<int>(Backend::NumOptions); ++b) {
      for (int t = 0; t < NumScalarTypes; ++t) table->emplace_back(static_cast<Backend>(b), static_cast<ScalarType>(t));
    }
    return table;
  }();
  const int64_t id = DeprecatedTypeProperties(backend, scalar_type).id();
  TORCH_INTERNAL_ASSERT(id >= 0 && id < static_cast<int64_t>(all.size()));
  return all[static_cast<size_t>(id)];
}

DeprecatedTypeProperties& Tensor::type() const {
  if (!defined()) return getDeprecatedTypeProperties(Backend::Undefined, ScalarType::Undefined);
  return getDeprecatedTypeProperties(backend_of(device().type(), layout(), is_quantized()), scalar_type());
}

std::string Tensor::toString() const {
  if (!defined()) return "UndefinedType";
  return DeprecatedTypeProperties(backend_of(device().type(), layout(), is_quantized()), scalar_type()).toString();
}

}  // namespace at
