#pragma once

#include "aten/cpu/elementwise.h"

// The special functions as loops. float is computed in double by approximations made for it, double in sums of two
// doubles where multiplications are fused; the functions of special.h compute what these do not cover.

namespace at::cpu::special::loops {

extern const ElementOp i0;
extern const ElementOp i0e;
extern const ElementOp i1;
extern const ElementOp i1e;
extern const ElementOp k0;
extern const ElementOp k0e;
extern const ElementOp k1;
extern const ElementOp k1e;
extern const ElementOp j0;
extern const ElementOp j1;
extern const ElementOp y0;
extern const ElementOp y1;
extern const ElementOp spherical_j0;
extern const ElementOp airy_ai;

extern const ElementOp erfcx;
extern const ElementOp ndtr;
extern const ElementOp log_ndtr;
extern const ElementOp ndtri;
extern const ElementOp entr;
extern const ElementOp xlog1py;

// The context of polygamma is the order, that of mvlgamma the dimension, an int64_t.
extern const ElementOp polygamma;
extern const ElementOp mvlgamma;
extern const ElementOp zeta;
extern const ElementOp lower_gamma;
extern const ElementOp upper_gamma;

// Of x and the degree, which is cut to a whole number.
extern const ElementOp chebyshev_t;
extern const ElementOp chebyshev_u;
extern const ElementOp chebyshev_v;
extern const ElementOp chebyshev_w;
extern const ElementOp hermite_h;
extern const ElementOp hermite_he;
extern const ElementOp laguerre_l;
extern const ElementOp legendre_p;
// Of 2x - 1.
extern const ElementOp shifted_chebyshev_t;
extern const ElementOp shifted_chebyshev_u;
extern const ElementOp shifted_chebyshev_v;
extern const ElementOp shifted_chebyshev_w;

}  // namespace at::cpu::special::loops
