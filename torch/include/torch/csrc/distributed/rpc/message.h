#pragma once
#include "distributed/rpc/message.h"
