#pragma once

#include "data/dataloader/base.h"
