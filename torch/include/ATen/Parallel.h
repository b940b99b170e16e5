#pragma once

#include "c10/parallel/parallel.h"
