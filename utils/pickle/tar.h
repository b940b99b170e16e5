// PyTorch's oldest files: a tar file of the members sys_info, pickle, storages and tensors (versions before 0.1.10).
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "c10/value/ivalue.h"
#include "utils/pickle/storages.h"
#include "utils/serialize/file_io.h"

namespace torch::pickle {

// Whether a file with these bytes is meant to be a tar file.
bool is_tar(std::string_view bytes);

class TarFile : public StorageSource {
 public:
  // Reads and checks the members' headers; FormatError.
  explicit TarFile(std::shared_ptr<serialize::FileBytes> bytes);

  // The pickle, after which object() knows what its persistent ids mean.
  Tree read(std::optional<c10::Device> map_location);
  Tree read_object_only();

  StorageBytes find(std::string_view key, const Tree& tree, NodeId at) override;
  std::optional<c10::IValue> object(const Tree& tree, NodeId persistent) override;

 private:
  struct Member {
    uint64_t at = 0;  // what was read of it
    uint64_t end = 0;
  };
  [[noreturn]] void fail(uint64_t offset, const std::string& what) const;
  Member& member(std::string_view name);
  Tree next(Member& from);
  // `count` values of 8 bytes.
  std::vector<int64_t> numbers(Member& from, uint64_t count);
  void read_storages(std::optional<c10::Device> map_location);
  void read_tensors(std::optional<c10::Device> map_location);
  void keep(const Tree& tree, NodeId key, c10::IValue value);
  const c10::IValue& kept(const Tree& tree, NodeId key) const;

  std::shared_ptr<serialize::FileBytes> bytes_;
  std::unordered_map<std::string_view, Member> members_;
  std::unordered_map<int64_t, c10::IValue> objects_;
  std::unordered_map<int64_t, c10::ScalarType> dtypes_;  // of storages
};

}  // namespace torch::pickle
