// Groups of CUDA tensors as kernels that are compiled while the program runs: random ones against their operators one
// by one, in all orders of threads and pieces of launches; what they move; what is kept; what fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/device.h"
#include "c10/testing/message_of.h"
#include "compile/cuda/group_compiler.h"
#include "compile/cuda/group_source.h"
#include "compile/cuda/kernel_cache.h"
#include "compile/cuda/nvrtc.h"
#include "compile/group/fuse.h"
#include "compile/group/testing/random_groups.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "tests/cuda_on_host/nvrtc/standin.h"
#include "tests/cuda_on_host/runtime/fail.h"
#include "tests/cuda_on_host/runtime/library.h"
#include "tests/cuda_on_host/runtime/standin.h"
#include "tests/cuda_on_host/simt/counts.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace torch::compiler {
namespace {

using c10::IValue;
using c10::ScalarType;
using c10::Stack;
using c10::testing::message_of;
using graph::Graph;
using graph::Node;
using graph::testing::parse;
using Sizes = std::vector<int64_t>;

const c10::Device kDevice(c10::DeviceType::CUDA, 0);

// A CUDA tensor of the same layout, in memory that holds as much.
at::Tensor on_cuda(const at::Tensor& t) {
  const auto elements = static_cast<int64_t>(t.storage().nbytes() / t.itemsize());
  const at::Tensor all = at::to(at::as_strided(t, {elements}, {1}, 0), kDevice);
  return at::as_strided(all, t.sizes(), t.strides(), t.storage_offset());
}
Stack on_cuda(const Stack& inputs) {
  Stack moved;
  for (const IValue& v : inputs) moved.emplace_back(on_cuda(v.toTensor()));
  return moved;
}
at::Tensor on_cpu(const at::Tensor& t) {
  return at::to(t, c10::Device(c10::DeviceType::CPU));
}

// Empty where both have the same elements, bit for bit, but for which NaN they are.
std::string difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.device() != kDevice || b.device() != kDevice) return "other devices";
  if (a.scalar_type() != b.scalar_type()) return "other dtypes";
  if (a.sizes() != b.sizes()) return "other sizes";
  if (a.strides() != b.strides()) return c10::str("strides ", a.strides(), " and ", b.strides());
  at::Tensor x = at::clone(on_cpu(a), c10::MemoryFormat::Contiguous);
  at::Tensor y = at::clone(on_cpu(b), c10::MemoryFormat::Contiguous);
  if (x.is_floating_point()) {
    const at::Tensor p = at::isnan(x), q = at::isnan(y);
    if (!at::all(at::eq(p, q)).item().toBool()) return "other places of NaN";
    x = at::masked_fill(x, p, 0);
    y = at::masked_fill(y, q, 0);
  }
  if (x.nbytes() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) return "";
  return c10::str(at::sum(at::ne(x, y)).item(), " of ", x.numel(), " elements of ", x.scalar_type(), " differ");
}
std::string difference(const Stack& a, const Stack& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string found = difference(a[i].toTensor(), b.at(i).toTensor());
    if (!found.empty()) return c10::str("output ", i, ": ", found);
  }
  return "";
}

at::Tensor made(const graph::TensorInfo& info) {
  Sizes sizes, strides;
  for (const graph::IntExpr& e : info.sizes) sizes.push_back(e.value());
  for (const graph::IntExpr& e : info.strides) strides.push_back(e.value());
  return at::empty_with_strides(sizes, strides, info.dtype, info.device);
}

struct Fused {
  explicit Fused(const Graph& graph, const Stack& inputs, const FuseOptions& options = {.min_nodes = 1})
      : whole(graph.clone()) {
    graph::propagate_shapes(*whole, inputs);
    parts = fuse(*whole, options);
    graph::verify(*whole);
  }
  void compile(int64_t most = cuda::kMostElements) {
    groups.clear();
    for (const FusedPart& part : parts) groups.push_back(cuda::compile_group(part.group, kDevice, most));
  }
  Stack run(const Stack& inputs) const {
    graph::Surroundings surroundings;
    surroundings.function = [&](const Node& node) -> std::function<void(Stack&)> {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].graph->name() != node.name()) continue;
        return [this, i](Stack& stack) {
          std::vector<const void*> from;
          std::vector<void*> to;
          Stack results;
          for (const IValue& v : stack) from.push_back(v.toTensor().const_data_ptr());
          for (const GroupOutput& output : parts[i].group.outputs) {
            results.emplace_back(made(output.info));
            to.push_back(results.back().toTensor().mutable_data_ptr());
          }
          groups[i]->run(from, to);
          stack = std::move(results);
        };
      }
      return nullptr;
    };
    Stack stack = inputs;
    graph::Interpreter(*whole, surroundings)(stack);
    return stack;
  }

  std::unique_ptr<Graph> whole;
  std::vector<FusedPart> parts;
  std::vector<std::unique_ptr<DeviceGroup>> groups;
};

Stack one_by_one(const Graph& graph, Stack inputs) {
  graph::Interpreter run(graph);
  run(inputs);
  return inputs;
}

// Returns how many groups there were.
size_t expect_equal(const Graph& graph, const Stack& inputs, const std::vector<int64_t>& most = {cuda::kMostElements}) {
  const Stack want = one_by_one(graph, inputs);
  Fused fused(graph, inputs);
  for (const int64_t elements : most) {
    fused.compile(elements);
    std::string found;
    try {
      found = difference(want, fused.run(inputs));
    } catch (const c10::Error& error) {
      found = error.msg() + cuda_standin::misuse();
    }
    if (found.empty()) continue;
    ADD_FAILURE() << found << ", " << elements << " elements a launch\n" << graph::print(graph);
    for (const FusedPart& part : fused.parts) {
      std::printf("%s\n%s\n", print(part.group).c_str(),
                  (cuda::print_kernel(part.group).functions + cuda::print_kernel(part.group).kernels[0]).c_str());
    }
    break;
  }
  return fused.parts.size();
}

class CudaGroups : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cuda_standin::misuse(), "");
    simt::options() = {};
  }
};

using compiler::testing::random_group;
using compiler::testing::RandomGroup;
using compiler::testing::shapes;

// Of NaN a group promises that it is NaN, and not which sign it has.
bool looks_at_signs(const Graph& graph) {
  bool looks = false;
  graph.for_nodes([&](const Node* node) {
    looks = looks || node->calls("aten::signbit") || node->calls("aten::copysign.Tensor") ||
            node->calls("aten::copysign.Scalar");
  });
  return looks;
}

// How many; KINDLING_GROUPS says it for a longer run.
unsigned seeds(unsigned count) {
  const char* given = std::getenv("KINDLING_GROUPS");
  return given == nullptr ? count : static_cast<unsigned>(std::stoul(given));
}

TEST_F(CudaGroups, RandomOnes) {
  size_t parts = 0;
  for (unsigned seed = 0; seed < seeds(24); ++seed) {
    SCOPED_TRACE(seed);
    const RandomGroup program = random_group(seed, shapes()[seed % shapes().size()], {.nodes = 14});
    if (looks_at_signs(*program.graph)) continue;
    // Whole launches, and pieces of them.
    parts += expect_equal(*program.graph, on_cuda(program.inputs), {cuda::kMostElements, 32});
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(parts, 24u);
}

// 10.98, which is 11 in bfloat16.
TEST_F(CudaGroups, QuotientsOf16BitsByOneNumberAreNotRoundedFirst) {
  const auto graph = parse(R"(graph f(%x: Tensor, %y: Tensor) {
    %0: Tensor = aten::div.Tensor_mode(%x, %y, "trunc")
    %1: Tensor = aten::neg(%0)
    return %1
  })");
  for (const Sizes& sizes : {Sizes{}, Sizes{1}, Sizes{3}}) {
    const Stack inputs = on_cuda(Stack{at::full({3}, -7.9375, ScalarType::BFloat16),
                                       at::full(sizes, -0.72265625, ScalarType::BFloat16)});
    EXPECT_EQ(expect_equal(*graph, inputs), 1u);
  }
}

const char* const kGeluChain = R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
  %0: Tensor = aten::mul.Tensor(%x, %w)
  %1: Tensor = aten::add.Tensor(%0, %b, 1)
  %2: Tensor = aten::gelu(%1, "none")
  %3: Tensor = aten::add.Tensor(%2, %r, 1)
  return %3
})";

Stack chain(const Sizes& sizes, ScalarType dtype) {
  const Sizes row{sizes.back()};
  return on_cuda(Stack{at::to(at::randn(sizes), dtype), at::to(at::randn(row), dtype), at::to(at::randn(row), dtype),
                       at::to(at::randn(sizes), dtype)});
}

TEST_F(CudaGroups, DtypesAndLayouts) {
  const auto graph = parse(kGeluChain);
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Half}) {
    for (const Sizes& sizes : {Sizes{7, 64}, Sizes{3, 5, 21}, Sizes{9}}) {
      EXPECT_EQ(expect_equal(*graph, chain(sizes, dtype)), 1u);
    }
  }
  // Columns first; rows that begin at odd addresses.
  Stack inputs = chain({24, 40}, ScalarType::Float);
  inputs[0] = at::permute(on_cuda(at::randn({40, 24})), {1, 0});
  EXPECT_EQ(expect_equal(*graph, inputs), 1u);
  inputs[0] = at::slice(on_cuda(at::randn({24, 41})), 1, 1, 41);
  inputs[1] = at::slice(on_cuda(at::randn({41})), 0, 1, 41);
  EXPECT_EQ(expect_equal(*graph, inputs), 1u);
  inputs[0] = on_cuda(at::randn({24, 1}));
  EXPECT_EQ(expect_equal(*graph, inputs), 1u);
}

TEST_F(CudaGroups, TheSameInAllOrders) {
  const auto graph = parse(kGeluChain);
  for (const simt::Order order : {simt::Order::kForward, simt::Order::kReverse, simt::Order::kRandom}) {
    simt::options().order = order;
    EXPECT_EQ(expect_equal(*graph, chain({6, 130}, ScalarType::Float)), 1u);
    EXPECT_EQ(expect_equal(*graph, chain({40, 33}, ScalarType::Half)), 1u);
  }
}

// What a program gives at another time may begin elsewhere.
TEST_F(CudaGroups, AddressesThatAreNotAligned) {
  const auto graph = parse(kGeluChain);
  Stack inputs = chain({512}, ScalarType::Float);
  Fused fused(*graph, inputs);
  fused.compile();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Stack moved = inputs;
    moved[i] = at::slice(on_cuda(at::randn({513})), 0, 1, 513);
    EXPECT_EQ(difference(one_by_one(*graph, moved), fused.run(moved)), "") << i;
  }
}

TEST_F(CudaGroups, ConstantsAndNumbersOnTheCpu) {
  Graph graph("constants");
  graph::Value* const x = graph.block().add_input(c10::TensorType::get(), "x");
  const at::Tensor constant = on_cuda(at::randn({6}));
  graph::Value* v = graph.block().append(graph.call(testing::find("mul.Tensor"), {x, IValue(constant)}))->result();
  v = graph.block()
          .append(graph.call(testing::find("mul.Tensor"), {v, IValue(at::wrapped_scalar_tensor(0.1))}))
          ->result();
  v = graph.block().append(graph.call(testing::find("neg"), {v}))->result();
  graph.block().set_outputs({v});
  const Stack inputs = on_cuda(Stack{at::randn({5, 6})});
  Fused fused(graph, inputs);
  ASSERT_EQ(fused.parts.size(), 1u);
  EXPECT_EQ(fused.parts[0].group.inputs.size(), 2u);
  fused.compile();
  EXPECT_EQ(difference(one_by_one(graph, inputs), fused.run(inputs)), "");
  // Another number beside the tensors is one that may change.
  Graph other("other");
  graph::Value* const y = other.block().add_input(c10::TensorType::get(), "y");
  v = other.block().append(other.call(testing::find("mul.Tensor"), {y, IValue(at::scalar_tensor(0.1))}))->result();
  v = other.block().append(other.call(testing::find("neg"), {v}))->result();
  other.block().set_outputs({v});
  EXPECT_TRUE(Fused(other, inputs, {}).parts.empty());
}

// Constants of the graph, too.
std::unique_ptr<Graph> on_cuda(const Graph& graph) {
  std::unique_ptr<Graph> moved = graph.clone();
  for (Node* node : moved->block()) {
    for (size_t i = 0; i < node->operands().size(); ++i) {
      const graph::Operand& operand = node->operand(i);
      if (!operand.is_constant() || !operand.constant().isTensor()) continue;
      node->set_operand(i, IValue(on_cuda(operand.constant().toTensor())));
    }
  }
  return moved;
}

TEST_F(CudaGroups, RandomOnesWithRows) {
  size_t rows = 0;
  for (unsigned seed = 200; seed < 200 + seeds(12); ++seed) {
    SCOPED_TRACE(seed);
    const RandomGroup program = random_group(seed, shapes()[seed % shapes().size()], {.nodes = 10, .rows = true});
    if (looks_at_signs(*program.graph)) continue;
    const auto graph = on_cuda(*program.graph);
    const Stack inputs = on_cuda(program.inputs);
    expect_equal(*graph, inputs, {cuda::kMostElements, 32});
    if (::testing::Test::HasFailure()) return;
    for (const FusedPart& part : Fused(*graph, inputs).parts) rows += part.group.row.has_value();
  }
  EXPECT_GT(rows, 3u);
}

// Rows of a warp and of a block, with what stands before and behind them, in all orders.
TEST_F(CudaGroups, Rows) {
  const auto softmax = parse(R"(graph f(%x: Tensor, %m: Tensor) {
    %0: Tensor = aten::mul.Scalar(%x, 0.125)
    %1: Tensor = aten::add.Tensor(%0, %m, 1)
    %2: Tensor = aten::softmax.int(%1, -1, None)
    %3: Tensor = aten::mul.Tensor(%2, %x)
    return %3, %2
  })");
  const auto norm = parse(R"(graph f(%x: Tensor, %r: Tensor, %w: Tensor, %b: Tensor) {
    %0: Tensor = aten::add.Tensor(%x, %r, 1)
    %1: Tensor = aten::layer_norm(%0, [5, 40], %w, %b, 1e-05, True)
    %2: Tensor = aten::relu(%1)
    return %2, %0
  })");
  for (const simt::Order order : {simt::Order::kForward, simt::Order::kReverse, simt::Order::kRandom}) {
    simt::options().order = order;
    for (const ScalarType dtype : {ScalarType::Float, ScalarType::Half}) {
      for (const Sizes& sizes : {Sizes{4, 5, 33}, Sizes{20, 64}, Sizes{3, 400}, Sizes{2, 1030}}) {
        const Stack inputs = on_cuda(Stack{at::to(at::randn(sizes), dtype), at::to(at::randn({sizes.back()}), dtype)});
        EXPECT_EQ(expect_equal(*softmax, inputs, {cuda::kMostElements, 64}), 1u);
      }
    }
    const at::Tensor w = at::randn({5, 40}), b = at::permute(at::randn({40, 5}), {1, 0});
    const at::Tensor x = at::randn({6, 5, 40}), turned = at::permute(at::randn({6, 40, 5}), {0, 2, 1});
    EXPECT_EQ(expect_equal(*norm, on_cuda(Stack{x, at::randn({6, 5, 40}), w, at::randn({5, 40})})), 1u);
    EXPECT_EQ(expect_equal(*norm, on_cuda(Stack{turned, at::randn({6, 5, 1}), w, b})), 1u);
  }
  // Rows that registers hold and that they do not, of many rows and of few.
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double}) {
    for (const Sizes& sizes : {Sizes{1060, 260}, Sizes{2, 600}, Sizes{2, 1200}, Sizes{2, 8200}}) {
      const Stack inputs = on_cuda(Stack{at::to(at::randn(sizes), dtype), at::to(at::randn({sizes.back()}), dtype)});
      EXPECT_EQ(expect_equal(*softmax, inputs), 1u);
    }
  }
}

// Where the operator reads a row at an odd address it takes its elements in another order, and so does the group.
TEST_F(CudaGroups, RowsAtOddAddresses) {
  const auto graph = parse(R"(graph f(%x: Tensor, %w: Tensor, %r: Tensor) {
    %0: Tensor = aten::layer_norm(%x, [264], %w, None, 1e-05, True)
    %1: Tensor = aten::add.Tensor(%0, %r, 1)
    return %1
  })");
  for (const auto& [dtype, of_weight] : {std::pair{ScalarType::Float, ScalarType::Float},
                                         std::pair{ScalarType::Half, ScalarType::Half},
                                         std::pair{ScalarType::BFloat16, ScalarType::Float}}) {
    const Stack inputs = on_cuda(Stack{at::to(at::randn({9, 264}), dtype), at::to(at::randn({264}), of_weight),
                                       at::to(at::randn({9, 264}), dtype)});
    Fused fused(*graph, inputs);
    ASSERT_EQ(fused.parts.size(), 1u);
    fused.compile();
    EXPECT_EQ(difference(one_by_one(*graph, inputs), fused.run(inputs)), "");
    for (size_t i = 0; i < inputs.size(); ++i) {
      Stack moved = inputs;
      const at::Tensor& t = inputs[i].toTensor();
      const at::Tensor longer = on_cuda(at::to(at::randn({t.numel() + 1}), t.scalar_type()));
      moved[i] = at::view(at::slice(longer, 0, 1, t.numel() + 1), t.sizes());
      EXPECT_EQ(difference(one_by_one(*graph, moved), fused.run(moved)), "") << dtype << " " << i;
    }
  }
}

// Operators that kernels of groups do not have stay what they are.
TEST_F(CudaGroups, WhatIsNotTaken) {
  const auto graph = parse(R"(graph f(%x: Tensor) {
    %0: Tensor = aten::mul.Scalar(%x, 0.5)
    %1: Tensor = aten::sin(%0)
    %2: Tensor = aten::lgamma(%1)
    %3: Tensor = aten::neg(%2)
    %4: Tensor = aten::exp(%3)
    return %4
  })");
  EXPECT_EQ(expect_equal(*graph, on_cuda(Stack{at::randn({4, 9})})), 2u);
}

// What a group reads and writes goes once through memory, in vectors.
TEST_F(CudaGroups, Traffic) {
#ifndef __clang__
  GTEST_SKIP() << "only Clang reports accesses";
#endif
  if (!simt::options().watch) GTEST_SKIP() << "a sanitizer looks in the executor's stead";
  constexpr int64_t kElements = 1 << 15;
  struct Row {
    const char* name;
    const char* program;
    ScalarType dtype;
    Sizes sizes;
    double asked;  // bytes in sectors of all requests, of the least
  };
  const char* const softmax = R"(graph f(%x: Tensor, %w: Tensor, %b: Tensor, %r: Tensor) {
    %0: Tensor = aten::add.Tensor(%x, %r, 1)
    %1: Tensor = aten::softmax.int(%0, -1, None)
    return %1
  })";
  for (const Row& row : {Row{"floats", kGeluChain, ScalarType::Float, {kElements}, 1.01},
                         Row{"halves", kGeluChain, ScalarType::Half, {kElements}, 1.01},
                         Row{"rows of floats", kGeluChain, ScalarType::Float, {kElements / 256, 256}, 1.7},
                         Row{"softmax", softmax, ScalarType::Float, {kElements / 256, 256}, 1.01},
                         Row{"softmax of halves", softmax, ScalarType::Half, {kElements / 2048, 2048}, 1.01}}) {
    const auto graph = parse(row.program);
    Stack inputs = chain(row.sizes, row.dtype);
    if (row.program == softmax) inputs[1] = inputs[2] = on_cuda(at::empty({0}));  // not used
    Fused fused(*graph, inputs);
    fused.compile();
    c10::cuda::device_synchronize();
    simt::start_counting();
    fused.run(inputs);
    c10::cuda::device_synchronize();
    simt::KernelCounts c;
    for (const auto& [kernel, counts] : simt::stop_counting()) c += counts;
    int64_t least = kElements * static_cast<int64_t>(c10::elementSize(row.dtype));  // of the result
    for (const IValue& v : inputs) least += static_cast<int64_t>(v.toTensor().nbytes());
    const double moved = 32.0 * static_cast<double>(c.loads.first_sectors + c.stores.first_sectors) / least;
    const double asked = 32.0 * static_cast<double>(c.loads.sectors + c.stores.sectors) / least;
    const double bytes =
        static_cast<double>(c.loads.bytes + c.stores.bytes) / static_cast<double>(c.loads.requests + c.stores.requests);
    std::printf("%-18s %.3f of the least bytes (%.3f asked for), %.1f bytes a request\n", row.name, moved, asked,
                bytes);
    EXPECT_EQ(c.launches, 1) << row.name;
    EXPECT_GE(moved, 0.99) << row.name;
    EXPECT_LE(moved, 1.01) << row.name;
    EXPECT_LE(asked, row.asked) << row.name;
    EXPECT_GE(bytes, 500) << row.name;
  }
}

TEST_F(CudaGroups, KernelsAreKept) {
  cuda::clear_kernel_cache();
  nvrtc_standin::reset();
  const auto graph = parse(kGeluChain);
  const auto groups_of = [&](const Sizes& sizes, ScalarType dtype = ScalarType::Float) {
    const Stack inputs = chain(sizes, dtype);
    Fused fused(*graph, inputs);
    fused.compile();
    EXPECT_EQ(difference(one_by_one(*graph, inputs), fused.run(inputs)), "");
    return std::move(fused.groups);
  };
  const auto before = cuda::kernel_cache_statistics();
  auto held = groups_of({8, 40});
  // Other sizes of the same kind have the same kernel.
  groups_of({3, 64});
  groups_of({2, 5, 12});
  auto now = cuda::kernel_cache_statistics();
  EXPECT_EQ(now.misses - before.misses, 1u);
  EXPECT_EQ(now.hits - before.hits, 2u);
  EXPECT_EQ(now.entries, 1u);
  EXPECT_GT(now.bytes, 0u);
  groups_of({8, 40}, ScalarType::Half);
  EXPECT_EQ(cuda::kernel_cache_statistics().entries, 2u);
  EXPECT_EQ(nvrtc_standin::compiled().size(), 2u);
  EXPECT_EQ(nvrtc_standin::compiled()[0].architecture, "sm_90a");
  EXPECT_EQ(cuda_standin::live_libraries(), 2u);
  // What goes is unloaded with the last that has it.
  cuda::set_kernel_cache_limit(1);
  EXPECT_EQ(cuda::kernel_cache_statistics().entries, 0u);
  EXPECT_EQ(cuda::kernel_cache_statistics().bytes, 0u);
  EXPECT_EQ(cuda_standin::live_libraries(), 1u);
  held.clear();
  EXPECT_EQ(cuda_standin::live_libraries(), 0u);
  groups_of({8, 40});
  EXPECT_EQ(cuda_standin::live_libraries(), 0u);
  cuda::set_kernel_cache_limit(size_t{256} << 20);
  EXPECT_EQ(nvrtc_standin::live_programs(), 0u);
}

TEST_F(CudaGroups, Compiler) {
  nvrtc_standin::reset();
  const std::string good = "extern \"C\" __global__ void fused(float* p) { *p = 1; }\n";
  EXPECT_FALSE(cuda::compile_source(good, 9, 0).empty());
  // A newer device gets PTX of the newest that the compiler knows, an older one nothing.
  EXPECT_FALSE(cuda::compile_source(good, 13, 0).empty());
  EXPECT_EQ(nvrtc_standin::compiled().back().architecture, "compute_100");
  EXPECT_NE(message_of<cuda::CompileError>([&] { cuda::compile_source(good, 6, 1); }).find("6.1"), std::string::npos);
  const std::string said =
      message_of<cuda::CompileError>([&] { cuda::compile_source("__global__ void fused() { what; }", 9, 0); });
  EXPECT_NE(said.find("NVRTC_ERROR_COMPILATION"), std::string::npos) << said;
  EXPECT_NE(said.find("fused_group.cu:1"), std::string::npos) << said;
  EXPECT_NE(said.find("what"), std::string::npos) << said;
  // Any call may fail.
  const uint64_t calls = [&] {
    nvrtc_standin::reset();
    cuda::compile_source(good, 9, 0);
    return nvrtc_standin::calls();
  }();
  EXPECT_EQ(calls, 6u);
  for (uint64_t n = 0; n < calls; ++n) {
    nvrtc_standin::reset({.fail_call = static_cast<int64_t>(n)});
    EXPECT_NE(message_of<cuda::CompileError>([&] { cuda::compile_source(good, 9, 0); }).find("OUT_OF_MEMORY"),
              std::string::npos)
        << n;
    EXPECT_EQ(nvrtc_standin::live_programs(), 0u) << n;
  }
  nvrtc_standin::reset();
}

// Compiling and running a group where the n-th call of the runtime fails, for every n.
TEST_F(CudaGroups, EveryCallMayFail) {
  const auto graph = parse(kGeluChain);
  const Stack inputs = chain({4, 20}, ScalarType::Float), want = one_by_one(*graph, inputs);
  Fused fused(*graph, inputs);
  c10::cuda::device_synchronize();
  cuda::clear_kernel_cache();
  const size_t libraries = cuda_standin::live_libraries();
  int errors = 0;
  for (int64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 200);
    c10::cuda::CUDACachingAllocator::emptyCache();
    const size_t allocations = cuda_standin::live_allocations();
    cuda_standin::fail_call_from_now(n, cudaErrorUnknown);
    Stack got;
    try {
      fused.compile();
      got = fused.run(inputs);
    } catch (const c10::AcceleratorError& error) {
      EXPECT_EQ(error.get_error_code(), cudaErrorUnknown) << error.what();
      ++errors;
    }
    const std::string failed = cuda_standin::failed_call();
    cuda_standin::fail_call_from_now(-1);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << failed;
    if (!got.empty()) {
      EXPECT_EQ(difference(want, got), "") << failed;
    }
    got.clear();
    fused.groups.clear();
    cuda::clear_kernel_cache();
    EXPECT_EQ(cuda_standin::live_libraries(), libraries) << failed;
    c10::cuda::CUDACachingAllocator::emptyCache();
    EXPECT_EQ(cuda_standin::live_allocations(), allocations) << failed;
    if (failed.empty()) break;
  }
  EXPECT_GT(errors, 3);
}

}  // namespace
}  // namespace torch::compiler
