// Learns vectors of words from the words they stand beside: skip-gram with negative sampling (Mikolov and others,
// https://arxiv.org/abs/1310.4546).
//
//   ./bazelw run //examples/word_embeddings [-- --text=FILE]
//
// Without a text the program makes sentences of a small world up, in which the right answers are known: it counts how
// many analogies ("france" is to "paris" as "japan" to what?) the vectors solve. With a text it prints nearest
// neighbours.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "examples/common/run.h"
#include "utils/plot/scatter_chart.h"

ABSL_FLAG(std::string, text, "", "a file of words to learn from (default: made-up sentences)");
ABSL_FLAG(int64_t, sentences, 30000, "made-up sentences");
ABSL_FLAG(int64_t, width, 32, "numbers a word");
ABSL_FLAG(int64_t, window, 5, "words to each side that a word is to foretell");
ABSL_FLAG(int64_t, negatives, 8, "random words that each is told from");
ABSL_FLAG(int64_t, batch, 512, "words a step");
ABSL_FLAG(int64_t, steps, 5000, "training steps");
ABSL_FLAG(double, learning_rate, 1e-2, "highest learning rate; it falls to zero along a cosine");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;

// Words that differ from those of their column in the same way: country, capital, language, dish.
const std::vector<std::string> kKinds = {"country", "capital", "language", "dish"};
const std::vector<std::vector<std::string>> kWorld = {
    {"france", "paris", "french", "crepes"},         {"japan", "tokyo", "japanese", "sushi"},
    {"italy", "rome", "italian", "risotto"},         {"spain", "madrid", "spanish", "paella"},
    {"greece", "athens", "greek", "moussaka"},       {"poland", "warsaw", "polish", "pierogi"},
    {"hungary", "budapest", "hungarian", "goulash"}, {"korea", "seoul", "korean", "kimchi"},
    {"sweden", "stockholm", "swedish", "gravlax"},   {"turkey", "ankara", "turkish", "baklava"},
};

// Sentences in which 0 to 3 stand for a country, its capital, language and dish.
std::string make_text(int64_t sentences) {
  static const std::vector<std::string> patterns = {
      "the streets of 1 are full of cars",      "in 0 people speak 2",
      "the train stops in 1 near the station",  "she learned 2 at school before moving to 0",
      "we ate 3 with our friends in 0",         "the cook in 1 makes the best 3",
      "the king of 0 signed a treaty",          "he wrote the letter in 2 words",
      "they served hot 3 on a plate",           "the army of 0 crossed the border",
      "the mayor of 1 opened a bridge",         "the grammar of 2 has many verbs",
      "a bowl of 3 with salt tastes good",      "most 2 songs come from 0",
      "the museum in 1 shows the history of 0", "the recipe of 3 was told in 2",
  };
  std::mt19937_64 random(1);
  std::string text;
  for (int64_t i = 0; i < sentences; ++i) {
    const auto& place = kWorld[random() % kWorld.size()];
    for (const char c : patterns[random() % patterns.size()]) {
      if (c >= '0' && c <= '3') {
        text += place[static_cast<size_t>(c - '0')];
      } else {
        text += c;
      }
    }
    text += " . ";
  }
  return text;
}

// The words of a text, the most frequent first; words that occur fewer than five times are left out.
struct Corpus {
  explicit Corpus(const std::string& text) {
    std::map<std::string, int64_t> counted;
    std::vector<std::string> all;
    std::string word;
    for (const char c : text + " ") {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      } else if (!word.empty()) {
        ++counted[word];
        all.push_back(std::move(word));
        word.clear();
      }
    }
    for (const auto& [w, count] : counted) {
      if (count >= 5) words.push_back(w);
    }
    std::sort(words.begin(), words.end(),
              [&](auto& a, auto& b) { return counted[a] != counted[b] ? counted[a] > counted[b] : a < b; });
    std::vector<double> counts;
    for (const std::string& w : words) {
      numbers[w] = static_cast<int64_t>(numbers.size());
      counts.push_back(static_cast<double>(counted[w]));
    }
    std::vector<int64_t> ids;
    for (const std::string& w : all) {
      if (const auto it = numbers.find(w); it != numbers.end()) ids.push_back(it->second);
    }
    if (static_cast<int64_t>(ids.size()) <= 2 * absl::GetFlag(FLAGS_window))
      throw std::runtime_error("the text is too short");
    text_ids = torch::tensor(ids);
    frequencies = torch::tensor(counts).pow(0.75).to(torch::kFloat);
  }

  std::vector<std::string> words;
  std::map<std::string, int64_t> numbers;
  torch::Tensor text_ids;     // the text as numbers of words
  torch::Tensor frequencies;  // how often a word is drawn as one that does not belong
};

struct SkipGramImpl : nn::Module {
  SkipGramImpl(int64_t words, int64_t width)
      : word(register_module("word", nn::Embedding(words, width))),
        context(register_module("context", nn::Embedding(words, width))) {
    nn::init::uniform_(word->weight, -0.5 / static_cast<double>(width), 0.5 / static_cast<double>(width));
    nn::init::zeros_(context->weight);
  }

  // How well words [B] go with others [B, K]: scores [B, K].
  torch::Tensor forward(const torch::Tensor& words, const torch::Tensor& others) {
    return torch::bmm(context->forward(others), word->forward(words).unsqueeze(2)).squeeze(2);
  }

  nn::Embedding word, context;
};
TORCH_MODULE(SkipGram);

// Words at random places are to tell their neighbours from random words.
torch::Tensor loss_of(SkipGram& model, const Corpus& corpus) {
  const int64_t window = absl::GetFlag(FLAGS_window), batch = absl::GetFlag(FLAGS_batch);
  const torch::Tensor places = torch::randint(window, corpus.text_ids.size(0) - window, {batch}, torch::kLong);
  const torch::Tensor offsets = torch::cat({torch::arange(-window, 0), torch::arange(1, window + 1)});
  const torch::Tensor words = corpus.text_ids.index_select(0, places);
  const torch::Tensor near = corpus.text_ids.take(places.unsqueeze(1) + offsets);
  const torch::Tensor random =
      torch::multinomial(corpus.frequencies, batch * absl::GetFlag(FLAGS_negatives), /*replacement=*/true)
          .view({batch, -1});
  return -(F::logsigmoid(model->forward(words, near)).sum(1) + F::logsigmoid(-model->forward(words, random)).sum(1))
              .mean();
}

// The `count` words whose vectors [N, D] of length 1 point most in the direction of `vector`.
std::vector<int64_t> nearest(const torch::Tensor& vectors, const torch::Tensor& vector, int64_t count) {
  const torch::Tensor best = std::get<1>(torch::mv(vectors, vector).topk(count));
  return {best.const_data_ptr<int64_t>(), best.const_data_ptr<int64_t>() + count};
}

// The part of "a is to b as c to what?" that the vectors answer rightly, in percent.
double solved_analogies(const torch::Tensor& vectors, const Corpus& corpus) {
  int64_t right = 0, all = 0;
  for (const auto& from : kWorld) {
    for (const auto& to : kWorld) {
      for (size_t i = 0; i < kKinds.size(); ++i) {
        for (size_t j = 0; j < kKinds.size(); ++j) {
          if (&from == &to || i == j) continue;
          const int64_t a = corpus.numbers.at(from[i]), b = corpus.numbers.at(from[j]), c = corpus.numbers.at(to[i]);
          for (const int64_t answer : nearest(vectors, vectors[b] - vectors[a] + vectors[c], 4)) {
            if (answer == a || answer == b || answer == c) continue;
            right += corpus.words[static_cast<size_t>(answer)] == to[j] ? 1 : 0;
            break;
          }
          ++all;
        }
      }
    }
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(all);
}

// The two directions, the columns of a [D, 2], in which words of this covariance [D, D] differ most: power iteration.
torch::Tensor directions(const torch::Tensor& covariance) {
  torch::Tensor first = torch::randn({covariance.size(0)}), second = torch::randn({covariance.size(0)});
  for (int i = 0; i < 100; ++i) {
    first = torch::mv(covariance, first);
    first /= first.norm();
    second = torch::mv(covariance, second);
    second -= torch::dot(first, second) * first;
    second /= second.norm();
  }
  return torch::stack({first, second}, 1);
}

// Words in the plane in which they differ most.
void draw(const std::string& path, const torch::Tensor& vectors, const Corpus& corpus,
          const std::vector<std::pair<std::string, std::vector<std::string>>>& groups) {
  std::vector<int64_t> ids;
  for (const auto& group : groups)
    for (const std::string& word : group.second) ids.push_back(corpus.numbers.at(word));
  torch::Tensor shown = vectors.index_select(0, torch::tensor(ids));
  shown = shown - shown.mean(0, /*keepdim=*/true);
  const torch::Tensor points = torch::mm(shown, directions(torch::mm(shown.t(), shown)));
  torch::utils::plot::ScatterChart chart;
  chart.title = "words, in the plane in which they differ most";
  int64_t at = 0;
  for (const auto& [name, words] : groups) {
    torch::utils::plot::PointGroup group{name, {}, {}, words};
    for (size_t i = 0; i < words.size(); ++i, ++at) {
      group.x.push_back(points[at][0].item<double>());
      group.y.push_back(points[at][1].item<double>());
    }
    chart.groups.push_back(group);
  }
  write_svg(path, chart);
}

void show_made_up(examples::Run& run, const torch::Tensor& vectors, const Corpus& corpus) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (size_t i = 0; i < kKinds.size(); ++i) {
    groups.emplace_back(kKinds[i], std::vector<std::string>());
    for (const auto& place : kWorld) groups[i].second.push_back(place[i]);
  }
  draw(run.path("words.svg"), vectors, corpus, groups);
  std::printf("%.1f%% of the analogies solved; see words.svg\n", solved_analogies(vectors, corpus));
}

void show_neighbours(examples::Run& run, const torch::Tensor& vectors, const Corpus& corpus) {
  std::vector<std::string> frequent;
  for (const std::string& word : corpus.words) {
    if (word.size() > 4 && frequent.size() < 60) frequent.push_back(word);
  }
  for (size_t i = 0; i < std::min<size_t>(12, frequent.size()); ++i) {
    std::printf("%-12s", frequent[i].c_str());
    const int64_t count = std::min<int64_t>(6, vectors.size(0));
    for (const int64_t other : nearest(vectors, vectors[corpus.numbers.at(frequent[i])], count)) {
      if (corpus.words[static_cast<size_t>(other)] != frequent[i])
        std::printf(" %s", corpus.words[static_cast<size_t>(other)].c_str());
    }
    std::printf("\n");
  }
  draw(run.path("words.svg"), vectors, corpus, {{"frequent words", frequent}});
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void train() {
  for (const auto* flag :
       {&FLAGS_sentences, &FLAGS_width, &FLAGS_window, &FLAGS_negatives, &FLAGS_batch, &FLAGS_steps}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e7);
  }
  const std::string path = absl::GetFlag(FLAGS_text);
  const Corpus corpus(path.empty() ? make_text(absl::GetFlag(FLAGS_sentences)) : read_text(examples::user_path(path)));
  const int64_t steps = absl::GetFlag(FLAGS_steps);
  examples::Run run("word_embeddings");
  std::printf("%lld words, %zu different ones\n", static_cast<long long>(corpus.text_ids.size(0)), corpus.words.size());
  SkipGram model(static_cast<int64_t>(corpus.words.size()), absl::GetFlag(FLAGS_width));
  torch::optim::Adam optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));

  torch::utils::Progress progress(steps, stdout, 0, std::max<int64_t>(1, steps / 10));
  for (int64_t step = 1; step <= steps; ++step) {
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * examples::cosine(step, steps));
    torch::Tensor loss = loss_of(model, corpus);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    run.scalar("loss", loss.item<double>(), step);
    progress.update(step, examples::format("loss %.3f", loss.item<double>()));
  }
  progress.finish();
  run.draw("loss.svg", "loss a word", {"loss"});
  const torch::Tensor vectors = F::normalize(model->word->weight.detach(), F::NormalizeFuncOptions().dim(1));
  path.empty() ? show_made_up(run, vectors, corpus) : show_neighbours(run, vectors, corpus);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Learns vectors of words from the words they stand beside.", train);
}
