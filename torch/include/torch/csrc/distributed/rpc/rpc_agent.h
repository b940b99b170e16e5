#pragma once
#include "distributed/rpc/agent.h"
