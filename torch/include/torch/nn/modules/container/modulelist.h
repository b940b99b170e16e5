#pragma once

#include "nn/module/module_list.h"
