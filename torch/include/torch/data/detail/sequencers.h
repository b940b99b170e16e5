#pragma once

#include "data/detail/sequencers.h"
