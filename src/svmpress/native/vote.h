/* The winner of a one-vs-one vote from the machines of one or two classes; included after predict.h.
 *
 * svmpress/predictor/voting.py tells the idea: a class that wins all of its own pairs has more votes than any other can
 * have. Kernel values of the rows of a call are kept; the model's outputs are the sums that guess a class; the machines
 * of that class are computed for all rows that guess it, a tile of rows at a time, by the same product as everything.
 *
 * Machine k of class c is that against class k (k < c, where c is the second of the pair) or k + 1 (c is the first).
 */

enum { FN(MOST_VOTERS) = 512 };

static int64_t FN(vote_rows)(const Model *m) {
    const int64_t bytes = m->panels * LANES * (int64_t)sizeof(REAL);
    const int64_t fit = bytes ? 1024 * 1024 / bytes : FN(MOST_VOTERS);
    return fit < 64 ? 64 : fit > FN(MOST_VOTERS) ? FN(MOST_VOTERS) : fit / TILE_ROWS * TILE_ROWS;
}

/* What predict.h needs, the kernel values, those of a tile, and its machines' values. */
static size_t FN(carve_vote)(const Model *m, int64_t count, char *memory, FN(Scratch) * s, REAL **tile, REAL **sums) {
    size_t used = FN(carve)(m, count, memory, s);
    const int64_t vectors = m->panels * LANES;
    s->kept = (REAL *)(memory + used);
    used += (size_t)(count * vectors) * sizeof(REAL);
    *tile = (REAL *)(memory + used);
    used += (size_t)(TILE_ROWS * vectors) * sizeof(REAL);
    *sums = (REAL *)(memory + used);
    return used + (size_t)(TILE_ROWS * FN(round_up)(m->M - 1)) * sizeof(REAL);
}

static size_t FN(vote_bytes)(const Model *m, int64_t count) {
    FN(Scratch) s;
    REAL *tile, *sums;
    return FN(carve_vote)(m, count, NULL, &s, &tile, &sums);
}

/* The class that beats c most clearly by the values of its machines, or c itself if none does. */
INLINE int64_t FN(best_rival)(const REAL *f, int64_t c, int64_t machines) {
    int64_t best = c;
    REAL margin = -1;
    for (int64_t k = 0; k < machines; k++) {
        const int lost = (f[k] > 0) != (k >= c);
        const REAL size = f[k] < 0 ? -f[k] : f[k];
        if (lost && !(size <= margin)) { /* a NaN loses, too */
            margin = size;
            best = k < c ? k : k + 1;
        }
    }
    return best;
}

/* Check class c for some rows: rows[i] of the call; to[row] becomes who beats it, or c. */
static void FN(check)(const Model *m, const FN(Scratch) * s, int64_t c, const int *rows, int n, REAL *tile,
                      REAL *sums, int64_t *to) {
    const int64_t vectors = m->panels * LANES, machines = m->M - 1, width = FN(round_up)(machines);
    const REAL *coef = (const REAL *)m->checks + c * width * vectors;
    const REAL *start = (const REAL *)m->check_intercept + c * width;
    for (int first = 0; first < n; first += TILE_ROWS) {
        const int some = n - first < TILE_ROWS ? n - first : TILE_ROWS;
        for (int i = 0; i < some; i++)
            memcpy(tile + i * vectors, s->kept + rows[first + i] * vectors, (size_t)vectors * sizeof(REAL));
        if (some == 1) {
            FN(product)(DOT, 1, tile, vectors, coef, vectors * LANES, vectors, width / LANES, start, sums, width);
        } else { /* rows of an incomplete tile are left over from before */
            FN(product)(DOT, TILE_ROWS, tile, vectors, coef, vectors * LANES, vectors, width / LANES, start, sums, width);
        }
        for (int i = 0; i < some; i++) to[rows[first + i]] = FN(best_rival)(sums + i * width, c, machines);
    }
}

static int64_t FN(vote)(const Model *m, const Rows *X, int64_t start, int64_t count, void *scratch, void *out) {
    FN(Scratch) s;
    REAL *tile, *sums;
    FN(carve_vote)(m, count, scratch, &s, &tile, &sums);
    const int64_t bad = FN(values)(m, X, start, count, &s);
    if (bad >= 0) return bad;
    memset(tile, 0, (size_t)(TILE_ROWS * m->panels * LANES) * sizeof(REAL));
    int64_t guess[FN(MOST_VOTERS)], to[FN(MOST_VOTERS)], *winner = (int64_t *)out + start;
    for (int64_t i = 0; i < count; i++) {
        const REAL *f = s.f + i * FN(round_up)(m->M);
        guess[i] = 0;
        for (int64_t c = 1; c < m->M; c++)
            if (f[c] > f[guess[i]]) guess[i] = c;
        winner[i] = -1;
    }
    for (int round = 0; round < 2; round++) {
        for (int64_t c = 0; c < m->M; c++) {
            int rows[FN(MOST_VOTERS)], n = 0;
            for (int64_t i = 0; i < count; i++)
                if (winner[i] < 0 && guess[i] == c) rows[n++] = (int)i;
            FN(check)(m, &s, c, rows, n, tile, sums, to);
            for (int i = 0; i < n; i++)
                if (to[rows[i]] == c) winner[rows[i]] = c;
        }
        for (int64_t i = 0; i < count; i++)
            if (winner[i] < 0) guess[i] = to[i];
    }
    return -1;
}
