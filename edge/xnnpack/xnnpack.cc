#include "edge/xnnpack/xnnpack.h"

#include <xnnpack.h>

#include <deque>
#include <list>
#include <optional>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "edge/xnnpack/operators.h"
#include "graph/passes/shape_propagation.h"

namespace torch::edge {

using c10::IValue;
using graph::Graph;
using graph::Node;
using graph::Value;

namespace {

constexpr size_t kMostBuilt = 8;  // sets of sizes that are kept for a part

struct Discard {
  void operator()(xnn_subgraph* subgraph) const { xnn_delete_subgraph(subgraph); }
  void operator()(xnn_runtime* runtime) const { xnn_delete_runtime(runtime); }
};

// A tensor that XNNPACK reads or writes: elements as it has them, and the few bytes behind that it may read.
struct Buffer {
  std::vector<int64_t> sizes;  // ours
  at::Tensor storage, own;     // all of it; the elements, channels-last
  explicit Buffer(std::vector<int64_t> of) : sizes(std::move(of)) {
    const std::vector<size_t> outer = own_sizes(sizes);
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    storage = at::zeros({count + static_cast<int64_t>(XNN_EXTRA_BYTES / sizeof(float))});
    own = storage.narrow(0, 0, count).view(std::vector<int64_t>(outer.begin(), outer.end()));
  }
  // With our order of dimensions.
  at::Tensor ours() const { return sizes.size() == 4 ? own.permute({0, 3, 1, 2}) : own; }
};

// A part for inputs of certain sizes.
class Built {
 public:
  Built(const Graph& part, const std::vector<at::Tensor>& inputs) {
    for (const at::Tensor& input : inputs) sizes_.push_back(input.sizes().vec());
    const std::unique_ptr<Graph> graph = part.clone();
    graph::propagate_shapes(*graph, std::vector<IValue>(inputs.begin(), inputs.end()));
    const graph::Block& block = graph->block();
    const size_t externals = block.input_count() + block.outputs().size();
    xnn_subgraph* subgraph = nullptr;
    check(xnn_create_subgraph(static_cast<uint32_t>(externals), 0, &subgraph), "a subgraph");
    const std::unique_ptr<xnn_subgraph, Discard> owned(subgraph);
    Definition definition(subgraph, constants_);
    uint32_t next = 0;
    const auto external = [&](const Value& value, uint32_t flags) {
      buffers_.emplace_back(sizes_of(value));
      const std::vector<size_t> own = own_sizes(buffers_.back().sizes);
      uint32_t id = XNN_INVALID_VALUE_ID;
      check(xnn_define_tensor_value(subgraph, xnn_datatype_fp32, own.size(), own.data(), nullptr, next++, flags, &id),
            "a value");
      definition.set_id(value, id);
    };
    for (size_t i = 0; i < block.input_count(); ++i) external(*block.input(i), XNN_VALUE_FLAG_EXTERNAL_INPUT);
    for (const graph::Operand& output : block.outputs()) external(*output.value(), XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
    for (const Node* node : block) {
      check(define(definition, *node), toString(node->callable().schema().operator_name()).c_str());
    }
    xnn_runtime* runtime = nullptr;
    check(xnn_create_runtime_v2(subgraph, nullptr, 0, &runtime), "a runtime");
    runtime_.reset(runtime);
    std::vector<xnn_external_value> values;
    for (size_t i = 0; i < buffers_.size(); ++i) {
      values.push_back({static_cast<uint32_t>(i), buffers_[i].storage.data_ptr()});
    }
    check(xnn_setup_runtime(runtime, values.size(), values.data()), "its memory");
  }

  bool is_for(const std::vector<at::Tensor>& inputs) const {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (inputs[i].sizes() != c10::IntArrayRef(sizes_[i])) return false;
    }
    return true;
  }
  void run(const std::vector<at::Tensor>& inputs, c10::Stack& stack) const {
    for (size_t i = 0; i < inputs.size(); ++i) buffers_[i].ours().copy_(inputs[i]);
    check(xnn_invoke_runtime(runtime_.get()), "a run");
    stack.clear();
    for (size_t i = inputs.size(); i < buffers_.size(); ++i) {
      // As eager operators leave it: what follows may look at it in its order.
      at::Tensor out = at::empty_contiguous(buffers_[i].sizes, at::kFloat);
      out.copy_(buffers_[i].ours());
      stack.emplace_back(std::move(out));
    }
  }

 private:
  static void check(xnn_status status, const char* what) {
    TORCH_CHECK(status == xnn_status_success, "XNNPACK refuses ", what, " (status ", static_cast<int>(status), ")");
  }

  std::vector<std::vector<int64_t>> sizes_;
  std::deque<at::Tensor> constants_;
  std::deque<Buffer> buffers_;  // inputs, then outputs
  std::unique_ptr<xnn_runtime, Discard> runtime_;
};

class XnnpackPart final : public CompiledPart {
 public:
  explicit XnnpackPart(std::unique_ptr<Graph> part) : part_(std::move(part)) {
    for ([[maybe_unused]] const Node* node : part_->block()) ++nodes_;
  }
  size_t nodes() const override { return nodes_; }
  void run(c10::Stack& stack) override {
    std::vector<at::Tensor> inputs;
    for (const IValue& value : stack) inputs.push_back(value.toTensor());
    for (auto built = built_.begin(); built != built_.end(); ++built) {
      if (!built->is_for(inputs)) continue;
      built_.splice(built_.begin(), built_, built);
      return built_.front().run(inputs, stack);
    }
    built_.emplace_front(*part_, inputs);
    if (built_.size() > kMostBuilt) built_.pop_back();
    built_.front().run(inputs, stack);
  }

 private:
  std::unique_ptr<Graph> part_;
  size_t nodes_ = 0;
  std::list<Built> built_;
};

}  // namespace

XnnpackDelegate::XnnpackDelegate() {
  const xnn_status status = xnn_initialize(nullptr);
  TORCH_CHECK(status == xnn_status_success, "XNNPACK does not run on this processor (status ", static_cast<int>(status),
              ")");
}
std::string XnnpackDelegate::why_not(const Node& node) const {
  return why_not_run(node);
}
std::unique_ptr<CompiledPart> XnnpackDelegate::compile(std::unique_ptr<Graph> part) const {
  return std::make_unique<XnnpackPart>(std::move(part));
}

}  // namespace torch::edge
