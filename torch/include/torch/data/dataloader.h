#pragma once

#include "data/dataloader/dataloader.h"
