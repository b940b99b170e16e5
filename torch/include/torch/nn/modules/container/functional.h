#pragma once

#include "nn/module/functional_module.h"
