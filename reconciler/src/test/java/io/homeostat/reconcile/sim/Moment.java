package io.homeostat.reconcile.sim;

/**
 * One happening, and what is up to it until the next one.
 *
 * @param number in its history, from 0
 * @param seed of all that is left to chance until the next moment
 * @param when of a pass the happening strikes
 * @param hinted whether somebody tells the agent
 * @param thenMillis how much time passes until the next moment
 */
record Moment(int number, long seed, Happening happening, When when, boolean hinted, long thenMillis) {
    /** Where a happening falls. */
    enum When {
        BETWEEN_PASSES,
        /** In the next pass, after the look and before the plan. */
        DURING_A_LOOK,
        /** After the look and the plan of the next pass that does something. */
        BEFORE_A_STEP,
        /** Between two effects of a step. */
        IN_A_STEP,
        /** Before the outcome of a step is written down. */
        AFTER_A_STEP
    }

    @Override
    public String toString() {
        return "#" + number + " " + happening + (when == When.BETWEEN_PASSES ? "" : " " + when)
                + (hinted ? "" : ", nobody tells") + ", then " + thenMillis + " ms";
    }
}
