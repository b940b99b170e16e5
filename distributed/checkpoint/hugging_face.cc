#include "distributed/checkpoint/hugging_face.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace torch::distributed::checkpoint {
namespace {

std::string shards_of(const std::string& path) {
  return path + "/sharded";
}

}  // namespace

HuggingFaceStorageWriter::HuggingFaceStorageWriter(const std::string& path, SafetensorsOptions options,
                                                   FileSystemWriterOptions writer_options)
    : FileSystemWriter(shards_of(path), writer_options), target_(path), options_(std::move(options)) {}

void HuggingFaceStorageWriter::reset(const std::string& checkpoint_id) {
  FileSystemWriter::reset(shards_of(checkpoint_id));
  target_ = checkpoint_id;
}

void HuggingFaceStorageWriter::finish(Metadata& metadata, const std::vector<std::vector<WriteResult>>& results) {
  FileSystemWriter::finish(metadata, results);
  dcp_to_safetensors(checkpoint_id(), target_, options_);
  std::error_code ignored;
  std::filesystem::remove_all(checkpoint_id(), ignored);
}

}  // namespace torch::distributed::checkpoint
