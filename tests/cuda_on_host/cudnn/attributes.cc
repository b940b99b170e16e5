// cudnnBackendSetAttribute and cudnnBackendGetAttribute: attributes by name, type and number of elements.
#include <algorithm>

#include "tests/cuda_on_host/cudnn/state.h"

namespace cudnn_standin {
namespace {

struct Attribute {
  cudnnBackendDescriptorType_t of;
  int name;
  cudnnBackendAttributeType_t type;
  int64_t most = 1;  // elements
};

constexpr int64_t kAny = int64_t{1} << 20;

constexpr Attribute kAttributes[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kAny},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kAny},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kAny},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
};

// The names of x, w, y, the description, alpha and beta of the three convolutions follow each other.
constexpr int kFirstNames[] = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA};

bool find_attribute(cudnnBackendDescriptorType_t of, int name, Attribute& found) {
  for (const Attribute& a : kAttributes) {
    if (a.of == of && a.name == name) {
      found = a;
      return true;
    }
  }
  const int part = static_cast<int>(of) - CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  if (part < 0 || part > 2 || name < kFirstNames[part] || name > kFirstNames[part] + 5) return false;
  found = {of, name, name < kFirstNames[part] + 2 ? CUDNN_TYPE_FLOAT : CUDNN_TYPE_BACKEND_DESCRIPTOR};
  return true;
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

// Numbers that may be of type double as well as float.
bool is_right_type(const Attribute& a, cudnnBackendAttributeType_t type) {
  return type == a.type || (a.type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE);
}

cudnnStatus_t set(Descriptor& d, int name, cudnnBackendAttributeType_t type, int64_t count, const void* from) {
  if (d.finalized) return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of a descriptor that is finalized");
  Attribute a;
  if (!find_attribute(d.type, name, a)) return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of another descriptor");
  if (!is_right_type(a, type)) return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  if (from == nullptr || count < 1 || count > a.most)
    return refuse(CUDNN_STATUS_BAD_PARAM, "no value, or a wrong number of them");
  Value value{type, count, {}, {}};
  value.bytes.resize(static_cast<size_t>(count) * size_of(type));
  std::memcpy(value.bytes.data(), from, value.bytes.size());
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* const parts = static_cast<const cudnnBackendDescriptor_t*>(from);
    for (int64_t i = 0; i < count; ++i) {
      if (parts[i] == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM, "a null descriptor");
      std::shared_ptr<Descriptor> part = find_descriptor(parts[i]);
      if (part == nullptr) {
        report("cudnnBackendSetAttribute: a descriptor that is none, or was destroyed");
        return CUDNN_STATUS_BAD_PARAM;
      }
      // The library takes it, and refuses the whole later.
      if (!part->finalized && d.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an operation that is not finalized");
      value.parts.push_back(std::move(part));
    }
  }
  if (type == CUDNN_TYPE_HANDLE && find_handle(*static_cast<const cudnnHandle_t*>(from)) == nullptr)
    return refuse(CUDNN_STATUS_BAD_PARAM, "a handle that is none");
  d.values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

// Into descriptors that the program has made.
cudnnStatus_t give_engines(const std::vector<Engine>& engines, cudnnBackendDescriptorType_t type,
                           const std::shared_ptr<Descriptor>& graph, int64_t room, int64_t* count, void* to) {
  if (count != nullptr) *count = static_cast<int64_t>(engines.size());
  const int64_t given = std::min(room, static_cast<int64_t>(engines.size()));
  for (int64_t i = 0; i < given; ++i) {
    const std::shared_ptr<Descriptor> into = find_descriptor(static_cast<cudnnBackendDescriptor_t*>(to)[i]);
    if (into == nullptr || into->type != type) return refuse(CUDNN_STATUS_BAD_PARAM, "no descriptors to fill");
    into->engine = engines[static_cast<size_t>(i)];
    into->graph = graph;
    into->finalized = true;
  }
  if (count != nullptr && given > 0) *count = given;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t give_notes(const Engine& engine, int64_t room, int64_t* count, void* to) {
  int64_t given = 0;
  for (int note = 0; note < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; ++note) {
    if ((engine.notes >> note & 1) == 0) continue;
    if (given < room) static_cast<int32_t*>(to)[given] = note;
    ++given;
  }
  if (count != nullptr) *count = given;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get(const Descriptor& d, int name, cudnnBackendAttributeType_t type, int64_t room, int64_t* count,
                  void* to) {
  if (!d.finalized) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "an attribute of a descriptor that is not finalized");
  const auto wants = [&](int attribute, cudnnBackendAttributeType_t of) { return name == attribute && type == of; };
  if (d.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
      wants(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR))
    return give_engines(proposals(d), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, d.graph, room, count, to);
  if (d.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && wants(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR))
    return give_engines({d.engine}, CUDNN_BACKEND_ENGINE_DESCRIPTOR, d.graph, room, count, to);
  if (d.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && wants(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE))
    return give_notes(d.engine, room, count, to);
  if (d.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      wants(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64)) {
    if (room > 0) *static_cast<int64_t*>(to) = d.engine.workspace;
    if (count != nullptr) *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  Attribute a;
  if (!find_attribute(d.type, name, a)) return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of another descriptor");
  if (!is_right_type(a, type)) return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  const auto place = d.values.find(name);
  const int64_t has = place == d.values.end() ? 0 : place->second.count, given = std::min(room, has);
  if (given > 0) std::memcpy(to, place->second.bytes.data(), static_cast<size_t>(given) * size_of(type));
  if (count != nullptr) *count = room > 0 ? given : has;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace cudnn_standin

extern "C" {

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* from) {
  using namespace cudnn_standin;
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const std::shared_ptr<Descriptor> d = find_descriptor(descriptor);
  if (d == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  return set(*d, name, type, count, from);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* to) {
  using namespace cudnn_standin;
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const std::shared_ptr<Descriptor> d = find_descriptor(descriptor);
  if (d == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  return get(*d, name, type, room, count, to);
}

}  // extern "C"
