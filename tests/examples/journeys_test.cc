// The training examples as a user runs them, shortened: they learn, say what they reached and write what they promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "c10/testing/files.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Runs the example with its output in a new folder, which `folder` then is. The files must be there, as what they say.
std::string run_example(const std::string& name, std::vector<std::string> arguments,
                        const std::vector<std::string>& files, std::string* folder = nullptr) {
  const std::string out = fresh_folder();
  arguments.insert(arguments.begin(), {data_file("examples/" + name + "/" + name), "--threads=1", "--out=run"});
  const Outcome o = run(arguments, {out, 0, 0, false});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  for (const std::string& file : files) {
    const char* const start = file.ends_with(".png") ? "\x89PNG" : "<svg";
    EXPECT_THAT(read_file(out + "/run/" + file), StartsWith(start)) << file;
  }
  if (folder != nullptr) *folder = out;
  return o.out;
}

// The number behind the last `text`.
double number_after(const std::string& out, const std::string& text) {
  const size_t at = out.rfind(text);
  EXPECT_NE(at, std::string::npos) << text << " is not in\n" << out;
  return at == std::string::npos ? NAN : std::atof(out.c_str() + at + text.size());
}

TEST(CharRnn, LearnsATextByHeart) {
  const std::string folder = fresh_folder();
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat sat on the mat. ";
  c10::testing::write_file(folder + "/text", text);
  const std::string out = run_example("char_rnn",
                                      {"--text=" + folder + "/text", "--hidden=48", "--batch=8", "--piece=16",
                                       "--steps=150", "--prompt=the c", "--temperature=0.1", "--length=40"},
                                      {"loss.svg"});
  EXPECT_LT(number_after(out, "validation loss "), 0.3);
  EXPECT_THAT(out, HasSubstr("----\nthe cat sat on the mat. the "));
}

TEST(Vae, Draws) {
  const std::string out = run_example("vae", {"--epochs=2", "--images=1000", "--hidden=128"},
                                      {"samples.png", "reconstructions.png", "bound.svg"});
  EXPECT_THAT(out, HasSubstr("drawn digits"));
  EXPECT_LT(number_after(out, "test bound "), 250);  // grey noise: 543
}

TEST(WordEmbeddings, SolvesAnalogies) {
  const std::string out = run_example("word_embeddings", {"--steps=600"}, {"words.svg", "loss.svg"});
  EXPECT_GT(number_after(out, "left\n"), 30);  // by chance: 1
}

TEST(Dqn, KeepsThePoleUpLonger) {
  const std::string out =
      run_example("dqn", {"--steps=3000", "--explore=1000", "--hidden=64", "--batch=64", "--trials=20"},
                  {"steps.svg", "trial.svg"});
  EXPECT_GT(number_after(out, "solved: up for "), 50);  // always to one side: 9
}

TEST(Ppo, KeepsThePoleUpLonger) {
  const std::string out = run_example("ppo", {"--rounds=10", "--trials=20"}, {"steps.svg"});
  EXPECT_GT(number_after(out, "solved: up for "), 100);
}

TEST(Hmc, FindsTheLine) {
  const std::string out =
      run_example("hmc", {"--warmup=100", "--draws=100", "--leapfrogs=8"}, {"fit.svg", "posterior.svg"});
  EXPECT_NEAR(number_after(out, "\nslope "), -0.7, 0.2);
  EXPECT_LT(number_after(out, "largest r-hat "), 1.3);
}

TEST(NormalizingFlow, IsNearerThanANormalDistribution) {
  const std::string out =
      run_example("normalizing_flow", {"--steps=400", "--hidden=32", "--layers=4", "--batch=128"},
                  {"density.svg", "samples.svg", "nats.svg"});
  EXPECT_LT(number_after(out, "the flow: "), number_after(out, "a normal distribution: ") - 0.5);
}

TEST(Seq2Seq, WritesDates) {
  const std::string out =
      run_example("seq2seq", {"--steps=60", "--hidden=48", "--batch=32", "--test=50"}, {"attention.svg", "loss.svg"});
  EXPECT_LT(number_after(out, "60/60 loss "), 1.5);  // by chance: 3.7
}

TEST(TransferLearning, IsAheadOfANewNet) {
  std::string folder;
  const std::string out =
      run_example("transfer_learning", {"--epochs=1", "--images=2000", "--few=5", "--head_steps=30", "--all_steps=10"},
                  {"accuracy.svg"}, &folder);
  EXPECT_GT(number_after(out, "transferred "), 60);
  EXPECT_GT(read_file(folder + "/run/zero_to_four.pt").size(), 400000u);
}

TEST(TransformerClassifier, Reads) {
  const std::string out = run_example("transformer_classifier", {"--steps=600", "--test=300"}, {"accuracy.svg"});
  EXPECT_GT(number_after(out, "transformer "), 72);  // counting words: 58
  EXPECT_THAT(out, HasSubstr("\n+ "));
}

TEST(Vit, ReadsDigits) {
  const std::string out = run_example("vit", {"--epochs=3", "--batch=25", "--images=1500", "--width=32", "--layers=1"},
                                      {"attention.png", "loss.svg"});
  EXPECT_GT(number_after(out, "left\n"), 25);  // by chance: 10
}

TEST(Dcgan, Draws) {
  const std::string out =
      run_example("dcgan", {"--epochs=10", "--reader_epochs=3", "--batch=25", "--images=1000", "--channels=8"},
                  {"samples.png", "loss.svg"});
  EXPECT_GT(number_after(out, "of real digits "), 70);
  EXPECT_GT(number_after(out, "of drawn digits "), 40);  // by chance: 10
}

TEST(SpeechCtc, Hears) {
  const std::string out = run_example(
      "speech_ctc", {"--steps=400", "--hidden=32", "--batch=16", "--test=50", "--noise=0.1", "--learning_rate=6e-3"},
      {"letters.svg", "loss.svg"});
  EXPECT_LT(number_after(out, "the best of each step "), 40);  // before it learns: 96 and more
  EXPECT_LT(number_after(out, "beam search "), 40);
}

TEST(AllExamples, SayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"char_rnn", "--hidden=0"},
      {"vae", "--epochs=0"},
      {"word_embeddings", "--window=0"},
      {"dqn", "--memory=0"},
      {"ppo", "--carts=-1"},
      {"seq2seq", "--batch=0"},
      {"vit", "--layers=0"},
      {"dcgan", "--noise=0"},
      {"transfer_learning", "--few=0"},
      {"transformer_classifier", "--steps=0"},
      {"speech_ctc", "--beam=0"},
  };
  for (const auto& [name, flag] : bad) {
    const Outcome o = run({data_file("examples/" + name + "/" + name), flag}, {fresh_folder(), 0, 0, false});
    EXPECT_EQ(o.exit_code, 1) << name;
    EXPECT_THAT(o.err, HasSubstr(flag)) << name;
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_EQ(o.out, "") << name;
  }
}

}  // namespace
}  // namespace integration
