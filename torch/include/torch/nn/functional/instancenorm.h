#pragma once

#include "nn/functional/normalization.h"
