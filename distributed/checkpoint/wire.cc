#include "distributed/checkpoint/wire.h"

#include <cstring>

#include "c10/util/exception.h"

namespace torch::distributed::checkpoint::detail {
namespace {

void put(WireWriter& out, const Extents& extents) {
  out.number(extents.size());
  for (const int64_t e : extents) out.number(static_cast<uint64_t>(e));
}
Extents extents_of(WireReader& in) {
  Extents extents(in.count());
  for (int64_t& e : extents) e = static_cast<int64_t>(in.number());
  return extents;
}

void put(WireWriter& out, const MetadataIndex& index) {
  out.text(index.fqn);
  out.number(index.offset.has_value());
  if (index.offset) put(out, *index.offset);
}
MetadataIndex index_of(WireReader& in) {
  MetadataIndex index{.fqn = in.text()};
  if (in.number() != 0) index.offset = extents_of(in);
  return index;
}

void put(WireWriter& out, const WriteItem& item) {
  put(out, item.index);
  out.number(static_cast<uint64_t>(item.type));
  out.number(item.tensor_data.has_value());
  if (!item.tensor_data) return;
  put(out, item.tensor_data->chunk.offsets);
  put(out, item.tensor_data->chunk.sizes);
  out.number(static_cast<uint64_t>(item.tensor_data->properties.dtype));
  put(out, item.tensor_data->size);
}
WriteItem write_item_of(WireReader& in) {
  WriteItem item{.index = index_of(in), .type = static_cast<WriteItemType>(in.number()), .tensor_data = std::nullopt};
  if (in.number() == 0) return item;
  TensorWriteData data;
  data.chunk.offsets = extents_of(in);
  data.chunk.sizes = extents_of(in);
  data.properties.dtype = static_cast<c10::ScalarType>(in.number());
  data.size = extents_of(in);
  item.tensor_data = std::move(data);
  return item;
}

void put(WireWriter& out, const ReadItem& item) {
  out.number(static_cast<uint64_t>(item.type));
  put(out, item.dest_index);
  put(out, item.dest_offsets);
  put(out, item.storage_index);
  put(out, item.storage_offsets);
  put(out, item.lengths);
}
ReadItem read_item_of(WireReader& in) {
  ReadItem item;
  item.type = static_cast<LoadItemType>(in.number());
  item.dest_index = index_of(in);
  item.dest_offsets = extents_of(in);
  item.storage_index = index_of(in);
  item.storage_offsets = extents_of(in);
  item.lengths = extents_of(in);
  return item;
}

}  // namespace

std::string_view WireReader::take(uint64_t bytes) {
  TORCH_CHECK_WITH(DistBackendError, bytes <= bytes_.size(), "checkpoint: a rank sent a message that ends too early");
  const std::string_view taken = bytes_.substr(0, bytes);
  bytes_.remove_prefix(bytes);
  return taken;
}

uint64_t WireReader::number() {
  uint64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string WireReader::text() {
  return std::string(take(number()));
}

size_t WireReader::count() {
  const uint64_t count = number();
  TORCH_CHECK_WITH(DistBackendError, count <= bytes_.size() / sizeof(uint64_t),
                   "checkpoint: a rank sent a message that ends too early");
  return count;
}

std::string to_bytes(const SavePlan& plan) {
  WireWriter out;
  out.number(plan.items.size());
  for (const WriteItem& item : plan.items) put(out, item);
  out.text(plan.storage_data);
  out.number(plan.planner_data.size());
  for (const auto& [name, path] : plan.planner_data) {
    out.text(name);
    out.number(path.size());
    for (const PathItem& item : path) {
      out.number(item.is_element);
      const auto* text = std::get_if<std::string>(&item.key);
      out.number(text != nullptr);
      text != nullptr ? out.text(*text) : out.number(static_cast<uint64_t>(std::get<int64_t>(item.key)));
    }
  }
  return out.take();
}

SavePlan save_plan_of(std::string_view bytes) {
  WireReader in(bytes);
  SavePlan plan;
  plan.items.resize(in.count());
  for (WriteItem& item : plan.items) item = write_item_of(in);
  plan.storage_data = in.text();
  plan.planner_data.resize(in.count());
  for (auto& [name, path] : plan.planner_data) {
    name = in.text();
    path.resize(in.count());
    for (PathItem& item : path) {
      item.is_element = in.number() != 0;
      if (in.number() != 0) {
        item.key = in.text();
      } else {
        item.key = static_cast<int64_t>(in.number());
      }
    }
  }
  return plan;
}

std::string to_bytes(const LoadPlan& plan) {
  WireWriter out;
  out.number(plan.items.size());
  for (const ReadItem& item : plan.items) put(out, item);
  out.text(plan.storage_data);
  return out.take();
}

LoadPlan load_plan_of(std::string_view bytes) {
  WireReader in(bytes);
  LoadPlan plan;
  plan.items.resize(in.count());
  for (ReadItem& item : plan.items) item = read_item_of(in);
  plan.storage_data = in.text();
  return plan;
}

std::string to_bytes(const std::vector<WriteResult>& results) {
  WireWriter out;
  out.number(results.size());
  for (const WriteResult& result : results) {
    put(out, result.index);
    out.text(result.storage_data.relative_path);
    out.number(result.storage_data.offset);
    out.number(result.storage_data.length);
    out.number(result.storage_data.checksums.size());
    for (const uint32_t crc : result.storage_data.checksums) out.number(crc);
    out.number(result.file_bytes);
  }
  return out.take();
}

std::vector<WriteResult> results_of(std::string_view bytes) {
  WireReader in(bytes);
  std::vector<WriteResult> results(in.count());
  for (WriteResult& result : results) {
    result.index = index_of(in);
    result.storage_data.relative_path = in.text();
    result.storage_data.offset = in.number();
    result.storage_data.length = in.number();
    result.storage_data.checksums.resize(in.count());
    for (uint32_t& crc : result.storage_data.checksums) crc = static_cast<uint32_t>(in.number());
    result.file_bytes = in.number();
  }
  return results;
}

}  // namespace torch::distributed::checkpoint::detail
