#pragma once

#include "aten/cuda/program/cudnn_types.h"
#include "aten/cuda/program/exceptions.h"
