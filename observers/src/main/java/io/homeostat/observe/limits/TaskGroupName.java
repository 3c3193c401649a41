package io.homeostat.observe.limits;

import java.nio.charset.StandardCharsets;

/**
 * What the control groups of one task are called: a driver finds them by the name of the allocation's directory and the name of the task,
 * so both are used as they are.
 *
 * @param allocation the id of the allocation, which is also the last element of its directory
 * @param task the name that the driver is given
 */
public record TaskGroupName(String allocation, String task) {
    private static final int LONGEST = 255;
    private static final String SCOPE = ".scope";

    /** @throws IllegalArgumentException when there can be no directory of that name, or it would be another one */
    public TaskGroupName {
        check(allocation);
        check(task);
        if ((allocation + "." + task + SCOPE).getBytes(StandardCharsets.UTF_8).length > LONGEST) {
            throw new IllegalArgumentException("the task's name is too long for a control group: " + task);
        }
    }

    private static void check(String part) {
        if (part.isBlank()
                || part.startsWith(".")
                || part.indexOf('/') >= 0
                || part.codePoints().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException("no control group can have this name: '" + part + "'");
        }
    }

    /** In version 1. */
    String text() {
        return allocation + "." + task;
    }

    /** In version 2. */
    String scope() {
        return text() + SCOPE;
    }
}
