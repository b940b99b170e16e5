// The storages of a file of pickles, and tensors over them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/core/storage.h"
#include "c10/value/ivalue.h"
#include "utils/pickle/tree.h"

namespace torch::pickle {

// Where a storage's bytes are: in the file, or unpacked.
struct StorageBytes {
  char* data = nullptr;
  uint64_t size = 0;
  std::shared_ptr<void> owner;  // keeps `data`
  c10::Storage storage{};       // in place of `data` and `owner`, where the bytes are a storage already
};

class StorageSource {
 public:
  virtual ~StorageSource() = default;
  // Fails through the tree where there is no such storage.
  virtual StorageBytes find(std::string_view key, const Tree& tree, NodeId at) = 0;
  virtual bool big_endian() const { return false; }
  // What a persistent id means where it is not the name of a storage.
  virtual std::optional<c10::IValue> object(const Tree& /*tree*/, NodeId /*persistent*/) { return std::nullopt; }
};

class Storages {
 public:
  Storages(const Tree& tree, StorageSource& source, std::optional<c10::Device> map_location)
      : tree_(tree), source_(source), map_location_(map_location) {}

  // The storage that a persistent id names. `dtype` is the elements' where the id's storage is untyped.
  c10::Storage get(NodeId persistent, std::optional<c10::ScalarType> dtype);
  // What the id says of the elements.
  c10::ScalarType dtype_of(NodeId persistent) const;

  // Of all storages that were asked for.
  uint64_t bytes() const { return bytes_; }

  struct Geometry {
    int64_t offset = 0;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
  };
  // Checked against the storage's size, where so many elements share a byte.
  at::Tensor tensor(NodeId at, c10::Storage storage, c10::ScalarType dtype, const Geometry& geometry,
                    uint64_t each_byte = 1) const;
  at::Tensor meta_tensor(NodeId at, c10::ScalarType dtype, const Geometry& geometry) const;
  // Where data that was saved from this place goes.
  c10::Device place(NodeId at, const std::string& location) const;
  // Bytes of the file as a storage on a device.
  c10::Storage load(NodeId at, const StorageBytes& bytes, c10::ScalarType dtype, c10::Device device) const;
  // `count` elements of a storage from `offset` on, as a storage that shares its memory.
  c10::Storage part(NodeId at, const c10::Storage& storage, c10::ScalarType dtype, int64_t offset, int64_t count) const;
  at::Tensor moved(NodeId at, const at::Tensor& tensor, c10::Device device) const;

 private:
  struct Entry {
    c10::Storage storage;
    c10::ScalarType dtype;
    int64_t numel;
  };
  struct Id {
    c10::ScalarType dtype;
    bool untyped;
    std::string key;
    std::string location;
    int64_t numel;
    NodeId view;
  };
  Id read_id(NodeId persistent) const;
  const Entry& root(NodeId at, const Id& id, c10::ScalarType dtype);
  c10::Storage take(NodeId at, const StorageBytes& bytes, c10::ScalarType dtype) const;
  // The bytes behind the last element; fails where the geometry is none.
  uint64_t extent(NodeId at, c10::ScalarType dtype, const Geometry& geometry, int64_t* numel) const;

  const Tree& tree_;
  StorageSource& source_;
  std::optional<c10::Device> map_location_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t bytes_ = 0;
};

// Arguments as they stand in the tree.
int64_t integer_of(const Tree& tree, NodeId id, const char* what);
std::vector<int64_t> integers_of(const Tree& tree, NodeId id, const char* what);
bool boolean_of(const Tree& tree, NodeId id, const char* what);
std::string_view text_of(const Tree& tree, NodeId id, const char* what);

}  // namespace torch::pickle
