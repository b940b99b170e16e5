#pragma once

#include "data/worker_exception.h"
