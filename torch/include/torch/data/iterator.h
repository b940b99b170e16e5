#pragma once

#include "data/dataloader/iterator.h"
