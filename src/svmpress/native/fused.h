/* What the Python module and the compiled predictors say to each other.
 *
 * The predictor computes F = k(X, V) A + b, X: (n, d) rows, V: (m, d) vectors, A: (m, M), b: (M,), a tile of a
 * few rows and a block of vectors at a time, in three steps that stay in cache:
 *
 *     1. T = X V'          sums over features: dot products, or distances |x - v| for the Laplacian kernel
 *     2. K = phi(T)        the kernel's function of that sum, in place
 *     3. F = F + K A       weighted sums over vectors
 *
 * Steps 1 and 3 are the same register-blocked product (tiles.h). It stands in for BLAS at many features,
 * too: with 784 of them the whole prediction takes the time of OpenBLAS's bare product, and strided, scaled and sparse
 * rows and threads need no second way. Vectors and coefficients come packed for it, by
 * `svmpress/predictor/packing.py`: a *panel* holds as many columns of the right-hand side as a SIMD register has
 * lanes, stored as (k, lanes), so that one step of the sum is one aligned load whatever d, m and M are.
 *
 * fused.c is compiled once for every instruction set; module.c chooses one when a model is packed.
 */
#ifndef SVMPRESS_FUSED_H
#define SVMPRESS_FUSED_H

#include <stddef.h>
#include <stdint.h>

/* phi, and what is folded into the packed vectors v' and the offset o, so that T = o + sum_k x_k v'_k:
 *   RBF        exp(-g ||x - v||^2) = 2^(T + r ||x||^2)   v' = -2 r v, o = r ||v||^2, r = -g log2(e)
 *   LAPLACIAN  exp(-g ||x - v||_1) = 2^(r T)             T = sum_k |x_k - v_k|,      r = -g log2(e)
 *   SIGMOID    tanh(g x.v + c)     = tanh2(T)            v' = 2 g log2(e) v, o = 2 c log2(e)
 *   POLYNOMIAL (g x.v + c)^p       = T^p                 v' = g v, o = c
 *   LINEAR     F = X (V' A) + b    = T                   v' = columns of V' A, o = b; there is no step 2 or 3
 */
enum { RBF, LAPLACIAN, SIGMOID, POLYNOMIAL, LINEAR };

/* Coefficients of up to this many outputs are kept with lanes along the vectors, and step 3 is fused into 2. */
enum { FEW_OUTPUTS = 4 };

/* A run of panels whose coefficients differ from zero in the same few columns (one-vs-one models). */
typedef struct {
    int64_t first, last;  /* panels of vectors: first <= p < last */
    int64_t columns;      /* how many outputs they serve */
    int64_t column_start; /* where their numbers start in Model.columns; -1: all outputs, in order */
    int64_t coef_start;   /* where their (panels of outputs, vectors, lanes) start in Model.coef */
} Group;

typedef struct {
    int kernel;
    double degree;     /* POLYNOMIAL */
    double row_factor; /* r of RBF and LAPLACIAN */
    int64_t d, M;
    int64_t panels, groups;
    /* All pointers to the precision of the model unless typed. */
    const void *vectors;        /* (panels, d, lanes) */
    const void *offset;         /* (panels, lanes) */
    const void *offset_sparse;  /* (panels, lanes), the same for CSR rows, which are not centred */
    const void *centre;         /* (d rounded up to lanes,), subtracted from dense rows; zeros unless RBF */
    double centre_norm;         /* ||centre||^2 */
    const void *coef;           /* FEW_OUTPUTS: (M, panels, lanes); else see Group */
    const Group *group;
    const int64_t *columns;
    const void *intercept;      /* (M,) */
    /* A ballot (vote.h): M classes whose sums are the guess, and the M - 1 machines of each; NULL in other models. */
    const void *checks;         /* (M, panels of M - 1 outputs, vectors, lanes) */
    const void *check_intercept; /* (M, M - 1 rounded up to lanes) */
} Model;

/* Numbers in somebody else's memory, which need not be aligned. */
typedef float LooseFloat __attribute__((aligned(1), may_alias));
typedef double LooseDouble __attribute__((aligned(1), may_alias));

/* Rows to predict: dense (base != NULL) or CSR in the precision of the model. */
typedef struct {
    int64_t n;
    const char *base;
    ptrdiff_t row_stride, column_stride; /* bytes */
    int is_double;
    const double *shift, *factor; /* (d,) or NULL: x -> (x - shift) * factor, before anything else */
    const void *values;
    const int32_t *indices;
    const int64_t *indptr;
} Rows;

/* One instruction set. Index 0 of the function tables is float, 1 is double. */
typedef struct {
    const char *name;
    int register_bytes;
    /* Rows that one call of `predict` should get at most, and the bytes of scratch that it then needs. */
    int64_t (*block_rows[2])(const Model *);
    size_t (*scratch_bytes[2])(const Model *, int64_t rows);
    /* F of `count` rows from `start` into out (n, M); returns the first row that is not finite, or -1. */
    int64_t (*predict[2])(const Model *, const Rows *, int64_t start, int64_t count, void *scratch, void *out);
    /* The same for a vote: rows of one call, scratch, and winning classes into out (n,); -1: the votes must be counted. */
    int64_t (*vote_rows[2])(const Model *);
    size_t (*vote_bytes[2])(const Model *, int64_t rows);
    int64_t (*vote[2])(const Model *, const Rows *, int64_t start, int64_t count, void *scratch, void *out);
    /* In place: 2^x for x <= 0 (kernel RBF) or tanh2(x) (SIGMOID); for tests. */
    void (*apply[2])(int kernel, void *x, int64_t n);
    const struct Passes *passes; /* of the objective, see objective.h */
} InstructionSet;

#endif
