#include "aten/cuda/cudnn/plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "aten/core/context.h"
#include "aten/cuda/cudnn/handle.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/event.h"
#include "c10/cuda/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda::cudnn {
namespace {

// What heuristics propose for a graph, best first.
std::vector<Descriptor> proposals(const Graph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (!heuristics.try_finalize()) return {};
  const int64_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, nullptr, 0);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  const int64_t got = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw.data(), count);
  configs.erase(configs.begin() + std::min(got, count), configs.end());
  return configs;
}

bool is_allowed(const Descriptor& config, const ConvolutionProblem& p, const Policy& policy) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw, 1);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t room = CUDNN_NUMERICAL_NOTE_TYPE_COUNT;
  const int64_t count =
      std::min(room, engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, notes, room));
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes, notes + count, note) < notes + count;
  };
  if (policy.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  // Operands and sums are of the types that the graph says.
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) || has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
    return false;
  // Of float32 tensor cores take TF32.
  return p.type != CUDNN_DATA_FLOAT || policy.tf32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

// False where the engine turns out not to take it.
bool finalize_plan(Plan& plan, cudnnHandle_t handle) {
  plan.plan = Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.config);
  if (!plan.plan.try_finalize()) return false;
  int64_t bytes = 0;
  plan.plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, &bytes, 1);
  plan.workspace = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  return true;
}

struct Call {
  cudnnHandle_t handle;
  const Binding* bindings;
  size_t count;
};

// False where the engine turns out not to take it.
bool execute(Plan& plan, const Call& call) {
  // Released at once: the stream's next work may have it when this is done.
  c10::DataPtr workspace;
  if (plan.workspace != 0) workspace = c10::GetAllocator(c10::kCUDA)->allocate(plan.workspace);
  int64_t ids[5];
  void* data[5];
  TORCH_INTERNAL_ASSERT(call.count <= 5);
  for (size_t i = 0; i < call.count; ++i) {
    ids[i] = static_cast<int64_t>(call.bindings[i].id);
    data[i] = const_cast<void*>(call.bindings[i].data);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto count = static_cast<int64_t>(call.count);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids, count);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, data, count);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace.get());
  pack.finalize();
  const std::lock_guard lock(plan.mutex);
  const cudnnStatus_t status = cudnnBackendExecute(call.handle, plan.plan.get(), pack.get());
  if (is_unsupported(status)) return false;
  check(status, "cudnnBackendExecute");
  return true;
}

// Milliseconds of a second run.
float time_of(Plan& plan, const Call& call) {
  c10::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  begin.record();
  execute(plan, call);
  end.record();
  end.synchronize();
  return begin.elapsed_time(end);
}

// The first plan that runs, which has run; with `policy.benchmark` the fastest. Null: there is none. `is_short`: memory
// was missing for one.
std::shared_ptr<Plan> choose(const ConvolutionProblem& p, const Policy& policy, const Call& call, bool& is_short) {
  std::shared_ptr<Plan> best;
  float best_time = 0;
  int timed = 0;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::optional<Graph> graph = make_graph(p, call.handle);
    if (!graph) return nullptr;
    for (Descriptor& config : proposals(*graph, mode)) {
      if (!is_allowed(config, p, policy)) continue;
      auto plan = std::make_shared<Plan>();
      plan->config = std::move(config);
      try {
        if (!finalize_plan(*plan, call.handle) || !execute(*plan, call)) continue;
        if (!policy.benchmark) best = plan;
        if (policy.benchmark) {
          const float time = time_of(*plan, call);
          if (best == nullptr || time < best_time) best = plan, best_time = time;
        }
      } catch (const c10::OutOfMemoryError&) {
        is_short = true;
        continue;
      }
      const bool enough = !policy.benchmark || (policy.benchmark_limit > 0 && ++timed >= policy.benchmark_limit);
      if (enough) break;
    }
    if (best == nullptr) continue;
    // What plans of the other mode may refer to is gone with them.
    best->graph = std::move(*graph);
    break;
  }
  // The results are those of later calls.
  if (best != nullptr && policy.benchmark) execute(*best, call);
  return best;
}

}  // namespace

Policy current_policy() {
  const Context& context = globalContext();
  Policy policy;
  policy.deterministic = context.deterministicCuDNN() || context.deterministicAlgorithms();
  policy.tf32 = context.allowTF32CuDNN("conv") && !NoTF32Guard::should_disable_tf32();
  // Times cannot be taken while a graph is captured.
  policy.benchmark =
      context.benchmarkCuDNN() && c10::cuda::currentStreamCaptureStatusMayInitCtx() == c10::cuda::CaptureStatus::None;
  if (policy.benchmark) policy.benchmark_limit = context.benchmarkLimitCuDNN();
  return policy;
}

bool try_run(const ConvolutionProblem& p, const Binding* bindings, size_t count) {
  const Policy policy = current_policy();
  const PlanKey key = key_of(p, policy, c10::cuda::current_device());
  const Call call{native::getCudnnHandle(), bindings, count};
  if (const auto known = PlanCache::get().find(key)) return *known != nullptr && execute(**known, call);
  bool is_short = false;
  std::shared_ptr<Plan> plan = choose(p, policy, call, is_short);
  const bool found = plan != nullptr;
  if (found || !is_short) PlanCache::get().put(key, std::move(plan));
  return found;
}

}  // namespace at::cuda::cudnn
