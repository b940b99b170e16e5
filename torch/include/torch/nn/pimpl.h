#pragma once

#include "nn/module/module_holder.h"
