#pragma once
#include "distributed/process_group/process_group.h"
#include "distributed/process_group/mpi/process_group_mpi.h"
