#include <sstream>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

constexpr size_t kWidth = 128;

// The paragraphs of `text`, filled, each line behind `start`.
std::string filled(const std::string& text, const std::string& start) {
  std::string out;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line = start;
    for (std::string word; words >> word;) {
      if (line.size() + 1 + word.size() > kWidth && line != start) {
        out += line + "\n";
        line = start;
      }
      line += " " + word;
    }
    if (line != start) out += line + "\n";
  }
  return out;
}

const std::string& name_of(const Operator& op) { return op.main.schema.name(); }

bool foreach_name(const std::string& name) { return name.rfind("_foreach_", 0) == 0; }

// "in_place_" without its underscore where it is the name of an in-place form.
std::string subject_of(const std::string& name) {
  const std::string each = name.substr(std::string("_foreach_").size());
  return each.size() > 1 && each.back() == '_' ? each.substr(0, each.size() - 1) : each;
}

// What the entries of a name say together.
struct Said {
  const Operator* documented = nullptr;
  const Operator* first = nullptr;
  bool kernel = false;
  bool alias = true;
};

Said said_of(const Table& table, const std::string& name) {
  Said said;
  for (const Operator& op : table.operators) {
    if (name_of(op) != name) continue;
    if (said.first == nullptr) said.first = &op;
    if (said.documented == nullptr && !op.entry.doc().empty()) said.documented = &op;
    said.kernel |= op.has_kernel();
    said.alias &= op.alias();
  }
  return said;
}

}  // namespace

std::string doc_comment(const Table& table, const std::string& name, const Evidence& evidence) {
  const Said said = said_of(table, name);
  const std::string start = "///";
  if (!said.kernel) return filled("Declared only: a call throws NotImplementedError.", start);
  if (said.alias) return filled("Another name of `" + said.first->alias_name() + "`.", start);
  if (said.documented == nullptr && said.first->copies()) {
    if (said.first->changes_copy()) {
      return filled("What `" + said.first->entry.copy_of() + "` makes of a copy of self. Throws as that does.", start);
    }
    return filled("What `" + said.first->entry.copy_of() + "` gives, in memory of its own. Throws as that does.", start);
  }
  if (foreach_name(name) && said.documented == nullptr) {
    return filled("`" + subject_of(name) + "` of each tensor of the lists in one pass over all of them. A number serves all, a list of numbers has one for each.", start);
  }
  if (said.documented == nullptr) return "";
  const Op& entry = said.documented->entry;
  std::string out = filled(entry.doc(), start);
  std::string facts;
  const std::string dtypes = evidence.dtypes(*said.documented);
  if (!dtypes.empty()) facts += "Dtypes: " + dtypes + ".";
  const std::string accuracy = evidence.accuracy(name);
  if (!accuracy.empty()) facts += (facts.empty() ? "" : " ") + ("Accuracy in units of the last place: " + accuracy + ".");
  out += filled(facts, start);
  if (entry.example_size() > 0) out += start + "\n";
  for (const Example& example : entry.example()) {
    const std::string code = start + "   " + example.code(), gives = "  // " + example.gives();
    const bool fits = code.size() + gives.size() <= kWidth;
    out += code + (example.gives().empty() ? "" : fits ? gives : "\n" + start + " " + gives) + "\n";
  }
  return out;
}

std::string undocumented(const Table& table) {
  for (const Operator& op : table.operators) {
    const std::string& name = name_of(op);
    if (name[0] == '_' || !op.has_kernel() || op.alias() || op.copies()) continue;
    const Said said = said_of(table, name);
    if (said.documented == nullptr) return "operator \"" + op.entry.schema() + "\": doc is missing";
    if (said.documented->entry.example_size() == 0) return "operator \"" + said.documented->entry.schema() + "\": an example is missing";
  }
  return "";
}

std::string emit_examples(const Table& table) {
  std::string tests;
  for (const Operator& op : table.operators) {
    int number = 0;
    for (const Example& example : op.entry.example()) {
      const std::string title = op.main.identifier() + "_" + std::to_string(++number);
      tests += "TEST(Examples_" + table.family + ", " + title + ") {\n";
      tests += example.gives().empty() ? "  text_of(" + example.code() + ");\n"
                                       : "  EXPECT_EQ(text_of(" + example.code() + "), " + quoted(example.gives()) + ");\n";
      tests += "}\n";
    }
  }
  return file_header(table) + "#include <gtest/gtest.h>\n\n#include \"tests/examples/text_of.h\"\n\nnamespace examples {\nnamespace {\n\n" + tests +
         "\n}  // namespace\n}  // namespace examples\n";
}

}  // namespace kindling::codegen
