/* Arithmetic in limbs, against arithmetic on numbers with one array element for each bit. */
#include "check.h"
#include "base/sd_wide.h"

enum { WIDTH_MAX = 600, BITS_MAX = 2 * WIDTH_MAX + 64, LIMBS_MAX = SD_LIMBS(BITS_MAX) };

static uint64_t state = 2;

/* --- The model: bit 0 is the least significant --- */

struct number {
    unsigned width;
    uint8_t bit[BITS_MAX];
};

static struct number zero(unsigned width)
{
    struct number n = {.width = width};
    return n;
}

static unsigned sign(const struct number *a)
{
    return a->bit[a->width - 1];
}

static struct number extended(const struct number *a, unsigned width, bool is_signed)
{
    struct number n = zero(width);
    for (unsigned i = 0; i < width; i++)
        n.bit[i] = i < a->width ? a->bit[i] : is_signed && sign(a);
    return n;
}

static struct number sum(const struct number *a, const struct number *b, unsigned carry)
{
    struct number n = zero(a->width);
    for (unsigned i = 0; i < a->width; i++) {
        unsigned s = a->bit[i] + b->bit[i] + carry;
        n.bit[i] = s & 1;
        carry = s >> 1;
    }
    return n;
}

static struct number complement(const struct number *a)
{
    struct number n = zero(a->width);
    for (unsigned i = 0; i < a->width; i++)
        n.bit[i] = !a->bit[i];
    return n;
}

static struct number difference(const struct number *a, const struct number *b)
{
    struct number c = complement(b);
    return sum(a, &c, 1);
}

static struct number shifted_left(const struct number *a, uint64_t amount)
{
    struct number n = zero(a->width);
    for (unsigned i = 0; i < a->width; i++)
        n.bit[i] = i >= amount ? a->bit[i - amount] : 0;
    return n;
}

static struct number shifted_right(const struct number *a, uint64_t amount, unsigned fill)
{
    struct number n = zero(a->width);
    for (unsigned i = 0; i < a->width; i++)
        n.bit[i] = amount < a->width - i ? a->bit[i + amount] : (uint8_t)fill;
    return n;
}

static int compare(const struct number *a, const struct number *b)
{
    for (unsigned i = a->width; i-- > 0;) {
        if (a->bit[i] != b->bit[i])
            return a->bit[i] < b->bit[i] ? -1 : 1;
    }
    return 0;
}

static struct number product(const struct number *a, const struct number *b)
{
    struct number n = zero(a->width);
    for (unsigned i = 0; i < a->width; i++) {
        if (b->bit[i]) {
            struct number s = shifted_left(a, i);
            n = sum(&n, &s, 0);
        }
    }
    return n;
}

/* Bit by bit, with a remainder that is one bit wider. */
static struct number quotient(const struct number *a, const struct number *b, struct number *remainder)
{
    struct number n = zero(a->width);
    struct number rest = zero(a->width + 1);
    struct number divisor = extended(b, a->width + 1, false);
    struct number nothing = zero(a->width + 1);
    *remainder = zero(a->width);
    if (compare(&divisor, &nothing) == 0)
        return n;
    for (unsigned i = a->width; i-- > 0;) {
        rest = shifted_left(&rest, 1);
        rest.bit[0] = a->bit[i];
        if (compare(&rest, &divisor) >= 0) {
            rest = difference(&rest, &divisor);
            n.bit[i] = 1;
        }
    }
    *remainder = extended(&rest, a->width, false);
    return n;
}

static struct number saturated(const struct number *a, const struct number *b, bool subtract, bool is_signed)
{
    unsigned width = a->width;
    struct number wide_a = extended(a, width + 2, is_signed);
    struct number wide_b = extended(b, width + 2, is_signed);
    struct number n = subtract ? difference(&wide_a, &wide_b) : sum(&wide_a, &wide_b, 0);
    struct number least = zero(width + 2);
    struct number greatest = zero(width + 2);
    for (unsigned i = 0; i < width + 2; i++) {
        least.bit[i] = is_signed && i >= width - 1;
        greatest.bit[i] = i < (is_signed ? width - 1 : width);
    }
    /* Flipping the sign makes the order that of unsigned numbers. */
    struct number flipped[3] = {n, least, greatest};
    for (unsigned i = 0; i < 3; i++)
        flipped[i].bit[width + 1] ^= 1;
    if (compare(&flipped[0], &flipped[1]) < 0)
        n = least;
    if (compare(&flipped[0], &flipped[2]) > 0)
        n = greatest;
    return extended(&n, width, false);
}

/* --- Between the two --- */

static struct number random_number(unsigned width)
{
    static const uint32_t digits[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
    struct number n = zero(width);
    unsigned kind = (unsigned)check_random(&state) % 8;
    unsigned n_bits = kind == 6 ? 1 + (unsigned)check_random(&state) % width : width;
    uint64_t word = 0;
    for (unsigned i = 0; i < n_bits; i++) {
        if (i % 32 == 0)
            word = kind == 5 ? digits[check_random(&state) % SD_ARRAY_LEN(digits)] : check_random(&state);
        unsigned bit = word >> i % 32 & 1;
        switch (kind) {
        case 0: bit = 0; break;
        case 1: bit = 1; break;
        case 2: bit = i == width - 1; break;
        case 3: bit = i != width - 1; break;
        case 4: bit = i == 0; break;
        default: break;
        }
        n.bit[i] = (uint8_t)bit;
    }
    return n;
}

/* Just as many limbs as it needs, so that a sanitizer sees what is touched beyond. */
static uint64_t *limbs_of(const struct number *n, unsigned capacity_bits)
{
    unsigned n_limbs = SD_LIMBS(capacity_bits);
    uint64_t *limbs = malloc(n_limbs * sizeof *limbs);
    CHECK(limbs);
    /* What an operation writes must not depend on what was there. */
    memset(limbs, 0xa5, n_limbs * sizeof *limbs);
    memset(limbs, 0, SD_LIMBS(n->width) * sizeof *limbs);
    for (unsigned i = 0; i < n->width; i++)
        limbs[i / 64] |= (uint64_t)n->bit[i] << i % 64;
    return limbs;
}

static uint64_t *limbs_for(unsigned width)
{
    struct number none = zero(0);
    return limbs_of(&none, width);
}

static bool is(const uint64_t *limbs, const struct number *n)
{
    for (unsigned i = 0; i < SD_LIMBS(n->width) * 64; i++) {
        if ((limbs[i / 64] >> i % 64 & 1) != (i < n->width ? n->bit[i] : 0))
            return false;
    }
    return true;
}

typedef void operation(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width);

/* Into a third array, and over either operand. */
static void check_binary(operation *run, const struct number *a, const struct number *b, struct number expected)
{
    unsigned width = a->width;
    uint64_t *to = limbs_for(width);
    uint64_t *x = limbs_of(a, width);
    uint64_t *y = limbs_of(b, width);
    run(to, x, y, width);
    CHECK(is(to, &expected));
    CHECK(is(x, a) && is(y, b));
    run(x, x, y, width);
    CHECK(is(x, &expected));
    CHECK(is(y, b));
    free(x);
    x = limbs_of(a, width);
    run(y, x, y, width);
    CHECK(is(y, &expected));
    CHECK(is(x, a));
    free(to);
    free(x);
    free(y);
}

static void check_square(operation *run, const struct number *a, struct number expected)
{
    uint64_t *x = limbs_of(a, a->width);
    run(x, x, x, a->width);
    CHECK(is(x, &expected));
    free(x);
}

static void not_of(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    (void)b;
    sd_wide_not(to, a, width);
}

static void neg_of(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    (void)b;
    sd_wide_neg(to, a, width);
}

static void sat_add_signed(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_sat_add(to, a, b, width, true);
}

static void sat_add_unsigned(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_sat_add(to, a, b, width, false);
}

static void sat_sub_signed(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_sat_sub(to, a, b, width, true);
}

static void sat_sub_unsigned(uint64_t *to, const uint64_t *a, const uint64_t *b, unsigned width)
{
    sd_wide_sat_sub(to, a, b, width, false);
}

/* --- What is checked --- */

static void check_sums(const struct number *a, const struct number *b)
{
    struct number none = zero(a->width);
    check_binary(sd_wide_add, a, b, sum(a, b, 0));
    check_binary(sd_wide_sub, a, b, difference(a, b));
    check_binary(neg_of, a, a, difference(&none, a));
    check_binary(sat_add_signed, a, b, saturated(a, b, false, true));
    check_binary(sat_add_unsigned, a, b, saturated(a, b, false, false));
    check_binary(sat_sub_signed, a, b, saturated(a, b, true, true));
    check_binary(sat_sub_unsigned, a, b, saturated(a, b, true, false));
    check_square(sd_wide_add, a, sum(a, a, 0));
    check_square(sd_wide_sub, a, none);
    check_square(sat_add_signed, a, saturated(a, a, false, true));
}

static void check_bitwise(const struct number *a, const struct number *b)
{
    struct number both = zero(a->width);
    struct number either = zero(a->width);
    struct number differing = zero(a->width);
    for (unsigned i = 0; i < a->width; i++) {
        both.bit[i] = a->bit[i] & b->bit[i];
        either.bit[i] = a->bit[i] | b->bit[i];
        differing.bit[i] = a->bit[i] != b->bit[i];
    }
    check_binary(sd_wide_and, a, b, both);
    check_binary(sd_wide_or, a, b, either);
    check_binary(sd_wide_xor, a, b, differing);
    check_binary(not_of, a, a, complement(a));
}

static void check_quotients(const struct number *a, const struct number *b)
{
    struct number rest;
    struct number n = quotient(a, b, &rest);
    check_binary(sd_wide_div, a, b, n);
    check_binary(sd_wide_mod, a, b, rest);
    n = quotient(a, a, &rest);
    check_square(sd_wide_div, a, n);
    check_square(sd_wide_mod, a, rest);
}

static void check_products(const struct number *a, const struct number *b)
{
    check_binary(sd_wide_mul, a, b, product(a, b));
    check_square(sd_wide_mul, a, product(a, a));
}

static void check_comparisons(const struct number *a, const struct number *b)
{
    unsigned width = a->width;
    uint64_t *x = limbs_of(a, width);
    uint64_t *y = limbs_of(b, width);
    int order = compare(a, b);
    CHECK(sd_wide_eq(x, y, width) == (order == 0));
    CHECK(sd_wide_eq(x, x, width));
    int found = sd_wide_cmp(x, y, width, false);
    CHECK((found > 0) - (found < 0) == order);
    struct number flipped_a = *a;
    struct number flipped_b = *b;
    flipped_a.bit[width - 1] ^= 1;
    flipped_b.bit[width - 1] ^= 1;
    found = sd_wide_cmp(x, y, width, true);
    CHECK((found > 0) - (found < 0) == compare(&flipped_a, &flipped_b));
    CHECK(sd_wide_cmp(x, x, width, true) == 0);
    struct number none = zero(width);
    CHECK(sd_wide_is_zero(x, width) == (compare(a, &none) == 0));

    uint64_t amount = 0;
    for (unsigned i = 0; i < width; i++) {
        if (i < 64)
            amount |= (uint64_t)a->bit[i] << i;
        else if (a->bit[i])
            amount = UINT64_MAX;
    }
    CHECK(sd_wide_amount(x, width) == amount);
    free(x);
    free(y);
}

static uint64_t random_amount(unsigned width)
{
    const uint64_t amounts[] = {0,         1,          63,         64,         65, width - 1, width, width + 1,
                                UINT64_MAX, UINT32_MAX, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 3, 128};
    uint64_t choice = check_random(&state) % (2 * SD_ARRAY_LEN(amounts));
    return choice < SD_ARRAY_LEN(amounts) ? amounts[choice] : check_random(&state) % (width + 8);
}

typedef void shift(uint64_t *to, const uint64_t *a, uint64_t amount, unsigned width);

static void check_shift(shift *run, const struct number *a, uint64_t amount, struct number expected)
{
    uint64_t *x = limbs_of(a, a->width);
    uint64_t *to = limbs_for(a->width);
    run(to, x, amount, a->width);
    CHECK(is(to, &expected));
    CHECK(is(x, a));
    run(x, x, amount, a->width);
    CHECK(is(x, &expected));
    free(x);
    free(to);
}

static void check_shifts(const struct number *a)
{
    uint64_t amount = random_amount(a->width);
    check_shift(sd_wide_shl, a, amount, shifted_left(a, amount));
    check_shift(sd_wide_shr, a, amount, shifted_right(a, amount, 0));
    check_shift(sd_wide_sar, a, amount, shifted_right(a, amount, sign(a)));
}

/* `from` gives what `run` makes of it, into another array or over itself. */
static void check_resize(const struct number *from, unsigned to_width, bool is_signed)
{
    struct number expected = extended(from, to_width, is_signed);
    uint64_t *x = limbs_of(from, from->width);
    uint64_t *to = limbs_for(to_width);
    sd_wide_resize(to, to_width, x, from->width, is_signed);
    CHECK(is(to, &expected));
    CHECK(is(x, from));
    free(x);
    x = limbs_of(from, from->width > to_width ? from->width : to_width);
    sd_wide_resize(x, to_width, x, from->width, is_signed);
    CHECK(is(x, &expected));
    free(x);
    free(to);
}

static void check_slice(const struct number *from, unsigned width, uint64_t lo)
{
    struct number below = shifted_right(from, lo, 0);
    struct number expected = extended(&below, width, false);
    uint64_t *x = limbs_of(from, from->width);
    uint64_t *to = limbs_for(width);
    sd_wide_slice(to, width, x, from->width, lo);
    CHECK(is(to, &expected));
    CHECK(is(x, from));
    free(x);
    x = limbs_of(from, from->width > width ? from->width : width);
    sd_wide_slice(x, width, x, from->width, lo);
    CHECK(is(x, &expected));
    free(x);
    free(to);
}

static void check_set_slice(const struct number *to, uint64_t lo, const struct number *from)
{
    struct number expected = *to;
    for (unsigned i = 0; i < from->width && lo < to->width && i < to->width - lo; i++)
        expected.bit[lo + i] = from->bit[i];
    uint64_t *x = limbs_of(to, to->width);
    uint64_t *y = limbs_of(from, from->width);
    sd_wide_set_slice(x, to->width, lo, y, from->width);
    CHECK(is(x, &expected));
    CHECK(is(y, from));
    free(x);
    free(y);

    expected = *to;
    for (unsigned i = 0; lo < to->width && i < to->width - lo; i++)
        expected.bit[lo + i] = to->bit[i];
    x = limbs_of(to, to->width);
    sd_wide_set_slice(x, to->width, lo, x, to->width);
    CHECK(is(x, &expected));
    free(x);
}

static void check_concat(const struct number *high, const struct number *low)
{
    unsigned width = high->width + low->width;
    struct number expected = extended(low, width, false);
    for (unsigned i = 0; i < high->width; i++)
        expected.bit[low->width + i] = high->bit[i];
    uint64_t *to = limbs_for(width);
    uint64_t *x = limbs_of(high, width);
    uint64_t *y = limbs_of(low, low->width);
    uint64_t *z = limbs_of(low, width);
    uint64_t *only = limbs_of(high, high->width);
    sd_wide_concat(to, only, high->width, y, low->width);
    CHECK(is(to, &expected));
    sd_wide_concat(x, x, high->width, y, low->width);
    CHECK(is(x, &expected));
    sd_wide_concat(z, only, high->width, z, low->width);
    CHECK(is(z, &expected));
    CHECK(is(y, low) && is(only, high));
    free(to);
    free(x);
    free(y);
    free(z);
    free(only);
}

/* Divisions whose guess of a digit is wrong in each of the ways that there are. */
static void hard_divisions(void)
{
    static const struct {
        uint32_t a[4], b[4];
    } cases[] = {
        {{0, 0xfffffffe, 0x80000000, 0}, {0x0000ffff, 0x80000000, 0, 0}},
        {{3, 0, 0x80000000, 0}, {1, 0, 0x20000000, 0}},
        {{0, 0, 0x8000, 0x7fff}, {1, 0, 0x8000, 0}},
        {{0, 0xfffe, 0, 0x8000}, {0xffff, 0, 0x8000, 0}},
        {{0, 0xfffffffe, 0, 0x80000000}, {0xffffffff, 0, 0x80000000, 0}},
        {{0, 0, 0x80000000, 0x7fffffff}, {1, 0, 0x80000000, 0}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0, 0, 0}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0, 0}},
        {{0, 0, 0, 1}, {0xffffffff, 0xffffffff, 0xffffffff, 0}},
    };
    for (unsigned c = 0; c < SD_ARRAY_LEN(cases); c++) {
        for (unsigned width = 128; width <= 192; width += 64) {
            struct number a = zero(width);
            struct number b = zero(width);
            for (unsigned i = 0; i < 128; i++) {
                a.bit[i] = cases[c].a[i / 32] >> i % 32 & 1;
                b.bit[i] = cases[c].b[i / 32] >> i % 32 & 1;
            }
            check_quotients(&a, &b);
        }
    }
}

int main(void)
{
    hard_divisions();
    for (unsigned i = 0; i < 3000; i++) {
        /* Every width once, and then some. */
        unsigned width = i < WIDTH_MAX ? i + 1 : 1 + (unsigned)check_random(&state) % WIDTH_MAX;
        unsigned other_width = 1 + (unsigned)check_random(&state) % WIDTH_MAX;
        struct number a = random_number(width);
        struct number b = random_number(width);
        struct number other = random_number(other_width);
        check_sums(&a, &b);
        check_bitwise(&a, &b);
        check_comparisons(&a, &b);
        check_shifts(&a);
        check_resize(&a, other_width, false);
        check_resize(&a, other_width, true);
        check_slice(&a, other_width, random_amount(width));
        check_set_slice(&a, random_amount(width), &other);
        check_concat(&a, &other);
        if (i < WIDTH_MAX || width < 200) {
            check_quotients(&a, &b);
            check_products(&a, &b);
        }
    }
    return 0;
}
