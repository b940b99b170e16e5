// Trains a small GPT on bytes of text and writes some text with it.
//
//   ./bazelw run //examples/gpt -- --text=shakespeare.txt --out=run
//   ./bazelw run //examples/gpt -- --out=run --text=shakespeare.txt --resume
//   ./bazelw run //examples/gpt -- --out=run --sample_only --prompt="To be"
#include <absl/flags/flag.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "examples/common/flags.h"
#include "examples/gpt/trainer.h"
#include "utils/checkpoint/checkpoint.h"
#include "utils/serialize/file_io.h"

ABSL_FLAG(std::string, text, "", "a file to learn from; may come several times (default: this repository's sources)");
ABSL_FLAG(std::string, out, "", "the output folder (default: gpt-run, or the first of gpt-run-2 ... that is free)");
ABSL_FLAG(int64_t, layers, 4, "transformer blocks");
ABSL_FLAG(int64_t, heads, 4, "attention heads; divides --width");
ABSL_FLAG(int64_t, width, 128, "features of a token");
ABSL_FLAG(int64_t, context, 128, "bytes the model sees at once");
ABSL_FLAG(int64_t, batch, 16, "pieces of text a step");
ABSL_FLAG(int64_t, steps, 3600, "training steps");
ABSL_FLAG(double, learning_rate, 2.5e-3, "the highest learning rate; a cosine lowers it to a tenth");
ABSL_FLAG(int64_t, warmup, 100, "steps in which the learning rate rises to --learning_rate");
ABSL_FLAG(double, dropout, 0.0, "part of the activations that is dropped while training");
ABSL_FLAG(uint64_t, seed, 1337, "of all random numbers");
ABSL_FLAG(int64_t, threads, 0, "threads to compute with (0: one for each core)");
ABSL_FLAG(int64_t, checkpoint_every, 200, "steps between checkpoints");
ABSL_FLAG(int64_t, validate_every, 0, "steps between validations (0: a tenth of --steps)");
ABSL_FLAG(bool, resume, false, "go on from the checkpoint in --out");
ABSL_FLAG(bool, sample_only, false, "write text with the checkpoint in --out, without training");
ABSL_FLAG(std::string, prompt, "", "what the written text begins with");
ABSL_FLAG(int64_t, length, 300, "bytes to write");
ABSL_FLAG(double, temperature, 0.8, "0: always the likeliest byte; higher is more random");
ABSL_FLAG(int64_t, top_k, 40, "draw among the likeliest bytes only (0: among all)");

namespace {

std::atomic<bool> stop{false};

extern "C" void on_signal(int) { stop = true; }

void check_range(const char* flag, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    examples::fail(c10::str("--", flag, "=", value, " is not within ", low, " and ", high));
  }
}

void check_flags() {
  check_range("layers", static_cast<double>(absl::GetFlag(FLAGS_layers)), 1, 1000);
  check_range("heads", static_cast<double>(absl::GetFlag(FLAGS_heads)), 1, 1000);
  check_range("width", static_cast<double>(absl::GetFlag(FLAGS_width)), 1, 100'000);
  check_range("context", static_cast<double>(absl::GetFlag(FLAGS_context)), 1, 1'000'000);
  check_range("batch", static_cast<double>(absl::GetFlag(FLAGS_batch)), 1, 1'000'000);
  check_range("steps", static_cast<double>(absl::GetFlag(FLAGS_steps)), 1, 1e12);
  check_range("learning_rate", absl::GetFlag(FLAGS_learning_rate), 1e-12, 10);
  check_range("warmup", static_cast<double>(absl::GetFlag(FLAGS_warmup)), 0, 1e12);
  check_range("threads", static_cast<double>(absl::GetFlag(FLAGS_threads)), 0, 4096);
  check_range("checkpoint_every", static_cast<double>(absl::GetFlag(FLAGS_checkpoint_every)), 1, 1e12);
  check_range("validate_every", static_cast<double>(absl::GetFlag(FLAGS_validate_every)), 0, 1e12);
  check_range("length", static_cast<double>(absl::GetFlag(FLAGS_length)), 0, 1e9);
  check_range("temperature", absl::GetFlag(FLAGS_temperature), 0, 1000);
  check_range("top_k", static_cast<double>(absl::GetFlag(FLAGS_top_k)), 0, 1e9);
  const double dropout = absl::GetFlag(FLAGS_dropout);
  if (!(dropout >= 0 && dropout < 1)) examples::fail(c10::str("--dropout=", dropout, " is not at least 0 and below 1"));
  if (absl::GetFlag(FLAGS_width) % absl::GetFlag(FLAGS_heads) != 0) {
    examples::fail(c10::str("--heads=", absl::GetFlag(FLAGS_heads), " does not divide --width=", absl::GetFlag(FLAGS_width)));
  }
  if (absl::GetFlag(FLAGS_resume) && absl::GetFlag(FLAGS_sample_only)) {
    examples::fail("--resume and --sample_only exclude each other");
  }
}

gpt::RunSettings settings_from_flags() {
  gpt::RunSettings s;
  s.model.layers = absl::GetFlag(FLAGS_layers);
  s.model.heads = absl::GetFlag(FLAGS_heads);
  s.model.width = absl::GetFlag(FLAGS_width);
  s.model.context = absl::GetFlag(FLAGS_context);
  s.model.dropout = absl::GetFlag(FLAGS_dropout);
  s.optimizer.learning_rate = absl::GetFlag(FLAGS_learning_rate);
  s.batch = absl::GetFlag(FLAGS_batch);
  s.steps = absl::GetFlag(FLAGS_steps);
  s.warmup = absl::GetFlag(FLAGS_warmup);
  s.least_learning_rate = s.optimizer.learning_rate / 10;
  s.seed = absl::GetFlag(FLAGS_seed);
  return s;
}

// The checkpoint's settings, which the flags that were given may not contradict; only the number of steps may change.
gpt::RunSettings settings_from(const torch::serialize::Checkpoint& checkpoint, const std::set<std::string>& given) {
  gpt::RunSettings stored = gpt::from_values(checkpoint.values);
  const auto flags = to_values(settings_from_flags());
  const auto values = to_values(stored);
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string& name = flags[i].first;
    if (name == "steps" || given.count(name) == 0 || flags[i].second == values[i].second) continue;
    examples::fail(c10::str("--", name, " differs from the checkpoint's (", values[i].second, ")"));
  }
  if (given.count("steps") != 0) stored.steps = absl::GetFlag(FLAGS_steps);
  return stored;
}

std::string read_text(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    if (path.empty()) examples::fail("--text is empty");
    text += torch::serialize::read_file(examples::user_path(path));
  }
  if (!paths.empty()) {
    if (text.empty()) examples::fail("the text is empty: " + paths[0]);
    return text;
  }
  const std::string own = examples::runfile("examples/gpt/repository_text.txt");
  if (own.empty()) examples::fail("the default text is not there (start by `bazel run`); give another with --text=FILE");
  return torch::serialize::read_file(own);
}

bool exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

std::string free_folder() {
  std::string folder = examples::user_path("gpt-run");
  for (int i = 2; exists(folder); ++i) folder = examples::user_path("gpt-run-" + std::to_string(i));
  return folder;
}

void make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      examples::fail("cannot make the folder " + part + ": " + std::strerror(errno));
    }
    if (end == std::string::npos) return;
  }
}

// Control characters as they would disturb a terminal are left out.
void print_text(const std::string& text) {
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 || c == '\n' || c == '\t') std::fputc(u == 0x7f ? '?' : u, stdout);
  }
  std::fputc('\n', stdout);
}

void write_sample(gpt::Gpt& model, uint64_t seed) {
  torch::manual_seed(seed);
  const std::string prompt = absl::GetFlag(FLAGS_prompt);
  std::printf("----\n");
  print_text(generate(model, prompt, absl::GetFlag(FLAGS_length), {absl::GetFlag(FLAGS_temperature), absl::GetFlag(FLAGS_top_k)}));
}

int run(const examples::CommandLine& line) {
  const bool sample_only = absl::GetFlag(FLAGS_sample_only);
  bool resume = absl::GetFlag(FLAGS_resume);
  const std::string out = absl::GetFlag(FLAGS_out);
  if ((resume || sample_only) && out.empty()) examples::fail("--out says which run to go on with");
  gpt::Files files{out.empty() ? free_folder() : examples::user_path(out)};
  if (absl::GetFlag(FLAGS_threads) > 0) torch::set_num_threads(static_cast<int>(absl::GetFlag(FLAGS_threads)));

  torch::serialize::Checkpoint stored;
  if (sample_only) {
    read_checkpoint_values(stored, files.checkpoint());
    const gpt::RunSettings settings = settings_from(stored, line.given);
    gpt::Gpt model(settings.model);
    torch::serialize::Checkpoint checkpoint;
    checkpoint.model = model.ptr().get();
    load_checkpoint(checkpoint, files.checkpoint());
    write_sample(model, line.given.count("seed") != 0 ? absl::GetFlag(FLAGS_seed) : settings.seed);
    return 0;
  }

  gpt::RunSettings settings = settings_from_flags();
  if (resume && !exists(files.checkpoint())) {
    std::printf("no checkpoint in %s yet: starting from the beginning\n", files.folder.c_str());
    resume = false;
  } else if (resume) {
    read_checkpoint_values(stored, files.checkpoint());
    settings = settings_from(stored, line.given);
  } else if (exists(files.checkpoint())) {
    examples::fail(files.folder + " already holds a checkpoint: --resume goes on with it, another --out starts anew");
  }
  const gpt::Text text(read_text(line.repeated), settings.model.context);
  gpt::Trainer trainer(settings, text);
  if (resume) trainer.resume(files.checkpoint());
  make_folders(files.folder);

  int64_t parameters = 0;
  for (const torch::Tensor& p : trainer.model()->parameters()) parameters += p.numel();
  std::printf("%lld parameters, %lld bytes of text, %d threads, output in %s\n", static_cast<long long>(parameters),
              static_cast<long long>(text.size()), torch::get_num_threads(), files.folder.c_str());
  if (resume) std::printf("resumed at step %lld\n", static_cast<long long>(trainer.step()));
  std::fflush(stdout);

  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the program at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  const int64_t every = absl::GetFlag(FLAGS_validate_every);
  if (!trainer.run(files, absl::GetFlag(FLAGS_checkpoint_every), every > 0 ? every : std::max<int64_t>(1, settings.steps / 10), stop)) {
    std::printf("stopped at step %lld and saved; --out=%s --resume goes on\n", static_cast<long long>(trainer.step()), files.folder.c_str());
    return 0;
  }
  std::printf("validation loss %.4f\n", trainer.last_validation_loss());
  write_sample(trainer.model(), settings.seed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const examples::CommandLine line =
      examples::parse_command_line(argc, argv, "Trains a small GPT on bytes of text and writes some text with it.", "text");
  check_flags();
  try {
    return run(line);
  } catch (const c10::Error& e) {
    examples::fail(e.what_without_backtrace());
  } catch (const std::exception& e) {
    examples::fail(e.what());
  }
}
