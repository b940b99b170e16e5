#pragma once

#include "autograd/autograd.h"
#include "autograd/function/graph_building.h"
