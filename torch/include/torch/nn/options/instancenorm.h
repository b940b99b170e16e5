#pragma once

#include "nn/options/normalization.h"
