// The command:
//
//   replay --cases=DIR [--ops=GLOB] [--list=FILE] [--device=cpu|cuda|shadow] [--layer=NAME] [--no-grad] [--layouts]
//          [--repeats=N] [--meta] [--decompositions] [--verbose] [--report=FILE.json]
//
// --cases    a folder of recorded calls, or a .tar.gz archive of one (tests/conformance/first_families.tar.gz)
// --ops      only overloads whose name matches, e.g. 'index_*' or 'add@Tensor'
// --list     only the overloads that FILE names, one a line
// --device   where the operators run; "shadow" is the device of tests/plugin_device
// --layer    each case also with a boxed handler that passes every operator on: the key of a layer
// ("FuncTorchBatched"),
//            "Profiler", "DispatchMode", or "all" of them; all results and gradients have the same bits as without
// --no-grad  without comparing gradients
// --layouts  each case also with non-contiguous arguments and in its in-place and out= forms
// --repeats  each case N times more, with the same bits
// --meta     each case also with tensors on meta, whose results have the sizes, strides and dtypes of the CPU's
// --decompositions  only operators that have a decomposition, which runs in place of the kernel; what it calls is core
// --verbose  every mismatch, not only the first of each operator
// --report   writes what was found as JSON
//
// Prints one line for each operator that fell short, with its first mismatch, one for each that has no kernel yet, and
// one for each whose recordings are damaged or not of this operator, then a summary of each family, and last "N passed,
// N failed, N skipped", counted in cases. Exit status 1 where anything failed or the cases cannot be read.
#include <fnmatch.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/core/context.h"
#include "c10/memory/allocator.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/flags.h"
#include "c10/util/string_util.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/case_set.h"
#include "tests/conformance/replay.h"
#include "tests/layers/pass_through.h"

namespace {

using conformance::BadSet;
using conformance::OperatorReport;

// Enough for every recorded call; a hostile one gets OutOfMemoryError.
constexpr int64_t kMemoryLimit = int64_t{4} << 30;

struct Arguments {
  std::string cases, list, ops = "*", device = "cpu", report;
  bool verbose = false;
  conformance::Options options;
};

struct Totals {
  size_t operators = 0, passed = 0, failed = 0, skipped = 0, refused = 0;
  void add(const OperatorReport& report) {
    ++operators;
    refused += report.refused;
    passed += report.passed;
    failed += report.failed;
    skipped += report.skipped;
  }
  nlohmann::ordered_json json() const {
    return {{"operators", operators}, {"passed", passed}, {"failed", failed}, {"skipped", skipped}};
  }
};

std::vector<std::string> listed(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw BadSet(path + ": no such file");
  std::ifstream in(path);
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.insert(line);
  }
  if (in.bad()) throw BadSet(path + ": cannot be read");
  return {names.begin(), names.end()};
}

void write_report(const std::string& path, const std::vector<OperatorReport>& reports, const std::map<std::string, Totals>& families,
                  const Totals& all) {
  nlohmann::ordered_json json = all.json();
  for (const auto& [family, totals] : families) json["families"][family] = totals.json();
  for (const OperatorReport& report : reports) {
    nlohmann::ordered_json one = {{"name", report.name}, {"family", report.family}, {"passed", report.passed}, {"failed", report.failed}, {"skipped", report.skipped}};
    if (report.skipped > 0) one["skip_reason"] = report.skip_reason;
    for (const conformance::CaseFailure& f : report.failures) {
      one["failures"].push_back({{"case", f.number}, {"form", f.form}, {"where", f.where}, {"index", f.index}, {"got", f.got}, {"expected", f.expected}});
    }
    json["results"].push_back(std::move(one));
  }
  std::ofstream out(path);
  out << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  out.close();
  if (!out) throw BadSet(path + ": cannot be written");
}

int run(const Arguments& arguments) {
  const std::map<std::string, c10::DeviceType> devices = {
      {"cpu", c10::kCPU}, {"cuda", c10::kCUDA}, {c10::get_privateuse1_backend(), c10::kPrivateUse1}};
  const auto device = devices.find(arguments.device);
  if (device == devices.end()) throw BadSet("--device is cpu, cuda or " + c10::get_privateuse1_backend() + ", not " + arguments.device);
  conformance::Options options = arguments.options;
  if (device->second != c10::kCPU) {
    if (c10::GetAllocator(device->second) == nullptr) throw BadSet("--device=" + arguments.device + ": this program is built without it");
    options.device = c10::Device(device->second, 0);
    // What is recorded are the CPU's results, whose sums of 16-bit numbers are float32's.
    at::globalContext().setAllowFP16ReductionCuBLAS(false);
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);  // the recorded results are those of float32
    at::globalContext().setDeterministicCuDNN(options.repeats > 0);
  }
  const auto& layers = layers::pass_through_names();
  if (!options.layer.empty() && std::find(layers.begin(), layers.end(), options.layer) == layers.end()) {
    throw BadSet("--layer is one of " + c10::Join(", ", layers) + ", not " + options.layer);
  }
  const conformance::CaseSet set(arguments.cases);
  const std::vector<std::string> names = arguments.list.empty() ? set.names() : listed(arguments.list);
  std::vector<OperatorReport> reports;
  std::map<std::string, Totals> families;
  Totals all;
  std::vector<std::string> unreadable;
  for (const std::string& name : names) {
    if (fnmatch(arguments.ops.c_str(), name.c_str(), 0) != 0) continue;
    OperatorReport report;
    try {
      report = conformance::replay_operator(set, name, options);
    } catch (const BadSet& e) {
      unreadable.emplace_back(e.what());
      continue;
    }
    const size_t cases = report.passed + report.failed + report.skipped;
    if (cases == 0 && options.decompositions) continue;
    families[report.family].add(report);
    all.add(report);
    if (report.failed > 0) std::printf("FAILED %s: %zu of %zu cases; %s\n", name.c_str(), report.failed, cases, report.failures[0].text().c_str());
    if (report.skipped > 0) std::printf("skipped %s: %s\n", name.c_str(), report.skip_reason.c_str());
    for (size_t i = 1; arguments.verbose && i < report.failures.size(); ++i) std::printf("  %s: %s\n", name.c_str(), report.failures[i].text().c_str());
    std::fflush(stdout);
    reports.push_back(std::move(report));
  }
  if (reports.empty() && !unreadable.empty()) throw BadSet(unreadable[0]);
  if (reports.empty()) throw BadSet(arguments.cases + ": no operator to replay");
  for (const auto& [family, t] : families) {
    std::printf("%s: %zu operators, %zu passed, %zu failed, %zu skipped\n", family.c_str(), t.operators, t.passed, t.failed, t.skipped);
  }
  if (!arguments.report.empty()) write_report(arguments.report, reports, families, all);
  if (!options.layer.empty()) std::printf("%" PRId64 " calls passed on by %s\n", layers::PassThrough::calls(), options.layer.c_str());
  if (options.meta) std::printf("%zu of those that passed have no answer on meta\n", all.refused);
  for (const std::string& problem : unreadable) std::printf("unreadable %s\n", problem.c_str());
  std::printf("%zu passed, %zu failed, %zu skipped\n", all.passed, all.failed, all.skipped);
  return all.failed > 0 || !unreadable.empty() ? 1 : 0;
}

int fail(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "replay: %s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  bool no_grad = false;
  const auto status = c10::testing::parse_flags(argc, argv,
                                                {{"cases", &a.cases},
                                                 {"ops", &a.ops},
                                                 {"list", &a.list},
                                                 {"device", &a.device},
                                                 {"layer", &a.options.layer},
                                                 {"no-grad", &no_grad},
                                                 {"layouts", &a.options.layouts},
                                                 {"repeats", &a.options.repeats},
                                                 {"meta", &a.options.meta},
                                                 {"decompositions", &a.options.decompositions},
                                                 {"verbose", &a.verbose},
                                                 {"report", &a.report}},
                                                1);
  if (status.has_value()) return *status;
  if (a.cases.empty()) return fail("usage: replay --cases=DIR (--help lists the rest)");
  a.options.grad = !no_grad;
  // Relative paths are those of the caller, also under `bazel run`.
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    std::error_code error;
    std::filesystem::current_path(directory, error);
  }
  c10::set_cpu_memory_limit(kMemoryLimit);
  try {
    const int status = run(a);
    const bool failed_before = std::ferror(stdout) != 0;
    return std::fflush(stdout) == 0 && !failed_before ? status : fail("cannot write to standard output");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
