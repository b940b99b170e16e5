#pragma once

#include "optim/optimizer.h"
