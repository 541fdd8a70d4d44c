/*
 * xoshiro256** seeded by splitmix64 (Blackman and Vigna). Logarithm and exponential are computed
 * here in plain IEEE operations: a C library picks its own by processor, and the last bit differs.
 */
#include "system/random.h"

#include <string.h>

#define LN2	0.693147180559945309417
#define LARGEST 1e18 /* a Pareto tail has no end, a counter has */

static uint64_t rotate(uint64_t value, int by)
{
	return value << by | value >> (64 - by);
}

void draws_seed(struct draws *draws, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t mixed = seed += 0x9e3779b97f4a7c15ull;

		mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
		mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
		draws->state[i] = mixed ^ mixed >> 31;
	}
}

static uint64_t draw(struct draws *draws)
{
	uint64_t *state = draws->state;
	uint64_t result = rotate(state[1] * 5, 7) * 9, shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate(state[3], 45);
	return result;
}

/* In (0, 1], never 0: its logarithm is finite. */
static double draw_share(struct draws *draws)
{
	return (double)((draw(draws) >> 11) + 1) * 0x1p-53;
}

/* ln of x in (0, 1]: x = m 2^e with m in [1, 2), ln m = 2 atanh((m - 1) / (m + 1)). */
static double natural_log(double x)
{
	uint64_t bits;
	double m, z, power, sum = 0;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffull) | 1023ull << 52;
	memcpy(&m, &bits, sizeof(m));
	z = (m - 1) / (m + 1); /* at most 1/3: 20 terms leave less than 1e-20 */
	power = z;
	for (int term = 1; term < 40; term += 2) {
		sum += power / term;
		power *= z * z;
	}
	return 2 * sum + exponent * LN2;
}

/* e^x of x in [0, 700): e^(k ln 2) by its bits, the rest by its series. */
static double exponential(double x)
{
	int whole = (int)(x / LN2);
	uint64_t bits = (uint64_t)(whole + 1023) << 52;
	double rest = x - whole * LN2, term = 1, sum = 1, scale;

	for (int i = 1; i < 24; i++) {
		term *= rest / i;
		sum += term;
	}
	memcpy(&scale, &bits, sizeof(scale));
	return sum * scale;
}

uint64_t draw_exponential(struct draws *draws, uint64_t mean)
{
	double value = -natural_log(draw_share(draws)) * (double)mean;

	return (uint64_t)(value < LARGEST ? value : LARGEST);
}

uint64_t draw_pareto(struct draws *draws, uint64_t mean, uint32_t shape_milli)
{
	double shape = shape_milli / 1000.0;
	double least = (double)mean * (shape - 1) / shape; /* so that the mean is the mean */
	double value = least * exponential(-natural_log(draw_share(draws)) / shape);

	if (value < 1)
		return 1;
	return (uint64_t)(value < LARGEST ? value : LARGEST);
}
