#pragma once

#include "nn/module/any_value.h"
