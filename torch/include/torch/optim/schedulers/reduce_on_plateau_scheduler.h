#pragma once

#include "optim/lr_scheduler/reduce_on_plateau.h"
