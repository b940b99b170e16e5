#pragma once

#include "data/datasets/mnist.h"
