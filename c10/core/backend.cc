#include "c10/core/backend.h"

#include "c10/util/exception.h"

namespace c10 {
namespace {

struct Facts {
  Backend backend;
  const char* name;
  DeviceType device;
  Layout layout;
  bool quantized;
};

constexpr Layout kDense = Layout::Strided;

constexpr Facts kFacts[] = {
    {Backend::CPU, "CPU", DeviceType::CPU, kDense, false},
    {Backend::CUDA, "CUDA", DeviceType::CUDA, kDense, false},
    {Backend::HIP, "HIP", DeviceType::HIP, kDense, false},
    {Backend::VE, "VE", DeviceType::VE, kDense, false},
    {Backend::FPGA, "FPGA", DeviceType::FPGA, kDense, false},
    {Backend::IPU, "IPU", DeviceType::IPU, kDense, false},
    {Backend::XPU, "XPU", DeviceType::XPU, kDense, false},
    {Backend::SparseCPU, "SparseCPU", DeviceType::CPU, Layout::Sparse, false},
    {Backend::SparseCUDA, "SparseCUDA", DeviceType::CUDA, Layout::Sparse, false},
    {Backend::SparseHIP, "SparseHIP", DeviceType::HIP, Layout::Sparse, false},
    {Backend::SparseXPU, "SparseXPU", DeviceType::XPU, Layout::Sparse, false},
    {Backend::SparsePrivateUse1, "SparsePrivateUse1", DeviceType::PrivateUse1, Layout::Sparse, false},
    {Backend::SparseCsrCPU, "SparseCsrCPU", DeviceType::CPU, Layout::SparseCsr, false},
    {Backend::SparseCsrCUDA, "SparseCsrCUDA", DeviceType::CUDA, Layout::SparseCsr, false},
    {Backend::QuantizedCPU, "QuantizedCPU", DeviceType::CPU, kDense, true},
    {Backend::QuantizedCUDA, "QuantizedCUDA", DeviceType::CUDA, kDense, true},
    {Backend::QuantizedXPU, "QuantizedXPU", DeviceType::XPU, kDense, true},
    {Backend::QuantizedPrivateUse1, "QuantizedPrivateUse1", DeviceType::PrivateUse1, kDense, true},
    {Backend::XLA, "XLA", DeviceType::XLA, kDense, false},
    {Backend::Vulkan, "Vulkan", DeviceType::Vulkan, kDense, false},
    {Backend::Metal, "Metal", DeviceType::Metal, kDense, false},
    {Backend::Meta, "Meta", DeviceType::Meta, kDense, false},
    {Backend::MkldnnCPU, "MkldnnCPU", DeviceType::CPU, Layout::Mkldnn, false},
    {Backend::MPS, "MPS", DeviceType::MPS, kDense, false},
    {Backend::HPU, "HPU", DeviceType::HPU, kDense, false},
    {Backend::Lazy, "Lazy", DeviceType::Lazy, kDense, false},
    {Backend::PrivateUse1, "PrivateUse1", DeviceType::PrivateUse1, kDense, false},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kFacts); ++i) {
    if (static_cast<size_t>(kFacts[i].backend) != i) return false;
  }
  return std::size(kFacts) == static_cast<size_t>(Backend::Undefined);
}
static_assert(in_order(), "a row for each backend, in their order");

bool known(Backend backend) { return backend >= Backend::CPU && backend < Backend::Undefined; }

const Facts& facts_of(Backend backend) {
  TORCH_CHECK(known(backend), "Undefined backend is not a valid device type");
  return kFacts[static_cast<size_t>(backend)];
}

}  // namespace

const char* toString(Backend backend) {
  return known(backend) ? kFacts[static_cast<size_t>(backend)].name : backend == Backend::Undefined ? "Undefined" : "UNKNOWN_BACKEND";
}

void to_text(std::string& out, Backend backend) {
  out += toString(backend);
}

Backend backend_of(DeviceType type, Layout layout, bool quantized) {
  // All compressed layouts have one backend.
  const bool compressed = layout == Layout::SparseCsc || layout == Layout::SparseBsr || layout == Layout::SparseBsc;
  if (compressed) layout = Layout::SparseCsr;
  for (const Facts& facts : kFacts) {
    if (facts.device == type && facts.layout == layout && facts.quantized == quantized) return facts.backend;
  }
  return Backend::Undefined;
}

DeviceType backendToDeviceType(Backend backend) {
  return facts_of(backend).device;
}

Layout layout_from_backend(Backend backend) {
  return facts_of(backend).layout;
}

bool isSparse(Backend backend) {
  return known(backend) && kFacts[static_cast<size_t>(backend)].layout == Layout::Sparse;
}

}  // namespace c10
