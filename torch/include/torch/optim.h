#pragma once

#include "optim/lr_scheduler/lr_scheduler.h"
#include "optim/optim.h"
#include "utils/averaged_model/averaged_model.h"
