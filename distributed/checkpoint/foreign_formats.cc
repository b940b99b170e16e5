#include "distributed/checkpoint/foreign_formats.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "distributed/checkpoint/index_file.h"
#include "distributed/checkpoint/state.h"
#include "utils/pickle/file.h"
#include "utils/pickle/tree.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint::detail {
namespace {

using pickle::kNoNode;
using pickle::Node;
using pickle::NodeId;
using pickle::NodeKind;
using pickle::Tree;
using serialize::throw_format_error;

constexpr uint64_t kMostIndexBytes = uint64_t{1} << 30;

// --- PyTorch ---

struct NamedDtype {
  const char* name;
  c10::ScalarType dtype;
};
constexpr NamedDtype kDtypes[] = {{"uint8", c10::ScalarType::Byte},
                                  {"int8", c10::ScalarType::Char},
                                  {"int16", c10::ScalarType::Short},
                                  {"int32", c10::ScalarType::Int},
                                  {"int64", c10::ScalarType::Long},
                                  {"uint16", c10::ScalarType::UInt16},
                                  {"uint32", c10::ScalarType::UInt32},
                                  {"uint64", c10::ScalarType::UInt64},
                                  {"float16", c10::ScalarType::Half},
                                  {"bfloat16", c10::ScalarType::BFloat16},
                                  {"float32", c10::ScalarType::Float},
                                  {"float64", c10::ScalarType::Double},
                                  {"complex32", c10::ScalarType::ComplexHalf},
                                  {"complex64", c10::ScalarType::ComplexFloat},
                                  {"complex128", c10::ScalarType::ComplexDouble},
                                  {"bool", c10::ScalarType::Bool},
                                  {"float8_e5m2", c10::ScalarType::Float8_e5m2},
                                  {"float8_e4m3fn", c10::ScalarType::Float8_e4m3fn},
                                  {"float8_e5m2fnuz", c10::ScalarType::Float8_e5m2fnuz},
                                  {"float8_e4m3fnuz", c10::ScalarType::Float8_e4m3fnuz},
                                  {"float8_e8m0fnu", c10::ScalarType::Float8_e8m0fnu}};

// Reads objects of the classes of torch.distributed.checkpoint from a pickle's tree.
class DcpReader {
 public:
  explicit DcpReader(const Tree& tree) : tree_(tree) {}

  Metadata read() const {
    const NodeId root = tree_.root();
    Metadata metadata;
    check_class(root, "Metadata");
    each(field(root, "state_dict_metadata"), [&](NodeId key, NodeId value) {
      const std::string name = text(key);
      if (class_of(value) == "BytesStorageMetadata") {
        metadata.state_dict_metadata.emplace(name, BytesStorageMetadata{});
        return;
      }
      check_class(value, "TensorStorageMetadata");
      TensorStorageMetadata tensor;
      tensor.properties.dtype = dtype_of(field(value, "properties"));
      tensor.size = extents(field(value, "size"));
      const Node& chunks = tree_[field(value, "chunks")];
      if (chunks.kind != NodeKind::kList) tree_.fail(value, "chunks that are no list");
      for (const NodeId chunk : chunks.items) {
        check_class(chunk, "ChunkStorageMetadata");
        tensor.chunks.push_back({extents(field(chunk, "offsets")), extents(field(chunk, "sizes"))});
      }
      metadata.state_dict_metadata.emplace(name, std::move(tensor));
    });
    each(field(root, "storage_data"), [&](NodeId key, NodeId value) {
      check_class(key, "MetadataIndex");
      check_class(value, "_StorageInfo");
      MetadataIndex index{.fqn = text(field(key, "fqn"))};
      const NodeId offset = optional_field(key, "offset");
      if (offset != kNoNode && tree_[offset].kind != NodeKind::kNone) index.offset = extents(offset);
      const NodeId transforms = optional_field(value, "transform_descriptors");
      if (transforms != kNoNode && tree_[transforms].kind != NodeKind::kNone && !tree_[transforms].items.empty()) {
        tree_.unsupported(value, "data that went through transforms (compression)");
      }
      metadata.storage_data[index] = {.relative_path = text(field(value, "relative_path")),
                                      .offset = number(field(value, "offset")),
                                      .length = number(field(value, "length")),
                                      .checksums = {}};
    });
    const NodeId paths = optional_field(root, "planner_data");
    if (paths != kNoNode && tree_[paths].kind == NodeKind::kDict) {
      each(paths, [&](NodeId key, NodeId value) { metadata.planner_data[text(key)] = path_of(value); });
    }
    return metadata;
  }

 private:
  // The name of an object's class; "" of something else.
  std::string_view class_of(NodeId id) const {
    const Node& node = tree_[id];
    if (node.kind != NodeKind::kNewObject || tree_[node.a].kind != NodeKind::kGlobal) return "";
    const Node& global = tree_[node.a];
    constexpr std::string_view kPackage = "torch.distributed.";
    return global.module().substr(0, kPackage.size()) == kPackage ? global.name() : "";
  }
  void check_class(NodeId id, const char* name) const {
    if (class_of(id) != name) tree_.fail(id, c10::str("expected an object of the class ", name));
  }
  NodeId optional_field(NodeId object, std::string_view name) const {
    const NodeId state = tree_[object].state;
    if (state == kNoNode || tree_[state].kind != NodeKind::kDict) tree_.fail(object, "an object without fields");
    const std::vector<NodeId>& items = tree_[state].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const Node& key = tree_[items[i]];
      if (key.kind == NodeKind::kText && key.view() == name) return items[i + 1];
    }
    return kNoNode;
  }
  NodeId field(NodeId object, std::string_view name) const {
    const NodeId found = optional_field(object, name);
    if (found == kNoNode) tree_.fail(object, c10::str("an object without the field ", name));
    return found;
  }
  template <class F>
  void each(NodeId dict, const F& visit) const {
    if (tree_[dict].kind != NodeKind::kDict) tree_.fail(dict, "expected a dict");
    const std::vector<NodeId>& items = tree_[dict].items;
    for (size_t i = 0; i + 1 < items.size(); i += 2) visit(items[i], items[i + 1]);
  }
  std::string text(NodeId id) const {
    if (tree_[id].kind != NodeKind::kText) tree_.fail(id, "expected a text");
    return std::string(tree_[id].view());
  }
  uint64_t number(NodeId id) const {
    if (tree_[id].kind != NodeKind::kInt || tree_[id].integer < 0)
      tree_.fail(id, "expected a number that is not negative");
    return static_cast<uint64_t>(tree_[id].integer);
  }
  // Of torch.Size((2, 3)).
  Extents extents(NodeId id) const {
    const Node* node = &tree_[id];
    if (node->kind == NodeKind::kCall || node->kind == NodeKind::kNewObject) {
      const Node& global = tree_[node->a];
      const Node& args = tree_[node->b];
      if (global.kind != NodeKind::kGlobal || global.module() != "torch" || global.name() != "Size" ||
          args.kind != NodeKind::kTuple || args.items.size() > 1) {
        tree_.fail(id, "expected a torch.Size");
      }
      if (args.items.empty()) return {};
      node = &tree_[args.items[0]];
    }
    if (node->kind != NodeKind::kTuple && node->kind != NodeKind::kList) tree_.fail(id, "expected a torch.Size");
    if (node->items.size() > 64) tree_.fail(id, "a tensor of more than 64 dimensions");
    Extents extents;
    for (const NodeId item : node->items) extents.push_back(static_cast<int64_t>(number(item)));
    return extents;
  }
  // The first of the properties' fields.
  c10::ScalarType dtype_of(NodeId properties) const {
    check_class(properties, "TensorProperties");
    const NodeId state = tree_[properties].state;
    NodeId dtype = kNoNode;
    if (state != kNoNode && tree_[state].kind == NodeKind::kTuple && !tree_[state].items.empty()) {
      dtype = tree_[state].items[0];
    } else {
      dtype = field(properties, "dtype");
    }
    const Node& node = tree_[dtype];
    if (node.kind == NodeKind::kGlobal && node.module() == "torch") {
      for (const NamedDtype& named : kDtypes) {
        if (node.name() == named.name) return named.dtype;
      }
    }
    tree_.fail(dtype, "expected a dtype");
  }
  Path path_of(NodeId id) const {
    const Node& node = tree_[id];
    if (node.kind != NodeKind::kTuple || node.items.empty() || node.items.size() > 1000) {
      tree_.fail(id, "expected a path of 1 to 1000 names");
    }
    Path path;
    for (const NodeId item : node.items) {
      if (tree_[item].kind == NodeKind::kInt) {
        path.push_back({tree_[item].integer, true});
      } else {
        path.push_back({text(item), false});
      }
    }
    return path;
  }

  const Tree& tree_;
};

// --- safetensors ---

constexpr const char* kHuggingFaceIndexName = "model.safetensors.index.json";
constexpr const char* kHuggingFaceFileName = "model.safetensors";
constexpr const char* kShardingInfo = "DCP_SHARDING_INFO";

bool is_file(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Where each tensor of a file begins in the whole one, as its metadata say; none says nothing.
std::map<std::string, Extents> offsets_in(const safetensors::File& file, const std::string& path) {
  std::string_view text;
  std::map<std::string, Extents> offsets;
  if (!file.header().find_metadata(kShardingInfo, &text)) return offsets;
  try {
    const nlohmann::json all = nlohmann::json::parse(text);
    for (const auto& [name, info] : all.items()) {
      offsets[name] = info.at("saved_offsets").get<Extents>();
    }
  } catch (const nlohmann::json::exception& e) {
    throw_format_error(c10::str("checkpoint: ", path, ": ", kShardingInfo, " is none: ", e.what()));
  }
  return offsets;
}

// The tensors of a file as chunks; `index`, where there is one, says which are meant.
void add_file(Metadata& metadata, const std::string& folder, const std::string& name,
              const std::map<std::string, std::string>* index) {
  const std::string path = folder + "/" + name;
  const auto bytes = std::make_shared<serialize::FileBytes>(path);
  const safetensors::File file(bytes);
  metadata.files[name] = bytes->view().size();
  const std::map<std::string, Extents> offsets = offsets_in(file, path);
  for (size_t i = 0; i < file.size(); ++i) {
    const safetensors::TensorInfo tensor = file.header().tensor(i);
    const std::string key(tensor.name);
    if (index != nullptr) {
      const auto found = index->find(key);
      if (found == index->end() || found->second != name) continue;
    }
    ChunkStorageMetadata chunk{Extents(file.sizes(key).size(), 0), file.sizes(key)};
    if (const auto found = offsets.find(key); found != offsets.end()) chunk.offsets = found->second;
    auto& stored = std::get<TensorStorageMetadata>(
        metadata.state_dict_metadata
            .emplace(key, TensorStorageMetadata{{file.dtype(key)}, Extents(chunk.sizes.size(), 0), {}})
            .first->second);
    bool fits = chunk.offsets.size() == chunk.sizes.size() && stored.size.size() == chunk.sizes.size() &&
                stored.properties.dtype == file.dtype(key);
    for (size_t d = 0; fits && d < chunk.sizes.size(); ++d) {
      int64_t end = 0;
      fits = chunk.offsets[d] >= 0 && !__builtin_add_overflow(chunk.offsets[d], chunk.sizes[d], &end);
      stored.size[d] = std::max(stored.size[d], end);
    }
    if (!fits) throw_format_error(c10::str("checkpoint: ", path, ": '", key, "' is no part of what other files have"));
    metadata.storage_data[{key, chunk.offsets}] = {.relative_path = name,
                                                   .offset = file.header().data_offset() + tensor.begin,
                                                   .length = tensor.bytes,
                                                   .checksums = {}};
    stored.chunks.push_back(std::move(chunk));
    metadata.planner_data[key] = {{key, false}};
  }
}

Metadata read_index(const std::string& folder) {
  const std::string path = folder + "/" + kHuggingFaceIndexName;
  const auto fail = [&](const std::string& what) { throw_format_error(c10::str("checkpoint: ", path, ": ", what)); };
  std::map<std::string, std::map<std::string, std::string>> by_file;
  try {
    const nlohmann::json index = nlohmann::json::parse(serialize::read_file(path, kMostIndexBytes));
    for (const auto& [name, file] : index.at("weight_map").items()) {
      by_file[file.get<std::string>()][name] = file.get<std::string>();
    }
  } catch (const nlohmann::json::exception& e) {
    fail(c10::str("no index of safetensors files: ", e.what()));
  }
  Metadata metadata;
  for (const auto& [file, names] : by_file) {
    if (!is_file_name(file)) fail(c10::str("\"", file.substr(0, 200), "\" is no name of a file in the folder"));
    add_file(metadata, folder, file, &names);
    for (const auto& [name, same] : names) {
      if (metadata.state_dict_metadata.count(name) == 0) fail(c10::str(file, " has no tensor '", name, "'"));
    }
  }
  return metadata;
}

}  // namespace

Metadata read_dcp_metadata(const std::string& path) {
  const std::string bytes = serialize::read_file(path, kMostIndexBytes);
  const Tree tree = pickle::parse(bytes, {path});
  Metadata metadata = DcpReader(tree).read();
  check_metadata(metadata, path, /*has_exact_lengths=*/false);
  return metadata;
}

std::optional<Metadata> read_safetensors_metadata(const std::string& folder) {
  Metadata metadata;
  if (is_file(folder + "/" + kHuggingFaceIndexName)) {
    metadata = read_index(folder);
  } else if (is_file(folder + "/" + kHuggingFaceFileName)) {
    add_file(metadata, folder, kHuggingFaceFileName, nullptr);
  } else {
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      constexpr std::string_view kBegin = "shard-", kEnd = ".safetensors";
      if (name.size() > kBegin.size() + kEnd.size() && name.compare(0, kBegin.size(), kBegin) == 0 &&
          name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0) {
        add_file(metadata, folder, name, nullptr);
      }
    }
    if (metadata.files.empty()) return std::nullopt;
  }
  check_metadata(metadata, folder, /*has_exact_lengths=*/true);
  return metadata;
}

WholeFile read_whole_file(const std::string& path) {
  WholeFile file;
  const auto bytes = std::make_shared<serialize::FileBytes>(path);
  c10::IValue value;
  if (pickle::recognises(bytes->view())) {
    value = pickle::load(bytes, {.map_location = c10::Device(c10::kCPU)});
    if (!value.isGenericDict()) {
      throw_format_error(c10::str("checkpoint: ", path, " holds a ", value.tag_name(), ", expected a dict"));
    }
  } else {
    c10::Dict<c10::IValue, c10::IValue> tensors;
    const safetensors::File tensor_file(bytes);
    for (const std::string& name : tensor_file.keys()) tensors.insert(name, tensor_file.get(name));
    value = tensors;
  }
  StateDict state = StateDict::of(value);
  for (const Leaf& leaf : flatten_state_dict(state)) {
    file.values[leaf.name] = leaf.value;
    file.metadata.planner_data[leaf.name] = leaf.path;
    if (!leaf.value.isTensor()) {
      file.metadata.state_dict_metadata[leaf.name] = BytesStorageMetadata{};
      file.metadata.storage_data[{leaf.name}] = {};
      continue;
    }
    const at::Tensor tensor = leaf.value.toTensor();
    const Extents sizes = tensor.sizes().vec(), zeros(sizes.size(), 0);
    file.metadata.state_dict_metadata[leaf.name] =
        TensorStorageMetadata{{tensor.scalar_type()}, sizes, {{zeros, sizes}}};
    file.metadata.storage_data[{leaf.name, zeros}] = {};
  }
  return file;
}

}  // namespace torch::distributed::checkpoint::detail
