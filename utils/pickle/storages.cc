#include "utils/pickle/storages.h"

#include <cstring>

#include "aten/core/empty.h"
#include "aten/cpu/cast.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/safe_numerics.h"
#include "utils/pickle/names.h"
#include "utils/serialize/config.h"

namespace torch::pickle {

using c10::ScalarType;

int64_t integer_of(const Tree& tree, NodeId id, const char* what) {
  if (tree[id].kind != NodeKind::kInt) tree.fail(id, c10::str(what, " is no integer of 64 bits"));
  return tree[id].integer;
}

bool boolean_of(const Tree& tree, NodeId id, const char* what) {
  if (tree[id].kind != NodeKind::kBool) tree.fail(id, c10::str(what, " is neither True nor False"));
  return tree[id].boolean;
}

std::string_view text_of(const Tree& tree, NodeId id, const char* what) {
  if (tree[id].kind != NodeKind::kText) tree.fail(id, c10::str(what, " is no text"));
  return tree[id].view();
}

std::vector<int64_t> integers_of(const Tree& tree, NodeId id, const char* what) {
  const Node* node = &tree[id];
  // torch.Size((2, 3))
  if (node->kind == NodeKind::kCall && tree[node->a].kind == NodeKind::kGlobal && tree[node->a].module() == "torch" &&
      tree[node->a].name() == "Size" && tree[node->b].items.size() == 1) {
    node = &tree[tree[node->b].items[0]];
  }
  if (node->kind != NodeKind::kTuple && node->kind != NodeKind::kList)
    tree.fail(id, c10::str(what, " are no tuple of integers"));
  std::vector<int64_t> out;
  out.reserve(node->items.size());
  for (const NodeId item : node->items) out.push_back(integer_of(tree, item, what));
  return out;
}

namespace {

size_t component_size(ScalarType dtype) {
  const size_t size = c10::elementSize(dtype);
  return c10::isComplexType(dtype) ? size / 2 : size;
}

void swap_bytes(char* data, uint64_t size, size_t component) {
  for (uint64_t at = 0; at + component <= size; at += component) {
    for (size_t i = 0; i < component / 2; ++i) std::swap(data[at + i], data[at + component - 1 - i]);
  }
}

void drop_owner(void* context) {
  delete static_cast<std::shared_ptr<void>*>(context);
}

c10::Storage foreign(char* data, uint64_t size, std::shared_ptr<void> owner) {
  c10::DataPtr pointer(data, new std::shared_ptr<void>(std::move(owner)), &drop_owner, c10::Device(c10::kCPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(pointer));
}

// Of the file's size, without what it holds.
c10::Storage blank(uint64_t size, ScalarType dtype) {
  c10::Storage storage(c10::StorageImpl::allocate_cpu(size));
  if (dtype == ScalarType::Bool) std::memset(storage.mutable_data(), 0, size);
  return storage;
}

}  // namespace

Storages::Id Storages::read_id(NodeId persistent) const {
  const NodeId tuple = tree_[persistent].a;
  const Node& id = tree_[tuple];
  if (id.kind != NodeKind::kTuple || id.items.size() < 2) tree_.fail(persistent, "a persistent id that is no tuple");
  if (text_of(tree_, id.items[0], "the kind of a persistent id") != "storage") {
    tree_.fail(persistent, c10::str("a persistent id of kind '", tree_[id.items[0]].view().substr(0, 100), "'"));
  }
  if (id.items.size() != 5 && id.items.size() != 6)
    tree_.fail(persistent, "the id of a storage has five items, or six");
  const Node& type = tree_[id.items[1]];
  const bool known = type.kind == NodeKind::kGlobal &&
                     (type.module() == "torch" || type.module() == "torch.cuda" || type.module() == "torch.storage");
  const auto dtype = known ? dtype_of_storage_class(type.name()) : std::nullopt;
  if (!dtype.has_value()) tree_.fail(id.items[1], "an unknown class of storages");
  Id out;
  out.dtype = *dtype;
  out.untyped = type.name() == "UntypedStorage";
  // torch.package counts them in numbers.
  const Node& key = tree_[id.items[2]];
  out.key = key.kind == NodeKind::kInt ? std::to_string(key.integer)
                                       : std::string(text_of(tree_, id.items[2], "the key of a storage"));
  if (out.key.empty() || out.key.size() > 100) tree_.fail(id.items[2], "the key of a storage is empty or too long");
  for (const char c : out.key) {
    const bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    if (!ok) tree_.fail(id.items[2], "the key of a storage has letters and digits only");
  }
  const std::string_view location = text_of(tree_, id.items[3], "the place of a storage");
  if (location.size() > 100) tree_.fail(id.items[3], "the place of a storage is no device");
  out.location = std::string(location);
  out.numel = integer_of(tree_, id.items[4], "the size of a storage");
  if (out.numel < 0) tree_.fail(id.items[4], "the size of a storage is negative");
  out.view = id.items.size() == 6 ? id.items[5] : kNoNode;
  return out;
}

ScalarType Storages::dtype_of(NodeId persistent) const {
  return read_id(persistent).dtype;
}

c10::Device Storages::place(NodeId at, const std::string& location) const {
  std::optional<c10::Device> device;
  try {
    device = c10::Device(location);
  } catch (const c10::Error&) {
    tree_.fail(at, c10::str("'", location, "' is no device"));
  }
  if (device->is_cuda() && !device->has_index()) device->set_index(0);
  return map_location_.value_or(*device);
}

at::Tensor Storages::moved(NodeId at, const at::Tensor& tensor, c10::Device device) const {
  if (tensor.device() == device || device.is_cpu()) return tensor;
  try {
    const c10::NoGradGuard no_grad;
    at::Tensor out = at::empty_contiguous(tensor.sizes(), tensor.scalar_type(), device);
    if (!device.is_meta()) at::copy_(out, tensor);
    return out;
  } catch (const c10::Error& e) {
    tree_.unsupported(at, c10::str("the data was saved from ", device.str(), ", which this program cannot use (",
                                   e.msg(), "); map_location puts it elsewhere, for example on the CPU"));
  }
}

c10::Storage Storages::take(NodeId at, const StorageBytes& bytes, ScalarType dtype) const {
  if (bytes.size == 0) return c10::Storage(c10::StorageImpl::allocate_cpu(0));
  const size_t component = component_size(dtype);
  const bool swap = source_.big_endian() && component > 1;
  if (dtype == ScalarType::Bool) {
    for (uint64_t i = 0; i < bytes.size; ++i) {
      if (static_cast<unsigned char>(bytes.data[i]) > 1) {
        tree_.fail(at, c10::str("element ", i, " of a boolean storage is neither 0 nor 1"));
      }
    }
  }
  // 16 bytes is the most that any dtype's loads ask for.
  if (!swap && reinterpret_cast<uintptr_t>(bytes.data) % std::min<size_t>(c10::elementSize(dtype), 8) == 0) {
    return foreign(bytes.data, bytes.size, bytes.owner);
  }
  c10::Storage copy(c10::StorageImpl::allocate_cpu(bytes.size));
  std::memcpy(copy.mutable_data(), bytes.data, bytes.size);
  if (swap) swap_bytes(static_cast<char*>(copy.mutable_data()), bytes.size, component);
  return copy;
}

c10::Storage Storages::load(NodeId at, const StorageBytes& bytes, ScalarType dtype, c10::Device device) const {
  c10::Storage storage = serialization::skip_data::is_on() ? blank(bytes.size, dtype) : take(at, bytes, dtype);
  if (device.is_cpu()) return storage;
  const auto size = static_cast<int64_t>(bytes.size);
  const at::Tensor all(at::TensorImpl::contiguous(storage.impl(), ScalarType::Byte, c10::Device(c10::kCPU), {size}));
  return c10::Storage(moved(at, all, device).unsafeGetTensorImpl()->storage());
}

c10::Storage Storages::part(NodeId at, const c10::Storage& storage, ScalarType dtype, int64_t offset,
                            int64_t count) const {
  const uint64_t element = c10::elementSize(dtype);
  const auto numel = static_cast<int64_t>(storage.nbytes() / element);
  if (offset < 0 || count < 0 || offset > numel || count > numel - offset) {
    tree_.fail(at, c10::str("a view of ", count, " elements at ", offset, " of a storage of ", numel));
  }
  if (!storage.device().is_cpu()) tree_.unsupported(at, "views of storages on other devices");
  char* data = static_cast<char*>(storage.mutable_data()) + static_cast<uint64_t>(offset) * element;
  return foreign(data, static_cast<uint64_t>(count) * element, std::make_shared<c10::Storage>(storage));
}

const Storages::Entry& Storages::root(NodeId at, const Id& id, ScalarType dtype) {
  const auto found = entries_.find(id.key);
  if (found != entries_.end()) {
    const Entry& entry = found->second;
    if (entry.storage.nbytes() != 0 && entry.dtype != dtype) {
      tree_.fail(at, c10::str("storage '", id.key, "' is used with two dtypes"));
    }
    if (entry.numel != id.numel) tree_.fail(at, c10::str("storage '", id.key, "' has two sizes"));
    return entry;
  }
  int64_t size = 0;
  if (c10::mul_overflows(id.numel, static_cast<int64_t>(c10::elementSize(id.dtype)), &size)) {
    tree_.fail(at, c10::str("storage '", id.key, "' has more bytes than 64 bits count"));
  }
  Entry entry{{}, dtype, id.numel};
  const c10::Device device = place(at, id.location);
  if (device.is_meta() && id.location == "meta") {
    entry.storage = c10::Storage(c10::StorageImpl::without_data(static_cast<size_t>(size), device));
  } else {
    const StorageBytes bytes = source_.find(id.key, tree_, at);
    if (bytes.size != static_cast<uint64_t>(size)) {
      tree_.fail(at, c10::str("storage '", id.key, "' has ", bytes.size, " bytes in the file, where ", id.numel,
                              " elements of ", name_of_dtype(id.dtype), " take ", size));
    }
    entry.storage = bytes.storage ? bytes.storage : load(at, bytes, dtype, device);
    bytes_ += bytes.size;
  }
  return entries_.emplace(id.key, std::move(entry)).first->second;
}

c10::Storage Storages::get(NodeId persistent, std::optional<ScalarType> dtype) {
  const Id id = read_id(persistent);
  if (id.view == kNoNode || tree_[id.view].kind == NodeKind::kNone) {
    return root(persistent, id, id.untyped ? dtype.value_or(id.dtype) : id.dtype).storage;
  }
  // (key, offset, size): a part of the storage.
  const Node& view = tree_[id.view];
  if (view.kind != NodeKind::kTuple || view.items.size() != 3)
    tree_.fail(id.view, "a view of a storage is (key, offset, size)");
  return part(id.view, root(persistent, id, id.dtype).storage, id.dtype,
              integer_of(tree_, view.items[1], "the offset of a view"),
              integer_of(tree_, view.items[2], "the size of a view"));
}

uint64_t Storages::extent(NodeId at, ScalarType dtype, const Geometry& geometry, int64_t* numel) const {
  const auto& sizes = geometry.sizes;
  if (sizes.size() != geometry.strides.size()) {
    tree_.fail(at, c10::str(sizes.size(), " sizes and ", geometry.strides.size(), " strides"));
  }
  if (sizes.size() > static_cast<size_t>(c10::TensorImpl::kMaxDims)) {
    tree_.fail(at, c10::str("a tensor of ", sizes.size(), " dimensions; at most ", c10::TensorImpl::kMaxDims,
                            " are supported"));
  }
  if (geometry.offset < 0) tree_.fail(at, "a negative storage offset");
  int64_t last = geometry.offset;
  bool overflow = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) tree_.fail(at, c10::str("a negative size: ", sizes[d]));
    if (geometry.strides[d] < 0) tree_.fail(at, c10::str("a negative stride: ", geometry.strides[d]));
    int64_t reach = 0;
    overflow |= sizes[d] > 0 && c10::mul_overflows(sizes[d] - 1, geometry.strides[d], &reach);
    overflow |= c10::add_overflows(last, reach, &last);
  }
  overflow |= c10::safe_multiplies(sizes, numel);
  int64_t bytes = 0;
  const auto element = static_cast<int64_t>(c10::elementSize(dtype));
  int64_t whole = 0;
  overflow |= c10::mul_overflows(*numel, element, &whole);
  if (*numel == 0) {
    if (overflow) tree_.fail(at, "the sizes and strides overflow 64 bits");
    return 0;
  }
  overflow |= c10::add_overflows(last, int64_t{1}, &last) || c10::mul_overflows(last, element, &bytes);
  if (overflow) tree_.fail(at, "the sizes and strides overflow 64 bits");
  return static_cast<uint64_t>(bytes);
}

at::Tensor Storages::tensor(NodeId at, c10::Storage storage, ScalarType dtype, const Geometry& geometry,
                            uint64_t each_byte) const {
  int64_t numel = 0;
  const uint64_t end = extent(at, dtype, geometry, &numel), bytes = end / each_byte + (end % each_byte != 0);
  if (bytes > storage.nbytes()) {
    tree_.fail(at, c10::str("the tensor reaches to byte ", bytes, " of a storage of ", storage.nbytes(), " bytes"));
  }
  if (numel == 0 && static_cast<uint64_t>(geometry.offset) > storage.nbytes())
    tree_.fail(at, "the offset lies behind the storage");
  if (storage.device().is_cpu()) at::cpu::prepare_type(dtype);
  const c10::Device device = storage.device();
  return at::Tensor(
      at::TensorImpl::strided(storage.impl(), dtype, device, geometry.sizes, geometry.strides, geometry.offset));
}

at::Tensor Storages::meta_tensor(NodeId at, ScalarType dtype, const Geometry& geometry) const {
  int64_t numel = 0;
  const uint64_t bytes = extent(at, dtype, geometry, &numel);
  const c10::Device device(c10::DeviceType::Meta);
  auto storage = c10::StorageImpl::without_data(bytes, device);
  return at::Tensor(
      at::TensorImpl::strided(std::move(storage), dtype, device, geometry.sizes, geometry.strides, geometry.offset));
}

}  // namespace torch::pickle
