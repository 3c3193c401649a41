package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** One of a few words, in upper or lower case. */
final class Choice<E extends Enum<E>> implements ITypeConverter<E> {
    private final ImmutableList<E> values;

    Choice(Class<E> type) {
        this.values = ImmutableList.copyOf(type.getEnumConstants());
    }

    /** As they are typed. */
    ImmutableList<String> words() {
        return values.stream().map(Choice::word).collect(ImmutableList.toImmutableList());
    }

    @Override
    public E convert(String text) {
        return values.stream()
                .filter(value -> word(value).equals(text.toLowerCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(
                        () -> new TypeConversionException("'" + text + "' is none of " + String.join(", ", words())));
    }

    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
