// Learns with an LSTM to write text, letter by letter.
//
//   ./bazelw run //examples/char_rnn [-- --text=FILE]
//
// The text is cut into --batch streams that are read side by side; the LSTM's state goes on from one piece to the next,
// the gradient ends where the piece began. The last tenth of the text is kept to validate.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "examples/common/run.h"

ABSL_FLAG(std::string, text, "", "a file to learn from (default: this repository's sources)");
ABSL_FLAG(int64_t, hidden, 256, "features of the LSTM's state");
ABSL_FLAG(int64_t, layers, 1, "layers of the LSTM");
ABSL_FLAG(int64_t, batch, 32, "streams of text that are read side by side");
ABSL_FLAG(int64_t, piece, 64, "letters of each stream a step");
ABSL_FLAG(int64_t, steps, 1200, "training steps");
ABSL_FLAG(double, learning_rate, 4e-3, "highest learning rate; it falls to zero along a cosine");
ABSL_FLAG(double, temperature, 0.7, "of the text that is written: near 0 the likeliest letters, higher is more random");
ABSL_FLAG(std::string, prompt, "\n", "what the written text begins with");
ABSL_FLAG(int64_t, length, 400, "letters to write");

namespace {

namespace F = torch::nn::functional;
using State = std::tuple<torch::Tensor, torch::Tensor>;

constexpr int64_t kValidationPieces = 20;

// The letters of a text, numbered as they first occur.
class Alphabet {
 public:
  explicit Alphabet(const std::string& text) {
    numbers_.fill(-1);
    for (const char c : text) {
      int64_t& number = numbers_[static_cast<unsigned char>(c)];
      if (number >= 0) continue;
      number = size();
      letters_ += c;
    }
  }

  int64_t size() const { return static_cast<int64_t>(letters_.size()); }
  char letter(int64_t number) const { return letters_[static_cast<size_t>(number)]; }

  // Letters that the text has not are left out.
  torch::Tensor encode(const std::string& text) const {
    std::vector<int64_t> numbers;
    for (const char c : text) {
      const int64_t number = numbers_[static_cast<unsigned char>(c)];
      if (number >= 0) numbers.push_back(number);
    }
    return torch::tensor(numbers);
  }

 private:
  std::array<int64_t, 256> numbers_;
  std::string letters_;
};

// Letters [N, T] -> scores of the letters that come next [N, T, letters].
struct CharRnnImpl : torch::nn::Module {
  CharRnnImpl(int64_t letters, int64_t hidden, int64_t layers)
      : embedding(register_module("embedding", torch::nn::Embedding(letters, 64))),
        lstm(register_module("lstm",
                             torch::nn::LSTM(torch::nn::LSTMOptions(64, hidden).num_layers(layers).batch_first(true)))),
        scores(register_module("scores", torch::nn::Linear(hidden, letters))) {}

  std::tuple<torch::Tensor, State> forward(const torch::Tensor& x, const std::optional<State>& before) {
    auto [output, after] = lstm->forward(embedding->forward(x), before);
    return {scores->forward(output), after};
  }

  torch::nn::Embedding embedding;
  torch::nn::LSTM lstm;
  torch::nn::Linear scores;
};
TORCH_MODULE(CharRnn);

// A text as `streams` rows that are read side by side.
class Streams {
 public:
  Streams(const torch::Tensor& text, int64_t streams) : length_((text.size(0) - 1) / streams) {
    if (length_ < 1) throw std::runtime_error("the text is too short for so many streams");
    x_ = text.slice(0, 0, streams * length_).view({streams, length_});
    y_ = text.slice(0, 1, streams * length_ + 1).view({streams, length_});
  }

  // The next letters and what follows each; `first` says whether they begin anew.
  bool next(int64_t piece, torch::Tensor& x, torch::Tensor& y) {
    const bool first = at_ == 0 || at_ + piece > length_;
    if (first) at_ = 0;
    x = x_.slice(1, at_, at_ + piece);
    y = y_.slice(1, at_, at_ + piece);
    at_ += piece;
    return first;
  }
  int64_t pieces(int64_t piece) const { return std::max<int64_t>(1, length_ / piece); }

 private:
  torch::Tensor x_, y_;
  int64_t length_, at_ = 0;
};

// The mean cross entropy of a piece; `state` goes on to the next.
torch::Tensor loss_of(CharRnn& model, Streams& text, std::optional<State>& state) {
  torch::Tensor x, y;
  if (text.next(absl::GetFlag(FLAGS_piece), x, y)) state.reset();
  auto [scores, after] = model->forward(x, state);
  state = State(std::get<0>(after).detach(), std::get<1>(after).detach());
  return F::cross_entropy(scores.flatten(0, 1), y.flatten());
}

double validate(CharRnn& model, const torch::Tensor& text) {
  torch::NoGradGuard no_grad;
  Streams streams(text, std::min<int64_t>(absl::GetFlag(FLAGS_batch), text.size(0) / (2 * absl::GetFlag(FLAGS_piece))));
  std::optional<State> state;
  double sum = 0;
  const int64_t pieces = std::min<int64_t>(kValidationPieces, streams.pieces(absl::GetFlag(FLAGS_piece)));
  for (int64_t i = 0; i < pieces; ++i) sum += loss_of(model, streams, state).item<double>();
  return sum / static_cast<double>(pieces);
}

std::string write(CharRnn& model, const Alphabet& alphabet) {
  torch::NoGradGuard no_grad;
  std::string text = absl::GetFlag(FLAGS_prompt);
  torch::Tensor x = alphabet.encode(text);
  if (x.size(0) == 0) x = torch::zeros({1}, torch::kLong);
  std::optional<State> state;
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_length); ++i) {
    auto [scores, after] = model->forward(x.unsqueeze(0), state);
    state = after;
    x = torch::multinomial(torch::softmax(scores[0][-1] / absl::GetFlag(FLAGS_temperature), 0), 1);
    text += alphabet.letter(x.item<int64_t>());
  }
  return text;
}

std::string read_text() {
  const std::string flag = absl::GetFlag(FLAGS_text);
  const std::string path =
      flag.empty() ? examples::runfile("examples/gpt/repository_text.txt") : examples::user_path(flag);
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty())
    throw std::runtime_error("there is no text in " + (path.empty() ? "the repository: --text=FILE" : path));
  return text;
}

void train() {
  for (const auto* flag : {&FLAGS_hidden, &FLAGS_layers, &FLAGS_batch, &FLAGS_piece, &FLAGS_steps}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::check_flag("temperature", absl::GetFlag(FLAGS_temperature), 0.01, 100);
  const int64_t steps = absl::GetFlag(FLAGS_steps);
  const std::string text = read_text();
  const Alphabet alphabet(text);
  const torch::Tensor letters = alphabet.encode(text);
  const int64_t split = letters.size(0) - letters.size(0) / 10;
  Streams streams(letters.slice(0, 0, split), absl::GetFlag(FLAGS_batch));
  const torch::Tensor kept = letters.slice(0, split);

  examples::Run run("char_rnn");
  CharRnn model(alphabet.size(), absl::GetFlag(FLAGS_hidden), absl::GetFlag(FLAGS_layers));
  torch::optim::Adam optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));
  std::printf("%zu letters of text, %lld different ones\n", text.size(), static_cast<long long>(alphabet.size()));

  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 10));
  std::optional<State> state;
  double validation = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    torch::Tensor loss = loss_of(model, streams, state);
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
    optimizer.zero_grad();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    run.scalar("loss/train", loss.item<double>(), step);
    if (step % std::max<int64_t>(1, steps / 10) == 0 || step == steps) {
      validation = validate(model, kept);
      run.scalar("loss/validation", validation, step);
    }
    progress.update(step, examples::format("loss %.3f validation %.3f", loss.item<double>(), validation));
  }
  progress.finish();
  run.draw("loss.svg", "cross entropy a letter", {"loss/train", "loss/validation"});
  const std::string written = write(model, alphabet);
  run.events().add_text("written", written, steps);
  std::printf("validation loss %.3f, %.2f bits a letter\n----\n%s\n", validation, validation / std::log(2.0),
              written.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns with an LSTM to write text, letter by letter.", train);
}
