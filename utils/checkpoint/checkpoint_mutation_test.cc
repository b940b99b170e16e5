// Damaged checkpoints, made by a seeded generator. As they are, the checksum refuses them all; with the checksum made right
// again, the checks behind it are reached. Each is accepted or a typed error; nothing changes before an error; memory stays
// bounded by the file's size.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "aten/ops/reduce/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"
#include "c10/testing/files.h"
#include "nn/layers/linear.h"
#include "optim/adamw.h"
#include "utils/checkpoint/checkpoint.h"
#include "utils/serialize/archive.h"
#include "utils/serialize/counting_allocator.h"
#include "utils/serialize/crc32c.h"
#include "utils/serialize/file_io.h"

namespace torch::serialize {
namespace {

constexpr int kInputs = 10'000;
// Errors, the state dictionaries' names and the generator's copy: what does not grow with the file.
constexpr size_t kFixed = 64 * 1024;

void reseal(std::string& file) {
  const std::string key = "\"crc32c\":\"";
  const size_t at = file.find(key);
  if (at == std::string::npos || at + key.size() + 8 > file.size()) return;
  file.replace(at + key.size(), 8, "00000000");
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc32c(file)));
  file.replace(at + key.size(), 8, text);
}

std::string mutate(std::string file, std::mt19937& random) {
  const size_t header = std::min<size_t>(file.size(), 1200);  // most changes hit the header
  for (unsigned i = 0, n = 1 + random() % 3; i < n && file.size() > 16; ++i) {
    const size_t at = random() % 4 == 0 ? random() % file.size() : random() % std::min(header, file.size());
    switch (random() % 6) {
      case 0: file[at] = static_cast<char>(file[at] ^ 1 << random() % 8); break;
      case 1: file[at] = "0123456789\"{}[]:,.-abfix"[random() % 24]; break;
      case 2: file.erase(at, 1 + random() % 4); break;
      case 3: file.insert(at, 1, "0123456789\"{}"[random() % 13]); break;
      case 4: file.resize(at); break;
      case 5: std::swap(file[at], file[random() % file.size()]); break;
    }
  }
  return file;
}

TEST(CheckpointMutation, TenThousandInputs) {
  const std::string path = c10::testing::fresh_folder() + "/mutated";
  nn::Linear model(3, 2);
  optim::AdamW optimizer(model->parameters(), optim::AdamWOptions(0.01));
  at::sum(model->weight).backward();
  optimizer.step();
  Checkpoint checkpoint;
  checkpoint.model = model.ptr().get();
  checkpoint.optimizer = &optimizer;
  checkpoint.generator = at::detail::getDefaultCPUGenerator();
  checkpoint.step = 7;
  checkpoint.values = {{"a", "1"}, {"b", "two"}};
  save_checkpoint(checkpoint, path);
  const std::string good = read_file(path);
  const auto state = [&] {
    save_checkpoint(checkpoint, path + ".state");
    return read_file(path + ".state");
  };
  const std::string before = state();

  std::mt19937 random(5);
  int accepted = 0, past_the_checksum = 0;
  for (int i = 0; i < kInputs; ++i) {
    std::string file = mutate(good, random);
    const bool sealed = i % 4 != 0;
    if (sealed) reseal(file);
    c10::testing::write_file(path, file);
    bool changed = true;
    const size_t live = serialize::testing::reset_allocation_counts();
    try {
      load_checkpoint(checkpoint, path);
      ++accepted;
    } catch (const FormatError& e) {
      changed = false;
      past_the_checksum += std::string(e.what()).find("checksum") == std::string::npos;
    } catch (const c10::Error&) {
      changed = false;
      ++past_the_checksum;
    }
    const serialize::testing::AllocationCounts counts = serialize::testing::allocation_counts();
    ASSERT_LE(counts.peak - std::min(counts.peak, live), 4 * file.size() + kFixed) << "input " << i;
    if (changed) {
      ASSERT_TRUE(sealed || file == good) << "damage was not seen in input " << i;
      c10::testing::write_file(path, good);
      load_checkpoint(checkpoint, path);
    } else if (i % 50 == 0) {
      ASSERT_EQ(state(), before) << "input " << i;
    }
  }
  EXPECT_EQ(state(), before);
  EXPECT_GT(accepted, 100);
  EXPECT_GT(past_the_checksum, 1000);
}

}  // namespace
}  // namespace torch::serialize
