// Plans by which modules are computed by several ranks together: tensor and sequence parallelism.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/placement.h"
#include "nn/module/computed_tensor.h"
#include "nn/module/module.h"

namespace torch::distributed::tensor::parallel {

/// How one module is computed by the ranks of a mesh of one dimension. Derive from it for ways of one's own: apply()
/// puts DTensors in the place of parameters (distribute_parameter) and registers hooks that convert arguments and
/// results.
class ParallelStyle {
 public:
  virtual ~ParallelStyle() = default;
  /// Throws where the module cannot be computed so; called for all modules of a plan before any is changed.
  virtual void check(nn::Module& /*module*/) const {}
  /// What apply() makes of a parameter of the module; nullopt where it leaves it alone, or does not say it.
  virtual std::optional<Placement> placement_of(const nn::Module& /*module*/, const std::string& /*parameter*/) const {
    return std::nullopt;
  }
  /// `src_data_rank`: whose parameters count, as distribute_tensor() takes it.
  virtual void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const = 0;
};

/// What a plan has for a path: a style, which is copied, or one that is shared.
class PlannedStyle {
 public:
  template <std::derived_from<ParallelStyle> S>
  PlannedStyle(S style) : style_(std::make_shared<const S>(std::move(style))) {}  // NOLINT(google-explicit-constructor)
  template <std::derived_from<ParallelStyle> S>
  PlannedStyle(std::shared_ptr<S> style) : style_(std::move(style)) {}  // NOLINT(google-explicit-constructor)
  const std::shared_ptr<const ParallelStyle>& get() const { return style_; }

 private:
  std::shared_ptr<const ParallelStyle> style_;
};

/// Dotted paths of modules, each with its style. Each part of a path may be a pattern with *, ? and [...], as shells
/// have them: "layers.*.attention". The empty path is the module itself.
using ParallelizePlan = std::vector<std::pair<std::string, PlannedStyle>>;

/// Makes the modules of a plan parallel over a mesh of one dimension, a call of all its ranks, in the order of the
/// plan; other modules stay as they are. A parameter that several modules share stays shared. Returns `module`.
///
///   parallelize_module(net, mesh["tp"], {{"layers.*.up", ColwiseParallel()}, {"layers.*.down", RowwiseParallel()}});
///
/// Optimizers are made afterwards: parameters are others. Throws ValueError for a mesh of several dimensions, for a
/// path that matches no module, and where modules that share a parameter would have it in different placements; and
/// what the styles throw.
nn::Module& parallelize_module(nn::ModuleRef module, const DeviceMesh& mesh, const ParallelizePlan& plan,
                               std::optional<int64_t> src_data_rank = 0);
nn::Module& parallelize_module(nn::ModuleRef module, const DeviceMesh& mesh, const PlannedStyle& style,
                               std::optional<int64_t> src_data_rank = 0);

/// Settings of ColwiseParallel and RowwiseParallel: how an argument that is a plain tensor lies, how the result is to
/// lie, and whether the result is the rank's part, a plain tensor, instead of a DTensor.
struct LinearStyleOptions {
  std::optional<Placement> input_layouts = std::nullopt;
  std::optional<Placement> output_layouts = std::nullopt;
  bool use_local_output = true;
};

/// A Linear whose rows of weight and bias, or an Embedding whose columns, are cut among the ranks: each gives some of
/// the features. By default the argument is Replicate() and the result Shard(-1). Where `fused` layers lie side by side
/// in one (3 for queries, keys and values), each of them is cut, and the result is StridedShard(-1, fused) by default.
///
///   y[..., i] = x weight[i]^T + bias[i]   for the features i of this rank; nothing is sent
///
/// check() throws NotImplementedError for other modules, the constructor ValueError for a `fused` that is not positive.
class ColwiseParallel : public ParallelStyle {
 public:
  explicit ColwiseParallel(LinearStyleOptions options = {}, int64_t fused = 1);
  void check(nn::Module& module) const override;
  std::optional<Placement> placement_of(const nn::Module& module, const std::string& parameter) const override;
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  LinearStyleOptions options_;
  int64_t fused_;
};

/// A Linear whose columns of the weight, or an Embedding whose rows, are cut among the ranks: each has some of the
/// features (words), and results are added up. By default the argument is Shard(-1) (of an Embedding Replicate()) and
/// the result Replicate().
class RowwiseParallel : public ParallelStyle {
 public:
  explicit RowwiseParallel(LinearStyleOptions options = {});
  void check(nn::Module& module) const override;
  std::optional<Placement> placement_of(const nn::Module& module, const std::string& parameter) const override;
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  LinearStyleOptions options_;
};

/// A module that treats the places of a sequence alike (LayerNorm, RMSNorm, Dropout), each rank some of them. Its
/// parameters are replicated. An argument that is a plain tensor is taken to be Shard(sequence_dim); a DTensor is
/// redistributed. The result is Shard(sequence_dim), a DTensor unless `use_local_output`.
class SequenceParallel : public ParallelStyle {
 public:
  explicit SequenceParallel(int64_t sequence_dim = 1, bool use_local_output = false)
      : sequence_dim_(sequence_dim), use_local_output_(use_local_output) {}
  void check(nn::Module& module) const override;
  std::optional<Placement> placement_of(const nn::Module& module, const std::string& parameter) const override;
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  int64_t sequence_dim_;
  bool use_local_output_;
};

/// A placement for each argument or result; nullopt for one that is left alone.
using Layouts = std::vector<std::optional<Placement>>;

/// Arguments that are plain tensors become DTensors of `input_layouts`, and all are redistributed to
/// `desired_input_layouts`; with `use_local_output` the module is given its parts of them. Parameters stay. Arguments
/// are counted as module hooks see them. The constructor throws ValueError for lists of different lengths, and a call
/// for another number of arguments.
class PrepareModuleInput : public ParallelStyle {
 public:
  PrepareModuleInput(Layouts input_layouts, Layouts desired_input_layouts, bool use_local_output = false);
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  Layouts layouts_, desired_;
  bool use_local_output_;
};

/// The same for results, which are parts by default.
class PrepareModuleOutput : public ParallelStyle {
 public:
  PrepareModuleOutput(Layouts output_layouts, Layouts desired_output_layouts, bool use_local_output = true);
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  Layouts layouts_, desired_;
  bool use_local_output_;
};

/// Both.
class PrepareModuleInputOutput : public ParallelStyle {
 public:
  PrepareModuleInputOutput(Layouts input_layouts, Layouts desired_input_layouts, Layouts output_layouts,
                           Layouts desired_output_layouts, bool use_local_input = false, bool use_local_output = true)
      : input_(std::move(input_layouts), std::move(desired_input_layouts), use_local_input),
        output_(std::move(output_layouts), std::move(desired_output_layouts), use_local_output) {}
  void apply(nn::Module& module, const DeviceMesh& mesh, std::optional<int64_t> src_data_rank) const override;

 private:
  PrepareModuleInput input_;
  PrepareModuleOutput output_;
};

/// Makes a module with DTensor parameters one that data parallelism takes: the parameters are this rank's parts, plain
/// tensors of the same names, from which the DTensors are made before each call. To be called between
/// parallelize_module() and DistributedDataParallel. Optimizers are made afterwards.
void localize_parameters(nn::ModuleRef module);

}  // namespace torch::distributed::tensor::parallel
