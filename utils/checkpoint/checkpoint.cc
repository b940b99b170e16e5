#include "utils/checkpoint/checkpoint.h"

#include <cstring>
#include <set>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "nn/module/module.h"
#include "nn/module/state_dict.h"
#include "optim/lr_scheduler/lr_scheduler.h"
#include "optim/optimizer.h"
#include "utils/serialize/archive.h"
#include "utils/serialize/optimizer_archive.h"

namespace torch::serialize {
namespace {

constexpr int64_t kVersion = 1;
constexpr const char* kFormat = "kindling.checkpoint";

// Parameters and persistent buffers of a module by name.
std::vector<std::pair<std::string, at::Tensor>> tensors_of(const nn::Module& model) {
  return model.state_dict("", /*keep_vars=*/true).pairs();
}

void open(const std::string& path, InputArchive* archive) {
  try {
    archive->load_verified(path);
    std::string format;
    int64_t version = 0;
    if (!archive->try_read("format", format) || format != kFormat || !archive->try_read("version", version)) {
      throw_format_error("this is no checkpoint");
    }
    if (version != kVersion) {
      throw_format_error(
          c10::str("this is a checkpoint of version ", version, "; version ", kVersion, " is read here"));
    }
  } catch (FormatError& e) {
    e.add_context(c10::str("checkpoint ", path));
    throw;
  } catch (c10::TypeError& e) {
    throw_format_error(c10::str("checkpoint ", path, ": ", e.msg()));
  }
}

void read_values(const InputArchive& archive, int64_t* step, std::vector<std::pair<std::string, std::string>>* values) {
  archive.read("step", *step);
  InputArchive nested;
  if (!archive.try_read("values", nested)) return;
  auto stored = nested.values();
  values->reserve(values->size() + stored.size());
  for (auto& [name, value] : stored) values->emplace_back(std::move(name), value.toStringRef());
}

InputArchive part(const InputArchive& archive, const char* name) {
  InputArchive nested;
  TORCH_CHECK_VALUE(archive.try_read(name, nested), "the checkpoint has no ", name);
  return nested;
}

// Throws ValueError unless the archive has exactly these tensors.
void check_same(const InputArchive& stored, const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  std::set<std::string> unexpected;
  for (std::string& name : stored.tensor_names()) unexpected.insert(std::move(name));
  for (const auto& [name, tensor] : tensors) {
    c10::ScalarType dtype;
    std::vector<int64_t> sizes;
    TORCH_CHECK_VALUE(stored.describe(name, &dtype, &sizes), "the checkpoint has no tensor \"", name,
                      "\" of the model");
    TORCH_CHECK_VALUE(tensor.sizes() == c10::IntArrayRef(sizes) && tensor.scalar_type() == dtype, "the model's \"",
                      name, "\" is ", c10::toString(tensor.scalar_type()), tensor.sizes(), ", the checkpoint's ",
                      c10::toString(dtype), c10::IntArrayRef(sizes));
    unexpected.erase(name);
  }
  TORCH_CHECK_VALUE(unexpected.empty(), "the checkpoint's tensor \"", *unexpected.begin(), "\" is none of the model's");
}

// Loads the data's place, and puts it back where it was unless keep() is called.
class DataPlace {
 public:
  explicit DataPlace(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    if (!checkpoint.load_data) return;
    OutputArchive before;
    checkpoint.save_data(before);
    before_ = before.to_bytes();
    loaded_ = true;
  }
  ~DataPlace() {
    if (!loaded_) return;
    try {
      InputArchive before;
      before.load_from(before_.data(), before_.size());
      checkpoint_.load_data(before);
    } catch (...) {  // what it saved itself; the exception on its way says what is wrong
    }
  }
  DataPlace(const DataPlace&) = delete;
  DataPlace& operator=(const DataPlace&) = delete;

  void load(const InputArchive& archive) {
    if (!loaded_) return;
    InputArchive data = part(archive, "data");
    checkpoint_.load_data(data);
  }
  void keep() { loaded_ = false; }

 private:
  const Checkpoint& checkpoint_;
  std::string before_;
  bool loaded_ = false;
};

}  // namespace

void save_checkpoint(const Checkpoint& checkpoint, const std::string& path) {
  OutputArchive archive;
  archive.write("format", kFormat);
  archive.write("version", kVersion);
  archive.write("step", checkpoint.step);
  OutputArchive values;
  for (const auto& [name, text] : checkpoint.values) values.write(name, text);
  archive.write("values", values);
  if (checkpoint.model != nullptr) {
    OutputArchive model;
    for (const auto& [name, tensor] : tensors_of(*checkpoint.model)) model.write(name, tensor);
    archive.write("model", model);
  }
  if (checkpoint.optimizer != nullptr) {
    OutputArchive optimizer;
    write_state(optimizer, checkpoint.optimizer->state_dict());
    archive.write("optimizer", optimizer);
  }
  if (checkpoint.scheduler != nullptr) {
    OutputArchive scheduler;
    write_state(scheduler, checkpoint.scheduler->state_dict());
    archive.write("scheduler", scheduler);
  }
  if (checkpoint.generator.defined()) {
    OutputArchive generator;
    generator.write("state", checkpoint.generator.get_state());
    archive.write("generator", generator);
  }
  if (checkpoint.save_data) {
    OutputArchive data;
    checkpoint.save_data(data);
    archive.write("data", data);
  }
  archive.save_with_checksum(path);
}

void read_checkpoint_values(Checkpoint& checkpoint, const std::string& path) {
  InputArchive archive;
  open(path, &archive);
  int64_t step = 0;
  std::vector<std::pair<std::string, std::string>> values;
  read_values(archive, &step, &values);
  checkpoint.step = step;
  checkpoint.values = std::move(values);
}

void load_checkpoint(Checkpoint& checkpoint, const std::string& path) {
  InputArchive archive;
  open(path, &archive);
  // First what can fail without changing anything ...
  int64_t step = 0;
  std::vector<std::pair<std::string, std::string>> values;
  read_values(archive, &step, &values);
  std::vector<std::pair<std::string, at::Tensor>> targets, sources;
  if (checkpoint.model != nullptr) {
    targets = tensors_of(*checkpoint.model);
    const InputArchive model = part(archive, "model");
    check_same(model, targets);
    for (const auto& [name, tensor] : targets) {
      at::Tensor stored;
      model.read(name, stored);
      sources.emplace_back(name, std::move(stored));
    }
  }
  at::Tensor random;
  if (checkpoint.generator.defined()) {
    part(archive, "generator").read("state", random);
    TORCH_CHECK_VALUE(random.scalar_type() == c10::ScalarType::Byte, "the checkpoint's generator state is not bytes");
    checkpoint.generator.clone().set_state(random);
  }
  optim::StateDict optimizer, scheduler;
  if (checkpoint.optimizer != nullptr) optimizer = read_state(part(archive, "optimizer"));
  if (checkpoint.scheduler != nullptr) scheduler = read_state(part(archive, "scheduler"));
  // ... then those that check themselves before they change, the cheap ones being put back should another throw ...
  DataPlace data(checkpoint);
  data.load(archive);
  optim::StateDict scheduler_before;
  if (checkpoint.scheduler != nullptr) {
    scheduler_before = checkpoint.scheduler->state_dict();
    checkpoint.scheduler->load_state_dict(scheduler);
  }
  if (checkpoint.optimizer != nullptr) {
    try {
      checkpoint.optimizer->load_state_dict(optimizer);
    } catch (...) {
      if (checkpoint.scheduler != nullptr) checkpoint.scheduler->load_state_dict(scheduler_before);
      throw;
    }
  }
  // ... and last what cannot fail any more.
  data.keep();
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < targets.size(); ++i) at::copy_(targets[i].second, sources[i].second);
  if (random.defined()) checkpoint.generator.set_state(random);
  checkpoint.step = step;
  checkpoint.values = std::move(values);
}

}  // namespace torch::serialize
