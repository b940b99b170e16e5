// vmap: a function of single samples becomes one of batches of them.
//
//   auto dots = torch::func::vmap([](const at::Tensor& x, const at::Tensor& y) { return at::dot(x, y); });
//   dots(a, b);                                                     // [N, D], [N, D] -> [N]
//   torch::func::vmap(f, {0, std::nullopt}, 1)(x, weights);         // x by its first dimension, weights for every
//   sample
//
// Inside, tensors have the sizes of one sample; operators compute all samples at once (docs/operators.md says which do
// so sample by sample). Gradients, tangents, autocast and further vmaps, inside and outside, work as without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "func/batched_tensor.h"
#include "func/structure.h"

namespace torch::func {

namespace detail {

// What vmap is asked for.
struct VmapOptions {
  Dims in_dims = 0;
  Dims out_dims = 0;
  Randomness randomness = Randomness::kError;
  std::optional<int64_t> chunk_size = std::nullopt;
};

// A dimension for each leaf of the arguments, and how many samples there are.
struct VmapInputs {
  std::vector<std::optional<int64_t>> dims;
  int64_t batch_size = 0;
};
// Checks the arguments, a tuple of them.
VmapInputs vmap_inputs(const Dims& in_dims, const Structure& arguments);
// Puts batched tensors, or parts of `length` samples from `begin` on, in the place of those that are mapped over.
void batch_inputs(const VmapInputs& inputs, const Structure& arguments, const VmapLevel& level);
void cut_inputs(const VmapInputs& inputs, const Structure& arguments, int64_t begin, int64_t length);
// Puts tensors with a dimension of samples in the place of the results.
void unbatch_outputs(const Dims& out_dims, const Structure& results, const VmapLevel& level);
// Puts the chunks' results together, in the place of the first one's.
void join_outputs(const Dims& out_dims, const std::vector<Structure>& chunks);
void check_chunk_size(const std::optional<int64_t>& chunk_size);
// Puts the default generator of the CPU back, before each chunk, where all samples have the same random numbers.
std::function<void()> generator_reset(const VmapOptions& options);

template <typename F, typename Arguments>
auto vmap_once(F& f, const VmapOptions& options, const VmapInputs& inputs, int64_t batch_size, Arguments arguments) {
  using Result = std::decay_t<decltype(std::apply(f, arguments))>;
  static_assert(!std::is_void_v<Result>, "vmap: the function must return tensors");
  const NewLevel inside(batch_size, options.randomness);
  batch_inputs(inputs, structure_of(arguments), inside.level());
  Result result = std::apply(f, arguments);
  unbatch_outputs(options.out_dims, structure_of(result), inside.level());
  return result;
}

template <typename F, typename Arguments>
auto vmap_call(F& f, const VmapOptions& options, Arguments arguments) {
  const VmapInputs inputs = vmap_inputs(options.in_dims, structure_of(arguments));
  const int64_t chunk = options.chunk_size.value_or(inputs.batch_size);
  if (chunk >= inputs.batch_size) return vmap_once(f, options, inputs, inputs.batch_size, std::move(arguments));
  using Result = decltype(vmap_once(f, options, inputs, chunk, arguments));
  const std::function<void()> reset = generator_reset(options);
  std::vector<Result> results;
  for (int64_t begin = 0; begin < inputs.batch_size; begin += chunk) {
    const int64_t length = std::min(chunk, inputs.batch_size - begin);
    Arguments part = arguments;
    cut_inputs(inputs, structure_of(part), begin, length);
    if (reset) reset();
    results.push_back(vmap_once(f, options, inputs, length, std::move(part)));
  }
  std::vector<Structure> chunks;
  for (Result& result : results) chunks.push_back(structure_of(result));
  join_outputs(options.out_dims, chunks);
  return std::move(results[0]);
}

// What vmap returns.
template <typename F>
class Vmapped {
 public:
  Vmapped(F f, VmapOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return vmap_call(f_, options_, std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...));
  }

 private:
  mutable F f_;  // may have a state that its calls change
  VmapOptions options_;
};

}  // namespace detail

/// The function that maps `f` over a dimension of its arguments: g(args...) is what the stack of f(sample of args...)
/// over all samples would be, computed at once. Arguments and results are structures of tensors (func/structure.h).
///
/// in_dims: the dimension to map over, of each tensor; negative ones count from the end. A number is for all arguments,
/// a list has
///   an entry for each of them, which may be a list where an argument is a structure; nullopt: all samples get the
///   same.
/// out_dims: where the dimension of the samples stands in the results, in the same form; nullopt: a result that is the
/// same for
///   all samples is given as it is.
/// randomness: "error", random operators throw; "different", samples have numbers of their own; "same", they have the
/// same. chunk_size: at most so many samples are computed at once, which bounds memory; nullopt: all.
///
/// The result throws ValueError where a mapped argument has no such dimension, sizes of mapped dimensions differ,
/// nothing is mapped over or `f` returns something other than tensors; inside, Error where the value of a tensor is
/// asked for (item()), since there is not one but one a sample, where a tensor of all samples would be written with
/// values of each, and where a size would depend on a sample's values.
template <typename F>
auto vmap(F f, Dims in_dims = 0, Dims out_dims = 0, std::string_view randomness = "error",
          std::optional<int64_t> chunk_size = std::nullopt) {
  detail::check_chunk_size(chunk_size);
  return detail::Vmapped<F>(std::move(f),
                            {std::move(in_dims), std::move(out_dims), randomness_of(randomness), chunk_size});
}

}  // namespace torch::func

namespace torch {
using func::vmap;
}  // namespace torch
