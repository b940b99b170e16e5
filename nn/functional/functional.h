// All of torch::nn::functional.
#pragma once

#include "nn/functional/activation.h"
#include "nn/functional/attention.h"
#include "nn/functional/conv.h"
#include "nn/functional/detail.h"
#include "nn/functional/distance.h"
#include "nn/functional/dropout.h"
#include "nn/functional/embedding.h"
#include "nn/functional/fold.h"
#include "nn/functional/linear.h"
#include "nn/functional/loss.h"
#include "nn/functional/normalization.h"
#include "nn/functional/padding.h"
#include "nn/functional/pixelshuffle.h"
#include "nn/functional/pooling.h"
#include "nn/functional/upsampling.h"
#include "nn/functional/vision.h"
