#include "utils/profiler/execution_trace.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/record_function.h"
#include "aten/core/tensor.h"
#include "autograd/profiler/profiler.h"
#include "c10/dispatch/function_schema.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"

namespace torch::profiler {
namespace {

using Json = nlohmann::ordered_json;

// Longer lists are cut.
constexpr size_t kMaxElements = 4096;
constexpr uint64_t kProcessNode = 1;

std::atomic<ExecutionTraceObserver*> g_observer{nullptr};

int64_t now_ms() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace

struct ExecutionTraceObserver::State {
  // A value as the schema has it.
  struct Described {
    Json value, shape = Json::array(), strides = Json::array();
    std::string type;
  };

  struct Node {
    uint64_t id = 0, parent = 0, forward = 0, forward_thread = 0;
    Json inputs;
  };

  uint64_t number_of(const void* object) { return objects.try_emplace(object, next).second ? next++ : objects[object]; }

  Described describe(const c10::IValue& value) {
    Described out;
    if (value.isTensor() && value.toTensor().defined()) {
      const at::Tensor& tensor = value.toTensor();
      const bool has_storage = tensor.has_storage();
      const uint64_t number = number_of(tensor.unsafeGetTensorImpl());
      const uint64_t storage = has_storage ? number_of(tensor.storage().unsafeGetStorageImpl()) : 0;
      out.value = {number, storage, has_storage ? tensor.storage_offset() : 0, tensor.numel(), tensor.element_size(),
                   tensor.device().str()};
      out.shape = tensor.sizes().vec();
      if (tensor.layout() == c10::kStrided) out.strides = tensor.strides().vec();
      out.type = std::string("Tensor(") + autograd::profiler::detail::element_type_name(tensor.scalar_type()) + ")";
    } else if (value.isList() || value.isTensorList()) {
      out.value = Json::array();
      out.type = "GenericList[";
      const auto elements = value.toListRef();
      for (size_t i = 0; i < std::min(elements.size(), kMaxElements); ++i) {
        Described one = describe(elements[i]);
        out.value.push_back(std::move(one.value));
        out.shape.push_back(std::move(one.shape));
        out.strides.push_back(std::move(one.strides));
        out.type += (i == 0 ? "" : ",") + one.type;
      }
      out.type += "]";
    } else if (value.isBool()) {
      out.value = value.toBool();
      out.type = "Bool";
    } else if (value.isInt()) {
      out.value = value.toInt();
      out.type = "Int";
    } else if (value.isDouble()) {
      out.value = value.toDouble();
      out.type = "Double";
    } else if (value.isString()) {
      out.value = value.toStringRef();
      out.type = "String";
    } else if (value.isDevice()) {
      out.value = value.toDevice().str();
      out.type = "Device";
    } else {
      out.type = value.isNone() || value.isTensor() ? "None" : value.tagKind();
      out.value = "<" + out.type + ">";
    }
    return out;
  }

  Json described(const std::vector<c10::IValue>& values) {
    Json out = {{"values", Json::array()}, {"shapes", Json::array()}, {"types", Json::array()},
                {"strides", Json::array()}};
    for (const c10::IValue& value : values) {
      Described one = describe(value);
      out["values"].push_back(std::move(one.value));
      out["shapes"].push_back(std::move(one.shape));
      out["types"].push_back(std::move(one.type));
      out["strides"].push_back(std::move(one.strides));
    }
    return out;
  }

  struct Attributes {
    uint64_t range = 0;
    int64_t sequence = -1;
    at::RecordScope scope = at::RecordScope::USER_SCOPE;
    uint64_t thread = 0;
    std::string schema;
  };

  void write_node(const Node& node, std::string_view name, Json outputs, const Attributes& attributes) {
    const auto attribute = [](const char* key, const char* type, Json value) {
      return Json{{"name", key}, {"type", type}, {"value", std::move(value)}};
    };
    Json json = {{"id", node.id},
                 {"name", name},
                 {"ctrl_deps", node.parent},
                 {"inputs", node.inputs},
                 {"outputs", std::move(outputs)}};
    json["attrs"] = {attribute("rf_id", "uint64", attributes.range),
                     attribute("fw_parent", "uint64", node.forward),
                     attribute("seq_id", "int64", attributes.sequence),
                     attribute("scope", "uint64", static_cast<uint64_t>(attributes.scope)),
                     attribute("tid", "uint64", attributes.thread),
                     attribute("fw_tid", "uint64", node.forward_thread),
                     attribute("op_schema", "string", attributes.schema),
                     attribute("kernel_backend", "string", ""),
                     attribute("kernel_file", "string", ""),
                     attribute("tensor_range", "string", "")};
    out << (first ? "\n    " : ",\n    ")
        << json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
    first = false;
  }

  // The threads' own nodes are the outermost.
  std::vector<uint64_t>& open_in(uint64_t thread) {
    std::vector<uint64_t>& open = threads[thread];
    if (open.empty()) {
      Node node;
      node.id = next++;
      node.parent = kProcessNode;
      node.inputs = described({});
      Attributes attributes;
      attributes.thread = thread;
      write_node(node, "[pytorch|profiler|execution_trace|thread]", described({}), attributes);
      open.push_back(node.id);
    }
    return open;
  }

  std::mutex mutex;
  std::string path;
  std::ofstream out;
  at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
  bool first = true;
  uint64_t next = 2, next_range = 1;
  std::unordered_map<const void*, uint64_t> objects;
  std::map<uint64_t, std::vector<uint64_t>> threads;
  // By sequence number the operator that recorded a node, and its thread.
  std::unordered_map<int64_t, std::pair<uint64_t, uint64_t>> recorded;
};

struct ExecutionTraceCallbacks {
  using State = ExecutionTraceObserver::State;
  struct Context final : at::ObserverContext {
    State::Node node;
    uint64_t range = 0;
  };

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& range) {
    ExecutionTraceObserver* const observer = g_observer.load();
    if (observer == nullptr) return nullptr;
    State& state = *observer->state_;
    const std::lock_guard lock(state.mutex);
    auto context = std::make_unique<Context>();
    std::vector<uint64_t>& open = state.open_in(range.threadId());
    State::Node& node = context->node;
    node.inputs = state.described(range.inputs());
    node.parent = open.back();
    node.id = state.next++;
    context->range = state.next_range++;
    if (range.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      const auto forward = state.recorded.find(range.seqNr());
      if (forward != state.recorded.end()) std::tie(node.forward, node.forward_thread) = forward->second;
    } else if (range.seqNr() >= 0) {
      state.recorded[range.seqNr()] = {node.id, range.threadId()};
    }
    open.push_back(node.id);
    return context;
  }

  static void end(const at::RecordFunction& range, at::ObserverContext* given) {
    ExecutionTraceObserver* const observer = g_observer.load();
    if (observer == nullptr || given == nullptr) return;
    const Context& context = static_cast<Context&>(*given);
    State& state = *observer->state_;
    const std::lock_guard lock(state.mutex);
    std::vector<uint64_t>& open = state.threads[range.threadId()];
    const auto found = std::find(open.rbegin(), open.rend(), context.node.id);
    // A range that began under another observer.
    if (found == open.rend()) return;
    open.erase(std::next(found).base(), open.end());
    State::Attributes attributes;
    attributes.range = context.range;
    attributes.sequence = range.seqNr();
    attributes.scope = range.scope();
    attributes.thread = range.threadId();
    if (const auto name = range.operator_name()) {
      if (const auto op = c10::Dispatcher::singleton().findSchema(*name)) attributes.schema = c10::str(op->schema());
    }
    state.write_node(context.node, range.name(), state.described(range.outputs()), attributes);
  }
};

ExecutionTraceObserver::ExecutionTraceObserver() : state_(std::make_unique<State>()) {}

ExecutionTraceObserver::~ExecutionTraceObserver() {
  unregister_callback();
}

ExecutionTraceObserver& ExecutionTraceObserver::register_callback(const std::string& output_file) {
  TORCH_CHECK(!is_registered(), "ExecutionTraceObserver: it is registered already, for ", state_->path);
  auto fresh = std::make_unique<State>();
  fresh->path = output_file;
  fresh->out.open(output_file);
  TORCH_CHECK(fresh->out.good(), "ExecutionTraceObserver: ", output_file, " could not be opened");
  ExecutionTraceObserver* none = nullptr;
  TORCH_CHECK(g_observer.compare_exchange_strong(none, this), "ExecutionTraceObserver: another one is registered");
  state_ = std::move(fresh);
  state_->out << "{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": " << ::getpid() << ", \"time\": \"" << local_time()
              << "\", \"start_ts\": " << now_ms() << ",\n  \"nodes\": [";
  return *this;
}

void ExecutionTraceObserver::start() {
  if (!is_registered() || is_running()) return;
  state_->callback = at::addGlobalCallback(
      at::RecordFunctionCallback(&ExecutionTraceCallbacks::begin, &ExecutionTraceCallbacks::end)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

void ExecutionTraceObserver::stop() {
  if (!is_running()) return;
  at::removeCallback(std::exchange(state_->callback, at::INVALID_CALLBACK_HANDLE));
}

void ExecutionTraceObserver::unregister_callback() {
  if (!is_registered()) return;
  stop();
  g_observer.store(nullptr);
  const std::lock_guard lock(state_->mutex);
  State::Node node;
  node.id = node.parent = kProcessNode;
  node.inputs = state_->described({});
  state_->write_node(node, "[pytorch|profiler|execution_trace|process]", state_->described({}), {});
  state_->out << "\n  ],\n  \"finish_ts\": " << now_ms() << "\n}\n";
  state_->out.close();
  if (state_->out.fail()) TORCH_WARN("ExecutionTraceObserver: ", state_->path, " could not be written");
  state_->path.clear();
}

bool ExecutionTraceObserver::is_registered() const {
  return !state_->path.empty();
}

bool ExecutionTraceObserver::is_running() const {
  return state_->callback != at::INVALID_CALLBACK_HANDLE;
}

std::string ExecutionTraceObserver::get_output_file_path() const {
  return state_->path;
}

}  // namespace torch::profiler
