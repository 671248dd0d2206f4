/* The predictor of one instruction set: compiled with its flags and -DISA=name, in both precisions. */
#include "fused.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#define REAL float
#define BITS int32_t
#define MANTISSA 23
#define FN(name) JOIN(name, _f32)
#include "predict.h"
#include "vote.h"
#undef vec
#undef ivec
#undef LANES
#undef X86

#undef REAL
#undef BITS
#undef MANTISSA
#undef FN

#define REAL double
#define BITS int64_t
#define MANTISSA 52
#define FN(name) JOIN(name, _f64)
#include "predict.h"
#include "vote.h"

#include "passes.h"

static const Passes JOIN(passes_, ISA) = {
    LANES,         FN(stride),       FN(basis_size), FN(pack_basis), FN(readout_size), FN(pack_readout),
    FN(scratch_size), FN(equations), FN(slopes),     FN(scatter),    FN(finish_slopes),
};
#undef vec
#undef ivec
#undef LANES
#undef X86

#define BOTH(name) {JOIN(name, _f32), JOIN(name, _f64)}
const InstructionSet JOIN(svmpress_, ISA) = {
    TEXT(ISA),       REGISTER_BYTES,   BOTH(block_rows), BOTH(scratch_bytes), BOTH(predict),
    BOTH(vote_rows), BOTH(vote_bytes), BOTH(vote),       BOTH(apply), &JOIN(passes_, ISA),
};
