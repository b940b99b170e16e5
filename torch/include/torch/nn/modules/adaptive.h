#pragma once

#include "nn/layers/adaptive.h"
