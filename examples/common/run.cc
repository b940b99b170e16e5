#include "examples/common/run.h"

#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdarg>
#include <exception>

ABSL_FLAG(std::string, out, "", "the output folder (default: NAME-run, or the first of NAME-run-2 ... that is free)");
ABSL_FLAG(uint64_t, seed, 1, "of all random numbers");
ABSL_FLAG(int, threads, 0, "threads to compute with (0: one for each core)");

namespace examples {
namespace {

const std::string& make_folder(RunFolder& folder, const std::string& name) {
  const std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) {
    folder.make_new(user_path(name + "-run"));
  } else {
    folder.make(user_path(out));
  }
  return folder.path();
}

}  // namespace

Run::Run(const std::string& name) : events_(make_folder(folder_, name)) {
  check_flag("threads", absl::GetFlag(FLAGS_threads), 0, 4096);
  torch::manual_seed(absl::GetFlag(FLAGS_seed));
  if (absl::GetFlag(FLAGS_threads) > 0) torch::set_num_threads(absl::GetFlag(FLAGS_threads));
  std::printf("%d thread(s), output in %s\n", torch::get_num_threads(), folder_.path().c_str());
  std::fflush(stdout);
}

void Run::scalar(const std::string& tag, double value, int64_t step) {
  events_.add_scalar(tag, value, step);
  torch::utils::plot::Series& curve = curves_[tag];
  curve.x.push_back(static_cast<double>(step));
  curve.y.push_back(value);
}

void Run::draw(const std::string& file, const std::string& title, const std::vector<std::string>& tags) const {
  torch::utils::plot::LineChart chart;
  chart.title = title;
  chart.x_label = "step";
  for (const std::string& tag : tags) {
    const auto curve = curves_.find(tag);
    if (curve == curves_.end()) continue;
    chart.series.push_back(curve->second);
    chart.series.back().name = tag;
  }
  write_svg(path(file), chart);
}

double cosine(int64_t step, int64_t steps) {
  return 0.5 * (1 + std::cos(3.14159265358979 * static_cast<double>(step) / static_cast<double>(steps)));
}

std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

void check_flag(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high)) fail(format("--%s=%g is not within %g and %g", name, value, low, high));
}

int run_program(int argc, char** argv, const std::string& usage, void (*program)()) {
  parse_command_line(argc, argv, usage);
  try {
    program();
    return finish(0);
  } catch (const c10::Error& e) {
    fail(e.what_without_backtrace());
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

}  // namespace examples
