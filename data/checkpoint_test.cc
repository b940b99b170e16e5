// A data loader in a checkpoint.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "c10/core/cpu_generator.h"
#include "c10/testing/files.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/base.h"
#include "utils/checkpoint/checkpoint.h"
#include "utils/serialize/archive.h"

namespace torch::data {
namespace {

struct Numbers : datasets::Dataset<Numbers, int64_t> {
  int64_t get(size_t i) override {
    return static_cast<int64_t>(i) +
           1000 * static_cast<int64_t>(random_generator().get<at::CPUGeneratorImpl>()->random() % 1000);
  }
  std::optional<size_t> size() const override { return 23; }
};

TEST(Checkpoint, HoldsTheLoadersPlace) {
  const std::string path = c10::testing::fresh_folder() + "/checkpoint.safetensors";
  const auto make = [](size_t workers) {
    return make_data_loader(
        Numbers(), samplers::RandomSampler(23),
        DataLoaderOptions(4).workers(workers).generator(at::make_generator<at::CPUGeneratorImpl>(1)));
  };
  at::manual_seed(4);
  auto loader = make(2);
  serialize::Checkpoint checkpoint;
  checkpoint.generator = at::detail::getDefaultCPUGenerator();
  checkpoint.set_data(*loader);
  std::vector<std::vector<int64_t>> rest, again;
  for (auto& batch : *loader) {
    if (checkpoint.step >= 2) rest.push_back(batch);
    if (++checkpoint.step == 2) save_checkpoint(checkpoint, path);
  }
  for (auto& batch : *loader) rest.push_back(batch);
  at::manual_seed(99);
  auto other = make(3);
  checkpoint.set_data(*other);
  load_checkpoint(checkpoint, path);
  EXPECT_EQ(checkpoint.step, 2);
  for (int pass = 0; pass < 2; ++pass)
    for (auto& batch : *other) again.push_back(batch);
  EXPECT_EQ(again, rest);
}

}  // namespace
}  // namespace torch::data
