#pragma once

#include "optim/adamax.h"
