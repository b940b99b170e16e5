// Writes the C++ table of a recording's expressions:
//
//   expressions_main RECORDINGS.tar.gz FAMILY OUT.cc...
//
// The last file finds an expression by its text; the others hold the expressions as they stand, spread evenly so that
// none takes long to compile. A case whose id begins with "error/" is a call, any other one a value with a stream form.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/conformance/case_set.h"

namespace {

using Json = nlohmann::json;

constexpr const char* kHead = R"(#include <torch/torch.h>

#include "tests/recorded/expressions.h"

namespace nn = torch::nn;
namespace F = torch::nn::functional;

)";

// What `id` records is run by a function of this body.
std::string body_of(const std::string& id, const std::string& expression) {
  if (id.rfind("error/", 0) == 0) return expression + "; return {};";
  return "return recorded::outcome_of([] { return " + expression + "; }());";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string part_name(size_t part) { return "expressions_" + std::to_string(part); }

std::vector<Json> read_cases(const std::string& archive, const std::string& family) {
  const std::string lines = conformance::CaseSet(archive).read(family + ".jsonl");
  std::vector<Json> cases;
  for (size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    Json one = Json::parse(lines.begin() + at, lines.begin() + end);
    if (one.contains("id")) cases.push_back(std::move(one));
  }
  return cases;
}

void write_part(const std::string& path, const std::vector<Json>& cases, size_t part, size_t parts) {
  std::ofstream out(path);
  out << kHead << "extern const recorded::Expression " << part_name(part) << "[];\n"
      << "const recorded::Expression " << part_name(part) << "[] = {\n";
  for (size_t i = part; i < cases.size(); i += parts) {
    const std::string expression = cases[i].at("expression");
    out << "    {" << quoted(expression) << ", []() -> recorded::Outcome { " << body_of(cases[i].at("id"), expression)
        << " }},\n";
  }
  out << "    {nullptr, nullptr},\n};\n";
}

void write_table(const std::string& path, size_t parts) {
  std::ofstream out(path);
  out << "#include \"tests/recorded/expressions.h\"\n\n";
  for (size_t part = 0; part < parts; ++part)
    out << "extern const recorded::Expression " << part_name(part) << "[];\n";
  out << "\nnamespace recorded {\n\nconst Expression* find_expression(const std::string& text) {\n"
      << "  for (const Expression* part : {";
  for (size_t part = 0; part < parts; ++part) out << (part == 0 ? "" : ", ") << part_name(part);
  out << "}) {\n    for (; part->text != nullptr; ++part) {\n      if (text == part->text) return part;\n    }\n  }\n"
      << "  return nullptr;\n}\n\n}  // namespace recorded\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: expressions_main RECORDINGS.tar.gz FAMILY OUT.cc...\n");
    return 1;
  }
  const size_t parts = static_cast<size_t>(argc) - 4;
  try {
    const std::vector<Json> cases = read_cases(argv[1], argv[2]);
    for (size_t part = 0; part < parts; ++part) write_part(argv[3 + part], cases, part, parts);
    write_table(argv[argc - 1], parts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "expressions_main: %s\n", error.what());
    return 1;
  }
  return 0;
}
