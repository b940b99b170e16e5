#pragma once
#include "distributed/process_group/process_group.h"
#include "distributed/process_group/gloo/process_group_gloo.h"
