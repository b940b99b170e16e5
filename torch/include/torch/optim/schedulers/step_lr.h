#pragma once

#include "optim/lr_scheduler/step_lr.h"
