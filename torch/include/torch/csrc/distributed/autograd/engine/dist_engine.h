#pragma once
#include "distributed/rpc/autograd.h"
