#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "data/dataloader/stateful.h"
#include "data/dataloader/stateless.h"
#include "data/samplers/samplers.h"

namespace torch::data {

/// A loader that asks the dataset for what the sampler says.
///
///   auto loader = torch::data::make_data_loader(std::move(dataset), torch::data::samplers::SequentialSampler(n),
///                                               torch::data::DataLoaderOptions(64).workers(2));
template <typename Dataset, typename Sampler>
  requires(!Dataset::is_stateful && requires { typename Sampler::BatchRequestType; })
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, Sampler sampler, DataLoaderOptions options = DataLoaderOptions()) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                                 std::move(options));
}

/// With a sampler made from the dataset's size (which it must know).
template <typename Sampler = samplers::RandomSampler, typename Dataset>
  requires(!Dataset::is_stateful && std::is_constructible_v<Sampler, size_t>)
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  const std::optional<size_t> size = dataset.size();
  TORCH_CHECK(size.has_value(), "Expected the dataset to be sized in order to construct the Sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}

/// For stateful datasets.
template <typename Dataset>
  requires(Dataset::is_stateful)
std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = DataLoaderOptions()) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), std::move(options));
}

}  // namespace torch::data
