#pragma once

#include "optim/sgd.h"
