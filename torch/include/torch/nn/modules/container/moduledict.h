#pragma once

#include "nn/module/module_dict.h"
