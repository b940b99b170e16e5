#pragma once

#include "optim/rmsprop.h"
