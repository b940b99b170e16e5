#pragma once

#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/stream.h"
