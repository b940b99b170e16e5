#pragma once

#include "nn/layers/distance.h"
