#pragma once
#include "distributed/process_group/backend.h"
