// Checkpoints in folders.
//
// A folder has the files `data-<rank>-<number>.safetensors`, whose tensors are chunks ("NAME@OFFSET,OFFSET") and values
// (JSON, "NAME@json"), and index.json, which says what lies where, with sizes and checksums. index.json comes last, by
// a rename: where it is, the checkpoint is whole. A folder that has a checkpoint may be saved to again: the new files
// have other numbers, and the old ones go when the new index is there. A process killed at any moment leaves the old
// checkpoint or the new one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "distributed/checkpoint/storage.h"

namespace torch::distributed::checkpoint {

struct FileSystemWriterOptions {
  /// Else each tensor has a file of its own.
  bool single_file_per_rank = true;
  /// How many files a rank writes at a time, each with a part of what it has.
  int thread_count = 1;
  /// Whether a folder that has a checkpoint may be saved to.
  bool overwrite = true;
};

/// All ranks write to one folder, which all see. Errors are IoError, and ValueError for options.
class FileSystemWriter : public StorageWriter {
 public:
  explicit FileSystemWriter(std::string path, FileSystemWriterOptions options = {});
  void reset(const std::string& checkpoint_id) override { path_ = checkpoint_id; }
  void set_up_storage_writer(bool is_coordinator) override;
  SavePlan prepare_local_plan(SavePlan plan) override { return plan; }
  std::vector<SavePlan> prepare_global_plan(std::vector<SavePlan> plans) override;
  std::vector<WriteResult> write_data(const SavePlan& plan, SavePlanner& planner) override;
  void finish(Metadata& metadata, const std::vector<std::vector<WriteResult>>& results) override;
  void discard() override;
  const std::string& checkpoint_id() const { return path_; }

 private:
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  const FileSystemWriterOptions options_;
  std::vector<std::string> written_;  // names of this save's files
};

/// Reads folders of this library, of PyTorch (`.metadata` and `*.distcp`; or the files of its
/// HuggingFaceStorageWriter), and Hugging Face's (model.safetensors, or several files and
/// model.safetensors.index.json); and files: safetensors, or of torch.save, whose dicts have the names. Nothing in a
/// folder is trusted: what does not fit together is a FormatError before a tensor is made or written to; damage of the
/// data, too, but it may be found when other tensors are read already.
class FileSystemReader : public StorageReader {
 public:
  explicit FileSystemReader(std::string path);
  void reset(const std::string& checkpoint_id) override { path_ = checkpoint_id; }
  Metadata read_metadata() override;
  void set_up_storage_reader(const Metadata& metadata, bool is_coordinator) override;
  /// Checks the sizes of all files that the plan needs.
  LoadPlan prepare_local_plan(LoadPlan plan) override;
  std::vector<LoadPlan> prepare_global_plan(std::vector<LoadPlan> plans) override { return plans; }
  void read_data(const LoadPlan& plan, LoadPlanner& planner) override;
  const std::string& checkpoint_id() const { return path_; }
  /// How many bytes of data files were read.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // What a stored chunk is: elements, a file of torch.save, or a value of whole_.
  enum class Encoding : uint8_t { kElements, kTorchSave, kWhole };
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  Encoding encoding_ = Encoding::kElements;
  Metadata metadata_;
  std::unordered_map<MetadataIndex, const ChunkStorageMetadata*, MetadataIndex::Hash> chunks_;  // of metadata_
  std::map<std::string, c10::IValue> whole_;                                                    // by flat name
  uint64_t bytes_read_ = 0;
};

}  // namespace torch::distributed::checkpoint
