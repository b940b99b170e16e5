// The sharding rules that words do not say.
#include <algorithm>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/tensor/sharding.h"

namespace torch::distributed::tensor {
namespace {

using c10d::ReduceOp;
using Sizes = std::vector<int64_t>;

// Views.

void add_partials(ShardedCall& call) {
  for (const ReduceOp::RedOpType op : kAllReductions) call.add(call.all(Partial(op)));
}

// `into[d]`: which dimension of the results is dimension d of the input, whole; negative for none.
void add_cuts(ShardedCall& call, const Sizes& into) {
  call.empty_parts = true;
  for (size_t d = 0; d < into.size(); ++d) {
    if (into[d] < 0 || call.inputs[0].sizes()[d] < 2) continue;
    Strategy strategy = call.all(Shard(into[d]));
    strategy.inputs[0] = Shard(static_cast<int64_t>(d));
    strategy.any_parts = true;
    call.add(std::move(strategy));
  }
}

void add_dimensions(ShardedCall& call, const Sizes& into) {
  add_cuts(call, into);
  add_partials(call);
}

Sizes counted(const ShardedCall& call) {
  Sizes dims(static_cast<size_t>(call.inputs[0].dim()));
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
  return dims;
}

size_t named_dim(const ShardedCall& call, const char* name = "dim") {
  return static_cast<size_t>(at::maybe_wrap_dim(call[name].toInt(), call.inputs[0].dim()));
}

void same_dimensions(ShardedCall& call) {
  add_dimensions(call, counted(call));
}

// Results have the input's dimensions; those of other sizes are cut.
void narrowed(ShardedCall& call) {
  Sizes into = counted(call);
  for (size_t d = 0; d < into.size(); ++d) {
    for (const ShardedCall::Output& output : call.outputs) {
      if (output.sizes[d] != call.inputs[0].sizes()[d]) into[d] = -1;
    }
  }
  add_dimensions(call, into);
}

void split_rule(ShardedCall& call) {
  Sizes into = counted(call);
  if (!into.empty()) into[named_dim(call)] = -1;
  add_dimensions(call, into);
  // The pieces of a StridedShard are the results, where these are equal.
  if (into.empty() || call.outputs.empty()) return;
  const size_t d = named_dim(call);
  const Placement cut = StridedShard(static_cast<int64_t>(d), static_cast<int64_t>(call.outputs.size()));
  const ShardedCall::Input& self = call.inputs[0];
  const int64_t pieces = cut.split_factor() * call.parts, each = self.sizes()[d] / pieces;
  if (self.spec->placements()[call.mesh_dim] != cut || self.spec->shards(cut.dim()) != call.parts) return;
  for (const ShardedCall::Output& output : call.outputs) {
    if (output.sizes[d] != each * call.parts) return;
  }
  Strategy strategy = call.all(Shard(cut.dim()));
  strategy.inputs[0] = cut;
  const bool listed = call.has("split_sizes");
  const size_t argument = *call.schema.argument_index(listed ? "split_sizes" : "split_size");
  strategy.argument = {argument,
                       listed ? c10::IValue(std::vector<int64_t>(call.outputs.size(), each)) : c10::IValue(each)};
  call.add(std::move(strategy));
}

void without(ShardedCall& call, size_t gone) {
  Sizes into = counted(call);
  for (size_t d = 0; d < into.size(); ++d) into[d] = d == gone ? -1 : static_cast<int64_t>(d > gone ? d - 1 : d);
  add_dimensions(call, into);
}

void select_rule(ShardedCall& call) {
  without(call, named_dim(call));
}

void permute_rule(ShardedCall& call) {
  const Sizes dims = call.integers("dims");
  Sizes into(dims.size(), -1);
  for (size_t k = 0; k < dims.size(); ++k) {
    into[static_cast<size_t>(at::maybe_wrap_dim(dims[k], call.inputs[0].dim()))] = static_cast<int64_t>(k);
  }
  add_dimensions(call, into);
}

void swap_rule(ShardedCall& call, int64_t a, int64_t b) {
  Sizes into = counted(call);
  if (into.size() > 1) {
    std::swap(into[static_cast<size_t>(at::maybe_wrap_dim(a, call.inputs[0].dim()))],
              into[static_cast<size_t>(at::maybe_wrap_dim(b, call.inputs[0].dim()))]);
  }
  add_dimensions(call, into);
}

void transpose_rule(ShardedCall& call) {
  swap_rule(call, call["dim0"].toInt(), call["dim1"].toInt());
}
void t_rule(ShardedCall& call) {
  swap_rule(call, 0, -1);
}

void unsqueeze_rule(ShardedCall& call) {
  const int64_t at = at::maybe_wrap_dim(call["dim"].toInt(), call.inputs[0].dim() + 1);
  Sizes into = counted(call);
  for (int64_t& d : into) d += d >= at ? 1 : 0;
  add_dimensions(call, into);
}

void squeeze_rule(ShardedCall& call) {
  const Sizes dims = call.has("dim") ? call.integers("dim") : Sizes{};
  Sizes into = counted(call);
  int64_t next = 0;
  for (size_t d = 0; d < into.size(); ++d) {
    const bool meant = !call.has("dim") || std::any_of(dims.begin(), dims.end(), [&](int64_t n) {
      return at::maybe_wrap_dim(n, call.inputs[0].dim()) == static_cast<int64_t>(d);
    });
    const int64_t size = call.inputs[0].sizes()[d], parts = call.parts_with(call.inputs[0], static_cast<int64_t>(d));
    if (meant && size == 1) {
      into[d] = -1;
      continue;
    }
    // A part with one element would lose the dimension.
    into[d] = meant && (size % parts != 0 || size == parts) ? -1 : next;
    ++next;
  }
  add_dimensions(call, into);
}

void expand_rule(ShardedCall& call) {
  const int64_t more = static_cast<int64_t>(call.outputs[0].sizes.size()) - call.inputs[0].dim();
  Sizes into = counted(call);
  for (int64_t& d : into) {
    const int64_t size = call.inputs[0].sizes()[static_cast<size_t>(d)];
    d = call.outputs[0].sizes[static_cast<size_t>(d + more)] == size ? d + more : -1;
  }
  call.sizes_argument = "size";
  // A sum that is repeated is a sum of repetitions.
  add_dimensions(call, into);
}

// Dimensions of input and result whose products are equal are one group; its first dimension may be sharded where the
// parts are blocks of the elements.
void view_rule(ShardedCall& call) {
  const at::IntArrayRef before = call.inputs[0].sizes();
  const Sizes& after = call.outputs[0].sizes;
  call.sizes_argument = "size";
  call.empty_parts = true;
  size_t i = 0, k = 0;
  const bool empty = std::find(before.begin(), before.end(), 0) != before.end();
  while (!empty && i < before.size() && k < after.size()) {
    size_t i_end = i + 1, k_end = k + 1;
    int64_t a = before[i], b = after[k];
    while (a != b && i_end <= before.size() && k_end <= after.size()) {
      if (a < b) {
        if (i_end == before.size()) break;
        a *= before[i_end++];
      } else {
        if (k_end == after.size()) break;
        b *= after[k_end++];
      }
    }
    if (a != b) break;
    // Leading ones do not count.
    size_t first_before = i, first_after = k;
    while (first_before + 1 < i_end && before[first_before] == 1) ++first_before;
    while (first_after + 1 < k_end && after[first_after] == 1) ++first_after;
    const int64_t n = before[first_before], m = after[first_after];
    const int64_t parts = call.parts_with(call.inputs[0], static_cast<int64_t>(first_before));
    if (n > 1 && m > 1 && (n == m || (n % parts == 0 && m % parts == 0))) {
      Strategy strategy = call.all(Shard(static_cast<int64_t>(first_after)));
      strategy.inputs[0] = Shard(static_cast<int64_t>(first_before));
      strategy.any_parts = first_before + 1 == i_end && first_after + 1 == k_end;
      call.add(std::move(strategy));
    }
    i = i_end;
    k = k_end;
  }
  add_partials(call);
}

void unfold_rule(ShardedCall& call) {
  Sizes into = counted(call);
  if (!into.empty()) into[named_dim(call, "dimension")] = -1;
  add_dimensions(call, into);
}

void diagonal_rule(ShardedCall& call) {
  const size_t a = named_dim(call, "dim1"), b = named_dim(call, "dim2");
  Sizes into = counted(call);
  int64_t next = 0;
  for (size_t d = 0; d < into.size(); ++d) into[d] = d == a || d == b ? -1 : next++;
  add_dimensions(call, into);
}

// The last dimension of real numbers is a pair: the others stay.
void complex_view_rule(ShardedCall& call) {
  Sizes into = counted(call);
  if (call.outputs[0].sizes.size() < into.size()) into.back() = -1;
  add_cuts(call, into);
  for (const ReduceOp::RedOpType op : {ReduceOp::SUM, ReduceOp::AVG}) call.add(call.all(Partial(op)));
}

// Lists of tensors.

void cat_rule(ShardedCall& call) {
  if (call.inputs.empty()) return;
  int64_t ndim = 0;
  for (const ShardedCall::Input& input : call.inputs) ndim = std::max(ndim, input.dim());
  const int64_t dim = at::maybe_wrap_dim(call["dim"].toInt(), ndim);
  for (int64_t d = 0; d < ndim; ++d) {
    if (d == dim || call.outputs[0].sizes[static_cast<size_t>(d)] < 2) continue;
    Strategy strategy = call.all(Shard(d));
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      // An empty tensor of one dimension goes with any others.
      if (call.inputs[i].dim() != ndim) strategy.inputs[i] = Replicate();
    }
    call.add(std::move(strategy));
  }
  // Tensors that are cut along the dimension itself become the pieces of a StridedShard.
  const at::IntArrayRef sizes = call.inputs[0].sizes();
  bool alike = true, cut = false;
  for (const ShardedCall::Input& input : call.inputs) {
    alike = alike && input.sizes() == sizes;
    cut = cut || input.spec->placements()[call.mesh_dim] == Shard(dim);
  }
  if (alike && cut && sizes[static_cast<size_t>(dim)] % call.parts == 0) {
    Strategy strategy = call.all(Shard(dim));
    strategy.outputs[0] = StridedShard(dim, static_cast<int64_t>(call.inputs.size()));
    call.add(std::move(strategy));
  }
  add_partials(call);
}

void stack_rule(ShardedCall& call) {
  if (call.inputs.empty()) return;
  const int64_t ndim = call.inputs[0].dim(), dim = at::maybe_wrap_dim(call["dim"].toInt(), ndim + 1);
  for (int64_t d = 0; d < ndim; ++d) {
    Strategy strategy = call.all(Shard(d));
    for (Placement& output : strategy.outputs) output = Shard(d >= dim ? d + 1 : d);
    call.add(std::move(strategy));
  }
  add_partials(call);
}

// Tables and indices.

void embedding_rule(ShardedCall& call) {
  const ShardedCall::Input& indices = call.inputs[1];
  for (int64_t d = 0; d < indices.dim(); ++d) {
    call.add({{Replicate(), Shard(d)}, {Shard(d)}});
  }
  call.add({{Shard(1), Replicate()}, {Shard(indices.dim())}});
  call.add({{Partial(), Replicate()}, {Partial()}});
}

void embedding_backward_rule(ShardedCall& call) {
  const ShardedCall::Input& indices = call.inputs[1];
  const bool by_frequency = call["scale_grad_by_freq"].toBool();
  for (int64_t d = 0; d < indices.dim() && !by_frequency; ++d) {
    call.add({{Shard(d), Shard(d)}, {Partial()}});
  }
  call.add({{Shard(indices.dim()), Replicate()}, {Shard(1)}});
  call.add({{Partial(), Replicate()}, {Partial()}});
}

// Indices are whole; dimensions of self that none stands for are free.
void index_rule(ShardedCall& call) {
  const c10::IValue& indices = call["indices"];
  const int64_t ndim = call.inputs[0].dim();
  std::vector<bool> indexed(static_cast<size_t>(ndim), false);
  int64_t d = 0, broadcast = 0, first = -1, last = -1, runs = 0;
  for (const c10::IValue& index : indices.toListRef()) {
    if (index.isTensor() && index.toTensor().defined()) {
      const at::Tensor& t = index.toTensor();
      if (t.scalar_type() == at::kBool || t.scalar_type() == at::kByte) return;
      if (d >= ndim) return;
      indexed[static_cast<size_t>(d)] = true;
      broadcast = std::max(broadcast, t.dim());
      if (first < 0) first = d;
      if (last != d - 1 || runs == 0) ++runs;
      last = d;
    }
    ++d;
  }
  if (first < 0) return;
  const int64_t at = runs == 1 ? first : 0;  // where the indices' dimensions go
  int64_t before = 0;
  for (int64_t k = 0; k < ndim; ++k) {
    if (indexed[static_cast<size_t>(k)]) continue;
    Strategy strategy = call.whole();
    strategy.inputs[0] = Shard(k);
    strategy.outputs[0] = Shard(before < at ? before : before + broadcast);
    if (call.inputs[0].sizes()[static_cast<size_t>(k)] > 1) call.add(std::move(strategy));
    ++before;
  }
  for (const ReduceOp::RedOpType op : kAllReductions) {
    Strategy strategy = call.whole();
    strategy.inputs[0] = strategy.outputs[0] = Partial(op);
    call.add(std::move(strategy));
  }
}

// Norms. `count`: over how many of the last dimensions.

size_t input_of(const ShardedCall& call, const char* name) {
  return call.input(name).value_or(call.inputs.size());
}

void set_input(const ShardedCall& call, Strategy& strategy, const char* name, const Placement& placement) {
  const size_t i = input_of(call, name);
  if (i < strategy.inputs.size()) strategy.inputs[i] = placement;
}

void layer_norm_rule(ShardedCall& call) {
  const int64_t outer = call.inputs[0].dim() - static_cast<int64_t>(call.integers("normalized_shape").size());
  for (int64_t d = 0; d < outer; ++d) {
    Strategy strategy = call.all(Shard(d));
    set_input(call, strategy, "weight", Replicate());
    set_input(call, strategy, "bias", Replicate());
    call.add(std::move(strategy));
  }
}

// Gradients of the input, the weight and the bias, as far as they are wanted.
void add_norm_backward(ShardedCall& call, int64_t d) {
  Strategy strategy = call.all(Shard(d));
  set_input(call, strategy, "weight", Replicate());
  set_input(call, strategy, "bias", Replicate());
  for (size_t k = 1; k < strategy.outputs.size(); ++k) strategy.outputs[k] = Partial();
  // An undefined gradient of the input would make the first that of the weight.
  const std::vector<bool> mask = call["output_mask"].toBoolList().vec();
  if (!mask[0] && !strategy.outputs.empty()) strategy.outputs[0] = Partial();
  call.add(std::move(strategy));
}

void layer_norm_backward_rule(ShardedCall& call) {
  const int64_t outer =
      call.inputs[input_of(call, "input")].dim() - static_cast<int64_t>(call.integers("normalized_shape").size());
  for (int64_t d = 0; d < outer; ++d) add_norm_backward(call, d);
}

void group_norm_rule(ShardedCall& call) {
  Strategy strategy = call.all(Shard(0));
  set_input(call, strategy, "weight", Replicate());
  set_input(call, strategy, "bias", Replicate());
  call.add(std::move(strategy));
}

void group_norm_backward_rule(ShardedCall& call) {
  add_norm_backward(call, 0);
}

// Channels are independent of each other; samples, too, where statistics are given.
void batch_norm_rule(ShardedCall& call) {
  Strategy channels = call.all(Shard(0));
  channels.inputs[0] = Shard(1);
  channels.outputs[0] = Shard(1);
  if (call.inputs[0].dim() > 1) call.add(std::move(channels));
  if (call["training"].toBool()) return;
  Strategy samples = call.whole();
  samples.inputs[0] = samples.outputs[0] = Shard(0);
  call.add(std::move(samples));
}

// Losses of classes.

void nll_loss_rule(ShardedCall& call) {
  const int64_t reduction = call["reduction"].toInt(), ndim = call.inputs[0].dim();
  if (ndim < 2 || reduction == 1) return;  // a mean is made of two sums: nll_loss_handler
  Strategy samples = call.all(Shard(0));
  set_input(call, samples, "weight", Replicate());
  samples.outputs[0] = reduction == 0 ? static_cast<Placement>(Shard(0)) : static_cast<Placement>(Partial());
  samples.outputs[1] = Partial();
  call.add(std::move(samples));
}

void nll_loss_backward_rule(ShardedCall& call) {
  const size_t self = input_of(call, "self");
  if (call.inputs[self].dim() < 2) return;
  Strategy samples = call.all(Shard(0));
  set_input(call, samples, "weight", Replicate());
  set_input(call, samples, "total_weight", Replicate());
  if (call.inputs[input_of(call, "grad_output")].dim() == 0) set_input(call, samples, "grad_output", Replicate());
  call.add(std::move(samples));
}

// Convolutions.

void convolution_rule(ShardedCall& call) {
  const int64_t groups = call["groups"].toInt();
  const bool transposed = call.has("transposed") && call["transposed"].toBool();
  Strategy samples = call.whole();
  samples.inputs[0] = samples.outputs[0] = Shard(0);
  if (call.inputs[0].dim() == call.inputs[1].dim() && call.inputs[0].sizes()[0] > 1) call.add(std::move(samples));
  if (groups != 1 || call.inputs[0].dim() != call.inputs[1].dim()) return;
  Strategy out = call.whole();
  set_input(call, out, "bias", Shard(0));
  out.inputs[1] = Shard(transposed ? 1 : 0);
  out.outputs[0] = Shard(1);
  call.add(std::move(out));
  Strategy in = call.whole();
  set_input(call, in, "bias", Partial());
  in.inputs[0] = Shard(1);
  in.inputs[1] = Shard(transposed ? 0 : 1);
  in.outputs[0] = Partial();
  call.add(std::move(in));
}

void convolution_backward_rule(ShardedCall& call) {
  const std::vector<bool> mask = call["output_mask"].toBoolList().vec();
  const size_t grad = input_of(call, "grad_output"), input = input_of(call, "input"), weight = input_of(call, "weight");
  if (call.inputs[input].dim() != call.inputs[weight].dim()) return;
  Strategy samples = call.whole();
  samples.inputs[grad] = samples.inputs[input] = Shard(0);
  size_t k = 0;
  if (mask[0]) samples.outputs[k++] = Shard(0);
  while (k < samples.outputs.size()) samples.outputs[k++] = Partial();
  if (call.inputs[input].sizes()[0] > 1) call.add(std::move(samples));
}

// Attention over [batch..., heads, length, channels]: batches and heads are independent of each other.

void attention(ShardedCall& call, const char* query_name) {
  if (call["dropout_p"].toDouble() != 0) return;  // which elements are dropped depends on their places in the whole
  const ShardedCall::Input& query = call.inputs[input_of(call, query_name)];
  for (int64_t d = 0; d + 2 < query.dim(); ++d) {
    const size_t at = static_cast<size_t>(d);
    const int64_t size = query.sizes()[at];
    Strategy strategy = call.all(Shard(d));
    bool fits = size > 1;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const ShardedCall::Input& input = call.inputs[i];
      const std::string& name = call.schema.arguments()[input.argument].name();
      if (name == "attn_mask") {
        const int64_t own = d - (query.dim() - input.dim());
        const bool broadcast = own < 0 || input.sizes()[static_cast<size_t>(own)] == 1;
        strategy.inputs[i] = broadcast ? Placement() : static_cast<Placement>(Shard(own));
        fits = fits && (broadcast || input.sizes()[static_cast<size_t>(own)] == size);
      } else {
        // Groups of query heads share a head of keys: parts must hold whole groups.
        const int64_t parts = call.parts_with(query, d);
        fits = fits && input.dim() > d &&
               (input.sizes()[at] == size || (input.sizes()[at] % parts == 0 && size % parts == 0));
      }
    }
    if (fits) call.add(std::move(strategy));
  }
}

void attention_rule(ShardedCall& call) {
  attention(call, "query");
}

// Others.

void prelu_rule(ShardedCall& call) {
  const bool one = call.inputs[1].sizes().empty() || call.inputs[1].sizes()[0] == 1;
  for (int64_t d = 0; d < call.inputs[0].dim(); ++d) {
    if (d == 1 && !one) {
      call.add({{Shard(1), Shard(0)}, {Shard(1)}});
    } else {
      call.add({{Shard(d), Replicate()}, {Shard(d)}});
    }
  }
}

void constant_pad_rule(ShardedCall& call) {
  const Sizes pad = call.integers("pad");
  Sizes into = counted(call);
  for (size_t k = 0; k < pad.size(); ++k) {
    if (pad[k] != 0) into[into.size() - 1 - k / 2] = -1;
  }
  add_cuts(call, into);
  if (call["value"].toScalar().equal(0)) call.add(call.all(Partial()));
}

const std::pair<std::string_view, ShardingRule> kNamed[] = {
    {"view_same", same_dimensions},
    {"view_narrow", narrowed},
    {"view_split", split_rule},
    {"view_select", select_rule},
    {"view_permute", permute_rule},
    {"view_transpose", transpose_rule},
    {"view_t", t_rule},
    {"view_unsqueeze", unsqueeze_rule},
    {"view_squeeze", squeeze_rule},
    {"view_expand", expand_rule},
    {"view_reshape", view_rule},
    {"view_unfold", unfold_rule},
    {"view_diagonal", diagonal_rule},
    {"view_complex", complex_view_rule},
    {"cat", cat_rule},
    {"stack", stack_rule},
    {"embedding_by_columns", embedding_rule},
    {"embedding_gradient", embedding_backward_rule},
    {"index", index_rule},
    {"layer_norm", layer_norm_rule},
    {"layer_norm_backward", layer_norm_backward_rule},
    {"group_norm", group_norm_rule},
    {"group_norm_backward", group_norm_backward_rule},
    {"batch_norm", batch_norm_rule},
    {"nll_loss_backward", nll_loss_backward_rule},
    {"convolution", convolution_rule},
    {"convolution_backward", convolution_backward_rule},
    {"attention", attention_rule},
    {"prelu", prelu_rule},
    {"constant_pad", constant_pad_rule},
};

}  // namespace

namespace detail {

const ShardingRule* named_rule(std::string_view name) {
  static const ShardingRule nll_loss = nll_loss_rule;
  if (name == "nll_loss_sum") return &nll_loss;
  for (const auto& [known, rule] : kNamed) {
    if (known == name) return &rule;
  }
  return nullptr;
}

}  // namespace detail
}  // namespace torch::distributed::tensor
