#pragma once

#include "aten/cuda/comm.h"
