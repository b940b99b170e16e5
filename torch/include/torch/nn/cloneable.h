#pragma once

#include "nn/module/cloneable.h"
