#include "examples/gpt/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "autograd/checkpoint/checkpoint.h"
#include "utils/checkpoint/checkpoint.h"
#include "utils/plot/line_chart.h"
#include "utils/progress/progress.h"
#include "utils/serialize/crc32c.h"
#include "utils/tensorboard/summary_writer.h"

namespace gpt {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kValidationPieces = 256;        // while training
constexpr int64_t kFinalValidationPieces = 4096;  // at the end
constexpr int64_t kValidationBatch = 32;
constexpr int64_t kChartPoints = 400;
constexpr int64_t kStepsBeforeCapture = 3;

// Shows every field of the settings with its name.
template <typename Settings, typename Visitor>
void visit(Settings& s, Visitor&& visitor) {
  visitor("layers", s.model.layers);
  visitor("heads", s.model.heads);
  visitor("width", s.model.width);
  visitor("context", s.model.context);
  visitor("dropout", s.model.dropout);
  visitor("learning_rate", s.optimizer.learning_rate);
  visitor("beta1", s.optimizer.beta1);
  visitor("beta2", s.optimizer.beta2);
  visitor("weight_decay", s.optimizer.weight_decay);
  visitor("batch", s.batch);
  visitor("steps", s.steps);
  visitor("warmup", s.warmup);
  visitor("least_learning_rate", s.least_learning_rate);
  visitor("clip", s.clip);
  visitor("seed", s.seed);
  visitor("dtype", s.dtype);
}

std::string exact(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", v);
  return text;
}
std::string exact(const std::string& v) {
  return v;
}
std::string exact(int64_t v) { return std::to_string(v); }
std::string exact(uint64_t v) { return std::to_string(v); }

void read(const std::string& text, double& out, char** end) { out = std::strtod(text.c_str(), end); }
void read(const std::string& text, int64_t& out, char** end) { out = std::strtoll(text.c_str(), end, 10); }
void read(const std::string& text, uint64_t& out, char** end) { out = std::strtoull(text.c_str(), end, 10); }

void read(const std::string& text, std::string& out, char** end) {
  out = text;
  *end = const_cast<char*>(text.c_str()) + text.size();
}

const std::string& value_of(const Values& values, const std::string& name) {
  for (const auto& [key, text] : values) {
    if (key == name) return text;
  }
  TORCH_CHECK(false, "the checkpoint has no value \"", name, "\"");
}

template <typename X>
void parse(const Values& values, const std::string& name, X& out) {
  const std::string& text = value_of(values, name);
  char* end = nullptr;
  read(text, out, &end);
  TORCH_CHECK(!text.empty() && *end == '\0', "the checkpoint's \"", name, "\" is no number: ", text);
}

std::string join(const std::vector<double>& numbers) {
  std::string out;
  for (const double v : numbers) out += (out.empty() ? "" : " ") + exact(v);
  return out;
}

std::vector<double> split(const std::string& text) {
  std::vector<double> out;
  const char* p = text.c_str();
  for (char* end; *p != '\0'; p = end) {
    out.push_back(std::strtod(p, &end));
    TORCH_CHECK(end != p, "the checkpoint's losses cannot be read");
  }
  return out;
}

std::string to_hex(const torch::Tensor& bytes) {
  std::string text;
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes.const_data_ptr<uint8_t>()[i]);
    text += digits;
  }
  return text;
}
torch::Tensor from_hex(const std::string& text) {
  torch::Tensor bytes = torch::empty({static_cast<int64_t>(text.size() / 2)}, torch::kByte);
  for (int64_t i = 0; i < bytes.numel(); ++i) {
    bytes.mutable_data_ptr<uint8_t>()[i] =
        static_cast<uint8_t>(std::strtoul(text.substr(static_cast<size_t>(2 * i), 2).c_str(), nullptr, 16));
  }
  return bytes;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Values to_values(const RunSettings& settings) {
  Values out;
  visit(settings, [&](const char* name, const auto& value) { out.emplace_back(name, exact(value)); });
  return out;
}

void check(const RunSettings& s) {
  const auto within = [](const char* name, double value, double low, double high) {
    TORCH_CHECK_VALUE(value >= low && value <= high, name, "=", value, " is not within ", low, " and ", high);
  };
  within("layers", static_cast<double>(s.model.layers), 1, 1000);
  within("heads", static_cast<double>(s.model.heads), 1, 1000);
  within("width", static_cast<double>(s.model.width), 1, 100'000);
  within("context", static_cast<double>(s.model.context), 1, 1'000'000);
  within("batch", static_cast<double>(s.batch), 1, 1'000'000);
  within("steps", static_cast<double>(s.steps), 1, 1e12);
  within("learning_rate", s.optimizer.learning_rate, 1e-12, 10);
  within("warmup", static_cast<double>(s.warmup), 0, 1e12);
  TORCH_CHECK_VALUE(s.dtype == "float32" || s.dtype == "bf16" || s.dtype == "fp16", "dtype=", s.dtype,
                    " is none of float32, bf16, fp16");
  TORCH_CHECK_VALUE(s.model.dropout >= 0 && s.model.dropout < 1, "dropout=", s.model.dropout, " is not at least 0 and below 1");
  TORCH_CHECK_VALUE(s.model.width % s.model.heads == 0, "heads=", s.model.heads, " does not divide width=", s.model.width);
}

RunSettings from_values(const Values& values) {
  RunSettings settings;
  visit(settings, [&](const char* name, auto& value) {
    const bool stored = std::any_of(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    // Checkpoints from before there was a choice.
    if (stored || name != std::string("dtype")) parse(values, name, value);
  });
  check(settings);
  return settings;
}

std::string fingerprint(const Text& text) {
  char out[64];
  std::snprintf(out, sizeof out, "%lld bytes, crc32c %08x", static_cast<long long>(text.size()),
                static_cast<unsigned>(torch::serialize::crc32c(text.bytes())));
  return out;
}

void clip_gradients(const std::vector<torch::Tensor>& parameters, double max_norm) {
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& p : parameters) gradients.push_back(p.grad());
  torch::nn::utils::clip_grads_with_norm_(parameters, max_norm, torch::nn::utils::get_total_norm(gradients));
}

void checkpoint_blocks(Gpt& model) {
  model->set_block_call([](Block& block, const torch::Tensor& x) {
    if (!block->is_training() || !torch::GradMode::is_enabled()) return block(x);
    return torch::utils::checkpoint::checkpoint([block](const torch::Tensor& given) mutable { return block(given); },
                                                x);
  });
}

Trainer::Trainer(const RunSettings& settings, const Text& text, const Execution& execution, Ranks* ranks)
    : settings_(settings),
      execution_(execution),
      ranks_(ranks),
      text_(text),
      model_([&] {
        torch::manual_seed(settings.seed);
        Gpt model(settings.model);
        model->to(execution.device);
        if (ranks != nullptr) {
          ranks->check(settings);
          ranks->take(model);
        }
        return model;
      }()),
      optimizer_(make_optimizer(model_, settings.optimizer)),
      scaler_(execution.device.type(), /*init_scale=*/65536.0, /*growth_factor=*/2.0, /*backoff_factor=*/0.5,
              /*growth_interval=*/2000, /*enabled=*/settings.dtype == "fp16"),
      window_(std::max<int64_t>(1, settings.steps / kChartPoints)) {
  if (execution.checkpoint_blocks) gpt::checkpoint_blocks(model_);
  const auto on_device = torch::TensorOptions(torch::kLong).device(execution.device);
  if (ranks != nullptr) ranks->check(settings);
  const int64_t parts = ranks == nullptr ? 1 : ranks->parts_of_batch();
  TORCH_CHECK_VALUE(settings.batch % parts == 0, "batch=", settings.batch, " is no multiple of the ", parts,
                    " ranks that share it");
  TORCH_CHECK_VALUE(ranks == nullptr || !execution.cuda_graph, "cuda_graph is for one process");
  tokens_ = torch::empty({settings.batch / parts, settings.model.context}, on_device);
  targets_ = torch::empty({settings.batch / parts, settings.model.context}, on_device);
  if (!execution.cuda_graph) return;
  static_cast<torch::optim::AdamWOptions&>(optimizer_.defaults()).fused(true);
  for (auto& group : optimizer_.param_groups()) {
    auto& options = static_cast<torch::optim::AdamWOptions&>(group.options());
    options.fused(true).capturable(true).tensor_lr(torch::full({}, options.lr(), on_device.dtype(torch::kFloat)));
  }
}

void Trainer::resume(const std::string& path) {
  torch::serialize::Checkpoint checkpoint;
  if (ranks_ != nullptr) {
    ranks_->read_values(checkpoint, path);
  } else {
    read_checkpoint_values(checkpoint, path);
  }
  const std::string& of = value_of(checkpoint.values, "text");
  TORCH_CHECK(of == fingerprint(text_), "the checkpoint is of another text (", of, "; this one has ", fingerprint(text_), ")");
  Curve training{split(value_of(checkpoint.values, "training_steps")), split(value_of(checkpoint.values, "training_losses"))};
  Curve validation{split(value_of(checkpoint.values, "validation_steps")), split(value_of(checkpoint.values, "validation_losses"))};
  TORCH_CHECK(training.steps.size() == training.losses.size() && validation.steps.size() == validation.losses.size(),
              "the checkpoint's losses cannot be read");
  double sum;
  int64_t count;
  parse(checkpoint.values, "window_sum", sum);
  parse(checkpoint.values, "window_count", count);
  TORCH_CHECK(0 <= count && count <= checkpoint.step && checkpoint.step < int64_t{1} << 53, "the checkpoint's counters cannot be right: step ",
              checkpoint.step, ", ", count, " losses");

  checkpoint.model = model_.ptr().get();
  checkpoint.optimizer = &optimizer_;
  checkpoint.generator = at::detail::getDefaultCPUGenerator();
  if (ranks_ != nullptr) {
    ranks_->load(checkpoint, path);
  } else {
    load_checkpoint(checkpoint, path);
  }
  for (const auto& [name, value] : checkpoint.values) {
    if (name == "device_generator" && !execution_.device.is_cpu()) {
      torch::Generator generator = at::globalContext().defaultGenerator(execution_.device);
      generator.set_state(from_hex(value));
    }
  }
  if (scaler_.is_enabled()) {
    auto state = scaler_.state_dict();
    double scale;
    int64_t steps;
    parse(checkpoint.values, "loss_scale", scale);
    parse(checkpoint.values, "loss_scale_steps", steps);
    state.insert_or_assign("scale", scale);
    state.insert_or_assign("_growth_tracker", steps);
    scaler_.load_state_dict(state);
  }
  step_ = checkpoint.step;
  training_ = std::move(training);
  validation_ = std::move(validation);
  window_sum_ = sum;
  window_count_ = count;
}

void Trainer::save(const Files& files) {
  torch::serialize::Checkpoint checkpoint;
  checkpoint.model = model_.ptr().get();
  checkpoint.optimizer = &optimizer_;
  checkpoint.generator = at::detail::getDefaultCPUGenerator();
  checkpoint.step = step_;
  checkpoint.values = to_values(settings_);
  if (!execution_.device.is_cpu()) {
    const torch::Tensor state = at::globalContext().defaultGenerator(execution_.device).get_state();
    checkpoint.values.emplace_back("device_generator", to_hex(state));
  }
  if (scaler_.is_enabled()) {
    checkpoint.values.emplace_back("loss_scale", exact(scaler_.get_scale()));
    checkpoint.values.emplace_back("loss_scale_steps", exact(scaler_.growth_tracker()));
  }
  checkpoint.values.emplace_back("text", fingerprint(text_));
  checkpoint.values.emplace_back("training_steps", join(training_.steps));
  checkpoint.values.emplace_back("training_losses", join(training_.losses));
  checkpoint.values.emplace_back("validation_steps", join(validation_.steps));
  checkpoint.values.emplace_back("validation_losses", join(validation_.losses));
  checkpoint.values.emplace_back("window_sum", exact(window_sum_));
  checkpoint.values.emplace_back("window_count", exact(window_count_));
  if (ranks_ != nullptr) return ranks_->save(checkpoint, files.checkpoint());
  save_checkpoint(checkpoint, files.checkpoint());
}

void Trainer::draw(const Files& files) const {
  torch::utils::plot::LineChart chart;
  chart.title = "Loss";
  chart.x_label = "step";
  chart.y_label = "cross entropy (nats a byte)";
  chart.series = {{"training", training_.steps, training_.losses}, {"validation", validation_.steps, validation_.losses}};
  write_svg(files.chart(), chart);
}

torch::Tensor Trainer::loss(const torch::Tensor& tokens, const torch::Tensor& targets, bool trains) {
  torch::autocast region(execution_.device.type(), settings_.dtype == "fp16" ? torch::kHalf : torch::kBFloat16,
                         /*enabled=*/settings_.dtype != "float32");
  const bool by_ranks = ranks_ != nullptr && (trains || ranks_->is_sharded());
  return by_ranks ? ranks_->loss(tokens, targets) : model_->loss(tokens, targets);
}

// All of a step that a graph holds: nothing in it waits for the device.
void Trainer::step_on_batch() {
  step_loss_ = loss(tokens_, targets_, /*trains=*/true);
  optimizer_.zero_grad();
  if (step_loss_.defined()) {
    scaler_.scale(step_loss_).backward();
  } else {
    step_loss_ = ranks_->forward_backward(tokens_, targets_);
  }
  scaler_.unscale_(optimizer_);
  if (ranks_ != nullptr) {
    ranks_->clip_gradients(model_->parameters(), settings_.clip);
  } else {
    clip_gradients(model_->parameters(), settings_.clip);
  }
  scaler_.step(optimizer_);
  scaler_.update();
}

double Trainer::train_step() {
  const double rate = learning_rate_at(step_, settings_.steps, settings_.warmup, settings_.optimizer.learning_rate,
                                       settings_.least_learning_rate);
  for (auto& group : optimizer_.param_groups()) group.options().set_lr(rate);
  const Batch batch = text_.training_batch(settings_.batch);
  const int64_t rows = tokens_.size(0), from = ranks_ == nullptr ? 0 : ranks_->part_of_batch() * rows;
  tokens_.copy_(batch.first.narrow(0, from, rows));
  targets_.copy_(batch.second.narrow(0, from, rows));
  if (!execution_.cuda_graph || steps_run_ < kStepsBeforeCapture) {
    step_on_batch();
  } else {
    if (captured_ == nullptr) captured_ = std::make_unique<examples::CapturedStep>(execution_.device, [&] { step_on_batch(); });
    captured_->replay();
  }
  ++steps_run_;
  ++step_;
  const double here = step_loss_.item<double>();
  return ranks_ == nullptr ? here : ranks_->mean(here);
}

void Trainer::record(double loss) {
  window_sum_ += loss;
  if (++window_count_ < window_) return;
  training_.steps.push_back(static_cast<double>(step_));
  training_.losses.push_back(window_sum_ / static_cast<double>(window_count_));
  window_sum_ = 0;
  window_count_ = 0;
}

double Trainer::validation_loss(int64_t limit) {
  torch::NoGradGuard no_grad;
  model_->eval();
  const int64_t pieces = std::min(limit, text_.validation_pieces());
  double sum = 0;
  for (int64_t i = 0; i < pieces; i += kValidationBatch) {
    const int64_t end = std::min(pieces, i + kValidationBatch);
    const Batch batch = text_.validation_batch(i, end, limit);
    const torch::Tensor mean = loss(batch.first.to(execution_.device), batch.second.to(execution_.device));
    sum += mean.item<double>() * static_cast<double>(end - i);
  }
  model_->train();
  return sum / static_cast<double>(pieces);
}

double Trainer::last_validation_loss() const {
  return validation_.losses.empty() ? std::nan("") : validation_.losses.back();
}

// A signal may reach one process only, or each at another step.
bool Trainer::is_stopped(const std::atomic<bool>& stop) { return ranks_ == nullptr ? stop.load() : ranks_->any(stop); }

bool Trainer::follow(const Files& files, int64_t checkpoint_every, int64_t validate_every,
                     const std::atomic<bool>& stop) {
  // Where rank 0 needs the others for what it writes, they do the same.
  const bool helps = ranks_->is_sharded(), saves = helps || files.shared;
  if (saves && step_ == 0) save(files);
  model_->train();
  while (step_ < settings_.steps && !is_stopped(stop)) {
    const double loss = train_step();
    TORCH_CHECK(loss == loss && loss < 1e30, "the loss is ", loss, " at step ", step_);
    const bool is_last = step_ == settings_.steps;
    if (helps && (is_last || step_ % validate_every == 0)) {
      validation_loss(is_last ? kFinalValidationPieces : kValidationPieces);
    }
    if (saves && step_ % checkpoint_every == 0 && !is_last) save(files);
  }
  if (saves) save(files);
  return step_ >= settings_.steps;
}

bool Trainer::run(const Files& files, int64_t checkpoint_every, int64_t validate_every, const std::atomic<bool>& stop) {
  if (!is_first()) return follow(files, checkpoint_every, validate_every, stop);
  torch::utils::tensorboard::SummaryWriter events(files.folder, step_ > 0 ? step_ + 1 : -1);
  torch::utils::Progress progress(settings_.steps, stdout, step_, std::max<int64_t>(1, settings_.steps / 20));
  if (step_ == 0) save(files);
  model_->train();
  std::string validation_text = validation_.losses.empty() ? "" : c10::str(" validation ", validation_.losses.back());
  const double tokens_a_step = static_cast<double>(settings_.batch * settings_.model.context);
  double began = now();
  int64_t steps_timed = 0;
  while (step_ < settings_.steps && !is_stopped(stop)) {
    const double loss = train_step();
    TORCH_CHECK(loss == loss && loss < 1e30, "the loss is ", loss, " at step ", step_, ": try a smaller --learning_rate");
    record(loss);
    ++steps_timed;
    const double rate = tokens_a_step * static_cast<double>(steps_timed) / std::max(1e-9, now() - began);
    if (window_count_ == 0) {
      events.add_scalar("loss/training", training_.losses.back(), step_);
      events.add_scalar("tokens_per_second", rate, step_);
    }
    if (step_ % validate_every == 0 || step_ == settings_.steps) {
      const double pause = now();
      const double validation = validation_loss(step_ == settings_.steps ? kFinalValidationPieces : kValidationPieces);
      validation_.steps.push_back(static_cast<double>(step_));
      validation_.losses.push_back(validation);
      validation_text = c10::str(" validation ", validation);
      events.add_scalar("loss/validation", validation, step_);
      began += now() - pause;
    }
    if (step_ % checkpoint_every == 0 && step_ < settings_.steps) {
      const double pause = now();
      save(files);
      draw(files);
      events.flush();
      began += now() - pause;
    }
    char text[160];
    std::snprintf(text, sizeof text, "loss %.4f%s %.0f tokens/s", loss, validation_text.c_str(), rate);
    progress.update(step_, text);
  }
  progress.finish();
  save(files);
  draw(files);
  events.flush();
  return step_ >= settings_.steps;
}

}  // namespace gpt
