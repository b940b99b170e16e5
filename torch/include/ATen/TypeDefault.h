#pragma once

#include "aten/core/tensor.h"
