// Which dtypes each operator takes: generated calls whose arguments fit together, with the tensors of the first
// tensor's dtype changed to every other one. Prints docs/operator_dtypes.txt:
//   bazel run //tests/fuzz:dtypes > docs/operator_dtypes.txt
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "c10/dispatch/registry.h"
#include "tests/fuzz/call_generator.h"
#include "tests/fuzz/runner.h"

namespace fuzz {
namespace {

using at::ScalarType;
using at::Tensor;

constexpr int kCalls = 40;

// The first tensor of a call, alone or in a list; undefined where there is none.
Tensor first_tensor(const c10::Stack& stack) {
  for (const c10::IValue& value : stack) {
    if (value.isTensor() && value.toTensor().defined()) return value.toTensor();
    if (value.isTensorList() && !value.toTensorVector().empty()) return value.toTensorVector()[0];
  }
  return {};
}

// The call with every tensor of dtype `from` in dtype `to`.
c10::Stack in_dtype(const c10::Stack& stack, ScalarType from, ScalarType to) {
  c10::Stack changed;
  const auto change = [&](const Tensor& t) { return t.defined() && t.scalar_type() == from ? at::to(t, to) : t; };
  for (const c10::IValue& value : stack) {
    if (value.isTensor()) {
      changed.emplace_back(change(value.toTensor()));
    } else if (value.isTensorList()) {
      std::vector<c10::IValue> list;
      for (const Tensor& t : value.toTensorVector()) list.emplace_back(change(t));
      changed.emplace_back(std::move(list));
    } else {
      changed.push_back(value);
    }
  }
  return changed;
}

// Adds to `types` the ones of `all` in which the operator's generated call of this number gives a result.
void try_call(
    const c10::OperatorHandle& op, uint64_t number, const std::vector<ScalarType>& all, std::set<ScalarType>& types) {
  limit_memory();
  try {
    c10::Stack stack = generate_call(op.schema(), 11, number, Temper::kTame);
    const Tensor first = first_tensor(stack);
    if (!first.defined() || first.numel() == 0) return;
    bool written = false;
    for (ScalarType type : all) {
      if (types.count(type) != 0) continue;
      limit_memory();
      // What a call writes to, the next one must not see.
      if (written) stack = generate_call(op.schema(), 11, number, Temper::kTame);
      try {
        c10::Stack changed = in_dtype(stack, first.scalar_type(), type);
        written = op.schema().is_mutable();
        op.callBoxed(changed);
        types.insert(type);
      } catch (const std::exception&) {
      }
    }
  } catch (const std::exception&) {
  }
}

// Groups where all of their members work.
std::string words(const std::set<ScalarType>& types) {
  const std::vector<std::pair<const char*, std::vector<ScalarType>>> groups = {
      {"floating", {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}},
      {"complex", {at::kComplexFloat, at::kComplexDouble}},
      {"integers", {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong}},
      {"bool", {at::kBool}},
      {"unsigned", {at::kUInt16, at::kUInt32, at::kUInt64}},
      {"float8",
       {at::kFloat8_e5m2, at::kFloat8_e4m3fn, at::kFloat8_e5m2fnuz, at::kFloat8_e4m3fnuz, at::kFloat8_e8m0fnu}}};
  const std::map<ScalarType, const char*> names = {{at::kHalf, "half"},
                                                   {at::kBFloat16, "bfloat16"},
                                                   {at::kFloat, "float"},
                                                   {at::kDouble, "double"},
                                                   {at::kComplexFloat, "complex64"},
                                                   {at::kComplexDouble, "complex128"},
                                                   {at::kByte, "uint8"},
                                                   {at::kChar, "int8"},
                                                   {at::kShort, "int16"},
                                                   {at::kInt, "int32"},
                                                   {at::kLong, "int64"},
                                                   {at::kUInt16, "uint16"},
                                                   {at::kUInt32, "uint32"},
                                                   {at::kUInt64, "uint64"},
                                                   {at::kFloat8_e5m2, "float8_e5m2"},
                                                   {at::kFloat8_e4m3fn, "float8_e4m3fn"},
                                                   {at::kFloat8_e5m2fnuz, "float8_e5m2fnuz"},
                                                   {at::kFloat8_e4m3fnuz, "float8_e4m3fnuz"},
                                                   {at::kFloat8_e8m0fnu, "float8_e8m0fnu"}};
  std::string text;
  const auto add = [&](const char* word) { text += (text.empty() ? "" : ", ") + std::string(word); };
  for (const auto& [name, members] : groups) {
    size_t found = 0;
    for (ScalarType t : members) found += types.count(t);
    if (found == members.size()) {
      add(name);
    } else {
      for (ScalarType t : members) {
        if (types.count(t) != 0) add(names.at(t));
      }
    }
  }
  return text;
}

int run() {
  const Quiet quiet;
  std::printf(
      "# Made by bazel run //tests/fuzz:dtypes: the dtypes of the first tensor for which generated calls of an "
      "operator gave a "
      "result.\n# \"unsigned\" are those beyond uint8, \"float8\" all floating-point types of eight bits.\n");
  const std::vector<ScalarType> all = {at::kHalf,
                                       at::kBFloat16,
                                       at::kFloat,
                                       at::kDouble,
                                       at::kComplexFloat,
                                       at::kComplexDouble,
                                       at::kByte,
                                       at::kChar,
                                       at::kShort,
                                       at::kInt,
                                       at::kLong,
                                       at::kBool,
                                       at::kUInt16,
                                       at::kUInt32,
                                       at::kUInt64,
                                       at::kFloat8_e5m2,
                                       at::kFloat8_e4m3fn,
                                       at::kFloat8_e5m2fnuz,
                                       at::kFloat8_e4m3fnuz,
                                       at::kFloat8_e8m0fnu};
  std::set<std::string> names;
  for (const std::string& name : c10::Dispatcher::singleton().getAllOpNames()) names.insert(name);
  for (const std::string& name : names) {
    if (name.rfind("aten::", 0) != 0) continue;
    const size_t dot = name.find('.');
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
        name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
    std::set<ScalarType> types;
    for (uint64_t number = 0; number < kCalls && types.size() < all.size(); ++number) try_call(op, number, all, types);
    if (!types.empty()) std::printf("%s: %s\n", name.substr(6).c_str(), words(types).c_str());
  }
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return 0;
  std::fprintf(stderr, "dtypes: cannot write to standard output\n");
  return 1;
}

}  // namespace
}  // namespace fuzz

int main() {
  return fuzz::run();
}
