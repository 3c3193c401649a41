package io.homeostat.observe;

import com.google.common.collect.ImmutableList;

/**
 * What the machine says of the fields of a declaration.
 *
 * @param field the keys that lead to what it was asked about; empty when there is nothing to ask
 * @param problems what it refuses
 * @param unchecked why it could not be asked, for people; empty when it could
 */
public record FieldCheck(ImmutableList<String> field, ImmutableList<FieldProblem> problems, String unchecked) {
    /** Nothing has to be checked here. */
    public static final FieldCheck NONE = new FieldCheck(ImmutableList.of(), ImmutableList.of(), "");

    /**
     * Something that is refused.
     *
     * @param path from the document to it: a String for a key, an Integer for an index from 0. Of a key that is missing, the place where
     *     it should be, without the key
     * @param message what is wrong and what would be right, without any word of a value
     */
    public record FieldProblem(ImmutableList<Object> path, String message) {}

    /** Nobody could be asked. */
    public static FieldCheck unchecked(ImmutableList<String> field, String why) {
        return new FieldCheck(field, ImmutableList.of(), why);
    }
}
