#pragma once

#include "aten/cuda/program/config.h"
#include "aten/cuda/sparse/handle.h"
