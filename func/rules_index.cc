// Rules of operators that pick elements by indices or masks, and of those that join tensors.
#include <algorithm>
#include <numeric>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

Tensor rows(const Tensor& t) {
  return t.dim() == 1 ? at::unsqueeze(t, 1) : at::flatten(t, 1);
}

// Indices from the end, counted from the beginning.
Tensor wrapped(const Tensor& index, int64_t size) {
  return at::where(at::lt(index, 0), at::add(index, size), index);
}

c10::DimVector with_samples(int64_t batch, at::IntArrayRef sizes) {
  c10::DimVector all{batch};
  all.append(sizes.begin(), sizes.end());
  return all;
}

// --- one index along a dimension ---

// What gather and scatter, which take more, do not look at: that a sample's index is a vector of integers and that its
// source has as many slices, each of the size of one of self's.
void check_index_along(const BatchedCall& call, int64_t dim) {
  const std::string name = call.schema().base_name();
  const size_t at = static_cast<size_t>(call.index("index"));
  const at::ScalarType type = call.tensor(at).scalar_type();
  TORCH_CHECK_INDEX(call.rank(at) <= 1, name, "(): Index is supposed to be a vector, but got dim: ", call.rank(at));
  TORCH_CHECK(type == at::kLong || type == at::kInt, name, "(): Expected dtype int32/int64 for index but got: ", type);
  if (const int value = call.index("value"); value >= 0 && call.is_tensor(static_cast<size_t>(value))) {
    TORCH_CHECK(call.rank(static_cast<size_t>(value)) == 0,
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                call.rank(static_cast<size_t>(value)), " dimension(s).");
  }
  const int source_at = call.index("source");
  if (source_at < 0) return;
  const size_t from = static_cast<size_t>(source_at);
  TORCH_CHECK(call.tensor(0).scalar_type() == call.tensor(from).scalar_type(), name,
              "(): self and source expected to have the same dtype, but got (self) ", call.tensor(0).scalar_type(),
              " and (source) ", call.tensor(from).scalar_type());
  const auto at_least_one = [](at::IntArrayRef sizes) {
    return sizes.empty() ? c10::DimVector{1} : c10::DimVector(sizes.begin(), sizes.end());
  };
  const int64_t count = c10::checked_numel(call.sizes(at));
  c10::DimVector wanted = at_least_one(call.sizes(0));
  wanted[static_cast<size_t>(dim - 1)] = count;
  const c10::DimVector source = at_least_one(call.sizes(from));
  TORCH_CHECK_INDEX(source == wanted, name, "(): Number of indices (", count, ") in dimension ", dim - 1,
                    " of a tensor of sizes ", call.sizes(0), " should be equal to source.size(dim), and the other "
                    "sizes the same, but source has sizes ", call.sizes(from));
}

void index_along(BatchedCall& call) {
  const size_t index = static_cast<size_t>(call.index("index"));
  const size_t dim_at = static_cast<size_t>(call.index("dim"));
  const int source_at = call.index("source");
  const int value_at = call.index("value");
  const int64_t rank = call.rank(0), dim = BatchedCall::shifted(call[dim_at].toInt(), rank);
  const auto at_least_one = [](const Tensor& t) { return t.dim() == 1 ? at::unsqueeze(t, 1) : t; };
  const Tensor self = at_least_one(call.every_sample(0));
  const bool batched_value = value_at >= 0 && call.batched(static_cast<size_t>(value_at));
  if (!call.batched(index) && !batched_value) {
    call.set(0, IValue(self));
    call.set(dim_at, IValue(dim));
    if (source_at >= 0)
      call.set(static_cast<size_t>(source_at), IValue(at_least_one(call.every_sample(static_cast<size_t>(source_at)))));
    call.run();
  } else {
    // As gather and scatter, whose indices have a place for every element.
    check_index_along(call, dim);
    const Tensor all = at_least_one(call.every_sample(index));
    c10::DimVector sizes(self.sizes().begin(), self.sizes().end()), places(sizes.size(), 1);
    sizes[static_cast<size_t>(dim)] = places[static_cast<size_t>(dim)] = all.size(1);
    places[0] = all.size(0);
    const Tensor indices = at::expand(at::reshape(at::to(all, at::kLong), places), sizes);
    const std::string name = call.schema().base_name();
    Tensor result;
    if (name == "index_select") {
      result = at::gather(self, dim, indices);
    } else if (name.rfind("index_fill", 0) == 0) {
      const Tensor from_begin = wrapped(indices, self.size(dim));
      if (value_at >= 0 && call.is_tensor(static_cast<size_t>(value_at))) {
        const size_t v = static_cast<size_t>(value_at);
        const Tensor value = call.padded(call.tensor(v), call.batched(v), self.dim() - 1);
        const Tensor nowhere = at::zeros(self.sizes(), self.options().dtype(at::kBool));
        result = at::where(at::scatter(nowhere, dim, from_begin, true), at::to(value, self.scalar_type()), self);
      } else {
        result = at::scatter(self, dim, from_begin, call.named("value").toScalar());
      }
    } else {
      const Tensor source = at_least_one(call.every_sample(static_cast<size_t>(source_at)));
      if (name == "index_add") {
        result = at::scatter_add(self, dim, indices, at::mul(source, call.named("alpha").toScalar()));
      } else if (name == "index_copy") {
        result = at::scatter(self, dim, indices, source);
      } else {
        result = at::scatter_reduce(self, dim, indices, source, call.named("reduce").toStringRef(),
                                    call.named("include_self").toBool());
      }
    }
    call.give(result);
  }
  if (rank == 0) call.give(at::squeeze(call.results[0].toTensor(), 1));
}

// --- several indices ---

struct Index {
  int64_t dim;
  Tensor tensor;
  bool batched;
};

// A mask of a sample has the sizes of the dimensions from `dim` on that it picks from.
void check_mask(const BatchedCall& call, int64_t dim, at::IntArrayRef mask) {
  const at::IntArrayRef self = call.sizes(0);
  const int64_t rank = static_cast<int64_t>(mask.size());
  TORCH_CHECK_INDEX(dim + rank <= call.rank(0), "too many indices for tensor of dimension ", call.rank(0));
  for (int64_t d = 0; d < rank; ++d) {
    TORCH_CHECK_INDEX(mask[static_cast<size_t>(d)] == self[static_cast<size_t>(dim + d)], "The shape of the mask ",
                      mask, " at index ", d, " does not match the shape of the indexed tensor ", self, " at index ",
                      dim + d);
  }
}

// The indices of a call, masks as the places where they are true; nullopt where a mask has other places in each sample.
std::optional<std::vector<Index>> indices_of(const BatchedCall& call, size_t argument) {
  std::vector<Index> indices;
  const std::vector<Tensor> tensors = call.tensors(argument);
  int64_t dim = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool batched = call.batched(argument, i);
    if (!tensors[i].defined()) {
      ++dim;
    } else if (tensors[i].scalar_type() == at::kBool || tensors[i].scalar_type() == at::kByte) {
      check_mask(call, dim, batched ? tensors[i].sizes().slice(1) : tensors[i].sizes());
      if (batched) return std::nullopt;
      for (const Tensor& places : at::nonzero_numpy(tensors[i])) indices.push_back({dim++, places, false});
    } else {
      indices.push_back({dim++, tensors[i], batched});
    }
  }
  TORCH_CHECK_INDEX(dim <= call.rank(0), "too many indices for tensor of dimension ", call.rank(0));
  return indices;
}

// How the result of a sample lies: the dimensions of the indices, of which there are `rank`, stand at `place`.
struct Layout {
  std::vector<int64_t> order;  // of the dimensions of all samples: samples, those with an index, the others
  c10::List<std::optional<Tensor>> indices;
  int64_t rank = 0, place = 0, others = 0;
};

Layout layout_of(const BatchedCall& call, const std::vector<Index>& indices) {
  Layout layout;
  layout.order.push_back(0);
  bool adjacent = true;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t own = indices[i].tensor.dim() - (indices[i].batched ? 1 : 0);
    layout.rank = std::max(layout.rank, own);
    layout.order.push_back(indices[i].dim + 1);
    adjacent = adjacent && (i == 0 || indices[i].dim == indices[i - 1].dim + 1);
  }
  layout.place = adjacent ? indices[0].dim : 0;
  for (int64_t d = 1; d <= call.rank(0); ++d) {
    if (std::find(layout.order.begin(), layout.order.end(), d) == layout.order.end()) layout.order.push_back(d);
  }
  layout.others = call.rank(0) - static_cast<int64_t>(indices.size());
  c10::DimVector first(static_cast<size_t>(layout.rank + 1), 1);
  first[0] = call.batch_size();
  layout.indices.push_back(
      at::view(at::arange(call.batch_size(), indices[0].tensor.options().dtype(at::kLong)), first));
  for (const Index& index : indices) layout.indices.push_back(call.padded(index.tensor, index.batched, layout.rank));
  return layout;
}

// Whether the samples' dimension may be passed by: no index is batched, and the result has their dimensions where they
// were.
bool same_for_all(const std::vector<Index>& indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i].batched || (i > 0 && indices[i].dim != indices[i - 1].dim + 1)) return false;
  }
  return true;
}

// Of what lies as [samples, indices, others], the order of a sample's result; `inverse`: the other way.
std::vector<int64_t> result_order(const Layout& layout, bool inverse) {
  std::vector<int64_t> order{0};
  for (int64_t d = 0; d < layout.place; ++d) order.push_back(1 + layout.rank + d);
  for (int64_t d = 0; d < layout.rank; ++d) order.push_back(1 + d);
  for (int64_t d = layout.place; d < layout.others; ++d) order.push_back(1 + layout.rank + d);
  if (!inverse) return order;
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return back;
}

void index(BatchedCall& call) {
  const auto indices = indices_of(call, 1);
  TORCH_CHECK(indices,
              "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
              "indexing with a boolean mask: use at::where or sums that are weighted by the mask");
  if (indices->empty()) return call.give(at::alias(call.every_sample(0)));
  if (same_for_all(*indices)) {
    c10::List<std::optional<Tensor>> list;
    list.resize(static_cast<size_t>(call.rank(0) + 1));
    for (const Index& one : *indices) list.set(static_cast<size_t>(one.dim + 1), one.tensor);
    return call.give(at::index(call.tensor(0), list));
  }
  const Layout layout = layout_of(call, *indices);
  const Tensor picked = at::index(at::permute(call.every_sample(0), layout.order), layout.indices);
  call.give(at::permute(picked, result_order(layout, false)));
}

// A mask of every sample, and one value to put where it is true.
bool put_by_mask(BatchedCall& call, Tensor& result) {
  const std::vector<Tensor> tensors = call.tensors(1);
  const Tensor values = call.tensor(2);
  if (tensors.size() != 1 || tensors[0].scalar_type() != at::kBool || c10::checked_numel(call.sizes(2)) != 1)
    return false;
  TORCH_CHECK(call.tensor(0).scalar_type() == values.scalar_type(),
              "Index put requires the source and destination dtypes match, got ", call.tensor(0).scalar_type(),
              " for the destination and ", values.scalar_type(), " for the source.");
  Tensor mask = tensors[0];
  const int64_t rank = call.rank(0);
  for (int64_t own = mask.dim() - 1; own < rank; ++own) mask = at::unsqueeze(mask, -1);
  const Tensor self = call.every_sample(0);
  const Tensor value = call.batched(2) ? at::reshape(values, {call.batch_size()}) : at::reshape(values, {1});
  Tensor put = call.padded(value, true, rank);
  if (call.named("accumulate").toBool()) put = at::add(self, put);
  result = at::where(mask, put, self);
  return true;
}

void index_put(BatchedCall& call) {
  const auto indices = indices_of(call, 1);
  Tensor result;
  if (!indices) {
    if (!put_by_mask(call, result)) return loop_rule(call);
  } else {
    if (indices->empty()) return loop_rule(call);
    const Layout layout = layout_of(call, *indices);
    const int64_t rank = layout.rank + layout.others;
    TORCH_CHECK(call.rank(2) <= rank, "shape mismatch: value tensor of ", call.rank(2),
                " dimensions cannot be broadcast to an indexing result of ", rank);
    Tensor values = call.padded(call.batched(2) ? call.tensor(2) : at::unsqueeze(call.tensor(2), 0), true, rank);
    values = at::permute(values, result_order(layout, true));
    const Tensor self = at::permute(call.every_sample(0), layout.order);
    const Tensor put = at::index_put(self, layout.indices, values, call.named("accumulate").toBool());
    std::vector<int64_t> back(layout.order.size());
    for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(layout.order[i])] = static_cast<int64_t>(i);
    result = at::permute(put, back);
  }
  if (call.schema().is_mutable()) {
    Tensor self = call.tensor(0);
    at::copy_(self, result, false);
  }
  call.give(result);
}

// take(self, index), put(self, index, source): of all elements in a row.
void take(BatchedCall& call) {
  if (!call.batched(0)) return call.run();
  const Tensor self = rows(call.tensor(0)), index = call.every_sample(1);
  const Tensor picked = at::gather(self, 1, wrapped(rows(index), self.size(1)));
  call.give(at::reshape(picked, index.sizes()));
}

void put(BatchedCall& call) {
  const Tensor all = call.every_sample(0), self = rows(all);
  const Tensor index = wrapped(rows(call.every_sample(1)), self.size(1)), source = rows(call.every_sample(2));
  TORCH_CHECK(index.size(1) == source.size(1),
              "put_(): Expected source and index to have the same number of elements, but got "
              "source.numel() = ",
              source.size(1), ", index.numel() = ", index.size(1));
  const Tensor result =
      call.named("accumulate").toBool() ? at::scatter_add(self, 1, index, source) : at::scatter(self, 1, index, source);
  call.give(at::reshape(result, all.sizes()));
}

// --- masks ---

void masked_select(BatchedCall& call) {
  TORCH_CHECK(!call.batched(1),
              "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask). It would return as many "
              "elements for each sample as its mask has; use at::where or sums that are weighted by the mask");
  const Tensor self = call.tensor(0), mask = call.tensor(1);
  const auto sizes = at::broadcast_shapes(call.sizes(0), mask.sizes());
  const Tensor all =
      at::expand(call.padded(self, true, static_cast<int64_t>(sizes.size())), with_samples(self.size(0), sizes));
  const Tensor places = at::squeeze(at::nonzero(at::reshape(at::expand(mask, sizes), {-1})), 1);
  call.give(at::index_select(rows(all), 1, places));
}

// The n-th true place of the mask gets the n-th element of the source.
void masked_scatter(BatchedCall& call) {
  TORCH_CHECK(call.tensor(0).scalar_type() == call.tensor(2).scalar_type(),
              "masked_scatter: expected self and source to have same dtypes but got ", call.tensor(0).scalar_type(),
              " and ", call.tensor(2).scalar_type());
  TORCH_CHECK(call.tensor(1).scalar_type() == at::kBool,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ", call.tensor(1).scalar_type());
  int64_t rank = std::max(call.rank(0), call.rank(1));
  const Tensor self = call.padded(call.every_sample(0), true, rank);
  const Tensor mask = at::expand(call.padded(call.every_sample(1), true, rank),
                                 with_samples(call.batch_size(), at::broadcast_shapes(call.sizes(0), call.sizes(1))));
  if (c10::checked_numel(call.sizes(2)) == 0) return call.give(at::clone(at::expand(self, mask.sizes())));
  const Tensor which = at::clamp_min(at::sub(at::cumsum(rows(mask), 1), 1), 0);
  const Tensor values = at::gather(rows(call.every_sample(2)), 1, which);
  call.give(at::where(mask, at::reshape(values, mask.sizes()), self));
}

// --- rows of a table ---

// embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse).
void embedding(BatchedCall& call) {
  // Frequencies are those in one sample.
  if (call.named("scale_grad_by_freq").toBool()) return loop_rule(call);
  if (!call.batched(0)) return call.run();
  const Tensor weight = call.tensor(0), index = call.every_sample(1);
  const Tensor flat = at::unsqueeze(rows(index), -1);
  const Tensor picked = at::gather(weight, 1, at::expand(flat, {flat.size(0), flat.size(1), weight.size(2)}));
  std::vector<int64_t> sizes = index.sizes().vec();
  sizes.push_back(weight.size(2));
  Tensor result = at::reshape(picked, sizes);
  // What stands for nothing has no gradient.
  if (const int64_t padding = call.named("padding_idx").toInt(); padding >= 0) {
    result = at::where(at::unsqueeze(at::eq(index, padding), -1), at::detach(result), result);
  }
  call.give(result);
}

void one_hot(BatchedCall& call) {
  // Where the number of classes is not said, it is that of each sample.
  call.named("num_classes").toInt() == -1 ? loop_rule(call) : call.run();
}

// --- sorted sequences ---

void search(BatchedCall& call, size_t sequence, size_t values, bool right, const std::optional<std::string>& side,
            const std::optional<Tensor>& sorter) {
  const bool out_int32 = call.named("out_int32").toBool();
  const Tensor boundaries = call.every_sample(sequence);
  const Tensor wanted = call.every_sample(values);
  const auto text = side ? std::optional<std::string_view>(*side) : std::nullopt;
  if (call.rank(sequence) == 1) {
    const Tensor found = at::searchsorted(boundaries, at::contiguous(rows(wanted)), out_int32, right, text, sorter);
    return call.give(at::reshape(found, wanted.sizes()));
  }
  call.give(at::searchsorted(boundaries, wanted, out_int32, right, text, sorter));
}

void searchsorted(BatchedCall& call) {
  const int sorter_at = call.index("sorter");
  const size_t sorter = static_cast<size_t>(sorter_at);
  if (!call.is_tensor(1)) return loop_rule(call);
  if (!call.batched(0) && !(call.is_tensor(sorter) && call.batched(sorter)) && call.rank(0) == 1) return call.run();
  search(call, 0, 1, call.named("right").toBool(),
         call.named("side").isNone() ? std::nullopt : std::optional<std::string>(call.named("side").toStringRef()),
         call.is_tensor(sorter) ? std::optional<Tensor>(call.every_sample(sorter)) : std::nullopt);
}

void bucketize(BatchedCall& call) {
  if (!call.batched(1)) return call.run();
  if (!call.is_tensor(0)) return loop_rule(call);
  search(call, 1, 0, call.named("right").toBool(), std::nullopt, std::nullopt);
}

void isin(BatchedCall& call) {
  if (!call.batched(1)) return call.run();
  const Tensor test = rows(call.tensor(1)), elements = call.every_sample(0);
  const Tensor equal = at::eq(at::unsqueeze(rows(elements), 2), at::unsqueeze(test, 1));
  const Tensor found = at::reshape(at::any(equal, 2), elements.sizes());
  call.give(call.named("invert").toBool() ? at::logical_not(found) : found);
}

// --- joins ---

void cat(BatchedCall& call) {
  const std::vector<Tensor> tensors = call.tensors(0);
  int64_t rank = 0;
  const auto sample_rank = [&](size_t i) { return tensors[i].dim() - (call.batched(0, i) ? 1 : 0); };
  for (size_t i = 0; i < tensors.size(); ++i) rank = std::max(rank, sample_rank(i));
  TORCH_CHECK(rank > 0, "zero-dimensional tensor (at position 0) cannot be concatenated");
  std::vector<Tensor> all;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor every = call.every_sample(tensors[i], call.batched(0, i));
    // Tensors of size [0] count for nothing.
    if (sample_rank(i) == 1 && every.size(1) == 0 && rank > 1) continue;
    all.push_back(every);
  }
  call.give(at::cat(all, BatchedCall::shifted(call.named("dim").toInt(), rank)));
}

void stack(BatchedCall& call) {
  const std::vector<Tensor> tensors = call.tensors(0);
  std::vector<Tensor> all;
  for (size_t i = 0; i < tensors.size(); ++i) all.push_back(call.every_sample(tensors[i], call.batched(0, i)));
  call.give(at::stack(all, BatchedCall::shifted(call.named("dim").toInt(), all[0].dim())));
}

// Each block with zeros on both sides, one below the other.
void block_diag(BatchedCall& call) {
  const std::vector<Tensor> tensors = call.tensors(0);
  std::vector<Tensor> blocks;
  int64_t columns = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor block = call.every_sample(tensors[i], call.batched(0, i));
    TORCH_CHECK(block.dim() <= 3, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ",
                block.dim() - 1, " dimensions");
    while (block.dim() < 3) block = at::unsqueeze(block, 1);
    columns += block.size(2);
    blocks.push_back(block);
  }
  int64_t before = 0;
  for (Tensor& block : blocks) {
    const int64_t width = block.size(2);
    block = at::constant_pad_nd(block, {before, columns - before - width});
    before += width;
  }
  call.give(at::cat(blocks, 1));
}

constexpr NamedRule kRules[] = {
    {"block_diag", &block_diag},
    {"index_along", &index_along},
    {"index", &index},
    {"index_put", &index_put, true},
    {"take", &take},
    {"put", &put},
    {"masked_select", &masked_select},
    {"masked_scatter", &masked_scatter},
    {"embedding", &embedding},
    {"one_hot", &one_hot},
    {"searchsorted", &searchsorted},
    {"bucketize", &bucketize},
    {"isin", &isin},
    {"cat", &cat},
    {"stack", &stack},
};

}  // namespace

c10::ArrayRef<NamedRule> index_rules() {
  return kRules;
}

}  // namespace torch::func::detail
