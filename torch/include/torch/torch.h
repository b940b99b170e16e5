#pragma once

#include "torch/include/torch/all.h"
