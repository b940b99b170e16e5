#pragma once
#include "distributed/process_group/process_group.h"
