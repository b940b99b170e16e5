#pragma once

#include "data/datasets/tensor.h"
