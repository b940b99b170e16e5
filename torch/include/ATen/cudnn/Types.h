#pragma once

#include "aten/cuda/program/cudnn_types.h"
