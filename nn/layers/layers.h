// All layers.
#pragma once

#include "nn/layers/activation.h"
#include "nn/layers/adaptive.h"
#include "nn/layers/attention.h"
#include "nn/layers/conv.h"
#include "nn/layers/distance.h"
#include "nn/layers/dropout.h"
#include "nn/layers/embedding.h"
#include "nn/layers/fold.h"
#include "nn/layers/linear.h"
#include "nn/layers/loss.h"
#include "nn/layers/normalization.h"
#include "nn/layers/padding.h"
#include "nn/layers/pixelshuffle.h"
#include "nn/layers/pooling.h"
#include "nn/layers/rnn.h"
#include "nn/layers/transformer.h"
