// The training examples on CUDA devices, with settings so small that the stand-in takes a moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::read_file;
using c10::testing::write_file;

using ::testing::HasSubstr;

double number_after(const std::string& text, const std::string& words) {
  const size_t at = text.rfind(words);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + words.size());
}

class CudaGpt : public ::testing::Test {
 protected:
  CudaGpt() : folder_(fresh_folder()) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "the cat " + std::to_string(i * 7 % 10) + " sat on the mat\n";
    write_file(folder_ + "/text", text);
  }
  Outcome train(std::vector<std::string> more, const std::string& signal_after = "") const {
    std::vector<std::string> command = {data_file("tests/integration/gpt_cuda_on_host"),
                                        "--text=text",
                                        "--layers=1",
                                        "--heads=2",
                                        "--width=16",
                                        "--context=8",
                                        "--batch=2",
                                        "--steps=20",
                                        "--warmup=3",
                                        "--length=8",
                                        "--threads=1",
                                        "--validate_every=20"};
    command.insert(command.end(), more.begin(), more.end());
    RunOptions options{folder_};
    if (!signal_after.empty()) options.signal = SIGTERM;
    options.signal_after = signal_after;
    return run(command, options);
  }
  std::string checkpoint(const std::string& out) const {
    return read_file(folder_ + "/" + out + "/checkpoint.safetensors");
  }
  static double loss_of(const Outcome& o) {
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return number_after(o.out, "validation loss ");
  }

  std::string folder_;
};

TEST_F(CudaGpt, LearnsAsOnTheCpu) {
  const double expected = loss_of(train({"--device=cpu", "--out=cpu"}));
  EXPECT_GT(expected, 1);
  EXPECT_NEAR(loss_of(train({"--device=cuda", "--out=cuda"})), expected, 2e-4);
  EXPECT_NEAR(loss_of(train({"--device=cuda:1", "--cuda_graph", "--out=graph"})), expected, 2e-4);
  EXPECT_NEAR(loss_of(train({"--device=cuda", "--dtype=bf16", "--out=bf16"})), expected, 0.02);
  EXPECT_NEAR(loss_of(train({"--device=cuda", "--dtype=fp16", "--cuda_graph", "--out=fp16"})), expected, 0.02);
}

TEST_F(CudaGpt, StoppedAndResumedItEndsWithTheSameBits) {
  for (const char* dtype : {"--dtype=float32", "--dtype=fp16"}) {
    const std::vector<std::string> flags = {"--device=cuda", "--dropout=0.1", dtype};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.end(), flags.begin(), flags.end());
      return more;
    };
    const std::string whole = std::string("whole") + dtype, parts = std::string("parts") + dtype;
    EXPECT_GT(loss_of(train(with({"--out=" + whole}))), 1);
    const Outcome stopped = train(with({"--out=" + parts}), "7/20");
    EXPECT_THAT(stopped.out, HasSubstr("--resume goes on"));
    EXPECT_GT(loss_of(train(with({"--out=" + parts, "--resume"}))), 1);
    EXPECT_TRUE(checkpoint(whole) == checkpoint(parts)) << dtype;
  }
}

TEST_F(CudaGpt, SaysWhatIsWrong) {
  const Outcome graph = train({"--cuda_graph"}), device = train({"--device=cuda:7"});
  EXPECT_EQ(graph.exit_code, 1);
  EXPECT_THAT(graph.err, HasSubstr("--cuda_graph needs --device=cuda"));
  EXPECT_EQ(device.exit_code, 1);
  EXPECT_THAT(device.err, HasSubstr("--device=cuda:7: there are only 2 CUDA devices"));
}

TEST(CudaDcgan, Draws) {
  const std::vector<std::string> command = {data_file("tests/integration/dcgan_cuda_on_host"),
                                            "--device=cuda",
                                            "--epochs=1",
                                            "--reader_epochs=1",
                                            "--batch=8",
                                            "--images=48",
                                            "--channels=2",
                                            "--out=run"};
  const std::string folder = fresh_folder();
  const Outcome o = run(command, {folder});
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_GE(number_after(o.out, "of drawn digits "), 0);
  EXPECT_TRUE(exists(folder + "/run/samples.png"));
}

}  // namespace
}  // namespace integration
