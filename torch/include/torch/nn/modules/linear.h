#pragma once

#include "nn/layers/linear.h"
