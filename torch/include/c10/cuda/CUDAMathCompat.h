#pragma once

#include "aten/cuda/program/math_compat.h"
