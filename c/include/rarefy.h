/* Exact sums of doubles: the same bits for every order, division among processes, and machine.
 *
 * Link with -lrarefy_c. Several threads may use sums of their own at once; one sum takes one call at a time.
 */
#ifndef RAREFY_H
#define RAREFY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sum that is kept without any error. */
typedef struct rarefy_sum rarefy_sum;

/* What a function returns. Nothing has changed where it is not RAREFY_OK. */
enum rarefy_status {
    RAREFY_OK = 0,
    /* A pointer is null. */
    RAREFY_NULL = 1,
    /* An array is longer than memory, or not aligned. */
    RAREFY_ARRAY = 2,
    /* Bytes that are no saved sum. */
    RAREFY_BYTES = 3,
    /* A fault of the library; the sum is not to be used any more. */
    RAREFY_FAULT = 4
};

/* Bytes of a saved sum. They are the same on every computer. */
#define RAREFY_SUM_BYTES 1132

/* An empty sum, which is 0; null where there is no memory. rarefy_sum_free releases it. */
rarefy_sum *rarefy_sum_new(void);

/* Adds the numbers x[0] to x[count - 1]. x may be null if count is 0. */
int rarefy_sum_add(rarefy_sum *sum, const double *x, size_t count);

/* Adds all that another sum holds. Both may be the same. */
int rarefy_sum_merge(rarefy_sum *sum, const rarefy_sum *other);

/* The nearest double to the sum, ties to even: NaN and infinities as IEEE 754 adds them. */
int rarefy_sum_round(const rarefy_sum *sum, double *value);

/* Saves the sum to RAREFY_SUM_BYTES bytes. */
int rarefy_sum_to_bytes(const rarefy_sum *sum, unsigned char *bytes);

/* Adds the sum that RAREFY_SUM_BYTES bytes hold. */
int rarefy_sum_merge_bytes(rarefy_sum *sum, const unsigned char *bytes);

/* Releases a sum; does nothing for null. */
void rarefy_sum_free(rarefy_sum *sum);

#ifdef __cplusplus
}
#endif

#endif
