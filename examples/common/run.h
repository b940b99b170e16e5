// What the training programs share: flags --out, --seed and --threads, an output folder with TensorBoard's events and
// charts, and a main that says errors in one line.
//
//   examples::Run run("vae");                            // vae-run, or vae-run-2 ... where that is there already
//   run.scalar("loss/train", loss, step);
//   run.draw("loss.svg", "loss a digit", {"loss/train", "loss/test"});
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "examples/common/flags.h"
#include "examples/common/run_folder.h"
#include "utils/plot/line_chart.h"
#include "utils/progress/progress.h"
#include "utils/tensorboard/summary_writer.h"

namespace examples {

class Run {
 public:
  // Takes over seed and threads from the flags; makes the folder.
  explicit Run(const std::string& name);

  // A file of the output folder.
  std::string path(const std::string& file) const { return folder_.path() + "/" + file; }
  // For TensorBoard and for draw().
  void scalar(const std::string& tag, double value, int64_t step);
  // The scalars of these tags so far, as a chart over the steps.
  void draw(const std::string& file, const std::string& title, const std::vector<std::string>& tags) const;

  torch::utils::tensorboard::SummaryWriter& events() { return events_; }

 private:
  RunFolder folder_;
  torch::utils::tensorboard::SummaryWriter events_;
  std::map<std::string, torch::utils::plot::Series> curves_;
};

// Half a cosine, from 1 before the first step to 0 after the last: what a learning rate is multiplied with.
double cosine(int64_t step, int64_t steps);

// Text as printf would print it.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Ends the program with one line where the value of the flag is not within [low, high].
void check_flag(const char* name, double value, double low, double high);

// For main: parses the flags, runs `program` and says an error in one line.
int run_program(int argc, char** argv, const std::string& usage, void (*program)());

}  // namespace examples
