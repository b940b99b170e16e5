#pragma once

#include "optim/lbfgs.h"
