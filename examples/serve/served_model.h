// A model with all that answers for it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "examples/serve/batcher.h"
#include "examples/serve/metrics.h"
#include "examples/serve/model.h"

namespace serve {

/// What a model gets of these options: a batch where its rows are independent, one worker where a run changes it.
inline BatchOptions options_for(const ModelInfo& info, BatchOptions options) {
  options.most_rows = info.not_batched.empty() ? std::min(options.most_rows, info.most_rows) : 1;
  if (info.stateful) options.workers = 1;
  return options;
}

struct ServedModel {
  ServedModel(std::string its_name, std::unique_ptr<Model> its_model, const BatchOptions& options)
      : name(std::move(its_name)),
        model(std::move(its_model)),
        batch(options_for(model->info(), options)),
        batcher([this](std::vector<at::Tensor> inputs) { return model->run(std::move(inputs)); }, batch, &metrics) {}

  const std::string name;
  const std::unique_ptr<Model> model;
  const BatchOptions batch;
  ModelMetrics metrics;
  Batcher batcher;
};

}  // namespace serve
