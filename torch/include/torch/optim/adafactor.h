#pragma once

#include "optim/adafactor.h"
