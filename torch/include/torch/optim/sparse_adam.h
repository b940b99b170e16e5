#pragma once

#include "optim/sparse_adam.h"
