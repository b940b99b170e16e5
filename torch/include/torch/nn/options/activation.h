#pragma once

#include "nn/options/activation.h"
#include "nn/options/attention.h"
