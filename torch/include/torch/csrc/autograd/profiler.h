#pragma once

#include "autograd/profiler/profiler.h"
