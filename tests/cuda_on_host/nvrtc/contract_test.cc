// What NVRTC does, of which the library and its stand-in must think alike, and that both take the text of every group:
// all functions of elements in all types, and random groups. No device is needed.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "c10/testing/message_of.h"
#include "compile/cuda/group_source.h"
#include "compile/cuda/nvrtc.h"
#include "compile/group/fuse.h"
#include "compile/group/testing/random_groups.h"
#include "graph/passes/shape_propagation.h"

namespace torch::compiler::cuda {
namespace {

using c10::ScalarType;
using c10::testing::message_of;

const char* const kText = "extern \"C\" __global__ void fused(float* p) { *p = 1; }\n";

nvrtcResult compile(nvrtcProgram program, std::vector<const char*> options) {
  return nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
}

TEST(Nvrtc, Statuses) {
  int count = 0;
  ASSERT_EQ(nvrtcGetNumSupportedArchs(&count), NVRTC_SUCCESS);
  std::vector<int> known(static_cast<size_t>(count));
  ASSERT_EQ(nvrtcGetSupportedArchs(known.data()), NVRTC_SUCCESS);
  EXPECT_NE(std::find(known.begin(), known.end(), 90), known.end());
  EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));

  nvrtcProgram program = nullptr;
  ASSERT_EQ(nvrtcCreateProgram(&program, kText, "one.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(compile(program, {"--no-such-option"}), NVRTC_ERROR_INVALID_OPTION);
  ASSERT_EQ(compile(program, {"--gpu-architecture=sm_90a", "--std=c++20", "--fmad=false"}), NVRTC_SUCCESS);
  size_t bytes = 0;
  ASSERT_EQ(nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
  ASSERT_GT(bytes, 4u);
  std::vector<char> image(bytes);
  ASSERT_EQ(nvrtcGetCUBIN(program, image.data()), NVRTC_SUCCESS);
  EXPECT_EQ(std::memcmp(image.data(), "\177ELF", 4), 0);
  ASSERT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  EXPECT_EQ(program, nullptr);

  // PTX for an architecture that is no device's.
  ASSERT_EQ(nvrtcCreateProgram(&program, kText, "two.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  ASSERT_EQ(compile(program, {"--gpu-architecture=compute_90", "--fmad=false"}), NVRTC_SUCCESS);
  ASSERT_EQ(nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  ASSERT_EQ(nvrtcGetPTXSize(program, &bytes), NVRTC_SUCCESS);
  EXPECT_GT(bytes, 4u);
  ASSERT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);

  ASSERT_EQ(nvrtcCreateProgram(&program, "__global__ void k() { wrong; }", "three.cu", 0, nullptr, nullptr),
            NVRTC_SUCCESS);
  EXPECT_EQ(compile(program, {"--gpu-architecture=sm_90a", "--fmad=false"}), NVRTC_ERROR_COMPILATION);
  ASSERT_EQ(nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
  std::string log(bytes, '\0');
  ASSERT_EQ(nvrtcGetProgramLog(program, log.data()), NVRTC_SUCCESS);
  EXPECT_NE(log.find("wrong"), std::string::npos);
  EXPECT_EQ(log.back(), '\0');
  ASSERT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

TEST(Nvrtc, Sources) {
  EXPECT_FALSE(compile_source(kText, 9, 0).empty());
  EXPECT_FALSE(compile_source(kText, 99, 0).empty());
  const std::string said = message_of<CompileError>([] { compile_source("__global__ void k() { wrong; }", 9, 0); });
  EXPECT_NE(said.find("sm_90a"), std::string::npos) << said;
  EXPECT_NE(said.find("wrong"), std::string::npos) << said;
  EXPECT_NE(message_of<CompileError>([] { compile_source(kText, 2, 0); }).find("2.0"), std::string::npos);
}

void expect_compiles(const Group& group, bool all_forms = false) {
  const KernelSource source = print_kernel(group);
  if (source.numel == 0) return;
  // All forms in one.
  std::string text = prelude() + source.functions;
  for (size_t i = 0; i < kKernelForms; ++i) {
    std::string kernel = source.kernels[i];
    if (const size_t at = kernel.find(" fused("); at != std::string::npos) kernel.insert(at + 6, std::to_string(i));
    if (i == 0 || all_forms) text += kernel;
  }
  try {
    EXPECT_FALSE(compile_source(text, 9, 0).empty());
  } catch (const c10::Error& error) {
    ADD_FAILURE() << error.what() << "\n" << print(group) << source.functions << source.kernels[0];
  }
}

graph::TensorInfo info(ScalarType dtype, std::vector<graph::IntExpr> sizes, std::vector<graph::IntExpr> strides) {
  graph::TensorInfo made;
  made.dtype = dtype;
  made.sizes = std::move(sizes);
  made.strides = std::move(strides);
  return made;
}

// Every function of elements that is there for a type.
Group of_all_functions(ScalarType dtype) {
  Group group;
  // Of runs whose neighbours are not taken together: less to compile.
  group.sizes = {2, 33};
  for (int i = 0; i < 3; ++i) group.inputs.push_back({info(dtype, {2, 33}, {40, 1}), {}});
  const ScalarType type = register_type(dtype);
  const auto add = [&](Operation op) {
    Lowered alone;
    alone.operations.push_back(op);
    if (!prints(alone)) return;
    group.outputs.push_back(
        {{Ref::Kind::kOperation, static_cast<uint32_t>(group.operations.size())}, info(op.dtype, {2, 33}, {33, 1})});
    group.operations.push_back(std::move(op));
  };
  for (int p = 0; p <= static_cast<int>(Primitive::kWhere); ++p) {
    const auto primitive = static_cast<Primitive>(p);
    const PrimitiveInfo& of = info_of(primitive);
    if (of.loop == nullptr || at::cpu::find_loop(*of.loop, type) == nullptr) continue;
    Operation op{primitive, type, of.form == Form::kPredicate ? ScalarType::Bool : dtype, {}, {}};
    for (uint32_t i = 0; i < of.operands; ++i) op.operands.push_back({Ref::Kind::kInput, i});
    for (int i = 0; i < of.parameters; ++i) op.parameters.emplace_back(i + 1);
    add(std::move(op));
  }
  group.row_begin = group.operations.size();
  return group;
}

// All conversions.
Group of_all_conversions() {
  constexpr ScalarType kDtypes[] = {ScalarType::Byte, ScalarType::Char,    ScalarType::Short, ScalarType::Int,
                                    ScalarType::Long, ScalarType::Half,    ScalarType::Float, ScalarType::Double,
                                    ScalarType::Bool, ScalarType::BFloat16};
  Group group;
  group.sizes = {2, 33};
  for (const ScalarType from : kDtypes) {
    const Ref input{Ref::Kind::kInput, static_cast<uint32_t>(group.inputs.size())};
    group.inputs.push_back({info(from, {2, 33}, {40, 1}), {}});
    for (const ScalarType to : kDtypes) {
      group.outputs.push_back(
          {{Ref::Kind::kOperation, static_cast<uint32_t>(group.operations.size())}, info(to, {2, 33}, {33, 1})});
      group.operations.push_back({Primitive::kConvert, register_type(to), to, {input}, {}});
    }
  }
  group.row_begin = group.operations.size();
  return group;
}

TEST(Nvrtc, AllFunctionsInAllTypes) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Short, ScalarType::Long}) {
    SCOPED_TRACE(dtype);
    const Group group = of_all_functions(dtype);
    EXPECT_GT(group.operations.size(), 25u);
    expect_compiles(group);
  }
  expect_compiles(of_all_conversions());
}

TEST(Nvrtc, RandomGroups) {
  size_t count = 0;
  for (unsigned seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto& sizes = testing::shapes()[(3 * seed + 1) % testing::shapes().size()];
    const testing::RandomGroup program = testing::random_group(seed, sizes, {.nodes = 14, .rows = seed % 2 == 0});
    graph::propagate_shapes(*program.graph, program.inputs);
    FuseOptions options;
    options.min_nodes = 1;
    options.allows = [](const graph::Node& node) {
      const auto lowered = lower(node);
      return lowered.has_value() && prints(*lowered);
    };
    for (const FusedPart& part : fuse(*program.graph, options)) {
      expect_compiles(part.group);
      ++count;
    }
  }
  EXPECT_GT(count, 4u);
}

TEST(Nvrtc, Rows) {
  struct Case {
    RowFunction function;
    ScalarType dtype;
    int64_t row;
  };
  for (const auto& [function, dtype, row] :
       {Case{RowFunction::kSoftmax, ScalarType::Float, 64}, Case{RowFunction::kLogSoftmax, ScalarType::Double, 7},
        Case{RowFunction::kLayerNorm, ScalarType::Half, 2048}}) {
    Group group;
    group.sizes = {5, row};
    for (int i = 0; i < 2; ++i) group.inputs.push_back({info(dtype, {5, row}, {row, 1}), {}});
    group.inputs.push_back({info(dtype, {row}, {1}), {}});
    const ScalarType type = register_type(dtype);
    group.operations.push_back({Primitive::kAdd, type, dtype, {{Ref::Kind::kInput, 0}, {Ref::Kind::kInput, 1}}, {}});
    group.row_begin = 1;
    group.row = RowOperation{function, {Ref::Kind::kOperation, 0}, dtype, 1, {}, {}, 1e-5};
    if (function == RowFunction::kLayerNorm) group.row->weight = group.row->bias = Ref{Ref::Kind::kInput, 2};
    group.operations.push_back({Primitive::kMul, type, dtype, {{Ref::Kind::kRow, 0}, {Ref::Kind::kInput, 1}}, {}});
    group.outputs.push_back({{Ref::Kind::kOperation, 1}, info(dtype, {5, row}, {row, 1})});
    group.outputs.push_back({{Ref::Kind::kOperation, 0}, info(dtype, {5, row}, {row, 1})});
    expect_compiles(group, /*all_forms=*/true);
  }
}

// More than 2^31 elements apart.
TEST(Nvrtc, LongStrides) {
  Group group = of_all_functions(ScalarType::Float);
  group.operations.resize(1);
  group.outputs.resize(1);
  group.row_begin = 1;
  group.sizes = {4, 64};
  for (GroupInput& input : group.inputs) input.info = info(ScalarType::Float, {64}, {1});
  group.outputs[0].info = info(group.operations[0].dtype, {4, 64}, {64, 1});
  group.inputs[0].info = info(ScalarType::Float, {4, 64}, {int64_t{1} << 40, 1});
  EXPECT_TRUE(print_kernel(group).wide);
  expect_compiles(group);
  group.inputs[0].info = info(ScalarType::Float, {4, 64}, {1 << 20, 1});
  EXPECT_FALSE(print_kernel(group).wide);
  expect_compiles(group);
}

TEST(GroupSource, RefusesWhatIsNoGroup) {
  const Group good = of_all_functions(ScalarType::Float);
  Group bad = good;
  bad.operations[2].operands.pop_back();
  EXPECT_NE(message_of<c10::ValueError>([&] { print_kernel(bad); }), "");
  bad = good;
  bad.operations[0].primitive = Primitive::kLgamma;
  EXPECT_NE(message_of<c10::ValueError>([&] { print_kernel(bad); }).find("lgamma"), std::string::npos);
  bad = good;
  bad.outputs[0].info.sizes = {5};
  EXPECT_NE(message_of<c10::ValueError>([&] { print_kernel(bad); }), "");
  bad = good;
  bad.row = RowOperation{RowFunction::kSoftmax, {Ref::Kind::kInput, 0}, ScalarType::Float, 3, {}, {}, 0};
  EXPECT_NE(message_of<c10::ValueError>([&] { print_kernel(bad); }).find("3 dimensions"), std::string::npos);
  bad.row->dims = 1;
  bad.row->dtype = ScalarType::Long;
  EXPECT_NE(message_of<c10::ValueError>([&] { print_kernel(bad); }).find("Long"), std::string::npos);
}

}  // namespace
}  // namespace torch::compiler::cuda
