// Checkpoints that all ranks write together: folders of //distributed/checkpoint, which any number of ranks goes on
// with, however these train.
#pragma once

#include <string>

#include "utils/checkpoint/checkpoint.h"

namespace gpt {

// Whether a path is such a folder's, or a file's of //utils/checkpoint.
bool is_shared(const std::string& path);

// By all ranks of the default group. Parameters without memory here (meta) are others'.
void save_shared(const torch::serialize::Checkpoint& checkpoint, const std::string& path);
// Restores what is not null; if `alone`, by this process only.
void load_shared(torch::serialize::Checkpoint& checkpoint, const std::string& path, bool alone = false);

// Step and values alone, of a file or a folder; by this process.
void read_values(torch::serialize::Checkpoint& checkpoint, const std::string& path);

}  // namespace gpt
