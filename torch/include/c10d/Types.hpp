#pragma once
#include "distributed/process_group/types.h"
