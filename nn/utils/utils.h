// All of torch::nn::utils.
#pragma once

#include "nn/utils/clip_grad.h"
#include "nn/utils/convert_parameters.h"
#include "nn/utils/fusion.h"
#include "nn/utils/memory_format.h"
#include "nn/utils/parametrizations.h"
#include "nn/utils/parametrize.h"
#include "nn/utils/prune.h"
#include "nn/utils/rnn.h"
#include "nn/utils/skip_init.h"
#include "nn/utils/stateless.h"
#include "nn/utils/weight_norm.h"
