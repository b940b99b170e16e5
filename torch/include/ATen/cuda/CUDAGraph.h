#pragma once

#include "aten/cuda/graph.h"
