#pragma once

#include <optional>
#include <string>

#include "aten/core/tensor.h"
#include "c10/core/backend.h"
#include "c10/core/scalar_type.h"
#include "c10/core/tensor_options.h"
#include "c10/util/text_stream.h"

namespace at {

// What Tensor::type() gives: backend and dtype of a tensor, for programs that ask through it. Newer ones call device(),
// scalar_type() and options().
//
//   if (x.type().is_cuda()) ...
//   AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { f<scalar_t>(x); });
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(Backend backend, ScalarType scalar_type) : backend_(backend), scalar_type_(scalar_type) {}

  Backend backend() const { return backend_; }
  Layout layout() const { return layout_from_backend(backend_); }
  bool is_sparse() const { return layout() == kSparse; }
  bool is_sparse_csr() const { return layout() == kSparseCsr; }
  DeviceType device_type() const { return backendToDeviceType(backend_); }
  bool is_cuda() const { return device_type() == kCUDA; }
  ScalarType scalarType() const { return scalar_type_; }
  caffe2::TypeMeta typeMeta() const { return scalarTypeToTypeMeta(scalar_type_); }
  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return a.backend_ == b.backend_ && a.scalar_type_ == b.scalar_type_;
  }

  // "CPUFloatType"; "UndefinedType" for what no tensor has.
  std::string toString() const;

  DeprecatedTypeProperties& toBackend(Backend backend) const;
  DeprecatedTypeProperties& toScalarType(ScalarType scalar_type) const;
  DeprecatedTypeProperties& cpu() const { return toBackend(Backend::CPU); }
  DeprecatedTypeProperties& cuda() const { return toBackend(Backend::CUDA); }
  DeprecatedTypeProperties& hip() const { return toBackend(Backend::HIP); }
  DeprecatedTypeProperties& privateUser1() const { return toBackend(Backend::PrivateUse1); }

  // Options for a tensor of this kind.
  TensorOptions options(int16_t device_index = -1) const;
  TensorOptions options(std::optional<Device> device) const;
  operator TensorOptions() const { return options(); }

  // Number of the pair.
  int64_t id() const { return static_cast<int64_t>(backend_) * NumScalarTypes + static_cast<int64_t>(scalar_type_); }

 private:
  Backend backend_;
  ScalarType scalar_type_;
};

inline void to_text(std::string& out, const DeprecatedTypeProperties& type) { out += type.toString(); }

template <TextStream Stream, SameType<DeprecatedTypeProperties> X>
Stream& operator<<(Stream& out, const X& type) {
  out << type.toString();
  return out;
}

// The one object of each pair.
DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend backend, ScalarType scalar_type);

// torch::zeros({2}, torch::CPU(torch::kFloat)).
inline DeprecatedTypeProperties& CPU(ScalarType scalar_type) { return getDeprecatedTypeProperties(Backend::CPU, scalar_type); }
inline DeprecatedTypeProperties& CUDA(ScalarType scalar_type) { return getDeprecatedTypeProperties(Backend::CUDA, scalar_type); }

}  // namespace at
