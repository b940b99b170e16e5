#pragma once

#include "c10/cuda/device.h"
