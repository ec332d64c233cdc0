/* Calls every function of rarefy.h; the name of a check that fails is printed. */
#include "rarefy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failed = 0;

#define CHECK(truth)                                              \
    do {                                                          \
        if (!(truth)) {                                           \
            printf("line %d: not so: %s\n", __LINE__, #truth);    \
            failed = 1;                                           \
        }                                                         \
    } while (0)

static double rounded(const rarefy_sum *sum) {
    double value = -1.0;
    CHECK(rarefy_sum_round(sum, &value) == RAREFY_OK);
    return value;
}

int main(void) {
    const double x[] = {1e16, 1.0, -1e16, 0.25};
    const double halves[] = {DBL_MAX, DBL_MAX, -DBL_MAX};
    const double tiny[] = {4.9406564584124654e-324, 1.0, -1.0};
    const double special[] = {INFINITY, -INFINITY};
    const double negative_zero = -0.0;
    unsigned char bytes[RAREFY_SUM_BYTES], again[RAREFY_SUM_BYTES];
    double value = 7.0;

    rarefy_sum *sum = rarefy_sum_new(), *other = rarefy_sum_new();
    CHECK(sum != NULL && other != NULL);
    CHECK(rounded(sum) == 0.0);
    CHECK(rarefy_sum_add(sum, x, 4) == RAREFY_OK);
    CHECK(rounded(sum) == 1.25);

    /* In another order, by two sums. */
    CHECK(rarefy_sum_add(other, x + 2, 2) == RAREFY_OK);
    rarefy_sum *third = rarefy_sum_new();
    CHECK(rarefy_sum_add(third, x, 2) == RAREFY_OK);
    CHECK(rarefy_sum_merge(other, third) == RAREFY_OK);
    CHECK(rarefy_sum_to_bytes(sum, bytes) == RAREFY_OK);
    CHECK(rarefy_sum_to_bytes(other, again) == RAREFY_OK);
    CHECK(memcmp(bytes, again, sizeof bytes) == 0);
    CHECK(memcmp(bytes, "rarefy exact sum 1\n\4", 20) == 0);
    CHECK(rarefy_sum_merge(sum, sum) == RAREFY_OK);
    CHECK(rounded(sum) == 2.5);
    CHECK(rarefy_sum_merge_bytes(sum, bytes) == RAREFY_OK);
    CHECK(rounded(sum) == 3.75);

    /* Nulls, arrays beyond memory and damaged bytes change nothing. */
    CHECK(rarefy_sum_add(NULL, x, 4) == RAREFY_NULL);
    CHECK(rarefy_sum_add(sum, NULL, 4) == RAREFY_NULL);
    CHECK(rarefy_sum_add(sum, NULL, 0) == RAREFY_OK);
    CHECK(rarefy_sum_add(sum, x, (size_t)-1) == RAREFY_ARRAY);
    CHECK(rarefy_sum_add(sum, (const double *)((const char *)x + 1), 1) == RAREFY_ARRAY);
    CHECK(rarefy_sum_merge(NULL, sum) == RAREFY_NULL);
    CHECK(rarefy_sum_merge(sum, NULL) == RAREFY_NULL);
    CHECK(rarefy_sum_round(NULL, &value) == RAREFY_NULL && value == 7.0);
    CHECK(rarefy_sum_round(sum, NULL) == RAREFY_NULL);
    CHECK(rarefy_sum_to_bytes(NULL, again) == RAREFY_NULL);
    CHECK(rarefy_sum_to_bytes(sum, NULL) == RAREFY_NULL);
    CHECK(rarefy_sum_merge_bytes(NULL, bytes) == RAREFY_NULL);
    CHECK(rarefy_sum_merge_bytes(sum, NULL) == RAREFY_NULL);
    for (size_t at = 0; at < 28; at++) {
        unsigned char kept = bytes[at];
        bytes[at] = 0xff;
        CHECK((at >= 19 && at < 27) == (rarefy_sum_merge_bytes(other, bytes) == RAREFY_OK));
        bytes[at] = kept;
    }
    bytes[28 + 4] = 1;
    CHECK(rarefy_sum_merge_bytes(sum, bytes) == RAREFY_BYTES);
    CHECK(rounded(sum) == 3.75);
    rarefy_sum_free(NULL);
    rarefy_sum_free(sum);
    rarefy_sum_free(other);
    rarefy_sum_free(third);

    /* Intermediate sums beyond the range, subnormal numbers, infinities, zeros. */
    sum = rarefy_sum_new();
    CHECK(rarefy_sum_add(sum, halves, 3) == RAREFY_OK && rounded(sum) == DBL_MAX);
    rarefy_sum_free(sum);
    sum = rarefy_sum_new();
    CHECK(rarefy_sum_add(sum, tiny, 3) == RAREFY_OK && rounded(sum) == tiny[0]);
    CHECK(rarefy_sum_add(sum, special, 1) == RAREFY_OK && rounded(sum) == INFINITY);
    CHECK(rarefy_sum_add(sum, special, 2) == RAREFY_OK && isnan(rounded(sum)));
    rarefy_sum_free(sum);
    sum = rarefy_sum_new();
    CHECK(rarefy_sum_add(sum, &negative_zero, 1) == RAREFY_OK && signbit(rounded(sum)));
    rarefy_sum_free(sum);

    if (!failed)
        puts("all checks passed");
    return failed;
}
