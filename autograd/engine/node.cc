#include "autograd/engine/node.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "aten/core/sequence_number.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/node_extras.h"
#include "autograd/engine/node_gate.h"
#include "c10/memory/small_object.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::autograd {
namespace {

struct Graveyard {
  Node* waiting = nullptr;
  bool digging = false;
};
thread_local constinit Graveyard graveyard;

}  // namespace

uint64_t next_sequence_nr() noexcept {
  return at::sequence_number::get_and_increment();
}

// Destroys nodes one after the other: the edges of a dying node release further nodes, which then wait in a list.
struct NodeReaper {
  static void reap(Node* node) noexcept {
    Graveyard& own = graveyard;
    if (own.digging) {
      push(own, node);
      return;
    }
    own.digging = true;
    destroy(node);
    while (own.waiting != nullptr) {
      Node* next = own.waiting;
      own.waiting = next->order_.next_dead;
      destroy(next);
    }
    own.digging = false;
  }

 private:
  static void push(Graveyard& own, Node* node) noexcept {
    node->order_.next_dead = own.waiting;
    own.waiting = node;
  }
  static void destroy(Node* node) noexcept {
    const uint32_t block_bytes = node->block_bytes_;
    void* start = dynamic_cast<void*>(node);
    node->~Node();
    if (block_bytes != 0) {
      c10::small_free(start, block_bytes);
    } else {
      ::operator delete(start);
    }
  }
};

Node::Node(uint64_t sequence_nr, edge_list&& next_edges) : order_{sequence_nr} {
  if (!next_edges.empty()) set_next_edges(std::move(next_edges));
  if (AnomalyMode::is_enabled()) AnomalyMode::note_creation(*this);
}

Node::Node(uint32_t block_bytes, uint32_t num_edges, uint32_t num_inputs, bool saves_nothing) noexcept
    : order_{next_sequence_nr()},
      num_edges_(num_edges),
      num_inputs_(num_inputs),
      block_bytes_(block_bytes),
      gate_(saves_nothing ? NodeGate::kSavesNothing : 0) {}

Node::~Node() {
  for (uint32_t i = 0; i < num_edges_; ++i) edges_[i].~Edge();
  for (uint32_t i = 0; i < num_inputs_; ++i) metadata_[i].~InputMetadata();
  if (edge_capacity_ != 0) c10::small_free(edges_, sizeof(Edge) * edge_capacity_);
  if (metadata_capacity_ != 0) c10::small_free(metadata_, sizeof(InputMetadata) * metadata_capacity_);
  delete extras_;
}

void Node::operator delete(Node* self, std::destroying_delete_t) noexcept {
  NodeReaper::reap(self);
}

std::string Node::name() const {
  return c10::demangle(typeid(*this).name());
}

namespace {

// Grows a small_alloc'ed array of T to hold one more; moves the elements.
template <class T>
void grow(T*& data, uint32_t size, uint32_t& capacity) {
  const uint32_t wanted = std::max<uint32_t>(2, size * 2);
  T* fresh = static_cast<T*>(c10::small_alloc(sizeof(T) * wanted));
  for (uint32_t i = 0; i < size; ++i) {
    ::new (fresh + i) T(std::move(data[i]));
    data[i].~T();
  }
  if (capacity != 0) c10::small_free(data, sizeof(T) * capacity);
  data = fresh;
  capacity = wanted;
}

}  // namespace

uint32_t Node::append_metadata(InputMetadata&& metadata) {
  TORCH_INTERNAL_ASSERT(!arrays_inline());
  if (num_inputs_ == metadata_capacity_) grow(metadata_, num_inputs_, metadata_capacity_);
  ::new (metadata_ + num_inputs_) InputMetadata(std::move(metadata));
  return num_inputs_++;
}

uint32_t Node::add_input_metadata(const at::Tensor& t) {
  return append_metadata(InputMetadata(t));
}

uint32_t Node::add_input_metadata(const at::TensorOptions& options, at::IntArrayRef shape) {
  return append_metadata(InputMetadata(options, shape));
}

uint32_t Node::add_input_metadata(undefined_input) {
  return append_metadata(InputMetadata());
}

const InputMetadata* Node::result_on_device() const noexcept {
  for (uint32_t i = 0; i < num_inputs_; ++i) {
    if (C10_UNLIKELY(metadata_[i].has_stream())) return &metadata_[i];
  }
  return nullptr;
}

std::optional<at::Device> Node::device() const noexcept {
  const InputMetadata* const result = result_on_device();
  return result == nullptr ? std::nullopt : std::optional<at::Device>(result->device());
}

std::optional<c10::Stream> Node::stream() const noexcept {
  const InputMetadata* const result = result_on_device();
  return result == nullptr ? std::nullopt : std::optional<c10::Stream>(result->stream());
}

void Node::add_next_edge(Edge edge) {
  TORCH_INTERNAL_ASSERT(!arrays_inline());
  if (num_edges_ == edge_capacity_) grow(edges_, num_edges_, edge_capacity_);
  ::new (edges_ + num_edges_++) Edge(std::move(edge));
}

void Node::set_next_edges(edge_list&& edges) {
  if (!arrays_inline()) {
    while (num_edges_ != 0) edges_[--num_edges_].~Edge();
    for (Edge& edge : edges) add_next_edge(std::move(edge));
    return;
  }
  TORCH_CHECK(
      edges.size() == num_edges_, name(), ": set_next_edges got ", edges.size(), " edges, expected ", num_edges_);
  for (uint32_t i = 0; i < num_edges_; ++i) edges_[i] = std::move(edges[i]);
}

void Node::set_saves_nothing() noexcept {
  gate_.store<c10::MemoryOrder::relaxed>(NodeGate::kSavesNothing);
}

NodeExtras& Node::mutable_extras() {
  if (extras_ == nullptr) extras_ = new NodeExtras;
  return *extras_;
}

uintptr_t Node::add_pre_hook(std::unique_ptr<FunctionPreHook>&& hook) {
  TORCH_CHECK(hook != nullptr, name(), ": add_pre_hook got no hook");
  return reinterpret_cast<uintptr_t>(mutable_extras().pre_hooks.emplace_back(std::move(hook)).get());
}

uintptr_t Node::add_post_hook(std::unique_ptr<FunctionPostHook>&& hook) {
  TORCH_CHECK(hook != nullptr, name(), ": add_post_hook got no hook");
  return reinterpret_cast<uintptr_t>(mutable_extras().post_hooks.emplace_back(std::move(hook)).get());
}

namespace {

template <class Hook>
bool remove_by_address(std::vector<std::shared_ptr<Hook>>& hooks, uintptr_t key) {
  return std::erase_if(hooks, [key](const auto& hook) { return reinterpret_cast<uintptr_t>(hook.get()) == key; }) != 0;
}

}  // namespace

bool Node::del_pre_hook(const uintptr_t& key) {
  return extras_ != nullptr && remove_by_address(extras_->pre_hooks, key);
}

bool Node::del_post_hook(const uintptr_t& key) {
  return extras_ != nullptr && remove_by_address(extras_->post_hooks, key);
}

variable_list Node::apply(variable_list&&) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, name(), " overrides neither apply() nor evaluate()");
}

void Node::evaluate(at::Tensor* in, at::Tensor* out) {
  variable_list inputs;
  inputs.reserve(num_inputs_);
  for (uint32_t i = 0; i < num_inputs_; ++i) inputs.push_back(std::move(in[i]));
  variable_list outputs = apply(std::move(inputs));
  const size_t expected = num_edges_;
  if (outputs.size() > expected) {
    // Surplus gradients are harmless where nothing comes with them.
    for (size_t i = expected; i < outputs.size(); ++i) {
      if (outputs[i].defined()) throw_wrong_count(expected, outputs.size());
    }
  }
  if (outputs.size() < expected) throw_wrong_count(expected, outputs.size());
  for (size_t i = 0; i < expected; ++i) out[i] = std::move(outputs[i]);
}

void Node::throw_wrong_count(size_t expected, size_t got) const {
  TORCH_CHECK(
      false, "function ", name(), " returned an incorrect number of gradients (expected ", expected, ", got ", got, ")");
}

variable_list Node::operator()(variable_list&& inputs) {
  TORCH_CHECK(
      inputs.size() == num_inputs_ || num_inputs_ == 0, name(), ": got ", inputs.size(), " gradients, expected ",
      num_inputs_);
  variable_list outputs(num_edges_);
  evaluate(inputs.data(), outputs.data());
  return outputs;
}

}  // namespace torch::autograd
