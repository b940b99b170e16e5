#pragma once

#include "aten/cuda/cudnn/handle.h"
