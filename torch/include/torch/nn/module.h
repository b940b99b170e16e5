#pragma once

#include "nn/module/module.h"
#include "nn/module/state_dict.h"
