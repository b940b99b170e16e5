// Folders that PyTorch and Hugging Face's libraries wrote; damaged and hostile ones.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "distributed/checkpoint/filesystem.h"
#include "distributed/checkpoint/format_utils.h"
#include "distributed/checkpoint/hugging_face.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "distributed/checkpoint/testing.h"
#include "distributed/tensor/dtensor.h"
#include "utils/pickle/file.h"
#include "utils/serialize/crc32c.h"
#include "utils/serialize/file_io.h"
#include "utils/serialize/safetensors.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::testing::Group;
using nlohmann::json;
using serialize::read_file;
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

std::string testdata(const std::string& name) {
  return "distributed/checkpoint/testdata/" + name;
}

// What make_dcp.py saves, with other values.
StateDict of_dcp() {
  return {{"plain", at::zeros({2, 3})},
          {"half", at::zeros({2}, at::kBFloat16)},
          {"flags", at::zeros({3}, at::kBool)},
          {"scalar", at::scalar_tensor(0, at::kLong)},
          {"step", 0},
          {"text", ""},
          {"pair", IValue()},
          {"opt", dict({{"state", dict({{"w", dict({{"step", at::zeros({})}, {"exp_avg", at::zeros({4})}})}})},
                        {"param_groups", std::vector<IValue>{dict({{"lr", 0.0}, {"params", std::vector<IValue>{}}}),
                                                             dict({{"lr", 0.0}})}}})}};
}

void check_dcp(const StateDict& state) {
  EXPECT_TRUE(at::equal(state.at("plain").toTensor(), counted({2, 3})));
  EXPECT_EQ(state.at("half").toTensor()[1].item<float>(), -2);
  EXPECT_FALSE(state.at("flags").toTensor()[1].item<bool>());
  EXPECT_TRUE(state.at("flags").toTensor()[2].item<bool>());
  EXPECT_EQ(state.at("scalar").toTensor().item<int64_t>(), 7);
  EXPECT_EQ(state.at("step").toInt(), 3);
  EXPECT_EQ(state.at("text").toStringRef(), "x");
  EXPECT_EQ(state.at("pair").toTupleRef().elements()[1].toDouble(), 2.5);
  const auto opt = state.at("opt").toGenericDict();
  const auto w = opt.at("state").toGenericDict().at("w").toGenericDict();
  EXPECT_EQ(w.at("step").toTensor().item<float>(), 5);
  EXPECT_TRUE(at::equal(w.at("exp_avg").toTensor(), counted({4})));
  const auto groups = opt.at("param_groups").toListRef();
  EXPECT_EQ(groups[0].toGenericDict().at("lr").toDouble(), 0.1);
  EXPECT_EQ(groups[0].toGenericDict().at("params").toListRef()[0].toStringRef(), "w");
  EXPECT_EQ(groups[1].toGenericDict().at("lr").toDouble(), 0.2);
}

TEST(Dcp, AFolderOfOneRankIsRead) {
  StateDict state = of_dcp();
  load(state, {.checkpoint_id = testdata("dcp_1_rank")});
  check_dcp(state);
}

TEST(Dcp, AFolderOfTwoRanksIsReadByThreeThatShardOtherwise) {
  with_mesh({3}, [](const DeviceMesh& mesh, const Group& group) {
    StateDict state = of_dcp();
    const Tensor whole = counted({5, 3});
    state.set("rows", distribute_tensor(at::zeros({5, 3}), mesh, {Shard(1)}, std::nullopt));
    state.set("columns", distribute_tensor(at::zeros({5, 3}), mesh, {Shard(0)}, std::nullopt));
    state.set("copies", at::zeros({5, 3}));
    load(state, {.checkpoint_id = testdata("dcp_2_ranks"), .process_group = group});
    check_dcp(state);
    EXPECT_TRUE(at::equal(DTensor(state.at("rows").toTensor()).to_local(),
                          DTensor(distribute_tensor(whole, mesh, {Shard(1)}, std::nullopt)).to_local()));
    EXPECT_TRUE(at::equal(DTensor(state.at("columns").toTensor()).to_local(),
                          DTensor(distribute_tensor(whole, mesh, {Shard(0)}, std::nullopt)).to_local()));
    EXPECT_TRUE(at::equal(state.at("copies").toTensor(), whole));
  });
}

// A copy of a folder in which each byte of a file in turn is flipped, and which is cut at each length: an error, or the
// values as they were.
void damage_everywhere(const std::string& folder, const std::string& name, const std::function<void()>& load_and_check,
                       size_t step) {
  const std::string path = folder + "/" + name, before = read_file(path);
  const auto write = [&](const std::string& text) {
    ::unlink(path.c_str());  // a file that is cut and written again waits for the disk
    FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  };
  size_t errors = 0;
  for (size_t i = 0; i < before.size(); i += step) {
    std::string text = before;
    text[i] = static_cast<char>(text[i] ^ (1 << i % 8));
    write(text);
    errors += !error_of(load_and_check).empty();
    write(before.substr(0, i));
    EXPECT_NE(error_of(load_and_check), "") << name << " cut at " << i;
  }
  EXPECT_GT(errors, 0u) << name;
  write(before);
  EXPECT_EQ(error_of(load_and_check), "") << name;
}

std::string copy_of(const std::string& from) {
  const std::string folder = new_folder();
  std::filesystem::copy(from, folder, std::filesystem::copy_options::recursive);
  for (const std::string& name : files_of(folder)) ::chmod((folder + "/" + name).c_str(), 0644);
  return folder;
}

TEST(Damage, OfOurFolderIsSeenAtEveryByte) {
  const std::string folder = new_folder();
  save({{"a", counted({3, 5}, 1)}, {"b", counted({4}, 2, c10::kDouble)}, {"step", 5}}, {.checkpoint_id = folder});
  const auto load_and_check = [&] {
    StateDict state{{"a", at::zeros({3, 5})}, {"b", at::zeros({4}, at::kDouble)}, {"step", 0}};
    load(state, {.checkpoint_id = folder});
    EXPECT_TRUE(at::equal(state.at("a").toTensor(), counted({3, 5}, 1)));
    EXPECT_TRUE(at::equal(state.at("b").toTensor(), counted({4}, 2, c10::kDouble)));
    EXPECT_EQ(state.at("step").toInt(), 5);
  };
  damage_everywhere(folder, "index.json", load_and_check, 1);
  damage_everywhere(folder, "data-0-1.safetensors", load_and_check, 1);
}

TEST(Damage, OfPyTorchsFolderIsNoCrash) {
  const std::string folder = copy_of(testdata("dcp_1_rank"));
  const auto load_it = [&] {
    StateDict state = of_dcp();
    load(state, {.checkpoint_id = folder});
  };
  damage_everywhere(folder, ".metadata", load_it, 3);
  damage_everywhere(folder, "__0_0.distcp", load_it, 101);
}

TEST(Damage, FilesThatAreNotThereAreNamed) {
  const std::string folder = new_folder();
  StateDict state{{"a", at::zeros({3})}};
  expect_has(error_of([&] { load(state, {.checkpoint_id = folder}); }), "No such file or directory");
  save({{"a", counted({3})}}, {.checkpoint_id = folder});
  std::filesystem::rename(folder + "/index.json", folder + "/index");
  expect_has(error_of([&] { load(state, {.checkpoint_id = folder}); }), "has no index.json, which is written last");
  std::filesystem::rename(folder + "/index", folder + "/index.json");
  std::filesystem::remove(folder + "/data-0-1.safetensors");
  expect_has(error_of([&] { load(state, {.checkpoint_id = folder}); }), folder + "/data-0-1.safetensors");
  EXPECT_EQ(state.at("a").toTensor().sum().item<float>(), 0);
}

TEST(Damage, HostileIndexesAreRefused) {
  const std::string folder = new_folder();
  save({{"a", counted({4, 2})}, {"v", 1}}, {.checkpoint_id = folder});
  const std::string path = folder + "/index.json";
  const json good = json::parse(read_file(path));
  const auto write = [&](const json& index) {
    std::string text = index.dump();
    text.replace(text.find("\"crc32c\":\"") + 10, 8, "00000000");
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", serialize::crc32c(text));
    text.replace(text.find("\"crc32c\":\"") + 10, 8, digits);
    serialize::write_file(path, text);
  };
  const auto load_it = [&] {
    StateDict state{{"a", at::zeros({4, 2})}, {"v", 0}};
    load(state, {.checkpoint_id = folder});
  };
  write(good);
  EXPECT_EQ(error_of(load_it), "");
  struct Case {
    const char* error;
    std::function<void(json&)> change;
  };
  const auto chunk = [](json& index) -> json& { return index["tensors"]["a"]["chunks"][0]; };
  const Case cases[] = {
      {"no name of a file in the folder", [&](json& i) { chunk(i)["file"] = "../data-0-1.safetensors"; }},
      {"no name of a file in the folder", [&](json& i) { chunk(i)["file"] = "/etc/passwd"; }},
      {"no name of a file in the folder", [&](json& i) { chunk(i)["file"] = ".."; }},
      {"no name of a file in the folder", [&](json& i) { i["files"]["../x"] = 5; }},
      {"no size of other", [&](json& i) { chunk(i)["file"] = "other"; }},
      {"no number from 0 to 2^63 - 1", [&](json& i) { chunk(i)["begin"] = -1; }},
      {"no number from 0 to 2^63 - 1", [&](json& i) { chunk(i)["begin"] = 1.5; }},
      {"no number from 0 to 2^63 - 1", [&](json& i) { chunk(i)["begin"] = 18446744073709551615u; }},
      {"lies at bytes", [&](json& i) { chunk(i)["begin"] = 9223372036854775807; }},
      {"has 28 bytes, and takes 32", [&](json& i) { chunk(i)["bytes"] = 28; }},
      {"1 checksums of", [&](json& i) { chunk(i)["bytes"] = uint64_t{1} << 40; }},
      {"sizes [4611686018427387904, 4], which are none",
       [&](json& i) {
         i["tensors"]["a"]["size"] = {4611686018427387904, 4};
       }},
      {"do not make it up: its chunks have 8 of 4000000000000 elements",
       [&](json& i) {
         i["tensors"]["a"]["size"] = {2000000000000, 2};
       }},
      {"do not make it up: a chunk at 2 of 4 elements in dimension 0 of 4",
       [&](json& i) {
         chunk(i)["offsets"] = {2, 0};
       }},
      {"are there twice",
       [&](json& i) {
         i["tensors"]["a"]["size"] = {5, 2};
         i["tensors"]["a"]["chunks"].push_back(chunk(i));
         i["tensors"]["a"]["chunks"][1]["offsets"] = {1, 0};
       }},
      {"two chunks of 'a'", [&](json& i) { i["tensors"]["a"]["chunks"].push_back(chunk(i)); }},
      {"has 65 dimensions", [&](json& i) { i["tensors"]["a"]["size"] = std::vector<int>(65, 1); }},
      {"unknown dtype", [&](json& i) { i["tensors"]["a"]["dtype"] = "Floats"; }},
      {"is no list", [&](json& i) { i["tensors"]["a"]["chunks"] = 3; }},
      {"no \"tensors\"", [&](json& i) { i.erase("tensors"); }},
      {"version 2", [&](json& i) { i["version"] = 2; }},
      {"eight hexadecimal digits", [&](json& i) { chunk(i)["crc32c"] = {"0123456g"}; }},
      {"a path is no list", [&](json& i) { i["paths"]["a"] = json::array(); }},
      {"is there twice", [&](json& i) { i["values"]["a"] = i["values"]["v"]; }},
  };
  for (const Case& c : cases) {
    json index = good;
    c.change(index);
    write(index);
    const std::string error = error_of(load_it);
    expect_has(error, c.error);
    expect_has(error, "Rank 0: ");
  }
  std::string deep(100000, '[');
  json index = good;
  write(index);
  std::string text = read_file(path);
  text.replace(text.find("\"version\":1"), 11, "\"version\":" + deep);
  text.replace(text.find("\"crc32c\":\"") + 10, 8, "00000000");
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", serialize::crc32c(text));
  text.replace(text.find("\"crc32c\":\"") + 10, 8, digits);
  serialize::write_file(path, text);
  expect_has(error_of(load_it), "more than 2000 values within one another");
}

TEST(HuggingFace, OneFileAndSeveralAreRead) {
  const std::string one = new_folder(), several = new_folder();
  for (const std::string& folder : {one, several}) std::filesystem::create_directories(folder);
  const Tensor a = counted({6, 4}), b = counted({3}, 5, c10::kHalf), flags = counted({3}).to(c10::kBool);
  safetensors::save_file({{"a", a}, {"b", b}, {"flags", flags}}, one + "/model.safetensors");
  safetensors::save_file({{"a", a}}, several + "/model-00001-of-00002.safetensors");
  safetensors::save_file({{"b", b}, {"flags", flags}}, several + "/model-00002-of-00002.safetensors");
  const json index{{"metadata", {{"total_size", 105}}},
                   {"weight_map",
                    {{"a", "model-00001-of-00002.safetensors"},
                     {"b", "model-00002-of-00002.safetensors"},
                     {"flags", "model-00002-of-00002.safetensors"}}}};
  serialize::write_file(several + "/model.safetensors.index.json", index.dump());
  for (const std::string& folder : {one, several}) {
    with_mesh({3}, [&](const DeviceMesh& mesh, const Group& group) {
      StateDict state{{"a", distribute_tensor(at::zeros({6, 4}), mesh, {Shard(1)}, std::nullopt)},
                      {"b", at::zeros({3})},
                      {"flags", at::zeros({3}, at::kBool)}};
      load(state, {.checkpoint_id = folder, .process_group = group});
      EXPECT_TRUE(at::equal(DTensor(state.at("a").toTensor()).to_local(),
                            DTensor(distribute_tensor(a, mesh, {Shard(1)}, std::nullopt)).to_local()));
      EXPECT_TRUE(at::equal(state.at("b").toTensor(), b.to(c10::kFloat)));
      EXPECT_TRUE(at::equal(state.at("flags").toTensor(), flags));
    });
  }
  StateDict state{{"a", at::zeros({6, 4})}};
  json hostile = index;
  hostile["weight_map"]["a"] = "../model.safetensors";
  serialize::write_file(several + "/model.safetensors.index.json", hostile.dump());
  expect_has(error_of([&] { load(state, {.checkpoint_id = several}); }), "no name of a file in the folder");
  hostile["weight_map"]["a"] = "model-00002-of-00002.safetensors";
  serialize::write_file(several + "/model.safetensors.index.json", hostile.dump());
  expect_has(error_of([&] { load(state, {.checkpoint_id = several}); }), "has no tensor 'a'");
}

TEST(HuggingFace, ShardsAreSavedAsWholeTensors) {
  const std::string folder = new_folder();
  const Tensor whole = counted({5, 3});
  with_mesh({2}, [&](const DeviceMesh& mesh, const Group& group) {
    const Tensor own = distribute_tensor(whole, mesh, {Shard(0)}, std::nullopt);
    save({{"model", dict({{"w", own}, {"b", counted({4})}})}, {"step", 1}},
         {.storage_writer = std::make_shared<HuggingFaceStorageWriter>(
              folder, SafetensorsOptions{.prefix = "model.", .max_shard_bytes = 61}),
          .process_group = group});
  });
  EXPECT_EQ(files_of(folder),
            (std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                                      "model.safetensors.index.json"}));
  StateDict state{{"w", at::zeros({5, 3})}, {"b", at::zeros({4})}};
  load(state, {.checkpoint_id = folder});
  EXPECT_TRUE(at::equal(state.at("w").toTensor(), whole));
  EXPECT_TRUE(at::equal(state.at("b").toTensor(), counted({4})));
}

TEST(HuggingFace, ShardsThatPyTorchWroteAreRead) {
  const Tensor whole = counted({5, 3});
  const auto room = [&] {
    return StateDict{{"plain", at::zeros({2, 3})}, {"rows", at::zeros({5, 3})}, {"columns", at::zeros({5, 3})}};
  };
  StateDict state = room();
  load(state, {.checkpoint_id = testdata("hf_2_ranks")});
  EXPECT_TRUE(at::equal(state.at("plain").toTensor(), counted({2, 3})));
  EXPECT_TRUE(at::equal(state.at("rows").toTensor(), whole));
  EXPECT_TRUE(at::equal(state.at("columns").toTensor(), whole));
  const std::string folder = copy_of(testdata("hf_2_ranks"));
  std::filesystem::remove(folder + "/shard-00002-model-00001-of-00001.safetensors");
  state = room();
  // What is left of the columns and rows makes smaller tensors.
  expect_has(error_of([&] { load(state, {.checkpoint_id = folder}); }), "'rows' has sizes [3, 3] there");
}

TEST(Files, OfTorchSaveAndSafetensorsAreReadByAnyMesh) {
  const std::string folder = new_folder();
  std::filesystem::create_directories(folder);
  const Tensor w = counted({5, 3}), b = counted({4}, 2, c10::kBFloat16);
  torch::pickle::save(dict({{"model", dict({{"w", w}, {"b", b.slice(0, 0, 3)}})}, {"step", 7}}), folder + "/a.pt");
  safetensors::save_file({{"model.w", w}, {"model.b", b.slice(0, 0, 3)}}, folder + "/a.safetensors");
  for (const bool is_pickle : {true, false}) {
    with_mesh({2}, [&](const DeviceMesh& mesh, const Group& group) {
      const Tensor own = distribute_tensor(at::zeros({5, 3}), mesh, {Shard(0)}, std::nullopt), bias = at::zeros({3});
      StateDict state{{"model", dict({{"w", own}, {"b", bias}})}};
      if (is_pickle) state.set("step", 0);
      load(state, {.checkpoint_id = folder + (is_pickle ? "/a.pt" : "/a.safetensors"), .process_group = group});
      EXPECT_TRUE(
          at::equal(DTensor(own).to_local(), DTensor(distribute_tensor(w, mesh, {Shard(0)}, std::nullopt)).to_local()));
      EXPECT_TRUE(at::equal(bias, counted({3}, 2)));
      if (is_pickle) EXPECT_EQ(state.at("step").toInt(), 7);
    });
  }
  serialize::write_file(folder + "/a.pt", "no file of anything");
  StateDict state{{"step", 0}};
  EXPECT_NE(error_of([&] { load(state, {.checkpoint_id = folder + "/a.pt"}); }), "");
}

TEST(Convert, FoldersBecomeFilesAndComeBack) {
  const std::string root = new_folder();
  std::filesystem::create_directories(root);
  const std::string file = root + "/a.pt", back = root + "/back";
  for (const std::string& name : {"dcp_1_rank", "dcp_2_ranks"}) {
    dcp_to_torch_save(testdata(name), file);
    const IValue whole = torch::pickle::load(file);
    const auto groups = whole.toGenericDict().at("opt").toGenericDict().at("param_groups").toListRef();
    EXPECT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[1].toGenericDict().at("lr").toDouble(), 0.2);
    torch_save_to_dcp(file, back);
    StateDict state = of_dcp();
    load(state, {.checkpoint_id = back});
    check_dcp(state);
  }
  EXPECT_TRUE(at::equal(
      load_state_dict_from_keys({"opt.state", "rows"}, {.checkpoint_id = back}).toGenericDict().at("rows").toTensor(),
      counted({5, 3})));
  EXPECT_EQ(load_state_dict_from_keys({"opt.state"}, {.checkpoint_id = back}).toGenericDict().size(), 1u);
  // As safetensors files.
  const std::string one = root + "/one.safetensors", folder = root + "/hf", few = root + "/few";
  dcp_to_safetensors(back, one);
  EXPECT_TRUE(at::equal(safetensors::File(one).get("rows"), counted({5, 3})));
  EXPECT_TRUE(at::equal(safetensors::File(one).get("opt.state.w.exp_avg"), counted({4})));
  EXPECT_FALSE(safetensors::File(one).contains("step"));
  dcp_to_safetensors(back, folder, {.max_shard_bytes = 70});
  EXPECT_GT(files_of(folder).size(), 3u);
  StateDict state{{"rows", at::zeros({5, 3})}, {"plain", at::zeros({2, 3})}};
  load(state, {.checkpoint_id = folder});
  EXPECT_TRUE(at::equal(state.at("rows").toTensor(), counted({5, 3})));
  EXPECT_TRUE(at::equal(state.at("plain").toTensor(), counted({2, 3})));
  dcp_to_safetensors(back, few, {.prefix = "opt.state.w."});
  EXPECT_EQ(files_of(few), (std::vector<std::string>{"model.safetensors"}));
  EXPECT_EQ(safetensors::File(few + "/model.safetensors").keys().size(), 2u);
  safetensors_to_dcp(one, back);
  StateDict rows{{"rows", at::zeros({5, 3})}};
  load(rows, {.checkpoint_id = back});
  EXPECT_TRUE(at::equal(rows.at("rows").toTensor(), counted({5, 3})));
  expect_has(error_of([&] { dcp_to_safetensors(back, one, {.prefix = "nothing."}); }), "no tensor whose name begins");
  torch::pickle::save(IValue(3), file);
  expect_has(error_of([&] { torch_save_to_dcp(file, back); }), "holds a Int, expected a dict");
}

}  // namespace
}  // namespace torch::distributed::checkpoint
