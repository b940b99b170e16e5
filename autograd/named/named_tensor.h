// Named tensors: names for dimensions, which operators check and hand on.
//
//   torch::Tensor images = torch::named::rename(torch::randn({1, 2, 4, 3}), {"N", "C", "H", "W"});
//   torch::named::names((images * 2).sum(torch::named::dim(images, "C")));      // {"N", "H", "W"}
//   torch::named::align_to(images, {"N", "H", "W", "C"});                       // as permute
//   images + torch::named::rename(torch::ones({3}), {"H"});                     // throws: "W" and "H" do not match
//
// A named tensor is a tensor that holds another and its names (at::WrapperTensorImpl): tensors without names and
// programs that use none pay nothing. It has no data_ptr(). Operators hand names on by the rules of PyTorch's page
// "Named Tensors operator coverage", with two limits: a tensor without names cannot get some by being written to
// (c10::Error), and what has no rule throws c10::NotImplementedError by its name; rename(t, std::nullopt) gives the
// tensor without names. Autograd ignores names: gradients are those of the unnamed tensors, and have no names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::named {

/// A name for each dimension: letters, digits and "_", not beginning with a digit, each once; "*" for a dimension
/// without.
using Names = std::vector<std::string>;

/// The names of `tensor`, "*" for all where it has none.
Names names(const at::Tensor& tensor);
/// Whether a dimension has a name.
bool has_names(const at::Tensor& tensor);

/// The same elements with these names in place of all names; without names for std::nullopt. Shares memory with
/// `tensor`, and gradients flow. Throws c10::ValueError for names that are none, or as many as there are dimensions
/// not, or twice there.
at::Tensor rename(const at::Tensor& tensor, const std::optional<Names>& names);
/// With other names for some dimensions, {{"H", "height"}}. Throws c10::ValueError for a name that is not there, too.
at::Tensor rename_some(const at::Tensor& tensor, const std::map<std::string, std::string>& renamed);
/// With names for dimensions that have none; "*" keeps the name, and one "..." stands for dimensions that stay as they
/// are. Throws c10::ValueError for a dimension that has another name.
///
///   refine_names(t, {"N", "...", "W"})
at::Tensor refine_names(const at::Tensor& tensor, const Names& names);

/// The dimensions in this order, with dimensions of size 1 for names that `tensor` has not; one "..." stands for those
/// that are not mentioned, in their order. Throws c10::ValueError where a dimension has no name, or is not mentioned
/// and there is no "...".
at::Tensor align_to(const at::Tensor& tensor, const Names& names);
/// The same with the names of `other`.
at::Tensor align_as(const at::Tensor& tensor, const at::Tensor& other);

/// Neighbouring dimensions as one, with the name `out`. Throws c10::ValueError for dimensions that are not neighbours
/// in this order.
at::Tensor flatten(const at::Tensor& tensor, const Names& dims, const std::string& out);
/// One dimension as several, {{"H", 2}, {"W", 3}}, whose sizes make up its size. Throws c10::ValueError otherwise.
at::Tensor unflatten(const at::Tensor& tensor, const std::string& dim,
                     const std::vector<std::pair<std::string, int64_t>>& sizes);

/// The number of a dimension, for operators that take one: x.sum(dim(x, "C")). Throws c10::ValueError where it is not
/// there.
int64_t dim(const at::Tensor& tensor, const std::string& name);
std::vector<int64_t> dims(const at::Tensor& tensor, const Names& names);

/// at::matmul of tensors of any dimensions: names of the batch unified, those that are contracted gone.
at::Tensor matmul(const at::Tensor& tensor, const at::Tensor& other);

}  // namespace torch::named
