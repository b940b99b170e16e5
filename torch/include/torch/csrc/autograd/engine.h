#pragma once

#include "autograd/engine/engine.h"
