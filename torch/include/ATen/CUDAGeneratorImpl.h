#pragma once

#include "aten/cuda/generator.h"
