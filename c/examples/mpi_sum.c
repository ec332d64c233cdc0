/* A global sum whose bits do not depend on the number of processes:
 *     mpicc -I include examples/mpi_sum.c -L ../target/release -lrarefy_c -o mpi_sum
 *     mpirun -n 4 ./mpi_sum
 */
#include <mpi.h>
#include <stdio.h>
#include "rarefy.h"

static void merge(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int k = 0; k < *count; k++) {
        unsigned char *a = (unsigned char *)in + k * RAREFY_SUM_BYTES, *b = (unsigned char *)inout + k * RAREFY_SUM_BYTES;
        rarefy_sum *sum = rarefy_sum_new();
        if (rarefy_sum_merge_bytes(sum, a) || rarefy_sum_merge_bytes(sum, b) || rarefy_sum_to_bytes(sum, b))
            MPI_Abort(MPI_COMM_WORLD, 1);
        rarefy_sum_free(sum);
    }
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(RAREFY_SUM_BYTES, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(merge, 1, &op);

    rarefy_sum *sum = rarefy_sum_new();
    for (int k = 1 + rank; k <= 1000000; k += ranks) {
        double x = (k % 2 ? 1.0 : -1.0) / k;
        rarefy_sum_add(sum, &x, 1);
    }
    unsigned char part[RAREFY_SUM_BYTES], total[RAREFY_SUM_BYTES];
    rarefy_sum_to_bytes(sum, part);
    MPI_Allreduce(part, total, 1, type, op, MPI_COMM_WORLD);
    rarefy_sum *all = rarefy_sum_new();
    double value;
    if (rarefy_sum_merge_bytes(all, total) || rarefy_sum_round(all, &value))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("%.17g\n", value);
    rarefy_sum_free(all);
    rarefy_sum_free(sum);
    MPI_Finalize();
    return 0;
}
