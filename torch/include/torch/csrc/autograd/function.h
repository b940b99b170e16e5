#pragma once

#include "autograd/engine/node.h"
#include "autograd/function/graph_building.h"
