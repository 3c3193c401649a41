package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import org.jspecify.annotations.Nullable;

/**
 * What a field of a document is for, see {@link Explain}.
 *
 * @param path from the kind on, such as {@code Plugin.spec.limits}
 * @param kind {@code Plugin}, {@code Process} or {@code Agent}
 * @param type in words, such as {@code duration}
 * @param fields those of an object, or of a list's elements; empty for anything else
 */
public record Explanation(String path, String kind, String type, String description, ImmutableList<Member> fields) {

    /**
     * One field of an object.
     *
     * @param defaultText in the notation of a document; null when there is none
     */
    public record Member(
            String name,
            String type,
            boolean required,
            @Nullable String defaultText,
            String description) {}
}
