#include "distributed/pipeline/microbatch.h"

#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::distributed::pipelining {
namespace {

void check_specs(const char* name, size_t tensors, const std::vector<TensorChunkSpec>& specs) {
  TORCH_CHECK_VALUE(specs.empty() || specs.size() == tensors, name, ": expected one chunk spec for each of ", tensors,
                    " tensors, but got ", specs.size());
}

}  // namespace

std::vector<Tensors> split_args_into_chunks(const Tensors& args, int64_t chunks,
                                            const std::vector<TensorChunkSpec>& args_chunk_spec) {
  const char* const name = "split_args_into_chunks";
  TORCH_CHECK_VALUE(chunks > 0, name, ": expected a positive number of chunks, but got ", chunks);
  check_specs(name, args.size(), args_chunk_spec);
  std::vector<Tensors> result(static_cast<size_t>(chunks));
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorChunkSpec spec = args_chunk_spec.empty() ? TensorChunkSpec() : args_chunk_spec[i];
    TORCH_CHECK_VALUE(args[i].defined(), name, ": argument ", i, " is undefined");
    if (!spec.split_dim) {
      for (Tensors& chunk : result) chunk.push_back(args[i]);
      continue;
    }
    const int64_t dim = *spec.split_dim;
    TORCH_CHECK_VALUE(dim < args[i].dim() && dim >= -args[i].dim(), name, ": argument ", i, " of sizes ",
                      args[i].sizes(), " has no dimension ", dim);
    TORCH_CHECK_VALUE(args[i].size(dim) >= chunks, name, ": argument ", i, " of sizes ", args[i].sizes(),
                      " cannot be split into ", chunks, " chunks along dimension ", dim);
    const Tensors parts = at::tensor_split(args[i], chunks, dim);
    for (size_t chunk = 0; chunk < parts.size(); ++chunk) result[chunk].push_back(parts[chunk]);
  }
  return result;
}

Tensors merge_chunks(const std::vector<Tensors>& chunks, const std::vector<TensorChunkSpec>& chunk_spec) {
  const char* const name = "merge_chunks";
  if (chunks.empty()) return {};
  check_specs(name, chunks[0].size(), chunk_spec);
  Tensors result;
  for (size_t i = 0; i < chunks[0].size(); ++i) {
    const TensorChunkSpec spec = chunk_spec.empty() ? TensorChunkSpec() : chunk_spec[i];
    Tensors parts;
    for (const Tensors& chunk : chunks) {
      TORCH_CHECK_VALUE(chunk.size() == chunks[0].size(), name, ": expected ", chunks[0].size(),
                        " tensors in each chunk, but got ", chunk.size());
      parts.push_back(chunk[i]);
    }
    result.push_back(spec.split_dim ? at::cat(parts, *spec.split_dim) : parts[0]);
  }
  return result;
}

}  // namespace torch::distributed::pipelining
