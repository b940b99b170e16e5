#include "utils/benchmark/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace torch::utils::benchmark {
namespace {

template <class T>
size_t place_of(std::vector<T>* seen, const T& value) {
  const auto found = std::find(seen->begin(), seen->end(), value);
  if (found != seen->end()) return static_cast<size_t>(found - seen->begin());
  seen->push_back(value);
  return seen->size() - 1;
}

struct Row {
  int threads;
  std::string env, name;
  friend bool operator==(const Row&, const Row&) = default;
};

std::string centered(const std::string& text, size_t width) {
  if (text.size() >= width) return text;
  const size_t left = (width - text.size()) / 2;
  return std::string(left, ' ') + text + std::string(width - text.size() - left, ' ');
}

// Of the least time of a group: bold green up to 5% over it, then nothing, red from double on.
const char* color_of(double time, double best) {
  if (time <= best * 1.05) return "\033[92m\033[1m";
  return time < best * 2 ? "" : "\033[31m\033[1m";
}

const char* unit_name(const std::string& unit) {
  return unit == "ns" ? "nanoseconds" : unit == "us" ? "microseconds" : unit == "ms" ? "milliseconds" : "seconds";
}

}  // namespace

void Compare::extend_results(const std::vector<Measurement>& results) {
  results_.insert(results_.end(), results.begin(), results.end());
}

std::string Compare::table(const std::vector<const Measurement*>& results) const {
  std::vector<std::string> columns;
  std::vector<Row> rows;
  double least = 1e300;
  bool envs = false;
  for (const Measurement* m : results) {
    const TaskSpec& t = m->task_spec();
    place_of(&columns, t.description);
    place_of(&rows, Row{t.num_threads, t.env, m->as_row_name()});
    least = std::min(least, m->median());
    envs = envs || !t.env.empty();
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.threads < b.threads; });
  std::vector<std::vector<const Measurement*>> cells(rows.size(),
                                                     std::vector<const Measurement*>(columns.size(), nullptr));
  for (const Measurement* m : results) {
    const TaskSpec& t = m->task_spec();
    cells[place_of(&rows, Row{t.num_threads, t.env, m->as_row_name()})][place_of(&columns, t.description)] = m;
  }
  const auto [unit, scale] = select_unit(least);
  const auto number = [&, scale = scale](const Measurement& m) {
    const double value = m.median() / scale;
    int digits = 1;
    if (trim_) digits = m.significant_figures() - 1 - static_cast<int>(std::floor(std::log10(std::max(value, 1e-9))));
    double shown = value;
    if (digits < 0) {
      const double step = std::pow(10.0, -digits);
      shown = std::round(value / step) * step;
    }
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", std::clamp(digits, 0, 1), shown);
    std::string s = text;
    if (warnings_ && m.has_warnings()) {
      std::snprintf(text, sizeof(text), " (! %.0f%%)", m.iqr() / m.median() * 100);
      s += text;
    }
    return s;
  };
  size_t first = 0;
  for (const Row& r : rows) first = std::max(first, 6 + r.name.size() + (envs ? r.env.size() + 3 : 0));
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t width = columns[c].size();
    for (size_t r = 0; r < rows.size(); ++r)
      if (cells[r][c] != nullptr) width = std::max(width, number(*cells[r][c]).size());
    widths.push_back(width);
  }
  size_t total = first + 2;
  for (size_t w : widths) total += w + 5;
  const std::string label =
      results[0]->task_spec().label.empty() ? results[0]->task_spec().stmt : results[0]->task_spec().label;
  std::string line = " " + label + " ";
  const size_t dashes = total > line.size() + 2 ? total - line.size() - 2 : 0;
  std::string s = "[" + std::string(dashes / 2, '-') + line + std::string(dashes - dashes / 2, '-') + "]\n";
  s += std::string(first + 2, ' ');
  for (size_t c = 0; c < columns.size(); ++c) s += "|  " + centered(columns[c], widths[c]) + "  ";
  s += "\n";
  int threads = -1;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].threads != threads) {
      threads = rows[r].threads;
      const std::string head = std::to_string(threads) + " threads: ";
      s += head + std::string(total > head.size() ? total - head.size() : 0, '-') + "\n";
    }
    std::string name =
        "      " + (envs && !rows[r].env.empty() ? "(" + rows[r].env + ") " : std::string()) + rows[r].name;
    s += name + std::string(first + 2 - name.size(), ' ');
    for (size_t c = 0; c < columns.size(); ++c) {
      s += "|  ";
      const Measurement* m = cells[r][c];
      const std::string text = m == nullptr ? "" : number(*m);
      s += std::string(widths[c] - text.size(), ' ');
      double best = 1e300;
      for (size_t k = 0; k < (color_ == Color::kRows ? columns.size() : rows.size()); ++k) {
        const Measurement* other = color_ == Color::kRows ? cells[r][k] : cells[k][c];
        if (other != nullptr && (color_ == Color::kRows || rows[k].threads == threads))
          best = std::min(best, other->median());
      }
      const char* color = m == nullptr || color_ == Color::kNone ? "" : color_of(m->median(), best);
      s += color + text + (*color != 0 ? "\033[0m" : "") + "  ";
    }
    s += "\n";
  }
  return s + "\nTimes are in " + unit_name(unit) + " (" + unit + ").\n";
}

std::string Compare::str() const {
  const std::vector<Measurement> merged = Measurement::merge(results_);
  std::vector<std::string> labels;
  for (const Measurement& m : merged) place_of(&labels, m.task_spec().label);
  std::string s;
  for (const std::string& label : labels) {
    std::vector<const Measurement*> group;
    for (const Measurement& m : merged)
      if (m.task_spec().label == label) group.push_back(&m);
    s += table(group);
  }
  const bool any = std::any_of(merged.begin(), merged.end(), [](const Measurement& m) { return m.has_warnings(); });
  if (warnings_ && any) s += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n";
  return s;
}

void Compare::print() const { std::fputs(str().c_str(), stdout); }

}  // namespace torch::utils::benchmark
