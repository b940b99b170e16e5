// Saving on one mesh and loading on another; values of every kind; plans, names and other mistakes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/testing.h"
#include "distributed/tensor/dtensor.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::testing::Group;
using tensor::DeviceMesh;
using tensor::distribute_tensor;
using tensor::DTensor;
using testing::counted;
using testing::dict;
using testing::error_of;
using testing::expect_has;
using testing::files_of;
using testing::new_folder;
using testing::with_mesh;

// --- one rank ---

TEST(Checkpoint, ValuesOfEveryKindComeBackAsTheyWere) {
  const std::string folder = new_folder();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor half = counted({3, 5}, 1, c10::kHalf), truth = counted({4}).to(c10::kBool);
  const Tensor pairs = at::complex(counted({2}, 1, c10::kDouble), counted({2}, 5, c10::kDouble));
  const auto nested = [&](const Tensor& t, int64_t n) {
    return dict({{"deep", dict({{"t", t}, {int64_t{3}, n}, {"none", IValue()}})},
                 {"list", std::vector<IValue>{t.clone(), dict({{"lr", n * 0.5}})}},
                 {"tuple", c10::ivalue::Tuple::create({IValue(t.clone()), IValue(n)})},
                 {"empty", dict({})}});
  };
  const auto values = [&](bool is_saved) {
    return StateDict{
        {"half", is_saved ? half : at::zeros({3, 5}, at::kHalf)},
        {"bool", is_saved ? truth : at::zeros({4}, at::kBool)},
        {"complex", is_saved ? pairs : at::zeros({2}, at::kComplexDouble)},
        {"scalar", is_saved ? at::scalar_tensor(7) : at::scalar_tensor(0)},
        {"none of any", at::empty({0, 3})},
        {"transposed", is_saved ? counted({4, 6}).t() : at::zeros({4, 6}).t()},
        {"nested", is_saved ? nested(counted({2}, 3), 4) : nested(at::zeros({2}), 0)},
        {"step", is_saved ? 12 : 0},
        {"numbers", is_saved ? IValue(std::vector<double>{1.5, inf, -inf, 1e300, -0.0}) : IValue()},
        {"text", is_saved ? IValue("naïve \"quotes\"\n") : IValue("")},
        {"bytes", is_saved ? IValue(std::string("\xff\x00\x80", 3)) : IValue("")},
        {"flag", IValue(is_saved)},
        {"device", is_saved ? IValue(c10::Device(c10::kCPU)) : IValue()},
        {"z", is_saved ? IValue(c10::complex<double>(1, -inf)) : IValue()},
    };
  };
  const Metadata metadata = save(values(true), {.checkpoint_id = folder});
  EXPECT_EQ(files_of(folder), (std::vector<std::string>{"data-0-1.safetensors", "index.json"}));
  EXPECT_EQ(metadata.state_dict_metadata.count("nested.deep.t"), 1u);
  StateDict loaded = values(false);
  const Tensor in_place = loaded.at("half").toTensor();
  load(loaded, {.checkpoint_id = folder});
  EXPECT_TRUE(at::equal(in_place, half));
  for (const char* name : {"half", "bool", "complex", "scalar", "transposed", "none of any"}) {
    EXPECT_TRUE(at::equal(loaded.at(name).toTensor(), values(true).at(name).toTensor())) << name;
  }
  EXPECT_EQ(loaded.at("step").toInt(), 12);
  EXPECT_EQ(loaded.at("numbers").toDoubleVector(), (std::vector<double>{1.5, inf, -inf, 1e300, -0.0}));
  EXPECT_TRUE(std::signbit(loaded.at("numbers").toDoubleVector()[4]));
  EXPECT_EQ(loaded.at("text").toStringRef(), "naïve \"quotes\"\n");
  EXPECT_EQ(loaded.at("bytes").toStringRef(), std::string("\xff\x00\x80", 3));
  EXPECT_TRUE(loaded.at("flag").toBool());
  EXPECT_EQ(loaded.at("device").toDevice(), c10::Device(c10::kCPU));
  EXPECT_EQ(loaded.at("z").toComplexDouble().imag(), -inf);
  const auto parts = loaded.at("nested").toGenericDict();
  const auto deep = parts.at("deep").toGenericDict();
  EXPECT_TRUE(at::equal(deep.at("t").toTensor(), counted({2}, 3)));
  EXPECT_EQ(deep.at(int64_t{3}).toInt(), 4);
  EXPECT_TRUE(deep.at("none").isNone());
  EXPECT_EQ(parts.at("list").toListRef()[1].toGenericDict().at("lr").toDouble(), 2.0);
  EXPECT_TRUE(at::equal(parts.at("list").toListRef()[0].toTensor(), counted({2}, 3)));
  EXPECT_EQ(parts.at("tuple").toTupleRef().elements()[1].toInt(), 4);
  EXPECT_TRUE(parts.at("empty").toGenericDict().empty());
}

TEST(Checkpoint, DataFilesAreSafetensorsFiles) {
  const std::string folder = new_folder();
  save({{"w", counted({2, 3})}, {"step", 5}}, {.checkpoint_id = folder});
  const safetensors::File file(folder + "/data-0-1.safetensors");
  EXPECT_TRUE(at::equal(file.get("w@0,0"), counted({2, 3})));
  EXPECT_TRUE(file.contains("step@json"));
}

TEST(Checkpoint, DtypesAreConvertedAndNamesMayBeLeftOut) {
  const std::string folder = new_folder();
  save({{"a", counted({2, 3})}, {"b", 1}}, {.checkpoint_id = folder});
  StateDict state{{"a", at::zeros({2, 3}, at::kDouble)}};
  load(state, {.checkpoint_id = folder});
  EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({2, 3}, 0, c10::kDouble)));
}

TEST(Checkpoint, MistakesAreErrorsBeforeAnythingIsTouched) {
  const std::string folder = new_folder();
  save({{"a", counted({2, 3})}, {"b", 1}}, {.checkpoint_id = folder});
  expect_has(error_of([&] { save({{"a", 1}}, {}); }), "expected a checkpoint_id or a storage_writer");
  StateDict state{{"a", at::zeros({2, 3})}, {"c", at::zeros({1})}, {"d", 1}};
  expect_has(error_of([&] { load(state, {}); }), "expected a checkpoint_id or a storage_reader");
  expect_has(error_of([&] { load(state, {.checkpoint_id = folder}); }), "the checkpoint has no 'c', 'd'");
  EXPECT_EQ(state.at("a").toTensor().sum().item<float>(), 0);
  load(state, {.checkpoint_id = folder,
               .planner = std::make_shared<DefaultLoadPlanner>(LoadPlannerOptions{.allow_partial_load = true})});
  EXPECT_EQ(state.at("a").toTensor().sum().item<float>(), 15);
  StateDict other{{"a", at::zeros({3, 2})}, {"b", at::zeros({1})}};
  const std::string text = error_of([&] { load(other, {.checkpoint_id = folder}); });
  expect_has(text, "'a' has sizes [2, 3] there and [3, 2] here");
  expect_has(text, "'b' is no tensor there but one here");
  expect_has(error_of([&] {
               save({{"a.b", 1}, {"a", dict({{"b", 2}})}}, {.checkpoint_id = folder});
             }),
             "two values have the name 'a.b'");
  expect_has(error_of([&] { save({{"a", dict({{0.5, 2}})}}, {.checkpoint_id = folder}); }), "keys of dicts");
  EXPECT_THROW((StateDict{{"a", 1}, {"a", 2}}), c10::ValueError);
  expect_has(error_of([&] {
               save({{"a", 1}}, {.storage_writer = std::make_shared<FileSystemWriter>(
                                     folder, FileSystemWriterOptions{.overwrite = false})});
             }),
             "overwrite(false)");
  StateDict again{{"a", at::zeros({2, 3})}, {"b", 0}};
  load(again, {.checkpoint_id = folder});
  EXPECT_EQ(again.at("b").toInt(), 1);
}

struct Counter : Stateful {
  int64_t count = 0;
  Tensor sum = at::zeros({2});
  int loads = 0;
  IValue state_dict() override { return dict({{"count", count}, {"sum", sum}}); }
  void load_state_dict(const IValue& state) override {
    count = state.toGenericDict().at("count").toInt();
    sum.copy_(state.toGenericDict().at("sum").toTensor());
    ++loads;
  }
};

TEST(Checkpoint, StatefulObjectsGiveAndTakeTheirState) {
  const std::string folder = new_folder();
  const auto counter = std::make_shared<Counter>(), other = std::make_shared<Counter>();
  counter->count = 3;
  counter->sum = counted({2}, 1);
  save({{"counter", counter}, {"step", 2}}, {.checkpoint_id = folder});
  StateDict state{{"counter", other}, {"step", 0}};
  load(state, {.checkpoint_id = folder});
  EXPECT_EQ(other->count, 3);
  EXPECT_EQ(other->loads, 1);
  EXPECT_TRUE(at::equal(other->sum, counter->sum));
  EXPECT_EQ(state.at("step").toInt(), 2);
}

TEST(Checkpoint, SavingAgainReplacesTheFilesOfBefore) {
  const std::string folder = new_folder();
  for (int i = 1; i <= 3; ++i) {
    save({{"a", counted({4}, i)}}, {.storage_writer = std::make_shared<FileSystemWriter>(
                                        folder, FileSystemWriterOptions{.single_file_per_rank = i != 2})});
    StateDict state{{"a", at::zeros({4})}};
    load(state, {.checkpoint_id = folder});
    EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({4}, i)));
    EXPECT_EQ(files_of(folder), (std::vector<std::string>{c10::str("data-0-", i, ".safetensors"), "index.json"}));
  }
}

TEST(Checkpoint, SeveralThreadsWriteSeveralFiles) {
  const std::string folder = new_folder();
  StateDict state;
  for (int i = 0; i < 10; ++i) state.set(c10::str("t", i), counted({20, i + 1}, i));
  save(state,
       {.storage_writer = std::make_shared<FileSystemWriter>(folder, FileSystemWriterOptions{.thread_count = 3})});
  EXPECT_EQ(files_of(folder).size(), 4u);
  StateDict loaded;
  for (int i = 0; i < 10; ++i) loaded.set(c10::str("t", i), at::zeros({20, i + 1}));
  load(loaded, {.checkpoint_id = folder});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(at::equal(loaded.at(c10::str("t", i)).toTensor(), counted({20, i + 1}, i))) << i;
  }
}

// --- meshes ---

struct Layout {
  std::vector<int64_t> mesh;
  std::vector<Placement> placements;
};

std::vector<Layout> layouts() {
  using tensor::StridedShard;
  return {{{1}, {Replicate()}},
          {{2}, {Shard(0)}},
          {{3}, {Shard(1)}},
          {{4}, {Shard(0)}},
          {{2}, {Replicate()}},
          {{2, 2}, {Shard(0), Shard(1)}},
          {{2, 2}, {Shard(0), Shard(0)}},
          {{2, 2}, {Replicate(), Shard(1)}},
          {{2, 2}, {StridedShard(0, 2), Shard(0)}},
          {{2, 3}, {StridedShard(1, 3), Shard(1)}}};
}

TEST(Mesh, EveryLayoutIsSavedAndLoadedAsEveryOther) {
  const Tensor whole = counted({7, 5}), flat = counted({3}, 100, c10::kLong);
  const std::string root = new_folder();
  const std::vector<Layout> all = layouts();
  for (size_t i = 0; i < all.size(); ++i) {
    with_mesh(all[i].mesh, [&](const DeviceMesh& mesh, const Group& group) {
      save({{"m", dict({{"w", distribute_tensor(whole, mesh, all[i].placements, std::nullopt)}, {"b", flat}})},
            {"step", static_cast<int64_t>(i)}},
           {.checkpoint_id = c10::str(root, i), .process_group = group});
    });
  }
  for (size_t j = 0; j < all.size(); ++j) {
    with_mesh(all[j].mesh, [&](const DeviceMesh& mesh, const Group& group) {
      for (size_t i = 0; i < all.size(); ++i) {
        const Tensor w = distribute_tensor(at::full({7, 5}, -1.0), mesh, all[j].placements, std::nullopt);
        const Tensor b = at::zeros({3}, at::kLong);
        StateDict state{{"m", dict({{"w", w}, {"b", b}})}, {"step", -1}};
        load(state, {.checkpoint_id = c10::str(root, i), .process_group = group});
        const Tensor expected = distribute_tensor(whole, mesh, all[j].placements, std::nullopt);
        EXPECT_TRUE(at::equal(DTensor(w).to_local(), DTensor(expected).to_local())) << i << " as " << j;
        EXPECT_TRUE(at::equal(b, flat));
        EXPECT_EQ(state.at("step").toInt(), static_cast<int64_t>(i));
      }
    });
  }
  // And one process without a group.
  for (size_t i = 0; i < all.size(); ++i) {
    StateDict state{{"m", dict({{"w", at::zeros({7, 5})}, {"b", at::zeros({3}, at::kLong)}})}};
    load(state, {.checkpoint_id = c10::str(root, i), .no_dist = true});
    EXPECT_TRUE(at::equal(state.at("m").toGenericDict().at("w").toTensor(), whole)) << i;
  }
}

}  // namespace
}  // namespace torch::distributed::checkpoint
