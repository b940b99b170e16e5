#include "aten/codegen/evidence.h"

#include <algorithm>
#include <sstream>

namespace kindling::codegen {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether the text calls at::name, x.name or one of their in-place and out= forms.
bool calls(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if (at == 0 || is_name(text[at - 1]) || (text[at - 1] != ':' && text[at - 1] != '.')) continue;
    size_t end = at + name.size();
    if (text.compare(end, 4, "_out") == 0)
      end += 4;
    else if (text.compare(end, 1, "_") == 0)
      end += 1;
    if (end < text.size() && !is_name(text[end])) return true;
  }
  return false;
}

std::string stem_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  return file.substr(0, file.find('.'));
}
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return "";
  const size_t before = path.rfind('/', slash - 1);
  return path.substr(before == std::string::npos ? 0 : before + 1,
                     slash - (before == std::string::npos ? 0 : before + 1));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string base_name(const Operator& op) {
  const std::string name = op.main.schema.qualified_name();
  return name.substr(0, name.find('.'));
}

}  // namespace

void Evidence::add(const std::string& path, const std::string& text) {
  if (ends_with(path, "_test.cc")) return tests_.push_back({stem_of(path), text});
  if (ends_with(path, "_benchmark.cc")) return benchmarks_.push_back({stem_of(path), text});
  std::istringstream lines(text);
  if (stem_of(path) == "accuracy") {
    // Every name in backquotes.
    for (size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at + 1)) {
      const size_t end = text.find('`', at + 1);
      if (end == std::string::npos) break;
      cases_[text.substr(at + 1, end - at - 1)].push_back("accuracy");
      at = end;
    }
    // | `name` | float32 | float64 | complex64 | complex128 | remarks |
    for (std::string line; std::getline(lines, line);) {
      if (line.compare(0, 3, "| `") != 0) continue;
      const std::string name = line.substr(3, line.find('`', 3) - 3);
      std::istringstream cells(line.substr(line.find('|', 3) + 1));
      std::string said;
      for (const char* dtype : {"float32 ", "float64 ", "complex64 ", "complex128 ", ""}) {
        std::string cell;
        std::getline(cells, cell, '|');
        cell.erase(0, cell.find_first_not_of(' '));
        cell.erase(cell.find_last_not_of(' ') + 1);
        if (!cell.empty()) said += (said.empty() ? "" : *dtype ? ", " : "; ") + (dtype + cell);
      }
      accuracy_.emplace(name.substr(0, name.find('.')), said);
    }
    return;
  }
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string name = line.substr(0, line.find_first_of(": \t"));
    std::replace(name.begin(), name.end(), '@', '.');
    if (stem_of(path) == "operator_dtypes") {
      dtypes_[name] = line.substr(line.find(' ') + 1);
      continue;
    }
    std::vector<std::string>& tables = cases_[name];
    const std::string label = folder_of(path);
    if (tables.empty() || tables.back() != label) tables.push_back(label);
  }
}

std::string Evidence::dtypes(const Operator& op) const {
  const auto found = dtypes_.find(op.main.schema.qualified_name());
  return found == dtypes_.end() ? "" : found->second;
}

std::string Evidence::sources(const std::vector<File>& files, const Operator& op) const {
  std::vector<std::string> labels;
  for (const File& file : files) {
    if (calls(file.text, base_name(op)) && std::find(labels.begin(), labels.end(), file.label) == labels.end())
      labels.push_back(file.label);
  }
  return joined(labels);
}

std::string Evidence::tests(const Operator& op) const {
  std::vector<std::string> labels;
  const std::string name = op.main.schema.qualified_name();
  for (const std::string& key : {name, base_name(op)}) {
    const auto found = cases_.find(key);
    if (found == cases_.end()) continue;
    for (const std::string& label : found->second) {
      // Only the document of accuracies speaks of all overloads by one name.
      if (key != name && label != "accuracy") continue;
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
    }
  }
  const std::string files = sources(tests_, op);
  if (!files.empty()) labels.push_back(files);
  return joined(labels);
}

std::string Evidence::accuracy(const std::string& name) const {
  const auto found = accuracy_.find(name);
  return found == accuracy_.end() ? "" : found->second;
}

std::string Evidence::benchmarks(const Operator& op) const {
  return sources(benchmarks_, op);
}

}  // namespace kindling::codegen
