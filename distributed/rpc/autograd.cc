#include "distributed/rpc/autograd.h"

#include <algorithm>
#include <utility>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/node_extras.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/rpc/autograd_context.h"
#include "distributed/rpc/rref.h"

namespace torch::distributed::autograd {
namespace {

using at::Tensor;
using c10::IValue;
using rpc::JitFuture;
using rpc::MessagePtr;
using rpc::MessageType;
using torch::autograd::AccumulateGrad;
using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::NodeExtras;
namespace grad_ops = torch::autograd::grad_ops;

thread_local int64_t current_id = 0;

// Where tensors left for another worker: their gradients come from there.
class SendRpcBackward final : public Node {
 public:
  using Node::Node;
  std::string name() const override { return "SendRpcBackward"; }

 protected:
  variable_list apply(variable_list&& grads) override { return std::move(grads); }
};

// Where tensors came from another worker: their gradients go there, which a local pass cannot do.
class RecvRpcBackward final : public Node {
 public:
  RecvRpcBackward(worker_id_t from, int64_t message) : from(from), message(message) {}
  std::string name() const override { return "RecvRpcBackward"; }

  const worker_id_t from;
  const int64_t message;

 protected:
  variable_list apply(variable_list&&) override {
    TORCH_CHECK(false, "backward: a tensor came from worker ", from,
                ", where a local backward pass does not go: call torch::distributed::autograd::backward");
  }
};

// A future that is completed when all are, or with the first error.
FuturePtr all_of(std::vector<FuturePtr> futures, std::function<IValue()> value) {
  struct Wait {
    std::atomic<size_t> left;
    FuturePtr all = rpc::make_future();
    std::function<IValue()> value;
  };
  const auto wait = std::make_shared<Wait>();
  wait->left = futures.size();
  wait->value = std::move(value);
  if (futures.empty()) wait->all->markCompleted(wait->value());
  for (const FuturePtr& future : futures) {
    future->addCallback([wait](JitFuture& done) {
      if (done.hasError()) wait->all->setErrorIfNeeded(done.exception_ptr());
      if (wait->left.fetch_sub(1) == 1 && !wait->all->completed()) wait->all->markCompleted(wait->value());
    });
  }
  return wait->all;
}

}  // namespace

// A pass over a worker's part of the graph, in steps: a node runs once all gradients that flow into it have come, and
// those of tensors that were sent come when other workers have them.
class LocalPass {
 public:
  LocalPass(DistAutogradContext& context, int64_t id, bool retain_graph, const edge_list& roots)
      : id(id), context_(context), retain_graph_(retain_graph), sends_(context.sendFunctions()) {
    for (const auto& [message, node] : sends_) discover(node);
    for (const Edge& root : roots) discover(root.function);
  }

  const int64_t id;

  void feed(const Edge& edge, Tensor grad) {
    Task& task = tasks_.at(edge.function.get());
    add(task, edge.input_nr, std::move(grad));
    arrive(task);
  }
  void feed_message(int64_t message, variable_list grads) {
    const auto found = sends_.find(message);
    TORCH_CHECK(found != sends_.end(), "backward: context ", context_.contextId(), " has no message ", message,
                ": it was sent after backward had begun, or never");
    Task& task = tasks_.at(found->second.get());
    TORCH_CHECK(task.missing != 0, "backward: gradients of message ", message, " came twice");
    TORCH_CHECK_VALUE(grads.size() == task.node->num_inputs(), "backward: got ", grads.size(), " gradients of ",
                      task.node->num_inputs(), " tensors");
    for (uint32_t i = 0; i < grads.size(); ++i) add(task, i, std::move(grads[i]));
    arrive(task);
  }
  // Throws where a node has got some of its gradients and waits for others.
  void check_whole() const {
    for (const auto& [node, task] : tasks_) {
      const bool has_some =
          std::any_of(task.grads.begin(), task.grads.end(), [](const Tensor& grad) { return grad.defined(); });
      TORCH_CHECK(task.missing == 0 || !has_some, "backward: gradients of ", node->name(),
                  " are not whole: of the tensors that worker ", context_.own(), " sent in context ",
                  context_.contextId(), ", some that depend on it take no part in the loss");
    }
  }
  std::vector<FuturePtr> run(rpc::RpcAgent& agent) {
    const c10::AutoGradMode mode(false);
    std::vector<FuturePtr> sent;
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end());
      const NodePtr node = std::move(ready_.back().node);
      ready_.pop_back();
      run_node(*node, std::move(tasks_.at(node.get()).grads), agent, sent);
    }
    return sent;
  }

 private:
  struct Task {
    NodePtr node;
    uint32_t missing = 0;  // edges, roots and messages that have not delivered
    variable_list grads;
  };
  struct Ready {
    NodePtr node;
    bool operator<(const Ready& other) const { return node->sequence_nr() < other.node->sequence_nr(); }
  };

  // Counts what each node from here on waits for; `root` waits for what comes from outside, too.
  void discover(const NodePtr& root) {
    std::vector<Node*> open;
    const auto reach = [&](const NodePtr& node) {
      const auto [at, is_new] = tasks_.try_emplace(node.get());
      if (is_new) {
        at->second.node = node;
        at->second.grads.resize(node->num_inputs());
        open.push_back(node.get());
      }
      ++at->second.missing;
    };
    reach(root);
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      for (const Edge* edge = node->next_edges_begin(); edge != node->next_edges_end(); ++edge) {
        if (edge->is_valid()) reach(edge->function);
      }
    }
  }

  static void add(Task& task, uint32_t input_nr, Tensor grad) {
    if (!grad.defined()) return;
    const torch::autograd::InputMetadata& want = task.node->input_metadata(input_nr);
    TORCH_CHECK(!want.defined() || grad_ops::fit(grad, want), "backward: ", task.node->name(),
                " got a gradient of size ", grad.sizes(), " for a tensor of size ", want.shape());
    Tensor& sum = task.grads[input_nr];
    sum = sum.defined() ? grad_ops::add(sum, grad) : std::move(grad);
  }
  void arrive(Task& task) {
    if (--task.missing != 0) return;
    ready_.push_back({task.node});
    std::push_heap(ready_.begin(), ready_.end());
  }

  static void run_tensor_hooks(NodeExtras& extras, variable_list& grads) {
    for (size_t i = 0; i < extras.tensor_hooks.size(); ++i) {
      Tensor& grad = grads[extras.tensor_hooks[i].input_nr];
      if (!grad.defined() && !extras.tensor_hooks[i].even_undefined) continue;
      const torch::autograd::TensorHook hook = extras.tensor_hooks[i].hook;
      if (Tensor replaced = hook(grad); replaced.defined()) grad = std::move(replaced);
    }
    for (const NodeExtras::Retained& retained : extras.retained) {
      const c10::intrusive_ptr<c10::TensorImpl> tensor = retained.tensor.lock();
      if (!tensor || !grads[retained.input_nr].defined()) continue;
      Tensor& kept = tensor->autograd_meta()->mutable_grad();
      kept = kept.defined() ? grad_ops::add(kept, grads[retained.input_nr]) : grads[retained.input_nr];
    }
  }

  void run_node(Node& node, variable_list grads, rpc::RpcAgent& agent, std::vector<FuturePtr>& sent) {
    if (node.extras() != nullptr) run_tensor_hooks(*node.extras(), grads);
    if (const auto* const from = dynamic_cast<RecvRpcBackward*>(&node)) {
      sent.push_back(send_back(*from, grads, agent));
      return;
    }
    if (const auto* const leaf = dynamic_cast<AccumulateGrad*>(&node)) {
      if (const Tensor t = leaf->variable(); t.defined() && grads[0].defined()) context_.accumulateGrad(t, grads[0]);
      return;
    }
    variable_list out = evaluate(node, std::move(grads));
    out.resize(node.num_outputs());
    for (uint32_t i = 0; i < node.num_outputs(); ++i) {
      const Edge& edge = node.next_edge(i);
      if (!edge.is_valid()) continue;
      Task& task = tasks_.at(edge.function.get());
      add(task, edge.input_nr, std::move(out[i]));
      arrive(task);
    }
  }

  variable_list evaluate(Node& node, variable_list grads) const {
    const bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); });
    if (!any && node.is_generic()) return {};
    NodeExtras* const extras = node.extras();
    if (extras == nullptr) {
      variable_list out = node(std::move(grads));
      if (!retain_graph_) node.release_variables();
      return out;
    }
    for (size_t i = 0; i < extras->pre_hooks.size(); ++i) {
      const auto hook = extras->pre_hooks[i];
      grads = (*hook)(grads);
    }
    const variable_list given = grads;
    variable_list out = node(std::move(grads));
    for (size_t i = 0; i < extras->post_hooks.size(); ++i) {
      const auto hook = extras->post_hooks[i];
      out = (*hook)(out, given);
    }
    if (!retain_graph_) node.release_variables();
    return out;
  }

  FuturePtr send_back(const RecvRpcBackward& node, const variable_list& grads, rpc::RpcAgent& agent) const {
    std::vector<IValue> values;
    for (const Tensor& grad : grads) values.push_back(grad.defined() ? IValue(grad.detach()) : IValue());
    MessagePtr message =
        rpc::pack(MessageType::BACKWARD_AUTOGRAD_REQ,
                  c10::ivalue::Tuple::create({IValue(id), IValue(retain_graph_), IValue(std::move(values))}));
    message->autograd_context = context_.contextId();
    message->autograd_message = node.message;
    message->about = "gradients";
    return agent.send(agent.getWorkerInfo(node.from), std::move(message));
  }

  DistAutogradContext& context_;
  const bool retain_graph_;
  const std::map<int64_t, NodePtr> sends_;
  std::unordered_map<Node*, Task> tasks_;
  std::vector<Ready> ready_;
};

// --- a context ---

int64_t current_context_id() {
  return current_id;
}
ContextScope::ContextScope(int64_t id) : before_(std::exchange(current_id, id)) {}
ContextScope::~ContextScope() {
  current_id = before_;
}

DistAutogradContext::DistAutogradContext(int64_t id, worker_id_t own) : id_(id), own_(own) {}
DistAutogradContext::~DistAutogradContext() = default;

void DistAutogradContext::addKnownWorkerId(worker_id_t worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.insert(worker);
}
std::set<worker_id_t> DistAutogradContext::getKnownWorkerIds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_;
}
void DistAutogradContext::addSendFunction(int64_t message, NodePtr node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sends_.emplace(message, std::move(node));
}
std::map<int64_t, NodePtr> DistAutogradContext::sendFunctions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sends_;
}

void DistAutogradContext::accumulateGrad(const Tensor& leaf, const Tensor& grad) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& [kept_leaf, sum] = grads_[leaf.unsafeGetTensorImpl()];
  kept_leaf = leaf;
  // A copy where somebody else may write to it.
  sum = sum.defined()                   ? grad_ops::add(sum, grad)
        : grad_ops::is_sole_dense(grad) ? grad
                                        : grad_ops::clone_like(grad, leaf);
}

void DistAutogradContext::check_whole() {
  const std::lock_guard<std::mutex> lock(running_);
  if (pass_) pass_->check_whole();
}

c10::Dict<Tensor, Tensor> DistAutogradContext::getGradients() {
  check_whole();
  const std::lock_guard<std::mutex> lock(mutex_);
  c10::Dict<Tensor, Tensor> grads;
  for (const auto& [impl, pair] : grads_) grads.insert(pair.first, pair.second);
  return grads;
}

// Precondition: running_ is held.
LocalPass& DistAutogradContext::pass_of(int64_t pass, bool retain_graph, const edge_list& roots) {
  if (!pass_ || pass_->id != pass) pass_ = std::make_unique<LocalPass>(*this, pass, retain_graph, roots);
  return *pass_;
}

std::vector<FuturePtr> DistAutogradContext::run_roots(int64_t pass, bool retain_graph, const edge_list& roots,
                                                      const variable_list& grads, rpc::RpcAgent& agent) {
  const std::lock_guard<std::mutex> lock(running_);
  LocalPass& own = pass_of(pass, retain_graph, roots);
  for (size_t i = 0; i < roots.size(); ++i) own.feed(roots[i], grads[i]);
  return own.run(agent);
}

std::vector<FuturePtr> DistAutogradContext::run_message(int64_t pass, bool retain_graph, int64_t message,
                                                        variable_list grads, rpc::RpcAgent& agent) {
  const std::lock_guard<std::mutex> lock(running_);
  LocalPass& own = pass_of(pass, retain_graph, {});
  own.feed_message(message, std::move(grads));
  return own.run(agent);
}

// --- the contexts of a worker ---

std::shared_ptr<DistAutogradContainer> DistAutogradContainer::current() {
  return rpc::RRefContext::current()->autograd();
}

std::shared_ptr<rpc::RpcAgent> DistAutogradContainer::agent() const {
  std::shared_ptr<rpc::RpcAgent> agent = agent_.lock();
  TORCH_CHECK(agent != nullptr, "rpc: RPC was shut down");
  return agent;
}

int64_t DistAutogradContainer::currentContextId() {
  return current_id == 0 ? kNoContext : current_id;
}
void DistAutogradContainer::forceCurrentContextId(int64_t id) {
  current_id = id == kNoContext ? 0 : id;
}
void DistAutogradContainer::setCurrentContextId(int64_t id) {
  TORCH_CHECK(current_id == 0, "Already have an autograd context id for this thread: ", current_id);
  forceCurrentContextId(id);
}
void DistAutogradContainer::clearCurrentContext() {
  current_id = 0;
}
bool DistAutogradContainer::hasValidContext() const {
  return current_id != 0 && find(current_id) != nullptr;
}
ContextPtr DistAutogradContainer::currentContext() const {
  TORCH_CHECK(hasValidContext(),
              "rpc: this thread is in no autograd context: make one with newContext() or "
              "torch::distributed::autograd::context");
  return retrieveContext(current_id);
}

int64_t DistAutogradContainer::newAutogradMessageId() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(own_) << 48 | next_++;
}

ContextPtr DistAutogradContainer::newContext() {
  const int64_t id = newAutogradMessageId();
  setCurrentContextId(id);
  return getOrCreateContext(id);
}

ContextPtr DistAutogradContainer::find(int64_t id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = contexts_.find(id);
  return found == contexts_.end() ? nullptr : found->second;
}
ContextPtr DistAutogradContainer::retrieveContext(int64_t id) const {
  ContextPtr context = find(id);
  TORCH_CHECK(context != nullptr, "Could not find autograd context with id: ", id);
  return context;
}
ContextPtr DistAutogradContainer::getOrCreateContext(int64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ContextPtr& context = contexts_[id];
  if (!context) context = std::make_shared<DistAutogradContext>(id, own_);
  return context;
}

void DistAutogradContainer::releaseContext(int64_t id) {
  isValidContext(id);
  releaseContextIfPresent(id);
}

void DistAutogradContainer::releaseContextIfPresent(int64_t id) {
  if (current_id == id) current_id = 0;
  ContextPtr context;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = contexts_.find(id);
    if (found == contexts_.end()) return;
    context = std::move(found->second);
    contexts_.erase(found);
  }
  const std::shared_ptr<rpc::RpcAgent> agent = agent_.lock();
  if (!agent) return;
  for (const worker_id_t worker : context->getKnownWorkerIds()) {
    if (worker == own_) continue;
    MessagePtr message = rpc::pack(MessageType::CLEANUP_AUTOGRAD_CONTEXT_REQ, id);
    message->about = "the end of an autograd context";
    agent->sendWithRetries(agent->getWorkerInfo(worker), std::move(message));
  }
}

size_t DistAutogradContainer::numAutogradContexts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return contexts_.size();
}
void DistAutogradContainer::close() {
  decltype(contexts_) gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  gone.swap(contexts_);
}

void DistAutogradContainer::record_send(Message& message, worker_id_t to, int64_t id) {
  if (id == 0) return;
  const ContextPtr context = find(id);
  if (!context) return;
  message.autograd_context = id;
  context->addKnownWorkerId(to);
  if (!c10::GradMode::is_enabled()) return;
  edge_list edges;
  std::vector<Tensor> tensors;
  for (const Tensor& t : message.tensors()) {
    if (!t.defined() || !t.requires_grad()) continue;
    edges.push_back(torch::autograd::gradient_edge(t));
    tensors.push_back(t);
  }
  if (edges.empty()) return;
  auto node = c10::make_intrusive<SendRpcBackward>(std::move(edges));
  for (const Tensor& t : tensors) node->add_input_metadata(t);
  message.autograd_message = newAutogradMessageId();
  context->addSendFunction(message.autograd_message, std::move(node));
}

void DistAutogradContainer::record_recv(Message& message) {
  if (message.autograd_context == 0) return;
  const ContextPtr context =
      message.isRequest() ? getOrCreateContext(message.autograd_context) : find(message.autograd_context);
  if (!context) return;
  context->addKnownWorkerId(message.from);
  if (message.autograd_message == 0) return;
  const auto node = c10::make_intrusive<RecvRpcBackward>(message.from, message.autograd_message);
  for (Tensor& t : message.tensors()) {
    if (!t.defined() || !t.requires_grad()) continue;
    t.set_requires_grad(false);
    torch::autograd::set_gradient_edge(t, {node, node->add_input_metadata(t)});
  }
}

void DistAutogradContainer::backward(int64_t id, const std::vector<Tensor>& roots, bool retain_graph) {
  TORCH_CHECK_VALUE(!roots.empty(), "backward: there are no roots");
  edge_list edges;
  variable_list grads;
  for (size_t i = 0; i < roots.size(); ++i) {
    TORCH_CHECK_VALUE(roots[i].defined() && roots[i].requires_grad(), "backward: root ", i, " requires no gradient");
    TORCH_CHECK_VALUE(roots[i].numel() == 1, "backward: root ", i, " is not a scalar, but of size ", roots[i].sizes());
    edges.push_back(torch::autograd::gradient_edge(roots[i]));
    grads.push_back(grad_ops::one(roots[i]));
  }
  const ContextPtr context = retrieveContext(id);
  const int64_t pass = newAutogradMessageId();
  const std::shared_ptr<rpc::RpcAgent> agent = this->agent();
  rpc::detail::wait_for(all_of(context->run_roots(pass, retain_graph, edges, grads, *agent), [] { return IValue(); }));
  context->check_whole();
}

FuturePtr DistAutogradContainer::propagate(const Message& request) {
  const IValue value = rpc::unpack(request);
  const auto parts = value.toTupleRef().elementsArrayRef();
  TORCH_CHECK_WITH(DistNetworkError, parts.size() == 3, "backward: a message has no gradients");
  variable_list grads;
  for (const IValue& grad : parts[2].toListRef()) grads.push_back(grad.isNone() ? Tensor() : grad.toTensor());
  const ContextPtr context = retrieveContext(request.autograd_context);
  const std::shared_ptr<rpc::RpcAgent> agent = this->agent();
  return all_of(
      context->run_message(parts[0].toInt(), parts[1].toBool(), request.autograd_message, std::move(grads), *agent),
      [] { return rpc::to_value(rpc::pack(MessageType::BACKWARD_AUTOGRAD_RESP, IValue())); });
}

// --- for users ---

context::context() {
  id_ = DistAutogradContainer::current()->newContext()->contextId();
}
context::~context() {
  current_id = 0;
  try {
    DistAutogradContainer::current()->releaseContextIfPresent(id_);
  } catch (const c10::Error&) {
    // RPC was shut down, and with it all contexts.
  }
}

void backward(int64_t context_id, const std::vector<Tensor>& roots, bool retain_graph) {
  DistAutogradContainer::current()->backward(context_id, roots, retain_graph);
}
DistEngine& DistEngine::getInstance() {
  static DistEngine engine;
  return engine;
}
c10::Dict<Tensor, Tensor> get_gradients(int64_t context_id) {
  return DistAutogradContainer::current()->retrieveContext(context_id)->getGradients();
}

}  // namespace torch::distributed::autograd
