#pragma once
#include "distributed/process_group/nccl/process_group_nccl.h"
