#pragma once

#include "aten/core/thread_local_state.h"
