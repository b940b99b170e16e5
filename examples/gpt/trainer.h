// The training run: steps, validation, checkpoints, and what is written into the output folder.
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/common/captured_step.h"
#include "examples/gpt/model.h"
#include "examples/gpt/text.h"
#include "utils/checkpoint/checkpoint.h"

namespace gpt {

// All that decides the numbers of a run. A checkpoint holds it, so that a resumed run goes on with the same.
struct RunSettings {
  ModelOptions model;
  OptimizerSettings optimizer;
  int64_t batch = 12;
  int64_t steps = 2000;
  int64_t warmup = 100;
  double least_learning_rate = 1e-4;
  double clip = 1.0;
  uint64_t seed = 1337;
  std::string dtype = "float32";  // or "bf16", "fp16": mixed precision
};

// Throws c10::ValueError "NAME=VALUE is not within ..." for settings that make no sense.
void check(const RunSettings& settings);

// Names and values as text, exactly.
std::vector<std::pair<std::string, std::string>> to_values(const RunSettings& settings);
// Throws c10::Error where a value is missing, is no number or makes no sense.
RunSettings from_values(const std::vector<std::pair<std::string, std::string>>& values);

// Where a run computes.
struct Execution {
  torch::Device device = torch::kCPU;
  bool cuda_graph = false;  // steps are captured after the first few, and replayed
  bool checkpoint_blocks = false;  // blocks keep their arguments only, and run again in backward; same numbers
};

// Scales the parameters' gradients, all of which are there, so that their norm is at most `max_norm`. Does not wait for
// the device.
void clip_gradients(const std::vector<torch::Tensor>& parameters, double max_norm);

// Has the model's blocks keep nothing but their arguments while they train, and run again in backward: of L blocks that
// save A bytes each for arguments of X bytes, L X + A are held at a time instead of L A.
void checkpoint_blocks(Gpt& model);

// Processes that train one model together, each with its part of the batch.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  // The model becomes the same on all, before an optimizer is made for it: its parameters may become others.
  virtual void take(Gpt& model) = 0;
  // Throws c10::ValueError for settings that cannot be trained with so.
  virtual void check(const RunSettings& /*settings*/) const {}
  // Into how many parts a batch goes: one for each rank, or 1 where all work on the same; and which is this rank's.
  virtual int64_t parts_of_batch() const { return size(); }
  virtual int64_t part_of_batch() const { return parts_of_batch() == 1 ? 0 : rank(); }
  // Of this rank's part; backward() then gives the mean gradient of all. Undefined where forward_backward() does both.
  virtual torch::Tensor loss(const torch::Tensor& /*tokens*/, const torch::Tensor& /*targets*/) { return {}; }
  // The loss of the whole batch, with its gradients in grad() on all ranks.
  virtual torch::Tensor forward_backward(const torch::Tensor& /*tokens*/, const torch::Tensor& /*targets*/) {
    return {};
  }
  // Scales all gradients so that their norm is at most `max_norm`.
  virtual void clip_gradients(const std::vector<torch::Tensor>& parameters, double max_norm) {
    gpt::clip_gradients(parameters, max_norm);
  }
  virtual double mean(double value) = 0;
  virtual bool any(bool here) = 0;
  // Whether no rank has the whole model: losses and checkpoints then take all ranks.
  virtual bool is_sharded() const { return false; }
  virtual void save(const torch::serialize::Checkpoint& checkpoint, const std::string& path) {
    save_checkpoint(checkpoint, path);
  }
  virtual void load(torch::serialize::Checkpoint& checkpoint, const std::string& path) {
    load_checkpoint(checkpoint, path);
  }
  // Step and values alone; by this rank.
  virtual void read_values(torch::serialize::Checkpoint& checkpoint, const std::string& path) {
    read_checkpoint_values(checkpoint, path);
  }
};

struct Files {
  std::string folder;
  bool shared = false;  // whether the checkpoint is a folder that all ranks write to
  std::string checkpoint() const { return folder + (shared ? "/checkpoint" : "/checkpoint.safetensors"); }
  std::string chart() const { return folder + "/loss.svg"; }
};

class Trainer {
 public:
  // Makes model and optimizer from the settings' seed.
  // With `ranks`, which must live as long, all draw the same batches and take their part; rank 0 writes.
  Trainer(const RunSettings& settings, const Text& text, const Execution& execution = {}, Ranks* ranks = nullptr);

  // Takes over the checkpoint's weights, optimizer, random state, step and losses. Throws c10::Error, with nothing changed,
  // where it is damaged, of another model or of another text.
  void resume(const std::string& checkpoint);

  // Trains to the last step, or until `stop` is set, and saves. `every` steps there is a checkpoint and a validation.
  // Returns whether the last step was reached.
  bool run(const Files& files, int64_t checkpoint_every, int64_t validate_every, const std::atomic<bool>& stop);

  // Mean cross entropy over at most `limit` pieces of the validation text.
  double validation_loss(int64_t limit);

  // Of the last validation, NaN before the first.
  double last_validation_loss() const;

  Gpt& model() { return model_; }
  int64_t step() const { return step_; }

 private:
  bool is_first() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets, bool trains = false);
  void step_on_batch();
  double train_step();
  bool is_stopped(const std::atomic<bool>& stop);
  // The steps of a rank that writes nothing.
  bool follow(const Files& files, int64_t checkpoint_every, int64_t validate_every, const std::atomic<bool>& stop);
  void record(double loss);
  void save(const Files& files);
  void draw(const Files& files) const;

  RunSettings settings_;
  Execution execution_;
  Ranks* ranks_;
  const Text& text_;
  Gpt model_;
  torch::optim::AdamW optimizer_;
  torch::amp::GradScaler scaler_;
  int64_t step_ = 0;

  // What a step reads and writes, at the same place in each step.
  torch::Tensor tokens_, targets_, step_loss_;
  std::unique_ptr<examples::CapturedStep> captured_;
  int64_t steps_run_ = 0;  // of this process

  // Mean training losses of `window` steps each, and the validation losses, for the chart.
  struct Curve {
    std::vector<double> steps, losses;
  };
  Curve training_, validation_;
  int64_t window_;
  double window_sum_ = 0;
  int64_t window_count_ = 0;
};

// The text's length and checksum, which tell whether a checkpoint belongs to it.
std::string fingerprint(const Text& text);

}  // namespace gpt
