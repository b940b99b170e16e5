#pragma once
#include "distributed/rpc/types.h"
