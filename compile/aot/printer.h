// A prepared program as C++.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "compile/aot/group_printer.h"
#include "compile/aot/kernels.h"
#include "compile/aot/prepare.h"
#include "graph/ir/graph.h"
#include "graph/plan/plan.h"

namespace torch::aot {

struct PrintOptions {
  std::string class_name = "Model";
  std::string name_space = "programs";
  /// As files include it.
  std::string header = "model.h";
  /// Whether the program contains its weights; else who makes it passes them in.
  bool embed_weights = true;
  /// What the constant matrices of products and the filters of convolutions are stored as: Float, BFloat16, Half, or
  /// Char, which has a scale for each output channel. Other weights stay what they are.
  c10::ScalarType weight_type = c10::ScalarType::Float;
  /// What the groups are compiled for, beside the baseline: of "baseline", "SSE4", "AVX2", "AVX3". Empty: what the
  /// library's own kernels are.
  std::vector<std::string> targets;
};

struct PrintedProgram {
  std::string header, source;
  std::string kernels;  ///< the source of the groups
  std::string weights;  ///< bytes
  std::string report;
  std::set<std::string> families;       ///< whose kernels it calls, of aten/ops
  std::vector<std::string> allocating;  ///< nodes that allocate when they run
};

/// Throws NotImplementedError that lists every node that nothing computes.
PrintedProgram print_program(const PreparedProgram& program, const PrintOptions& options);

/// What steps (steps.h) print with.
class Printer {
 public:
  /// Of whatever has a place of its own, in bytes.
  static constexpr int64_t kAlignment = 64;
  static int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  Printer(const PreparedProgram& program, const PrintOptions& options);
  PrintedProgram run();
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  /// Where a tensor's first element is, a `char*` or `const char*`. Constants are among the weights from then on.
  std::string pointer(const graph::Operand& operand);
  std::string pointer(const graph::Value* value);
  /// A lasting at::Tensor of it.
  std::string tensor(const graph::Operand& operand);
  std::string tensor(const graph::Value* value);
  /// Of a tensor, value or constant.
  graph::TensorInfo info(const graph::Operand& operand) const;

  /// Of the largest sizes.
  int64_t largest(const graph::IntExpr& e) const { return e.evaluate(largest_); }
  /// Where memory is that one step uses, 64-byte aligned, a `char*`.
  std::string scratch(int64_t bytes);

  /// The nodes that the step of this one computes, in order; it is the last.
  std::vector<const graph::Node*> group(const graph::Node& node) const;

  /// A line of the program.
  void line(const std::string& code) { run_ += "  " + code + "\n"; }
  void include(const std::string& path) { includes_.insert(path); }
  /// A constant float32 matrix or filter of output channels, a torch::aot::Stored of the type that weights have.
  std::string stored(const at::Tensor& weight);
  /// T of that.
  std::string stored_type() const;
  /// A member of the weights that all instances share, made once from `initialiser`, where `w` are the bytes.
  std::string shared(const std::string& type, const std::string& initialiser) {
    return "shared." + add_shared(type, initialiser);
  }
  /// Floating-point operations that the step does, for the report.
  void count(const graph::IntExpr& operations) { operations_ = operations_ + operations; }

 private:
  // Of a part of `whole`.
  Printer(const PreparedProgram& program, const PrintOptions& options, Printer& whole);
  Printer(const PreparedProgram& program, const PrintOptions& options, GroupKernels* kernels, std::string kernels_name);

  enum class Where { kInput, kOutput, kArena, kWeights, kTensor };
  struct Place {
    Where where;
    size_t number = 0;   // of the input, output or tensor
    int64_t offset = 0;  // bytes in the arena or the weights
  };
  const Place& place(const graph::Value* value);
  int64_t weight(const at::Tensor& constant);
  int64_t add_weights(const char* data, size_t bytes);
  std::string add_shared(const std::string& type, const std::string& initialiser);
  void node(const graph::Node& node);
  bool changing_call(const graph::Node& node, std::string& why);
  bool kernel_call(const graph::Node& node, std::string& why);
  std::optional<std::vector<std::string>> arguments(const graph::Node& node, size_t first, std::string& why);
  std::string function(const kindling::KernelName& kernel);
  void place_states();
  void keep_updates();
  bool may_update_in_place(const graph::Value* input, const graph::Node& update, size_t result) const;
  std::string input_place(size_t i) const;
  std::string output_place(size_t i) const;
  bool is_users(const Place& at) const;
  void group_step(const graph::Node& invoke);
  void part_step(const graph::Node& invoke);
  struct Bodies {
    std::vector<std::string> calls;  // "state.part0->run("
    int64_t bytes = 0;               // of the memory that they use
  };
  Bodies add_bodies(const ProgramPart& part, const std::string& name);
  std::string body_call(const std::string& member, const PreparedProgram& body, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) const;
  void print_steps();
  void report(const std::vector<const graph::Node*>& nodes, const graph::Node& last);
  std::optional<std::string> argument(const graph::Operand& operand, const c10::Argument& argument);
  std::string new_tensor(const std::string& pointer, const graph::TensorInfo& info, const std::string& moves_with);
  std::string header_text() const;
  std::string functions_text() const;
  std::string class_text() const;
  std::string source_text() const;
  std::string definitions() const;
  std::string report_text() const;
  std::string weights_symbol() const { return "kindling_weights_" + options_.name_space + "_" + options_.class_name; }
  int64_t planned_bytes() const;
  int64_t arena_bytes() const;
  std::string states_pointer(const char* indent) const;
  std::string checks() const;
  const std::string& kernels_name() const { return kernels_name_; }
  std::string sizes_parameter() const;
  std::string symbols_of_sizes() const;
  std::string number_function(const ProgramNumber& number) const;
  std::string sizes_function(const std::string& name, const graph::TensorInfo& info) const;

  const PreparedProgram& program_;
  const PrintOptions& options_;
  graph::PlanOptions options_of_plan_;
  graph::Plan plan_;
  int64_t scratch_bytes_ = 0;
  // Behind what is planned and scratch, at `s`: updates that are not computed in place, then states.
  std::vector<std::optional<int64_t>> next_places_;  // of each update
  std::vector<int64_t> state_places_;
  int64_t next_bytes_ = 0, state_bytes_ = 0;
  std::map<std::string, int64_t> largest_;
  std::map<const graph::Value*, Place> places_;
  std::map<size_t, size_t> output_buffers_;         // buffer to output
  std::map<size_t, size_t> returned_buffers_;       // buffer to tensor
  std::map<const graph::Value*, size_t> tensors_;   // numbers of tensor objects
  std::map<std::string, size_t> constant_tensors_;  // by place and geometry
  std::map<const void*, int64_t> weight_places_;
  std::map<const void*, std::string> stored_;
  std::map<std::string, const ProgramGroup*> groups_;  // by their names
  GroupKernels own_kernels_;
  GroupKernels& kernels_;  // those of the program that this one is a part of
  std::string kernels_name_;
  std::vector<at::Tensor> held_;
  std::string weights_;
  std::set<std::string> includes_, families_;
  std::string parts_;          // their classes
  std::string state_members_;  // one for each
  std::string run_, members_, initialisers_, constructor_, reset_, moves_, resizes_, report_;
  size_t tensor_count_ = 0, shared_count_ = 0, part_count_ = 0;
  graph::IntExpr operations_ = 0, all_operations_ = 0;
  std::vector<std::string> allocating_;
};

}  // namespace torch::aot
