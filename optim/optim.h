#pragma once

// Every optimizer and schedule: namespace torch::optim.

#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/adamw.h"
#include "optim/lr_scheduler/lr_scheduler.h"
#include "optim/lr_scheduler/reduce_on_plateau.h"
#include "optim/lr_scheduler/schedules.h"
#include "optim/lr_scheduler/step_lr.h"
#include "optim/optimizer.h"
#include "optim/rmsprop.h"
#include "optim/sgd.h"
