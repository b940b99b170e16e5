#pragma once

#include "c10/cuda/memory.h"
