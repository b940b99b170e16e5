#pragma once

#include "nn/module/ordered_dict.h"
