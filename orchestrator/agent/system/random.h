/* Seeded draws that are the same on every machine. */
#ifndef LONGHAUL_RANDOM_H
#define LONGHAUL_RANDOM_H

#include <stdint.h>

struct draws {
	uint64_t state[4];
};

void draws_seed(struct draws *draws, uint64_t seed);
/* An exponential time of this mean. */
uint64_t draw_exponential(struct draws *draws, uint64_t mean);
/* A Pareto size of this mean and shape (thousandths, above 1000); at least 1. */
uint64_t draw_pareto(struct draws *draws, uint64_t mean, uint32_t shape_milli);

#endif
