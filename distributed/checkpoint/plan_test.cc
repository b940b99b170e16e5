// Plans: what is written once, by whom, what covers what; names that differ; errors of one rank on all.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/testing.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::testing::errors_of_group;
using c10d::testing::Group;
using c10d::testing::run_group;
using tensor::DeviceMesh;
using tensor::distribute_tensor;
using testing::counted;
using testing::dict;
using testing::error_of;
using testing::expect_has;
using testing::files_of;
using testing::new_folder;
using testing::with_mesh;

TEST(Cover, IsExact) {
  using Chunks = std::vector<ChunkStorageMetadata>;
  EXPECT_EQ(uncovered({}, {{{}, {}}}), "");
  EXPECT_NE(uncovered({}, {}), "");
  EXPECT_NE(uncovered({}, {{{}, {}}, {{}, {}}}), "");
  EXPECT_EQ(uncovered({0, 3}, {}), "");
  EXPECT_EQ(uncovered({4}, {{{2}, {2}}, {{0}, {2}}}), "");
  EXPECT_EQ(uncovered({4}, {{{2}, {2}}, {{0}, {1}}}), "its chunks have 3 of 4 elements");
  EXPECT_EQ(uncovered({4}, {{{1}, {3}}, {{0}, {2}}}), "elements [1, 2) are there twice");
  EXPECT_EQ(uncovered({4}, {{{1}, {4}}, {{0}, {1}}}), "a chunk at 1 of 4 elements in dimension 0 of 4");
  EXPECT_EQ(uncovered({4}, {{{0, 0}, {4, 1}}}), "a chunk of 2 dimensions of a tensor of 1");
  // A hole and an overlap of as many elements.
  EXPECT_EQ(uncovered({2, 2}, {{{0, 0}, {2, 1}}, {{0, 0}, {1, 2}}}), "elements [0, 1) x [0, 1) are there twice");
  // A pinwheel, which no line cuts.
  const Chunks pinwheel{{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}, {{1, 1}, {1, 1}}};
  EXPECT_EQ(uncovered({3, 3}, pinwheel), "");
  Chunks shifted = pinwheel;
  shifted[4].offsets = {1, 0};
  EXPECT_EQ(uncovered({3, 3}, shifted), "elements [1, 2) x [0, 1) are there twice");
}

std::vector<SavePlan> plans_of(int ranks, int tensors) {
  std::vector<SavePlan> plans(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    SavePlan& plan = plans[static_cast<size_t>(r)];
    for (int t = 0; t < tensors; ++t) {
      const std::string name = c10::str("layers.", t, ".weight");
      const bool is_replica = t % 10 == 9;
      const Extents offsets{is_replica ? 0 : 4 * r, 0}, sizes{is_replica ? 128 : 4, 8};
      plan.items.push_back({.index = {name, offsets},
                            .type = WriteItemType::SHARD,
                            .tensor_data = TensorWriteData{{offsets, sizes}, {}, {is_replica ? 128 : 4 * ranks, 8}}});
      plan.planner_data.emplace_back(name, Path{{name, false}});
    }
  }
  return plans;
}

TEST(Plan, OfAThousandRanksTakesNoTime) {
  for (const int ranks : {64, 1024}) {
    auto plans = plans_of(ranks, 100);
    const auto begin = std::chrono::steady_clock::now();
    const auto [made, metadata] = DefaultSavePlanner().create_global_plan(std::move(plans));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("the plan of %d ranks with 100 tensors each: %.3f s\n", ranks, seconds);
    EXPECT_LT(seconds, 20);  // of a slow machine; pairs of chunks took minutes
    EXPECT_EQ(metadata.state_dict_metadata.size(), 100u);
    size_t replicas = 0;
    for (const SavePlan& plan : made) replicas += plan.items.size() - 90;
    EXPECT_EQ(replicas, 10u);
  }
  // One tensor with as many chunks as a large job has.
  std::vector<ChunkStorageMetadata> chunks;
  for (int64_t i = 0; i < 256; ++i) {
    for (int64_t j = 0; j < 256; ++j) chunks.push_back({{i * 3, j * 5}, {3, 5}});
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(uncovered({256 * 3, 256 * 5}, chunks), "");
  std::printf("65,536 chunks of one tensor: %.3f s\n",
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

TEST(Index, OfManyRanksIsReadAsItWasWritten) {
  constexpr int kRanks = 256;
  const std::string folder = new_folder();
  FileSystemWriter writer(folder);
  writer.set_up_storage_writer(/*is_coordinator=*/true);
  auto [plans, metadata] = DefaultSavePlanner().create_global_plan(plans_of(kRanks, 100));
  std::vector<std::vector<WriteResult>> results(plans.size());
  for (size_t r = 0; r < plans.size(); ++r) {
    const std::string name = c10::str("data-", r, "-1.safetensors");
    uint64_t end = 64;
    for (const WriteItem& item : plans[r].items) {
      const auto bytes = static_cast<uint64_t>(*item.tensor_storage_size());
      results[r].push_back({item.index, {name, end, bytes, {1234567}}, 0});
      end += bytes;
    }
    for (WriteResult& result : results[r]) result.file_bytes = end;
    std::ofstream(folder + "/" + name).close();
    std::filesystem::resize_file(folder + "/" + name, end);
  }
  const auto begin = std::chrono::steady_clock::now();
  writer.finish(metadata, results);
  const auto written = std::chrono::steady_clock::now();
  const Metadata read = FileSystemReader(folder).read_metadata();
  const auto done = std::chrono::steady_clock::now();
  std::printf("an index of %zu chunks (%ju bytes): written in %.3f s, read in %.3f s\n", metadata.storage_data.size(),
              static_cast<uintmax_t>(std::filesystem::file_size(folder + "/index.json")),
              std::chrono::duration<double>(written - begin).count(),
              std::chrono::duration<double>(done - written).count());
  EXPECT_TRUE(read.storage_data == metadata.storage_data);
  EXPECT_TRUE(read.state_dict_metadata == metadata.state_dict_metadata);
  EXPECT_TRUE(read.planner_data == metadata.planner_data);
}

TEST(Plan, WhatDoesNotFitTogetherIsNamed) {
  const auto error = [](const std::function<void(std::vector<SavePlan>&)>& change) {
    return error_of([&] {
      auto plans = plans_of(4, 2);
      change(plans);
      DefaultSavePlanner().create_global_plan(std::move(plans));
    });
  };
  EXPECT_EQ(error([](auto&) {}), "");
  expect_has(error([](auto& plans) { plans[2].items.erase(plans[2].items.begin()); }),
             "the ranks' parts of 'layers.0.weight' of sizes [16, 8] do not make it up: its chunks have 96 of 128");
  expect_has(error([](auto& plans) { plans[3].items[1].tensor_data->properties.dtype = c10::kHalf; }),
             "'layers.1.weight' is a tensor of Float and sizes [16, 8] on rank 0, and a tensor of Half");
  expect_has(error([](auto& plans) { plans[1].items[0].tensor_data.reset(); }), "a value that is no tensor on rank 1");
  expect_has(error([](auto& plans) { plans[1].items[0].tensor_data->chunk.offsets = {3, 0}; }), "are there twice");
  expect_has(error([](auto& plans) { plans[1].planner_data[0].second = {{"a", false}}; }), "stands elsewhere");
}

TEST(Save, ReplicasAreWrittenOnceAndByAll) {
  const std::string folder = new_folder();
  run_group(4, [&](int, const Group& group) {
    StateDict state;
    for (int i = 0; i < 16; ++i) state.set(c10::str("t", i), counted({100, i % 4 + 5}));
    save(state, {.checkpoint_id = folder, .process_group = group});
  });
  EXPECT_EQ(files_of(folder).size(), 5u);
  uint64_t least = ~uint64_t{0}, most = 0, sum = 0;
  for (int r = 0; r < 4; ++r) {
    const uint64_t bytes = std::filesystem::file_size(c10::str(folder, "/data-", r, "-1.safetensors"));
    least = std::min(least, bytes);
    most = std::max(most, bytes);
    sum += bytes;
  }
  EXPECT_LT(most, least * 5 / 4);
  EXPECT_LT(sum, uint64_t{16 * 100 * 8 * 4 + 4 * 1000});
}

TEST(Save, LowestRankWritesReplicasWhereThatIsAsked) {
  const std::string folder = new_folder();
  run_group(2, [&](int, const Group& group) {
    save({{"a", counted({4})}, {"b", counted({4})}},
         {.checkpoint_id = folder,
          .planner = std::make_shared<DefaultSavePlanner>(SavePlannerOptions{.dedup_save_to_lowest_rank = true}),
          .process_group = group});
  });
  EXPECT_EQ(files_of(folder), (std::vector<std::string>{"data-0-1.safetensors", "index.json"}));
}

TEST(Load, ReadsWhatThisRankHas) {
  const std::string folder = new_folder();
  const Tensor whole = counted({4096, 512});  // 8 MiB
  save({{"w", whole}}, {.checkpoint_id = folder, .no_dist = true});
  with_mesh({4}, [&](const DeviceMesh& mesh, const Group& group) {
    const auto reader = std::make_shared<FileSystemReader>(folder);
    const Tensor w = distribute_tensor(at::zeros({4096, 512}), mesh, {Shard(0)}, std::nullopt);
    StateDict state{{"w", w}};
    load(state, {.storage_reader = reader, .process_group = group});
    EXPECT_EQ(reader->bytes_read(), uint64_t{2} << 20);
    EXPECT_TRUE(at::equal(tensor::DTensor(w).to_local(), at::narrow(whole, 0, mesh.get_rank() * 1024, 1024)));
    // Of a row that is shared by all, the block it lies in.
    const Tensor corner = distribute_tensor(at::zeros({4096, 512}), mesh, {Shard(1)}, std::nullopt);
    StateDict columns{{"w", corner}};
    load(columns, {.storage_reader = reader, .process_group = group});
    EXPECT_EQ(reader->bytes_read(), uint64_t{8} << 20);
    EXPECT_TRUE(at::equal(tensor::DTensor(corner).to_local(), at::narrow(whole, 1, mesh.get_rank() * 128, 128)));
  });
}

TEST(Names, ThatDifferAreErrorsOnAllRanks) {
  const std::string folder = new_folder();
  for (const bool is_save : {true, false}) {
    const auto errors = errors_of_group(3, [&](int rank, const Group& group) {
      StateDict state{{"a", at::zeros({2})}};
      if (rank != 1) state.set("b", 1);
      if (rank == 2) state.set("c", 1);
      if (is_save) {
        save(state, {.checkpoint_id = folder, .process_group = group});
      } else {
        load(state, {.checkpoint_id = folder, .process_group = group});
      }
    });
    for (const std::string& error : errors) {
      expect_has(error, "the ranks' state dicts have different names: rank 0 lacks 'c'; rank 1 lacks 'b', 'c'");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Names, OfStagesMayDiffer) {
  const std::string folder = new_folder();
  run_group(2, [&](int rank, const Group& group) {
    save({{"model", dict({{c10::str("stage", rank), counted({3}, rank)}})}},
         {.checkpoint_id = folder, .process_group = group});
  });
  StateDict state{{"model", dict({{"stage0", at::zeros({3})}, {"stage1", at::zeros({3})}})}};
  load(state, {.checkpoint_id = folder});
  EXPECT_TRUE(at::equal(state.at("model").toGenericDict().at("stage1").toTensor(), counted({3}, 1)));
}

TEST(Errors, OfOneRankAreThrownOnAllAndLoseNothing) {
  struct Failing : DefaultSavePlanner {
    std::variant<Tensor, IValue> resolve_data(const WriteItem& item) override {
      TORCH_CHECK_VALUE(item.index.fqn != "model.part2", "no data today");
      return DefaultSavePlanner::resolve_data(item);
    }
  };
  const std::string folder = new_folder();
  const auto state_of = [](int rank, double first) {
    return StateDict{{"model", dict({{c10::str("part", rank), counted({3}, first)}})}};
  };
  run_group(3, [&](int rank, const Group& group) {
    save(state_of(rank, 1), {.checkpoint_id = folder, .process_group = group});
  });
  const std::vector<std::string> before = files_of(folder);
  const auto errors = errors_of_group(3, [&](int rank, const Group& group) {
    try {
      save(state_of(rank, 5),
           {.checkpoint_id = folder, .planner = std::make_shared<Failing>(), .process_group = group});
    } catch (const CheckpointException& e) {
      EXPECT_EQ(e.failures().size(), 1u);
      EXPECT_EQ(e.failures().count(2), 1u);
      EXPECT_EQ(e.step(), "write");
      throw;
    }
  });
  for (const std::string& error : errors) {
    expect_has(error, "save: write failed on 1 of 3 ranks. Rank 2: no data today");
  }
  EXPECT_EQ(files_of(folder), before);
  run_group(3, [&](int rank, const Group& group) {
    StateDict state = state_of(rank, 0);
    load(state, {.checkpoint_id = folder, .process_group = group});
    EXPECT_TRUE(at::equal(state.at("model").toGenericDict().begin()->value().toTensor(), counted({3}, 1)));
  });
  // A rank that lacks something, a file that is damaged, and a folder that cannot be.
  for (const std::string& error : errors_of_group(3, [&](int rank, const Group&group) {
         StateDict state = state_of(rank == 1 ? 7 : rank, 0);
         load(state, {.checkpoint_id = folder, .process_group = group});
       })) {
    expect_has(error, "load: plan failed on 1 of 3 ranks. Rank 1: the checkpoint has no 'model.part7'");
  }
  std::filesystem::resize_file(folder + "/data-2-1.safetensors", 20);
  for (const std::string& error : errors_of_group(3, [&](int rank, const Group&group) {
         StateDict state = state_of(rank, 0);
         load(state, {.checkpoint_id = folder, .process_group = group});
       })) {
    expect_has(error, "Rank 2: checkpoint: " + folder + "/data-2-1.safetensors has 20 bytes where");
  }
  for (const std::string& error : errors_of_group(2, [&](int rank, const Group&group) {
         save(state_of(rank, 0), {.checkpoint_id = folder + "/index.json/below", .process_group = group});
       })) {
    expect_has(error, "Rank 0: create of folder failed for " + folder + "/index.json/below: Not a directory");
  }
  for (const std::string& error : errors_of_group(2, [&](int rank, const Group&group) {
         StateDict state = state_of(rank, 0);
         load(state, {.checkpoint_id = folder + "/nothing", .process_group = group});
       })) {
    expect_has(error, "load: plan failed on 2 of 2 ranks. Rank 0: open of checkpoint failed for");
  }
}

TEST(Errors, APartialTensorIsRefused) {
  for (const std::string& error : errors_of_group(2, [&](int rank, const Group&group) {
         const DeviceMesh mesh(c10::kCPU, {2}, {0, 1}, rank, {group});
         save({{"p", tensor::DTensor::from_local(at::ones({2}), mesh, {Partial()})}},
              {.checkpoint_id = new_folder(), .process_group = group});
       })) {
    expect_has(error, "'p' is Partial(sum): redistribute it");
  }
}

struct CountingPlanner : DefaultSavePlanner {
  std::pair<std::vector<SavePlan>, Metadata> create_global_plan(std::vector<SavePlan> all_plans) override {
    ++made;
    return DefaultSavePlanner::create_global_plan(std::move(all_plans));
  }
  static inline std::atomic<int> made = 0;
};

TEST(Cache, PlansAreMadeOnce) {
  const std::string folder = new_folder();
  run_group(2, [&](int, const Group& group) {
    for (int i = 0; i < 5; ++i) {
      const int64_t size = i == 4 ? 3 : 4;
      save({{"a", counted({size}, i)}, {"step", i}},
           {.checkpoint_id = folder, .planner = std::make_shared<CountingPlanner>(), .process_group = group});
      StateDict state{{"a", at::zeros({size})}, {"step", -1}};
      load(state, {.checkpoint_id = folder, .process_group = group});
      EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({size}, i)));
      EXPECT_EQ(state.at("step").toInt(), i);
    }
  });
  EXPECT_EQ(CountingPlanner::made, 2);
}

TEST(Cache, ARankThatChangesItsMindMakesAllPlanAgain) {
  const std::string folder = new_folder();
  run_group(2, [&](int rank, const Group& group) {
    for (int i = 0; i < 4; ++i) {
      c10::Dict<IValue, IValue> model;
      model.insert("a", counted({4}, i));
      if (rank == 1 && i >= 2) model.insert("b", counted({2}, i));
      save({{"model", model}}, {.checkpoint_id = folder, .process_group = group});
      StateDict state{{"model", dict({{"a", at::zeros({4})}})}};
      if (i >= 2) state = StateDict{{"model", dict({{"a", at::zeros({4})}, {"b", at::zeros({2})}})}};
      load(state, {.checkpoint_id = folder, .process_group = group});
      const auto parts = state.at("model").toGenericDict();
      EXPECT_TRUE(at::equal(parts.at("a").toTensor(), counted({4}, i)));
      if (i >= 2) EXPECT_TRUE(at::equal(parts.at("b").toTensor(), counted({2}, i)));
    }
  });
}

// --- asynchronous saves ---

TEST(Async, TheStateMayChangeAtOnce) {
  const std::string folder = new_folder();
  run_group(2, [&](int rank, const Group& group) {
    const DeviceMesh mesh(c10::kCPU, {2}, {0, 1}, rank, {group});
    const Tensor whole = counted({6, 2});
    const Tensor w = distribute_tensor(whole, mesh, {Shard(0)}, std::nullopt), b = counted({3});
    const auto stager = std::make_shared<BlockingAsyncStager>(/*cache_staged_state_dict=*/true);
    c10::intrusive_ptr<c10::ivalue::Future> last;
    for (int i = 0; i < 3; ++i) {
      last = async_save({{"w", w}, {"b", b}, {"list", std::vector<IValue>{b, IValue(i)}}, {"step", i}},
                        {.checkpoint_id = c10::str(folder, i), .process_group = group, .stager = stager});
      tensor::detail::impl_of(w)->local().add_(100);
      b.add_(100);
    }
    last->waitAndThrow();
    for (int i = 0; i < 3; ++i) {
      StateDict state{{"w", at::zeros({6, 2})},
                      {"b", at::zeros({3})},
                      {"list", std::vector<IValue>{at::zeros({3}), IValue(-1)}},
                      {"step", -1}};
      load(state, {.checkpoint_id = c10::str(folder, i), .process_group = group});
      EXPECT_TRUE(at::equal(state.at("w").toTensor(), whole + 100 * i)) << i;
      EXPECT_TRUE(at::equal(state.at("b").toTensor(), counted({3}, 100 * i)));
      EXPECT_EQ(state.at("list").toListRef()[1].toInt(), i);
    }
  });
}

TEST(Async, AFutureMayLoadAndSaveInItsCallback) {
  struct Writer final : FileSystemWriter {
    using FileSystemWriter::FileSystemWriter;
    std::vector<WriteResult> write_data(const SavePlan& plan, SavePlanner& planner) override {
      may_write.get_future().wait();
      return FileSystemWriter::write_data(plan, planner);
    }
    std::promise<void> may_write;
  };
  const std::string folder = new_folder(), next = new_folder();
  const auto writer = std::make_shared<Writer>(folder);
  AsyncSaveOptions options;
  options.storage_writer = writer;
  StateDict state{{"a", at::zeros({2})}};
  std::promise<c10::intrusive_ptr<c10::ivalue::Future>> second;
  async_save({{"a", counted({2})}}, options)->addCallback([&](c10::ivalue::Future&) {
    try {
      load(state, {.checkpoint_id = folder});
      AsyncSaveOptions of_next;
      of_next.checkpoint_id = next;
      second.set_value(async_save(state, of_next));
    } catch (...) {
      second.set_exception(std::current_exception());
    }
  });
  writer->may_write.set_value();
  second.get_future().get()->waitAndThrow();
  EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({2})));
  StateDict again{{"a", at::zeros({2})}};
  load(again, {.checkpoint_id = next});
  EXPECT_TRUE(at::equal(again.at("a").toTensor(), counted({2})));
}

TEST(Async, ErrorsAreInTheFuture) {
  const std::string folder = new_folder();
  const auto failed = async_save({{"a", counted({2})}}, {.checkpoint_id = "/proc/no/such/folder"});
  const auto saved = async_save({{"a", counted({2})}}, {.checkpoint_id = folder});
  EXPECT_TRUE(failed->completed());
  EXPECT_TRUE(failed->hasError());
  expect_has(error_of([&] { failed->waitAndThrow(); }), "Rank 0: create of folder failed for /proc/no/such/folder");
  StateDict state{{"a", at::zeros({2})}};
  load(state, {.checkpoint_id = folder});  // waits
  EXPECT_TRUE(saved->completed());
  EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({2})));
}

}  // namespace
}  // namespace torch::distributed::checkpoint
