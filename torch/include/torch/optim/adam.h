#pragma once

#include "optim/adam.h"
