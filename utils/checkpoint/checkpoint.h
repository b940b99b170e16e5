// Checkpoints: everything that a training run needs to go on as if it had never stopped, in one file.
//
//   torch::serialize::Checkpoint checkpoint;
//   checkpoint.model = model.ptr().get();
//   checkpoint.optimizer = &optimizer;
//   checkpoint.set_data(*loader);             // where the pass over the data stands
//   checkpoint.step = step;
//   checkpoint.values.emplace_back("text", "shakespeare");
//   save_checkpoint(checkpoint, "run/checkpoint.safetensors");
//   ...
//   load_checkpoint(checkpoint, "run/checkpoint.safetensors");   // fills the model, the optimizer ... and sets step,
//   values
//
// The file is a safetensors file with a checksum over all its bytes. It replaces the old one in one step: killed at any
// moment, the old or the new one is there, whole. Tensors: "model.NAME" (parameters and buffers), "optimizer.NAME",
// "scheduler.NAME", "generator.state"; what the data need is below "data".
#pragma once

#include <cstdint>
#include <functional>
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

class InputArchive;
class OutputArchive;

// What to save or to restore. What is null is left out, and left alone where a file has it.
struct Checkpoint {
  nn::Module* model = nullptr;
  optim::Optimizer* optimizer = nullptr;
  optim::LRScheduler* scheduler = nullptr;
  at::Generator generator;  // of the CPU; undefined: left out
  int64_t step = 0;
  std::vector<std::pair<std::string, std::string>> values;  // the program's own; names are distinct
  std::function<void(OutputArchive&)> save_data;            // set_data sets both
  std::function<void(InputArchive&)> load_data;

  // Anything that has `archive << data` and `archive >> data`, as a DataLoader, a sampler or a stateful dataset; it
  // must outlive the checkpoint.
  template <class Data>
  void set_data(Data& data) {
    save_data = [&data](OutputArchive& archive) { archive << data; };
    load_data = [&data](InputArchive& archive) { archive >> data; };
  }
};

// Throws IoError where the file cannot be written; the old one is untouched then.
void save_checkpoint(const Checkpoint& checkpoint, const std::string& path);

// Restores all that is not null. Everything is checked first: the file's bytes, that each of the model's tensors is
// there with its sizes and dtype and no other, the optimizer's and the schedule's state, the generator's. After a throw
// nothing has changed. Throws IoError where the path cannot be read, FormatError for damage, ValueError for a
// checkpoint of another model or optimizer.
void load_checkpoint(Checkpoint& checkpoint, const std::string& path);

// Step and values alone, after checking the whole file: to see what a checkpoint is of before a model is made for it.
void read_checkpoint_values(Checkpoint& checkpoint, const std::string& path);

}  // namespace torch::serialize
