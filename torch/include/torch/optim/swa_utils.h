#pragma once

#include "optim/lr_scheduler/swa_lr.h"
#include "utils/averaged_model/averaged_model.h"
