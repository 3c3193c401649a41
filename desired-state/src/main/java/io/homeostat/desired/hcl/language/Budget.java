package io.homeostat.desired.hcl.language;

/**
 * Bounds what one conversion may cost, whatever its expressions say: steps of evaluation, characters written, and depth. Nothing that
 * people write comes near.
 */
public final class Budget {
    /** Steps of evaluation and of comparing types; some seconds at most. */
    private static final long MOST_STEPS = 5_000_000;

    /** Characters that templates and functions may write, in all. */
    private static final long MOST_CHARACTERS = 32L << 20;

    /**
     * Operators, brackets and templates within each other, and levels of a value. Parsing and evaluating so many needs no more stack than the
     * agent's threads have.
     */
    static final int DEEPEST = 110;

    private long steps = MOST_STEPS;
    private long characters = MOST_CHARACTERS;
    private int depth;

    void step() {
        steps(1);
    }

    void steps(long count) {
        steps -= count;
        if (steps < 0) {
            throw HclException.limit("takes more than " + MOST_STEPS + " steps to evaluate: write it simpler");
        }
    }

    void write(int count) {
        characters -= count;
        if (characters < 0) {
            throw HclException.limit("makes more than " + MOST_CHARACTERS + " characters of text: write it shorter");
        }
    }

    void enter() {
        if (++depth > DEEPEST) {
            throw tooDeep();
        }
    }

    void leave() {
        depth--;
    }

    static HclException tooDeep() {
        return HclException.limit("is nested more than " + DEEPEST + " levels deep: write it simpler");
    }
}
