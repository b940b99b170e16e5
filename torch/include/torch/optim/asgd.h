#pragma once

#include "optim/asgd.h"
