#include "nn/attention/flex_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aten/autocast/autocast_mode.h"
#include "aten/core/sequence_number.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/nested/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::nn::attention {
namespace {

using at::Tensor;
using autograd::Edge;
using autograd::GradientEdge;
using autograd::variable_list;

// The scores of a step: at most so many queries and keys, and as many heads as keep it below so many elements.
constexpr int64_t kQueries = 128, kKeys = 512, kElements = int64_t{1} << 18;
const c10::DispatchKeySet kAutocast{c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA,
                                    c10::DispatchKey::AutocastPrivateUse1};
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// Keys of a step; where `masked`, mask_mod says which of them are seen.
struct Keys {
  int64_t begin, count;
  bool masked;
};

// Queries of a step, in one batch, and the keys that they are compared with. Query heads [head, head + heads) use key
// heads [key_head, key_head + key_heads), as many each.
struct Queries {
  int64_t batch, key_batch, head, heads, key_head, key_heads, begin, count;
  std::vector<Keys> keys;
};

// Lists of blocks, on the host.
class BlockLists {
 public:
  BlockLists(const Tensor& counts, const Tensor& indices) {
    if (!indices.defined()) return;
    const at::TensorOptions int32 = at::TensorOptions().dtype(at::kInt);
    counts_ = at::contiguous(at::_to_copy(counts.to(at::kCPU), int32));
    indices_ = at::contiguous(at::_to_copy(indices.to(at::kCPU), int32));
  }
  // Appends the keys of row `row` (batches, heads and rows counted on), of which there are `length`, cut into steps.
  void append(int64_t row, int64_t block, int64_t length, bool masked, std::vector<Keys>& keys) const {
    if (!indices_.defined()) return;
    const int64_t columns = indices_.size(-1), count = std::min<int64_t>(counts_.data_ptr<int32_t>()[row], columns);
    const int32_t* blocks = indices_.data_ptr<int32_t>() + row * columns;
    for (int64_t i = 0, run; i < count; i += run) {
      TORCH_CHECK_INDEX(blocks[i] >= 0, "flex_attention: block_mask names a block of keys ", blocks[i]);
      for (run = 1; i + run < count && blocks[i + run] == blocks[i] + run;) ++run;
      append_range(blocks[i] * block, std::min((blocks[i] + run) * block, length), masked, keys);
    }
  }
  static void append_range(int64_t begin, int64_t end, bool masked, std::vector<Keys>& keys) {
    for (; begin < end; begin += kKeys) keys.push_back({begin, std::min(kKeys, end - begin), masked});
  }

 private:
  Tensor counts_, indices_;
};

// One call: what it computes and in which steps.
struct Call {
  Call(const Tensor& query, const Tensor& key, const ScoreMod& score_function, const std::optional<BlockMask>& mask,
       double factor)
      : score_mod(score_function),
        mask_mod(mask.has_value() ? mask->mask_mod : MaskMod()),
        scale(factor),
        work(query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat) {
    plan(query, key, mask);
  }

  ScoreMod score_mod;
  MaskMod mask_mod;
  double scale;
  at::ScalarType work;
  std::vector<Queries> steps;

 private:
  void plan(const Tensor& query, const Tensor& key, const std::optional<BlockMask>& mask);
};

void Call::plan(const Tensor& query, const Tensor& key, const std::optional<BlockMask>& mask) {
  const int64_t batch = query.size(0), heads = query.size(1), queries = query.size(2);
  const int64_t key_batch = key.size(0), key_heads = key.size(1), length = key.size(2);
  if (key_heads == 0) return;
  const int64_t group = heads / key_heads;
  const BlockSize block = mask.has_value() ? mask->BLOCK_SIZE : BlockSize(kQueries, kKeys);
  const int64_t mask_batch = mask.has_value() ? mask->kv_indices.size(0) : 1;
  const int64_t mask_heads = mask.has_value() ? mask->kv_indices.size(1) : 1;
  const int64_t rows = std::min(block.query, kQueries);
  // A mask of its own for every head takes the heads apart.
  const int64_t widest = std::min(kKeys, std::max<int64_t>(length, 1));
  const int64_t key_heads_at_once = std::max<int64_t>(1, kElements / std::max<int64_t>(1, group * rows * widest));
  std::optional<BlockLists> partial, full;
  if (mask.has_value()) {
    partial.emplace(mask->kv_num_blocks, mask->kv_indices);
    full.emplace(mask->full_kv_num_blocks, mask->full_kv_indices);
  }
  const int64_t mask_rows = mask.has_value() ? mask->kv_indices.size(2) : 0;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t first = 0; first < queries; first += block.query) {
      const int64_t end = std::min(first + block.query, queries);
      for (int64_t h = 0; h < heads;) {
        const bool apart = mask_heads > 1;
        const int64_t key_head = h / group;
        const int64_t taken = apart ? 1 : std::min(key_heads_at_once, key_heads - key_head);
        const int64_t query_heads = apart ? 1 : taken * group;
        std::vector<Keys> keys;
        if (mask.has_value()) {
          const int64_t row =
              ((mask_batch > 1 ? b : 0) * mask_heads + (apart ? h : 0)) * mask_rows + first / block.query;
          partial->append(row, block.key, length, true, keys);
          full->append(row, block.key, length, false, keys);
        } else {
          BlockLists::append_range(0, length, false, keys);
        }
        for (int64_t q = first; q < end; q += kQueries) {
          steps.push_back(
              {b, key_batch == 1 ? 0 : b, h, query_heads, key_head, taken, q, std::min(kQueries, end - q), keys});
        }
        h += query_heads;
      }
    }
  }
}

// While it lives, the nodes that this thread records have numbers that none from before and of another thread has: how
// the nodes of a call of score_mod are told from those of what it captured.
class OwnNodes {
 public:
  OwnNodes() : before_(at::sequence_number::detail::next) { at::sequence_number::detail::next += kApart; }
  ~OwnNodes() { at::sequence_number::detail::next = before_; }
  OwnNodes(const OwnNodes&) = delete;
  OwnNodes& operator=(const OwnNodes&) = delete;

  // f(node, i) for each edge i that leads from own nodes to others.
  template <class F>
  void for_each_end(const Edge& root, const F& f) const {
    std::vector<autograd::NodePtr> pending{root.function};
    std::unordered_set<const autograd::Node*> seen{root.function.get()};
    while (!pending.empty()) {
      const autograd::NodePtr node = std::move(pending.back());
      pending.pop_back();
      for (size_t i = 0; i < node->num_outputs(); ++i) {
        const Edge& edge = node->next_edge(i);
        if (!edge.is_valid()) continue;
        if (!owns(edge)) {
          f(*node, i);
        } else if (seen.insert(edge.function.get()).second) {
          pending.push_back(edge.function);
        }
      }
    }
  }
  bool owns(const Edge& edge) const {
    const uint64_t number = edge.function->sequence_nr();
    return number >= before_ + kApart && number != autograd::Node::kAccumulateSequence;
  }

 private:
  static constexpr uint64_t kApart = uint64_t{1} << 40;
  const uint64_t before_;
};

// Where the gradients of what score_mod captured go.
class CapturedEdges {
 public:
  void add(const OwnNodes& own, const Tensor& result) {
    const Edge root = autograd::gradient_edge(result);
    if (!own.owns(root)) return add(root);
    own.for_each_end(root, [&](const autograd::Node& node, size_t i) { add(node.next_edge(i)); });
  }
  const std::vector<Edge>& edges() const { return edges_; }

 private:
  void add(const Edge& edge) {
    if (std::find(edges_.begin(), edges_.end(), edge) == edges_.end()) edges_.push_back(edge);
  }
  std::vector<Edge> edges_;
};

// Stands before a captured tensor's node in the graph of a block: its gradient is taken there, and neither goes on to
// what other captured tensors were made of nor meets hooks, which see the sum over all blocks. It leads on where that
// gradient is to be differentiated, by what blocks keep of their results.
class CapturedPlace final : public autograd::Node {
 public:
  CapturedPlace(const Edge& captured, bool leads_on) : Node(uint64_t{0}) {
    const autograd::InputMetadata& metadata = captured.function->input_metadata(captured.input_nr);
    add_input_metadata(metadata.options(), metadata.shape());
    if (leads_on) add_next_edge(captured);
  }

 protected:
  variable_list apply(variable_list&& grads) override {
    return num_outputs() == 0 ? variable_list() : std::move(grads);
  }
};

GradientEdge place_of(const Edge& edge) {
  return {edge.function, edge.input_nr};
}

class CapturedPlaces {
 public:
  CapturedPlaces(const std::vector<Edge>& captured, bool lead_on) : captured_(captured) {
    for (const Edge& edge : captured_) places_.emplace_back(c10::make_intrusive<CapturedPlace>(edge, lead_on), 0);
  }
  // The graph of a call of score_mod leads to these places instead of the captured tensors.
  void stand_in(const OwnNodes& own, const Tensor& result) const {
    own.for_each_end(autograd::gradient_edge(result), [&](autograd::Node& node, size_t i) {
      const auto found = std::find(captured_.begin(), captured_.end(), node.next_edge(i));
      if (found != captured_.end()) node.set_next_edge(i, places_[static_cast<size_t>(found - captured_.begin())]);
    });
  }
  void append_to(std::vector<GradientEdge>& inputs) const {
    for (const Edge& place : places_) inputs.push_back(place_of(place));
  }

 private:
  const std::vector<Edge>& captured_;
  std::vector<Edge> places_;
};

// The part of a tensor [B, H, L, E] that a step uses, as [key heads, rows, E] in the dtype of the work. Rows are those
// of the query heads that share a key head, one after another.
Tensor query_part(const Tensor& t, const Queries& s) {
  return at::slice(at::slice(at::select(t, 0, s.batch), 0, s.head, s.head + s.heads), 1, s.begin, s.begin + s.count);
}
Tensor key_part(const Tensor& t, const Queries& s, const Keys& k) {
  return at::slice(at::slice(at::select(t, 0, s.key_batch), 0, s.key_head, s.key_head + s.key_heads), 1, k.begin,
                   k.begin + k.count);
}
Tensor in(at::ScalarType dtype, const Tensor& t) {
  return t.scalar_type() == dtype ? t : at::_to_copy(t, at::TensorOptions().dtype(dtype));
}
Tensor grouped(const Tensor& t, const Queries& s) {
  return at::reshape(t, {s.key_heads, s.heads / s.key_heads * s.count, t.size(-1)});
}
Tensor by_head(const Tensor& t, const Queries& s) {
  return at::view(t, {s.heads, s.count, t.size(-1)});
}

struct Indices {
  Indices(const Queries& s, const Keys& k, at::Device device)
      : b(detail::index_range(s.batch, 1, 0, device)),
        h(detail::index_range(s.head, s.heads, 1, device)),
        q(detail::index_range(s.begin, s.count, 2, device)),
        kv(detail::index_range(k.begin, k.count, 3, device)) {}
  Tensor b, h, q, kv;
};

// score_mod's answer for scores [1, heads, queries, keys], of their sizes and dtype.
Tensor modified(const ScoreMod& score_mod, const Tensor& scores, const Indices& at_) {
  Tensor result = score_mod(scores, at_.b, at_.h, at_.q, at_.kv);
  TORCH_CHECK_VALUE(result.defined(), "score_mod: expected a tensor, but got an undefined one");
  result = in(scores.scalar_type(), result);
  return result.sizes() == scores.sizes() ? result : at::expand(result, scores.sizes());
}

// Scores of keys that a query does not see are minus infinity. [heads, queries, keys]
Tensor masked(const Call& call, const Queries& s, const Keys& k, const Tensor& scores) {
  const Tensor heads = at::view(scores, {s.heads, s.count, k.count});
  if (!k.masked || !call.mask_mod) return heads;
  const Indices i(s, k, scores.device());
  const Tensor hidden = at::logical_not(detail::call_mask_mod(call.mask_mod, i.b, i.h, i.q, i.kv));
  return at::view(at::masked_fill(scores, hidden, kMinusInfinity), {s.heads, s.count, k.count});
}

Tensor finite(const Tensor& m) {
  return at::masked_fill(m, at::eq(m, kMinusInfinity), 0);
}

void write(Tensor part, const Tensor& values) {
  at::copy_(part, values);
}
void accumulate(Tensor part, const Tensor& values) {
  at::add_(part, values);
}

struct Results {
  Tensor out, lse, max_scores;
};

// Whether operators alone know what to do with it: it has a tangent, or is a sample of vmap.
bool needs_operators(const Tensor& t) {
  return t.defined() &&
         (t.key_set().has(c10::DispatchKey::ForwardAD) || t.key_set().has(c10::DispatchKey::FuncTorchBatched));
}
bool needs_operators(const variable_list& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return needs_operators(t); });
}

// Nothing where a captured tensor needs operators.
std::optional<Results> attend(const Call& call, const Tensor& query, const Tensor& key, const Tensor& value,
                              bool records, CapturedEdges& captured) {
  const c10::NoGradGuard no_grad;
  const at::TensorOptions options = query.options().dtype(call.work).requires_grad(false);
  const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  const at::IntArrayRef rows(sizes, 3);
  Results results{at::zeros(sizes, options.dtype(query.scalar_type())), at::full(rows, kMinusInfinity, options),
                  at::full(rows, kMinusInfinity, options)};
  for (const Queries& s : call.steps) {
    const Tensor q = grouped(at::mul(in(call.work, query_part(query, s)), call.scale), s);
    Tensor most = at::full({s.heads, s.count, 1}, kMinusInfinity, options);
    Tensor sum = at::zeros({s.heads, s.count, 1}, options);
    Tensor weighted = at::zeros({s.heads, s.count, value.size(3)}, options);
    for (const Keys& k : s.keys) {
      const Tensor keys = in(call.work, key_part(key, s, k));
      Tensor scores = at::view(at::bmm(q, at::transpose(keys, 1, 2)), {1, s.heads, s.count, k.count});
      if (call.score_mod) {
        const Indices i(s, k, scores.device());
        const c10::AutoGradMode record(records);
        const OwnNodes own;
        const Tensor result = modified(call.score_mod, scores, i);
        if (needs_operators(result)) return std::nullopt;
        if (result.requires_grad()) captured.add(own, result);
        scores = at::detach(result);
      }
      scores = masked(call, s, k, at::contiguous(scores));
      if (needs_operators(scores)) return std::nullopt;
      const Tensor now = at::maximum(most, at::amax(scores, at::IntArrayRef{-1}, true));
      const Tensor base = finite(now);
      Tensor p = at::sub(scores, base);
      at::exp_(p);
      Tensor shrink = at::sub(most, base);
      at::exp_(shrink);
      at::add_(at::mul_(sum, shrink), at::sum(p, at::IntArrayRef{-1}, true));
      at::add_(at::mul_(weighted, shrink), by_head(at::bmm(grouped(p, s), in(call.work, key_part(value, s, k))), s));
      most = now;
    }
    write(query_part(results.out, s), at::div(weighted, at::masked_fill(sum, at::eq(sum, 0), 1)));
    write(query_part(at::unsqueeze(results.lse, -1), s), at::add(finite(most), at::log(sum)));
    write(query_part(at::unsqueeze(results.max_scores, -1), s), most);
  }
  return results;
}

// The same by operators that are recorded, for tangents, samples of vmap and derivatives of derivatives. All blocks of
// scores are in memory at once.
Results attend_by_operators(const Call& call, const Tensor& query, const Tensor& key, const Tensor& value,
                            const CapturedPlaces* captured = nullptr) {
  const int64_t heads = query.size(1), queries = query.size(2), width = value.size(3);
  const at::TensorOptions options = query.options().dtype(call.work).requires_grad(false);
  std::vector<Tensor> outs, lses, maxima;
  // Steps give their rows one after another: where the row of each batch, head and query is.
  const Tensor order = at::empty({query.size(0) * heads * queries}, at::kLong);
  int64_t* row_of = order.data_ptr<int64_t>();
  int64_t rows = 0;
  for (const Queries& s : call.steps) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.count; ++i) row_of[(s.batch * heads + s.head + h) * queries + s.begin + i] = rows++;
    }
    const Tensor q = grouped(at::mul(in(call.work, query_part(query, s)), call.scale), s);
    std::vector<Tensor> blocks{at::full({s.heads, s.count, 1}, kMinusInfinity, options)};
    std::vector<Tensor> values{at::zeros({s.key_heads, 1, width}, options)};
    for (const Keys& k : s.keys) {
      const Tensor keys = in(call.work, key_part(key, s, k));
      Tensor scores = at::reshape(at::bmm(q, at::transpose(keys, 1, 2)), {1, s.heads, s.count, k.count});
      if (call.score_mod) {
        const OwnNodes own;
        const Tensor result = modified(call.score_mod, scores, Indices(s, k, scores.device()));
        scores = at::alias(result);
        if (captured && scores.requires_grad()) captured->stand_in(own, scores);
      }
      blocks.push_back(masked(call, s, k, at::contiguous(scores)));
      values.push_back(in(call.work, key_part(value, s, k)));
    }
    const Tensor scores = at::cat(blocks, -1);
    const Tensor most = at::amax(at::detach(scores), at::IntArrayRef{-1}, true);
    const Tensor sees_none = at::eq(most, kMinusInfinity);
    const Tensor seen = at::masked_fill(scores, sees_none, 0);
    const Tensor weights = at::masked_fill(at::softmax(seen, -1), sees_none, 0);
    const Tensor lse = at::masked_fill(at::logsumexp(seen, at::IntArrayRef{-1}, true), sees_none, kMinusInfinity);
    outs.push_back(at::reshape(at::bmm(grouped(weights, s), at::cat(values, 1)), {s.heads * s.count, width}));
    lses.push_back(at::reshape(lse, {-1}));
    maxima.push_back(at::reshape(most, {-1}));
  }
  const auto whole = [&](const std::vector<Tensor>& parts, std::vector<int64_t> sizes) {
    if (parts.empty()) return at::zeros(sizes, options);
    return at::view(at::index_select(at::cat(parts, 0), 0, order.to(query.device())), sizes);
  };
  return {in(query.scalar_type(), whole(outs, {query.size(0), heads, queries, width})),
          whole(lses, {query.size(0), heads, queries}), whole(maxima, {query.size(0), heads, queries})};
}

// Computes the blocks of scores again and goes back through them.
class FlexAttentionBackward final : public autograd::CustomNode {
 public:
  FlexAttentionBackward(Call call, std::vector<Edge> captured)
      : call_(std::move(call)), captured_(std::move(captured)) {}
  std::string name() const override { return "FlexAttentionBackward"; }

 protected:
  variable_list run_backward(autograd::AutogradContext* /*ctx*/, variable_list grads) override {
    const c10::ExcludeDispatchKeyGuard no_autocast(kAutocast);
    if (c10::GradMode::is_enabled() || needs_operators(grads)) return differentiate_by_operators(grads);
    return differentiate(grads);
  }

 private:
  variable_list differentiate(const variable_list& grads);
  // By a graph of all blocks, for gradients that are differentiated again, have tangents, or are samples of vmap.
  variable_list differentiate_by_operators(const variable_list& grads);
  // The gradient of the scores before score_mod, from that of its result. Adds those of what it captured.
  Tensor through_score_mod(const OwnNodes& own, const Tensor& result, const Tensor& scores, const Tensor& grad,
                           variable_list& captured_grads) const;

  const Call call_;
  const std::vector<Edge> captured_;
};

Tensor FlexAttentionBackward::through_score_mod(const OwnNodes& own, const Tensor& result, const Tensor& scores,
                                                const Tensor& grad, variable_list& captured_grads) const {
  if (!result.requires_grad()) return at::zeros_like(scores);
  std::vector<GradientEdge> inputs{place_of(autograd::gradient_edge(scores))};
  const CapturedPlaces places(captured_, /*lead_on=*/false);
  places.stand_in(own, result);
  places.append_to(inputs);
  const variable_list found =
      autograd::grad({place_of(autograd::gradient_edge(result))}, inputs, {grad}, /*retain_graph=*/false,
                     /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < captured_.size(); ++i) {
    Tensor& sum = captured_grads[i];
    if (found[1 + i].defined()) sum = sum.defined() ? at::add(sum, found[1 + i]) : found[1 + i];
  }
  return found[0].defined() ? found[0] : at::zeros_like(scores);
}

variable_list FlexAttentionBackward::differentiate_by_operators(const variable_list& grads) {
  const bool create_graph = c10::GradMode::is_enabled();
  const c10::AutoGradMode record(true);
  const variable_list saved = context().get_saved_variables();
  // Others than the arguments, which may be made of one another.
  const Tensor query = at::alias(saved[0]), key = at::alias(saved[1]), value = at::alias(saved[2]);
  const CapturedPlaces places(captured_, /*lead_on=*/true);
  const Results results = attend_by_operators(call_, query, key, value, &places);
  std::vector<GradientEdge> inputs, outputs;
  std::vector<size_t> numbers;
  for (const Tensor* t : {&query, &key, &value}) {
    if (!t->requires_grad()) continue;
    numbers.push_back(static_cast<size_t>(t == &key) + 2 * static_cast<size_t>(t == &value));
    inputs.push_back(place_of(autograd::gradient_edge(*t)));
  }
  for (size_t i = 0; i < captured_.size(); ++i) numbers.push_back(3 + i);
  places.append_to(inputs);
  variable_list given;
  const Tensor* const made[] = {&results.out, &results.lse};
  for (size_t i = 0; i < 2; ++i) {
    if (!made[i]->requires_grad()) continue;
    outputs.push_back(place_of(autograd::gradient_edge(*made[i])));
    given.push_back(grads[i]);
  }
  variable_list result(3 + captured_.size());
  if (outputs.empty()) return result;
  const variable_list found =
      autograd::grad(outputs, inputs, given, /*retain_graph=*/create_graph, create_graph, /*allow_unused=*/true);
  for (size_t i = 0; i < found.size(); ++i) result[numbers[i]] = found[i];
  return result;
}

variable_list FlexAttentionBackward::differentiate(const variable_list& grads) {
  const variable_list saved = context().get_saved_variables();
  const Tensor &query = saved[0], &key = saved[1], &value = saved[2], &out = saved[3], &lse = saved[4];
  const at::ScalarType work = call_.work;
  const auto zeros = [&](const Tensor& like) {
    return at::zeros(like.sizes(), like.options().dtype(work).requires_grad(false));
  };
  const Tensor grad_query = at::zeros(query.sizes(), query.options().requires_grad(false));
  const Tensor grad_key = zeros(key), grad_value = zeros(value);
  variable_list captured_grads(captured_.size());
  for (const Queries& s : call_.steps) {
    const Tensor q = grouped(at::mul(in(work, query_part(query, s)), call_.scale), s);
    const Tensor g = in(work, query_part(grads[0], s));
    // Of row i of the weights P: sum_j P_ij dP_ij = out_i . grad_i; the gradient of lse is added to every dP_ij.
    Tensor mean = at::sum(at::mul(g, in(work, query_part(out, s))), at::IntArrayRef{-1}, true);
    mean = at::sub(mean, query_part(at::unsqueeze(grads[1], -1), s));
    const Tensor base = finite(query_part(at::unsqueeze(lse, -1), s));
    const Tensor grad_rows = grouped(g, s);
    Tensor grad_q = at::zeros_like(q);
    for (const Keys& k : s.keys) {
      const Tensor keys = in(work, key_part(key, s, k));
      Tensor scores = at::view(at::bmm(q, at::transpose(keys, 1, 2)), {1, s.heads, s.count, k.count});
      Tensor result = scores;
      std::optional<OwnNodes> own;
      if (call_.score_mod) {
        own.emplace();
        const c10::AutoGradMode record(true);
        scores.requires_grad_();
        // A node of its own, also where score_mod gives back what it captured.
        result = at::alias(modified(call_.score_mod, scores, Indices(s, k, scores.device())));
      }
      Tensor p = at::sub(masked(call_, s, k, at::contiguous(at::detach(result))), base);
      at::exp_(p);
      const Tensor grad_p = at::bmm(grad_rows, at::transpose(in(work, key_part(value, s, k)), 1, 2));
      accumulate(key_part(grad_value, s, k), at::bmm(at::transpose(grouped(p, s), 1, 2), grad_rows));
      Tensor grad_scores = at::mul_(p, at::sub(by_head(grad_p, s), mean));
      if (call_.score_mod) {
        grad_scores = through_score_mod(*own, result, scores, at::view(grad_scores, scores.sizes()), captured_grads);
      }
      const Tensor by_group = grouped(at::view(at::contiguous(grad_scores), {s.heads, s.count, k.count}), s);
      at::add_(grad_q, at::bmm(by_group, keys));
      accumulate(key_part(grad_key, s, k), at::bmm(at::transpose(by_group, 1, 2), q));
    }
    write(query_part(grad_query, s), by_head(at::mul(grad_q, call_.scale), s));
  }
  variable_list result{grad_query, in(key.scalar_type(), grad_key), in(value.scalar_type(), grad_value)};
  result.insert(result.end(), captured_grads.begin(), captured_grads.end());
  return result;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) {
  TORCH_CHECK_NOT_IMPLEMENTED(!query.is_nested() && !key.is_nested() && !value.is_nested(),
                              "flex_attention does not support nested tensors beside others: query, key and value must "
                              "all be jagged");
  TORCH_CHECK_VALUE(
      query.device() == key.device() && query.device() == value.device(),
      "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
      ", key.device: ", key.device(), ", and value.device: ", value.device(), " instead.");
  TORCH_CHECK_VALUE(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
                    "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ",
                    query.dim(), ", key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  TORCH_CHECK_VALUE(query.size(-1) == key.size(-1),
                    "Expect query and key/value to have the same embedding dimension but got E=", query.size(-1),
                    " and E=", key.size(-1), ".");
  TORCH_CHECK_NOT_IMPLEMENTED(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
                              "NYI: query, key, and value must be 4D tensors");
  for (const Tensor* t : {&query, &key, &value}) {
    TORCH_CHECK_NOT_IMPLEMENTED(t->is_floating_point(), "\"flex_attention\" not implemented for '",
                                c10::toString(t->scalar_type()), "'");
  }
  TORCH_CHECK_VALUE(key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(2) == value.size(2),
                    "Expect key and value to have the same batch size, heads and length, but got ", key.sizes(),
                    " and ", value.sizes(), ".");
}

void check_heads(const Tensor& query, const Tensor& key, bool enable_gqa) {
  const int64_t heads = query.size(1), key_heads = key.size(1);
  TORCH_CHECK_VALUE(enable_gqa || heads == key_heads,
                    "Expect query and key/value to have the same number of heads but got Hq=", heads,
                    " and Hkv=", key_heads, ". Try setting enable_gqa=True for GQA.");
  TORCH_CHECK_VALUE(heads == key_heads || (key_heads > 0 && heads % key_heads == 0),
                    "Expect number of query heads to be a multiple of kv heads for GQA but got Hq=", heads,
                    " and Hkv=", key_heads, ".");
}

void check_mask(const Tensor& query, const Tensor& key, const std::optional<BlockMask>& mask) {
  const int64_t batch = query.size(0), key_batch = key.size(0);
  if (!mask.has_value()) {
    TORCH_CHECK_VALUE(batch == key_batch,
                      "Expect query and key/value to have the same batch size, or non-none block_mask, but got "
                      "block_mask=None, Bq=",
                      batch, ", and Bkv=", key_batch, ".");
    return;
  }
  TORCH_CHECK_VALUE(mask->kv_indices.dim() == 4 && mask->kv_num_blocks.dim() == 3,
                    "flex_attention: expected a block_mask with batch and heads, but got kv_num_blocks of sizes ",
                    mask->kv_num_blocks.sizes(), " and kv_indices of sizes ", mask->kv_indices.sizes());
  const auto fit = [&](const Tensor& counts, const Tensor& indices) {
    const at::IntArrayRef rows = mask->kv_num_blocks.sizes();
    return !indices.defined() || (counts.sizes() == rows && indices.dim() == 4 && indices.sizes().slice(0, 3) == rows);
  };
  TORCH_CHECK_VALUE(fit(mask->kv_num_blocks, mask->kv_indices) && fit(mask->full_kv_num_blocks, mask->full_kv_indices),
                    "flex_attention: the numbers and the lists of blocks of block_mask do not fit each other");
  const int64_t mask_batch = mask->kv_indices.size(0), mask_heads = mask->kv_indices.size(1);
  if (batch != key_batch) {
    TORCH_CHECK_VALUE(
        mask_batch == batch,
        "Expect query and key/value to have the same batch size, or block_mask and query to have the same "
        "batch size, but got Bq=",
        batch, ", Bkv=", key_batch, ", B_block_mask=", mask_batch, ".");
    TORCH_CHECK(key_batch == 1, "Bq and Bkv must broadcast. Got Bq=", batch, " and Bkv=", key_batch);
  }
  TORCH_CHECK_VALUE((mask_batch == 1 || mask_batch == batch) && (mask_heads == 1 || mask_heads == query.size(1)),
                    "flex_attention: a block_mask of batch ", mask_batch, " and ", mask_heads,
                    " heads does not broadcast to batch ", batch, " and ", query.size(1), " heads");
  TORCH_CHECK(
      mask->mask_mod != nullptr,
      "Cannot use mask_mod from a sliced BlockMask: a BlockMask that was indexed has none, because its rows count "
      "from 0. Set mask_mod to one made from that of the original mask.");
  const int64_t queries = query.size(2), keys = key.size(2);
  TORCH_CHECK(queries <= mask->seq_lengths.first && keys <= mask->seq_lengths.second,
              "block_mask was created for a smaller length than you're using it for (", mask->seq_lengths.first, " x ",
              mask->seq_lengths.second, " for ", queries, " x ", keys,
              "). You likely need to create a new block mask.");
  TORCH_CHECK(queries >= mask->seq_lengths.first && keys >= mask->seq_lengths.second,
              "block_mask was created for a larger length than you're using it for (", mask->seq_lengths.first, " x ",
              mask->seq_lengths.second, " for ", queries, " x ", keys,
              "): create one of the correct length, or crop it by block_mask._adjust(q_len, kv_len).");
  const int64_t rows = (queries + mask->BLOCK_SIZE.query - 1) / mask->BLOCK_SIZE.query;
  TORCH_CHECK(mask->kv_indices.size(2) >= rows, "block_mask has ", mask->kv_indices.size(2), " rows of blocks, but ",
              queries, " queries are in ", rows);
  TORCH_CHECK(query.device() == mask->kv_num_blocks.device(),
              "Expect q/k/v and block_mask to be on the same device but got ", query.device(), " and ",
              mask->kv_num_blocks.device(), ".");
}

// Where the parts of a jagged tensor lie in its values.
struct Parts {
  Parts(const char* name, const Tensor& nt) {
    TORCH_CHECK_VALUE(nt.defined() && nt.is_nested() && nt.layout() == at::kJagged, name,
                      ": expected a nested tensor of the jagged layout");
    TORCH_CHECK_VALUE(!at::_nested_get_lengths(nt).defined(), name,
                      ": expected a nested tensor without holes; contiguous() makes one");
    offsets = at::_nested_get_offsets(nt);
    const Tensor begins = at::_to_copy(offsets, at::TensorOptions().dtype(at::kLong));
    const Tensor sizes = at::sub(at::slice(begins, 0, 1), at::slice(begins, 0, 0, -1));
    part = at::repeat_interleave(sizes);
    place = at::sub(at::arange(0, part.size(0), 1, begins.options()), at::index_select(begins, 0, part));
  }
  int64_t count() const { return offsets.size(0) - 1; }
  int64_t length() const { return part.size(0); }

  Tensor offsets;
  Tensor part, place;  // of each row of the values: its part, and its number there
};

Tensor looked_up(const Tensor& table, const Tensor& places) {
  return at::view(at::index_select(table, 0, at::reshape(places, {-1})), places.sizes());
}

void check_parts(const char* name, const Parts& q, const Parts& kv) {
  TORCH_CHECK_VALUE(q.count() == kv.count(), name, ": expected as many parts of the keys as of the queries, but got ",
                    kv.count(), " and ", q.count());
}

BlockMask nested_block_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H, const Parts& q,
                            const Parts& kv, BlockSize size) {
  const MaskMod of_values = [=](const Tensor&, const Tensor& h, const Tensor& q_idx, const Tensor& kv_idx) {
    const Tensor part = looked_up(q.part, q_idx);
    const Tensor same = at::eq(part, looked_up(kv.part, kv_idx));
    if (!mask_mod) return same;
    return at::logical_and(
        same, detail::call_mask_mod(mask_mod, part, h, looked_up(q.place, q_idx), looked_up(kv.place, kv_idx)));
  };
  return create_block_mask(of_values, B, H, q.length(), kv.length(), q.part.device(), size);
}

// [1, heads, rows, width] of a jagged tensor [B, heads, rows, width].
Tensor values_of(const char* name, const Tensor& nt) {
  TORCH_CHECK_VALUE(nt.dim() == 4 && at::_nested_get_ragged_idx(nt) == 2, "flex_attention: expected a jagged ", name,
                    " of sizes [B, H, *, E]");
  return at::unsqueeze(at::_nested_get_values(nt), 0);
}

std::tuple<Tensor, AuxOutput> nested_flex_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                    const ScoreMod& score_mod,
                                                    const std::optional<BlockMask>& block_mask,
                                                    std::optional<double> scale, bool enable_gqa,
                                                    const AuxRequest& return_aux) {
  const Parts q("flex_attention", query), kv("flex_attention", key), of_value("flex_attention", value);
  check_parts("flex_attention", q, kv);
  TORCH_CHECK_VALUE(kv.offsets.is_same(of_value.offsets) || at::equal(kv.offsets, of_value.offsets),
                    "flex_attention: expected key and value with equal offsets");
  ScoreMod of_values;
  if (score_mod) {
    of_values = [=](const Tensor& score, const Tensor&, const Tensor& h, const Tensor& q_idx, const Tensor& kv_idx) {
      return score_mod(score, looked_up(q.part, q_idx), h, looked_up(q.place, q_idx), looked_up(kv.place, kv_idx));
    };
  }
  auto [out, aux] =
      flex_attention(values_of("query", query), values_of("key", key), values_of("value", value), of_values,
                     block_mask.has_value() ? block_mask : nested_block_mask({}, 1, 1, q, kv, BlockSize(kQueries)),
                     scale, enable_gqa, return_aux);
  const auto jagged = [&](const Tensor& t) {
    return t.defined() ? at::_nested_view_from_jagged(at::squeeze(t, 0), q.offsets, q.offsets, {}, 2) : t;
  };
  return {jagged(out), AuxOutput{jagged(aux.lse), jagged(aux.max_scores)}};
}

}  // namespace

std::tuple<Tensor, AuxOutput> flex_attention(const Tensor& query_in, const Tensor& key_in, const Tensor& value_in,
                                             const ScoreMod& score_mod, const std::optional<BlockMask>& block_mask,
                                             std::optional<double> scale, bool enable_gqa,
                                             const AuxRequest& return_aux) {
  if (query_in.is_nested() && key_in.is_nested() && value_in.is_nested()) {
    return nested_flex_attention(query_in, key_in, value_in, score_mod, block_mask, scale, enable_gqa, return_aux);
  }
  check_inputs(query_in, key_in, value_in);
  check_heads(query_in, key_in, enable_gqa);
  check_mask(query_in, key_in, block_mask);
  Tensor query = query_in, key = key_in, value = value_in;
  const c10::DeviceType device = query.device().type();
  if (at::autocast::is_autocast_available(device) && at::autocast::is_autocast_enabled(device)) {
    const at::ScalarType dtype = at::autocast::get_autocast_dtype(device);
    for (Tensor* t : {&query, &key, &value}) *t = at::autocast::cached_cast(dtype, *t, device);
  }
  const c10::ExcludeDispatchKeyGuard no_autocast(kAutocast);
  const double width = static_cast<double>(query.size(3));
  Call call(query, key, score_mod, block_mask, scale.value_or(width > 0 ? 1 / std::sqrt(width) : 1.0));
  const auto asked = [&](const Tensor& out, const Tensor& lse, const Tensor& max_scores) {
    return std::tuple(out, AuxOutput{return_aux.lse ? lse : Tensor(), return_aux.max_scores ? max_scores : Tensor()});
  };
  CapturedEdges captured;
  std::optional<Results> in_blocks;
  if (!needs_operators({query, key, value}))
    in_blocks = attend(call, query, key, value, c10::GradMode::is_enabled(), captured);
  if (!in_blocks.has_value()) {
    const Results results = attend_by_operators(call, query, key, value);
    return asked(results.out, results.lse, results.max_scores);
  }
  Results results = *in_blocks;

  auto node = c10::make_intrusive<FlexAttentionBackward>(std::move(call), captured.edges());
  for (const Tensor* t : {&query, &key, &value}) node->add_argument(*t);
  for (const Edge& edge : captured.edges()) {
    // Stands for the tensor that was captured, of which the graph is all there is.
    const Tensor place = at::empty({0}, results.lse.options());
    autograd::set_gradient_edge(place, edge);
    node->add_argument(place);
  }
  node->start();
  if (node->is_recorded()) {
    node->context().save_for_backward({query, key, value, results.out, results.lse});
    node->context().mark_non_differentiable({results.max_scores});
    const variable_list made = node->finish({results.out, results.lse, results.max_scores});
    results = {made[0], made[1], made[2]};
  }
  return asked(results.out, results.lse, results.max_scores);
}

Tensor flex_attention(const Tensor& query, const Tensor& key, const Tensor& value, const ScoreMod& score_mod,
                      const std::optional<BlockMask>& block_mask, std::optional<double> scale, bool enable_gqa) {
  return std::get<0>(flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa, AuxRequest()));
}

std::tuple<Tensor, Tensor> flex_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                          const ScoreMod& score_mod, const std::optional<BlockMask>& block_mask,
                                          std::optional<double> scale, bool enable_gqa, bool return_lse) {
  auto [out, aux] =
      flex_attention(query, key, value, score_mod, block_mask, scale, enable_gqa, AuxRequest{.lse = return_lse});
  return {out, aux.lse};
}

BlockMask create_nested_block_mask(const MaskMod& mask_mod, std::optional<int64_t> B, std::optional<int64_t> H,
                                   const Tensor& q_nt, const Tensor& kv_nt, BlockSize BLOCK_SIZE) {
  TORCH_CHECK(mask_mod != nullptr, "create_nested_block_mask requires a mask_mod function");
  const Parts q("create_nested_block_mask", q_nt), kv("create_nested_block_mask", kv_nt.defined() ? kv_nt : q_nt);
  check_parts("create_nested_block_mask", q, kv);
  return nested_block_mask(mask_mod, B, H, q, kv, BLOCK_SIZE);
}

}  // namespace torch::nn::attention
