#pragma once

#include "data/detail/queue.h"
