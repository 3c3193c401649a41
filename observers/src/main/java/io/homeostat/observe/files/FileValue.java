package io.homeostat.observe.files;

import io.homeostat.observe.process.ProgramVariable;
import io.homeostat.observe.process.SystemCharset;
import java.util.Optional;

/**
 * A value that a file holds: its text without a newline at its end.
 *
 * @param problem why no variable can have it, as a sentence about the file; empty when one can
 */
public record FileValue(String text, Optional<String> problem) {
    /** Leaves room for the variable's name, in bytes. */
    private static final int LONGEST = 128_000;

    public static FileValue of(byte[] bytes) {
        Optional<String> text = FileText.of(bytes).map(FileValue::withoutNewline);
        return text.isEmpty()
                ? new FileValue("", Optional.of(FileText.NOT_UTF_8))
                : new FileValue(
                        text.get(),
                        bytes.length > LONGEST
                                ? Optional.of("it is larger than " + LONGEST + " bytes, which no variable can hold")
                                : ProgramVariable.problemOfString(text.get(), LONGEST)
                                        .or(() -> SystemCharset.problem(text.get()))
                                        .map(words -> "it " + words));
    }

    private static String withoutNewline(String text) {
        int end = text.endsWith("\r\n") ? 2 : text.endsWith("\n") ? 1 : 0;
        return text.substring(0, text.length() - end);
    }

    /** Without the text, which may be secret. */
    @Override
    public String toString() {
        return "FileValue" + problem;
    }
}
