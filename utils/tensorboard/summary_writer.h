// Writes event files that TensorBoard shows: `tensorboard --logdir=DIR`.
//
//   torch::utils::tensorboard::SummaryWriter writer("runs/first");
//   writer.add_scalar("loss/train", 1.25, 100);
//   writer.add_text("sample", "to be or not", 100);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "c10/util/array_ref.h"

namespace torch::utils::tensorboard {

// One event file, appended to as events are added; safe to read while it is written. Not for several threads at once.
class SummaryWriter {
 public:
  // Makes the folder (and its parents) and a file `events.out.tfevents.TIME.HOST.PID.N` in it. With `purge_step` >= 0,
  // TensorBoard hides what earlier files of the folder hold for that step and later ones: for resumed runs.
  // Throws c10::Error where the folder or the file cannot be made.
  explicit SummaryWriter(const std::string& log_dir, int64_t purge_step = -1);
  ~SummaryWriter();  // flushes; errors are ignored there, so call flush() to see them
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // `wall_time` is in seconds since 1970, negative for now.
  void add_scalar(std::string_view tag, double value, int64_t step, double wall_time = -1);
  // Shown as Markdown.
  void add_text(std::string_view tag, std::string_view text, int64_t step, double wall_time = -1);
  // Counts of finite values in `bins` >= 1 equal ranges between their minimum and maximum.
  void add_histogram(std::string_view tag, c10::ArrayRef<double> values, int64_t step, int bins = 64,
                     double wall_time = -1);

  // Writes what is buffered to the file. Throws c10::Error where that fails.
  void flush();

  const std::string& path() const { return path_; }

 private:
  void add(std::string_view serialized);

  std::string path_;
  std::string buffer_;
  int fd_ = -1;
};

}  // namespace torch::utils::tensorboard
