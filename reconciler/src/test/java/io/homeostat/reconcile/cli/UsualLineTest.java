package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.ParseResult;

class UsualLineTest {
    static Stream<String> usual() {
        return Stream.concat(
                VerbTest.lines().stream(),
                Stream.of(
                        "-o json --state-dir s status --run-dir=r",
                        "--no-color --log-level DEBUG plan -o text",
                        "validate -f a b --config c -f d",
                        "apply -f - --timeout=1m",
                        "get --all -o yaml",
                        "get --all -o text",
                        "events -f -l a=b",
                        "run --config agent.yaml",
                        "explain",
                        "explain Plugin.spec",
                        "version"));
    }

    @ParameterizedTest
    @MethodSource("usual")
    void whatIsUsualIsReadAsTheGrammarReadsIt(String line) {
        String[] words = line.split(" ", -1);
        ParseResult whole = Usage.commandLine().parseArgs(words);
        UsualLine read = UsualLine.of(words).orElseThrow();

        assertEquals(whole.subcommand().commandSpec().name(), read.verb().word());
        assertEquals(Usage.arguments(whole, whole.subcommand()), read.arguments());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--help",
                "status --help",
                "-h",
                "--version",
                "stauts",
                "status --al",
                "status -ojson",
                "status -o xml",
                "status -o json -o text",
                "status --all=true",
                "status --watch --watch",
                "-o json -o json status",
                "events --limit many",
                "events --limit",
                "events --limit -1",
                "status --state-dir",
                "status --state-dir -x",
                "apply",
                "apply -f",
                "apply -f --prune",
                "apply -f=a",
                "pause process/a",
                "version x",
                "vm-event",
                "vm-event startup shutdown",
                "status -- process/a",
                "help status"
            })
    void whatIsNotIsLeftToTheGrammar(String line) {
        assertEquals(Optional.empty(), UsualLine.of(line.split(" ", -1)));
    }

    @Test
    void anEmptyWordIsLeftToTheGrammar() {
        assertEquals(Optional.empty(), UsualLine.of(new String[] {}));
        assertEquals(Optional.empty(), UsualLine.of(new String[] {"status", ""}));
        assertEquals(Optional.empty(), UsualLine.of(new String[] {"status", "--state-dir", ""}));
        assertEquals(Optional.empty(), UsualLine.of(new String[] {"status", "--state-dir="}));
    }
}
