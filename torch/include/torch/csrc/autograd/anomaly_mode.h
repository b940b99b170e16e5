#pragma once

#include "autograd/engine/anomaly_mode.h"
