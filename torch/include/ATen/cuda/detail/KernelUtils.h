#pragma once

#include "c10/cuda/kernel_loop.h"
