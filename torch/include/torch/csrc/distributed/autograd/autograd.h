#pragma once
#include "distributed/rpc/autograd.h"
#include "distributed/rpc/autograd_context.h"
