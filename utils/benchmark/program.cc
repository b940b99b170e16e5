#include "utils/benchmark/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>

#include "utils/benchmark/callgrind.h"
#include "utils/benchmark/compare.h"
#include "utils/benchmark/roofline.h"

namespace torch::utils::benchmark {
namespace {

struct Arguments {
  std::string filter = ".", json;
  std::vector<int> threads = {1, 2};
  double min_time = 0.2;
  bool callgrind = false, list = false, processor_time = false;
};

struct Result {
  const std::string* row;
  Work work;
  Measurement time;
};

bool value_of(const char* argument, const char* name, std::string* value) {
  const size_t n = std::strlen(name);
  if (std::strncmp(argument, name, n) != 0 || argument[n] != '=') return false;
  *value = argument + n + 1;
  return true;
}

// False and a message if an argument is none.
bool parse(int argc, char** argv, Arguments* to) {
  for (int i = 1; i < argc; ++i) {
    std::string value;
    if (value_of(argv[i], "--filter", &to->filter) || value_of(argv[i], "--json", &to->json)) continue;
    if (value_of(argv[i], "--min_time", &value)) {
      to->min_time = std::atof(value.c_str());
    } else if (value_of(argv[i], "--threads", &value)) {
      to->threads.clear();
      for (const char* p = value.c_str(); *p != 0;) {
        char* end;
        to->threads.push_back(static_cast<int>(std::strtol(p, &end, 10)));
        if (end == p || to->threads.back() < 1)
          return std::fprintf(stderr, "--threads=%s: expected counts such as 1,2\n", value.c_str()), false;
        p = *end == ',' ? end + 1 : end;
      }
    } else if (std::strcmp(argv[i], "--callgrind") == 0) {
      to->callgrind = true;
    } else if (std::strcmp(argv[i], "--processor_time") == 0) {
      to->processor_time = true;
    } else if (std::strcmp(argv[i], "--list") == 0) {
      to->list = true;
    } else {
      std::fprintf(stderr, "%s: unknown argument %s\n", argv[0], argv[i]);
      return false;
    }
  }
  return true;
}

std::string json_of(const std::string& name, const std::map<int, Roofline>& rooflines,
                    const std::vector<Result>& results) {
  char text[512];
  std::string s = "{\"program\": \"" + name + "\", \"rooflines\": {";
  const char* between = "";
  for (const auto& [threads, r] : rooflines) {
    std::snprintf(text, sizeof(text), "%s\"%d\": {\"flops\": %.6g, \"bytes\": %.6g}", between, threads, r.flops,
                  r.bytes);
    s += text;
    between = ", ";
  }
  s += "}, \"rows\": [";
  between = "";
  for (const Result& r : results) {
    std::snprintf(text, sizeof(text),
                  "\"threads\": %d, \"bytes\": %.17g, \"flops\": %.17g, \"median\": %.9g, \"min\": %.9g, "
                  "\"iqr\": %.9g}",
                  r.time.task_spec().num_threads, r.work.bytes, r.work.flops, r.time.median(), r.time.min(),
                  r.time.iqr());
    s.append(between).append("\n{\"name\": \"").append(*r.row).append("\", ").append(text);
    between = ",";
  }
  return s + "]}\n";
}

// Per row: the time with each number of threads, how far from the roofline, and what the second thread brings.
void print_table(const std::vector<Result>& results, const std::map<int, Roofline>& rooflines) {
  std::printf("%-34s %7s %12s %12s %8s %10s %8s\n", "", "threads", "median", "least", "IQR", "roofline", "scaling");
  const Result* before = nullptr;
  for (const Result& r : results) {
    const int threads = r.time.task_spec().num_threads;
    const auto [unit, scale] = select_unit(r.time.median());
    std::printf("%-34s %7d %9.2f %-2s %9.2f %-2s %7.1f%%", r.row->c_str(), threads, r.time.median() / scale, unit,
                r.time.min() / scale, unit, 100 * r.time.iqr() / r.time.median());
    const auto roof = rooflines.find(threads);
    const double floor = roof == rooflines.end() ? 0 : roof->second.floor(r.work.bytes, r.work.flops);
    if (floor > 0) std::printf(" %9.0f%%", 100 * floor / r.time.min());
    else std::printf(" %10s", "");
    if (before != nullptr && before->row == r.row) std::printf(" %7.2fx", before->time.min() / r.time.min());
    std::printf("\n");
    if (before == nullptr || before->row != r.row) before = &r;
  }
}

}  // namespace

int Program::run(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) return 2;
  const std::regex filter(arguments.filter);
  std::vector<const Row*> rows;
  for (const Row& row : rows_)
    if (std::regex_search(row.name, filter)) rows.push_back(&row);
  if (rows.empty()) return std::fprintf(stderr, "%s: no row matches %s\n", argv[0], arguments.filter.c_str()), 2;
  if (arguments.list) {
    std::string section;
    for (const Row* row : rows) {
      if (row->section != section) std::printf("# %s\n", row->section.c_str());
      section = row->section;
      std::printf("%s\n", row->name.c_str());
    }
    return 0;
  }
  std::map<int, Roofline> rooflines;
  std::vector<Result> results;
  bool failed = false;
  const auto measure = [&](const Row& row, int threads) {
    TimerOptions options;
    options.label = name_, options.sub_label = row.name, options.num_threads = threads;
    if (arguments.processor_time) options.timer = processor_time;
    Work work;
    const std::unique_ptr<Timer> timer = row.make(options, &work);
    if (arguments.callgrind) std::printf("%s\n", timer->collect_callgrind(100).str().c_str());
    else results.push_back({&row.name, work, timer->blocked_autorange(arguments.min_time)});
    std::fflush(stdout);
  };
  // One number of threads after the other, and the rooflines last: once a process has had a second thread, counting
  // references is atomic and every call slower.
  for (int threads : arguments.threads) {
    for (const Row* row : rows) {
      const int first = arguments.threads.front();
      if (threads != first && (!row->threads || arguments.callgrind)) continue;
      try {
        measure(*row, row->threads ? threads : 1);
      } catch (const std::exception& e) {
        const std::string what = e.what();
        std::fprintf(stderr, "%s: %s\n", row->name.c_str(), what.substr(0, what.find('\n')).c_str());
        failed = true;
      }
    }
  }
  // The names lie in the order of the rows.
  std::stable_sort(results.begin(), results.end(), [](const Result& a, const Result& b) { return a.row < b.row; });
  if (!arguments.callgrind) {
    for (int threads : arguments.threads) {
      const Roofline r = rooflines[threads] = measure_roofline(threads);
      std::printf("%s: %d thread%s: multiply-adds %.1f GFLOP/s, copies %.1f GB/s\n", name_.c_str(), threads,
                  threads == 1 ? "" : "s", r.flops * 1e-9, r.bytes * 1e-9);
    }
  }
  print_table(results, rooflines);
  if (!arguments.json.empty()) {
    std::FILE* file = std::fopen(arguments.json.c_str(), "w");
    if (file == nullptr) return std::fprintf(stderr, "cannot write %s\n", arguments.json.c_str()), 1;
    std::fputs(json_of(name_, rooflines, results).c_str(), file);
    std::fclose(file);
  }
  return failed ? 1 : 0;
}

}  // namespace torch::utils::benchmark
