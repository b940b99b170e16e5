#include "distributed/checkpoint/planner.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <typeinfo>

#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using tensor::Piece;

// Of a dimension, what this rank has: pieces of the whole in the order in which its part holds them.
using Pieces = std::vector<Piece>;

// The elements [begin, begin + size) of what the pieces hold.
Pieces part_of(const Pieces& pieces, int64_t begin, int64_t size) {
  Pieces part;
  for (const Piece& piece : pieces) {
    const int64_t first = std::max<int64_t>(begin, 0), end = std::min(begin + size, piece.size);
    if (first < end) part.push_back({piece.offset + first, end - first});
    begin -= piece.size;
  }
  return part;
}

void append(Pieces& pieces, const Pieces& more) {
  for (const Piece& piece : more) {
    if (!pieces.empty() && pieces.back().offset + pieces.back().size == piece.offset) {
      pieces.back().size += piece.size;
    } else {
      pieces.push_back(piece);
    }
  }
}

Pieces sharded(const Pieces& pieces, const Placement& placement, int64_t ranks, int64_t rank) {
  const int64_t size =
      std::accumulate(pieces.begin(), pieces.end(), int64_t{0}, [](int64_t n, const Piece& p) { return n + p.size; });
  Pieces own;
  for (int64_t k = 0; k < placement.split_factor(); ++k) {
    const Piece outer = tensor::piece_of(size, placement.split_factor(), k);
    const Piece inner = tensor::piece_of(outer.size, ranks, rank);
    append(own, part_of(pieces, outer.offset + inner.offset, inner.size));
  }
  return own;
}

std::vector<LocalChunk> chunks_of_dtensor(const std::string& name, const tensor::DTensorImpl& impl) {
  const tensor::Spec& spec = *impl.spec();
  const auto& coordinate = spec.mesh().get_coordinate();
  if (!coordinate) return {};
  std::vector<Pieces> pieces;
  for (const int64_t size : spec.sizes()) pieces.push_back({{0, size}});
  for (size_t d = 0; d < spec.placements().size(); ++d) {
    const Placement& placement = spec.placements()[d];
    TORCH_CHECK_VALUE(!placement.is_partial(), "'", name, "' is ", placement.str(),
                      ": redistribute it to Replicate() or Shard() first");
    if (placement.is_replicate()) continue;
    Pieces& own = pieces[static_cast<size_t>(placement.dim())];
    own = sharded(own, placement, spec.mesh().shape()[d], (*coordinate)[d]);
  }
  // Every choice of a piece in each dimension is a chunk.
  std::vector<LocalChunk> chunks{{{}, impl.local().detach()}};
  for (size_t d = 0; d < pieces.size(); ++d) {
    std::vector<LocalChunk> cut;
    for (const LocalChunk& chunk : chunks) {
      int64_t begin = 0;
      for (const Piece& piece : pieces[d]) {
        LocalChunk part = chunk;
        part.chunk.offsets.push_back(piece.offset);
        part.chunk.sizes.push_back(piece.size);
        part.data = at::narrow(chunk.data, static_cast<int64_t>(d), begin, piece.size);
        cut.push_back(std::move(part));
        begin += piece.size;
      }
    }
    chunks = std::move(cut);
  }
  return chunks;
}

int64_t bytes_of(const WriteItem& item) {
  return item.tensor_storage_size().value_or(0);
}

std::string text_of(const WriteItem& item) {
  if (!item.tensor_data) return "a value that is no tensor";
  return c10::str("a tensor of ", c10::toString(item.tensor_data->properties.dtype), " and sizes ",
                  c10::IntArrayRef(item.tensor_data->size));
}

}  // namespace

std::optional<int64_t> WriteItem::tensor_storage_size() const {
  if (!tensor_data) return std::nullopt;
  return numel_of(tensor_data->chunk.sizes).value_or(0) *
         static_cast<int64_t>(c10::elementSize(tensor_data->properties.dtype));
}

std::vector<LocalChunk> local_chunks(const std::string& name, const Tensor& tensor) {
  if (const tensor::DTensorImpl* impl = tensor::detail::impl_of(tensor)) return chunks_of_dtensor(name, *impl);
  return {{{Extents(tensor.sizes().size(), 0), tensor.sizes().vec()}, tensor.detach()}};
}

// --- saving ---

void DefaultSavePlanner::set_up_planner(StateDict state_dict, bool /*is_coordinator*/) {
  state_dict_ = std::move(state_dict);
  leaves_ = flatten_state_dict(state_dict_);
  by_name_.clear();
  for (size_t i = 0; i < leaves_.size(); ++i) by_name_[leaves_[i].name] = i;
}

SavePlan DefaultSavePlanner::create_local_plan() {
  SavePlan plan;
  for (const Leaf& leaf : leaves_) {
    plan.planner_data.emplace_back(leaf.name, leaf.path);
    if (!leaf.value.isTensor()) {
      plan.items.push_back({.index = {leaf.name}, .type = WriteItemType::BYTE_IO, .tensor_data = std::nullopt});
      continue;
    }
    const Tensor whole = leaf.value.toTensor();
    const bool is_sharded = tensor::DTensor::is(whole);
    const auto item = [&](const ChunkStorageMetadata& chunk) {
      return WriteItem{.index = {leaf.name, chunk.offsets},
                       .type = is_sharded ? WriteItemType::SHARD : WriteItemType::TENSOR,
                       .tensor_data = TensorWriteData{chunk, {whole.scalar_type()}, whole.sizes().vec()}};
    };
    bool is_there = false;
    for (const LocalChunk& chunk : local_chunks(leaf.name, whole)) {
      if (numel_of(chunk.chunk.sizes) == 0) continue;
      plan.items.push_back(item(chunk.chunk));
      is_there = true;
    }
    // A rank without elements says what the tensor is all the same: the coordinator compares that.
    if (!is_there) {
      plan.items.push_back(item({Extents(whole.sizes().size(), 0), Extents(whole.sizes().size(), 0)}));
    }
  }
  return plan;
}

std::pair<std::vector<SavePlan>, Metadata> DefaultSavePlanner::create_global_plan(std::vector<SavePlan> all_plans) {
  struct Place {
    size_t rank, item;
  };
  Metadata metadata;
  std::unordered_map<std::string_view, size_t> numbers;
  std::vector<std::vector<Place>> names;
  for (size_t rank = 0; rank < all_plans.size(); ++rank) {
    const SavePlan& plan = all_plans[rank];
    for (size_t i = 0; i < plan.items.size(); ++i) {
      const auto [found, is_new] = numbers.emplace(plan.items[i].index.fqn, names.size());
      if (is_new) names.emplace_back();
      names[found->second].push_back({rank, i});
    }
    for (const auto& [name, path] : plan.planner_data) {
      const auto [found, is_new] = metadata.planner_data.emplace(name, path);
      TORCH_CHECK_VALUE(is_new || found->second == path, "'", name, "' stands elsewhere in the state dict of rank ",
                        rank, " than on a lower rank");
    }
  }
  const auto item_at = [&](const Place& place) -> const WriteItem& { return all_plans[place.rank].items[place.item]; };

  std::vector<int64_t> load(all_plans.size(), 0);
  std::vector<std::vector<bool>> kept(all_plans.size());
  for (size_t rank = 0; rank < all_plans.size(); ++rank) kept[rank].resize(all_plans[rank].items.size());
  const auto keep = [&](const Place& place) {
    kept[place.rank][place.item] = true;
    load[place.rank] += bytes_of(item_at(place));
  };
  std::vector<std::vector<Place>> replicas;
  for (std::vector<Place>& places : names) {
    const WriteItem& first = item_at(places[0]);
    for (const Place& place : places) {
      const WriteItem& other = item_at(place);
      TORCH_CHECK_VALUE(first.tensor_data.has_value() == other.tensor_data.has_value() &&
                            (!first.tensor_data || (first.tensor_data->properties == other.tensor_data->properties &&
                                                    first.tensor_data->size == other.tensor_data->size)),
                        "'", first.index.fqn, "' is ", text_of(first), " on rank ", places[0].rank, ", and ",
                        text_of(other), " on rank ", place.rank);
    }
    const auto are_replicas = [&](const Place& a, const Place& b) {
      return !first.tensor_data || item_at(a).tensor_data->chunk == item_at(b).tensor_data->chunk;
    };
    std::stable_sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
      if (!first.tensor_data) return false;
      const ChunkStorageMetadata &x = item_at(a).tensor_data->chunk, &y = item_at(b).tensor_data->chunk;
      return x.offsets != y.offsets ? x.offsets < y.offsets : x.sizes < y.sizes;
    });
    TensorStorageMetadata stored;
    for (size_t i = 0; i < places.size();) {
      size_t end = i + 1;
      while (end < places.size() && are_replicas(places[end], places[i])) ++end;
      const WriteItem& item = item_at(places[i]);
      if (!item.tensor_data || bytes_of(item) > 0) {
        if (item.tensor_data) stored.chunks.push_back(item.tensor_data->chunk);
        if (end - i == 1 || options_.dedup_save_to_lowest_rank) {
          keep(places[i]);
        } else {
          replicas.emplace_back(places.begin() + static_cast<ptrdiff_t>(i),
                                places.begin() + static_cast<ptrdiff_t>(end));
        }
      }
      i = end;
    }
    if (!first.tensor_data) {
      metadata.state_dict_metadata.emplace(first.index.fqn, BytesStorageMetadata{});
      continue;
    }
    stored.properties = first.tensor_data->properties;
    stored.size = first.tensor_data->size;
    const std::string gap = uncovered(stored.size, stored.chunks);
    TORCH_CHECK_VALUE(gap.empty(), "the ranks' parts of '", first.index.fqn, "' of sizes ",
                      c10::IntArrayRef(stored.size), " do not make it up: ", gap);
    metadata.state_dict_metadata.emplace(first.index.fqn, std::move(stored));
  }
  // The largest first, each to who has least to write of those that have it.
  std::stable_sort(replicas.begin(), replicas.end(),
                   [&](const auto& a, const auto& b) { return bytes_of(item_at(a[0])) > bytes_of(item_at(b[0])); });
  for (const std::vector<Place>& places : replicas) {
    keep(*std::min_element(places.begin(), places.end(),
                           [&](const Place& a, const Place& b) { return load[a.rank] < load[b.rank]; }));
  }
  for (size_t rank = 0; rank < all_plans.size(); ++rank) {
    std::vector<WriteItem> items;
    for (size_t i = 0; i < all_plans[rank].items.size(); ++i) {
      if (kept[rank][i]) items.push_back(std::move(all_plans[rank].items[i]));
    }
    all_plans[rank].items = std::move(items);
    all_plans[rank].planner_data.clear();
  }
  return {std::move(all_plans), std::move(metadata)};
}

std::string DefaultSavePlanner::plan_cache_key() const {
  if (!options_.enable_plan_caching) return "";
  return c10::str(typeid(*this).name(), options_.dedup_save_to_lowest_rank ? " to lowest" : "");
}

IValue DefaultSavePlanner::lookup_object(const MetadataIndex& index) {
  const auto found = by_name_.find(index.fqn);
  TORCH_CHECK_VALUE(found != by_name_.end(), "there is no '", index.fqn, "' in the state dict");
  const IValue& value = leaves_[found->second].value;
  if (!value.isTensor()) return value;
  for (const LocalChunk& chunk : local_chunks(index.fqn, value.toTensor())) {
    if (!index.offset || chunk.chunk.offsets == *index.offset) return chunk.data;
  }
  TORCH_CHECK_VALUE(false, "this rank has no part of '", index.fqn, "' at ", c10::IntArrayRef(*index.offset));
}

std::variant<Tensor, IValue> DefaultSavePlanner::transform_object(const WriteItem& write_item, const IValue& object) {
  if (write_item.type == WriteItemType::BYTE_IO) return object;
  return object.toTensor();
}

std::variant<Tensor, IValue> DefaultSavePlanner::resolve_data(const WriteItem& write_item) {
  return transform_object(write_item, lookup_object(write_item.index));
}

// --- loading ---

void DefaultLoadPlanner::set_up_planner(StateDict& state_dict, const Metadata& metadata, bool /*is_coordinator*/) {
  metadata_ = metadata;
  leaves_ = flatten_state_dict(state_dict);
  by_name_.clear();
  for (size_t i = 0; i < leaves_.size(); ++i) by_name_[leaves_[i].name] = i;
}

LoadPlan DefaultLoadPlanner::create_local_plan() {
  LoadPlan plan;
  std::string missing, differing;
  for (const Leaf& leaf : leaves_) {
    const auto found = metadata_.state_dict_metadata.find(leaf.name);
    if (found == metadata_.state_dict_metadata.end()) {
      if (!options_.allow_partial_load) missing += (missing.empty() ? "'" : ", '") + leaf.name + "'";
      continue;
    }
    const auto* stored = std::get_if<TensorStorageMetadata>(&found->second);
    if (!leaf.value.isTensor() || stored == nullptr) {
      if (leaf.value.isTensor() != (stored != nullptr)) {
        differing += c10::str(differing.empty() ? "" : "; ", "'", leaf.name, "' is ",
                              stored != nullptr ? "a tensor there and none here" : "no tensor there but one here");
        continue;
      }
      plan.items.push_back({.type = LoadItemType::BYTE_IO,
                            .dest_index = {leaf.name},
                            .dest_offsets = {},
                            .storage_index = {leaf.name},
                            .storage_offsets = {},
                            .lengths = {}});
      continue;
    }
    const Tensor whole = leaf.value.toTensor();
    if (whole.sizes() != c10::IntArrayRef(stored->size)) {
      differing += c10::str(differing.empty() ? "" : "; ", "'", leaf.name, "' has sizes ",
                            c10::IntArrayRef(stored->size), " there and ", whole.sizes(), " here");
      continue;
    }
    for (const LocalChunk& own : local_chunks(leaf.name, whole)) {
      const size_t dims = own.chunk.sizes.size();
      for (const ChunkStorageMetadata& chunk : stored->chunks) {
        ReadItem item{.type = LoadItemType::TENSOR,
                      .dest_index = {leaf.name, own.chunk.offsets},
                      .dest_offsets = Extents(dims),
                      .storage_index = {leaf.name, chunk.offsets},
                      .storage_offsets = Extents(dims),
                      .lengths = Extents(dims)};
        bool overlaps = true;
        for (size_t d = 0; d < dims && overlaps; ++d) {
          const int64_t begin = std::max(own.chunk.offsets[d], chunk.offsets[d]);
          const int64_t end = std::min(own.chunk.offsets[d] + own.chunk.sizes[d], chunk.offsets[d] + chunk.sizes[d]);
          item.dest_offsets[d] = begin - own.chunk.offsets[d];
          item.storage_offsets[d] = begin - chunk.offsets[d];
          item.lengths[d] = end - begin;
          overlaps = begin < end;
        }
        if (overlaps) plan.items.push_back(std::move(item));
      }
    }
  }
  TORCH_CHECK_VALUE(missing.empty(), "the checkpoint has no ", missing);
  TORCH_CHECK_VALUE(differing.empty(), "the checkpoint has other values: ", differing);
  return plan;
}

void DefaultLoadPlanner::load_bytes(const ReadItem& read_item, const IValue& value) {
  leaves_.at(by_name_.at(read_item.dest_index.fqn)).replace(value);
}

Tensor DefaultLoadPlanner::lookup_tensor(const MetadataIndex& index) {
  const Tensor whole = leaves_.at(by_name_.at(index.fqn)).value.toTensor();
  for (const LocalChunk& own : local_chunks(index.fqn, whole)) {
    if (!index.offset || own.chunk.offsets == *index.offset) return own.data;
  }
  TORCH_CHECK_VALUE(false, "this rank has no part of '", index.fqn, "' at ", c10::IntArrayRef(*index.offset));
}

Tensor DefaultLoadPlanner::resolve_tensor(const ReadItem& read_item) {
  Tensor part = lookup_tensor(read_item.dest_index);
  for (size_t d = 0; d < read_item.lengths.size(); ++d) {
    part = at::narrow(part, static_cast<int64_t>(d), read_item.dest_offsets[d], read_item.lengths[d]);
  }
  return transform_tensor(read_item, part);
}

}  // namespace torch::distributed::checkpoint
