package io.homeostat.actuate.fetch;

/**
 * A source that has begun to answer.
 *
 * @param offset where in the archive the body begins
 * @param total bytes of the whole archive, -1 when the source does not say
 * @param validator what names this version of the archive when the rest is asked for later; empty when nothing does
 * @param html whether the source calls it a web page
 */
record Fetched(Body body, long offset, long total, String validator, boolean html) {}
