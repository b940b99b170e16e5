// Trains a small GPT on bytes of text and writes some text with it.
//
//   ./bazelw run //examples/gpt -- --text=shakespeare.txt --out=run
//   ./bazelw run //examples/gpt -- --out=run --text=shakespeare.txt --resume
//   ./bazelw run //examples/gpt -- --out=run --sample_only --prompt="To be"
//
// By several processes, which a launcher starts (torchrun --nproc-per-node=2 .../gpt --ranks=2 ...): each computes a
// part of every batch, and rank 0 writes; or, with --checkpoint=shared, all write what they have, and other numbers of
// processes, which train in other ways, go on with it.
#include <absl/flags/flag.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "examples/common/device.h"
#include "examples/common/flags.h"
#include "examples/common/run_folder.h"
#include "examples/gpt/ranks.h"
#include "examples/gpt/shared_checkpoint.h"
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
ABSL_FLAG(std::string, dtype, "float32",
          "what products are computed in: float32, or bf16 or fp16 (autocast; weights stay float32)");
ABSL_FLAG(bool, cuda_graph, false, "capture a training step and replay it; on CUDA devices");
ABSL_FLAG(bool, checkpoint_blocks, false,
          "keep only the arguments of blocks and run them again in backward: less memory, the same numbers");
ABSL_FLAG(double, dropout, 0.0, "part of the activations that is dropped while training");
ABSL_FLAG(uint64_t, seed, 1337, "of all random numbers");
ABSL_FLAG(int64_t, threads, 0, "threads to compute with (0: one for each core)");
ABSL_FLAG(int64_t, ranks, 0, "processes that train together, which a launcher has started (0: as many as it says)");
ABSL_FLAG(std::string, parallel, "ddp",
          "how they do: ddp, each with the whole model and a part of the batch; fsdp, each with a part of both; tp, each "
          "with a part of every layer; pp, each with some of the layers; or 2d, tp by some and fsdp over these");
ABSL_FLAG(int64_t, tensor_parallel, 2,
          "with --parallel=2d, ranks that compute each layer together; divides the ranks and --heads");
ABSL_FLAG(int64_t, checkpoint_every, 200, "steps between checkpoints");
ABSL_FLAG(int64_t, validate_every, 0, "steps between validations (0: a tenth of --steps)");
ABSL_FLAG(std::string, checkpoint, "file",
          "what checkpoints are: file, which one process writes; or shared, a folder that all ranks write to, each "
          "what it has (--resume goes on with what is there)");
ABSL_FLAG(bool, resume, false, "go on from the checkpoint in --out");
ABSL_FLAG(bool, sample_only, false, "write text with the checkpoint in --out, without training");
ABSL_FLAG(std::string, prompt, "", "what the written text begins with");
ABSL_FLAG(int64_t, length, 300, "bytes to write");
ABSL_FLAG(double, temperature, 0.8, "0: always the likeliest byte; higher is more random");
ABSL_FLAG(int64_t, top_k, 40, "draw among the likeliest bytes only (0: among all)");

namespace {

std::atomic<bool> stop{false};

// Says at once that it was seen: a step may take long.
extern "C" void on_signal(int) {
  static constexpr char kText[] = "\nstopping after this step; once more ends the program at once\n";
  const int before = errno;
  stop = true;
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
  errno = before;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;  // a second Ctrl-C ends the program at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

void check_range(const char* flag, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    examples::fail(c10::str("--", flag, "=", value, " is not within ", low, " and ", high));
  }
}

gpt::RunSettings settings_from_flags() {
  gpt::RunSettings s;
  s.model.layers = absl::GetFlag(FLAGS_layers);
  s.model.heads = absl::GetFlag(FLAGS_heads);
  s.model.width = absl::GetFlag(FLAGS_width);
  s.model.context = absl::GetFlag(FLAGS_context);
  s.model.dropout = absl::GetFlag(FLAGS_dropout);
  s.dtype = absl::GetFlag(FLAGS_dtype);
  s.optimizer.learning_rate = absl::GetFlag(FLAGS_learning_rate);
  s.batch = absl::GetFlag(FLAGS_batch);
  s.steps = absl::GetFlag(FLAGS_steps);
  s.warmup = absl::GetFlag(FLAGS_warmup);
  s.least_learning_rate = s.optimizer.learning_rate / 10;
  s.seed = absl::GetFlag(FLAGS_seed);
  return s;
}

void check_flags() {
  check_range("threads", static_cast<double>(absl::GetFlag(FLAGS_threads)), 0, 4096);
  check_range("checkpoint_every", static_cast<double>(absl::GetFlag(FLAGS_checkpoint_every)), 1, 1e12);
  check_range("validate_every", static_cast<double>(absl::GetFlag(FLAGS_validate_every)), 0, 1e12);
  check_range("ranks", static_cast<double>(absl::GetFlag(FLAGS_ranks)), 0, 1e6);
  check_range("tensor_parallel", static_cast<double>(absl::GetFlag(FLAGS_tensor_parallel)), 1, 1e6);
  const std::string checkpoint = absl::GetFlag(FLAGS_checkpoint);
  if (checkpoint != "file" && checkpoint != "shared") {
    examples::fail("--checkpoint=" + checkpoint + " is neither file nor shared");
  }
  try {
    gpt::check_parallel(absl::GetFlag(FLAGS_parallel));
  } catch (const c10::ValueError& e) {
    examples::fail(e.msg());
  }
  check_range("length", static_cast<double>(absl::GetFlag(FLAGS_length)), 0, 1e9);
  check_range("temperature", absl::GetFlag(FLAGS_temperature), 0, 1000);
  check_range("top_k", static_cast<double>(absl::GetFlag(FLAGS_top_k)), 0, 1e9);
  if (absl::GetFlag(FLAGS_heads) > 0 && absl::GetFlag(FLAGS_width) % absl::GetFlag(FLAGS_heads) != 0) {
    examples::fail(c10::str("--heads=", absl::GetFlag(FLAGS_heads), " does not divide --width=", absl::GetFlag(FLAGS_width)));
  }
  try {
    check(settings_from_flags());
  } catch (const c10::ValueError& e) {
    examples::fail("--" + e.msg());
  }
  if (absl::GetFlag(FLAGS_resume) && absl::GetFlag(FLAGS_sample_only)) {
    examples::fail("--resume and --sample_only exclude each other");
  }
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
  std::fflush(stdout);
  print_text(generate(model, prompt, absl::GetFlag(FLAGS_length), {absl::GetFlag(FLAGS_temperature), absl::GetFlag(FLAGS_top_k), &stop}));
  if (stop) std::printf("stopped\n");
}

int64_t validate_every(const gpt::RunSettings& settings) {
  const int64_t every = absl::GetFlag(FLAGS_validate_every);
  return every > 0 ? every : std::max<int64_t>(1, settings.steps / 10);
}

gpt::Execution execution_from_flags() {
  gpt::Execution execution{examples::device_from_flag(), absl::GetFlag(FLAGS_cuda_graph)};
  if (execution.cuda_graph && !(execution.device.is_cuda() && examples::CapturedStep::is_available())) {
    examples::fail("--cuda_graph needs --device=cuda");
  }
  execution.checkpoint_blocks = absl::GetFlag(FLAGS_checkpoint_blocks);
  if (execution.checkpoint_blocks && execution.cuda_graph) {
    examples::fail("--checkpoint_blocks and --cuda_graph exclude each other");
  }
  if (execution.checkpoint_blocks && absl::GetFlag(FLAGS_parallel) != "ddp") {
    examples::fail("--checkpoint_blocks needs --parallel=ddp");
  }
  return execution;
}

int sample(const std::string& checkpoint_path, const examples::CommandLine& line) {
  torch::serialize::Checkpoint stored, checkpoint;
  gpt::read_values(stored, checkpoint_path);
  const gpt::RunSettings settings = settings_from(stored, line.given);
  gpt::Gpt model(settings.model);
  checkpoint.model = model.ptr().get();
  if (gpt::is_shared(checkpoint_path)) {
    gpt::load_shared(checkpoint, checkpoint_path, /*alone=*/true);
  } else {
    load_checkpoint(checkpoint, checkpoint_path);
  }
  model->to(execution_from_flags().device);
  catch_signals();
  write_sample(model, line.given.count("seed") != 0 ? absl::GetFlag(FLAGS_seed) : settings.seed);
  return 0;
}

// Of a folder that all ranks write to the index comes last.
bool has_checkpoint(const gpt::Files& files) {
  return examples::exists(files.shared ? files.checkpoint() + "/index.json" : files.checkpoint());
}

// The files of a run, where its checkpoint is what is there already, or else what the flag says.
gpt::Files files_in(const std::string& folder, const examples::CommandLine& line) {
  const bool asked = absl::GetFlag(FLAGS_checkpoint) == "shared";
  const gpt::Files as_asked{folder, asked}, other{folder, !asked};
  if (!has_checkpoint(other)) return as_asked;
  if (line.given.count("checkpoint") != 0) {
    examples::fail(c10::str("--checkpoint=", absl::GetFlag(FLAGS_checkpoint), ", but there is ", other.checkpoint()));
  }
  return other;
}

void refuse_to_overwrite(const gpt::Files& files) {
  if (has_checkpoint(files)) {
    examples::fail(files.folder + " already holds a checkpoint: --resume goes on with it, another --out starts anew");
  }
}

// What to train with: the flags, or a checkpoint's settings, for `resume` says whether there is one to go on with.
gpt::RunSettings training_settings(const gpt::Files& files, const examples::CommandLine& line, bool& resume) {
  if (!resume) {
    refuse_to_overwrite(files);
    return settings_from_flags();
  }
  if (!has_checkpoint(files)) {
    std::printf("no checkpoint in %s yet: starting from the beginning\n", files.folder.c_str());
    resume = false;
    return settings_from_flags();
  }
  torch::serialize::Checkpoint stored;
  gpt::read_values(stored, files.checkpoint());
  return settings_from(stored, line.given);
}

// Another rank than the first: it writes nothing, and goes on with a checkpoint where the first one does.
int follow(gpt::Ranks& ranks, const gpt::Files& files, const examples::CommandLine& line, bool resume) {
  resume = resume && has_checkpoint(files);
  gpt::RunSettings settings = settings_from_flags();
  if (resume) {
    torch::serialize::Checkpoint stored;
    gpt::read_values(stored, files.checkpoint());
    settings = settings_from(stored, line.given);
  }
  const gpt::Text text(read_text(line.repeated), settings.model.context);
  gpt::Trainer trainer(settings, text, execution_from_flags(), &ranks);
  if (ranks.any(resume)) trainer.resume(files.checkpoint());
  catch_signals();
  trainer.run(files, absl::GetFlag(FLAGS_checkpoint_every), validate_every(settings), stop);
  return 0;
}

int run(const examples::CommandLine& line) {
  const bool sample_only = absl::GetFlag(FLAGS_sample_only);
  bool resume = absl::GetFlag(FLAGS_resume);
  const std::string out = absl::GetFlag(FLAGS_out);
  if ((resume || sample_only) && out.empty()) examples::fail("--out says which run to go on with");
  gpt::Files files = files_in(examples::user_path(out), line);
  if (absl::GetFlag(FLAGS_threads) > 0) torch::set_num_threads(static_cast<int>(absl::GetFlag(FLAGS_threads)));
  if (sample_only) return sample(files.checkpoint(), line);
  if (files.shared && out.empty()) examples::fail("--checkpoint=shared needs --out, a folder that all ranks see");

  const std::unique_ptr<gpt::Ranks> ranks = gpt::start_ranks(absl::GetFlag(FLAGS_ranks), absl::GetFlag(FLAGS_parallel),
                                                             absl::GetFlag(FLAGS_tensor_parallel));
  if (files.shared && ranks == nullptr) {
    examples::fail("--checkpoint=shared is for processes that a launcher starts, also for one");
  }
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  if (!is_first) return follow(*ranks, files, line, resume);
  examples::RunFolder folder;
  if (!out.empty() && examples::exists(files.folder)) folder.take(files.folder);
  const gpt::RunSettings settings = out.empty() ? settings_from_flags() : training_settings(files, line, resume);
  const gpt::Text text(read_text(line.repeated), settings.model.context);
  const gpt::Execution execution = execution_from_flags();
  gpt::Trainer trainer(settings, text, execution, ranks.get());
  if (ranks != nullptr) resume = ranks->any(resume);
  if (resume) trainer.resume(files.checkpoint());
  if (out.empty()) {
    folder.make_new(examples::user_path("gpt-run"));
  } else if (!folder.taken()) {
    folder.make(files.folder);
    refuse_to_overwrite(files);  // another run may have come and gone meanwhile
  }
  files.folder = folder.path();
  catch_signals();

  int64_t parameters = 0;
  for (const torch::Tensor& p : trainer.model()->parameters()) parameters += p.numel();
  std::printf("%lld parameters, %lld bytes of text, %s, %d threads, output in %s\n",
              static_cast<long long>(parameters), static_cast<long long>(text.size()), execution.device.str().c_str(),
              torch::get_num_threads(), files.folder.c_str());
  if (resume) std::printf("resumed at step %lld\n", static_cast<long long>(trainer.step()));
  std::fflush(stdout);

  if (!trainer.run(files, absl::GetFlag(FLAGS_checkpoint_every), validate_every(settings), stop)) {
    std::printf("stopped at step %lld and saved; --out=%s --resume goes on\n", static_cast<long long>(trainer.step()), files.folder.c_str());
    return 0;
  }
  std::printf("validation loss %.4f\n", trainer.last_validation_loss());
  // The whole model is in the file alone.
  if (ranks != nullptr && ranks->is_sharded()) return sample(files.checkpoint(), line);
  write_sample(trainer.model(), settings.seed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const examples::CommandLine line =
      examples::parse_command_line(argc, argv, "Trains a small GPT on bytes of text and writes some text with it.", "text");
  check_flags();
  try {
    return examples::finish(run(line));
  } catch (const c10::Error& e) {
    examples::fail(e.what_without_backtrace());
  } catch (const std::exception& e) {
    examples::fail(e.what());
  }
}
