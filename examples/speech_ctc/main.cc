// Hears what is spelled in tones: noisy sounds in, letters out, without being told when each letter is heard
// (connectionist temporal classification, Graves and others, https://www.cs.toronto.edu/~graves/icml_2006.pdf).
//
//   ./bazelw run //examples/speech_ctc
//
// The program makes the sounds: each letter is two of five tones one after the other, of a speed, a pitch and a
// loudness of its own, and noise lies over all. A word is never heard twice in the same way.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "examples/common/run.h"
#include "utils/plot/heat_map.h"

ABSL_FLAG(int64_t, steps, 1000, "training steps");
ABSL_FLAG(int64_t, batch, 32, "words a step");
ABSL_FLAG(int64_t, hidden, 64, "features of the recurrent layer, each direction");
ABSL_FLAG(int64_t, test, 500, "words to test on");
ABSL_FLAG(int64_t, beam, 8, "prefixes that the beam search keeps");
ABSL_FLAG(double, noise, 0.7, "loudness of the noise; a tone has 1");
ABSL_FLAG(double, learning_rate, 3e-3, "highest learning rate; it falls to zero along a cosine");

namespace {

namespace nn = torch::nn;

constexpr int64_t kRate = 8000, kWindow = 256, kHop = 128, kBins = kWindow / 2 + 1, kBands = 32, kTones = 5;
constexpr int64_t kClasses = kTones * kTones + 1;  // the blank, 'a' to 'y'
constexpr double kPi = 3.14159265358979;

struct Word {
  std::vector<int64_t> letters;  // 1 is 'a'
  std::vector<float> samples;
};

std::string spelled(const std::vector<int64_t>& letters) {
  std::string text;
  for (const int64_t c : letters) text += static_cast<char>('a' + c - 1);
  return text;
}

class Speaker {
 public:
  explicit Speaker(uint64_t seed) : random_(seed) {}

  Word word() {
    Word w;
    const int64_t length = 3 + static_cast<int64_t>(random_() % 6);
    pause(w.samples);
    for (int64_t i = 0; i < length; ++i) {
      const auto letter = static_cast<int64_t>(random_() % (kClasses - 1));
      w.letters.push_back(letter + 1);
      const double pitch = between(0.95, 1.05), loudness = between(0.5, 1);
      tone(w.samples, letter / kTones, pitch, loudness);
      tone(w.samples, letter % kTones, pitch, loudness);
      pause(w.samples);
    }
    std::normal_distribution<float> noise(0, static_cast<float>(absl::GetFlag(FLAGS_noise)));
    for (float& sample : w.samples) sample += noise(random_);
    return w;
  }

 private:
  double between(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  void pause(std::vector<float>& samples) { samples.resize(samples.size() + static_cast<size_t>(between(80, 480))); }
  // Swells and fades like half a wave.
  void tone(std::vector<float>& samples, int64_t which, double pitch, double loudness) {
    const double frequency = 400 * pitch * std::pow(1.5, static_cast<double>(which)), start = between(0, 2 * kPi);
    const double end = between(0.05, 0.1) * kRate;
    for (double at = 0; at < end; ++at) {
      samples.push_back(
          static_cast<float>(loudness * std::sin(kPi * at / end) * std::sin(start + 2 * kPi * frequency * at / kRate)));
    }
  }

  std::mt19937_64 random_;
};

// The energy of overlapping windows in bands as the ear has them, in logarithms.
class Ear {
 public:
  Ear() {
    const torch::Tensor time = torch::arange(kWindow, torch::kDouble), bin = torch::arange(kBins, torch::kDouble);
    const torch::Tensor phase = torch::outer(time, bin) * (2 * kPi / kWindow);
    const torch::Tensor window = (0.5 - 0.5 * torch::cos(time * (2 * kPi / kWindow))).unsqueeze(1);
    waves_ = torch::cat({window * torch::cos(phase), window * torch::sin(phase)}, 1).to(torch::kFloat);
    // Triangles between points that lie evenly on the mel scale.
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const torch::Tensor place = 2595 * torch::log10(1 + bin * (static_cast<double>(kRate) / kWindow / 700));
    const torch::Tensor points = torch::linspace(mel(200), mel(kRate / 2), kBands + 2, torch::kDouble);
    const torch::Tensor up = (place.unsqueeze(1) - points.narrow(0, 0, kBands)) / (points[1] - points[0]);
    bands_ = torch::clamp_min(1 - torch::abs(up - 1), 0).to(torch::kFloat);
  }

  // Sounds [N, samples] -> [N, bands, frames].
  torch::Tensor hear(const torch::Tensor& sounds) const {
    const torch::Tensor spectrum = torch::matmul(sounds.unfold(1, kWindow, kHop), waves_).square();
    const torch::Tensor power = spectrum.narrow(2, 0, kBins) + spectrum.narrow(2, kBins, kBins);
    return torch::log(torch::matmul(power, bands_) + 1e-3).transpose(1, 2) / 4;
  }

 private:
  torch::Tensor waves_, bands_;
};

// What is heard [N, bands, frames], how many steps the net makes of each, and what is to be written.
struct Batch {
  torch::Tensor heard, letters;  // the letters of all words, one after the other
  std::vector<int64_t> steps, lengths;
  std::vector<Word> words;
};

Batch make_batch(const Ear& ear, Speaker& speaker, int64_t count) {
  Batch batch;
  std::vector<int64_t> letters;
  std::vector<torch::Tensor> sounds;
  for (int64_t i = 0; i < count; ++i) {
    const Word& word = batch.words.emplace_back(speaker.word());
    sounds.push_back(torch::tensor(word.samples));
    batch.steps.push_back(((static_cast<int64_t>(word.samples.size()) - kWindow) / kHop) / 2 + 1);
    batch.lengths.push_back(static_cast<int64_t>(word.letters.size()));
    letters.insert(letters.end(), word.letters.begin(), word.letters.end());
  }
  batch.heard = ear.hear(nn::utils::rnn::pad_sequence(sounds, /*batch_first=*/true));
  batch.letters = torch::tensor(letters);
  return batch;
}

// Logarithms of the letters' probabilities, a step for two frames: [steps, N, classes].
struct ListenerImpl : nn::Module {
  explicit ListenerImpl(int64_t hidden)
      : local(register_module(
            "local", nn::Sequential(nn::Conv1d(nn::Conv1dOptions(kBands, 64, 5).padding(2)), nn::BatchNorm1d(64),
                                    nn::ReLU(), nn::Conv1d(nn::Conv1dOptions(64, 64, 3).padding(1).stride(2)),
                                    nn::BatchNorm1d(64), nn::ReLU()))),
        gru(register_module("gru", nn::GRU(nn::GRUOptions(64, hidden).bidirectional(true)))),
        scores(register_module("scores", nn::Linear(2 * hidden, kClasses))) {}

  torch::Tensor forward(const torch::Tensor& heard) {
    const torch::Tensor steps = local->forward(heard).permute({2, 0, 1});
    return torch::log_softmax(scores->forward(std::get<0>(gru->forward(steps))), 2);
  }

  nn::Sequential local;
  nn::GRU gru;
  nn::Linear scores;
};
TORCH_MODULE(Listener);

// The best letter of each step; repeated ones count once, blanks not at all.
std::vector<int64_t> decode_greedily(const torch::Tensor& log_probs) {
  const torch::Tensor best = std::get<0>(torch::unique_consecutive(log_probs.argmax(1)));
  const torch::Tensor letters = best.masked_select(best != 0);
  return {letters.data_ptr<int64_t>(), letters.data_ptr<int64_t>() + letters.numel()};
}

// The most probable letters over all ways to hear them, of the `width` best beginnings at each step.
std::vector<int64_t> decode_by_beam(const torch::Tensor& log_probs, size_t width) {
  using Prefix = std::vector<int64_t>;
  struct Probability {
    double blank = 0, letter = 0;  // of the ways that end with a blank, and with the last letter
    double sum() const { return blank + letter; }
  };
  const torch::Tensor probs = log_probs.to(torch::kDouble).exp().contiguous();
  std::vector<std::pair<Prefix, Probability>> beam = {{{}, {1, 0}}};
  for (int64_t t = 0; t < probs.size(0); ++t) {
    const double* p = probs[t].const_data_ptr<double>();
    std::map<Prefix, Probability> next;
    for (const auto& [prefix, probability] : beam) {
      next[prefix].blank += p[0] * probability.sum();
      if (!prefix.empty()) next[prefix].letter += p[prefix.back()] * probability.letter;
      for (int64_t c = 1; c < kClasses; ++c) {
        Prefix longer = prefix;
        longer.push_back(c);
        const bool again = !prefix.empty() && prefix.back() == c;
        next[longer].letter += p[c] * (again ? probability.blank : probability.sum());
      }
    }
    beam.assign(next.begin(), next.end());
    std::sort(beam.begin(), beam.end(), [](const auto& a, const auto& b) { return a.second.sum() > b.second.sum(); });
    beam.resize(std::min(beam.size(), width));
    const double all = beam.front().second.sum();  // keeps numbers from vanishing
    for (auto& entry : beam) entry.second.blank /= all, entry.second.letter /= all;
  }
  return beam.front().first;
}

// Letters to put in, take out or replace to get from one word to the other.
int64_t edits(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t replaced = corner + (a[i] == b[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

// Letters that `decode` gets wrong, in percent.
double error_rate(const torch::Tensor& log_probs, const Batch& test, const auto& decode) {
  double wrong = 0;
  for (size_t i = 0; i < test.words.size(); ++i) {
    const torch::Tensor one = log_probs.select(1, static_cast<int64_t>(i)).narrow(0, 0, test.steps[i]);
    wrong += static_cast<double>(edits(decode(one), test.words[i].letters));
  }
  return 100 * wrong / static_cast<double>(test.letters.numel());
}

torch::Tensor listen(Listener& model, const Batch& test) {
  torch::NoGradGuard no_grad;
  model->eval();
  return model->forward(test.heard);
}

// A sound for TensorBoard, and a picture of when each of its letters is heard.
void show(examples::Run& run, const Word& word, const torch::Tensor& log_probs) {
  run.events().add_audio("sound", torch::tensor(word.samples).clamp(-4, 4) / 4, 0, kRate);
  torch::utils::plot::HeatMap map{"when each letter of \"" + spelled(word.letters) + "\" is heard", {}, {}, {}};
  for (const int64_t c : word.letters) {
    map.row_labels.push_back(spelled({c}));
    const torch::Tensor p = log_probs.select(1, c).exp().to(torch::kDouble).contiguous();
    map.values.emplace_back(p.data_ptr<double>(), p.data_ptr<double>() + p.numel());
  }
  write_svg(run.path("letters.svg"), map);
}

void train() {
  for (const auto* flag : {&FLAGS_steps, &FLAGS_batch, &FLAGS_hidden, &FLAGS_test, &FLAGS_beam})
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  examples::check_flag("noise", absl::GetFlag(FLAGS_noise), 0, 1e3);
  examples::Run run("speech_ctc");
  const Ear ear;
  Speaker speaker(1), other_speaker(2);
  const Batch test = make_batch(ear, other_speaker, absl::GetFlag(FLAGS_test));
  Listener model(absl::GetFlag(FLAGS_hidden));
  torch::optim::AdamW optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));

  const int64_t steps = absl::GetFlag(FLAGS_steps), every = std::max<int64_t>(1, steps / 12);
  torch::utils::Progress progress(steps, stdout, 0, every);
  double wrong = 100;
  for (int64_t step = 1; step <= steps; ++step) {
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
    model->train();
    const Batch batch = make_batch(ear, speaker, absl::GetFlag(FLAGS_batch));
    const torch::Tensor loss = torch::ctc_loss(model->forward(batch.heard), batch.letters, batch.steps, batch.lengths);
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    run.scalar("loss", loss.item<double>(), step);
    if (step % every == 0 || step == steps) {
      wrong = error_rate(listen(model, test), test, decode_greedily);
      run.scalar("test/wrong letters in percent", wrong, step);
    }
    progress.update(step, examples::format("loss %.3f, %.1f%% of the letters wrong", loss.item<double>(), wrong));
  }
  progress.finish();
  run.draw("loss.svg", "CTC loss a letter", {"loss"});
  const torch::Tensor log_probs = listen(model, test);
  show(run, test.words[0], log_probs.select(1, 0).narrow(0, 0, test.steps[0]));
  const double by_beam = error_rate(log_probs, test, [](const torch::Tensor& one) {
    return decode_by_beam(one, static_cast<size_t>(absl::GetFlag(FLAGS_beam)));
  });
  std::printf("wrong letters: the best of each step %.2f%%, beam search %.2f%%; see letters.svg\n", wrong, by_beam);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns to hear letters in noisy tones with a CTC loss.", train);
}
