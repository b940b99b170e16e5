#pragma once

#include "optim/adagrad.h"
