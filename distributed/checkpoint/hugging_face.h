// Saving as Hugging Face's libraries read it.
#pragma once

#include <string>
#include <vector>

#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/format_utils.h"

namespace torch::distributed::checkpoint {

/// Saves tensors, of whatever shards, as model.safetensors or model-00001-of-0000N.safetensors and so on with an index:
/// ranks write shards into the folder `sharded` below, of which the coordinator makes whole tensors. Values that are no
/// tensors are left out. Not for going on with training: use FileSystemWriter for that.
///
///   dcp::save({{"model", net->state_dict()}},
///             {.storage_writer = std::make_shared<dcp::HuggingFaceStorageWriter>("out", {.prefix = "model."})});
class HuggingFaceStorageWriter : public FileSystemWriter {
 public:
  explicit HuggingFaceStorageWriter(const std::string& path, SafetensorsOptions options = {},
                                    FileSystemWriterOptions writer_options = {});
  void reset(const std::string& checkpoint_id) override;
  void finish(Metadata& metadata, const std::vector<std::vector<WriteResult>>& results) override;

 private:
  std::string target_;
  const SafetensorsOptions options_;
};

}  // namespace torch::distributed::checkpoint
