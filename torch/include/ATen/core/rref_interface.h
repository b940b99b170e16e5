#pragma once
#include "distributed/rpc/rref_interface.h"
