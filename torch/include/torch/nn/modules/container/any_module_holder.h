#pragma once

#include "nn/module/any_module.h"
