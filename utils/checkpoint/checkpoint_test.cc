#include "utils/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/files.h"
#include "nn/layers/linear.h"
#include "nn/module/sequential.h"
#include "optim/adamw.h"
#include "optim/lr_scheduler/schedules.h"
#include "optim/sgd.h"
#include "utils/serialize/archive.h"
#include "utils/serialize/file_io.h"

namespace torch::serialize {
namespace {

using ::testing::HasSubstr;
using c10::testing::fresh_folder;

// A small run: everything that a checkpoint holds.
struct TrainingRun {
  explicit TrainingRun(int64_t hidden = 5)
      : model(nn::Linear(3, hidden), nn::Linear(hidden, 2)),
        optimizer(model->parameters(), optim::AdamWOptions(0.01)),
        scheduler(optimizer, 100) {
    checkpoint.model = model.ptr().get();
    checkpoint.optimizer = &optimizer;
    checkpoint.scheduler = &scheduler;
    checkpoint.generator = at::detail::getDefaultCPUGenerator();
  }

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      at::Tensor loss = at::sum(model->forward(at::randn({4, 3})));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      scheduler.step();
      ++checkpoint.step;
    }
  }

  // Every bit of the state.
  std::string fingerprint() const {
    OutputArchive archive;
    for (const auto& item : model->named_parameters()) archive.write("m." + item.key(), item.value());
    archive.write("optimizer", optimizer.state_dict().tree());
    archive.write("scheduler", scheduler.state_dict().tree());
    std::string bytes = archive.to_bytes();
    const at::Tensor state = checkpoint.generator.get_state();
    bytes.append(static_cast<const char*>(state.data_ptr()), state.nbytes());
    return bytes + std::to_string(checkpoint.step);
  }

  nn::Sequential model;
  optim::AdamW optimizer;
  optim::CosineAnnealingLR scheduler;
  Checkpoint checkpoint;
};

TEST(Checkpoint, AResumedRunHasTheSameBits) {
  const std::string path = fresh_folder() + "/c";
  at::manual_seed(3);
  TrainingRun first;
  first.train(4);
  first.checkpoint.values = {{"name", "x \"y\""}, {"empty", ""}};
  save_checkpoint(first.checkpoint, path);
  const std::string at_save = first.fingerprint();
  first.train(6);
  const std::string at_end = first.fingerprint();

  at::manual_seed(99);
  TrainingRun second;
  second.train(2);
  load_checkpoint(second.checkpoint, path);
  EXPECT_EQ(second.checkpoint.step, 4);
  EXPECT_THAT(second.checkpoint.values, ::testing::UnorderedElementsAreArray(first.checkpoint.values));
  EXPECT_EQ(second.fingerprint(), at_save);
  second.train(6);
  EXPECT_EQ(second.fingerprint(), at_end);
  save_checkpoint(second.checkpoint, path);
  save_checkpoint(first.checkpoint, path + "2");
  EXPECT_EQ(read_file(path), read_file(path + "2"));
}

TEST(Checkpoint, PartsMayBeLeftOut) {
  const std::string path = fresh_folder() + "/c";
  TrainingRun run;
  run.train(1);
  save_checkpoint(run.checkpoint, path);
  Checkpoint only_step;
  read_checkpoint_values(only_step, path);
  EXPECT_EQ(only_step.step, 1);
  TrainingRun other;
  other.checkpoint.optimizer = nullptr;
  other.checkpoint.scheduler = nullptr;
  other.checkpoint.generator = at::Generator();
  load_checkpoint(other.checkpoint, path);
  EXPECT_TRUE(at::equal(other.model->parameters()[0], run.model->parameters()[0]));

  Checkpoint bare;
  save_checkpoint(bare, path);
  EXPECT_THROW(load_checkpoint(run.checkpoint, path), c10::ValueError);
}

template <typename E>
void expect_refused(TrainingRun& run, const std::string& path, const char* message) {
  const std::string before = run.fingerprint();
  try {
    load_checkpoint(run.checkpoint, path);
    FAIL() << "accepted";
  } catch (const E& e) {
    EXPECT_THAT(e.what_without_backtrace(), HasSubstr(message));
  }
  EXPECT_EQ(run.fingerprint(), before) << "something changed before the error";
}

TEST(Checkpoint, OfAnotherModelOrOptimizerIsRefusedWhole) {
  const std::string path = fresh_folder() + "/c";
  TrainingRun run, wider(6);
  run.train(2);
  wider.train(2);
  save_checkpoint(wider.checkpoint, path);
  expect_refused<c10::ValueError>(run, path, "\"0.weight\" is Float[5, 3], the checkpoint's Float[6, 3]");

  // The schedule's state fits, the optimizer's does not: the schedule is put back.
  optim::SGD sgd(run.model->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  Checkpoint other = run.checkpoint;
  other.optimizer = &sgd;
  save_checkpoint(other, path);
  expect_refused<c10::Error>(run, path, "");

  nn::Sequential shorter;
  shorter->push_back(nn::Linear(3, 5));
  other = Checkpoint();
  other.model = shorter.ptr().get();
  save_checkpoint(other, path);
  expect_refused<c10::ValueError>(run, path, "has no tensor \"1.weight\"");
  save_checkpoint(run.checkpoint, path);
  EXPECT_THROW(load_checkpoint(other, path), c10::ValueError);
}

TEST(Checkpoint, DamageIsSeen) {
  const std::string folder = fresh_folder(), path = folder + "/c";
  TrainingRun run;
  run.train(1);
  expect_refused<IoError>(run, folder + "/none", "No such file");
  save_checkpoint(run.checkpoint, path);
  const std::string good = read_file(path);
  const auto write = [&](std::string_view bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
  };
  write("");
  expect_refused<FormatError>(run, path, "checkpoint ");
  write(std::string_view(good).substr(0, good.size() - 1));
  expect_refused<FormatError>(run, path, "checkpoint ");
  std::string flipped = good;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  write(flipped);
  expect_refused<FormatError>(run, path, "is damaged: its checksum is");
  torch::save(run.model->parameters()[0], path);
  expect_refused<FormatError>(run, path, "this is no checkpoint");
  serialize::OutputArchive tensors;
  tensors.use_format("safetensors").write("0", run.model->parameters()[0]);
  tensors.save_to(path);
  expect_refused<FormatError>(run, path, "has no checksum");
}

// What a data loader is to a checkpoint.
struct Place {
  int64_t at = 0;
  int64_t end = 100;
};
OutputArchive& operator<<(OutputArchive& archive, const Place& place) {
  archive.write("at", place.at);
  return archive;
}
InputArchive& operator>>(InputArchive& archive, Place& place) {
  archive.read("at", place.at);
  TORCH_CHECK_VALUE(place.at <= place.end, "the data end at ", place.end);
  return archive;
}

TEST(Checkpoint, KeepsThePlaceInTheData) {
  const std::string path = fresh_folder() + "/c";
  TrainingRun run;
  Place place{7};
  run.checkpoint.set_data(place);
  save_checkpoint(run.checkpoint, path);
  place.at = 1;
  load_checkpoint(run.checkpoint, path);
  EXPECT_EQ(place.at, 7);
  // What refuses the data leaves them where they were, and so does what fails later.
  Place shorter{2, 5};
  run.checkpoint.set_data(shorter);
  EXPECT_THROW(load_checkpoint(run.checkpoint, path), c10::ValueError);
  EXPECT_EQ(shorter.at, 2);
  TrainingRun other(6);
  optim::SGD sgd(other.model->parameters(), 0.1);
  Place kept{3};
  Checkpoint wrong;
  wrong.set_data(kept);
  wrong.optimizer = &sgd;
  EXPECT_THROW(load_checkpoint(wrong, path), c10::Error);
  EXPECT_EQ(kept.at, 3);
  // Without a place there is none to go to.
  TrainingRun plain;
  save_checkpoint(plain.checkpoint, path);
  plain.checkpoint.set_data(kept);
  EXPECT_THROW(load_checkpoint(plain.checkpoint, path), c10::ValueError);
  EXPECT_EQ(kept.at, 3);
}

// Killed at random moments while it saves: what is there is one whole checkpoint, whose weights all say the same step.
TEST(Checkpoint, SurvivesKills) {
  const std::string path = fresh_folder() + "/c";
  TrainingRun run;
  const auto save_step = [&](int64_t step) {
    const at::NoGradGuard no_grad;
    for (at::Tensor& p : run.model->parameters()) at::fill_(p, static_cast<double>(step));
    run.checkpoint.step = step;
    save_checkpoint(run.checkpoint, path);
  };
  save_step(0);
  std::mt19937 random(11);
  int64_t last = 0;
  bool moved = false;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int64_t step = last + 1;; ++step) save_step(step);
    }
    ::usleep(1000 + random() % 10000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    load_checkpoint(run.checkpoint, path);
    ASSERT_GE(run.checkpoint.step, last);
    moved |= run.checkpoint.step > last;
    last = run.checkpoint.step;
    for (const at::Tensor& p : run.model->parameters()) {
      ASSERT_EQ(at::min(p).item<float>(), static_cast<float>(last));
      ASSERT_EQ(at::max(p).item<float>(), static_cast<float>(last));
    }
  }
  EXPECT_TRUE(moved) << "no child ever finished a save";
}

}  // namespace
}  // namespace torch::serialize
