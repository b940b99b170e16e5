#pragma once
#include "distributed/rpc/rref.h"
