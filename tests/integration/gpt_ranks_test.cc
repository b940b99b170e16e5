// examples/gpt by several processes, as a launcher starts them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "aten/aten.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "tests/integration/process.h"

namespace integration {
namespace {

using c10::testing::fresh_folder;
using c10::testing::write_file;
using ::testing::HasSubstr;
namespace dcp = torch::distributed::checkpoint;

// One that nobody listens at now.
std::string free_port() {
  const int s = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  TORCH_CHECK(::bind(s, reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
  TORCH_CHECK(::getsockname(s, reinterpret_cast<sockaddr*>(&address), &size) == 0, "no port");
  ::close(s);
  return std::to_string(ntohs(address.sin_port));
}

std::string validation_of(const std::string& text) {
  const size_t at = text.rfind("validation loss ");
  return at == std::string::npos ? "none in: " + text : text.substr(at, std::string("validation loss 1.234").size());
}

class GptRanks : public ::testing::Test {
 protected:
  GptRanks() : folder_(fresh_folder()) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += "the cat " + std::to_string(i * 7 % 10) + " sat on the mat\n";
    write_file(folder_ + "/text", text);
  }

  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> out = {data_file("examples/gpt/gpt"),
                                    "--text=text",
                                    "--layers=1",
                                    "--heads=2",
                                    "--width=16",
                                    "--context=8",
                                    "--batch=4",
                                    "--warmup=5",
                                    "--length=20",
                                    "--threads=1",
                                    "--out=" + out_};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  // Of each rank; `last` are options of how the last one is run.
  std::vector<Outcome> run_ranks(int size, const std::vector<std::string>& more, RunOptions last = {}) const {
    const std::string port = free_port();
    std::vector<Outcome> outcomes(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      std::vector<std::string> all = {"/usr/bin/env", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
                                      "RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size)};
      for (const std::string& word : command(more)) all.push_back(word);
      RunOptions options;
      if (rank + 1 == size) options = last;
      options.folder = folder_;
      threads.emplace_back(
          [&outcomes, rank, all, options] { outcomes[static_cast<size_t>(rank)] = run(all, options); });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }

  // What ranks have saved after 30 steps is gone on with by one process, and then by ranks again, as one process goes
  // on with what it has saved itself in `as`.
  void expect_to_go_on_as(const std::string& as, const std::vector<std::string>& more, int size,
                          const std::vector<std::string>& of_ranks) {
    const std::string mine = out_;
    for (const bool by_ranks : {false, true}) {
      std::vector<std::string> options = {by_ranks ? "--steps=50" : "--steps=40", "--resume"};
      options.insert(options.end(), more.begin(), more.end());
      out_ = as;
      const Outcome one = run(command(options), {folder_});
      ASSERT_EQ(one.exit_code, 0) << one.err;
      out_ = mine;
      std::vector<std::string> parallel = options;
      parallel.insert(parallel.end(), of_ranks.begin(), of_ranks.end());
      const Outcome other = by_ranks ? run_ranks(size, parallel)[0] : run(command(options), {folder_});
      ASSERT_EQ(other.exit_code, 0) << other.err;
      EXPECT_THAT(other.out, HasSubstr(by_ranks ? "resumed at step 40" : "resumed at step 30"));
      EXPECT_EQ(validation_of(other.out), validation_of(one.out));
    }
  }

  std::string folder_, out_ = "run";
};

TEST_F(GptRanks, TwoTrainAsOne) {
  out_ = "one";
  const Outcome one = run(command({"--steps=40"}), {folder_});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  out_ = "two";
  std::vector<Outcome> ranks = run_ranks(2, {"--steps=20", "--ranks=2", "--parallel=ddp"});
  ranks = run_ranks(2, {"--steps=40", "--resume"});
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(ranks[0].out, HasSubstr("resumed at step 20"));
  EXPECT_EQ(ranks[1].out, "");
  // The learning rate of the first half was another one.
  out_ = "whole";
  ranks = run_ranks(2, {"--steps=40"});
  EXPECT_EQ(validation_of(ranks[0].out), validation_of(one.out));
}

TEST_F(GptRanks, TwoWithAPartOfTheModelEachTrainAsOne) {
  out_ = "one";
  const Outcome one = run(command({"--steps=40"}), {folder_});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  out_ = "whole";
  std::vector<Outcome> ranks = run_ranks(2, {"--steps=40", "--parallel=fsdp", "--checkpoint_every=15"});
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(validation_of(ranks[0].out), validation_of(one.out));
  // What was saved is the whole model: one process goes on with it, and so do ranks with the whole model each.
  ranks = run_ranks(2, {"--steps=45", "--resume", "--parallel=fsdp"});
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(ranks[0].out, HasSubstr("resumed at step 40"));
  const Outcome alone = run(command({"--steps=50", "--resume"}), {folder_});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("resumed at step 45"));
}

TEST_F(GptRanks, PartsOfLayersTrainAsOne) {
  const std::vector<std::string> options = {"--steps=30", "--dropout=0.1"};
  out_ = "one";
  const Outcome one = run(command(options), {folder_});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  out_ = "tp";
  std::vector<std::string> parallel = options;
  parallel.push_back("--parallel=tp");
  std::vector<Outcome> ranks = run_ranks(2, parallel);
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(validation_of(ranks[0].out), validation_of(one.out));
  // What was saved is whole.
  parallel[0] = "--steps=40";
  parallel.push_back("--resume");
  ranks = run_ranks(2, parallel);
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(ranks[0].out, HasSubstr("resumed at step 30"));
  out_ = "four";
  for (const Outcome& o : run_ranks(4, {"--parallel=tp"})) {
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_THAT(o.err, HasSubstr("heads=2 is no multiple of the 4 ranks"));
  }
}

TEST_F(GptRanks, APipelineTrainsAsOne) {
  out_ = "one";
  const Outcome one = run(command({"--steps=30", "--layers=3"}), {folder_});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  out_ = "pipeline";
  const std::vector<Outcome> ranks = run_ranks(2, {"--steps=30", "--layers=3", "--parallel=pp"});
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(validation_of(ranks[0].out), validation_of(one.out));
  expect_to_go_on_as("one", {"--layers=3"}, 2, {"--parallel=pp"});
  out_ = "other";
  for (const std::string& option : {std::string("--dropout=0.1"), std::string("--dtype=bf16")}) {
    for (const Outcome& o : run_ranks(2, {"--parallel=pp", option})) {
      EXPECT_EQ(o.exit_code, 1);
      EXPECT_THAT(o.err, HasSubstr("is not for --parallel=pp"));
    }
  }
}

TEST_F(GptRanks, TwoByTwoTrainAsOne) {
  out_ = "one";
  const Outcome one = run(command({"--steps=30"}), {folder_});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  out_ = "2d";
  const std::vector<Outcome> ranks = run_ranks(4, {"--steps=30", "--parallel=2d"});
  for (const Outcome& o : ranks) EXPECT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(validation_of(ranks[0].out), validation_of(one.out));
  expect_to_go_on_as("one", {}, 4, {"--parallel=2d"});
  out_ = "other";
  const std::pair<const char*, const char*> cases[] = {
      {"--tensor_parallel=3", "--tensor_parallel=3 does not divide the 4 ranks"},
      {"--tensor_parallel=4", "heads=2 is no multiple of --tensor_parallel=4"}};
  for (const auto& [option, text] : cases) {
    for (const Outcome& o : run_ranks(4, {"--parallel=2d", option})) {
      EXPECT_EQ(o.exit_code, 1);
      EXPECT_THAT(o.err, HasSubstr(text));
    }
  }
}

// Everything that a folder of ranks' checkpoints has.
c10::IValue contents_of(const std::string& folder) {
  dcp::StateDict state;
  for (const auto& [name, item] : dcp::FileSystemReader(folder).read_metadata().state_dict_metadata) {
    const auto* const tensor = std::get_if<dcp::TensorStorageMetadata>(&item);
    state.set(name, tensor == nullptr ? c10::IValue() : at::empty(tensor->size, tensor->properties.dtype));
  }
  dcp::load(state, {.checkpoint_id = folder, .no_dist = true});
  c10::Dict<std::string, c10::IValue> all;
  for (const auto& item : state.items()) all.insert(item.first, item.second.value);
  return all;
}

void expect_same_contents(const c10::IValue& a, const c10::IValue& b, const std::string& way) {
  const auto mine = c10::impl::toTypedDict<std::string, c10::IValue>(a.toGenericDict()),
             other = c10::impl::toTypedDict<std::string, c10::IValue>(b.toGenericDict());
  ASSERT_EQ(mine.size(), other.size()) << way;
  for (const auto& item : mine) {
    ASSERT_TRUE(other.contains(item.key())) << way << " has no " << item.key();
    const c10::IValue there = other.at(item.key());
    const bool same = item.value().isTensor() ? at::equal(item.value().toTensor(), there.toTensor())
                                              : item.value() == there;
    EXPECT_TRUE(same) << way << ": " << item.key();
  }
}

// What some ranks have saved, others have the same bits of, however they train, and save again.
TEST_F(GptRanks, SharedCheckpointsGoOnWithAnyRanks) {
  const std::vector<std::string> same = {"--layers=2", "--dropout=0"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), same.begin(), same.end());
    return more;
  };
  for (const Outcome& o : run_ranks(2, with({"--steps=20", "--parallel=fsdp", "--checkpoint=shared"}))) {
    ASSERT_EQ(o.exit_code, 0) << o.err;
  }
  const std::string path = folder_ + "/run/checkpoint";
  const c10::IValue saved = contents_of(path);
  EXPECT_GT(saved.toGenericDict().size(), 3u * 20);
  const std::pair<int, const char*> ways[] = {{4, "--parallel=2d"}, {2, "--parallel=pp"},   {2, "--parallel=tp"},
                                              {4, "--parallel=ddp"}, {1, "--parallel=fsdp"}, {4, "--parallel=fsdp"}};
  for (const auto& [size, parallel] : ways) {
    const std::vector<Outcome> ranks = run_ranks(size, with({"--resume", parallel}));
    for (const Outcome& o : ranks) ASSERT_EQ(o.exit_code, 0) << parallel << " " << o.err;
    EXPECT_THAT(ranks[0].out, HasSubstr("resumed at step 20"));
    expect_same_contents(saved, contents_of(path), parallel + std::string(" by ") + std::to_string(size));
  }
  // They go on as ranks do whose rank 0 writes a file.
  out_ = "file";
  run_ranks(2, with({"--steps=20", "--parallel=fsdp"}));
  std::string validation[2];
  for (const bool shared : {false, true}) {
    out_ = shared ? "run" : "file";
    const std::vector<Outcome> ranks = run_ranks(2, with({"--steps=40", "--resume", "--parallel=fsdp"}));
    for (const Outcome& o : ranks) ASSERT_EQ(o.exit_code, 0) << o.err;
    validation[shared] = validation_of(ranks[0].out);
  }
  EXPECT_EQ(validation[1], validation[0]);
  // One process writes text with it.
  const Outcome text = run(command(with({"--sample_only"})), {folder_});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("----"));
  EXPECT_THAT(run(command(with({"--sample_only", "--checkpoint=file"})), {folder_}).err,
              HasSubstr("--checkpoint=file, but there is "));
  EXPECT_THAT(run(command({"--checkpoint=shared", "--out=other"}), {folder_}).err,
              HasSubstr("is for processes that a launcher starts"));
  EXPECT_THAT(run(command({"--checkpoint=both"}), {folder_}).err,
              HasSubstr("--checkpoint=both is neither file nor shared"));
}

TEST_F(GptRanks, AKilledRankEndsTheOther) {
  const std::vector<Outcome> ranks = run_ranks(2, {"--steps=10000000"}, {.signal = SIGKILL, .after_ms = 1500});
  EXPECT_EQ(ranks[1].signal, SIGKILL);
  EXPECT_EQ(ranks[0].exit_code, 1);
  EXPECT_THAT(ranks[0].err, HasSubstr("rank 1"));
}

TEST_F(GptRanks, OneSignalStopsAll) {
  const std::vector<Outcome> ranks = run_ranks(2, {"--steps=10000000"}, {.signal = SIGINT, .after_ms = 1500});
  EXPECT_EQ(ranks[0].exit_code, 0) << ranks[0].err;
  EXPECT_EQ(ranks[1].exit_code, 0) << ranks[1].err;
  EXPECT_THAT(ranks[0].out, HasSubstr("and saved; --out="));
}

TEST_F(GptRanks, OptionsThatMakeNoSense) {
  const Outcome alone = run(command({"--ranks=2"}), {folder_});
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(alone.err, "gpt: --ranks=2, but 1 process was started: a launcher such as torchrun starts them\n");
  EXPECT_THAT(run(command({"--parallel=other"}), {folder_}).err,
              HasSubstr("--parallel=other is not ddp or fsdp or tp or pp or 2d"));
  for (const Outcome& o : run_ranks(3, {})) {
    EXPECT_EQ(o.exit_code, 1);
    EXPECT_THAT(o.err, HasSubstr("batch=4 is no multiple of the 3 ranks"));
  }
}

}  // namespace
}  // namespace integration
