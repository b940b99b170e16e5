#pragma once

#include "data/dataloader/stateful.h"
