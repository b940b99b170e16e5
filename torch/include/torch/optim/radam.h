#pragma once

#include "optim/radam.h"
