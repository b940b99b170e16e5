// What the loaders of the formats share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "c10/value/ivalue.h"
#include "examples/serve/model.h"
#include "graph/ir/graph.h"

namespace serve {

std::unique_ptr<Model> make_exported_model(const std::string& path, const std::string& program);
std::unique_ptr<Model> make_onnx_model(const std::string& path);
/// `signature` may be null.
std::unique_ptr<Model> make_script_model(const std::string& path, const Signature* signature);

/// What an argument stands for: a tensor, or a tensor of one element that is a number. Of an optional one that is left
/// out, None.
c10::IValue argument_of(const TensorSpec& spec, const at::Tensor& tensor);

/// The tensors in a value, by names made of `name` and where they stand. Numbers become tensors; None is left out.
/// Throws std::runtime_error for texts and objects.
void append_outputs(std::vector<NamedTensor>& outputs, const std::string& name, const c10::IValue& value);

/// Runs f; an error of the inputs' becomes Refused, one of memory std::bad_alloc.
std::vector<NamedTensor> translated(const std::function<std::vector<NamedTensor>()>& f);

/// A copy of a graph in which the sizes of values are known as far as they can be.
std::unique_ptr<torch::graph::Graph> with_sizes(const torch::graph::Graph& graph);

/// The picture of a graph; empty where it has too many nodes for one.
std::string picture_of(const torch::graph::Graph& graph);

/// Finds out by runs with drawn inputs whether rows of dimension 0 do not see each other: those of a batch must come
/// out as they do in smaller batches. Sets not_batched and most_rows, and what is not known of the outputs. A run
/// may change a module: `run` is of another one of the same file then.
void try_batches(ModelInfo& info, const std::function<std::vector<NamedTensor>(std::vector<at::Tensor>)>& run);

}  // namespace serve
