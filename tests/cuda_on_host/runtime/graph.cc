// Graphs: made by capture, instantiated, launched; user objects that live as long as they do.
#include <algorithm>
#include <fstream>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

void release_object(cudaUserObject_t handle, int64_t count) {
  UserObject* object = state().user_objects.find(handle);
  if (!object) return;
  object->references -= count;
  if (object->references > 0) return;
  run_on_host_thread([destroy = object->destroy, pointer = object->pointer] { destroy(pointer); });
  state().user_objects.erase(handle);
}

void release_objects(const Objects& objects) {
  for (const auto& [handle, count] : objects) release_object(handle, count);
}

void retain_objects(const Objects& objects) {
  for (const auto& [handle, count] : objects) state().user_objects.find(handle)->references += count;
}

Graph* find_graph(cudaGraph_t graph, const char* call) {
  Graph* found = state().graphs.find(graph);
  if (!found && graph) add_misuse(std::string(call) + ": a graph that was destroyed, or none");
  return found;
}

Exec* find_exec(cudaGraphExec_t exec, const char* call) {
  Exec* found = state().execs.find(exec);
  if (!found && exec) add_misuse(std::string(call) + ": an executable graph that was destroyed, or none");
  return found;
}

// A graph's nodes with those of graphs within it, each behind those that it follows.
std::vector<ExecNode> flatten(const Graph& graph) {
  std::vector<ExecNode> flat;
  std::map<const Node*, size_t> places;
  for (const auto& node : graph.nodes) {
    std::vector<size_t> after;
    for (const Node* other : node->after) after.push_back(places.at(other));
    const size_t first = flat.size();
    for (const ExecNode& inner : node->child) {
      flat.push_back({inner.action, inner.after});
      for (size_t& other : flat.back().after) other += first;
      if (inner.after.empty()) flat.back().after = after;
    }
    for (size_t i = first; i < flat.size(); ++i) after.push_back(i);
    places[node.get()] = flat.size();
    flat.push_back({node->action, std::move(after)});
  }
  return flat;
}

cudaError_t instantiate(cudaGraphExec_t* result, cudaGraph_t named, unsigned long long flags) {
  constexpr unsigned long long kFlags = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                        cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;
  if (!result || (flags & ~kFlags)) return cudaErrorInvalidValue;
  Graph* graph = find_graph(named, "cudaGraphInstantiate");
  if (!graph || graph->capturing) return cudaErrorInvalidValue;
  if (flags & cudaGraphInstantiateFlagDeviceLaunch) return cudaErrorNotSupported;
  auto exec = std::make_unique<Exec>();
  exec->flags = flags;
  exec->nodes = flatten(*graph);
  for (const ExecNode& node : exec->nodes) {
    if (node.action.type != cudaGraphNodeTypeMemAlloc) continue;
    for (const auto& [handle, other] : state().execs) {
      for (const ExecNode& taken : other->nodes) {
        if (taken.action.memory == node.action.memory)
          return cudaErrorInvalidValue;  // one executable graph for such memory
      }
    }
  }
  exec->objects = std::make_shared<ObjectReferences>(graph->objects);
  exec->number = static_cast<uint32_t>(state().next_id++);
  *result = state().execs.add(std::move(exec));
  return cudaSuccess;
}

// Memory that an earlier launch left goes before the next one.
cudaError_t free_leftovers(Exec& exec, std::vector<uint64_t>& after) {
  for (ExecNode& node : exec.nodes) {
    GraphMemory* memory = node.action.memory.get();
    if (node.action.type != cudaGraphNodeTypeMemAlloc || !memory->unfreed) continue;
    if (!(exec.flags & cudaGraphInstantiateFlagAutoFreeOnLaunch)) return cudaErrorInvalidValue;
  }
  for (ExecNode& node : exec.nodes) {
    const std::shared_ptr<GraphMemory>& memory = node.action.memory;
    if (node.action.type != cudaGraphNodeTypeMemAlloc || !memory->unfreed) continue;
    memory->unfreed = false;
    after.push_back(add_work({.name = "automatic release",
                              .device = node.action.work.device,
                              .run = [memory] { set_graph_memory(*memory, false); }},
                             after));
  }
  return cudaSuccess;
}

cudaError_t launch(cudaGraphExec_t named_exec, cudaStream_t named_stream) {
  Exec* exec = find_exec(named_exec, "cudaGraphLaunch");
  if (!exec) return cudaErrorInvalidValue;
  Stream* stream = find_stream(named_stream, "cudaGraphLaunch");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    Node* node = nullptr;
    if (cudaError_t status = add_node(
            *stream, {.type = cudaGraphNodeTypeGraph, .work = {.name = "graph", .device = stream->device}}, &node))
      return status;
    node->child = exec->nodes;
    return cudaSuccess;
  }
  if (cudaError_t status = check_legacy(*stream)) return status;
  std::vector<uint64_t> before = stream_dependencies(*stream);
  before.push_back(exec->last);
  if (cudaError_t status = free_leftovers(*exec, before)) return status;
  std::vector<uint64_t> works;
  for (const ExecNode& node : exec->nodes) {
    std::vector<uint64_t> after;
    for (size_t other : node.after) after.push_back(works[other]);
    if (node.after.empty()) after = before;
    Work work = node.action.work;
    work.stream = stream->name;
    work.in_graph = true;
    work.observed.stream = stream->id;
    work.observed.graph = exec->number;
    work.observed.node = uint64_t{exec->number} << 32 | (works.size() + 1);
    Event* event = node.action.event ? find_event(node.action.event, "cudaGraphLaunch") : nullptr;
    if (event && node.action.type == cudaGraphNodeTypeWaitEvent) after.push_back(event->record->work);
    if (event && node.action.type == cudaGraphNodeTypeEventRecord) {
      auto time = std::make_shared<double>(0);
      work.run = [time] { *time = state().now; };
      event->record->time = std::move(time);
      event->record->done_once = true;
      event->record->captured = false;
    }
    if (node.action.memory) node.action.memory->unfreed = node.action.type == cudaGraphNodeTypeMemAlloc;
    works.push_back(add_work(std::move(work), std::move(after)));
    if (event && node.action.type == cudaGraphNodeTypeEventRecord) event->record->work = works.back();
  }
  works.insert(works.end(), before.begin(), before.end());
  Work end{.name = "graph", .device = stream->device, .stream = stream->name, .run = [objects = exec->objects] {}};
  exec->last = add_work(std::move(end), std::move(works));
  set_last(*stream, exec->last);
  return cudaSuccess;
}

cudaError_t destroy_exec(cudaGraphExec_t named) {
  if (!find_exec(named, "cudaGraphExecDestroy")) return cudaErrorInvalidValue;
  state().execs.erase(named);
  return cudaSuccess;
}

cudaError_t update(cudaGraphExec_t named_exec, cudaGraph_t named_graph, cudaGraphExecUpdateResultInfo* result) {
  if (!result) return cudaErrorInvalidValue;
  *result = {};
  Exec* exec = find_exec(named_exec, "cudaGraphExecUpdate");
  Graph* graph = find_graph(named_graph, "cudaGraphExecUpdate");
  if (!exec || !graph || graph->capturing) {
    result->result = cudaGraphExecUpdateError;
    return cudaErrorInvalidValue;
  }
  std::vector<ExecNode> nodes = flatten(*graph);
  const auto refuse = [&](cudaGraphExecUpdateResult why, size_t place) {
    result->result = why;
    result->errorNode = place < graph->nodes.size() ? graph->nodes[place]->handle : nullptr;
    return cudaErrorGraphExecUpdateFailure;
  };
  if (nodes.size() != exec->nodes.size()) return refuse(cudaGraphExecUpdateErrorTopologyChanged, graph->nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ExecNode &old_node = exec->nodes[i], &new_node = nodes[i];
    if (old_node.action.type != new_node.action.type) return refuse(cudaGraphExecUpdateErrorNodeTypeChanged, i);
    if (old_node.after != new_node.after) return refuse(cudaGraphExecUpdateErrorTopologyChanged, i);
    if (old_node.action.work.device != new_node.action.work.device ||
        old_node.action.work.reach != new_node.action.work.reach || old_node.action.memory != new_node.action.memory) {
      return refuse(cudaGraphExecUpdateErrorParametersChanged, i);
    }
  }
  exec->nodes = std::move(nodes);
  exec->objects = std::make_shared<ObjectReferences>(graph->objects);
  result->result = cudaGraphExecUpdateSuccess;
  return cudaSuccess;
}

const char* type_name(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeKernel:
      return "KERNEL";
    case cudaGraphNodeTypeMemcpy:
      return "MEMCPY";
    case cudaGraphNodeTypeMemset:
      return "MEMSET";
    case cudaGraphNodeTypeHost:
      return "HOST";
    case cudaGraphNodeTypeGraph:
      return "GRAPH";
    case cudaGraphNodeTypeWaitEvent:
      return "EVENT_WAIT";
    case cudaGraphNodeTypeEventRecord:
      return "EVENT_RECORD";
    case cudaGraphNodeTypeMemAlloc:
      return "MEM_ALLOC";
    case cudaGraphNodeTypeMemFree:
      return "MEM_FREE";
    default:
      return "EMPTY";
  }
}

cudaError_t print(cudaGraph_t named, const char* path) {
  Graph* graph = find_graph(named, "cudaGraphDebugDotPrint");
  if (!graph || !path) return cudaErrorInvalidValue;
  std::ofstream out(path);
  std::map<const Node*, size_t> places;
  out << "digraph graph_1 {\n";
  for (const auto& node : graph->nodes) {
    const size_t place = places.size();
    places[node.get()] = place;
    out << "  node_" << place << " [label=\"" << type_name(node->action.type) << " " << node->action.work.name
        << "\"];\n";
    for (const Node* other : node->after) out << "  node_" << places.at(other) << " -> node_" << place << ";\n";
  }
  out << "}\n";
  out.flush();
  return out ? cudaSuccess : cudaErrorOperatingSystem;
}

// The protocol of lists of nodes: without an array their number; else as many as fit, the rest of the array null.
cudaError_t list_nodes(const std::vector<cudaGraphNode_t>& found, cudaGraphNode_t* nodes, size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  if (!nodes) {
    *count = found.size();
    return cudaSuccess;
  }
  const size_t given = std::min(*count, found.size());
  std::copy_n(found.begin(), given, nodes);
  std::fill(nodes + given, nodes + *count, nullptr);
  *count = given;
  return cudaSuccess;
}

cudaError_t clone(cudaGraph_t* result, cudaGraph_t named) {
  Graph* graph = find_graph(named, "cudaGraphClone");
  if (!result || !graph) return cudaErrorInvalidValue;
  for (const auto& node : graph->nodes) {
    if (node->action.memory) return cudaErrorNotSupported;  // graphs with memory cannot be cloned
  }
  Graph& made = new_graph();
  std::map<const Node*, Node*> images;
  for (const auto& node : graph->nodes) {
    auto image = std::make_unique<Node>(*node);
    image->handle = reinterpret_cast<cudaGraphNode_t>(next_handle());
    image->graph = &made;
    for (Node*& other : image->after) other = images.at(other);
    images[node.get()] = image.get();
    state().nodes[image->handle] = image.get();
    made.nodes.push_back(std::move(image));
  }
  made.objects = graph->objects;
  retain_objects(made.objects);
  *result = made.handle;
  return cudaSuccess;
}

bool is_count(unsigned count) {
  return count > 0 && count <= 2147483647u;
}

}  // namespace

ObjectReferences::ObjectReferences(const Objects& retained) : objects(retained) {
  retain_objects(objects);
}
ObjectReferences::~ObjectReferences() {
  release_objects(objects);
}

GraphMemory::~GraphMemory() {
  if (Allocation* memory = find_memory(start); memory && memory->id == id) delete_memory(*memory);
}

Graph& new_graph() {
  auto made = std::make_unique<Graph>();
  Graph& graph = *made;
  state().graphs.add(std::move(made));
  return graph;
}

void delete_graph(Graph& graph) {
  for (const auto& node : graph.nodes) state().nodes.erase(node->handle);
  release_objects(graph.objects);
  state().graphs.erase(graph.handle);
}

void clear_graphs() {
  State& s = state();
  s.captures.clear();
  s.nodes.clear();
  s.graphs.clear();
  s.execs.clear();
  s.user_objects.clear();
}

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* result, unsigned int flags) {
  return api("cudaGraphCreate", [&] {
    if (!result || flags != 0) return cudaErrorInvalidValue;
    *result = new_graph().handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return api("cudaGraphInstantiate", [&] { return instantiate(exec, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return api("cudaGraphInstantiateWithFlags", [&] { return instantiate(exec, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* params) {
  return api("cudaGraphInstantiateWithParams", [&] {
    if (!params) return cudaErrorInvalidValue;
    params->errNode_out = nullptr;
    const cudaError_t status = instantiate(exec, graph, params->flags);
    params->result_out = status == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    return status;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t named, unsigned long long* flags) {
  return api("cudaGraphExecGetFlags", [&] {
    Exec* exec = find_exec(named, "cudaGraphExecGetFlags");
    if (!exec || !flags) return cudaErrorInvalidValue;
    *flags = exec->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t named_exec, cudaStream_t named_stream) {
  return api("cudaGraphUpload", [&] {
    if (!find_exec(named_exec, "cudaGraphUpload")) return cudaErrorInvalidValue;
    return find_stream(named_stream, "cudaGraphUpload") ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api("cudaGraphLaunch", [&] { return launch(exec, stream); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  return api("cudaGraphExecUpdate", [&] { return update(exec, graph, result); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api(
      "cudaGraphExecDestroy", [&] { return destroy_exec(exec); }, kReleases);
}

cudaError_t cudaGraphDestroy(cudaGraph_t named) {
  return api(
      "cudaGraphDestroy",
      [&] {
        Graph* graph = find_graph(named, "cudaGraphDestroy");
        if (!graph || graph->capturing) return cudaErrorInvalidValue;
        delete_graph(*graph);
        return cudaSuccess;
      },
      kReleases);
}

cudaError_t cudaGraphClone(cudaGraph_t* result, cudaGraph_t graph) {
  return api("cudaGraphClone", [&] { return clone(result, graph); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t named, cudaGraphNode_t* nodes, size_t* count) {
  return api("cudaGraphGetNodes", [&] {
    Graph* graph = find_graph(named, "cudaGraphGetNodes");
    if (!graph) return cudaErrorInvalidValue;
    std::vector<cudaGraphNode_t> found;
    for (const auto& node : graph->nodes) found.push_back(node->handle);
    return list_nodes(found, nodes, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t named, cudaGraphNode_t* nodes, size_t* count) {
  return api("cudaGraphGetRootNodes", [&] {
    Graph* graph = find_graph(named, "cudaGraphGetRootNodes");
    if (!graph) return cudaErrorInvalidValue;
    std::vector<cudaGraphNode_t> found;
    for (const auto& node : graph->nodes) {
      if (node->after.empty()) found.push_back(node->handle);
    }
    return list_nodes(found, nodes, count);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return api("cudaGraphNodeGetType", [&] {
    const auto found = state().nodes.find(node);
    if (found == state().nodes.end() || !type) return cudaErrorInvalidValue;
    *type = found->second->action.type;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  return api("cudaGraphNodeGetDependencies", [&] {
    const auto entry = state().nodes.find(node);
    if (entry == state().nodes.end()) return cudaErrorInvalidValue;
    std::vector<cudaGraphNode_t> found;
    for (const Node* other : entry->second->after) found.push_back(other->handle);
    const cudaError_t status = list_nodes(found, nodes, count);
    if (status == cudaSuccess && nodes && edges) std::fill_n(edges, *count, cudaGraphEdgeData{});
    return status;
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int) {
  return api("cudaGraphDebugDotPrint", [&] { return print(graph, path); });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* result, void* pointer, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int flags) {
  return api("cudaUserObjectCreate", [&] {
    if (!result || !destroy || !is_count(references) || flags != cudaUserObjectNoDestructorSync)
      return cudaErrorInvalidValue;
    auto object = std::make_unique<UserObject>();
    object->pointer = pointer;
    object->destroy = destroy;
    object->references = references;
    *result = state().user_objects.add(std::move(object));
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t named, unsigned int count) {
  return api("cudaUserObjectRetain", [&] {
    UserObject* object = state().user_objects.find(named);
    if (!object || !is_count(count)) return cudaErrorInvalidValue;
    object->references += count;
    return cudaSuccess;
  });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t named, unsigned int count) {
  return api(
      "cudaUserObjectRelease",
      [&] {
        if (!state().user_objects.find(named) || !is_count(count)) return cudaErrorInvalidValue;
        release_object(named, count);
        return cudaSuccess;
      },
      kReleases);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t named_graph, cudaUserObject_t named, unsigned int count,
                                      unsigned int flags) {
  return api("cudaGraphRetainUserObject", [&] {
    Graph* graph = find_graph(named_graph, "cudaGraphRetainUserObject");
    UserObject* object = state().user_objects.find(named);
    if (!graph || !object || !is_count(count) || (flags & ~static_cast<unsigned>(cudaGraphUserObjectMove)))
      return cudaErrorInvalidValue;
    graph->objects[named] += count;
    if (!(flags & cudaGraphUserObjectMove)) object->references += count;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t named_graph, cudaUserObject_t named, unsigned int count) {
  return api(
      "cudaGraphReleaseUserObject",
      [&] {
        Graph* graph = find_graph(named_graph, "cudaGraphReleaseUserObject");
        if (!graph || !is_count(count) || !graph->objects.contains(named) || graph->objects[named] < count)
          return cudaErrorInvalidValue;
        if ((graph->objects[named] -= count) == 0) graph->objects.erase(named);
        release_object(named, count);
        return cudaSuccess;
      },
      kReleases);
}

}  // extern "C"
}  // namespace cuda_standin
