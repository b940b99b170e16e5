#pragma once

#include "c10/cuda/macros.h"
