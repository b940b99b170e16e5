#pragma once

#include "nn/layers/normalization.h"
