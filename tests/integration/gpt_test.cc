// examples/gpt as a user runs it, with settings so small that each run takes a moment.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "c10/memory/allocation_observer.h"
#include "c10/testing/files.h"
#include "examples/gpt/trainer.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using c10::testing::write_file;

using ::testing::HasSubstr;
using ::testing::Not;

class Gpt : public ::testing::Test {
 protected:
  Gpt() : folder_(fresh_folder()) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "the cat " + std::to_string(i * 7 % 10) + " sat on the mat\n";
    write_file(folder_ + "/text", text);
  }

  std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> out = {data_file("examples/gpt/gpt"),
                                    "--layers=1",
                                    "--heads=2",
                                    "--width=16",
                                    "--context=8",
                                    "--batch=4",
                                    "--steps=60",
                                    "--warmup=5",
                                    "--dropout=0.1",
                                    "--length=20",
                                    "--threads=1",
                                    "--checkpoint_every=7"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  Outcome train(std::vector<std::string> more, int signal = 0, int after_ms = 0, bool terminal = false) const {
    more.push_back("--text=text");  // relative to the user's folder
    return run(command(more), {folder_, signal, after_ms, terminal});
  }
  std::string checkpoint(const std::string& out) const { return folder_ + "/" + out + "/checkpoint.safetensors"; }

  std::string folder_;
};

TEST_F(Gpt, CheckpointedBlocksGiveTheSameBits) {
  for (const char* dtype : {"float32", "bf16"}) {
    const std::string kind = std::string("--dtype=") + dtype, plain = std::string("plain-") + dtype;
    const std::string checkpointed = std::string("checkpointed-") + dtype;
    Outcome o = train({"--out=" + plain, kind, "--layers=2", "--steps=6"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    o = train({"--out=" + checkpointed, kind, "--layers=2", "--steps=6", "--checkpoint_blocks"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_TRUE(read_file(checkpoint(plain)) == read_file(checkpoint(checkpointed))) << dtype;
  }
  EXPECT_NE(train({"--out=tp", "--checkpoint_blocks", "--parallel=tp"}).exit_code, 0);
}

// The most that is in use at once.
struct Peak final : c10::AllocationObserver {
  void allocated(const void*, size_t, size_t total, c10::Device) noexcept override { bytes = std::max(bytes, total); }
  void freed(const void*, size_t, size_t, c10::Device) noexcept override {}
  size_t bytes = 0;
};

// Of a forward and backward pass, beside the model.
double peak_of_step(int64_t layers, bool checkpointed) {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  gpt::ModelOptions options;
  options.layers = layers;
  options.width = 32;
  options.heads = 2;
  options.context = 64;
  gpt::Gpt model(options);
  if (checkpointed) gpt::checkpoint_blocks(model);
  const torch::Tensor tokens = torch::randint(256, {16, 64});
  Peak peak;
  c10::add_allocation_observer(&peak);
  model->loss(tokens, tokens).backward();
  c10::remove_allocation_observer(&peak);
  return static_cast<double>(peak.bytes);
}

TEST(GptMemory, FallsAsComputed) {
  // The arguments of a block, and the gradients of its parameters.
  const double argument = 16 * 64 * 32 * 4, parameters = (12 * 32 * 32 + 13 * 32) * 4;
  const double saved = (peak_of_step(6, false) - peak_of_step(2, false)) / 4;
  const double kept = (peak_of_step(6, true) - peak_of_step(2, true)) / 4;
  std::printf("a block saves %.0f bytes; checkpointed %.0f, its argument being %.0f\n", saved, kept, argument);
  EXPECT_GT(saved, 8 * argument);
  EXPECT_GE(kept, argument);
  EXPECT_LE(kept, argument + parameters);
  // Of six blocks one is whole at a time.
  const double fallen = peak_of_step(6, false) - peak_of_step(6, true);
  EXPECT_GT(fallen, 4 * (saved - kept));
}

TEST_F(Gpt, TrainsAndWrites) {
  const Outcome o = train({"--out=run", "--prompt=the "});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_THAT(o.out, HasSubstr("60/60 loss "));
  EXPECT_THAT(o.out, HasSubstr("tokens/s"));
  EXPECT_THAT(o.out, HasSubstr("validation loss "));
  EXPECT_THAT(o.out, HasSubstr("----\nthe "));
  EXPECT_THAT(o.out, Not(HasSubstr("\r"))) << "plain lines where there is no terminal";
  EXPECT_THAT(read_file(folder_ + "/run/loss.svg"), HasSubstr(">validation</text>"));
  EXPECT_TRUE(exists(checkpoint("run")));
  bool events = false;
  DIR* dir = ::opendir((folder_ + "/run").c_str());
  ASSERT_NE(dir, nullptr);
  while (const dirent* e = ::readdir(dir)) events |= std::string(e->d_name).rfind("events.out.tfevents.", 0) == 0;
  ::closedir(dir);
  EXPECT_TRUE(events);

  // The same seed gives the same bits, and sampling alone the same text.
  ASSERT_EQ(train({"--out=again"}).exit_code, 0);
  EXPECT_TRUE(read_file(checkpoint("run")) == read_file(checkpoint("again"))) << "the checkpoints differ";
  const Outcome sample =
      run({data_file("examples/gpt/gpt"), "--sample_only", "--out=run", "--length=20", "--prompt=the "}, {folder_});
  ASSERT_EQ(sample.exit_code, 0) << sample.err;
  EXPECT_EQ(sample.out, o.out.substr(o.out.find("----\n")));
}

double validation_loss(const Outcome& o) {
  const size_t at = o.out.find("\nvalidation loss ");
  return at == std::string::npos ? -1 : std::stod(o.out.substr(at + 17));
}

// Products in bfloat16: the loss of float32, but for rounding, and a checkpoint that goes on in bfloat16.
TEST_F(Gpt, TrainsInMixedPrecision) {
  const Outcome full = train({"--out=full", "--dropout=0"});
  const Outcome mixed = train({"--out=mixed", "--dropout=0", "--dtype=bf16"});
  ASSERT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_EQ(mixed.err, "");
  ASSERT_GT(validation_loss(mixed), 0);
  EXPECT_NEAR(validation_loss(mixed), validation_loss(full), 0.02);
  EXPECT_FALSE(read_file(checkpoint("full")) == read_file(checkpoint("mixed"))) << "nothing was rounded";
  const Outcome other = train({"--out=mixed", "--resume", "--steps=70", "--dropout=0", "--dtype=float32"});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("--dtype differs from the checkpoint's (bf16)"));
  EXPECT_EQ(train({"--out=mixed", "--resume", "--steps=70", "--dropout=0", "--dtype=bf16"}).exit_code, 0);
  const Outcome unknown = train({"--out=unknown", "--dtype=int8"});
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("--dtype=int8 is none of float32, bf16, fp16"));
}

TEST_F(Gpt, DrawsABarOnATerminal) {
  const Outcome o = train({"--out=run"}, 0, 0, /*terminal=*/true);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("\r["));
  EXPECT_THAT(o.out, HasSubstr("100% 60/60"));
}

TEST_F(Gpt, KilledAndResumedItEndsWithTheSameBits) {
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(train({"--out=whole", "--steps=400"}).exit_code, 0);
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
  std::mt19937 random(17);
  int killed = 0;
  Outcome o;
  for (int i = 0; i < 60; ++i) {
    o = train({"--out=parts", "--steps=400", "--resume"}, SIGKILL, static_cast<int>(took * (10 + random() % 50) / 100));
    if (o.signal == 0) break;
    ++killed;
  }
  if (o.signal != 0) o = train({"--out=parts", "--steps=400", "--resume"});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_GT(killed, 0);
  EXPECT_TRUE(read_file(checkpoint("parts")) == read_file(checkpoint("whole"))) << "the checkpoints differ";
  EXPECT_EQ(read_file(folder_ + "/parts/loss.svg"), read_file(folder_ + "/whole/loss.svg"));
}

TEST_F(Gpt, CtrlCSavesAndExits) {
  ASSERT_EQ(train({"--out=whole", "--steps=3000"}).exit_code, 0);
  Outcome o;
  int after = 400;
  do {  // a slow machine may not have come to the first step yet
    o = train({"--out=parts", "--steps=3000", "--resume"}, SIGINT, after);
    after *= 2;
  } while (o.signal != 0 && after < 60'000);
  ASSERT_EQ(o.exit_code, 0) << o.err;
  if (o.out.find("validation loss ") == std::string::npos) {
    EXPECT_THAT(o.out, HasSubstr("stopped at step "));
    o = train({"--out=parts", "--steps=3000", "--resume"});
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("resumed at step "));
  }
  EXPECT_TRUE(read_file(checkpoint("parts")) == read_file(checkpoint("whole"))) << "the checkpoints differ";
}

TEST_F(Gpt, TheDefaultTextIsTheRepository) {
  const Outcome o = run({data_file("examples/gpt/gpt"), "--layers=1", "--width=16", "--context=8", "--steps=2",
                         "--out=run", "--length=3"},
                        {folder_});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const size_t at = o.out.find(" bytes of text");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(std::atoll(o.out.c_str() + o.out.rfind(' ', at - 1)), 100'000);
}

struct Mistake {
  std::vector<std::string> arguments;
  const char* message;
};

TEST_F(Gpt, MistakesAreOneLineAndOverwriteNothing) {
  write_file(folder_ + "/empty", "");
  write_file(folder_ + "/short", "short");
  write_file(folder_ + "/file", "");
  const std::vector<Mistake> mistakes = {
      {{"--layrs=3"}, "unknown flag --layrs"},
      {{"--layers=x"}, "layers"},
      {{"--layers=0"}, "--layers=0 is not within"},
      {{"--heads=3"}, "--heads=3 does not divide --width=16"},
      {{"--dropout=1"}, "--dropout=1"},
      {{"--learning_rate=nan"}, "--learning_rate=nan"},
      {{"--steps"}, "--steps needs a value"},
      {{"stray"}, "unexpected argument 'stray'"},
      {{"--text=/no/such/file"}, "/no/such/file"},
      {{"--text=empty"}, ""},
      {{"--context=20000"}, "a context of 20000 needs a text of at least"},
      {{"--resume", "--sample_only"}, "exclude each other"},
      {{"--sample_only"}, "No such file"},
      {{"--temperature=-1"}, "--temperature=-1"},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = mistake.arguments;
    arguments.insert(arguments.begin(), "--out=run");
    const bool own_text = mistake.arguments[0].rfind("--text", 0) == 0;
    const Outcome o = own_text ? run(command(arguments), {folder_}) : train(arguments);
    EXPECT_EQ(o.exit_code, 1) << mistake.arguments[0];
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_THAT(o.err, HasSubstr(mistake.message));
    EXPECT_FALSE(exists(folder_ + "/run")) << mistake.arguments[0];
  }
  const Outcome o = run(command({"--out=run", "--text=short"}), {folder_});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.err, HasSubstr("this one has 5"));
  EXPECT_EQ(train({"--out=file/below"}).exit_code, 1);
}

TEST_F(Gpt, DamagedAndForeignCheckpointsAreRefused) {
  ASSERT_EQ(train({"--out=run"}).exit_code, 0);
  const std::string good = read_file(checkpoint("run")), chart = read_file(folder_ + "/run/loss.svg");
  const auto refused = [&](const Outcome& o, const std::string& file, const char* message) {
    EXPECT_EQ(o.exit_code, 1) << o.out;
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_THAT(o.err, HasSubstr(message));
    EXPECT_TRUE(read_file(checkpoint("run")) == file) << "the checkpoint was overwritten";
    EXPECT_EQ(read_file(folder_ + "/run/loss.svg"), chart);
  };
  refused(train({"--out=run"}), good, "already holds a checkpoint");
  refused(train({"--out=run", "--resume", "--width=32"}), good, "--width differs from the checkpoint's");
  refused(run(command({"--out=run", "--resume", "--text=text", "--text=text"}), {folder_}), good, "of another text");
  std::string damaged = good;
  damaged[damaged.size() - 100] = static_cast<char>(damaged[damaged.size() - 100] ^ 1);
  for (const std::string& bytes : {damaged, good.substr(0, good.size() / 2), std::string("x"), std::string()}) {
    write_file(checkpoint("run"), bytes);
    refused(train({"--out=run", "--resume"}), bytes, "checkpoint");
    refused(train({"--out=run", "--sample_only"}), bytes, "checkpoint");
  }
}

TEST_F(Gpt, HelpListsTheFlags) {
  for (const char* flag : {"--help", "-h", "-help"}) {
    const Outcome o = run({data_file("examples/gpt/gpt"), "--steps=3", flag}, {folder_});
    EXPECT_EQ(o.exit_code, 0) << flag;
    EXPECT_EQ(o.err, "");
    EXPECT_THAT(o.out, HasSubstr("Trains a small GPT"));
    EXPECT_THAT(o.out, HasSubstr("--learning_rate=0.0025\n      the highest learning rate"));
    EXPECT_THAT(o.out, HasSubstr("--sample_only"));
    EXPECT_THAT(o.out, Not(HasSubstr("flagfile"))) << "a flag that is not this program's";
  }
}

TEST_F(Gpt, AMistakeIsSaidInTheProgramsName) {
  for (const char* flag :
       {"--layers=x", "--resume=perhaps", "--learning_rate=1,5", "--steps=99999999999999999999", "--noout"}) {
    const Outcome o = train({"--out=run", flag});
    EXPECT_EQ(o.exit_code, 1) << flag;
    EXPECT_EQ(lines(o.err), 1) << o.err;
    EXPECT_EQ(o.err.rfind("gpt: ", 0), 0u) << o.err;
  }
}

TEST_F(Gpt, OneRunAtATimeHasTheFolder) {
  std::string line = "BUILD_WORKING_DIRECTORY=" + folder_;
  for (const std::string& word : command({"--out=run", "--resume", "--text=text"})) line += " " + word;
  std::string started = "BUILD_WORKING_DIRECTORY=" + folder_;
  for (const std::string& word : command({"--out=run", "--steps=1000000", "--text=text"})) started += " " + word;
  const std::string script = started + " > " + folder_ + "/first.out 2> " + folder_ + "/first.err & first=$!\n" +
                             "while ! grep -q 'output in' " + folder_ +
                             "/first.out 2> /dev/null; do sleep 0.05; done\n" + line +
                             "; echo \"second $?\"; kill -INT $first; wait $first; echo \"first $?\"; " + line +
                             " --steps=1 > /dev/null; echo \"third $?\"";
  const Outcome o = run({"/bin/bash", "-m", "-c", script}, {folder_});
  EXPECT_THAT(o.out, HasSubstr("second 1\n"));
  EXPECT_THAT(o.err, HasSubstr("gpt: " + folder_ + "/run is in use by another run"));
  EXPECT_THAT(o.out, HasSubstr("first 0\n")) << read_file(folder_ + "/first.err");
  EXPECT_THAT(o.out, HasSubstr("third 0\n")) << "the folder is free again";
}

TEST_F(Gpt, CtrlCIsAnsweredWhileItTrains) {
  const Outcome o =
      run(command({"--out=run", "--steps=1000000", "--text=text"}), {folder_, SIGINT, 0, false, "", "output in "});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.err, "\nstopping after this step; once more ends the program at once\n");
}

TEST_F(Gpt, CtrlCEndsTheWriting) {
  const Outcome o = run(command({"--out=run", "--steps=1", "--text=text", "--length=100000000"}),
                        {folder_, SIGINT, 0, false, "", "----\n"});
  EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.err, HasSubstr("stopping after this step"));
  EXPECT_THAT(o.out, HasSubstr("----\n"));
  EXPECT_THAT(o.out, ::testing::EndsWith("stopped\n"));
}

TEST_F(Gpt, AFullDeviceIsAnError) {
  for (std::vector<std::string> more : {std::vector<std::string>{"--out=run"}, {"--help"}}) {
    more.push_back("--text=text");
    const Outcome o = run(command(more), {folder_, 0, 0, false, "/dev/full"});
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_EQ(o.err.rfind("gpt: cannot write to standard output", 0), 0u) << o.err;
    EXPECT_EQ(lines(o.err), 1) << o.err;
  }
}

}  // namespace
}  // namespace integration
