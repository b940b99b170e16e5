#pragma once

#include "data/dataloader/options.h"
