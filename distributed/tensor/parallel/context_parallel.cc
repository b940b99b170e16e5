#include "distributed/tensor/parallel/context_parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/safe_numerics.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/work.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/composite_override.h"
#include "distributed/tensor/redistribute.h"

namespace torch::distributed::tensor::experimental {

namespace detail {

// Which pieces of a sequence each rank has.
struct SequenceLayout {
  DeviceMesh mesh;
  bool balanced;
  RotateMethod method;

  int64_t ranks() const { return mesh.size(); }
  int64_t rank() const { return mesh.get_local_rank(); }
  int64_t pieces() const { return balanced ? 2 * ranks() : ranks(); }
  std::vector<int64_t> pieces_of(int64_t r) const {
    return balanced ? std::vector<int64_t>{r, 2 * ranks() - 1 - r} : std::vector<int64_t>{r};
  }
};

}  // namespace detail

namespace {

using at::Tensor;
using detail::SequenceLayout;
using parallel::CompositeOverride;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kSequence = 2;  // of [batch, heads, sequence, channels]

struct Settings {
  RotateMethod method = RotateMethod::kAllGather;
  bool balanced = true;
};

thread_local std::shared_ptr<const SequenceLayout> current;

using Signature = Tensor(const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&, double, bool,
                         std::optional<double>, bool);
CompositeOverride<Signature> attention_override;

SequenceLayout layout_over(const char* function, const DeviceMesh& mesh) {
  TORCH_CHECK_VALUE(mesh.ndim() == 1, function, ": expected a mesh of one dimension, but got ", mesh.str());
  const Settings& settings = c10d::RankLocal<Settings>::get();
  return {mesh, settings.balanced, settings.method};
}

// This rank's pieces of a whole sequence.
Tensor cut(const Tensor& whole, int64_t dim, const SequenceLayout& layout) {
  const int64_t size = whole.size(dim) / layout.pieces();
  std::vector<Tensor> mine;
  for (const int64_t piece : layout.pieces_of(layout.rank()))
    mine.push_back(at::narrow(whole, dim, piece * size, size));
  return at::cat(mine, dim);
}

Tensor all_gather(const Tensor& mine, const SequenceLayout& layout) {
  count_collective("all_gather");
  std::vector<int64_t> sizes = mine.sizes().vec();
  sizes.insert(sizes.begin(), layout.ranks());
  Tensor input = mine.contiguous(), output = at::empty(sizes, mine.options());
  layout.mesh.get_group()->_allgather_base(output, input)->wait();
  return output;
}

// A message to the next rank of the ring and from the one before, under way.
struct Shift {
  c10::intrusive_ptr<c10d::Work> work;
  Tensor sent, received;
  Tensor wait() {
    work->wait();
    return received;
  }
};
Shift shift(const Tensor& mine, const SequenceLayout& layout) {
  count_collective("all_to_all");
  const int64_t ranks = layout.ranks(), rank = layout.rank();
  std::vector<int64_t> to(static_cast<size_t>(ranks), 0), from = to;
  to[static_cast<size_t>((rank + 1) % ranks)] = mine.size(0);
  from[static_cast<size_t>((rank + ranks - 1) % ranks)] = mine.size(0);
  Shift made{nullptr, mine, at::empty_like(mine)};
  made.work = layout.mesh.get_group()->alltoall_base(made.received, made.sent, from, to);
  return made;
}

// Keys and values side by side in one tensor of one dimension.
Tensor packed(const Tensor& key, const Tensor& value) {
  return at::cat({at::reshape(key, {-1}), at::reshape(value, {-1})}, 0);
}
std::pair<Tensor, Tensor> unpacked(const Tensor& both, at::IntArrayRef key_sizes, at::IntArrayRef value_sizes) {
  const int64_t keys = c10::multiply_integers(key_sizes), values = c10::multiply_integers(value_sizes);
  return {at::view(at::narrow(both, 0, 0, keys), key_sizes), at::view(at::narrow(both, 0, keys, values), value_sizes)};
}

// The ranks' keys and values, one rank's after the other: in step s those of the rank s places before this one.
class Rotation {
 public:
  Rotation(const Tensor& key, const Tensor& value, const SequenceLayout& layout)
      : layout_(layout), key_sizes_(key.sizes().vec()), value_sizes_(value.sizes().vec()), held_(packed(key, value)) {
    if (layout.method == RotateMethod::kAllGather && layout.ranks() > 1) held_ = all_gather(held_, layout);
  }

  int64_t source() const { return (layout_.rank() + layout_.ranks() - step_) % layout_.ranks(); }
  std::pair<Tensor, Tensor> get() {
    if (layout_.ranks() == 1) return unpacked(held_, key_sizes_, value_sizes_);
    if (layout_.method == RotateMethod::kAllGather) {
      return unpacked(at::select(held_, 0, source()), key_sizes_, value_sizes_);
    }
    // What comes next is under way while this is computed with.
    if (next_.work) held_ = next_.wait();
    next_ = step_ + 1 < layout_.ranks() ? shift(held_, layout_) : Shift{};
    return unpacked(held_, key_sizes_, value_sizes_);
  }
  void advance() { ++step_; }
  bool done() const { return step_ == layout_.ranks(); }
  int64_t step() const { return step_; }

 private:
  const SequenceLayout& layout_;
  std::vector<int64_t> key_sizes_, value_sizes_;
  Tensor held_;
  Shift next_;
  int64_t step_ = 0;
};

struct Call final : c10::intrusive_ptr_target {
  std::shared_ptr<const SequenceLayout> layout;
  double dropout = 0, scale = 1;
  bool causal = false;
  bool masked = false;
  int64_t seed = 0;

  int64_t seed_of(int64_t source) const {
    const uint64_t pair = static_cast<uint64_t>(layout->rank() * layout->ranks() + source);
    return static_cast<int64_t>(static_cast<uint64_t>(seed) + pair * 0x9E3779B97F4A7C15u);
  }
};
using CallPtr = c10::intrusive_ptr<Call>;

// Which of a rank's queries see which of another's keys.
struct Block {
  int64_t first_query, queries, first_key, keys;
  bool causal;
};
std::optional<Block> block_of(const Call& call, int64_t source, int64_t queries, int64_t keys) {
  const SequenceLayout& layout = *call.layout;
  const Block all{0, queries, 0, keys, false};
  if (!call.causal) return all;
  if (source == layout.rank()) return Block{0, queries, 0, keys, true};
  const bool earlier = source < layout.rank();
  if (!layout.balanced) return earlier ? std::optional<Block>(all) : std::nullopt;
  // An earlier rank has an earlier head and a later tail; only the head lies before what this rank has. Of a later one,
  // all lies before this rank's tail, and behind its head.
  return earlier ? Block{0, queries, 0, keys / 2, false} : Block{queries / 2, queries - queries / 2, 0, keys, false};
}

Tensor rows(const Tensor& t, int64_t first, int64_t count) {
  return t.size(kSequence) == count ? t : at::narrow(t, kSequence, first, count);
}

at::ScalarType sums_type(const Tensor& t) {
  return t.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The columns of a mask that a rank's keys have; a row of one column is for all.
std::optional<Tensor> mask_for(const Tensor& mask, const Call& call, int64_t source) {
  if (!call.masked) return std::nullopt;
  if (mask.size(-1) == 1) return mask;
  const int64_t size = mask.size(-1) / call.layout->pieces();
  std::vector<Tensor> columns;
  for (const int64_t piece : call.layout->pieces_of(source))
    columns.push_back(at::narrow(mask, -1, piece * size, size));
  return columns.size() == 1 ? columns[0] : at::cat(columns, -1);
}

// The logarithm of a sum without terms. Where a query sees no key the fused kernel takes, and gives, the opposite.
constexpr double kNothing = -std::numeric_limits<double>::infinity();
Tensor sums_of_seen(const Tensor& sums, const Call& call) {
  return call.masked ? at::masked_fill(sums, at::eq(sums, -kNothing), kNothing) : sums;
}

struct RingAttention final : torch::autograd::Function<RingAttention> {
  static constexpr bool once_differentiable = true;

  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& mask, const CallPtr& call) {
    Tensor output, logsumexp;
    for (Rotation rotation(key, value, *call->layout); !rotation.done(); rotation.advance()) {
      const auto [k, v] = rotation.get();
      const int64_t source = rotation.source();
      const auto block = block_of(*call, source, query.size(kSequence), k.size(kSequence));
      if (!block) continue;
      auto [part, sums] =
          at::_fused_attention(rows(query, block->first_query, block->queries), rows(k, block->first_key, block->keys),
                               rows(v, block->first_key, block->keys), mask_for(mask, *call, source), call->dropout,
                               block->causal, call->scale, call->seed_of(source));
      part = part.to(sums_type(query));
      sums = sums_of_seen(sums, *call);
      if (!output.defined()) {  // of this rank's own keys, for all queries
        output = part;
        logsumexp = sums;
        continue;
      }
      const Tensor merged = rows(output, block->first_query, block->queries),
                   merged_sums = rows(logsumexp, block->first_query, block->queries);
      const Tensor total = at::logaddexp(merged_sums, sums);
      // Of queries that have seen nothing yet all sums are -infinity.
      const Tensor unit = call->masked ? at::masked_fill(total, at::eq(total, kNothing), 0) : total;
      merged.mul_(at::unsqueeze(at::exp(at::sub(merged_sums, unit)), -1))
          .add_(at::mul(part, at::unsqueeze(at::exp(at::sub(sums, unit)), -1)));
      merged_sums.copy_(total);
    }
    if (call->masked) logsumexp = at::masked_fill(logsumexp, at::eq(logsumexp, kNothing), -kNothing);
    output = output.to(query.scalar_type());
    context->save_for_backward({query, key, value, output, logsumexp, mask});
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto capsule = context->saved_data["call"].toCapsule();
    const Call& call = static_cast<const Call&>(*capsule);
    const SequenceLayout& layout = *call.layout;
    const variable_list saved = context->get_saved_variables();
    const Tensor &query = saved[0], &key = saved[1], &value = saved[2], &output = saved[3], &logsumexp = saved[4];
    const at::ScalarType wide = sums_type(query);
    const Tensor grad_query = at::zeros(query.sizes(), query.options().dtype(wide));
    // Of keys and values of the ranks: all of them until the end, or those of one, which go around with the keys.
    const bool at_once = layout.method == RotateMethod::kAllGather;
    std::vector<Tensor> of_ranks(static_cast<size_t>(layout.ranks()));
    Tensor travelling;
    for (Rotation rotation(key, value, layout); !rotation.done(); rotation.advance()) {
      const auto [k, v] = rotation.get();
      const int64_t source = rotation.source();
      const Tensor grad_key = at::zeros(key.sizes(), key.options().dtype(wide)),
                   grad_value = at::zeros(value.sizes(), value.options().dtype(wide));
      if (const auto block = block_of(call, source, query.size(kSequence), k.size(kSequence))) {
        const auto queries = [&](const Tensor& t) { return rows(t, block->first_query, block->queries); };
        const auto keys = [&](const Tensor& t) { return rows(t, block->first_key, block->keys); };
        const auto [gq, gk, gv] = at::_fused_attention_backward(
            queries(grads[0]), queries(query), keys(k), keys(v), queries(output), queries(logsumexp),
            mask_for(saved[5], call, source), call.dropout, block->causal, call.scale, call.seed_of(source));
        queries(grad_query).add_(gq);
        keys(grad_key).copy_(gk);
        keys(grad_value).copy_(gv);
      }
      Tensor& sum = at_once ? of_ranks[static_cast<size_t>(source)] : travelling;
      const Tensor mine = packed(grad_key, grad_value);
      sum = sum.defined() ? shift(sum, layout).wait().add_(mine) : mine;
    }
    if (layout.ranks() == 1) {
      travelling = at_once ? of_ranks[0] : travelling;
    } else if (at_once) {
      count_collective("reduce_scatter");
      Tensor all = at::stack(of_ranks);
      travelling = at::empty(of_ranks[0].sizes(), of_ranks[0].options());
      layout.mesh.get_group()->_reduce_scatter_base(travelling, all)->wait();
    } else {
      travelling = shift(travelling, layout).wait();
    }
    const auto [grad_key, grad_value] = unpacked(travelling, key.sizes(), value.sizes());
    return {grad_query.to(query.scalar_type()), grad_key.to(key.scalar_type()), grad_value.to(value.scalar_type()),
            Tensor(), Tensor()};
  }
};

int64_t drawn_seed() {
  auto* generator =
      at::get_generator_or_default<at::CPUGeneratorImpl>(std::nullopt, at::detail::getDefaultCPUGenerator());
  const std::lock_guard<std::mutex> lock(generator->mutex());
  return static_cast<int64_t>(generator->random64());
}

// Undefined: there is none.
Tensor checked_mask(const std::optional<Tensor>& attn_mask, const Tensor& query, const Tensor& key, bool is_causal) {
  if (!attn_mask.has_value() || !attn_mask->defined()) return {};
  const Tensor& mask = *attn_mask;
  TORCH_CHECK(!is_causal,
              "scaled_dot_product_attention in context_parallel: an explicit attn_mask cannot be combined "
              "with is_causal=true");
  TORCH_CHECK(
      mask.scalar_type() == at::kBool || mask.scalar_type() == at::kFloat || mask.scalar_type() == query.scalar_type(),
      "scaled_dot_product_attention in context_parallel: expected attn_mask of type Bool, Float or ",
      query.scalar_type(), ", but got ", mask.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(!mask.requires_grad() || !c10::GradMode::is_enabled(),
                              "scaled_dot_product_attention in context_parallel: attn_mask requires a gradient");
  const std::vector<int64_t> sizes{query.size(0), query.size(1), query.size(kSequence),
                                   current->ranks() * key.size(kSequence)};
  bool fits = mask.dim() >= 1 && mask.dim() <= 4;
  for (int64_t d = 1; fits && d <= mask.dim(); ++d) {
    fits = mask.size(-d) == 1 || mask.size(-d) == sizes[sizes.size() - static_cast<size_t>(d)];
  }
  TORCH_CHECK_VALUE(fits, "scaled_dot_product_attention in context_parallel: attn_mask has the sizes ", mask.sizes(),
                    ", which do not broadcast to ", at::IntArrayRef(sizes),
                    ": this rank's queries and the keys of all ranks");
  TORCH_CHECK_VALUE(!current->balanced || key.size(kSequence) % 2 == 0,
                    "scaled_dot_product_attention in context_parallel: a rank's part of the sequence is two pieces, "
                    "but it has ",
                    key.size(kSequence), " keys");
  return mask.scalar_type() == at::kBool ? mask : mask.to(query.scalar_type());
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& attn_mask,
                 double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) {
  if (current == nullptr) {
    return attention_override.before(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa);
  }
  // Heads, or batches, on other dimensions of a mesh: each rank has some.
  if (DTensor::is(query)) {
    const DTensor q(query), k(key), v(value);
    TORCH_CHECK_VALUE(q.placements() == k.placements() && q.placements() == v.placements(),
                      "scaled_dot_product_attention in context_parallel: the arguments are DTensors of the placements ",
                      str(q.placements()), ", ", str(k.placements()), " and ", str(v.placements()),
                      ", but they need to have the same");
    for (const Placement& placement : q.placements()) {
      TORCH_CHECK_VALUE(placement.is_replicate() || (placement.is_shard() && placement.dim() < kSequence),
                        "scaled_dot_product_attention in context_parallel: arguments cannot be ", placement.str());
    }
    FromLocalOptions options;
    options.shape = query.sizes().vec();
    options.shape->back() = value.size(-1);
    std::optional<Tensor> mask = attn_mask;
    if (mask && DTensor::is(*mask)) mask = DTensor(*mask).to_local();
    const Tensor part =
        attention(q.to_local(), k.to_local(), v.to_local(), mask, dropout_p, is_causal, scale, enable_gqa);
    return DTensor::from_local(part, q.device_mesh(), q.placements(), options);
  }
  TORCH_CHECK_VALUE(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
                    "scaled_dot_product_attention in context_parallel: expected arguments of [batch, heads, sequence, "
                    "channels], but got the sizes ",
                    query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  TORCH_CHECK_VALUE(enable_gqa || query.size(1) == key.size(1),
                    "scaled_dot_product_attention in context_parallel: ", query.size(1), " query heads, but ",
                    key.size(1), " key heads, without enable_gqa");
  TORCH_CHECK_VALUE(!is_causal || query.size(kSequence) == key.size(kSequence),
                    "scaled_dot_product_attention in context_parallel: causal attention needs as many keys as queries, "
                    "but there are ",
                    key.size(kSequence), " and ", query.size(kSequence));
  TORCH_CHECK_VALUE(
      !is_causal || !current->balanced || query.size(kSequence) % 2 == 0,
      "scaled_dot_product_attention in context_parallel: a rank's part of the sequence is two pieces, but "
      "it has ",
      query.size(kSequence), " places");
  auto call = c10::make_intrusive<Call>();
  const Tensor mask = checked_mask(attn_mask, query, key, is_causal);
  call->layout = current;
  call->masked = mask.defined();
  call->dropout = dropout_p;
  call->causal = is_causal;
  call->scale = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  if (dropout_p > 0) call->seed = drawn_seed();
  return RingAttention::apply(query, key, value, mask, call);
}

}  // namespace

void set_rotate_method(const std::string& rotate_method) {
  TORCH_CHECK_NOT_IMPLEMENTED(rotate_method == "allgather" || rotate_method == "alltoall", "set_rotate_method: '",
                              rotate_method, "' is neither 'allgather' nor 'alltoall'");
  c10d::RankLocal<Settings>::get().method =
      rotate_method == "allgather" ? RotateMethod::kAllGather : RotateMethod::kAllToAll;
}

RotateMethod get_rotate_method() {
  return c10d::RankLocal<Settings>::get().method;
}

void set_load_balance(bool enable) {
  c10d::RankLocal<Settings>::get().balanced = enable;
}

ContextParallel::ContextParallel(const DeviceMesh& mesh, std::vector<Tensor> buffers,
                                 const std::vector<int64_t>& buffer_seq_dims,
                                 const std::vector<Tensor>& no_restore_buffers)
    : before_(current) {
  const auto layout = std::make_shared<const SequenceLayout>(layout_over("context_parallel", mesh));
  TORCH_CHECK_VALUE(buffers.size() == buffer_seq_dims.size(), "context_parallel: `buffers` has ", buffers.size(),
                    " tensors, but `buffer_seq_dims` ", buffer_seq_dims.size(), " dimensions");
  const auto is_in = [](const std::vector<Tensor>& list, const Tensor& t) {
    return std::any_of(list.begin(), list.end(), [&](const Tensor& other) { return other.is_same(t); });
  };
  for (const Tensor& t : no_restore_buffers) {
    TORCH_CHECK_VALUE(is_in(buffers, t),
                      "context_parallel: `no_restore_buffers` has a tensor that is not in `buffers`");
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t ndim = buffers[i].dim(), dim = buffer_seq_dims[i];
    TORCH_CHECK_VALUE(!buffers[i].requires_grad(), "context_parallel: buffer ", i, " requires a gradient");
    TORCH_CHECK_VALUE(dim >= -ndim && dim < ndim, "context_parallel: buffer ", i, " has ", ndim,
                      " dimensions, but its sequence is to be dimension ", dim);
    TORCH_CHECK_VALUE(buffers[i].size(dim) % layout->pieces() == 0, "context_parallel: the sequence of buffer ", i,
                      " has ", buffers[i].size(dim), " places, which is no multiple of ", layout->pieces());
  }
  attention_override.install("aten::scaled_dot_product_attention", &attention);
  const c10::NoGradGuard no_grad;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Tensor before = buffers[i].detach();
    buffers[i].set_(cut(before, buffer_seq_dims[i], *layout));
    if (!is_in(no_restore_buffers, buffers[i])) restored_.emplace_back(buffers[i], before);
  }
  current = layout;
}

ContextParallel::~ContextParallel() {
  current = before_;
  const c10::NoGradGuard no_grad;
  for (auto& [buffer, before] : restored_) buffer.set_(before);
}

std::vector<Tensor> context_parallel_unshard(const DeviceMesh& mesh, const std::vector<Tensor>& buffers,
                                             const std::vector<int64_t>& seq_dims) {
  TORCH_CHECK_VALUE(buffers.size() == seq_dims.size(), "context_parallel_unshard: `buffers` has ", buffers.size(),
                    " tensors, but `seq_dims` ", seq_dims.size(), " dimensions");
  const SequenceLayout layout = layout_over("context_parallel_unshard", mesh);
  const int64_t each = layout.pieces() / layout.ranks();
  for (size_t i = 0; i < buffers.size(); ++i) {
    TORCH_CHECK_VALUE(buffers[i].size(seq_dims[i]) % each == 0, "context_parallel_unshard: the sequence of buffer ", i,
                      " has ", buffers[i].size(seq_dims[i]), " places, which is no multiple of ", each);
  }
  const c10::NoGradGuard no_grad;
  std::vector<Tensor> wholes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int64_t dim = at::maybe_wrap_dim(seq_dims[i], buffers[i].dim()), size = buffers[i].size(dim) / each;
    const Tensor all = all_gather(buffers[i].detach(), layout);
    std::vector<Tensor> in_order(static_cast<size_t>(layout.pieces()));
    for (int64_t r = 0; r < layout.ranks(); ++r) {
      const std::vector<int64_t> pieces = layout.pieces_of(r);
      for (size_t k = 0; k < pieces.size(); ++k) {
        in_order[static_cast<size_t>(pieces[k])] =
            at::narrow(at::select(all, 0, r), dim, static_cast<int64_t>(k) * size, size);
      }
    }
    wholes.push_back(at::cat(in_order, dim));
  }
  return wholes;
}

}  // namespace torch::distributed::tensor::experimental
