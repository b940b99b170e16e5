#pragma once

#include "autograd/engine/edge.h"
