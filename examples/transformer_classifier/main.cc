// Reads made-up reviews and says whether they praise: a transformer's encoder over words, padded to one length and
// masked.
//
//   ./bazelw run //examples/transformer_classifier
//
// What a word means depends on others: "not" turns the next judgement round, "but" makes what follows decide, and
// "although" takes its own half back. So counting good and bad words, which the program tries too, does not do.
#include <absl/flags/flag.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "examples/common/run.h"

ABSL_FLAG(int64_t, steps, 1600, "training steps");
ABSL_FLAG(int64_t, batch, 64, "reviews a step");
ABSL_FLAG(int64_t, width, 32, "features of a word");
ABSL_FLAG(int64_t, heads, 4, "attention heads; divides --width");
ABSL_FLAG(int64_t, layers, 2, "layers of the encoder");
ABSL_FLAG(int64_t, test, 2000, "reviews to test on");
ABSL_FLAG(double, learning_rate, 3e-3, "highest learning rate; it warms up and then falls to zero along a cosine");

namespace {

namespace nn = torch::nn;
namespace F = torch::nn::functional;
using Words = std::vector<std::string>;

constexpr int64_t kLength = 28;
const Words kGood = {"brilliant", "funny", "moving", "clever", "gripping", "fresh", "charming", "superb"};
const Words kBad = {"dull", "clumsy", "boring", "flat", "silly", "slow", "hollow", "dreadful"};
const Words kThings = {"plot", "music", "acting", "ending", "camera", "dialogue", "cast", "pace"};
const Words kDegrees = {"", "very", "rather", "quite", "really"};

struct Review {
  std::string text;
  bool praises;
};

class Reviewer {
 public:
  explicit Reviewer(uint64_t seed) : random_(seed) {}

  Review review() {
    bool first, second;
    const std::string a = clause(first), b = clause(second);
    switch (random_() % 4) {
      case 0:
        return {a, first};
      case 1:
        return {a + " but " + b, second};
      case 2:
        return {"although " + a + " " + b, second};
      default:
        return {a + " although " + b, first};
    }
  }

 private:
  const std::string& one_of(const Words& words) { return words[random_() % words.size()]; }

  std::string clause(bool& praises) {
    praises = random_() % 2 == 0;
    const bool turned = random_() % 3 == 0;
    const std::string degree = one_of(kDegrees), word = one_of(praises != turned ? kGood : kBad);
    const std::string judgement = (turned ? "not " : "") + degree + (degree.empty() ? "" : " ") + word;
    switch (random_() % 3) {
      case 0:
        return "the " + one_of(kThings) + " was " + judgement;
      case 1:
        return "i found the " + one_of(kThings) + " and the " + one_of(kThings) + " " + judgement;
      default:
        return "we thought it would be " + one_of(random_() % 2 == 0 ? kGood : kBad) + " and it was " + judgement;
    }
  }

  std::mt19937_64 random_;
};

// Words of a text as numbers [kLength]; 0 is padding, 1 stands before each text.
class Vocabulary {
 public:
  torch::Tensor encode(const std::string& text) {
    torch::Tensor ids = torch::zeros({kLength}, torch::kLong);
    ids[0] = 1;
    std::istringstream stream(text);
    std::string word;
    for (int64_t i = 1; i < kLength && stream >> word; ++i) {
      ids[i] = numbers_.try_emplace(word, static_cast<int64_t>(numbers_.size()) + 2).first->second;
    }
    return ids;
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

constexpr int64_t kWords = 64;  // enough for all that the reviewer says

struct Batch {
  torch::Tensor words, praises;
};

Batch make_batch(Reviewer& reviewer, Vocabulary& vocabulary, int64_t count) {
  std::vector<torch::Tensor> words;
  std::vector<int64_t> praises;
  for (int64_t i = 0; i < count; ++i) {
    const Review review = reviewer.review();
    words.push_back(vocabulary.encode(review.text));
    praises.push_back(review.praises ? 1 : 0);
  }
  return {torch::stack(words), torch::tensor(praises)};
}

// Words [N, L] -> scores [N, 2], from what the encoder makes of the first place.
struct ClassifierImpl : nn::Module {
  ClassifierImpl(int64_t width, int64_t heads, int64_t layers)
      : embedding(register_module("embedding", nn::Embedding(kWords, width))),
        encoder(register_module("encoder", nn::TransformerEncoder(layer(width, heads), layers))),
        scores(register_module("scores", nn::Linear(width, 2))),
        places(register_parameter("places", torch::randn({kLength, 1, width}))) {}

  static nn::TransformerEncoderLayer layer(int64_t width, int64_t heads) {
    return nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(width, heads)
                                           .dim_feedforward(4 * width)
                                           .dropout(0.1)
                                           .activation(torch::kGELU));
  }

  torch::Tensor forward(const torch::Tensor& words) {
    const torch::Tensor x = embedding->forward(words.t()) + places;  // [L, N, E]
    const torch::Tensor y = encoder->forward(x, /*src_mask=*/{}, /*src_key_padding_mask=*/words == 0);
    return scores->forward(y[0]);
  }

  nn::Embedding embedding;
  nn::TransformerEncoder encoder;
  nn::Linear scores;
  torch::Tensor places;
};
TORCH_MODULE(Classifier);

// The comparison: a score a word, added up.
struct WordCounterImpl : nn::Module {
  WordCounterImpl()
      : bag(register_module("bag", nn::EmbeddingBag(nn::EmbeddingBagOptions(kWords, 2).mode(torch::kSum)))) {}
  torch::Tensor forward(const torch::Tensor& words) { return bag->forward(words); }
  nn::EmbeddingBag bag;
};
TORCH_MODULE(WordCounter);

template <typename Model>
double accuracy(Model& model, const Batch& test) {
  torch::NoGradGuard no_grad;
  model->eval();
  const double part =
      (model->forward(test.words).argmax(1) == test.praises).to(torch::kFloat).mean().template item<double>();
  model->train();
  return 100 * part;
}

template <typename Model>
double step_on(Model& model, torch::optim::Optimizer& optimizer, const Batch& batch) {
  optimizer.zero_grad();
  torch::Tensor loss = F::cross_entropy(model->forward(batch.words), batch.praises);
  loss.backward();
  optimizer.step();
  return loss.item<double>();
}

void train() {
  for (const auto* flag : {&FLAGS_steps, &FLAGS_batch, &FLAGS_width, &FLAGS_heads, &FLAGS_layers, &FLAGS_test}) {
    examples::check_flag(flag->Name().data(), static_cast<double>(absl::GetFlag(*flag)), 1, 1e6);
  }
  examples::Run run("transformer_classifier");
  Vocabulary vocabulary;
  Reviewer reviewer(1), other_reviewer(2);
  const Batch test = make_batch(other_reviewer, vocabulary, absl::GetFlag(FLAGS_test));
  Classifier model(absl::GetFlag(FLAGS_width), absl::GetFlag(FLAGS_heads), absl::GetFlag(FLAGS_layers));
  WordCounter counter;
  torch::optim::AdamW optimizer(model->parameters(), absl::GetFlag(FLAGS_learning_rate));
  torch::optim::AdamW counter_optimizer(counter->parameters(), 1e-2);

  const int64_t steps = absl::GetFlag(FLAGS_steps), every = std::max<int64_t>(1, steps / 15);
  torch::utils::Progress progress(steps, stdout, 0, every);
  double right = 0, counted = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    const double warm = std::min(1.0, 10 * static_cast<double>(step) / static_cast<double>(steps));
    optimizer.param_groups()[0].options().set_lr(absl::GetFlag(FLAGS_learning_rate) * warm *
                                                 examples::cosine(step, steps));
    const Batch batch = make_batch(reviewer, vocabulary, absl::GetFlag(FLAGS_batch));
    const double loss = step_on(model, optimizer, batch);
    step_on(counter, counter_optimizer, batch);
    run.scalar("loss", loss, step);
    if (step % every == 0 || step == steps) {
      run.scalar("right/transformer", right = accuracy(model, test), step);
      run.scalar("right/counted words", counted = accuracy(counter, test), step);
    }
    progress.update(step, examples::format("loss %.3f, %.1f%% of the test right", loss, right));
  }
  progress.finish();
  run.draw("accuracy.svg", "test reviews that are right, in percent", {"right/transformer", "right/counted words"});

  torch::NoGradGuard no_grad;
  model->eval();
  for (int i = 0; i < 5; ++i) {
    const std::string text = other_reviewer.review().text;
    const bool praises = model->forward(vocabulary.encode(text).unsqueeze(0)).argmax(1).item<int64_t>() == 1;
    std::printf("%s %s\n", praises ? "+" : "-", text.c_str());
  }
  std::printf("transformer %.2f%%, counted words %.2f%% of the test reviews right\n", right, counted);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Tells praise from blame with a transformer's encoder.", train);
}
