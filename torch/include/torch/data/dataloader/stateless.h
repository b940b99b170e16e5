#pragma once

#include "data/dataloader/stateless.h"
