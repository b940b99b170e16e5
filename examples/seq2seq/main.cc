// Reads dates as people write them and writes them as 2026-11-22: an encoder and a decoder with attention (Bahdanau and
// others, https://arxiv.org/abs/1409.0473).
//
//   ./bazelw run //examples/seq2seq
//
// The program makes the dates up; those to test on never occur in training.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "examples/common/run.h"
#include "utils/plot/heat_map.h"

ABSL_FLAG(int64_t, steps, 1000, "training steps");
ABSL_FLAG(int64_t, batch, 64, "dates a step");
ABSL_FLAG(int64_t, hidden, 96, "features of the recurrent layers");
ABSL_FLAG(int64_t, test, 1000, "dates to test on");
ABSL_FLAG(double, learning_rate, 4e-3, "highest learning rate; it falls to zero along a cosine");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
namespace plot = torch::utils::plot;

constexpr char kMonths[12][10] = {"january", "february", "march",     "april",   "may",      "june",
                                  "july",    "august",   "september", "october", "november", "december"};
constexpr char kLetters[] = "\n abcdefghijklmnopqrstuvwxyz0123456789,./-";  // the first is padding and the start
constexpr int64_t kLetterCount = sizeof kLetters - 1, kLength = 10, kSourceLength = 20;

struct Date {
  std::string written, standard;
};

// One day in five, as a number of it decides, is only for the test.
Date make_date(std::mt19937_64& random, bool for_test) {
  int year, month, day;
  do {
    year = 1900 + static_cast<int>(random() % 200), month = static_cast<int>(random() % 12);
    day = 1 + static_cast<int>(random() % 28);
  } while (((year + 3 * month + day) % 5 == 0) != for_test);
  const char* name = kMonths[month];
  const std::string abbreviation(name, 3);
  const char* ending = day % 10 == 1 && day != 11   ? "st"
                       : day % 10 == 2 && day != 12 ? "nd"
                       : day % 10 == 3 && day != 13 ? "rd"
                                                    : "th";
  std::string written;
  switch (random() % 7) {
    case 0:
      written = examples::format("%s %d, %d", name, day, year);
      break;
    case 1:
      written = examples::format("%d %s %d", day, name, year);
      break;
    case 2:
      written = examples::format("%s %d%s, %d", name, day, ending, year);
      break;
    case 3:
      written = examples::format("%d. %s %d", day, abbreviation.c_str(), year);
      break;
    case 4:
      written = examples::format("%d/%d/%d", day, month + 1, year);
      break;
    case 5:
      written = examples::format("%d, %s %d", year, abbreviation.c_str(), day);
      break;
    default:
      written = examples::format("%02d.%02d.%02d", day, month + 1, year);
      break;
  }
  return {written, examples::format("%04d-%02d-%02d", year, month + 1, day)};
}

torch::Tensor encode(const std::string& text, int64_t length) {
  torch::Tensor ids = torch::zeros({length}, torch::kLong);
  for (size_t i = 0; i < text.size(); ++i) {
    ids[static_cast<int64_t>(i)] = static_cast<int64_t>(std::string(kLetters).find(text[i]));
  }
  return ids;
}

// Texts padded with 0 [N, S], their lengths [N], what they mean [N, T].
struct Batch {
  torch::Tensor source, lengths, target;
};

Batch make_batch(const std::vector<Date>& dates) {
  std::vector<torch::Tensor> source, target;
  std::vector<int64_t> lengths;
  for (const Date& date : dates) {
    source.push_back(encode(date.written, kSourceLength));
    target.push_back(encode(date.standard, kLength));
    lengths.push_back(static_cast<int64_t>(date.written.size()));
  }
  return {torch::stack(source), torch::tensor(lengths), torch::stack(target)};
}

// Reads [N, S] in both directions: features of each letter [N, S, 2H].
struct EncoderImpl : nn::Module {
  explicit EncoderImpl(int64_t hidden)
      : embedding(register_module("embedding", nn::Embedding(kLetterCount, 32))),
        gru(register_module("gru", nn::GRU(nn::GRUOptions(32, hidden).batch_first(true).bidirectional(true)))) {}

  torch::Tensor forward(const torch::Tensor& source, const torch::Tensor& lengths) {
    const auto packed = nn::utils::rnn::pack_padded_sequence(embedding->forward(source), lengths, /*batch_first=*/true,
                                                             /*enforce_sorted=*/false);
    const auto output = std::get<0>(gru->forward_with_packed_input(packed));
    return std::get<0>(nn::utils::rnn::pad_packed_sequence(output, /*batch_first=*/true, 0.0, source.size(1)));
  }

  nn::Embedding embedding;
  nn::GRU gru;
};
TORCH_MODULE(Encoder);

// Writes a letter at a time: looks at the letters read, as far as they matter now, and at what it wrote last.
struct DecoderImpl : nn::Module {
  explicit DecoderImpl(int64_t hidden)
      : embedding(register_module("embedding", nn::Embedding(kLetterCount, 32))),
        begin(register_module("begin", nn::Linear(2 * hidden, hidden))),
        query(register_module("query", nn::Linear(hidden, hidden))),
        key(register_module("key", nn::Linear(2 * hidden, hidden))),
        match(register_module("match", nn::Linear(nn::LinearOptions(hidden, 1).bias(false)))),
        cell(register_module("cell", nn::GRUCell(32 + 2 * hidden, hidden))),
        scores(register_module("scores", nn::Linear(3 * hidden, kLetterCount))) {}

  // Scores of the letters [N, T, letters] and what each was written for [N, T, S]. With `target` the letter before is
  // the right one, without the one that was written.
  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& read, const torch::Tensor& padding,
                                                   const torch::Tensor& target = {}) {
    const torch::Tensor keys = key->forward(read);
    torch::Tensor state = torch::tanh(begin->forward(read.mean(1)));
    torch::Tensor letter = torch::zeros({read.size(0)}, torch::kLong);
    std::vector<torch::Tensor> written, attention;
    for (int64_t t = 0; t < kLength; ++t) {
      const torch::Tensor fit = match->forward(torch::tanh(keys + query->forward(state).unsqueeze(1))).squeeze(2);
      const torch::Tensor weights = torch::softmax(fit.masked_fill(padding, -INFINITY), 1);
      const torch::Tensor seen = torch::bmm(weights.unsqueeze(1), read).squeeze(1);
      state = cell->forward(torch::cat({embedding->forward(letter), seen}, 1), state);
      written.push_back(scores->forward(torch::cat({state, seen}, 1)));
      attention.push_back(weights);
      letter = target.defined() ? target.select(1, t) : written.back().argmax(1);
    }
    return {torch::stack(written, 1), torch::stack(attention, 1)};
  }

  nn::Embedding embedding;
  nn::Linear begin, query, key, match;
  nn::GRUCell cell;
  nn::Linear scores;
};
TORCH_MODULE(Decoder);

struct TranslatorImpl : nn::Module {
  explicit TranslatorImpl(int64_t hidden)
      : encoder(register_module("encoder", Encoder(hidden))), decoder(register_module("decoder", Decoder(hidden))) {}

  std::tuple<torch::Tensor, torch::Tensor> forward(const Batch& batch, bool teach) {
    return decoder->forward(encoder->forward(batch.source, batch.lengths), batch.source == 0,
                            teach ? batch.target : torch::Tensor());
  }

  Encoder encoder;
  Decoder decoder;
};
TORCH_MODULE(Translator);

// The part of the dates that are written without an error, in percent.
double accuracy(Translator& model, const Batch& batch) {
  torch::NoGradGuard no_grad;
  model->eval();
  const torch::Tensor letters = std::get<0>(model->forward(batch, /*teach=*/false)).argmax(2);
  model->train();
  return 100 * (letters == batch.target).all(1).to(torch::kFloat).mean().item<double>();
}

// Writes a few dates, and a picture of what each letter of one was written for.
void show(examples::Run& run, Translator& model, const std::vector<Date>& dates) {
  torch::NoGradGuard no_grad;
  model->eval();
  const auto [scores, attention] = model->forward(make_batch(dates), /*teach=*/false);
  const torch::Tensor letters = scores.argmax(2);
  for (size_t i = 0; i < dates.size(); ++i) {
    std::string written;
    for (int64_t t = 0; t < kLength; ++t) written += kLetters[letters[static_cast<int64_t>(i)][t].item<int64_t>()];
    std::printf("%-20s %s\n", dates[i].written.c_str(), written.c_str());
    if (i > 0) continue;
    plot::HeatMap map{dates[i].written + " -> " + written, {}, {}, {}};
    for (const char c : dates[i].written) map.column_labels.push_back(std::string(1, c));
    for (int64_t t = 0; t < kLength; ++t) {
      map.row_labels.push_back(written.substr(static_cast<size_t>(t), 1));
      map.values.emplace_back();
      for (size_t s = 0; s < dates[i].written.size(); ++s) {
        map.values.back().push_back(attention[0][t][static_cast<int64_t>(s)].item<double>());
      }
    }
    write_svg(run.path("attention.svg"), map);
  }
}

void train() {
  for (const auto* flag : {&FLAGS_steps, &FLAGS_batch, &FLAGS_hidden, &FLAGS_test}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("seq2seq");
  std::mt19937_64 random(1);
  const auto make_dates = [&](int64_t count, bool for_test) {
    std::vector<Date> dates;
    for (int64_t i = 0; i < count; ++i) dates.push_back(make_date(random, for_test));
    return dates;
  };
  const std::vector<Date> test_dates = make_dates(absl::GetFlag(FLAGS_test), true);
  const Batch test = make_batch(test_dates);
  Translator model(absl::GetFlag(FLAGS_hidden));
  torch::optim::Adam optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));

  const int64_t steps = absl::GetFlag(FLAGS_steps), every = std::max<int64_t>(1, steps / 10);
  torch::utils::Progress progress(steps, stdout, 0, every);
  double right = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
    const Batch batch = make_batch(make_dates(absl::GetFlag(FLAGS_batch), false));
    const torch::Tensor scores = std::get<0>(model->forward(batch, /*teach=*/true));
    torch::Tensor loss = F::cross_entropy(scores.flatten(0, 1), batch.target.flatten());
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    run.scalar("loss", loss.item<double>(), step);
    if (step % every == 0 || step == steps) {
      right = accuracy(model, test);
      run.scalar("test/right dates in percent", right, step);
    }
    progress.update(step, examples::format("loss %.4f, %.1f%% of the test right", loss.item<double>(), right));
  }
  progress.finish();
  run.draw("loss.svg", "cross entropy a letter", {"loss"});
  show(run, model, {test_dates.begin(), test_dates.begin() + std::min<int64_t>(6, absl::GetFlag(FLAGS_test))});
  std::printf("%.2f%% of the test dates right; see attention.svg\n", right);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns to rewrite dates with an encoder, a decoder and attention.", train);
}
