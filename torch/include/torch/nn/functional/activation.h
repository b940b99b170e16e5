#pragma once

#include "nn/functional/activation.h"
#include "nn/functional/attention.h"
