// Checkpoints: everything that a training run needs to go on as if it had never stopped, in one file.
//
//   torch::serialize::Checkpoint checkpoint;
//   checkpoint.model = model.ptr().get();
//   checkpoint.optimizer = &optimizer;
//   checkpoint.step = step;
//   checkpoint.values.emplace_back("text", "shakespeare");
//   save_checkpoint(checkpoint, "run/checkpoint.safetensors");
//   ...
//   load_checkpoint(checkpoint, "run/checkpoint.safetensors");   // fills the model, the optimizer ... and sets step, values
//
// The file is a safetensors file with a checksum over all its bytes. It replaces the old one in one step: killed at any
// moment, the old or the new one is there, whole. Tensors: "model.NAME" (parameters and buffers), "optimizer.NAME",
// "scheduler.NAME", "generator.state".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "c10/core/generator.h"
#include "utils/serialize/file_error.h"

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
class LRScheduler;
}  // namespace torch::optim

namespace torch::serialize {

// What to save or to restore. What is null is left out, and left alone where a file has it.
struct Checkpoint {
  nn::Module* model = nullptr;
  optim::Optimizer* optimizer = nullptr;
  optim::LRScheduler* scheduler = nullptr;
  at::Generator generator;  // of the CPU; undefined: left out
  int64_t step = 0;
  std::vector<std::pair<std::string, std::string>> values;  // the program's own; names are distinct
};

// Throws IoError where the file cannot be written; the old one is untouched then.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);

// Restores all that is not null. Everything is checked first: the file's bytes, that each of the model's tensors is there
// with its sizes and dtype and no other, the optimizer's and the schedule's state, the generator's. After a throw nothing
// has changed. Throws IoError where the path cannot be read, FormatError for damage, ValueError for a checkpoint of another
// model or optimizer.
void load_checkpoint(Checkpoint& checkpoint, const std::string& path);

// Step and values alone, after checking the whole file: to see what a checkpoint is of before a model is made for it.
void read_checkpoint_values(Checkpoint& checkpoint, const std::string& path);

}  // namespace torch::serialize
