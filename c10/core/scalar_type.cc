#include "c10/core/scalar_type.h"

#include "c10/util/exception.h"

namespace c10 {
namespace detail {

void unknown_scalar_type(int value) {
  TORCH_CHECK(false, "Unknown ScalarType ", value);
  __builtin_unreachable();
}

void undefined_element_size() {
  TORCH_CHECK(false, "Unknown ScalarType: an undefined type has no element size");
  __builtin_unreachable();
}

}  // namespace detail

void to_text(std::string& out, ScalarType t) {
  out += toString(t);
}

bool isSignedType(ScalarType t) {
  TORCH_CHECK(!isQIntType(t), "isSignedType not supported for quantized types");
  TORCH_CHECK(!isBitsType(t), "Bits types are undefined");
  TORCH_CHECK(detail::info_of(t).size != 0, "Unknown ScalarType: an undefined type has no sign");
  return detail::has_kind(t, detail::kSignedKind);
}

ScalarType toComplexType(ScalarType t) {
  switch (t) {
    case kBFloat16:
      return kBComplex32;
    case kHalf:
      return kComplexHalf;
    case kFloat:
      return kComplexFloat;
    case kDouble:
      return kComplexDouble;
    case kComplexHalf:
    case kComplexFloat:
    case kComplexDouble:
    case kBComplex32:
      return t;
    default:
      TORCH_CHECK(false, "Unknown Complex ScalarType for ", t);
  }
}

namespace {
// Only unsigned types promote, with floating-point ones.
C10_COLD ScalarType promote_rare(ScalarType a, ScalarType b) {
  const unsigned kinds = detail::info_of(a).kinds | detail::info_of(b).kinds;
  const char *before = "Promotion from ", *between = " and ", *after = " is unsupported.";
  if ((kinds & detail::kQuantized) != 0) {
    before =
        "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
        "offending types: ";
    between = " ";
    after = "";
  } else if ((kinds & detail::kBits) != 0) {
    // As it stands.
  } else if ((kinds & detail::kFloat8) != 0) {
    before = "Promotion for Float8 Types is not supported, attempted to promote ";
    after = "";
  } else if ((kinds & detail::kBarebones) != 0) {
    if (isFloatingType(a)) return a;
    if (isFloatingType(b)) return b;
    before = "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ";
    after = "";
  }
  TORCH_CHECK(false, before, toString(a), between, toString(b), after);
}
}  // namespace

ScalarType promoteTypes(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::Undefined || b == ScalarType::Undefined) return ScalarType::Undefined;
  constexpr unsigned kRare =
      detail::kQuantized | detail::kBits | detail::kFloat8 | detail::kBarebones | detail::kSubByte;
  if (detail::has_kind(a, kRare) || detail::has_kind(b, kRare) || a == kFloat4_e2m1fn_x2 || b == kFloat4_e2m1fn_x2) {
    return promote_rare(a, b);
  }
  // The lattice: Bool < integers (Byte and Char meet in Short) < Half, BFloat16 (meet in Float) < Float < Double, and
  // complex types of each width above the real ones.
  const bool complex = isComplexType(a) || isComplexType(b);
  const ScalarType ra = toRealValueType(a);
  const ScalarType rb = toRealValueType(b);
  ScalarType real;
  const bool fa = isFloatingType(ra);
  const bool fb = isFloatingType(rb);
  if (ra == rb) {
    real = ra;
  } else if (fa && fb) {
    real = (ra == kDouble || rb == kDouble) ? kDouble : kFloat;
  } else if (fa || fb) {
    real = fa ? ra : rb;
  } else if (ra == kBool || rb == kBool) {
    real = ra == kBool ? rb : ra;
  } else {
    const bool byte = ra == kByte || rb == kByte;
    const ScalarType wider = elementSize(ra) >= elementSize(rb) ? ra : rb;
    real = byte && elementSize(wider) == 1 ? kShort : wider;
  }
  return complex ? toComplexType(real) : real;
}

}  // namespace c10
