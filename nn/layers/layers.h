// All layers.
#pragma once

#include "nn/layers/activation.h"
#include "nn/layers/conv.h"
#include "nn/layers/dropout.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/loss.h"
#include "nn/layers/normalization.h"
#include "nn/layers/pooling.h"
#include "nn/layers/rnn.h"
