#pragma once

#include "nn/options/activation.h"
#include "nn/options/conv.h"
#include "nn/options/dropout.h"
#include "nn/options/embedding.h"
#include "nn/options/linear.h"
#include "nn/options/loss.h"
#include "nn/options/normalization.h"
#include "nn/options/padding.h"
#include "nn/options/pooling.h"
