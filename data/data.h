#pragma once

// Datasets, samplers, transforms and the loader: namespace torch::data.

#include <memory>

#include "data/dataloader/dataloader.h"
#include "data/dataloader/device_loader.h"
#include "data/datasets/base.h"
#include "data/datasets/chunk.h"
#include "data/datasets/combine.h"
#include "data/datasets/iterable.h"
#include "data/datasets/map.h"
#include "data/datasets/mnist.h"
#include "data/datasets/shared.h"
#include "data/datasets/stateful.h"
#include "data/datasets/tensor.h"
#include "data/example.h"
#include "data/samplers/python.h"
#include "data/samplers/samplers.h"
#include "data/transforms/default_collate.h"
#include "data/transforms/transforms.h"
#include "data/worker_exception.h"

namespace torch::data {

// As many programs name them.
using datasets::BatchDataset;
using datasets::Dataset;

}  // namespace torch::data

namespace torch {

// libtorch 1.13's name, which came with its data sets.
using std::make_unique;

}  // namespace torch
