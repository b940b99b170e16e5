#include "utils/pickle/tar.h"

#include <charconv>
#include <cstring>

#include "c10/util/string_util.h"
#include "utils/pickle/names.h"

namespace torch::pickle {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kMagicAt = 257;
constexpr uint64_t kSizeAt = 124;
constexpr uint64_t kChecksumAt = 148;
constexpr uint64_t kTypeAt = 156;

// A number in octal digits, none where there are others.
std::optional<uint64_t> octal(std::string_view field) {
  while (!field.empty() && (field.back() == ' ' || field.back() == '\0')) field.remove_suffix(1);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

// The class of a storage or tensor.
c10::ScalarType dtype_of_class(const Tree& tree, NodeId id, std::string_view suffix) {
  const Node& type = tree[id];
  if (type.kind == NodeKind::kGlobal && (type.module() == "torch" || type.module() == "torch.cuda") &&
      type.name().ends_with(suffix)) {
    const std::string_view stem = type.name().substr(0, type.name().size() - suffix.size());
    const auto dtype = dtype_of_storage_class(c10::str(stem, "Storage"));
    if (dtype.has_value() && is_quantized(*dtype)) tree.fail(id, "a quantized tensor without a quantizer");
    if (dtype.has_value()) return *dtype;
  }
  tree.fail(id, c10::str("no class ...", suffix, " of PyTorch's"));
}

}  // namespace

bool is_tar(std::string_view bytes) {
  return bytes.size() >= kBlock && bytes.substr(kMagicAt, 5) == "ustar";
}

TarFile::TarFile(std::shared_ptr<serialize::FileBytes> bytes) : bytes_(std::move(bytes)) {
  const std::string_view file = bytes_->view();
  for (uint64_t at = 0;;) {
    if (file.size() - at < kBlock) fail(at, "the tar file ends before its last block");
    const std::string_view header = file.substr(at, kBlock);
    if (header[0] == '\0') break;
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      sum += i >= kChecksumAt && i < kChecksumAt + 8 ? ' ' : static_cast<unsigned char>(header[i]);
    }
    if (octal(header.substr(kChecksumAt, 8)) != sum) fail(at, "the header of a member is damaged");
    const std::optional<uint64_t> size = octal(header.substr(kSizeAt, 12));
    if (!size.has_value() || *size > file.size() - at - kBlock) fail(at, "a member reaches past the end of the file");
    const char type = header[kTypeAt];
    if (type == '0' || type == '\0') {
      const std::string_view name = header.substr(0, std::min<size_t>(header.find('\0'), 100));
      const Member member{at + kBlock, at + kBlock + *size};
      if (!members_.emplace(name, member).second) fail(at, c10::str("the member '", name, "' comes twice"));
    }
    const uint64_t blocks = (*size + kBlock - 1) / kBlock;
    if (blocks > (file.size() - at - kBlock) / kBlock) fail(at, "a member reaches past the end of the file");
    at += kBlock + blocks * kBlock;
  }
}

void TarFile::fail(uint64_t offset, const std::string& what) const {
  serialize::throw_format_error(c10::str("tar: ", bytes_->origin(), " at byte ", offset, ": ", what));
}

TarFile::Member& TarFile::member(std::string_view name) {
  const auto found = members_.find(name);
  if (found == members_.end()) fail(0, c10::str("the tar file has no member '", name, "'"));
  return found->second;
}

Tree TarFile::next(Member& from) {
  Tree tree = parse(bytes_->view().substr(from.at, from.end - from.at), {bytes_->origin(), from.at});
  from.at += tree.bytes();
  return tree;
}

std::vector<int64_t> TarFile::numbers(Member& from, uint64_t count) {
  if (count > (from.end - from.at) / sizeof(int64_t))
    fail(from.at, "the member ends here, where numbers should follow");
  std::vector<int64_t> out(count);
  std::memcpy(out.data(), bytes_->view().data() + from.at, count * sizeof(int64_t));
  from.at += count * sizeof(int64_t);
  return out;
}

void TarFile::keep(const Tree& tree, NodeId key, c10::IValue value) {
  if (!objects_.emplace(integer_of(tree, key, "a key"), std::move(value)).second) tree.fail(key, "the key comes twice");
}

const c10::IValue& TarFile::kept(const Tree& tree, NodeId key) const {
  const auto found = objects_.find(integer_of(tree, key, "a key"));
  if (found == objects_.end()) tree.fail(key, "nothing in the file has this key");
  return found->second;
}

// count, then for each (key, place, class), a number of elements and these; then views: (key, root, offset, elements).
void TarFile::read_storages(std::optional<c10::Device> map_location) {
  Member& from = member("storages");
  const Tree count = next(from);
  for (int64_t left = integer_of(count, count.root(), "the number of storages"); left > 0; --left) {
    const Tree tree = next(from);
    const Node& about = tree[tree.root()];
    if (about.kind != NodeKind::kTuple || about.items.size() != 3) tree.fail(tree.root(), "not (key, place, class)");
    const c10::ScalarType dtype = dtype_of_class(tree, about.items[2], "Storage");
    const int64_t elements = numbers(from, 1)[0];
    const uint64_t element = c10::elementSize(dtype);
    if (elements < 0 || static_cast<uint64_t>(elements) > (from.end - from.at) / element) {
      fail(from.at - 8, c10::str("a storage of ", elements, " elements, which the file has not"));
    }
    const uint64_t bytes = static_cast<uint64_t>(elements) * element;
    const Storages storages(tree, *this, map_location);
    const std::string place(text_of(tree, about.items[1], "the place of a storage").substr(0, 100));
    keep(tree, about.items[0],
         storages.load(tree.root(), {bytes_->data() + from.at, bytes, bytes_}, dtype,
                       storages.place(tree.root(), place)));
    dtypes_.emplace(tree[about.items[0]].integer, dtype);
    from.at += bytes;
  }
  const Tree views = next(from);
  const Node& list = views[views.root()];
  if (list.kind != NodeKind::kList) views.fail(views.root(), "the views of storages are no list");
  for (const NodeId item : list.items) {
    const Node& view = views[item];
    if (view.kind != NodeKind::kTuple || view.items.size() != 4) views.fail(item, "not (key, root, offset, elements)");
    const c10::IValue root = kept(views, view.items[1]);
    const auto dtype = dtypes_.find(views[view.items[1]].integer);
    if (dtype == dtypes_.end() || !root.isStorage()) views.fail(item, "a view of what is no storage");
    const c10::ScalarType type = dtype->second;
    keep(views, view.items[0],
         Storages(views, *this, map_location)
             .part(item, root.toStorage(), type, integer_of(views, view.items[2], "the offset of a view"),
                   integer_of(views, view.items[3], "the size of a view")));
    dtypes_.emplace(views[view.items[0]].integer, type);
  }
}

// count, then for each (key, storage's key, class), 4 bytes for the number of dimensions, 4 bytes, sizes, strides,
// offset.
void TarFile::read_tensors(std::optional<c10::Device> map_location) {
  Member& from = member("tensors");
  const Tree count = next(from);
  for (int64_t left = integer_of(count, count.root(), "the number of tensors"); left > 0; --left) {
    const Tree tree = next(from);
    const Node& about = tree[tree.root()];
    if (about.kind != NodeKind::kTuple || about.items.size() != 3) tree.fail(tree.root(), "not (key, storage, class)");
    const c10::ScalarType dtype = dtype_of_class(tree, about.items[2], "Tensor");
    const c10::IValue storage = kept(tree, about.items[1]);
    const auto stored = dtypes_.find(tree[about.items[1]].integer);
    if (stored == dtypes_.end() || stored->second != dtype)
      tree.fail(tree.root(), "a tensor of another storage's dtype");
    const auto dimensions = static_cast<uint32_t>(numbers(from, 1)[0]);
    Storages::Geometry geometry;
    geometry.sizes = numbers(from, dimensions);
    geometry.strides = numbers(from, dimensions);
    geometry.offset = numbers(from, 1)[0];
    keep(tree, about.items[0],
         Storages(tree, *this, map_location).tensor(tree.root(), storage.toStorage(), dtype, geometry));
  }
}

Tree TarFile::read(std::optional<c10::Device> map_location) {
  read_storages(map_location);
  read_tensors(map_location);
  return next(member("pickle"));
}

Tree TarFile::read_object_only() {
  return next(member("pickle"));
}

StorageBytes TarFile::find(std::string_view key, const Tree& tree, NodeId at) {
  tree.fail(at, c10::str("the file has no storage '", key, "'"));
}

std::optional<c10::IValue> TarFile::object(const Tree& tree, NodeId persistent) {
  return kept(tree, tree[persistent].a);
}

}  // namespace torch::pickle
