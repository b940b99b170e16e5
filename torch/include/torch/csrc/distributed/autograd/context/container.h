#pragma once
#include "distributed/rpc/autograd_context.h"
