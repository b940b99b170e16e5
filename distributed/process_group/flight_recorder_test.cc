// What is recorded of operations, when it is written, who is found behind, and what is said of those that are late.
#include "distributed/process_group/flight_recorder.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "aten/ops/creation/ops.h"
#include "c10/testing/files.h"
#include "distributed/process_group/collectives.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using testing::errors_of_ranks;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

constexpr milliseconds kLong(20000);

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

void init_with(const c10::intrusive_ptr<Store>& store, int rank, int size, milliseconds timeout = kLong) {
  init_process_group("gloo", {.timeout = kLong, .world_size = size, .rank = rank, .store = store});
  get_default_group()->setTimeout(timeout);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}
// Once it is whole.
std::string read_soon(const std::string& path) {
  for (const auto until = Clock::now() + milliseconds(3000); Clock::now() < until;) {
    const std::string text = read(path);
    if (!text.empty() && text.back() == '\n') return text;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return "";
}

// --- the recorder ---

TEST(FlightRecorder, Entries) {
  FlightRecorder recorder(3);
  const uint32_t group = recorder.add_group("g\"1", "some\nranks", "gloo", 1, {4, 6}, 2);
  const at::Tensor a = at::ones({2, 3}), b = at::ones({4}, at::kLong);
  std::vector<uint64_t> ids;
  for (uint64_t n = 0; n < 4; ++n)
    ids.push_back(recorder.record(group, OpType::ALLREDUCE, n, {a, b}, {b}, milliseconds(700)));
  recorder.start(ids[0]);  // forgotten
  recorder.start(ids[1]);
  recorder.end(ids[1]);
  recorder.start(ids[2]);
  recorder.end(ids[2], /*has_failed=*/true);
  const Json all = Json::parse(recorder.dump());
  EXPECT_EQ(all["rank"], 6);
  EXPECT_EQ(all["pg_config"]["0"]["name"], "g\"1");
  EXPECT_EQ(all["pg_config"]["0"]["desc"], "some\nranks");
  EXPECT_EQ(all["pg_config"]["0"]["ranks"], "[4, 6]");
  EXPECT_EQ(all["pg_status"]["0"]["last_enqueued_collective"], 3);
  EXPECT_EQ(all["pg_status"]["0"]["last_started_collective"], 2);
  EXPECT_EQ(all["pg_status"]["0"]["last_completed_collective"], 1);
  const Json& entries = all["entries"];
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0]["collective_seq_id"], 1);
  EXPECT_EQ(entries[0]["state"], "completed");
  EXPECT_EQ(entries[0]["retired"], true);
  EXPECT_GE(entries[0]["duration_ms"], 0);
  EXPECT_EQ(entries[1]["state"], "started");
  EXPECT_EQ(entries[1]["retired"], true);
  EXPECT_TRUE(entries[1]["time_discovered_completed_ns"].is_null());
  EXPECT_EQ(entries[2]["state"], "scheduled");
  EXPECT_EQ(entries[2]["profiling_name"], "gloo:all_reduce");
  EXPECT_EQ(entries[2]["input_sizes"], Json::parse("[[2, 3], [4]]"));
  EXPECT_EQ(entries[2]["input_dtypes"], Json::parse(R"(["Float", "Long"])"));
  EXPECT_EQ(entries[2]["output_sizes"], Json::parse("[[4]]"));
  EXPECT_EQ(entries[2]["timeout_ms"], 700);
  EXPECT_EQ(entries[2]["is_p2p"], false);
  EXPECT_EQ(entries[2]["process_group"], Json::parse(R"(["g\"1", "some\nranks"])"));
  EXPECT_GT(entries[2]["time_created_ns"], int64_t{1600000000} * 1000000000);
  EXPECT_EQ(Json::parse(recorder.dump(true, /*only_active=*/true))["entries"].size(), 2u);
  EXPECT_FALSE(Json::parse(recorder.dump(false)).contains("entries"));
  recorder.reset();
  EXPECT_EQ(recorder.size(), 0u);
  recorder.end(ids[3]);
  const uint64_t message = recorder.record(group, OpType::SEND, 8, {a}, {}, milliseconds(1), 0);
  recorder.start(message);
  const Json entry = Json::parse(recorder.dump())["entries"][0];
  EXPECT_EQ(entry["profiling_name"], "gloo:send 6->4");
  EXPECT_EQ(entry["p2p_seq_id"], 8);
  EXPECT_EQ(entry["is_p2p"], true);
}

TEST(FlightRecorder, NoneAndMany) {
  FlightRecorder none(0);
  const uint32_t group = none.add_group("0", "", "gloo", 0, {}, 1);
  none.start(none.record(group, OpType::BARRIER, 0, {}, {}, milliseconds(1)));
  EXPECT_TRUE(Json::parse(none.dump())["entries"].empty());
  // More tensors and sizes than an entry has room for.
  FlightRecorder recorder(2);
  recorder.add_group("0", "", "gloo", 0, {}, 1);
  const at::Tensor t = at::ones({1, 2, 1, 2, 1, 2, 1, 2});
  recorder.record(0, OpType::ALLGATHER, 0, {t}, {t, t, t, t, t}, milliseconds(1));
  const Json entry = Json::parse(recorder.dump())["entries"][0];
  EXPECT_EQ(entry["input_sizes"][0].size(), 6u);
  EXPECT_EQ(entry["output_sizes"].size(), 3u);
}

TEST(FlightRecorder, Cost) {
  FlightRecorder recorder(2000);
  recorder.add_group("0", "", "gloo", 0, {}, 1);
  const std::vector<at::Tensor> t{at::ones({4, 5})};
  double best = 1e9;
  for (int turn = 0; turn < 20; ++turn) {
    const auto begin = Clock::now();
    for (uint64_t n = 0; n < 1000; ++n) recorder.record(0, OpType::ALLREDUCE, n, t, t, milliseconds(1));
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / 1000);
  }
  RecordProperty("ns", std::to_string(best));
  std::printf("%.0f ns an entry\n", best);
  EXPECT_LT(best, 1000);  // in a test's build, on a machine with other work
}

TEST(FlightRecorder, CapacityOfEnvironment) {
  const RankScope scope;
  set_rank_environment("TORCH_NCCL_TRACE_BUFFER_SIZE", "7");
  EXPECT_EQ(FlightRecorder::get()->capacity(), 7u);
  const RankScope other;
  EXPECT_EQ(FlightRecorder::get()->capacity(), 2000u);
}

// --- of real operations ---

TEST(FlightRecorder, OfGroups) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(2, [&](int rank) {
    init_with(store, rank, 2);
    torch::distributed::all_reduce(at::ones({5}));
    const at::Tensor t = at::ones({1});
    rank == 0 ? torch::distributed::send(t, 1) : (void)torch::distributed::recv(t, 0);
    const auto pair = new_group({{0, 1}}, {.group_desc = "pair"});
    torch::distributed::barrier(pair);
    const Json all = Json::parse(FlightRecorder::get()->dump());
    EXPECT_EQ(all["rank"], rank);
    EXPECT_EQ(all["pg_config"]["0"]["desc"], "default_pg");
    EXPECT_EQ(all["pg_config"]["1"]["desc"], "pair");
    const Json& entries = all["entries"];
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[0]["profiling_name"], "gloo:all_reduce");
    EXPECT_EQ(entries[0]["output_sizes"], Json::parse("[[5]]"));
    EXPECT_EQ(entries[0]["state"], "completed");
    EXPECT_EQ(entries[1]["profiling_name"], rank == 0 ? "gloo:send 0->1" : "gloo:recv 1<-0");
    EXPECT_EQ(entries[2]["process_group"][1], "pair");
    destroy_process_group();
  });
}

// A rank is late: the others' errors have files written, which say so.
TEST(FlightRecorder, FilesOfAnError) {
  const std::string prefix = c10::testing::fresh_folder() + "/trace_";
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = errors_of_ranks(3, [&](int rank) {
    set_rank_environment("TORCH_FR_DUMP_TEMP_FILE", prefix);
    init_with(store, rank, 3, milliseconds(400));
    torch::distributed::all_reduce(at::ones({2}));
    if (rank == 1) {
      // Its file is written although it calls nothing.
      EXPECT_NE(read_soon(prefix + "1"), "");
    } else {
      torch::distributed::all_reduce(at::ones({3}));
    }
  });
  for (const size_t rank : {0u, 2u}) expect_contains(errors[rank], "no word from rank 1");
  std::vector<std::string> dumps;
  for (int rank = 0; rank < 3; ++rank) dumps.push_back(read(prefix + std::to_string(rank)));
  expect_contains(analyze_flights(dumps),
                  "process group 0 (default_pg): rank 1 is behind: the last collective called is number 0 "
                  "(gloo:all_reduce of [2] Float), others have called number 1 (gloo:all_reduce of [3] Float)");
  dumps.erase(dumps.begin() + 2);
  expect_contains(analyze_flights(dumps), "no file of rank 2");
}

TEST(FlightRecorder, FilesThatAreNotWanted) {
  const RankScope scope;
  EXPECT_EQ(FlightRecorder(2).dump_to_file(true), "");
  set_rank_environment("TORCH_FR_DUMP_TEMP_FILE", c10::testing::fresh_folder() + "/t");
  EXPECT_NE(FlightRecorder(2).dump_to_file(true), "");
  set_rank_environment("TORCH_FR_DUMP_ON_TIMEOUT", "0");
  EXPECT_EQ(FlightRecorder(2).dump_to_file(true), "");
  EXPECT_NE(FlightRecorder(2).dump_to_file(false), "");
  set_rank_environment("TORCH_FR_DUMP_TEMP_FILE", "/nowhere/at/all");
  EXPECT_EQ(FlightRecorder(2).dump_to_file(false), "");
}

TEST(FlightRecorder, FilesOfASignal) {
  const RankScope scope;
  const std::string prefix = c10::testing::fresh_folder() + "/trace_";
  set_rank_environment("TORCH_FR_DUMP_TEMP_FILE", prefix);
  set_rank_environment("TORCH_FR_DUMP_ON_SIGUSR2", "1");
  init_with(c10::make_intrusive<HashStore>(), 0, 1);
  torch::distributed::barrier();
  ::raise(SIGUSR2);
  EXPECT_EQ(Json::parse(read_soon(prefix + "0"))["entries"].size(), 1u);
  destroy_process_group();
}

TEST(AnalyzeFlights, Differences) {
  FlightRecorder a(9), b(9);
  for (FlightRecorder* recorder : {&a, &b}) recorder->add_group("0", "all", "gloo", recorder == &a ? 0 : 1, {}, 2);
  EXPECT_EQ(analyze_flights({a.dump(), b.dump()}), "no rank is behind\n");
  a.record(0, OpType::ALLREDUCE, 0, {at::ones({2})}, {}, milliseconds(1));
  b.record(0, OpType::BROADCAST, 0, {at::ones({2})}, {}, milliseconds(1));
  b.start(b.record(0, OpType::RECV, 0, {}, {at::ones({2})}, milliseconds(1), 0));
  const std::string text = analyze_flights({a.dump(), b.dump()});
  expect_contains(text,
                  "calls of number 0 differ: gloo:all_reduce of [2] Float on rank 0; gloo:broadcast of [2] Float "
                  "on rank 1\n");
  expect_contains(text, "rank 1 waits in gloo:recv 1<-0");
  EXPECT_THROW(analyze_flights({"{}"}), c10::ValueError);
  EXPECT_THROW(analyze_flights({"not JSON"}), c10::ValueError);
  EXPECT_THROW(analyze_flights({a.dump().substr(0, 100)}), c10::ValueError);
}

// --- operations that take long ---

TEST(Stalls, AreSaid) {
  const auto store = c10::make_intrusive<HashStore>();
  ::testing::internal::CaptureStderr();
  testing::run_ranks(4, [&](int rank) {
    set_rank_environment("TORCH_DISTRIBUTED_STALL_WARNING_SEC", "0.2");
    init_with(store, rank, 4);
    torch::distributed::all_reduce(at::ones({2}));
    if (rank == 3) std::this_thread::sleep_for(milliseconds(1800));
    torch::distributed::all_reduce(at::ones({3}));
    destroy_process_group();
  });
  const std::string text = ::testing::internal::GetCapturedStderr();
  expect_contains(text,
                  " s in ALLREDUCE number 1 of 3 Float elements (SUM); called by ranks 0, 1, 2; not called by "
                  "rank 3, which last called ALLREDUCE number 0 of 2 Float elements (SUM)");
  // By one rank, once.
  EXPECT_EQ(text.find("; called by"), text.rfind("; called by")) << text;
}

TEST(Stalls, OfMessages) {
  const auto store = c10::make_intrusive<HashStore>();
  ::testing::internal::CaptureStderr();
  testing::run_ranks(2, [&](int rank) {
    set_rank_environment("TORCH_DISTRIBUTED_STALL_WARNING_SEC", "0.2");
    init_with(store, rank, 2);
    if (rank == 1) std::this_thread::sleep_for(milliseconds(1500));
    const at::Tensor t = at::ones({1});
    rank == 1 ? torch::distributed::send(t, 0) : (void)torch::distributed::recv(t, 1);
    destroy_process_group();
  });
  expect_contains(::testing::internal::GetCapturedStderr(),
                  " s in RECV with tag 0 from rank 1; rank 1, which has called nothing of all ranks");
}

TEST(Stalls, Environment) {
  const RankScope scope;
  EXPECT_EQ(HostBackend::default_stall_warning(), milliseconds(10000));
  set_rank_environment("TORCH_DISTRIBUTED_STALL_WARNING_SEC", "soon");
  EXPECT_THROW(HostBackend::default_stall_warning(), c10::ValueError);
}

}  // namespace
}  // namespace c10d
