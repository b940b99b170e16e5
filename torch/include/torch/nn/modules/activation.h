#pragma once

#include "nn/layers/activation.h"
#include "nn/layers/attention.h"
