// All of torch::nn::utils.
#pragma once

#include "nn/utils/clip_grad.h"
#include "nn/utils/convert_parameters.h"
#include "nn/utils/rnn.h"
