#pragma once

#include "nn/options/expanding_array.h"
