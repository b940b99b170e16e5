// What cudnnBackendFinalize checks, and the engines of the stand-in.
#include <set>

#include "tests/cuda_on_host/cudnn/convolution.h"
#include "tests/cuda_on_host/cudnn/state.h"

namespace cudnn_standin {
namespace {

cudnnStatus_t bad(const char* why) {
  return refuse(CUDNN_STATUS_BAD_PARAM, why);
}

cudnnStatus_t finalize_tensor(const Descriptor& d) {
  const auto sizes = d.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = d.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.empty()) return bad("a tensor without dimensions");
  if (sizes.size() != strides.size()) return bad("as many strides as dimensions are wanted");
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return bad("a negative size or stride");
  }
  const auto alignment = d.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  const size_t item = bytes_of(d.get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (alignment <= 0 || (item != 0 && alignment % static_cast<int64_t>(item) != 0))
    return bad("an alignment that is no multiple of the element's size");
  if (!d.has(CUDNN_ATTR_TENSOR_UNIQUE_ID) || !d.has(CUDNN_ATTR_TENSOR_DATA_TYPE))
    report("a tensor without an identifier or a type");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_convolution(const Descriptor& d) {
  const auto directions = static_cast<size_t>(d.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
  if (directions == 0) return bad("a convolution of no dimensions");
  struct {
    int name;
    int64_t least;
  } const lists[] = {{CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
                     {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
                     {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
                     {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0}};
  for (const auto& list : lists) {
    const auto values = d.list<int64_t>(list.name);
    if (values.size() != directions) return bad("a list of another length than there are dimensions");
    for (const int64_t value : values) {
      if (value < list.least) return bad("a stride, dilation or padding out of its range");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

std::vector<int64_t> sizes_of(const Descriptor& tensor) {
  return tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

cudnnStatus_t finalize_convolution_operation(const Descriptor& d) {
  const ConvolutionNames names = names_of(d.type);
  const Descriptor *const x = d.part(names.x), *const w = d.part(names.w), *const y = d.part(names.y),
                          *const how = d.part(names.description);
  for (const Descriptor* tensor : {x, w, y}) {
    if (tensor == nullptr || !tensor->finalized || tensor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
      return bad("a tensor that is missing or not finalized");
  }
  if (how == nullptr || !how->finalized || how->type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
    return bad("the description of the convolution is missing or not finalized");
  const auto xs = sizes_of(*x), ws = sizes_of(*w), ys = sizes_of(*y);
  const auto padding = how->list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
             behind = how->list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
             stride = how->list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             dilation = how->list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  if (xs.size() != padding.size() + 2 || ws.size() != xs.size() || ys.size() != xs.size())
    return bad("tensors of another number of dimensions than the convolution");
  for (size_t i = 0; i < xs.size(); ++i) {
    if (xs[i] <= 0 || ws[i] <= 0 || ys[i] <= 0) return bad("a tensor without elements");
  }
  if (xs[1] % ws[1] != 0) return bad("channels that no groups divide");
  if (ws[0] % (xs[1] / ws[1]) != 0) return bad("results that the groups do not divide");
  if (xs[0] != ys[0]) return bad("batches of different sizes");
  if (ys[1] != ws[0]) return bad("another number of results than the filter has");
  for (size_t i = 0; i < padding.size(); ++i) {
    const int64_t room = xs[2 + i] + padding[i] + behind[i] - dilation[i] * (ws[2 + i] - 1) - 1;
    if (room < 0 || room / stride[i] + 1 != ys[2 + i]) return bad("a size of the result that does not follow");
  }
  const auto alpha = d.values.find(names.alpha);
  if (alpha == d.values.end() || !d.has(names.beta)) report("a convolution without factors");
  if (d.number(names.alpha, 1) != 1 || d.number(names.beta, 0) != 0)
    report("factors other than 1 and 0, which the stand-in has not");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pointwise_operation(const Descriptor& d) {
  const Descriptor *const how = d.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
                          *const x = d.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                          *const y = d.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
                          *const b = d.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (how == nullptr || !how->finalized || x == nullptr || !x->finalized || y == nullptr || !y->finalized)
    return bad("an operand that is missing or not finalized");
  const auto mode = how->get(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
  const bool binary = mode == CUDNN_POINTWISE_ADD;
  if (!binary && mode != CUDNN_POINTWISE_RELU_FWD)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a function that the stand-in has not");
  if (binary && (b == nullptr || !b->finalized || sizes_of(*b).size() != sizes_of(*x).size()))
    return bad("the second operand is missing or has another number of dimensions");
  // The library takes these, and refuses plans.
  if (sizes_of(*x) != sizes_of(*y)) report("a pointwise operation whose result has another size");
  if (binary) {
    for (size_t i = 0; i < sizes_of(*b).size(); ++i) {
      if (sizes_of(*b)[i] != 1 && sizes_of(*b)[i] != sizes_of(*x)[i]) report("an operand that does not broadcast");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_graph(const Descriptor& d) {
  const auto place = d.values.find(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (place == d.values.end()) return bad("a graph without operations");
  // Identifiers name one tensor each; what is virtual is written once and read.
  std::map<int64_t, const Descriptor*> tensors;
  std::set<int64_t> written, read;
  for (const auto& operation : place->second.parts) {
    for (const Operand& operand : operands_of(*operation)) {
      const auto id = operand.tensor->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
      const auto [known, fresh] = tensors.emplace(id, operand.tensor);
      if (!fresh && known->second != operand.tensor) report("two tensors of one identifier in a graph");
      if (operand.writes ? !written.insert(id).second : false) report("a tensor that two operations write");
      if (!operand.writes) read.insert(id);
    }
  }
  for (const auto& [id, tensor] : tensors) {
    if (tensor->get(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false) && (written.count(id) == 0 || read.count(id) == 0))
      report("a virtual tensor that is not written and read");
  }
  return CUDNN_STATUS_SUCCESS;
}

constexpr uint64_t bit(cudnnBackendNumericalNote_t note) {
  return uint64_t{1} << note;
}

}  // namespace

size_t bytes_of(cudnnDataType_t type) {
  switch (static_cast<int>(type)) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_FLOAT:
      return 4;
    case CUDNN_DATA_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

cudnnStatus_t finalize(Descriptor& d) {
  if (d.finalized) return bad("a descriptor that is finalized");
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      status = finalize_tensor(d);
      break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      status = finalize_convolution(d);
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      status = finalize_convolution_operation(d);
      break;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      if (!d.has(CUDNN_ATTR_POINTWISE_MODE)) status = bad("a pointwise operation without a function");
      break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      status = finalize_pointwise_operation(d);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      status = finalize_graph(d);
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
      const auto place = d.values.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      if (place == d.values.end() || !place->second.parts[0]->finalized || !d.has(CUDNN_ATTR_ENGINEHEUR_MODE))
        return bad("a graph that is missing or not finalized");
      d.graph = place->second.parts[0];
      break;
    }
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      const auto place = d.values.find(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (place == d.values.end() || !place->second.parts[0]->finalized)
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a configuration that is missing or not finalized");
      if (place->second.parts[0]->engine.refuses)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "an engine that does not take this graph");
      d.graph = place->second.parts[0]->graph;
      d.engine = place->second.parts[0]->engine;
      count_plan();
      break;
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: {
      const auto ids = d.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
      if (ids.size() != d.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
        return bad("as many addresses as identifiers are wanted");
      if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) report("an identifier twice in a pack");
      break;
    }
    default:
      status = refuse(CUDNN_STATUS_NOT_SUPPORTED, "a descriptor that the stand-in has not");
  }
  d.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

std::vector<Engine> proposals(const Descriptor& heuristics) {
  if (options().no_engines) return {};
  const auto mode = heuristics.get(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  const auto& operations = heuristics.graph->values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts;
  const bool fused = operations.size() > 1;
  const std::vector<Operand> operands = operands_of(*operations[0]);
  const auto type = operands[0].tensor->get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  const bool is_short = bytes_of(type) == 2, is_float = type == CUDNN_DATA_FLOAT;
  constexpr int64_t kWorkspace = 100'000;
  if (bytes_of(type) == 0 || (fused && type == CUDNN_DATA_DOUBLE)) return {};
  const uint64_t core = bit(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (mode == CUDNN_HEUR_MODE_FALLBACK) return fused ? std::vector<Engine>{} : std::vector<Engine>{{9, 0, 0}};
  if (mode != CUDNN_HEUR_MODE_A || options().only_fallback) return {};
  std::vector<Engine> all = {{0, 0, kWorkspace, true}};
  if (is_short) all.push_back({1, core | bit(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION), kWorkspace});
  if (is_float) all.push_back({2, core | bit(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS), kWorkspace});
  if (is_float) all.push_back({5, core, kWorkspace});
  if (fused && is_float) return all;
  all.push_back({3, (is_short ? core : 0) | bit(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC), kWorkspace});
  all.push_back({4, is_short ? core : 0, kWorkspace});
  return all;
}

}  // namespace cudnn_standin

extern "C" cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  using namespace cudnn_standin;
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const std::shared_ptr<Descriptor> d = find_descriptor(descriptor);
  if (d == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  return finalize(*d);
}
