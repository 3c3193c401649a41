package io.homeostat.observe.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableMap;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvironmentFileTest {
    private static EnvironmentFile read(String text) {
        return EnvironmentFile.of(text.getBytes(StandardCharsets.UTF_8));
    }

    private static Optional<String> valueProblem(String text) {
        return FileValue.of(text.getBytes(StandardCharsets.UTF_8)).problem();
    }

    @Test
    void eachLineIsAVariable() {
        EnvironmentFile file = read("""
                # a comment
                ; another one

                A=1
                  B = two words\t
                C=
                D=a=b # no comment
                """);

        assertEquals(Optional.empty(), file.problem());
        assertEquals(ImmutableMap.of("A", "1", "B", "two words", "C", "", "D", "a=b # no comment"), file.variables());
    }

    @Test
    void quotesKeepSpacesAndNothingIsExpanded() {
        EnvironmentFile file = read("""
                A=' $HOME \\n " '
                B=" \\"x\\" \\\\ \\$HOME \\n ' "
                C=$HOME/x\\ty
                D=it's
                E=""
                """);

        assertEquals(
                ImmutableMap.of(
                        "A", " $HOME \\n \" ", "B", " \"x\" \\ $HOME \\n ' ", "C", "$HOME/x\\ty", "D", "it's", "E", ""),
                file.variables());
    }

    @Test
    void theLaterValueCounts() {
        assertEquals(ImmutableMap.of("A", "2"), read("A=1\nA=2").variables());
    }

    @Test
    void linesMayEndAsOnWindows() {
        assertEquals(
                ImmutableMap.of("A", "1", "B", "2"),
                read("\uFEFFA=1\r\nB='2'\r\n").variables());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "hunter2 | it has no '='; write KEY=VALUE",
                "export A=hunter2 | no shell reads it; leave out 'export'",
                "hunter 2=x | what is before the '=' is not the name of an environment variable;"
                        + " letters, digits and '_' are possible",
                "A='hunter2 | the closing ' is missing",
                "A=\"hunter2\\\" | the closing \" is missing",
                "A='hunter2'x | there is something after the closing '",
                "UID=hunter2 | the environment variable UID belongs to the shell and can't be set for a program;"
                        + " choose another name",
                "HOMEOSTAT_KEEPER=hunter2 | the environment variable HOMEOSTAT_KEEPER is one of Homeostat's own;"
                        + " choose another name",
            })
    void aMistakeNamesItsLineAndNoValue(String line, String words) {
        EnvironmentFile file = read("A=1\n\n" + line + "\n");

        assertEquals(Optional.of("line 3 of it can't be read: " + words), file.problem());
        assertEquals(ImmutableMap.of(), file.variables());
    }

    @Test
    void severalMistakesAreToldAtOnceTheFirstOfMany() {
        String two = read("hunter2\nA=1\nHOMEOSTAT_KEEPER=hunter2\n").problem().orElseThrow();
        assertTrue(two.startsWith("line 1 of it ") && two.contains("; line 3 of it "), two);
        assertFalse(two.contains("hunter2"), two);
        String many = read("hunter2\n".repeat(8)).problem().orElseThrow();
        assertTrue(many.contains("; line 5 of it") && many.endsWith("; and 3 more lines"), many);
        assertFalse(many.contains("line 6"), many);
    }

    @Test
    void whatNoProgramCanBeGivenIsAMistake() {
        assertTrue(read("A=a\0b")
                .problem()
                .orElseThrow()
                .contains("the value of A has a zero character in it, which ends a string for every program"));
        assertTrue(read("A=" + "a".repeat(200_000)).problem().orElseThrow().contains("value of A is 200000 bytes"));
        assertEquals(
                Optional.of("it is not UTF-8; save it as UTF-8"),
                EnvironmentFile.of(new byte[] {'A', '=', (byte) 0xff}).problem());
    }

    @Test
    void nothingOfItIsPrinted() {
        assertFalse(read("A=hunter2").toString().contains("hunter2"));
        assertFalse(FileValue.of("hunter2".getBytes(StandardCharsets.UTF_8))
                .toString()
                .contains("hunter2"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "a b\n", "a b\r\n"})
    void aValueIsAllButOneNewline(String text) {
        assertEquals("a b", FileValue.of(text.getBytes(StandardCharsets.UTF_8)).text());
        assertEquals(
                "a\n", FileValue.of("a\n\n".getBytes(StandardCharsets.UTF_8)).text());
    }

    @Test
    void aValueCanBeWrongToo() {
        assertEquals(Optional.empty(), valueProblem(""));
        assertTrue(valueProblem("a\0").orElseThrow().contains("zero character"));
        assertTrue(valueProblem("a".repeat(130_000)).orElseThrow().contains(" larger than 128000 bytes"));
        assertTrue(
                FileValue.of(new byte[] {(byte) 0xff}).problem().orElseThrow().contains("not UTF-8"));
    }
}
