#pragma once

#include "optim/nadam.h"
