/* What an evaluation of an objective (evaluation.c) and the passes over the rows (passes.h) say to each other.
 *
 * Compression moves vectors V (m, d) so that k(X, V) A + b comes close to targets on rows X (n, d). One evaluation is
 * two passes over the rows, a block of them in cache at a time, all in double precision:
 *
 *     equations   K = k(X, V), then [K 1]'[K 1] and [K 1]'T: what the best A and b follow from, outside
 *     slopes      R = K A + b - T, G = dE/dK = factor (w R) A', and from H = G dk/ds the slopes of V and gamma
 *
 * Rows come in *groups*, whose outputs and weights differ. The sums over rows are split into *pieces* that depend on
 * shapes alone, and are added up in the order of the pieces: the result does not depend on the number of threads.
 */
#ifndef SVMPRESS_OBJECTIVE_H
#define SVMPRESS_OBJECTIVE_H

#include "fused.h"

/* Rows that are in cache at a time. */
enum { BLOCK = 64 };
/* Rows of the result in a tile of a sum of outer products. */
#define OUTER_ROWS 8

/* Rows first, first + step, ..., and the outputs that they concern. */
typedef struct {
    int64_t first, step, count;
    int64_t width;   /* how many outputs */
    int64_t outputs; /* where their numbers, weights and sides start */
    int64_t targets; /* where their targets start: (count, width) */
    int64_t kept;    /* the first of its rows among those of all groups */
    int64_t readout; /* where its readout starts: see `readout_size` */
    int64_t gram;    /* where the sums of its pieces start, (m + 1, gram_stride) each */
    int64_t wanted;  /* where its map of the wanted tiles starts */
} RowGroup;

/* Some rows of a group: positions in it. */
typedef struct {
    int64_t group, first, count;
    int64_t sums; /* where its sums start */
} Piece;

/* The vectors of one evaluation, packed as for the predictor. */
typedef struct {
    Model model; /* kernel, degree, row_factor, d, panels, vectors, offset */
    double gamma, coef0;
    int64_t m, stride; /* m rounded up to whole registers */
    double *vectors;   /* (panels, d, lanes): v', see fused.h */
    double *offset;    /* (stride,) */
    double *centre;    /* (d,), subtracted from dense rows and from vectors; zeros unless RBF */
    double *columns;   /* (panels, d, lanes): v - centre */
} Basis;

/* The error of a row: sum w R^2, with R = F - T where an output takes no side of the row, and otherwise by how much it
 * falls short of its margin there, s (margin - s F) if that is positive. The margin is 1, or less where the targets are
 * trusted and less. */
typedef struct {
    double factor; /* of slopes */
    int has_sides, trust;
    int width;      /* whether the slope of gamma is wanted */
    int kept_known; /* whether kernel values were kept */
    int64_t M;
} Loss;

/* Where slopes are added up. */
typedef struct {
    double *vectors; /* (panels, d + 2, lanes): X'H, 1'H, ||x||^2'H */
    double *coef;    /* (m + 1, M) or NULL */
    double error, width;
} Slopes;

/* The passes of one instruction set. */
typedef struct Passes {
    int lanes;
    int64_t (*stride)(int64_t columns);      /* a row of that many numbers, in whole registers, apart in cache */
    size_t (*basis_size)(int64_t m, int64_t d); /* doubles of memory; that also in the next ones */
    void (*pack_basis)(Basis *basis, const Rows *rows, const double *V, double *memory);
    size_t (*readout_size)(int64_t m, int64_t width);
    void (*pack_readout)(const Basis *basis, const RowGroup *group, const int64_t *outputs, const double *weights,
                         const double *sides, const double *coef, const double *intercept, int64_t M, double *memory);
    size_t (*scratch_size)(int64_t m, int64_t d, int64_t width);
    void (*equations)(const Basis *basis, const Rows *rows, const RowGroup *group, const Piece *piece,
                      const double *targets, const double *shift, const unsigned char *wanted, double *kept,
                      double *scratch, double *sums);
    void (*slopes)(const Basis *basis, const Rows *rows, const RowGroup *group, const Piece *piece,
                   const double *targets, const int64_t *outputs, const Loss *loss, const double *readout, double *kept,
                   double *scratch, Slopes *slopes);
    void (*scatter)(const Basis *basis, const Rows *rows, const RowGroup *groups, int64_t n_groups, int64_t panel,
                    const double *kept, double *sums);
    void (*finish)(const Basis *basis, const double *sums, double *dV, double *width);
} Passes;

#endif
