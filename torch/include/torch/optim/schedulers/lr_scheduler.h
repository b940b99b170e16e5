#pragma once

#include "optim/lr_scheduler/lr_scheduler.h"
