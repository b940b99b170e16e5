#include "aten/cuda/cudnn/descriptor.h"

#include "c10/cuda/exception.h"
#include "c10/util/exception.h"

namespace at::cuda::cudnn {

void throw_cudnn_error(cudnnStatus_t status, const char* call) {
  C10_CUDA_CLEAR_ERROR();
  char details[1024] = "";
  cudnnGetLastErrorString(details, sizeof details);
  details[sizeof details - 1] = '\0';
  TORCH_CHECK(false, "cuDNN error: ", cudnnGetErrorString(status), " when calling `", call, "`",
              details[0] == '\0' ? "" : ": ", details);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &value_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (value_ != nullptr) cudnnBackendDestroyDescriptor(value_);
}

void Descriptor::set_any(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* values,
                         int64_t count) {
  check(cudnnBackendSetAttribute(value_, name, type, count, values), "cudnnBackendSetAttribute");
}

void Descriptor::set_number(cudnnBackendAttributeName_t name, bool is_double, double value) {
  if (is_double)
    set(name, CUDNN_TYPE_DOUBLE, value);
  else
    set(name, CUDNN_TYPE_FLOAT, static_cast<float>(value));
}

int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, void* values,
                        int64_t room) const {
  int64_t count = 0;
  check(cudnnBackendGetAttribute(value_, name, type, room, &count, values), "cudnnBackendGetAttribute");
  return count;
}

void Descriptor::finalize() {
  check(cudnnBackendFinalize(value_), "cudnnBackendFinalize");
}

bool Descriptor::try_finalize() {
  const cudnnStatus_t status = cudnnBackendFinalize(value_);
  if (is_unsupported(status)) return false;
  check(status, "cudnnBackendFinalize");
  return true;
}

}  // namespace at::cuda::cudnn
