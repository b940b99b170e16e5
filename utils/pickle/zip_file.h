// PyTorch's zip files: pickles, each with the storages that it names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "utils/pickle/storages.h"
#include "utils/pickle/tree.h"
#include "utils/pickle/zip.h"

namespace torch::pickle {

class ZipFile {
 public:
  // Checks that it is one of them, its version and its byte order.
  explicit ZipFile(std::shared_ptr<FileBytes> bytes);
  const ZipReader& zip() const { return zip_; }
  const std::string& origin() const { return zip_.bytes()->origin(); }
  int version() const { return version_; }
  // Whether it is TorchScript's: it has a record constants.pkl.
  bool is_script() const { return zip_.find("constants.pkl") != nullptr; }
  // Checks every record's checksum.
  void verify() const;

 private:
  friend class ZipPickle;
  ZipReader zip_;
  int version_ = 0;
  bool big_endian_ = false;
};

// The record NAME.pkl and the storages NAME/0, NAME/1 ... The file outlives it.
class ZipPickle final : public StorageSource {
 public:
  // FormatError where there is none.
  ZipPickle(const ZipFile& file, std::string name);
  // Points into this.
  Tree read() const { return parse(pickle_, source_, most_nodes_); }
  bool big_endian() const override { return file_.big_endian_; }
  StorageBytes find(std::string_view key, const Tree& tree, NodeId at) override;

 private:
  const ZipFile& file_;
  std::string name_;
  std::string unpacked_;
  std::string_view pickle_;
  Source source_;
  uint64_t most_nodes_ = kNoNode;
};

}  // namespace torch::pickle
