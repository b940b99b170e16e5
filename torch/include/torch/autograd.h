#pragma once

#include "autograd/autograd.h"
#include "autograd/checkpoint/checkpoint.h"
#include "autograd/checkpoint/selective.h"
#include "autograd/forward_ad.h"
#include "autograd/function/basic_ops.h"
#include "autograd/function/custom_function.h"
#include "autograd/function/graph_building.h"
#include "autograd/function/not_implemented_fallback.h"
#include "autograd/functional/functional.h"
#include "autograd/graph.h"
#include "autograd/factories.h"
