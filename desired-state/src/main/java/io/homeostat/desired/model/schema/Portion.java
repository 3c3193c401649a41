package io.homeostat.desired.model.schema;

/**
 * So many of a number of things, written {@code 3} or {@code 25%}.
 *
 * @param percent whether the amount is in percent of all
 */
public record Portion(int amount, boolean percent) {
    public Portion {
        if (amount < 0 || (percent && amount > 100)) {
            throw new IllegalArgumentException("not a portion: " + amount + (percent ? "%" : ""));
        }
    }

    /** How many of these it is, rounded up, and never more than there are: 1% of 20 is one. */
    public int ofRoundedUp(int all) {
        return Math.toIntExact(percent ? ((long) all * amount + 99) / 100 : Math.min(amount, all));
    }

    /** How many of these it is, rounded down; as a number it is that number, however many there are: 1% of 20 is none. */
    public int ofRoundedDown(int all) {
        return Math.toIntExact(percent ? (long) all * amount / 100 : amount);
    }

    /** As it is written. */
    @Override
    public String toString() {
        return amount + (percent ? "%" : "");
    }
}
