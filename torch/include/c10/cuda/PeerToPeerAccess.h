#pragma once

#include "c10/cuda/peer_access.h"
