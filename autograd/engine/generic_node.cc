#include "autograd/engine/generic_node.h"

#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/autograd_meta.h"
#include "c10/memory/small_object.h"

namespace torch::autograd {
namespace {

constexpr size_t round_up(size_t n) {
  return (n + 15) & ~size_t{15};
}
constexpr size_t kEdgesAt = round_up(sizeof(GenericNode));

}  // namespace

GenericNode::Ptr GenericNode::make(const NodeKind& kind, NodeShape shape) {
  const size_t bytes = kEdgesAt + round_up(sizeof(Edge) * shape.edges) + round_up(sizeof(SavedVariable) * shape.saved) +
      round_up(sizeof(InputMetadata) * shape.results) + shape.extra_bytes;
  char* block = static_cast<char*>(c10::small_alloc(bytes));
  auto* node = ::new (block) GenericNode(kind, shape, static_cast<uint32_t>(bytes), block);
  c10::detail::RefCount::init(node);
  Ptr result = Ptr::reclaim(node);
  if (C10_UNLIKELY(AnomalyMode::is_enabled())) AnomalyMode::note_creation(*node);
  return result;
}

GenericNode::GenericNode(const NodeKind& kind, NodeShape shape, uint32_t block_bytes, char* block) noexcept
    : Node(block_bytes, shape.edges, shape.results, shape.saved == 0), kind_(&kind), num_saved_(shape.saved) {
  block += kEdgesAt;
  edges_ = reinterpret_cast<Edge*>(block);
  for (uint32_t i = 0; i < shape.edges; ++i) ::new (edges_ + i) Edge();
  block += round_up(sizeof(Edge) * shape.edges);
  saved_ = reinterpret_cast<SavedVariable*>(block);
  for (uint32_t i = 0; i < shape.saved; ++i) ::new (saved_ + i) SavedVariable();
  block += round_up(sizeof(SavedVariable) * shape.saved);
  metadata_ = reinterpret_cast<InputMetadata*>(block);
  for (uint32_t i = 0; i < shape.results; ++i) ::new (metadata_ + i) InputMetadata();
  extra_ = block + round_up(sizeof(InputMetadata) * shape.results);
}

GenericNode::~GenericNode() {
  for (uint32_t i = 0; i < num_saved_; ++i) saved_[i].~SavedVariable();
  if (has_extra_ && kind_->drop != nullptr) kind_->drop(extra_);
}

void GenericNode::set_edge(size_t i, const at::Tensor& t) {
  if (requires_grad(static_cast<const at::TensorBase&>(t))) edges_[i] = gradient_edge(t);
}

std::string GenericNode::name() const {
  return kind_->name;
}

void GenericNode::release_variables() {
  for (uint32_t i = 0; i < num_saved_; ++i) saved_[i].reset_data();
}

void GenericNode::keep_past_of(const c10::TensorImpl& t) {
  for (uint32_t i = 0; i < num_saved_; ++i) saved_[i].keep_past_of(t);
}

}  // namespace torch::autograd
