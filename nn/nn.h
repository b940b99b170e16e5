// All of torch::nn.
#pragma once

#include "nn/functional/functional.h"
#include "nn/init/init.h"
#include "nn/layers/layers.h"
#include "nn/module/any_module.h"
#include "nn/module/cloneable.h"
#include "nn/module/functional_module.h"
#include "nn/module/module.h"
#include "nn/module/state_dict.h"
#include "nn/module/module_dict.h"
#include "nn/module/module_list.h"
#include "nn/module/parameter_containers.h"
#include "nn/module/sequential.h"
#include "nn/utils/utils.h"
