package io.homeostat.desired.yaml;

import org.jspecify.annotations.Nullable;

/**
 * One key of a record's document.
 *
 * @param defaultText the default in the notation of a document; null when there is none
 * @param optional whether the key may be left out
 * @param nullable whether what is left out is null
 */
record Field(
        String key,
        FieldType type,
        String doc,
        @Nullable String defaultText,
        boolean optional,
        boolean nullable,
        boolean secret) {}
