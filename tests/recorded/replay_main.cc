// The command:
//
//   replay --cases=DIR [--family=GLOB] [--ids=GLOB] [--verbose]
//
// --cases    a folder of recordings: FAMILY.jsonl and FAMILY.safetensors, or a .tar.gz archive of them
// --family   only families whose name matches, e.g. 'nn_*'
// --ids      only cases whose id matches, e.g. 'LSTM/*'
// --verbose  every difference of a case, not only its first
//
// Prints a line for each case that differs or cannot be replayed, one for each family, and last
// "N passed, N failed, N skipped". Exit status 1 where anything failed or the recordings cannot be read. Families of
// the folder that are not known here are named and counted as failed.
#include <fnmatch.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "c10/testing/flags.h"
#include "tests/recorded/replay.h"

namespace {

struct Arguments {
  std::string cases, family = "*", ids = "*";
  bool verbose = false;
};

struct Totals {
  size_t passed = 0, failed = 0, skipped = 0;
};

void replay_family(const recorded::Family& family, const conformance::CaseSet& set, const Arguments& arguments,
                   Totals& all) {
  const recorded::Recordings recordings(set, family.name);
  Totals totals;
  for (const recorded::Json& one : recordings.cases()) {
    if (fnmatch(arguments.ids.c_str(), one.at("id").get<std::string>().c_str(), 0) != 0) continue;
    const recorded::CaseReport report = recorded::replay_case(family, recordings, one);
    if (!report.failures.empty()) {
      ++totals.failed;
      const size_t shown = arguments.verbose ? report.failures.size() : 1;
      for (size_t i = 0; i < shown; ++i)
        std::printf("FAILED %s %s: %s\n", family.name, report.id.c_str(), report.failures[i].c_str());
    } else if (!report.skip_reason.empty()) {
      ++totals.skipped;
      std::printf("skipped %s %s: %s\n", family.name, report.id.c_str(), report.skip_reason.c_str());
    } else {
      ++totals.passed;
    }
    std::fflush(stdout);
  }
  std::printf("%s: %zu passed, %zu failed, %zu skipped\n", family.name, totals.passed, totals.failed, totals.skipped);
  all.passed += totals.passed;
  all.failed += totals.failed;
  all.skipped += totals.skipped;
}

int run(const Arguments& arguments) {
  const conformance::CaseSet set(arguments.cases);
  Totals all;
  for (const std::string& name : set.stems(".jsonl")) {
    if (fnmatch(arguments.family.c_str(), name.c_str(), 0) != 0) continue;
    const auto& known = recorded::families();
    const auto family = std::find_if(known.begin(), known.end(), [&](const auto& f) { return name == f.name; });
    if (family != known.end()) {
      replay_family(*family, set, arguments, all);
    } else {
      const size_t cases = recorded::Recordings(set, name).cases().size();
      std::printf("FAILED %s: no replay of this family (%zu cases)\n", name.c_str(), cases);
      all.failed += cases;
    }
  }
  if (all.passed + all.failed + all.skipped == 0) throw conformance::BadSet(arguments.cases + ": no case to replay");
  std::printf("%zu passed, %zu failed, %zu skipped\n", all.passed, all.failed, all.skipped);
  return all.failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  const auto status = c10::testing::parse_flags(
      argc, argv, {{"cases", &a.cases}, {"family", &a.family}, {"ids", &a.ids}, {"verbose", &a.verbose}}, 1);
  if (status.has_value()) return *status;
  // Relative paths are those of the caller, also under `bazel run`.
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    std::error_code error;
    std::filesystem::current_path(directory, error);
  }
  try {
    if (a.cases.empty()) throw conformance::BadSet("usage: replay --cases=DIR (--help lists the rest)");
    return run(a);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "replay: %s\n", e.what());
    return 1;
  }
}
