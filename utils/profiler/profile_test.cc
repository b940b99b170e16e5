// Profiles over steps, and what they write.
#include "utils/profiler/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "aten/aten.h"
#include "aten/core/thread_local_state.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"
#include "utils/profiler/execution_trace.h"

namespace torch::profiler {
namespace {

using at::Tensor;
using c10::testing::message_of;
using nlohmann::json;

std::string actions(const Schedule& schedule, int64_t steps) {
  std::string out;
  for (int64_t i = 0; i < steps; ++i) out += ".wrS"[static_cast<int>(schedule(i))];
  return out;
}

std::string temporary(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string read(const std::string& path) {
  std::string out(size_t{1} << 22, '\0');
  gzFile const file = gzopen(path.c_str(), "rb");
  const int size = gzread(file, out.data(), static_cast<unsigned>(out.size()));
  gzclose(file);
  out.resize(static_cast<size_t>(std::max(size, 0)));
  return out;
}

TEST(Schedule, IsPyTorchs) {
  EXPECT_EQ(actions(schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 2, .skip_first = 1}), 14),
            "..wrS.wrS.....");
  EXPECT_EQ(actions(schedule({.wait = 2, .warmup = 1, .active = 1, .skip_first = 2, .skip_first_wait = true}), 14),
            "..wS..wS..wS..");
  EXPECT_EQ(actions(schedule({.active = 1}), 5), "SSSSS");
  EXPECT_NE(
      message_of([] { schedule({.wait = 1}); }).find("Invalid profiler schedule arguments. Got wait=1 (need >= 0)"),
      std::string::npos);
  EXPECT_THROW(schedule({.warmup = 1, .active = 1})(-1), c10::ValueError);
}

TEST(Profile, RecordsTheStepsOfItsSchedule) {
  // As torch.profiler (2.15) does in the same loop.
  std::vector<std::pair<int64_t, std::vector<std::string>>> seen;
  profile profiler({.activities = {ProfilerActivity::CPU},
                    .schedule = schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 2}),
                    .on_trace_ready = [&](profile& p) {
                      std::vector<std::string> names;
                      for (const auto& row : p.key_averages()) names.push_back(row.key);
                      std::sort(names.begin(), names.end());
                      seen.emplace_back(p.step_num(), names);
                    }});
  const Tensor x = at::ones({2});
  EXPECT_THROW(profiler.step(), c10::Error);
  EXPECT_THROW(profiler.result(), c10::Error);
  profiler.start();
  EXPECT_THROW(profiler.start(), c10::Error);
  Tensor (*const operators[])(const Tensor&) = {at::exp, at::neg, at::sin, at::cos, at::tan, at::sqrt, at::abs, at::log,
                                                at::sign};
  for (const auto op : operators) {
    op(x);
    profiler.step();
  }
  profiler.stop();
  profiler.stop();
  using Names = std::vector<std::string>;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], (std::pair<int64_t, Names>{4, {"ProfilerStep*", "aten::cos", "aten::sin"}}));
  EXPECT_EQ(seen[1], (std::pair<int64_t, Names>{8, {"ProfilerStep*", "aten::abs", "aten::log"}}));
  EXPECT_FALSE(autograd::profiler::isProfilerEnabledInThread());
  EXPECT_EQ(profiler.events().front().name(), "ProfilerStep#6");
}

TEST(Profile, AccumulatesCyclesWhereAskedFor) {
  profile profiler({.activities = {ProfilerActivity::CPU},
                    .schedule = schedule({.warmup = 1, .active = 1}),
                    .acc_events = true});
  profiler.start();
  for (int i = 0; i < 4; ++i) {
    at::exp(at::ones({2}));
    profiler.step();
  }
  profiler.stop();
  EXPECT_EQ(profiler.key_averages().find("aten::exp")->count, 2);
}

TEST(Profile, WithoutAScheduleRecordsAll) {
  int ready = 0;
  {
    profile profiler({.on_trace_ready = [&](profile&) { ++ready; }});
    profiler.start();
    at::exp(at::ones({2}));
    profiler.step();
    at::exp(at::ones({2}));
    profiler.toggle_collection_dynamic(false, {ProfilerActivity::CPU});
    at::exp(at::ones({2}));
    profiler.toggle_collection_dynamic(true, {ProfilerActivity::CPU});
    EXPECT_THROW(profiler.toggle_collection_dynamic(true, {ProfilerActivity::CUDA}), c10::NotImplementedError);
    profiler.stop();
    EXPECT_EQ(profiler.key_averages().find("aten::exp")->count, 2);
    EXPECT_EQ(profiler.key_averages().find("ProfilerStep*"), nullptr);
    EXPECT_EQ(profiler.get_trace_id().size(), 32u);
    profiler.start();
  }
  EXPECT_EQ(ready, 2) << "its end is a stop";
}

TEST(Profile, TracesNestAndHaveMetadata) {
  nn::Sequential net(nn::Linear(4, 3), nn::ReLU(), nn::Linear(3, 2));
  profile profiler({.activities = {ProfilerActivity::CPU},
                    .record_shapes = true,
                    .profile_memory = true,
                    .with_stack = true,
                    .with_flops = true,
                    .with_modules = true});
  profiler.add_metadata("run", "a \"b\"");
  profiler.add_metadata_json("size", "[1, 2]");
  profiler.set_custom_trace_id_callback([] { return "mine"; });
  profiler.start();
  {
    record_function range("forward and backward", "args");
    net(at::ones({5, 4})).sum().backward();
  }
  std::thread([state = at::ThreadLocalState()] {
    const at::ThreadLocalStateGuard guard(state);
    at::exp(at::ones({2}));
  }).join();
  profiler.stop();
  const std::string path = temporary("trace.json"), packed = temporary("trace.json.gz");
  profiler.export_chrome_trace(path);
  profiler.export_chrome_trace(packed);
  EXPECT_LT(std::filesystem::file_size(packed), std::filesystem::file_size(path) / 2);
  const json trace = json::parse(read(packed));
  EXPECT_EQ(json::parse(read(path))["traceEvents"], trace["traceEvents"]);
  EXPECT_EQ(trace["run"], "a \"b\"");
  EXPECT_EQ(trace["size"], json({1, 2}));
  EXPECT_EQ(trace["trace_id"], "mine");
  EXPECT_EQ(trace["with_flops"], 1);

  // What begins within a range of its thread ends there.
  std::map<int64_t, std::vector<std::pair<double, double>>> by_thread;
  std::map<std::string, json> args;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] == "Trace") continue;
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    by_thread[event["tid"]].emplace_back(begin, end);
    args[event["name"]] = event["args"];
  }
  EXPECT_EQ(by_thread.size(), 2u);
  for (auto& [thread, spans] : by_thread) {
    std::sort(spans.begin(), spans.end(), [](auto& a, auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    for (const auto& [begin, end] : spans) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      if (!open.empty()) EXPECT_LE(end, open.back() + 1e-6);
      open.push_back(end);
    }
  }
  EXPECT_TRUE(args.contains("nn.Module: Linear_1"));
  EXPECT_EQ(args["nn.Module: ReLU_0"]["Module Hierarchy"], "Sequential_0");
  EXPECT_EQ(args["aten::relu"]["Module Hierarchy"], "Sequential_0.ReLU_0");
  EXPECT_NE(args["aten::relu"]["Call stack"].get<std::string>().find("ReLUImpl"), std::string::npos)
      << args["aten::relu"];
  EXPECT_EQ(args["forward and backward"]["Concrete Inputs"], json({"args"}));
  EXPECT_TRUE(autograd::profiler::detail::module_path().empty());
  EXPECT_THROW(profiler.export_chrome_trace("/no/such/folder/t.json"), c10::Error);
  EXPECT_THROW(profiler.export_chrome_trace("/no/such/folder/t.json.gz"), c10::Error);
  std::remove(path.c_str());
  std::remove(packed.c_str());
}

// The program of Perfetto that reads traces, where the machine has it.
std::string trace_processor() {
  std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/trace_processor_shell";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

TEST(Profile, TracesOpenInPerfettosTraceProcessor) {
  const std::string program = trace_processor();
  if (program.empty()) GTEST_SKIP() << "no trace_processor_shell";
  profile profiler({.activities = {ProfilerActivity::CPU}});
  profiler.start();
  for (int i = 0; i < 7; ++i) at::exp(at::ones({2}));
  profiler.stop();
  const std::string trace = temporary("perfetto.json"), query = temporary("query.sql"), out = temporary("out.txt");
  profiler.export_chrome_trace(trace);
  std::ofstream(query) << "select count(*) from slice where name = 'aten::exp';";
  ASSERT_EQ(std::system((program + " -q " + query + " " + trace + " > " + out + " 2>/dev/null").c_str()), 0);
  EXPECT_NE(read(out).find("\n7\n"), std::string::npos) << read(out);
  for (const std::string& path : {trace, query, out}) std::remove(path.c_str());
}

TEST(Profile, WritesFilesForTensorBoard) {
  const std::string folder = temporary("plugin/profile");
  profile profiler({.activities = {ProfilerActivity::CPU},
                    .on_trace_ready = tensorboard_trace_handler(folder, "", /*use_gzip=*/true)});
  profiler.start();
  at::exp(at::ones({2}));
  profiler.stop();
  tensorboard_trace_handler(folder, "worker0")(profiler);
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  const std::string prefix = std::string(host) + "_" + std::to_string(::getpid()) + ".";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE((name.starts_with(prefix) && name.ends_with(".pt.trace.json.gz")) ||
                (name.starts_with("worker0.") && name.ends_with(".pt.trace.json")))
        << name;
    EXPECT_TRUE(json::parse(read(entry.path().string())).contains("traceEvents"));
    ++files;
  }
  EXPECT_EQ(files, 2u);
  std::filesystem::remove_all(temporary("plugin"));
}

TEST(ExecutionTrace, HasChakrasSchema) {
  const std::string path = temporary("execution.json");
  ExecutionTraceObserver observer, other;
  EXPECT_THROW(observer.register_callback("/no/such/folder/t.json"), c10::Error);
  EXPECT_FALSE(observer.is_registered());
  observer.register_callback(path);
  EXPECT_EQ(observer.get_output_file_path(), path);
  EXPECT_THROW(other.register_callback(temporary("other.json")), c10::Error);
  const Tensor x = at::ones({2, 4}), w = at::ones({3, 4}).requires_grad_();
  at::neg(x);
  observer.start();
  EXPECT_TRUE(observer.is_running());
  {
    record_function range("forward");
    Tensor y = at::mm(x, at::t(w));
    y = at::cat({y, y}, 1);
    at::sum(y, {0}, true, at::kDouble).sum().backward();
  }
  observer.stop();
  at::exp(x);
  observer.unregister_callback();
  EXPECT_FALSE(at::hasCallbacks());

  const json trace = json::parse(read(path));
  EXPECT_EQ(trace["schema"], "1.1.1-chakra.0.0.4");
  EXPECT_EQ(trace["pid"], ::getpid());
  EXPECT_GE(trace["finish_ts"].get<int64_t>(), trace["start_ts"].get<int64_t>());
  std::map<std::string, json> nodes;
  std::map<int64_t, json> by_id;
  const auto attribute = [](const json& node, const char* name) {
    for (const json& one : node["attrs"]) {
      if (one["name"] == name) return one["value"];
    }
    return json();
  };
  for (const json& node : trace["nodes"]) {
    EXPECT_TRUE(by_id.emplace(node["id"].get<int64_t>(), node).second) << node;
    nodes[node["name"]] = node;
    EXPECT_EQ(node["inputs"]["values"].size(), node["inputs"]["shapes"].size());
    EXPECT_EQ(node["attrs"].size(), 10u);
  }
  for (const auto& [id, node] : by_id) EXPECT_TRUE(by_id.contains(node["ctrl_deps"].get<int64_t>())) << node;
  EXPECT_FALSE(nodes.contains("aten::neg") || nodes.contains("aten::exp"));
  const json &mm = nodes["aten::mm"], &cat = nodes["aten::cat"], &forward = nodes["forward"];
  ASSERT_FALSE(mm.is_null() || cat.is_null() || forward.is_null());
  EXPECT_EQ(by_id[forward["ctrl_deps"]]["name"], "[pytorch|profiler|execution_trace|thread]");
  EXPECT_EQ(by_id[1]["name"], "[pytorch|profiler|execution_trace|process]");
  EXPECT_EQ(cat["ctrl_deps"], forward["id"]);
  EXPECT_EQ(attribute(cat, "op_schema").get<std::string>().find("aten::cat("), 0u) << cat;
  EXPECT_EQ(cat["inputs"]["types"], json({"GenericList[Tensor(float),Tensor(float)]", "Int"}));
  EXPECT_EQ(cat["inputs"]["shapes"][0], json({{2, 3}, {2, 3}}));
  EXPECT_EQ(cat["outputs"]["shapes"][0], json({2, 6}));
  EXPECT_EQ(cat["outputs"]["values"][0][5], "cpu");
  EXPECT_EQ(attribute(nodes["MmBackward0"], "scope"), 1);
  EXPECT_GE(attribute(nodes["MmBackward0"], "fw_parent").get<int64_t>(), 2);
  EXPECT_EQ(by_id[attribute(nodes["MmBackward0"], "fw_parent")]["name"], "aten::mm");
  std::remove(path.c_str());
  std::remove(temporary("other.json").c_str());
}

// The thread's own time: tests run beside others.
double thread_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// How many nanoseconds a call of a small operator takes.
double ns_per_call(const Tensor& x) {
  constexpr int kCalls = 2000;
  double best = 1e18;
  for (int round = 0; round < 20; ++round) {
    const double begin = thread_ns();
    for (int i = 0; i < kCalls; ++i) at::neg(x);
    best = std::min(best, (thread_ns() - begin) / kCalls);
  }
  return best;
}

TEST(Profile, CostsLittle) {
  const Tensor x = at::ones({2});
  const double never = ns_per_call(x);
  profile profiler({.activities = {ProfilerActivity::CPU}});
  profiler.start();
  const double on = ns_per_call(x);
  profiler.stop();
  double off = ns_per_call(x);
  // What else the machine does slows programs down for a while.
  for (int again = 0; again < 60 && off >= 1.25 * never + 10; ++again) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    off = std::min(off, ns_per_call(x));
  }
  std::printf("an operator: %.0f ns, while it is profiled %.0f ns, afterwards %.0f ns\n", never, on, off);
  // The budgets are 2 us and 1%.
  EXPECT_LT(on - never, 4000);
  EXPECT_LT(off, 1.25 * never + 10);
}

}  // namespace
}  // namespace torch::profiler
