package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import org.jspecify.annotations.Nullable;

/**
 * The user of this machine that a program runs as, with its groups.
 *
 * @param name or number
 * @param group by name or number; null for that of the user
 * @param supplementaryGroups by name or number, beside those of the user
 */
public record ProgramUser(String name, @Nullable String group, ImmutableList<String> supplementaryGroups) {}
